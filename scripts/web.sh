#!/usr/bin/env bash
# What pages in a browser are built on: the library as WebAssembly, and its tests.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/web.sh

Compiles web/engine, the library as a page sees it, to build-web/wasm/explorer.wasm, and runs
web/tests under node and in Chromium: every number must be that of the native portable build, to the
bit. On Debian it installs emscripten, node, npm and Chromium where they are missing, and from npm what
web/package-lock.json names.

  --help   this text
USAGE
}

case ${1:-} in
  --help | -h) usage && exit 0 ;;
  "") ;;
  *)
    say "scripts/web.sh: there is no option $1; see --help" >&2
    exit 2
    ;;
esac

setup_packages
missing=""
for tool in em++:emscripten node:nodejs npm:npm chromium:chromium; do
  command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool##*:}"
done
if [ -n "$missing" ]; then
  if [ "$(system_kind)" != debian ]; then
    say "scripts/web.sh: missing here:$missing" >&2
    exit 1
  fi
  # shellcheck disable=SC2086 # several packages
  install_debian_packages $missing
fi

build portable explorer_numbers
build web
cd "$ROOT/web"
npm ci --silent --no-fund --no-audit
npm test
