#!/usr/bin/env bash
# One lesson: it passes, in every form and at other seeds; its page in docs/lessons is what it says;
# each of its mistakes, and a flipped sign in each op that it teaches, makes it fail.
# Usage: lesson_test.sh PROGRAM CPU_SECONDS SEEDS ROOT
set -u
program=$1
limit=$2
seeds=$3
root=$4
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
says() { grep -q -- "$1" "$folder/${2:-out}" || fail "does not say: $1"; }
longest() { wc -L <"$folder/$1"; }
marks() { tr -cd '?' <"$folder/$1" | wc -c; }

# One run, five forms.
lesson 0 --forms "$folder"
says "all passed"
cmp -s "$folder/out" "$folder/plain" || fail "shows another form than the plain one"
[ "$(LC_ALL=C.UTF-8 longest plain)" -le 80 ] || fail "has a line of more than 80 columns"
if LC_ALL=C grep -q $'\x1b' "$folder/out"; then fail "has colour where there is no terminal"; fi
if LC_ALL=C grep -n '[^ -~]' "$folder/ascii"; then fail "is not ASCII with --ascii"; fi
[ "$(marks ascii)" = "$(marks plain)" ] || fail "has a glyph without ASCII spelling"
[ "$(longest narrow)" -le 60 ] || fail "does not fit into a narrow terminal"
says '^# Lesson' page.md
[ $(($(grep -c '^```' "$folder/page.md") % 2)) = 0 ] || fail "has code that does not end"
diff -u "$root/docs/lessons/${name#lesson_}.md" "$folder/page.md" ||
  fail "says what its page does not: run scripts/make_pages.sh"
python3 "$root/tests/lessons/same_figures.py" "$root/docs/lessons/figures" "$folder/figures" \
  "${name#lesson_}" || fail "draws what its page does not: run scripts/make_pages.sh"
says '"event":"closing"' json
if grep -vq '^{.*}$' "$folder/json"; then fail "has a line that is no JSON object"; fi

# A flag that --help does not list is suggested to nobody.
lesson 2 --form
if grep -q -- --forms "$folder/out"; then fail "suggests a flag that --help does not list"; fi
lesson 2 --forms
says "the last flag needs a value"

python3 "$root/tests/lessons/pieces_fit.py" "$program" >"$folder/out" 2>&1 ||
  fail "has a piece longer than a screen"

for ((seed = 2; seed < 2 + seeds; ++seed)); do lesson 0 --seed $seed; done

breaks=0
for mistake in $("$program" --describe | sed -n 's/^break //p'); do
  lesson 1 --break "$mistake"
  says "asked for the mistake $mistake: "
  breaks=$((breaks + 1))
done
[ "$name" = lesson_notation ] || [ $breaks -gt 0 ] || fail "has no mistake to make"
for values in $("$program" --describe | sed -n 's/^play //p'); do
  lesson 0 --play "$values"
  says . # it shows something
done
for op in $("$program" --describe | sed -n 's/^op //p'); do
  lesson 1 --fault "$op:flip_sign"
done

lesson 2 --break no-such-mistake
lesson 2 --nonsense
lesson 2 --width three

[ $failures = 0 ] || exit 1
echo "$name: $breaks mistakes, all noticed"
