#!/usr/bin/env bash
# The runner of the course, with a stand-in for cmake, in a folder of its own.
# Usage: lesson_runner_test.sh PROGRAM_FOLDER ROOT
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1/lesson"
real=$(dirname "$vitruvian")
root=$2
scratch=$folder
mkdir -p "$scratch/build/bin" "$scratch/tools" "$scratch/state"
cp "$real/lesson" "$scratch/build/bin"
export XDG_STATE_HOME="$scratch/state"

fail() { wrong "$what: $1"$'\n'"$output"; }
lesson() { # lesson STATUS [ARGUMENT...]
  what="lesson ${*:2}"
  checks=$((checks + 1))
  output=$(PATH="$scratch/tools:/usr/bin:/bin" "$scratch/build/bin/lesson" "${@:2}" 2>&1 </dev/null)
  local status=$?
  [ $status = "$1" ] || fail "ends with $status, expected $1"
}
says() { [[ $output = *"$1"* ]] || fail "does not say: $1"; }
silent() { [[ $output != *"$1"* ]] || fail "${2:-says: $1}"; } # silent TEXT [WHAT IS WRONG THEN]
cmake_does() {
  printf '#!/bin/bash\necho "called: cmake $*"\n%s\n' "$1" >"$scratch/tools/cmake"
  chmod +x "$scratch/tools/cmake"
}
real_program() { printf 'cp "%s/$4" "%s/build/bin/$4"' "$real" "$scratch"; }

lesson 0 list
says "Notation, shapes, broadcasting"
says "(B, T, D) + (D)"
says "8 min"
says "Next: lesson 1"
lesson 0 list --markdown
[ "$output" = "$(cat "$root/docs/lessons/README.md")" ] || fail "another index: scripts/make_pages.sh"
pages=$(cd "$root/docs/lessons" && printf '%s\n' ./*.md | sed 's/\.md$//')
sources=$(cd "$root/lessons/course" && printf '%s\n' ./README.cpp ./*.cpp | sed 's/\.cpp$//' | sort)
[ "$(sort <<<"$pages")" = "$sources" ] || fail "a page for every lesson, and no other: $pages"
lesson 2 list --asci
says "did you mean --ascii?"
lesson 2 list 3
says "see lesson list --help"
lesson 0 --help
says "lesson next"

lesson 2 0
lesson 2 99
says "there is no lesson 99: they go from 1 to $(grep -c "^  " "$root/lessons/course/contents.txt")"
lesson 2 99999999999999999999
lesson 2 sofmax
says "did you mean softmax?"
lesson 2 ""
lesson 2 --step
says "Its number comes first"

if [ -e /proc/self/exe ]; then # elsewhere the runner uses the folder it was built in
  cmake_does 'exit 7'
  lesson 1 1
  says "lesson_notation is not built yet: building it"
  says "called: cmake --build $scratch/build --target lesson_notation"
  says "could not be built"

  cmake_does "$(real_program)"
  lesson 0 1
  says "all passed"
  lesson 0 list
  says "done"
  says "Next: lesson 2"
  lesson 0 next --plain
  says "Lesson 2."
  lesson 0 list
  says "Next: lesson 3"

  lesson 1 softmax --break double-softmax
  says "softmax twice"
  lesson 1 9 --break elementwise
  says "the lesson ends here"
  silent "Together they are simpler" "goes on from a mistake"
  lesson 2 9 --brek x
  says "did you mean --break?"
  lesson 0 9 --ascii --width 40 --plain
  if LC_ALL=C grep -q '[^ -~]' <<<"$output"; then fail "is not ASCII"; fi
  [ "$(wc -L <<<"$output")" -le 60 ] || fail "is wider than it was told to be"
  lesson 0 9 --markdown --no-input
  says "# Lesson 9. Softmax"
  lesson 0 9 --json
  case $output in *$'\n''lesson_softmax'*) fail "mixes its own words into the JSON" ;; esac

  touch -d '2001-01-01' "$scratch/build/bin/lesson_notation"
  lesson 0 1
  says "lesson_notation is older than its source"

  touch "$scratch/no-folder"
  XDG_STATE_HOME="$scratch/no-folder" lesson 0 1
  says "progress is not kept"

  # With somebody at the terminal: questions wait, pieces wait, q leaves without a mark.
  if script --version 2>/dev/null | grep -q util-linux; then
    what="lesson 9 --step"
    rm -f "$scratch/state/vitruvian/lessons/softmax"
    output=$(printf '\nb\n\ns\nq\n' | TERM=xterm NO_COLOR= script -qec \
      "$scratch/build/bin/lesson 9 --step" /dev/null)
    says "[Enter] next  [b]ack  [s]ource  [q]uit"
    says "lessons/course/softmax.cpp, lines"
    says $'\x1b['
    silent "all passed" "does not stop at q"
    [ ! -e "$scratch/state/vitruvian/lessons/softmax" ] || fail "counts as read after q"
    output=$(printf '\n' | NO_COLOR=1 TERM=xterm script -qec "$scratch/build/bin/lesson 9" /dev/null)
    says "think first"
    says "ln 10 = 2.30"
    silent $'\x1b[' "colour in spite of NO_COLOR"
    output=$(TERM=dumb script -qec "$scratch/build/bin/lesson 9 --no-input" /dev/null </dev/null)
    says "all passed"
    case $output in *$'\x1b['* | *"think first"*) fail "colour, or a wait, on a dumb terminal" ;; esac
  fi

  # Who ends the runner ends what it has started, and what that has started.
  mkdir "$scratch/tmp" "$scratch/build/lessons" "$scratch/build/lessons/exercises"
  cp "$real/exercise_checks" "$scratch/build/bin"
  cmake_does "echo \$\$ >>'$scratch/pids'; sleep 1000 & echo \$! >>'$scratch/pids'; wait"
  echo "$scratch/tools/cmake" >"$scratch/build/lessons/exercises/compiler.txt"
  touch -d '2001-01-01' "$scratch/build/bin/lesson_notation"
  "$scratch/build/bin/lesson" exercise 1 --dir "$scratch/mine" >/dev/null
  for signal in TERM INT HUP KILL; do
    for words in 1 "check 1 --dir $scratch/mine"; do
      what="lesson $words, ended by $signal"
      output=""
      rm -f "$scratch/pids"
      set -m # or INT would be ignored
      # shellcheck disable=SC2086
      PATH="$scratch/tools:/usr/bin:/bin" TMPDIR="$scratch/tmp" "$scratch/build/bin/lesson" $words \
        >"$scratch/said" 2>&1 </dev/null &
      set +m
      for _ in $(seq 600); do
        [ "$(wc -l 2>/dev/null <"$scratch/pids")" = 2 ] && break
        sleep 0.1
      done
      [ "$(wc -l <"$scratch/pids")" = 2 ] || fail "did not start: $(cat "$scratch/said")"
      kill -$signal $!
      wait $! 2>/dev/null
      status=$?
      [ $status = $((128 + $(kill -l $signal))) ] || fail "ends with $status"
      for pid in $(cat "$scratch/pids"); do
        for _ in $(seq 200); do
          kill -0 "$pid" 2>/dev/null || break
          sleep 0.1
        done
        if kill -0 "$pid" 2>/dev/null; then fail "leaves $(ps -o args= -p "$pid")" && kill -9 "$pid"; fi
      done
      [ $signal = KILL ] || [ -z "$(ls "$scratch/tmp")" ] || fail "leaves files: $(ls "$scratch/tmp")"
      rm -rf "$scratch/tmp/"*
    done
  done

  rm "$scratch/tools/cmake" "$scratch/build/bin/lesson_notation"
  what="no cmake"
  output=$(PATH="$scratch/tools" "$scratch/build/bin/lesson" 1 2>&1 </dev/null)
  [ $? = 1 ] || fail "wrong status"
  says "cmake is not on this machine: scripts/start.sh installs it"
fi

finish
