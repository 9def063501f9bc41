#!/usr/bin/env bash
# The reference of the library, by Doxygen from the comments of its public headers.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/docs.sh

Writes build/reference/html/index.html: the reference of what vitruvian.hpp includes. A comment that
Doxygen does not understand is an error. Installs Doxygen on Debian where it is missing.

  --help   this text
USAGE
}

case ${1:-} in
  --help | -h) usage && exit 0 ;;
  "") ;;
  *) no_option "$1" ;;
esac

install_missing doxygen:doxygen

configure default
rm -rf "$ROOT/build/reference"
cd "$ROOT/build/include"
doxygen - <<DOXYGEN
PROJECT_NAME           = Vitruvian
PROJECT_NUMBER         = $(sed -n 's/^project(vitruvian VERSION \([0-9.]*\).*/\1/p' "$ROOT/CMakeLists.txt")
PROJECT_BRIEF          = "A Vision Transformer drawn from first principles"
INPUT                  = $(sed 's,^,vitruvian/,' "$ROOT/build/public_headers.txt" | tr '\n' ' ')
STRIP_FROM_PATH        = $ROOT/build/include
STRIP_FROM_INC_PATH    = $ROOT/build/include
OUTPUT_DIRECTORY       = $ROOT/build/reference
GENERATE_LATEX         = NO
EXTRACT_ALL            = YES
HIDE_UNDOC_RELATIONS   = NO
JAVADOC_AUTOBRIEF      = YES
MARKDOWN_SUPPORT       = YES
AUTOLINK_SUPPORT       = NO
MACRO_EXPANSION        = YES
EXPAND_ONLY_PREDEF     = YES
PREDEFINED             = VITRUVIAN_PRECISION=f32
HAVE_DOT               = NO
QUIET                  = YES
WARN_IF_UNDOCUMENTED   = NO
WARN_AS_ERROR          = FAIL_ON_WARNINGS
DOXYGEN
say "file://$ROOT/build/reference/html/index.html"
