#!/usr/bin/env bash
# Sets up, builds everything in both precisions, and runs the tests.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/test.sh [OPTION]... [SUITE]...

Installs the packages that are missing (as scripts/start.sh does), builds and runs the tests.
Several suites run one after the other; the first that fails ends it. Without one: the default.

  --default      the release build, as users have it                     build/
  --backends     the same under each other matrix product
                 (VITRUVIAN_GEMM), and our own with fewer vectors
                 (VITRUVIAN_SIMD)                                        build/
  --sanitize     AddressSanitizer, LeakSanitizer, UndefinedBehavior...   build-asan/
  --tsan         the threaded parts under ThreadSanitizer                build-tsan/
  --portable     no BLAS, no threads, no SIMD flags                      build-portable/
  --debug        no optimisation, with xtensor's assertions              build-debug/
  --clang        the release build by clang++, with shared libraries     build-clang/
  --slow         what takes long: 100 kills and resumes, every system
                 call failing, every optimizer on 1 to 8 ranks, as root
                 a Slurm (slurm-wlm, munge) and the container recipe
                 (debootstrap) of docs/cluster.md, torchvision's whole
                 vit_b_16, the golden numbers made again (two want
                 Debian 12's python3-torchvision, python3-scipy)         build/
  --tidy         clang-tidy, with the checks of .clang-tidy              build-tidy/
  --fuzz         libFuzzer on each reader of files, a minute long; or
                 VITRUVIAN_FUZZ_SECONDS, or VITRUVIAN_FUZZ_RUNS          build-fuzz/
  --mutation     mistakes that the tests must see
                 (tests/mutation/run.py), an hour or more                build-mutation/
  --werror       stop at a warning, as those who change the code want
  --double       sanitize, tsan, portable: what is the same source in
                 both precisions is looked at in float64, too
  --compile      compile what the suites need, and run none of it
  --no-install   do not look at packages; all of them are there
  --help         this text
USAGE
}

install=yes
run=yes
suites=""
for option in "$@"; do
  case $option in
    --help | -h) usage && exit 0 ;;
    --no-install) install=no ;;
    --werror) CMAKE_OPTIONS="$CMAKE_OPTIONS -DVITRUVIAN_WERROR=ON" ;;
    --double) CMAKE_OPTIONS="$CMAKE_OPTIONS -DVITRUVIAN_DOUBLE=ON" ;;
    --compile) run=no ;;
    --default | --backends | --sanitize | --tsan | --portable | --debug | --clang | --slow | --tidy | --fuzz | --mutation)
      suites="$suites ${option#--}"
      ;;
    *) no_option "$option" ;;
  esac
done

# shellcheck disable=SC2034 # setup.sh reads it
TESTED="libopenmpi-dev openmpi-bin"

jobs=$(getconf _NPROCESSORS_ONLN)

run_tests() ( # run_tests PRESET [CTEST OPTION...]
  cd "$ROOT" || exit
  preset=$1
  shift
  ctest --preset "$preset" -j "$jobs" "$@"
)

# Every back end of the matrix product that this build has and --default does not take, one after the other; then
# kernels and product without AVX-512, and without any vectors that this machine's compiler does not take for granted.
# --default takes the matrix unit where the processor has one, else oneDNN, and without it, or in double precision, our
# own. What is the same here as a setting before it is not run again.
run_backends() {
  local settings machine seen
  # shellcheck disable=SC2086 # several variables
  in_build() { env $1 "$ROOT/build/bin/vitruvian" --version 2>/dev/null; }
  # shellcheck disable=SC2086,SC2163
  under() { (export $settings && run_tests default -LE "$not_numbers" "$@"); }
  seen=$(in_build "")
  for settings in VITRUVIAN_GEMM=onednn VITRUVIAN_GEMM=packed VITRUVIAN_GEMM=cblas \
    "VITRUVIAN_SIMD=avx2 VITRUVIAN_GEMM=packed" "VITRUVIAN_SIMD=portable VITRUVIAN_GEMM=packed"; do
    say "--- $settings"
    machine=$(in_build "$settings" | grep '^machine') || machine=""
    if [ -z "$machine" ]; then
      say "not in this build, or not on this machine"
    elif [[ $seen == *"$machine"* ]] || [[ $settings == *onednn && $seen == *oneDNN* ]]; then
      say "the same here as what was tested before"
    elif [[ $settings == VITRUVIAN_GEMM=onednn || $settings == VITRUVIAN_GEMM=packed ]]; then
      under -E _f64
    else
      under
    fi
    seen="$seen$machine"
  done
}

# Random bytes, bred from good files by what they reach in the code. A crash leaves its bytes in
# build-fuzz/ and ends this; what a reader did goes to build-fuzz/fuzz-READER.log.
run_fuzzers() (
  cd "$ROOT/build-fuzz" || exit
  if [ -n "${VITRUVIAN_FUZZ_RUNS:-}" ]; then
    long=-runs=$VITRUVIAN_FUZZ_RUNS
  else
    long=-max_total_time=${VITRUVIAN_FUZZ_SECONDS:-60}
  fi
  python3 "$ROOT/tests/fuzz/make_corpus.py" corpus
  total=0
  for reader in ${VITRUVIAN_FUZZ_READERS:-safetensors npz pth pickle names png jpeg pnm idx cifar gzip tar config metrics state}; do
    dictionary=""
    [ ! -f corpus/$reader.dict ] || dictionary=-dict=corpus/$reader.dict
    case $reader in
      names | pth | png | jpeg | pnm) length=65536 ;; # what needs large files to go anywhere
      *) length=4096 ;;
    esac
    if ! VITRUVIAN_FUZZ_READER=$reader bin/fuzz "$long" $dictionary -max_len=$length -timeout=5 \
      -rss_limit_mb=1024 -print_final_stats=1 -print_funcs=0 -verbosity=0 -artifact_prefix=$reader- corpus/$reader \
      >fuzz-$reader.log 2>&1; then
      cat fuzz-$reader.log >&2
      say "scripts/test.sh: $reader: the fuzzer found something; its bytes are in build-fuzz/$reader-*" >&2
      return 1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' fuzz-$reader.log)
    total=$((total + runs))
    say "$(printf '%-12s %12d executions, %7d a second' $reader "$runs" \
      "$(sed -n 's/^stat::average_exec_per_sec: *//p' fuzz-$reader.log)")"
  done
  say "$(printf '%-12s %12d executions, nothing found' all $total)"
)

# The long tests, and what needs PyTorch: which is Debian's, not one that shadows it.
run_slow() (
  cd "$ROOT" || exit
  python=${PYTHON:-/usr/bin/python3}
  if "$python" -c 'import torchvision, scipy, PIL' 2>/dev/null; then
    "$python" tests/golden/make_golden.py --check
    VITRUVIAN_B16=$(mktemp -d)
    export VITRUVIAN_B16
    trap 'rm -rf "$VITRUVIAN_B16"' EXIT
    "$python" tests/golden/golden_torchvision.py "$VITRUVIAN_B16"
  else
    say "skipped: the golden numbers and vit_b_16: $python has no torchvision, scipy or Pillow"
  fi
  VITRUVIAN_SLOW=1 run_tests default -L slow
)

# Every file of the rooms and the programs, whatever clang-tidy finds in one of them.
run_tidy() (
  cd "$ROOT" || exit
  find apps charts core datasets media mpi nn report train vit -name '*.cpp' ! -name precompiled.cpp -print0 |
    xargs -0 -P "$jobs" -n 1 clang-tidy -p build-tidy --quiet
)

# The course runs on what the other tests hold, so it is run once, as users have it.
# Tests labelled `project` look at the sources and the packages, `files` at readers and system calls,
# not at numbers: once is enough.
not_numbers='project|lessons|exercises|files|slow'

compile_suite() {
  case $1 in
    default | backends | slow) build default ;;
    sanitize) build asan ;;
    tsan) build tsan thread_tests ;;
    tidy) configure tidy ;;
    fuzz) build fuzz fuzz ;;
    mutation) ;; # makes builds of its own
    *) build "$1" ;;
  esac
}

run_suite() {
  case $1 in
    default) run_tests default ;;
    backends) run_backends ;;
    sanitize) run_tests asan -LE project ;;
    tsan) run_tests tsan -L threads ;;
    slow) run_slow ;;
    tidy) run_tidy ;;
    fuzz) run_fuzzers ;;
    mutation)
      python3 "$ROOT/tests/mutation/run.py" --jobs "$jobs"
      python3 "$ROOT/tests/mutation/run.py" --jobs "$jobs" --rows
      ;;
    *) run_tests "$1" -LE project ;;
  esac
}

[ $install = no ] || setup_packages
for suite in ${suites:-default}; do
  say "=== $suite"
  compile_suite "$suite"
  [ $run = no ] || run_suite "$suite"
done
