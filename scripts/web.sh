#!/usr/bin/env bash
# The explorer: the library as WebAssembly, the page around it, and their tests.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/web.sh

Makes build-web/explorer.html, one file that a browser opens from the disk: a Vision Transformer that
reads what you draw, shows its every number and gradient, and learns. web/engine, the library as the
page sees it, is compiled to WebAssembly; web/explorer is the page; web/tests runs both under node and
in Chromium: every number must be that of the native portable build, to the bit. On Debian it installs
emscripten, node, npm and Chromium where they are missing, and from npm what web/package-lock.json names.

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
npm run --silent check
npm run --silent build
npm test
say "build-web/explorer.html is the explorer: open it in a browser."
