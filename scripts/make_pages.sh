#!/usr/bin/env bash
# Writes docs/lessons/ from what the lessons say.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/make_pages.sh [--check PROGRAMS]

Builds the lessons and writes what they say to docs/lessons/: a page each, and the index.

  --check PROGRAMS   build and write nothing: compare the pages with what the lessons in the folder
                     PROGRAMS say, and fail where they differ
  --help             this text
USAGE
}

programs="$ROOT/build/bin"
out="$ROOT/docs/lessons"
check=no
case ${1:-} in
  --help | -h) usage && exit 0 ;;
  --check)
    check=yes
    programs=${2:?--check needs the folder of the programs}
    out=$(mktemp -d)
    trap 'rm -rf "${out:?}"' EXIT
    ;;
  "") build default lesson lessons ;;
  *)
    say "scripts/make_pages.sh: there is no option $1; see --help" >&2
    exit 2
    ;;
esac

[ $check = yes ] || rm -f "$out"/*.md
"$programs/lesson" list --markdown >"$out/README.md"
pages=0
for source in "$ROOT"/lessons/[0-9][0-9]_*.cpp; do
  name=$(basename "$source" .cpp)
  "$programs/lesson_$name" --markdown --no-input --seed 1 >"$out/$name.md"
  pages=$((pages + 1))
done

if [ $check = yes ]; then
  diff -ru "$ROOT/docs/lessons" "$out" || {
    say "The pages differ from what the lessons say: run scripts/make_pages.sh" >&2
    exit 1
  }
fi
say "$pages lessons, and their index"
