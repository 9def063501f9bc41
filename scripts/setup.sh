#!/usr/bin/env bash
# shellcheck disable=SC1090,SC2086 # lists of packages are meant to split into words
# What the scripts share: finding the packages, installing what is missing, building.
# To be sourced. Written for bash 3.2, which is what macOS has.
set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
SCRIPT=scripts/$(basename "$0")
OS_RELEASE=${VITRUVIAN_OS_RELEASE:-/etc/os-release} # the tests pretend to be other systems

LIBRARIES="libxtensor-dev libxtensor-blas-dev libopenblas-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev zlib1g-dev libpng-dev libeigen3-dev doctest-dev"
# The project does without these; the first is not there on every processor.
FASTER="libdnnl-dev libzip-dev libjpeg-dev libcurl4-openssl-dev libssl-dev
  libarchive-dev libonnx-dev libprotobuf-dev strace"
TESTED="" # what scripts/test.sh wants besides
HOMEBREW="cmake ninja xtensor fmt cli11 nlohmann-json eigen doctest onednn libzip libpng
  jpeg-turbo curl openssl libarchive onnx protobuf"

say() { printf '%s\n' "$*"; }
no_option() { # no_option WORD
  say "$SCRIPT: there is no option $1; see --help" >&2
  exit 2
}

package_table() {
  cat <<TABLE
The project needs a C++20 compiler (g++ 12 or clang 14, or later), CMake 3.22, ninja, and

  library       Debian, Ubuntu        Homebrew        vcpkg           conda-forge
  xtensor       libxtensor-dev        xtensor         xtensor         xtensor
  fmt           libfmt-dev            fmt             fmt             fmt
  CLI11         libcli11-dev          cli11           cli11           cli11
  JSON          nlohmann-json3-dev    nlohmann-json   nlohmann-json   nlohmann_json
  zlib          zlib1g-dev            zlib            zlib            zlib
  libpng        libpng-dev            libpng          libpng          libpng
  Eigen         libeigen3-dev         eigen           eigen3          eigen
  doctest       doctest-dev           doctest         doctest         doctest

and does without these: the first makes training faster, two are what tests compare with,
the others read .npz weights and JPEG, fetch, check and unpack data sets, and write ONNX;
strace lets system calls fail in tests; MPI trains over several processes (Debian's
openmpi-bin has its mpirun).

  oneDNN        libdnnl-dev           onednn          onednn          onednn
  OpenBLAS      libopenblas-dev       openblas        openblas        openblas
  xtensor-blas  libxtensor-blas-dev   (none)          xtensor-blas    xtensor-blas
  libzip        libzip-dev            libzip          libzip          libzip
  libjpeg       libjpeg-dev           jpeg-turbo      libjpeg-turbo   libjpeg-turbo
  libcurl       libcurl4-openssl-dev  curl            curl            libcurl
  OpenSSL       libssl-dev            openssl         openssl         openssl
  libarchive    libarchive-dev        libarchive      libarchive      libarchive
  ONNX          libonnx-dev           onnx            onnx            libonnx
  protobuf      libprotobuf-dev       protobuf        protobuf        libprotobuf
  strace        strace                (none)          (none)          (none)
  Open MPI      libopenmpi-dev        open-mpi        openmpi         openmpi

They are found at https://packages.debian.org, https://packages.ubuntu.com,
https://formulae.brew.sh, https://vcpkg.io/en/packages and https://anaconda.org/conda-forge.
Once they are there:  $SCRIPT --no-install
TABLE
}

# debian, macos, or unknown: an old release counts as unknown, its compiler or xtensor is too old.
system_kind() {
  if [ "$(uname -s)" = Darwin ]; then
    say macos
  elif [ -r "$OS_RELEASE" ]; then
    (
      ID="" VERSION_ID="" kind=unknown
      . "$OS_RELEASE"
      case $ID in
        debian) [ "${VERSION_ID:-99}" -ge 12 ] && kind=debian ;; # testing has no number
        ubuntu) [ "${VERSION_ID%%.*}" -ge 24 ] && kind=debian ;;
      esac
      say $kind
    )
  else
    say unknown
  fi
}

system_name() {
  if [ -r "$OS_RELEASE" ]; then
    (. "$OS_RELEASE" && say "${PRETTY_NAME:-${NAME:-this system}}")
  else
    uname -s
  fi
}

missing_debian_packages() { # missing_debian_packages PACKAGE...
  local package
  for package in "$@"; do
    case $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) in
      installed) ;;
      *) printf '%s ' "$package" ;;
    esac
  done
}

missing_tools() {
  command -v g++ >/dev/null || command -v clang++ >/dev/null || printf 'g++ '
  command -v cmake >/dev/null || printf 'cmake '
  command -v ninja >/dev/null || printf 'ninja-build '
}

# Where there is a terminal to ask on; ends where the answer is no.
ask_to_install() { # ask_to_install HOW
  local answer
  [ -t 0 ] || return 0
  printf 'Install them now%s? [Y/n] ' "$1"
  read -r answer
  case $answer in
    "" | [yY]*) ;;
    *) say "Nothing was installed." && exit 1 ;;
  esac
}

# As root, or through sudo where it asks for nothing or there is a terminal to ask on.
install_debian_packages() { # install_debian_packages PACKAGE...
  local as_root=""
  say "Missing packages: $*"
  if [ "$(id -u)" -ne 0 ]; then
    as_root=sudo
    if ! command -v sudo >/dev/null || { [ ! -t 0 ] && ! sudo -n true 2>/dev/null; }; then
      say "Installing them takes root's rights, and nobody is here to ask. Please run"
      say "  apt-get install --no-install-recommends $*"
      say "as root, then $SCRIPT again."
      exit 1
    fi
  fi
  ask_to_install "${as_root:+ with sudo}"
  # An update that fails for somebody else's archive need not stop us; a package not found will.
  $as_root apt-get update -qq || true
  local packages=$* package available=""
  for package in $packages; do
    case " $FASTER $TESTED " in
      *" $package "*) apt-cache show "$package" >/dev/null 2>&1 || continue ;;
    esac
    available="$available $package"
  done
  $as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $available </dev/null
}

# Of tools that one script alone needs.
install_missing() { # install_missing COMMAND:PACKAGE...
  local tool missing=""
  for tool in "$@"; do
    command -v "${tool%%:*}" >/dev/null || missing="$missing ${tool##*:}"
  done
  [ -n "$missing" ] || return 0
  if [ "$(system_kind)" != debian ]; then
    say "$SCRIPT: missing here:$missing" >&2
    exit 1
  fi
  install_debian_packages $missing
}

setup_debian() {
  local required faster package
  required=$(missing_tools; missing_debian_packages $LIBRARIES)
  faster=$(missing_debian_packages $FASTER $TESTED)
  if [ -z "$required" ] && [ -n "$faster" ]; then
    apt-cache show $faster >/dev/null 2>&1 || faster=""
  fi
  if [ -n "$required$faster" ]; then
    install_debian_packages $required $faster
  fi
}

setup_macos() {
  local formula missing=""
  if ! command -v brew >/dev/null; then
    say "Homebrew is missing: see https://brew.sh, then run $SCRIPT again."
    exit 1
  fi
  for formula in $HOMEBREW; do
    brew list --versions "$formula" >/dev/null 2>&1 || missing="$missing $formula"
  done
  if [ -n "$missing" ]; then
    say "Missing packages:$missing"
    ask_to_install " with brew"
    brew install $missing </dev/null
  fi
}

# Installs what is missing, or says what to install and exits.
setup_packages() {
  case $(system_kind) in
    debian) setup_debian ;;
    macos) setup_macos ;;
    *)
      say "$SCRIPT installs packages on Debian 12 and 13, Ubuntu 24.04 and macOS; this is" \
        "$(system_name)."
      package_table
      exit 1
      ;;
  esac
}

# What `configure` hands to CMake; empty for users.
CMAKE_OPTIONS=""

# CMake stops at a build folder that was made for another place or by another generator, goes on with
# another compiler than CXX names, and stops at one that is gone. None of it is of use: what CMake
# remembers there is deleted, and ninja compiles anew what was compiled by another command.
forget_stale_build() { # forget_stale_build FOLDER PRESET
  local cache=$1/CMakeCache.txt compiler wanted="" stale=""
  if [ -e "$1" ] && [ ! -w "$1" ]; then
    say "$ROOT/$1 belongs to somebody else: delete it, or build in a checkout of your own."
    exit 1
  fi
  [ -e "$cache" ] || return 0
  cached() { sed -n "s/^$1:[A-Z]*=//p" "$cache"; }
  compiler=$(cached CMAKE_CXX_COMPILER)
  case $2 in clang | tidy | fuzz) ;; *) wanted=${CXX:-} ;; esac
  if [ ! "$(cached CMAKE_HOME_DIRECTORY)" -ef . ] || [ ! "$(cached CMAKE_CACHEFILE_DIR)" -ef "$1" ]; then
    stale="was made for another folder"
  elif [ "$(cached CMAKE_GENERATOR)" != Ninja ]; then
    stale="was not made for ninja"
  elif ! command -v "$compiler" >/dev/null; then
    stale="was made by a compiler that is gone${compiler:+, $compiler}"
  elif [ -n "$wanted" ] && [ ! "$(command -v "${wanted%% *}")" -ef "$(command -v "$compiler")" ]; then
    stale="was made by $compiler, not by $wanted"
  fi
  [ -n "$stale" ] || return 0
  say "$1/ $stale: CMake begins there anew."
  rm -rf "$cache" "$1/CMakeFiles"
}

configure() ( # configure PRESET
  cd "$ROOT" || exit
  preset=$1
  folder=build-$preset
  [ "$preset" != default ] || folder=build
  [ "$preset" != web ] || folder=build-web/wasm
  forget_stale_build "$folder" "$preset"
  cmake --preset "$preset" --log-level=WARNING $CMAKE_OPTIONS
)

build() ( # build PRESET [TARGET...]
  preset=$1
  shift
  configure "$preset"
  cd "$ROOT" || exit
  if [ $# -gt 0 ]; then
    cmake --build --preset "$preset" --target "$@"
  else
    cmake --build --preset "$preset"
  fi
)
