#!/usr/bin/env bash
# What reaches a terminal, and what happens where nothing can: streams that are closed or full, bytes
# that would steer a terminal through every entrance, links, limits. Usage: terminal_test.sh VITRUVIAN
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
root=$(cd "$here/../.." && pwd)
bin=$(dirname "$vitruvian")
digits=$root/models/digits.safetensors
settings=(--train-size 40 --test-size 20 --epochs 2 --width 16 --depth 1 --heads 2 --batch-size 16
  --log-every 1 --threads 1)
{ printf 'P5 28 28 255\n' && head -c 784 /dev/zero; } >blank.pgm
"$vitruvian" train "${settings[@]}" --out calm >out 2>err || fail "$(cat err)"

# Standard streams that are closed, in every combination.
for combination in 1 2 3 4 5 6 7; do
  closed=()
  [ $((combination & 1)) -eq 0 ] || closed+=("<&-")
  [ $((combination & 2)) -eq 0 ] || closed+=(">&-")
  [ $((combination & 4)) -eq 0 ] || closed+=("2>&-")
  what=${closed[*]}
  expected=$((combination & 2 ? 1 : 0))
  rm -rf run
  eval '"$vitruvian" train "${settings[@]}" --out run >out 2>err '"$what"
  check "train $what: the exit code" test $? -eq $expected
  check "train $what: the metrics" cmp -s run/metrics.jsonl calm/metrics.jsonl
  check "train $what: the model" cmp -s run/model.safetensors calm/model.safetensors
  for program in "$vitruvian models" "$vitruvian --nonsense" "$bin/gradcheck --op exp" "$bin/lesson list" \
    "$bin/lesson_notation --no-input"; do
    [ -x "${program%% *}" ] || continue
    eval "$program >out 2>err $what"
    code=$?
    [[ $program == *nonsense ]] && want=2 || want=$expected
    check "$program $what: exit $code" test $code -eq $want
  done
done

# Output that cannot be written: a disk that is full, a reader that left.
mkfifo pipe
cat pipe >/dev/null &
reader=$!
exec 4>pipe
kill $reader
wait $reader 2>/dev/null
for program in "$vitruvian --help" "$vitruvian train --help" "$vitruvian models" "$vitruvian --version" \
  "$vitruvian train --recipe list" "$vitruvian predict --weights $digits blank.pgm" \
  "$vitruvian data info mnist" "$bin/gradcheck --help" "$bin/gradcheck --op exp" "$bin/lesson --help" \
  "$bin/lesson list" "$bin/lesson list --markdown" "$bin/lesson exercises" "$bin/lesson hint 1" \
  "$bin/lesson_notation --help" "$bin/lesson_notation --no-input"; do
  [ -x "${program%% *}" ] || continue
  name=${program##*/}
  if [ -w /dev/full ]; then
    $program >/dev/full 2>err
    check "$name: a full disk" test $? -eq 1
    check "$name: which is said" grep -q "standard output cannot be written: No space left" err
  fi
  $program >&4 2>err
  check "$name: a reader that left, as of SIGPIPE" test $? -eq 141
  check "$name: which is no mistake" test ! -s err
  $program 2>/dev/full >/dev/null
  check "$name: a full standard error" test $? -eq 0
done
"$vitruvian" convert --from "$digits" --scheme timm --to /dev/stdout >&4 2>err
check "convert: a reader that left" test $? -eq 141
check "convert: which is no mistake" test ! -s err
if [ -x "$bin/exercise_checks" ]; then
  "$bin/lesson" exercise softmax --dir exercises >/dev/null
  "$bin/lesson" check softmax --dir exercises >&4 2>err
  check "an exercise's judge: a reader that left" test $? -eq 141
  check "an exercise's judge: which is no mistake" test ! -s err
fi
rm -rf run
"$vitruvian" train "${settings[@]}" --out run >&4 2>err
check "a run whose reader left" test $? -eq 141
check "goes on all the same" cmp -s run/model.safetensors calm/model.safetensors
check "without a word" test ! -s err
exec 4>&-
if [ -w /dev/full ]; then
  rm -rf run
  "$vitruvian" train "${settings[@]}" --out run >/dev/full 2>err
  check "a run on a full disk" test $? -eq 1
  check "says so" grep -q "standard output cannot be written" err
fi

# What fits a terminal of 80 columns: no word is broken there. In a pipe a note is a line.
if script --version 2>/dev/null | grep -q util-linux; then
  TERM=xterm NO_COLOR=1 script -qec "stty cols 80; '$vitruvian' --version; '$vitruvian' train --recipe list;
    '$vitruvian' train ${settings[*]} --recipe table3-jft-b --heads 8 --out run --overwrite" /dev/null </dev/null |
    tr -d '\r' | sed 's/.*\x1b\[K//' >screen
  check "the terminal is used to its edge: $(awk 'length > 80' screen | head -3)" test "$(wc -L <screen)" -le 80
  check "there is a note of two lines" sh -c "grep -A1 '^note     ' screen | grep -q '^         [a-z]'"
  check "the machine is told" grep -q "^machine  1 thread, float32, " screen
  check "a recipe is told beside its name" grep -q "^                     [a-zA-Z]" screen
fi

# Text from outside, through every entrance: it stays on its line, and no byte of it steers.
title=$'\e]0;owned\a'
hostile="x$title"$'\nnewline\r\t\x9b2J\xc2\x9b2J\xe2\x80\xaetxt\x7f'
steers() { # FILE: something in it would
  [ "$(LC_ALL=C tr -d '\n\040-\176\200-\377' <"$1" | wc -c)" -ne 0 ] && return 0
  LC_ALL=C grep -q $'\xe2\x80\xae\|\xc2\x9b\|^newline' "$1" && return 0
  LC_ALL=C grep -q $'\x9b' "$1" # no other character here has that byte
}
quiet() { # quiet WANTED_CODES PROGRAM ARGUMENT...: the output steers nothing, an error is one line
  "${@:2}" >out 2>err </dev/null
  local code=$?
  local what=${*:2}
  what=$(printf %q "${what//$root/}")
  check "$what: exit $code" grep -qw $code <<<"$1"
  for file in out err; do
    check "$what: $file steers the terminal" not steers $file
  done
  [ $code -eq 0 ] || check "$what: one line" test "$(grep -vc '^note: ' err)" -eq 1
}
v=("$vitruvian")
quiet 2 "${v[@]}" "$hostile"
quiet 2 "${v[@]}" "--$hostile"
quiet 2 "${v[@]}" models "$hostile"
quiet 2 "${v[@]}" trace --model "$hostile"
for flag in --dataset --recipe --lr --seed --schedule "--$hostile" --precision --val-fraction --flip; do
  quiet 2 "${v[@]}" train $flag "$hostile"
done
quiet "2 3" "${v[@]}" train --config "$hostile"
quiet "2 3 4" "${v[@]}" train --resume "$hostile"
quiet "2 3" "${v[@]}" train --dataset folder --data "$hostile"
quiet "2 3 4" "${v[@]}" train "${settings[@]}" --init "$hostile"
quiet "0" "${v[@]}" train "${settings[@]}" --out "$hostile"
quiet "0" "${v[@]}" report "$hostile"
quiet "0" "${v[@]}" compare "$hostile" calm --out "$hostile.html"
quiet "0" "${v[@]}" eval --weights "$hostile" --test-size 20
quiet "0" "${v[@]}" predict --weights "$hostile" blank.pgm
quiet "0" "${v[@]}" convert --from "$hostile" --to "$hostile.safetensors" --scheme hf
quiet "0" "${v[@]}" inspect --weights "$hostile" --out "$hostile.out" blank.pgm
quiet "2 3 4" "${v[@]}" eval --weights "$hostile.no"
quiet "2 3 4" "${v[@]}" predict --weights "$hostile.no" blank.pgm
quiet "2 3 4" "${v[@]}" predict --weights calm "$hostile.no"
quiet "2 3 4" "${v[@]}" predict --weights calm --labels "$hostile.no" blank.pgm
quiet "2 3 4" "${v[@]}" predict --weights calm --interpolation "$hostile" blank.pgm
quiet "2" "${v[@]}" convert --from calm --to x --scheme "$hostile"
quiet "1" "${v[@]}" convert --from calm --to "$hostile.safetensors/x" --scheme hf
quiet "2 3 4" "${v[@]}" report "$hostile.no"
quiet "2 3 4" "${v[@]}" compare "$hostile.no" calm
quiet "1 2 3 4" "${v[@]}" inspect --weights calm --out x "$hostile.no"
for command in fetch verify info; do quiet 2 "${v[@]}" data $command "$hostile"; done
quiet "1 3" "${v[@]}" data fetch mnist --data "$hostile" --mirror "http://127.0.0.1:9/$hostile" --timeout 1
quiet "1 2 3" "${v[@]}" data fetch mnist --data d --mirror "ftp://$hostile"
quiet "1 3" "${v[@]}" data fetch mnist --data d --from-file "$hostile"
quiet 3 "${v[@]}" data verify mnist --data "$hostile"
quiet 0 "${v[@]}" data info mnist --data "$hostile"
quiet 0 "${v[@]}" data preview digits --columns 1 --out "$hostile.png"
quiet 2 env VITRUVIAN_GEMM="$hostile" "${v[@]}" --version
quiet 2 "$bin/gradcheck" --op "$hostile"
quiet 2 "$bin/gradcheck" --op exp --seed -3
check "the largest seed of train is one here" "$bin/gradcheck" --op exp --seed 18446744073709551615
check "what a seed is, is said" grep -q "'-3' is not a whole number" err
"$bin/gradcheck" --op multi_head_attention >out
check "columns stand below their heads" awk 'NR == 1 { at = index($0, "inputs") } NR == 2 { exit substr($0, at - 2, 3) !~ /[^ ] \(/ }' out
check "the help of gradcheck is 80 columns wide" test "$("$bin/gradcheck" --help | wc -L)" -le 80
quiet 2 "$bin/gradcheck" "--$hostile"
# Names in files: a picture's, classes, settings.
cp blank.pgm "$hostile.pgm"
quiet 0 "${v[@]}" predict --weights calm "$hostile.pgm"
quiet 0 "${v[@]}" predict --weights calm --json "$hostile.pgm"
quiet 3 "${v[@]}" predict --weights calm --json "$hostile.no"
for _ in 1 2 3 4 5 6 7 8 9 10; do printf 'x\e]0;owned\a\x7f\xc2\x9b2J\xe2\x80\xaetxt\n'; done >labels
quiet "0 3" "${v[@]}" predict --weights calm --labels labels blank.pgm
class=x$'\e]0;owned\a\xc2\x9b2J\xe2\x80\xaetxt\x7f'
of_folder=(train --dataset folder --image-size 14 --patch-size 7 --width 16 --depth 1 --heads 2
  --epochs 1 --batch-size 8 --threads 1)
for name in "$class" other; do
  mkdir -p "pictures/$name"
  for i in 1 2 3 4 5 6 7 8; do cp blank.pgm "pictures/$name/$i.pgm"; done
done
quiet "0 3" "${v[@]}" "${of_folder[@]}" --data pictures --out named
quiet "0 3" "${v[@]}" data verify folder --data pictures
cp blank.pgm "pictures/other/$hostile.txt" && echo "no picture" >"pictures/other/$hostile.pgm"
quiet 3 "${v[@]}" "${of_folder[@]}" --data pictures --out none
quiet "0 3" "${v[@]}" "${of_folder[@]}" --data pictures --skip-bad --out skipping
if [ -e named/config.json ]; then
  quiet "0 3" "${v[@]}" predict --weights named blank.pgm
  quiet "0 3" "${v[@]}" report named
fi
printf '{"x\\u001b]0;owned\\u0007\\u009b\\u202e\\nnewline": 1}' >config
quiet "2 3" "${v[@]}" train --config config
printf '{"dataset": "x\\u001b]0;owned\\u0007\\u009b\\u202e\\nnewline"}' >config
quiet "2 3" "${v[@]}" train --config config
printf '{"dataset": \e]0;owned\a}' >config
quiet "2 3" "${v[@]}" train --config config
header='{"x\u001b]0;owned\u0007\n\u009b": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}'
{ printf '%b' "\\x$(printf %x ${#header})\0\0\0\0\0\0\0" && printf '%s\0\0\0\0' "$header"; } >names.safetensors
quiet 4 "${v[@]}" predict --weights names.safetensors blank.pgm
if [ -x "$bin/lesson" ]; then
  quiet 2 "$bin/lesson" "$hostile"
  quiet 2 "$bin/lesson" "--$hostile"
  quiet 2 "$bin/lesson" list "--$hostile"
  quiet 2 "$bin/lesson" exercise "$hostile"
  quiet 2 "$bin/lesson" hint 1 --level "$hostile"
  quiet 1 env XDG_STATE_HOME="$folder/state" "$bin/lesson" exercise 1 --dir "$folder/config/$hostile"
  quiet 0 env XDG_STATE_HOME="$folder/state" "$bin/lesson" exercise 1 --dir "$folder/$hostile.ex"
  quiet 2 env XDG_STATE_HOME="$folder/state" "$bin/lesson" check 2 --dir "$folder/$hostile.ex"
fi
if [ -x "$bin/lesson_notation" ]; then
  quiet 2 "$bin/lesson_notation" "--$hostile"
  quiet 2 "$bin/lesson_notation" --break "$hostile"
  quiet 2 "$bin/lesson_notation" --seed "$hostile"
  quiet 0 "$bin/lesson_notation" --no-input --done-file "config/$hostile"
fi
printed=$(grep -rnE 'fmt::print\(|std::(cout|cerr|clog)\b|\bf?puts\(|[^ns]printf\(' --include='*.[ch]pp' "$root"/{core,datasets,media,charts,nn,vit,train,report,apps,lessons} | grep -v '///')
check "everything is printed through core/base/console.hpp: $printed" test -z "$printed"

# Links that loop.
ln -s loop loop
quiet "3 4" "${v[@]}" predict --weights loop blank.pgm
quiet 3 "${v[@]}" predict --weights calm loop
quiet "2 3" "${v[@]}" train --config loop
quiet "2 3 4" "${v[@]}" train --resume loop
quiet "2 3" "${v[@]}" data verify folder --data loop
quiet "2 3 4" "${v[@]}" report loop
quiet "2 3 4" "${v[@]}" compare loop calm
quiet "2 3" "${v[@]}" train --dataset mnist --data loop
quiet 3 "${v[@]}" data verify mnist --data loop
quiet "1 3" "${v[@]}" data fetch mnist --data loop --from-file x
quiet "1 3" "${v[@]}" data fetch mnist --data d --from-file loop
mkdir -p looped/{a,b}
for i in 1 2 3 4 5 6 7 8; do cp blank.pgm looped/a/$i.pgm && cp blank.pgm looped/b/$i.pgm; done
ln -s loop.pgm looped/a/loop.pgm
quiet 3 "${v[@]}" "${of_folder[@]}" --data looped --out none
check "a picture that loops is named" grep -q "loop.pgm: .*Too many levels of symbolic links" err
quiet 0 "${v[@]}" "${of_folder[@]}" --data looped --skip-bad --out some

# Links in place of what is to be written.
echo mine >precious
ln -s precious link.png
ln -s calm folder
for command in "convert --from calm --to link.png --scheme hf" "compare calm run --out link.png" \
  "data preview digits --columns 1 --out link.png"; do
  quiet 1 "${v[@]}" $command
  check "$command: the link is named" grep -q "link.png: cannot be written: it is a symbolic link" err
  check "$command: what it leads to is left alone" test "$(cat precious)" = mine
done
"$vitruvian" convert --from calm --to weights --scheme hf >out 2>err
check "/dev/stdout is no such link" bash -c '"$1" convert --from calm --to /dev/stdout --scheme hf | head -c "$(wc -c <weights)" | cmp - weights' - "$vitruvian"
check "a folder may be a link" "$vitruvian" report folder >/dev/null

# Limits: on the size of files, and on memory.
quiet 1 bash -c 'ulimit -f 8; "$0" "$@"' "$vitruvian" train "${settings[@]}" --out limited
check "which file" grep -q "limited/.*: cannot be written: File too large" err
check "nothing half-written" test -z "$(find limited -name '*.tmp' -o -name '*.part')"
quiet 1 bash -c 'ulimit -f 8; "$0" "$@"' "$vitruvian" convert --from calm --to large --scheme hf
check "nothing at all" test -z "$(ls large* 2>/dev/null)"
if ! grep -q __asan_init "$vitruvian"; then
  for kilobytes in 125000 150000 200000 400000; do
    (ulimit -v $kilobytes && "$vitruvian" --help >out 2>err) || continue # not even its libraries fit
    quiet 0 bash -c 'ulimit -v $1; shift; exec "$0" "$@"' "$vitruvian" $kilobytes models
    rm -rf small
    quiet "0 1" bash -c 'ulimit -v $1; shift; exec "$0" "$@"' "$vitruvian" $kilobytes train "${settings[@]}" --threads 2 --out small
  done
  # No memory for the stacks of so many threads.
  quiet "0 1" bash -c 'ulimit -v 600000; exec timeout 60 "$@"' - "$vitruvian" eval --weights calm --threads 500
  # 0: a build that has no threads.
  check "which" sh -c '! test -s err || grep -q "only [0-9]* of 500 threads can be started: " err'
fi
if command -v ldd >/dev/null; then
  check "no BLAS is loaded that nobody asked for" sh -c '! ldd "$1" | grep -q blas' - "$vitruvian"
fi

finish
