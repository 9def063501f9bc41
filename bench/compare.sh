#!/usr/bin/env bash
# shellcheck disable=SC2086 # settings are lists of words: NAME=VALUE NAME=VALUE
# Times Vitruvian beside PyTorch, and beside onnxruntime where it is there: in turns, so that a busy
# minute of the machine hits both, and with PyTorch as well tuned as this script can find. Linux.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/../scripts/setup.sh"
SCRIPT=bench/compare.sh

usage() {
  cat <<USAGE
usage: bench/compare.sh [--install] [--rounds R] [--seconds S] [--quick] [--out FILE.md]

Prints a Markdown table: images a second of Vitruvian and of PyTorch, and their ratio.

  --install       first install PyTorch and OpenBLAS (apt) and onnxruntime-node (npm, build/bench/)
  --rounds R      measure everything R times (3)
  --seconds S     for S seconds each (8)
  --quick         one round of 2 seconds, without looking for PyTorch's best settings
  --out FILE.md   write the table there too

PYTHON and BENCH_TRAIN name other programs than the ones it finds.
USAGE
}

note() { printf '%s\n' "$*" >&2; }
die() { # die CODE MESSAGE
  note "$SCRIPT: $2"
  exit "$1"
}

install=no rounds=3 seconds=8 quick=no out=""
while [ $# -gt 0 ]; do
  case $1 in
    --help | -h) usage && exit 0 ;;
    --install) install=yes ;;
    --quick) quick=yes ;;
    --rounds | --seconds | --out)
      [ -n "${2:-}" ] || die 2 "$1 needs a value; see --help"
      case $1 in --rounds) rounds=$2 ;; --seconds) seconds=$2 ;; --out) out=$2 ;; esac
      shift
      ;;
    *) die 2 "there is no option $1; see --help" ;;
  esac
  shift
done
[ $quick = no ] || { rounds=1 && seconds=2; }
[[ $rounds =~ ^[1-9][0-9]*$ ]] || die 2 "--rounds takes a count, not $rounds"
[[ $seconds =~ ^[0-9]*[1-9][0-9]*$ ]] || die 2 "--seconds takes a count, not $seconds"
[ -z "$out" ] || [ -d "$(dirname "$out")" ] || die 2 "there is no folder $(dirname "$out")"

ours=${BENCH_TRAIN:-$ROOT/build/bin/bench_train}
packages=$ROOT/build/bench
cores=$(nproc)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# --- what is there

has_torch() { "$1" -c 'import importlib.util as u; exit(not u.find_spec("torch"))' 2>/dev/null; }
has_onnxruntime() { (cd "$packages" && node -e 'require("onnxruntime-node")') >/dev/null 2>&1; }

if [ $install = yes ]; then
  command -v apt-get >/dev/null || die 1 "--install knows Debian and Ubuntu only"
  missing=$(missing_debian_packages python3-torch python3-numpy libopenblas0-openmp)
  [ -z "$missing" ] || install_debian_packages $missing >&2
  if command -v npm >/dev/null && ! has_onnxruntime; then
    mkdir -p "$packages"
    printf '{ "private": true }\n' >"$packages/package.json"
    # The package carries its Linux library; its script would fetch one for a GPU.
    npm install --prefix "$packages" --ignore-scripts --no-audit --no-fund onnxruntime-node >&2
    has_onnxruntime || die 1 "onnxruntime-node was installed, but does not load"
  fi
fi

python=""
for candidate in ${PYTHON:-python3 /usr/bin/python3}; do
  if has_torch "$candidate"; then python=$candidate && break; fi
done
[ -n "$python" ] || die 1 "PyTorch is missing; run $SCRIPT --install"
[ -x "$ours" ] || build default bench_train >&2

# --- running one program

LINE=""                # what the last program printed
run() { # run COMMAND...
  LINE=$("$@" 2>"$scratch/stderr") || { cat "$scratch/stderr" >&2 && die 1 "failed: $*"; }
  [[ $LINE =~ :\ ([0-9.]+)\ img/s ]] || die 1 "not a measurement: $LINE (of $*)"
  RATE=${BASH_REMATCH[1]}
}
record() { # record ours|theirs|tuning ARGUMENTS
  printf '%s\t%s\t%s\n' "$1" "$2" "$LINE" >>"$scratch/lines"
}
pytorch() { # pytorch SETTING ARGUMENT...
  run env $1 "$python" "$ROOT/bench/pytorch_train.py" "${@:2}"
}

# --- PyTorch's settings

cpu_has() { grep -qw "$1" /proc/cpuinfo; }

# Debian's OpenBLAS runs threads of its own, which fight PyTorch's; the OpenMP build shares them.
openmp=$(compgen -G '/usr/lib/*/openblas-openmp' | head -n 1 || true)
# OpenBLAS misjudges processors newer than itself.
kernels=()
if cpu_has avx2; then kernels+=(Haswell); fi
if cpu_has avx512vl; then kernels=(SkylakeX "${kernels[@]}"); fi
if cpu_has avx512_bf16; then kernels+=(Cooperlake); fi
# glibc gives every large activation back to the kernel, and gets it again as pages of zeros.
keep="MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=4000000000 MALLOC_TOP_PAD_=268435456"

declare -A setting
words() { # BLAS keeps all its threads: beside one thread of PyTorch they are in nobody's way
  echo OPENBLAS_NUM_THREADS=$cores ${setting[threads]} ${setting[kernels]} ${setting[malloc]} \
    ${setting[vectors]}
}

declare -A fastest # setting -> the most images a second it has shown
timed() {          # timed ARGUMENTS: adds a run of the present setting
  pytorch "$(words)" --seconds 2 $1
  record tuning "$1"
  note "  $RATE img/s  $(words)"
  fastest[$(words)]=$(printf '%s\n' "$RATE" "${fastest[$(words)]:-0}" | sort -g | tail -n 1)
}

# try ARGUMENTS ASPECT VALUE: keeps the value if PyTorch is faster with it.
try() {
  local before=${setting[$2]} incumbent
  [ "$before" != "$3" ] || return 0
  incumbent=${fastest[$(words)]}
  setting[$2]=$3
  timed "$1"
  awk "BEGIN { exit !(${fastest[$(words)]} > $incumbent) }" || setting[$2]=$before
}

# tune ARGUMENTS: leaves in `best` the fastest setting found for these arguments. It starts from the
# likely one and goes from aspect to aspect, twice: other work can only make a run slower, so the
# better of two runs some time apart says more than one.
tune() {
  local pass name count blas
  fastest=()
  for pass in 1 2; do
    setting=([threads]="OMP_NUM_THREADS=$cores${openmp:+ LD_LIBRARY_PATH=$openmp}" [malloc]=$keep
      [kernels]=${kernels[0]:+OPENBLAS_CORETYPE=${kernels[0]}} [vectors]="")
    best=$(words)
    [ $quick = no ] || return 0
    note "PyTorch's settings for $1, pass $pass of 2"
    timed "$1"
    for name in ${kernels[@]+"${kernels[@]}"}; do try "$1" kernels OPENBLAS_CORETYPE=$name; done
    try "$1" kernels ""
    for count in $cores 1; do
      for blas in ${openmp:+" LD_LIBRARY_PATH=$openmp"} ""; do
        try "$1" threads "OMP_NUM_THREADS=$count$blas"
      done
    done
    try "$1" malloc ""
    if cpu_has avx512vl; then try "$1" vectors ATEN_CPU_CAPABILITY=avx512; fi
  done
  best=$(for name in "${!fastest[@]}"; do echo "${fastest[$name]} $name"; done |
    sort -g | tail -n 1 | cut -d ' ' -f 2-)
}

# --- the measurements

# Ticks of all processors since the start: in use by anybody, by us and our programs, and all.
ticks() {
  local stat
  read -ra stat </proc/$$/stat
  awk -v own=$((stat[13] + stat[14] + stat[15] + stat[16])) \
    '/^cpu / { for (i = 2; i <= 9; ++i) all += $i; print all - $5 - $6, own, all }' /proc/stat
}
before=$(ticks)

measurements=("--shape mnist --batch 128" "--shape cifar --batch 64"
  "--shape cifar --batch 256 --inference")
best_settings=()
: >"$scratch/settings"
for i in "${!measurements[@]}"; do
  tune "${measurements[i]}"
  best_settings[i]=$best
  printf '%s\t%s\n' "${measurements[i]}" "${best_settings[i]}" >>"$scratch/settings"
done

compare() { # compare ROUND ARGUMENTS THEIR_COMMAND...
  run "$ours" --seconds "$seconds" --threads "$cores" $2
  record ours "$2"
  local rate=$RATE
  "${@:3}"
  record theirs "$2"
  note "round $1 of $rounds: $2: $rate img/s against $RATE img/s"
}

for ((round = 1; round <= rounds; ++round)); do
  for i in "${!measurements[@]}"; do
    compare $round "${measurements[i]}" \
      pytorch "${best_settings[i]}" --seconds "$seconds" ${measurements[i]}
  done
done

onnxruntime="not measured"
if has_onnxruntime; then
  onnxruntime=$(node -p "require('$packages/node_modules/onnxruntime-node/package.json').version")
  model=$packages/vit-b.onnx
  if [ ! -f "$model" ]; then "$python" "$ROOT/bench/onnx/export_vit.py" "$model"; fi
  for ((round = 1; round <= rounds; ++round)); do
    compare $round "--shape vit-b --batch 1 --inference" run node "$ROOT/bench/onnx/infer.mjs" \
      --model "$model" --packages "$packages" --threads "$cores" --seconds "$seconds"
  done
else
  note "vit-b is skipped: node or onnxruntime-node is not there; see --install"
fi

# What others took away, the machine below this one included.
others=$(awk -v a="$before" -v b="$(ticks)" 'BEGIN { split(a, x); split(b, y)
  printf "%.0f", 100 * (y[1] - x[1] - y[2] + x[2]) / (y[3] - x[3]) }')
[ "$others" -le 5 ] || note "others used $others % of the processors meanwhile: measure again"

# --- the table

pytorch_version=$(dpkg-query -W -f='${Version}' python3-torch 2>/dev/null) ||
  pytorch_version=$("$python" -c 'import torch; print(torch.__version__)')
cat >"$scratch/machine" <<MACHINE
$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1), $cores threads, $(system_name)
PyTorch $pytorch_version, onnxruntime $onnxruntime, Vitruvian $(
  git -C "$ROOT" describe --always --dirty 2>/dev/null || echo "of no git checkout")
rounds: $rounds, seconds of each measurement: $seconds, $(date +%Y-%m-%d)
others used $others % of the processors meanwhile
MACHINE

"$python" - "$scratch" >"$scratch/table.md" <<'PYTHON'
import re
import sys
from pathlib import Path
from statistics import median

scratch = Path(sys.argv[1])
rows = {}  # arguments -> who -> [(img/s, share, MB)]
names = {}
for line in (scratch / "lines").read_text().splitlines():
    who, arguments, line = line.split("\t")
    find = lambda pattern: (m := re.search(pattern, line)) and float(m[1])
    found = (find(r"([\d.]+) img/s"), find(r"([\d.]+) of the product"), find(r"memory ([\d.]+) MB"))
    rows.setdefault(arguments, {}).setdefault(who, []).append(found)
    names[arguments] = line.split(" threads")[0]

print("| measurement | Vitruvian, img/s | the other, img/s | ratio (least to most)"
      " | share of the product | peak memory, MB: ours, theirs, ratio |")
print("|---|---|---|---|---|---|")
for arguments, row in rows.items():
    ours, theirs = row["ours"], row["theirs"]
    ratios = [a[0] / b[0] for a, b in zip(ours, theirs)]
    other = "onnxruntime" if "vit-b" in arguments else "PyTorch"
    shares = [r[1] for r in ours if r[1] is not None]
    mine = [r[2] for r in ours if r[2] is not None]
    # The least of any setting: a setting that is fast may take more.
    least = [r[2] for r in theirs + row.get("tuning", []) if r[2] is not None]
    memory = "not measured"
    if mine and least:
        memory = f"{median(mine):.1f}, {min(least):.1f}, {median(mine) / min(least):.2f}"
    print(f"| {names[arguments]} | {median(r[0] for r in ours):,.1f} "
          f"| {other} {median(r[0] for r in theirs):,.1f} "
          f"| **{median(ratios):.2f}** ({min(ratios):.2f} to {max(ratios):.2f}) "
          f"| {format(median(shares), '.2f') if shares else 'not measured'} | {memory} |")

print("\nMedians over the rounds; a ratio is of one round, its median over the rounds. Their memory"
      " is the least of all runs, those that looked for settings included.\n")
for line in (scratch / "machine").read_text().splitlines():
    print(f"- {line}")
for line in (scratch / "settings").read_text().splitlines():
    arguments, words = line.split("\t")
    print(f"- PyTorch for `{arguments}`: `{words}`")
PYTHON

cat "$scratch/table.md"
if [ -n "$out" ]; then
  cp "$scratch/table.md" "$out.part"
  mv "$out.part" "$out"
fi
