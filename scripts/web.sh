#!/usr/bin/env bash
# The explorer and the book: the library and the lessons as WebAssembly, the pages around them, and their tests.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/web.sh [--compile]

Makes build-web/explorer.html, one file that a browser opens from the disk: a Vision Transformer that
reads what you draw, shows its every number and gradient, and learns; and build-web/book/, the course as
pages that run, which begins with index.html. web/engine, the library as the explorer sees it, and all
lessons are compiled to WebAssembly; web/explorer and web/book are the pages; web/tests runs all of it
under node and in Chromium: the explorer's numbers must be those of the native portable build, to the bit,
and the book's those of the terminal. On Debian it installs emscripten, node, npm and Chromium where they
are missing, and from npm what web/package-lock.json names.

  --compile   installs and compiles what the pages are made of, and no more
  --help      this text
USAGE
}

pages=yes
case ${1:-} in
  --help | -h) usage && exit 0 ;;
  --compile) pages=no ;;
  "") ;;
  *) no_option "$1" ;;
esac

setup_packages
install_missing em++:emscripten node:nodejs npm:npm chromium-headless-shell:chromium-headless-shell

build portable explorer_numbers
build web
cd "$ROOT/web"
# No package needs a program of its own to be installed: onnxruntime's would fetch a gigabyte for GPUs.
[ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --silent --no-fund --no-audit --ignore-scripts
[ $pages = yes ] || exit 0
npm run --silent check
npm run --silent build
npm test
say "build-web/explorer.html is the explorer, build-web/book/index.html the book: open them in a browser."
