# Sourced by the tests of the program, which name its path: "$vitruvian" in a folder of their own.
# shellcheck shell=bash
set -u
here=$(cd "$(dirname "$0")" && pwd)
vitruvian=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
checks=0 failures=0

fail() {
  printf 'FAIL %s\n' "$*"
  exit 1
}
wrong() { # wrong WHAT: goes on, with what the last program said
  failures=$((failures + 1))
  printf 'FAIL %s\n' "$*"
  sed -n '1,20s/^/  > /p' err 2>/dev/null
}
check() { # check WHAT COMMAND...: the command must succeed
  checks=$((checks + 1))
  "${@:2}" >/dev/null 2>&1 || wrong "$1"
}
# expect CODE PATTERN ARGUMENT...: runs vitruvian. Its exit code; what it says on standard error, in one
# line at most, beside the notes that the sed command $notes takes away.
expect() {
  "$vitruvian" "${@:3}" >out 2>err </dev/null
  local code=$?
  checks=$((checks + 1))
  if [ $code -ne "$1" ] || ! { [ -z "$2" ] || grep -qE -- "$2" err; } ||
    [ "$(sed "${notes-}" err | wc -l)" -gt 1 ]; then
    wrong "vitruvian ${*:3}: exit $code, expected $1 and /$2/"
  fi
}
works() { # works PATTERN ARGUMENT...: vitruvian succeeds, and prints what the pattern finds
  expect 0 "" "${@:2}"
  check "vitruvian ${*:2} prints /$1/" grep -qE -- "$1" out
}
has() { # has FILE PATTERN...: each finds something in it
  local pattern
  for pattern in "${@:2}"; do check "$1 has /$pattern/" grep -qE -- "$pattern" "$1"; done
}
same() { check "$1 has the bytes of $2" cmp "$1" "$2"; }
not() { ! "$@"; }
finish() {
  printf '%d of %d checks passed\n' $((checks - failures)) $checks
  exit $((failures > 0))
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

# A server on loopback, $server, of made-up models under the published names, which are in served/.
serve_made_up_models() {
  python3 -c 'import http.server' 2>/dev/null || skip "no python3"
  python3 "$here/made_up_models.py" served || fail "no models could be made"
  exec 9> >(exec python3 "$here/../datasets/loopback_server.py" served >port)
  for _ in $(seq 100); do
    [ -s port ] && break
    sleep 0.1
  done
  # shellcheck disable=SC2034 # of the test that sources this
  server=http://127.0.0.1:$(cat port)
}
