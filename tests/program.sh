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
ppm() { # ppm FILE SIDE RED GREEN BLUE: a noisy picture of that colour
  LC_ALL=C awk -v side="$2" -v colour="$3 $4 $5" 'BEGIN {
    split(colour, c, " "); srand(side)
    printf "P6 %d %d 255\n", side, side
    for (i = 0; i < side * side * 3; ++i) printf "%c", c[i % 3 + 1] + int(rand() * 40)
  }' >"$1"
}
