#!/usr/bin/env bash
# Reads docs/requirements.md: every row of sections A, B and C is there once, its place exists or is a
# lesson or quoted, and the test that it names exists, or the words stand in the lesson that it names; what
# belongs to a lesson has one, and the lessons' pages name the same rows. Then damages copies of the page,
# and sees each refused.
# Usage: requirements_test.sh ROOT
set -u
root=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

expected_ids() {
  local section
  for section in 1:0-:11 1:1-:30 1:2-:12 1:3-:8 1:4-:26 1:B:33 1:C:11; do
    IFS=: read -r from prefix to <<<"$section"
    for ((i = from; i <= to; ++i)); do echo "$prefix$i"; done
  done
}

# What a test or a lesson holds, on one line with adjacent literals joined; read once.
for file in "$root"/tests/*/*_test.cpp "$root"/tests/*/*/*_test.cpp "$root"/tests/*/*_test.sh "$root"/lessons/course/*.cpp "$root"/lessons/experiments/paper.cpp; do
  tr '\n' ' ' <"$file" | sed 's/"  *"//g; s/TEST_CASE( */TEST_CASE(/g' >"$folder/${file##*/}"
done

# "LESSON ROW" for each row that the last line of a lesson's page names.
for page in "$root"/docs/lessons/[a-z]*.md; do
  lesson=$(sed -nE '1s/^# Lesson ([0-9]+)\..*/\1/p' "$page")
  for id in $(sed -nE 's/^Rows of the .* that stand here: (.*)\.$/\1/p' "$page" | tr -d ,); do
    echo "$lesson $id"
  done
done | sort >"$folder/pages"

# Rows of section A that are a lesson's text, or are quoted in one; every row of B is in some lesson.
texts=" 0-2 0-3 1-1 1-3 1-5 1-6 1-11 1-17 1-22 1-23 1-29 1-30 2-1 2-2 2-3 3-2 3-7 4-1 4-3 4-4 4-5 4-8 4-16 4-19 "

# The words between backticks, as an array.
backticked() {
  local rest=$1
  words=()
  while [[ $rest =~ \`([^\`]+)\`(.*) ]]; do
    words+=("${BASH_REMATCH[1]}")
    rest=${BASH_REMATCH[2]}
  done
}

# check PAGE: prints what is wrong with it; nothing when all is well.
check() {
  local id where held word file text begin words
  local owner='(^|[ ,])(lesson|quoted: [A-Za-z])'
  diff <(expected_ids | sort) <(sed -nE 's/^\| (([0-4]-|B|C)[0-9]+) \|.*/\1/p' "$1" | sort) |
    sed -nE 's/^< /no row /p; s/^> /a row too many: /p'
  while IFS='|' read -r _ id _ where held lessons _; do
    id=${id// /}
    if [[ -z ${lessons// /} && ($id == B* || $texts == *" $id "* || $where =~ (^|[ ,])lesson) ]]; then
      echo "row $id: no lesson has it"
    fi
    backticked "$where"
    for file in ${words[@]+"${words[@]}"}; do
      [ -f "$root/$file" ] || echo "row $id: there is no file $file"
    done
    if [ ${#words[@]} -eq 0 ] && [[ ! $where =~ $owner ]]; then
      echo "row $id: it lives nowhere"
    fi
    backticked "$held"
    [ ${#words[@]} -gt 0 ] || echo "row $id: no test holds it"
    for word in ${words[@]+"${words[@]}"}; do
      file=${word%%: *}
      begin=${word#*: }
      if [ ! -f "$folder/$file" ]; then
        echo "row $id: there is no test or lesson $file"
        continue
      fi
      text=$(<"$folder/$file")
      case $file in *_test.cpp) begin="TEST_CASE(\"$begin" ;; esac # elsewhere the words will do
      [[ $text == *"$begin"* ]] || echo "row $id: $file has no '${word#*: }'"
    done
  done < <(grep -E '^\| ([0-4]-|B|C)[0-9]+ \|' "$1")
  # In the last column: 14, 19.
  diff <(sed -nE 's/^\| (([0-4]-|B)[0-9]+) \|.*\| ([0-9, ]+) \|$/\1,\3/p' "$1" | tr -d ' ' |
    awk -F, '{ for (i = 2; i <= NF; ++i) print $i, $1 }' | sort) "$folder/pages" |
    sed -nE 's/^< (.*) (.*)/row \2: the page of lesson \1 does not name it/p
             s/^> (.*) (.*)/row \2: lesson \1 names it, and its line does not say so/p'
}

page=$root/docs/requirements.md
rows=$(grep -cE '^\| ([0-4]-|B|C)[0-9]+ \|' "$page")
problems=$(check "$page")
if [ -n "$problems" ]; then
  printf '%s\n' "$problems"
  exit 1
fi

refused() { # refused EXPRESSION PATTERN: the page, changed by sed, must be refused with that
  sed -E "$1" "$page" >"$folder/page.md"
  if cmp -s "$page" "$folder/page.md" || ! check "$folder/page.md" | grep -q -- "$2"; then
    echo "a page changed by '$1' is not refused with '$2'"
    exit 1
  fi
}
refused '/^\| 2-12 /d' 'no row 2-12'
refused 's/^\| B33 /| B34 /' 'no row B33'
refused '/^\| C1 /p' 'too many: C1'
refused '/^\| 0-5 /s/model.cpp/modell.cpp/' 'row 0-5: there is no file vit/modell.cpp'
refused '/^\| C2 /s/the names are timm/the names are Tim/' 'row C2: vit_test.cpp has no'
refused '/^\| C2 /s/vit_test/wit_test/' 'row C2: there is no test or lesson wit_test.cpp'
refused '/^\| 1-1 /s/\| lesson/| somewhere/' 'row 1-1: it lives nowhere'
refused '/^\| 1-3 /s/\| [0-9]+ \|$/|/' 'row 1-3: no lesson has it'
refused '/^\| B2 /s/\| [0-9]+ \|$/|/' 'row B2: no lesson has it'
refused '/^\| 2-5 /s/\| 16 \|$/| 3 |/' 'row 2-5: the page of lesson 3 does not name it'
refused '/^\| 2-5 /s/\| 16 \|$/| |/' 'row 2-5: lesson 16 names it'
refused '/^\| 0-5 /s/`vit_test[^`]*`//' 'row 0-5: no test holds it'
refused '/^\| C9 /s/`where_to[^`]*`//' 'row C9: no test holds it'
refused '/^\| 1-23 /s/98.13/98.31/' 'row 1-23: paper.cpp has no'
echo "$rows rows: each has its place and what holds it"
