#!/usr/bin/env bash
# One lesson: it passes, in every form and at other seeds; each of its mistakes, and a flipped sign
# in each op that it teaches, makes it fail. Usage: lesson_test.sh PROGRAM CPU_SECONDS
set -u
program=$1
limit=$2
name=$(basename "$program")
folder=$(mktemp -d)
trap 'rm -rf "${folder:?}"' EXIT
failures=0

fail() {
  printf 'FAIL %s: %s\n' "$name" "$1"
  tail -n 15 "$folder/out"
  failures=$((failures + 1))
}
lesson() { # lesson STATUS [FLAG...]
  local expected=$1
  shift
  (ulimit -t "$limit" && exec "$program" "$@") >"$folder/out" 2>&1 </dev/null
  local status=$?
  [ $status = "$expected" ] || fail "$* ends with $status, expected $expected"
}
says() { grep -q -- "$1" "$folder/out" || fail "does not say: $1"; }
longest() { wc -L <"$folder/out"; }

lesson 0
cp "$folder/out" "$folder/plain"
says "all passed"
[ "$(LC_ALL=C.UTF-8 longest)" -le 80 ] || fail "has a line of more than 80 columns"
if LC_ALL=C grep -q $'\x1b' "$folder/out"; then fail "has colour where there is no terminal"; fi

lesson 0 --ascii
if LC_ALL=C grep -n '[^ -~]' "$folder/out"; then fail "is not ASCII with --ascii"; fi
questions=$(tr -cd '?' <"$folder/out" | wc -c)
[ "$questions" = "$(tr -cd '?' <"$folder/plain" | wc -c)" ] || fail "has a glyph without ASCII spelling"

lesson 0 --ascii --width 40
[ "$(longest)" -le 60 ] || fail "does not fit into a narrow terminal"

lesson 0 --markdown
says '^# Lesson'
[ $(($(grep -c '^\$\$$' "$folder/out") % 2)) = 0 ] || fail "has an equation that does not end"
[ $(($(grep -c '^```' "$folder/out") % 2)) = 0 ] || fail "has code that does not end"

lesson 0 --json
says '"event":"closing"'
if grep -vq '^{.*}$' "$folder/out"; then fail "has a line that is no JSON object"; fi

for seed in 2 3 4; do lesson 0 --seed $seed; done

number=$((10#$(printf '%s' "$name" | sed 's/lesson_\([0-9]*\)_.*/\1/')))
breaks=0
for mistake in $("$program" --describe | sed -n 's/^break //p'); do
  lesson 1 --break "$mistake"
  says "--break $mistake: "
  breaks=$((breaks + 1))
done
[ $number -lt 4 ] || [ $breaks -gt 0 ] || fail "has no mistake to make"
for op in $("$program" --describe | sed -n 's/^op //p'); do
  lesson 1 --fault "$op:flip_sign"
done

lesson 2 --break no-such-mistake
lesson 2 --nonsense
lesson 2 --width three

[ $failures = 0 ] || exit 1
echo "$name: $breaks mistakes, all noticed"
