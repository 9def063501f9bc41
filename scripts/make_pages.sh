#!/usr/bin/env bash
# Writes docs/lessons/ from what the lessons say.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/make_pages.sh

Builds the lessons and writes what they say to docs/lessons/: a page each, its figures, the index and the glossary. The tests
of the lessons fail where a page and what its lesson says differ.

  --help   this text
USAGE
}

programs="$ROOT/build/bin"
out="$ROOT/docs/lessons"
case ${1:-} in
  --help | -h) usage && exit 0 ;;
  "") build default lesson lessons ;;
  *) no_option "$1" ;;
esac

made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
"$programs/lesson" list --markdown >"$made/README.md"
"$programs/lesson" glossary --markdown >"$made/glossary.md"
pages=0
for source in "$ROOT"/lessons/course/*.cpp; do
  name=$(basename "$source" .cpp)
  "$programs/lesson_$name" --markdown --figures "$made/figures" --no-input --seed 1 >"$made/$name.md"
  pages=$((pages + 1))
done
rm -rf "$out"/*.md "$out/figures" # all or none: pages of lessons that are gone go, too
cp -r "$made"/* "$out/"
say "$pages lessons, their index and the glossary"
