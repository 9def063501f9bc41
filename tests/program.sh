# Sourced by the tests of the program, which name its path: "$vitruvian" in a folder of their own.
# shellcheck shell=bash
set -u
vitruvian=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
  printf 'FAIL %s\n' "$*"
  exit 1
}
skip() { # ctest knows this code
  echo "skipped: $*"
  exit 77
}
skip_unless_slow() { [ -n "${VITRUVIAN_SLOW-}" ] || skip "VITRUVIAN_SLOW is not set"; }
