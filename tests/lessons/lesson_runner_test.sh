#!/usr/bin/env bash
# The program `lesson` as a learner meets it. Usage: lesson_runner_test.sh PATH/TO/lesson PART, where
# PART is one of
#   course        the runner of the lessons, in a folder of its own, with a stand-in for cmake
#   every REST    every stub of an exercise fails its check, with words that help, and every solution
#                 passes; those with N % 2 = REST
#   own_vit       all solutions are done, and the ViT that they make up learns to read: minutes, so only with
#                 VITRUVIAN_SLOW=1; `every` trains it with the last answer alone
#   mistakes      what goes wrong in an exercise ends in a line that helps, and in the right exit code
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
lesson=$vitruvian
root=$(cd "$here/../.." && pwd)
sources=$root/lessons/exercises
export XDG_STATE_HOME=$folder/state

# lesson_says CODE PATTERN ARGUMENT...: runs lesson, compares the exit code, and looks for the pattern in
# all that it says, line ends read as blanks.
lesson_says() {
  "$lesson" "${@:3}" >err 2>&1 </dev/null
  local code=$?
  checks=$((checks + 1))
  if [ $code -ne "$1" ] || ! tr '\n' ' ' <err | grep -qE -- "$2"; then
    wrong "lesson ${*:3}: exit $code, expected $1 and /$2/"
  fi
}

names=$(grep -v '^#' "$sources/contents.txt")

# yours NAME: the learner's file of that exercise
yours() { echo "exercises/$1.cpp"; }

# slip NAME CODE PATTERN [FLAG...]: the learner's file of that exercise with the solution's gap filled with the
# mistake CODE; its check must fail and say PATTERN.
slip() {
  "$lesson" exercise "$1" --again >out 2>&1
  sed -i "s#return .*;\$#$2#" "$(yours "$1")"
  lesson_says 1 "$3" check "$1" "${@:4}"
}

telling='//\||\[(gap|solution|end|hint)'
every() {
  export NO_COLOR=1
  local number=0 name after place=0 before
  for name in $names; do
    number=$((number + 1))
    before=$place
    after=$(sed -nE '1s/.*\(after (\w+), (easy|middle|hard)\)/\1/p' "$sources/$name.cpp")
    place=$(grep -n "^  $after\>" "$root/lessons/course/contents.txt" | cut -d: -f1)
    check "exercise $name comes in the order of the lessons" test "$before" -le "$place"
    [ $((number % 2)) -eq "$1" ] || continue
    lesson_says 0 "exercises/$name.cpp" exercise $number
    check "exercise $number has a gap" grep -q Yours "$(yours "$name")"
    check "exercise $number shows no solution, marker or hint" not grep -qE "$telling" "$(yours "$name")"
    lesson_says 1 "gap (is still|may still be) open" check $number
    lesson_says 0 "hint 1 of 3.*hint $number --level 2" hint $number
    lesson_says 0 "hint 2 of 3" hint $number
    lesson_says 0 "hint 3 of 3.*give-up" hint $number
    lesson_says 1 "lesson solution $number --give-up" solution $number
    "$lesson" solution $number --give-up >"$(yours "$name")"
    check "the solution of $number shows no marker or hint" not grep -qE "$telling" "$(yours "$name")"
    lesson_says 0 "agree .*All of it agrees" check $number
    lesson_says 0 "EXERCISE" solution $number
  done
  check "there are 36 or more" test $number -ge 36
}

# Every answer is there: all of them are in the ViT that learns to read, and its file is read by predict.
own_vit() {
  skip_unless_slow
  export NO_COLOR=1
  local name parts
  for name in $names; do
    "$lesson" exercise "$name" >out 2>&1
    "$lesson" solution "$name" --give-up >"$(yours "$name")"
    lesson_says 0 "All of it agrees" check "$name"
    [ "$name" != own_training ] || cp err trained
  done
  check "all of it is the learner's own" not grep -q "^Ours, until" trained
  parts=$(tr '\n' ' ' <trained | sed -nE 's/.*Yours in it: ([^.]*)\..*/\1/p' | wc -w)
  check "21 answers are in it" test "$parts" -eq 21
  check "it reads 950 or more" grep -qE "It reads (9[5-9].|1000) of 1000" trained
  check "its weights are there" test -s exercises/own_vit/model.safetensors
}

mistakes() {
  export NO_COLOR=1
  local how line="Line 1[0-9] of softmax.cpp"
  how=$(dirname "$lesson")/../lessons/exercises/compiler.txt
  # Who knows the line is AddressSanitizer; clang's asks llvm-symbolizer, which may not be there.
  if ! grep -q 'sanitize=.*address' "$how" || "$(head -1 "$how")" --version | grep -q clang; then line=Your; fi
  # Usage: exit 2.
  while IFS='|' read -r pattern arguments; do
    # shellcheck disable=SC2086 # words
    lesson_says 2 "$pattern" $arguments
  done <<'TABLE'
no exercise 99: they go from 1 to|exercise 99
no exercise 0|check 0
did you mean softmax|exercise sofmax
see lesson exercises|hint nothing-like-it
which exercise|check
did you mean --again|exercise 1 --agian
'4' is not a whole number from 1 to 3|hint 1 --level 4
'-1' is not a whole number from 1 to 3600|check 1 --seconds -1
--dir needs a value|exercise 1 --dir
exercise [0-9]* is not started.*lesson exercise [0-9]*|check softmax
exercise [0-9]* is not started|check softmax --ascii
TABLE

  # The learner's folder.
  lesson_says 0 "0 of [0-9]* done. Next: lesson exercise 1" exercises
  lesson_says 0 "exercises/softmax.cpp" exercise softmax
  cp "$(yours softmax)" stub
  printf '// mine\n' >>"$(yours softmax)"
  lesson_says 0 "stays as you left it; --again" exercise softmax
  check "the learner's file is not overwritten" grep -q mine "$(yours softmax)"
  lesson_says 0 "exercises/softmax" exercise softmax --again
  check "--again starts over" cmp stub "$(yours softmax)"
  mkdir elsewhere
  cd elsewhere || exit 1
  lesson_says 1 "still open" check softmax
  cd "$folder" || exit 1
  lesson_says 0 "other/difference.cpp" exercise 1 --dir other
  lesson_says 1 "still open" check 1
  lesson_says 0 "exercises/softmax" exercise softmax --dir exercises
  # A folder and marks of version 0.1, whose names began with numbers.
  mkdir old && sed 's/return {};/return y * (g - sum(g * y, {-1}, true));/' stub >old/09_softmax.cpp
  printf 'done\n' >"$XDG_STATE_HOME/vitruvian/exercises/04_gelu"
  lesson_says 0 " done  after lesson [0-9]* *middle  GELU" exercises
  lesson_says 0 "old/09_softmax.cpp.*stays as you left it.*number of an earlier version" exercise softmax --dir old
  check "no other file beside it" test "$(ls old)" = 09_softmax.cpp
  lesson_says 0 "All of it agrees" check softmax
  rm "$XDG_STATE_HOME/vitruvian/exercises/"*softmax
  lesson_says 0 "exercises/softmax" exercise softmax --dir exercises
  printf '' >file
  lesson_says 1 "file/softmax.cpp: cannot be written" exercise softmax --dir file

  # The file does not compile, or hands nothing in.
  slip softmax 'return y * gg;' "softmax.cpp, line 1[0-9]: error: .*gg.*return y \* gg;.*\^"
  printf '#include "lessons/exercises/exercise.hpp"\n' >"$(yours softmax)"
  lesson_says 1 "EXERCISE.*is missing" check softmax
  cp stub "$(yours softmax)"
  sed -i 's/const Tensor& g)/Tensor g)/' "$(yours softmax)"
  lesson_says 1 "other types than in the exercise" check softmax
  slip softmax '' "no return statement|does not return"

  # The commonest mistakes of writing, each in other words than the compiler's.
  while IFS='|' read -r code pattern; do
    awk -v code="  $code" '{ print (/return \{\};/ ? code : $0) }' stub >"$(yours softmax)"
    lesson_says 1 "goes back +[^ ]*softmax.cpp, line 1[0-9]: error: .*  $pattern.*it does not compile yet" check softmax
  done <<'TABLE'
return y * g|A semicolon is missing
return y * (g;|A bracket . that was opened
if (y.rank() == 2) { return g;|The braces . and . do not match
return y; }|The braces . and . do not match
return y * heighth;|Nothing is called heighth here.*docs/ops.md has what works on tensors
return Softmax(y);|Nothing is called Softmax here.*Did you mean softmax
return y * std::exxp(y);|Nothing is called exxp here
return sum(g * y, axis=-1);|C\+\+ has no arguments by name
return y @ g;|C\+\+ has no @
return 1.0;|A Tensor is wanted, and this is none
double a = sum(y * g); return y * a;|A Tensor is no number.*t.item
Array a = y; return a;|A Tensor is no Array
const Tensor a = y * g;|The function can end without a return
Tensor a = {1, 2}; return a;|A Tensor is not made of a list
return y.sum();|It has nothing called sum.*Tensor sum\(const
return y.shape[0] * g;|The brackets of a call are missing
y = y * g; return y;|It is const, so it is only read
y += g; return y;|It is const, so it is only read
y.value()(0, 0) = 3; return y;|It is const, so it is only read
return y(0, 1) * g;|Entry .i, j. of a Tensor is
return y ^ 2;|That operator is not there.*pow\(t, p\)
return y > 0 ? y : g;|That operator is not there
return reshape(y, {1, "x"});|(A shape, or a list of axes|reshape takes other arguments.*Lengths)
return std::exp(y);|std::exp takes numbers
return softmax(y, 1, 2, 3);|softmax takes other arguments.*int axis = -1
TABLE
  slip softmax 'int n = 3; Shape s = {n, 2}; return y;' "  Lengths are std::size_t.*static_cast"
  slip softmax 'for (int i = 0; i < y.size(-1); ++i) {} return reshape(2.0 - 1.0 / y, y.shape());' \
    "^Exercise [0-9]*\. Softmax goes back *(The library[^:]*: [0-9]* s *)?DISAGREE"

  # It crashes, does not end, throws.
  slip softmax 'return y.value().data()[1ull << 40] > 0 ? y : g;' "crashed.*working on: y, g \(3,\)"
  slip softmax 'return softmax_vjp(y, g);' "crashed.*calls itself too often"
  slip softmax 'for (volatile int i = 0;;) i = 1 - i;' "did not end within 2 seconds.*working on: y, g" --seconds 2
  slip attention 'return matmul(q, k);' "stopped with: matmul.*inner"

  slip softmax 'throw 42;' "gave up \(abort\).*working on: y, g \(3,\)"
  slip softmax 'std::exit(0);' "left the program \(exit\).*working on: y, g \(3,\)"
  # What was judged before it crashed stays said.
  slip softmax 'if (y.rank() == 3) std::abort(); return y * g;' \
    "DISAGREE  y, g \(3,\).*shares is missing.*DISAGREE  y, g \(2, 3\).*gave up.*working on: y, g \(2, 3, 4\)"

  # It reads outside of an array: at the last row the neighbour below is beyond the grid.
  "$lesson" exercise resize_positions >out
  "$lesson" solution resize_positions --give-up | sed 's/std::min(\(.*\), n - 2)/\1/' >"$(yours resize_positions)"
  lesson_says 1 "reads or writes outside of an array: index 5 of axis 1, which has length 5" check resize_positions
  slip softmax 'return Tensor(scalar(y.value()(0, 0, 0, 0)));' "$line.* gives 4 indices to an array that has 1 axes"
  if echo 'int main() {}' | "$(head -1 "$how")" -x c++ -fsanitize=address -o a.out - && ! grep -q 'sanitize=thread' "$how"; then
    check "AddressSanitizer is used, as the compiler has it" grep -q 'sanitize=.*address' "$how"
    slip softmax 'return y.value().data()[y.value().size()] > 0 ? y : g;' \
      "$line.* reads outside of an array.*working on: y, g \(3,\)"
    slip softmax 'Array a = empty({3}); a.data()[3] = 1; return g;' "$line.* writes outside"
    slip softmax 'const Array\& a = (y * g).value(); return Tensor(a);' "$line.* reads an array .*that is gone"
    slip softmax 'std::vector<int> v(std::size_t(1) << 34); return y;' "$line.* asks for more memory"
    slip softmax 'for (std::vector<Array> all;;) all.push_back(zeros({1000000}));' "$line.* (memory|stopped with: std::bad_alloc)" --seconds 100
    slip softmax 'std::abort(); return y;' "$line.* gave up"
  fi

  # Answers that are wrong: what differs, where, by how much, and why.
  slip softmax 'return y * g;' "dx \([0-9, ]*\) at \[[0-9, ]*\]: yours -?[0-9.e-]*, differences say -?[0-9.e-]*\..* entries differ.*the term that every output.* shares is missing"
  slip softmax 'return -(y * (g - sum(g * y, {-1}, true)));' "opposite sign"
  slip dropout 'return mask * g;' "factor 1 / \(1 − p\) is missing"
  lesson_says 1 "factor 1 / \(1 - p\) is missing" check dropout --ascii
  slip class_token 'return slice(g, 1, 0, 1);' "should have the shape \(1, 1, 2\); yours has|token is shared"
  slip class_token 'return mean(slice(g, 1, 0, 1), {0}, true);' "mean over the batch"
  slip attention 'return matmul(softmax(matmul(q, transpose(k))), v);' "not divided by √D_h"
  slip backward_order 'return {output};' "Node 1 is missing"

  # One thing wrong in our own answers.
  while IFS='|' read -r name change pattern; do
    "$lesson" exercise "$name" >out
    "$lesson" solution "$name" --give-up | sed "$change" >"$(yours "$name")"
    lesson_says 1 "$pattern" check "$name"
  done <<'TABLE'
adamw|s/++s.t/s.t++/|1 − βᵗ is 0: count t up before you use it
adamw|s/++s.t/s.t + 1/|t: yours 0.*It is not counted up
adamw|s/g \* (1 - r.beta1)/g/|m \(2, 3\).*g is added whole: its share is 1 − β₁
adamw|s/square(g)/g/|v \(2, 3\).*g is not squared
adamw|s/m_hat = /m_hat = s.m = /|they are used once and forgotten
adamw|s/beta1/betaX/g;s/beta2/beta1/g;s/betaX/beta2/g|are exchanged: m goes with β₁
adamw|s/v_hat = .*/v_hat = s.v;/|v̂ is missing
adamw|s/r.eta \* r.lambda/r.lambda/|The decay is λ w; it is η λ w
adamw|s/r.beta1, t)/r.beta1, 1)/;s/r.beta2, t)/r.beta2, 1)/|1 − β is not 1 − βᵗ
adamw|s/m_hat . (sqrt/g \/ (sqrt/|The last line steps by g
adamw|/s.w - s.w/d;s/  return s;/  s.w = s.w - s.w * (r.eta * r.lambda); return s;/|The decay came after the step
softmax|s/{-1}, true/{-1}/|The sum has lost its axis
difference|s/return (f.*/h = 1e-6; return (f(x + h) - f(x)) \/ h;/|You look nearer than h
wrong_entries|s/std::max(1.0, std::abs(d))/std::abs(d)/|Below 1 it shrinks no more
wrong_entries|s/std::max(1.0, std::abs(d))/std::max(1.0, d)/|The allowed error grows with
clipping|s/if (norm > /if (squares > /|DISAGREE  one of norm 5, max_norm 6
backward_order|s/if (--uses\[input\] == 0) order/if (uses[input] != 0) uses[input] = 0, order/|comes before node
softmax|s/return .*/return y * (g - matmul(y, g));/|inner
attention|s/matmul(q, transpose(k))/q * transpose(k)/|The product of matrices is matmul
own_mlp|s/gelu(linear(x, \(.*\)));$/linear(x, \1);/|The GELU is missing
own_mlp|s/gelu(linear(x, \(.*\)));$/linear(x, \1);/;s/return linear(\(.*\));/return gelu(linear(\1));/|The GELU stands behind the second layer
own_mlp|s/gelu(linear(x,/gelu(linear(gelu(x),/|There is a GELU before the first layer
own_mlp|s/return linear.*/return hidden;/|the second linear layer is missing
own_mlp|s/".fc1.weight"/"fc1.weight"/|asks for a parameter of a name that is none
TABLE

  # An answer is built into later ones as it was when it agreed; judged anew, it must agree.
  for name in own_linear own_mlp; do
    "$lesson" exercise "$name" --again >out
    "$lesson" solution "$name" --give-up >"$(yours "$name")"
    lesson_says 0 "All of it agrees" check "$name"
  done
  "$lesson" exercise own_linear --again >out
  lesson_says 0 "Yours in it: own_linear\." check own_mlp
  touch -d 2001-01-01 "$XDG_STATE_HOME/vitruvian/exercises/own_linear.so"
  lesson_says 0 "own_linear is judged again.*It no longer agrees.*Ours, until yours are done:.* own_linear" check own_mlp

  # --watch: at each change of the file, at Enter; a hint at h, the next at the next; q.
  cp stub "$(yours softmax)"
  lesson_says 2 "--watch waits at a terminal.*and this is none" check softmax --watch
  if script --version 2>/dev/null | grep -q util-linux; then
    seen() { # seen PATTERN [TIMES]: waits until that many lines of the screen say so
      for _ in $(seq 300); do
        [ "$(grep -cE "$1" screen)" -ge "${2:-1}" ] && return
        sleep 0.1
      done
      echo "never seen: $1" >>screen
    }
    true >screen
    {
      seen 'gap is still open' && seen '\[q\]uit'
      sed -i 's/return {};/return y * g;/' "$(yours softmax)"
      seen 'shares is missing' && seen '\[q\]uit' 2 && echo h
      seen 'hint [1-3] of 3' && seen '\[q\]uit' 3 && echo
      seen 'Judged 3 times' && seen '\[q\]uit' 4
      sed -i 's/return y \* g;/return y * (g - sum(g * y, {-1}, true));/' "$(yours softmax)"
      seen 'All of it agrees' && seen '\[q\]uit' 5 && echo q
    } | TERM=xterm timeout 120 script -qfec "$lesson check softmax --watch" screen >out
    check "--watch ends at q with 0" test "${PIPESTATUS[1]}" = 0
    has screen $'^\e\[H\e\[JExercise' '\[Enter\] again  \[h\]int  \[q\]uit' 'Judged 4 times'
    check "all of it was seen: $(grep 'never seen' screen)" not grep -q 'never seen' screen
  fi

  # The compiler is gone.
  mkdir -p bare/bin bare/lessons/exercises
  cp "$lesson" "$(dirname "$lesson")/exercise_checks" bare/bin/
  lesson=$folder/bare/bin/lesson
  # The headers are compiled once, and when one of them has changed.
  printf '#!/bin/bash\nwhile [ "$1" ]; do\n[ "$1" = -o ] && true >"$2"\n[ "$1" = -MF ] && echo "made: '"$folder"'/header" >"$2"\nshift\ndone\n' >compiler
  chmod +x compiler && touch -d 2001-01-01 header
  echo "$folder/compiler" >bare/lessons/exercises/compiler.txt
  lesson_says 1 "headers are compiled, once: [0-9]* s.*cannot be loaded" check softmax
  lesson_says 1 "goes back +your file cannot be loaded" check softmax
  touch -d tomorrow header
  lesson_says 1 "headers are compiled, once" check softmax

  printf '/nowhere/c++\n-std=c++20\n' >bare/lessons/exercises/compiler.txt
  lesson_says 1 "/nowhere/c\+\+, which compiled Vitruvian, is not on this machine" check softmax
  unset XDG_STATE_HOME
  HOME=$folder/elsewhere lesson_says 0 "hint 1 of 3" hint softmax
}

course() {
  local bin=$folder/build/bin real read=$folder/state/vitruvian/lessons/softmax
  real=$(dirname "$lesson")
  mkdir -p "$bin" tools state
  cp "$lesson" "$bin"
  lesson=$bin/lesson
  PATH=$folder/tools:/usr/bin:/bin
  cmake_does() {
    printf '#!/bin/bash\necho "called: cmake $*"\n%s\n' "$1" >tools/cmake
    chmod +x tools/cmake
  }

  lesson_says 0 "Next: lesson 0" list
  has err "Notation, shapes, broadcasting" "\(B, T, D\) \+ \(D\)" "8 min"
  check "the list is 80 columns wide" test "$("$lesson" list | LC_ALL=C.UTF-8 wc -L)" -le 80
  check "that of the exercises, too" test "$("$lesson" exercises | LC_ALL=C.UTF-8 wc -L)" -le 80
  lesson_says 0 "" list --markdown
  check "another index: scripts/make_pages.sh" cmp err "$root/docs/lessons/README.md"
  lesson_says 0 "" glossary --markdown
  check "another glossary: scripts/make_pages.sh" cmp err "$root/docs/lessons/glossary.md"
  while read -r word; do # `NAME, OTHERS: LESSON`
    check "the page of ${word##*: } says ${word%%[,:]*}, which the glossary says it explains" \
      grep -qiF "${word%%[,:]*}" "$root/docs/lessons/${word##*: }.md"
  done < <(grep -v '^[ #]' "$root/lessons/course/glossary.txt")
  lesson_says 0 "residual connection, also skip connection .*Lesson [0-9]+: Residuals" glossary "Skip connection"
  check "the glossary is 80 columns wide" test "$("$lesson" glossary | LC_ALL=C.UTF-8 wc -L)" -le 80
  ls "$root"/docs/lessons/*.md | sed 's|.*/||; s/\.md$//' >pages
  { printf '%s\n' README glossary && ls "$root"/lessons/course/*.cpp | sed 's|.*/||; s/\.cpp$//'; } | sort >courses
  check "a page for every lesson, and no other" sh -c 'sort pages | cmp - courses'
  while IFS='|' read -r pattern arguments; do
    # shellcheck disable=SC2086 # words
    lesson_says 2 "$pattern" $arguments
  done <<TABLE
did you mean --ascii\?|list --asci
see lesson list --help|list 3
there is no lesson 99: they go from 0 to $(($(grep -c "^  " "$root/lessons/course/contents.txt") - 1))|99
|99999999999999999999
did you mean softmax\?|sofmax
there is no lesson 'chek'; did you mean check\?|chek 1
did you mean next\?|nxet
the glossary has no word 'sofmax'; did you mean softmax\?|glossary sofmax
Its number comes first|--step
TABLE
  lesson_says 2 "" ""
  lesson_says 0 "lesson next" --help
  cp err help
  lesson_says 0 "lesson next" help
  check "lesson help is lesson --help" cmp err help
  for words in "" list glossary progress exercises exercise check hint solution softmax; do
    # shellcheck disable=SC2086 # none, or one
    "$lesson" $words --help >help
    check "the help of lesson $words is 80 columns wide" test "$(LC_ALL=C.UTF-8 wc -L <help)" -le 80
    check "it names no types" not grep -E 'UINT|INT|TEXT|NONNEGATIVE|\{false\}|\(1x\)' help
  done
  [ -e /proc/self/exe ] || return # elsewhere the runner uses the folder it was built in

  cmake_does 'exit 7'
  lesson_says 1 "lesson_notation is not built yet: building it" 1
  has err "called: cmake --build $folder/build --target lesson_notation" "could not be built"
  cmake_does "$(printf 'cp "%s/$4" "%s/$4"' "$real" "$bin")"
  lesson_says 0 "all passed" 1
  lesson_says 0 "done.*Next: lesson 0" list
  lesson_says 0 "Lesson 0\." next --plain
  lesson_says 0 "done.*Next: lesson 2" list
  lesson_says 0 "Lesson 2\." next --plain
  has err "Now you:" "lesson exercise 1: A derivative by differences \(easy\)"

  # The exercises of a lesson come before the next one, until that is read or they are done.
  local marks=$folder/state/vitruvian
  lesson_says 0 "exercise 1: A deriv.*3 of [0-9]* lessons read, 0 of [0-9]* exercises done. Next: lesson exercise 1" list
  lesson_says 0 "Exercise 1\. A deriv.*Rather read on: lesson next --lesson" next --plain
  check "it puts the exercise there" test -f exercises/difference.cpp
  lesson_says 0 "stays as you left it" next
  lesson_says 0 "Lesson 3\." next --lesson --plain
  lesson_says 0 "4 of [0-9]* lessons read.*Next: lesson exercise 2" list
  rm "$marks/lessons/chain_rule"
  lesson_says 0 "Next: lesson exercise 1" list
  touch "$marks/exercises/difference"
  lesson_says 0 "done +exercise 1: .* 1 of [0-9]* exercises done. Next: lesson 3" list
  # shellcheck disable=SC2046
  (cd "$marks/lessons" && touch $(grep '^  ' "$root/lessons/course/contents.txt" | awk '{print $1}'))
  lesson_says 0 "Next: lesson exercise 2" list
  lesson_says 0 "You have read them all" next --lesson
  # shellcheck disable=SC2086
  (cd "$marks/exercises" && touch $names)
  lesson_says 0 "That is all of it" list
  lesson_says 0 "You have read them all" next

  # What was read in the book, and there what was read here.
  "$lesson" progress >all
  local lessons
  lessons=$(grep -c '^  ' "$root/lessons/course/contents.txt")
  check "all of it is in the file" test "$(wc -l <all)" = $((1 + lessons + $(wc -w <<<"$names")))
  rm -r "$marks"
  lesson_says 0 "^Vitruvian progress 1 $" progress
  printf 'Vitruvian progress 1\r\nlesson three_or_eight\r\nlesson rope\r\nexercise gelu\r\n' >some
  lesson_says 0 "New here: 1 lesson, 1 exercise \(1 name not of this course\)" progress some
  lesson_says 0 "1 of [0-9]* lessons read, 1 of [0-9]* exercises done. Next: lesson 1" list
  printf 'Vitruvian progress 1\nlesson notation\nlesson notation\n' >more
  lesson_says 0 "New here: 1 lesson, 0 exercises\. " progress more
  lesson_says 0 "^Vitruvian progress 1 lesson three_or_eight lesson notation exercise gelu $" progress
  for bad in '' 'Vitruvian progress 2\n' '[\n' 'Vitruvian progress 1\nlesson softmax\n\n' \
    'Vitruvian progress 1\nlesson ../../x\n' 'Vitruvian progress 1\nlesson softmax\nlecture gelu\n' \
    'Vitruvian progress 1\nlesson\n' 'Vitruvian progress 1\nlesson soft\0max\n'; do
    # shellcheck disable=SC2059 # with its escapes
    printf "$bad" >other
    lesson_says 3 "^lesson: other, line [123]: this is no progress of the course, whose first line is [^.]* $" progress other
  done
  for place in nowhere /dev/zero "$folder"; do lesson_says 3 "^lesson: [^ ]*: [^.]* $" progress "$place"; done
  lesson_says 0 "2 of [0-9]* lessons read, 1 of [0-9]* exercises done" list
  touch no-folder
  XDG_STATE_HOME=$folder/no-folder lesson_says 1 "no-folder/vitruvian/lessons" progress some
  HOME='' XDG_STATE_HOME='' lesson_says 1 "neither XDG_STATE_HOME nor HOME" progress some
  lesson_says 0 "New here: $((lessons - 2)) lessons" progress all
  lesson_says 0 "That is all of it" list
  rm -r "$marks"
  lesson_says 1 "softmax twice" softmax --break double-softmax
  lesson_says 1 "the lesson ends here" softmax --break elementwise
  check "it does not go on from a mistake" not grep -q "Together they are simpler" err
  lesson_says 2 "did you mean --break\?" softmax --brek x
  lesson_says 2 ": --break needs a value $" softmax --break
  lesson_says 0 "" softmax --ascii --width 40 --plain
  check "it is ASCII" not env LC_ALL=C grep -q '[^ -~]' err
  check "it is as narrow as it was told to be" test "$(wc -L <err)" -le 60
  lesson_says 0 "✓ 2 checks agree, worst [0-9e-]*: rows of p add up; 7 added" softmax --plain
  lesson_says 0 "agree +rows of p add up \(3 numbers\) +largest: sum 1, 1 1; relative error" softmax --all --plain
  lesson_says 0 "# Lesson [0-9]+\. Softmax.*\`\`\`text" softmax --markdown --no-input
  lesson_says 0 "!\[Curves: .*\]\(figures/softmax-1\.svg\)" softmax --markdown --figures drawn
  check "its figures are in the folder" cmp drawn/softmax-1.svg "$root/docs/lessons/figures/softmax-1.svg"
  lesson_says 2 "figures" softmax --figures drawn
  lesson_says 2 "markdown excludes --json" softmax --markdown --json
  lesson_says 0 "" softmax --json
  check "no words of the runner in the JSON" not grep -q '^lesson_softmax' err
  touch -d '2001-01-01' "$bin/lesson_notation"
  lesson_says 0 "lesson_notation is older than its source" 1
  touch no-folder
  XDG_STATE_HOME=$folder/no-folder lesson_says 0 "progress is not kept" 1

  # With somebody at the terminal: questions wait, pieces wait, q leaves without a mark.
  at_terminal() { script -qec "$lesson $1" /dev/null >err; }
  if script --version 2>/dev/null | grep -q util-linux; then
    rm -f "$read"
    printf '\nb\n\ns\nq\n' | TERM=xterm NO_COLOR='' at_terminal "softmax --step"
    has err '\[Enter\] next  \[b\]ack  \[s\]ource  \[q\]uit' "lessons/course/softmax.cpp, lines" $'\e\['
    check "it stops at q" not grep -q "all passed" err
    check "which does not count as read" test ! -e "$read"
    printf '\n' | TERM=xterm NO_COLOR=1 at_terminal softmax
    has err "think first" "ln 10 = 2.30"
    check "no colour with NO_COLOR" not grep -q $'\e\[' err
    TERM=dumb at_terminal "softmax --no-input" </dev/null
    has err "all passed"
    check "neither colour nor a wait on a dumb terminal" not grep -q $'\e\[\\|think first' err
  fi

  # Who ends the runner ends what it has started, and what that has started.
  mkdir -p tmp build/lessons/exercises
  cp "$real/exercise_checks" "$bin"
  cmake_does "echo \$\$ >>'$folder/pids'; sleep 1000 & echo \$! >>'$folder/pids'; wait"
  echo "$folder/tools/cmake" >build/lessons/exercises/compiler.txt
  touch -d '2001-01-01' "$bin/lesson_notation"
  lesson_says 0 "" exercise 1 --dir "$folder/mine"
  for signal in TERM INT HUP KILL; do
    for words in 1 "check 1 --dir $folder/mine"; do
      rm -f pids
      set -m # or INT would be ignored
      # shellcheck disable=SC2086
      TMPDIR=$folder/tmp "$lesson" $words >err 2>&1 </dev/null &
      set +m
      for _ in $(seq 600); do
        [ "$(wc -l 2>/dev/null <pids)" = 2 ] && break
        sleep 0.1
      done
      check "lesson $words starts two" test "$(wc -l <pids)" = 2
      kill -$signal $!
      wait $! 2>/dev/null
      check "lesson $words ends by $signal" test $? = $((128 + $(kill -l $signal)))
      while read -r pid; do
        for _ in $(seq 200); do
          kill -0 "$pid" 2>/dev/null || break
          sleep 0.1
        done
        check "$signal ends $(ps -o args= -p "$pid")" not kill -9 "$pid"
      done <pids
      [ $signal = KILL ] || check "$signal leaves no files: $(ls tmp)" test -z "$(ls tmp)"
      rm -rf tmp/*
    done
  done

  rm tools/cmake "$bin/lesson_notation"
  PATH=$folder/tools "$lesson" 1 >err 2>&1 </dev/null
  check "without cmake: exit 1" test $? = 1
  has err "cmake is not on this machine: scripts/start.sh installs it"
}

"$2" "${3:-}"
finish
