#!/usr/bin/env bash
# Exercises as a learner meets them. Usage:
#   exercises_test.sh PATH/TO/lesson every REST    every stub fails its check, with words that help,
#                                                  and every solution passes; those with N % 2 = REST
#   exercises_test.sh PATH/TO/lesson mistakes      what goes wrong ends in a line that helps, and in
#                                                  the right exit code
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
lesson=$vitruvian
sources=$here/../../lessons/exercises
export XDG_STATE_HOME=$folder/state NO_COLOR=1

# expect CODE PATTERN ARGUMENT...: runs lesson, compares the exit code, and looks for the pattern in
# all that it says, line ends read as blanks.
expect() {
  "$lesson" "${@:3}" >err 2>&1 </dev/null
  local code=$?
  checks=$((checks + 1))
  if [ $code -ne "$1" ] || ! tr '\n' ' ' <err | grep -qE -- "$2"; then
    wrong "lesson ${*:3}: exit $code, expected $1 and /$2/"
  fi
}

yours() { ls exercises/"$(printf %02d "$1")"_*.cpp; }

# slip N CODE PATTERN: the learner's file of exercise N with the solution's gap filled with the
# mistake CODE; its check must fail and say PATTERN.
slip() {
  "$lesson" exercise "$1" --again >out 2>&1
  sed -i "s#return .*;\$#$2#" "$(yours "$1")"
  expect 1 "$3" check "$1"
}

telling='//\||\[(gap|solution|end|hint)'
every() {
  local count=0 source number
  for source in "$sources"/[0-9]*.cpp; do
    number=$((10#$(basename "$source" | cut -c1-2)))
    count=$((count + 1))
    check "exercise $number has its number" test $count -eq $number
    [ $((number % 2)) -eq "$1" ] || continue
    expect 0 "exercises/$(basename "$source")" exercise $number
    check "exercise $number has a gap" grep -q Yours "$(yours $number)"
    check "exercise $number shows no solution, marker or hint" not grep -qE "$telling" "$(yours $number)"
    expect 1 "gap (is still|may still be) open" check $number
    expect 0 "hint 1 of 3.*hint $number --level 2" hint $number
    expect 0 "hint 2 of 3" hint $number
    expect 0 "hint 3 of 3.*give-up" hint $number
    expect 1 "lesson solution $number --give-up" solution $number
    "$lesson" solution $number --give-up >"$(yours $number)"
    check "the solution of $number shows no marker or hint" not grep -qE "$telling" "$(yours $number)"
    expect 0 "agree .*All of it agrees" check $number
    expect 0 "EXERCISE" solution $number
  done
  check "there are sixteen or more" test $count -ge 16
}

mistakes() {
  # Usage: exit 2.
  while IFS='|' read -r pattern arguments; do
    # shellcheck disable=SC2086 # words
    expect 2 "$pattern" $arguments
  done <<'TABLE'
no exercise 99: they go from 1 to|exercise 99
no exercise 0|check 0
did you mean softmax|exercise sofmax
see lesson exercises|hint nothing-like-it
which exercise|check
did you mean --again|exercise 1 --agian
from 1 to 3, not '4'|hint 1 --level 4
from 1 to 3600, not '-1'|check 1 --seconds -1
dir: .*required|exercise 1 --dir
exercise 6 is not started.*lesson exercise 6|check 6
TABLE

  # The learner's folder.
  expect 0 "0 of [0-9]* done. Next: lesson exercise 1" exercises
  expect 0 "exercises/06_softmax.cpp" exercise softmax
  cp "$(yours 6)" stub
  printf '// mine\n' >>"$(yours 6)"
  expect 0 "stays as you left it; --again" exercise 6
  check "the learner's file is not overwritten" grep -q mine "$(yours 6)"
  expect 0 "exercises/06" exercise 6 --again
  check "--again starts over" cmp stub "$(yours 6)"
  mkdir elsewhere
  cd elsewhere || exit 1
  expect 1 "still open" check 6
  cd "$folder" || exit 1
  expect 0 "other/01_difference.cpp" exercise 1 --dir other
  expect 1 "still open" check 1
  expect 0 "exercises/06" exercise 6 --dir exercises
  printf '' >file
  expect 1 "file/06_softmax.cpp: cannot be written" exercise 6 --dir file

  # The file does not compile, or hands nothing in.
  sed -i 's/return {};/return y * gg;/' "$(yours 6)"
  expect 1 "06_softmax.cpp, line 1[0-9]: error: .*gg.*return y \* gg;.*\^" check 6
  printf '#include "lessons/exercises/exercise.hpp"\n' >"$(yours 6)"
  expect 1 "EXERCISE.*is missing" check 6
  cp stub "$(yours 6)"
  sed -i 's/const Tensor& g)/Tensor g)/' "$(yours 6)"
  expect 1 "other types than in the exercise" check 6
  cp stub "$(yours 6)"
  sed -i 's/return {};//' "$(yours 6)"
  expect 1 "no return statement|does not return" check 6

  # It crashes, does not end, throws.
  slip 6 'return y.value().data()[1ull << 40] > 0 ? y : g;' "crashed.*working on: y, g \(3,\)"
  slip 6 'return softmax_vjp(y, g);' "crashed.*calls itself too often"
  "$lesson" exercise 6 --again >out
  sed -i 's/return {};/for (volatile int i = 0;;) i = 1 - i;/' "$(yours 6)"
  expect 1 "did not end within 2 seconds.*working on: y, g" check 6 --seconds 2
  slip 14 'return matmul(q, k);' "Your code stopped with: matmul.*inner"

  # Answers that are wrong: what differs, where, by how much, and why.
  slip 6 'return y * g;' "dx \([0-9, ]*\) at \[[0-9, ]*\]: yours -?[0-9.e-]*, differences say -?[0-9.e-]*\..* entries differ.*the term that every output.* shares is missing"
  slip 6 'return -(y * (g - sum(g * y, {-1}, true)));' "opposite sign"
  slip 10 'return mask * g;' "factor 1 / \(1 − p\) is missing"
  slip 12 'return slice(g, 1, 0, 1);' "should have the shape \(1, 1, 2\); yours has|token is shared"
  slip 12 'return mean(slice(g, 1, 0, 1), {0}, true);' "mean over the batch"
  slip 14 'return matmul(softmax(matmul(q, transpose(k))), v);' "not divided by √D_h"
  slip 2 'return {output};' "Node 1 is missing"

  # The compiler is gone.
  mkdir -p bare/bin bare/lessons/exercises
  cp "$lesson" "$(dirname "$lesson")/exercise_checks" bare/bin/
  printf '/nowhere/c++\n-std=c++20\n' >bare/lessons/exercises/compiler.txt
  lesson=$folder/bare/bin/lesson
  expect 1 "/nowhere/c\+\+, which compiled Vitruvian, is not on this machine" check 6
  unset XDG_STATE_HOME
  HOME=$folder/elsewhere expect 0 "hint 1 of 3" hint 6
}

"$2" "${3:-}"
finish
