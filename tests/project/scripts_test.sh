#!/usr/bin/env bash
# Tests what scripts/start.sh and scripts/test.sh do about packages, on systems that are pretended:
# the commands they call are stand-ins in a folder at the head of PATH that write down each call.
# shellcheck disable=SC2016 # the stand-ins expand their own variables
set -uo pipefail

scratch=$(mktemp -d)
trap 'rm -rf "${scratch:?}"' EXIT
root="$scratch/a checkout"
mkdir -p "$root/build/bin"
cp -r "$(dirname "${BASH_SOURCE[0]}")/../../scripts" "$root"
failures=0

fail() {
  printf 'FAIL %s: %s\n--- output\n%s\n--- calls\n%s\n' "$name" "$1" "$output" "$calls"
  failures=$((failures + 1))
}
expect_status() { [ "$status" = "$1" ] || fail "exit code $status, expected $1"; }
expect() { case $output in *"$1"*) ;; *) fail "does not say: $1" ;; esac; }
expect_call() { case $calls in *"$1"*) ;; *) fail "does not call: $1" ;; esac; }
expect_no_call() { case $calls in *"$1"*) fail "calls: $1" ;; esac; }

stand_in() { # stand_in COMMAND BODY
  printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$scratch" "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}

# A Debian 12 with every package, for root, where builds and tests succeed.
pretend() {
  name=$1
  rm -rf "${scratch:?}/bin"
  mkdir "$scratch/bin"
  : >"$scratch/calls"
  printf 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"\n' >"$scratch/os-release"
  stand_in uname 'echo Linux'
  stand_in id 'echo 0'
  stand_in dpkg-query 'echo installed'
  stand_in apt-cache 'exit 0'
  stand_in apt-get 'exit 0'
  stand_in sudo '[ "$1" = -n ] && shift; "$@"'
  stand_in g++ ''
  stand_in ninja ''
  stand_in cmake 'exit 0'
  stand_in ctest 'echo "100% tests passed"'
  stand_in vitruvian 'echo "test accuracy 98.00 %"'
  mv "$scratch/bin/vitruvian" "$root/build/bin"
}

run() { # run SCRIPT [ARGUMENT...]: from another folder, with nobody at the terminal
  output=$(cd / && VITRUVIAN_OS_RELEASE="$scratch/os-release" PATH="$scratch/bin:$PATH" \
    bash "$root/scripts/$1" "${@:2}" </dev/null 2>&1)
  status=$?
  calls=$(cat "$scratch/calls")
}

pretend "everything is there"
run test.sh
expect_status 0
expect_no_call apt-
expect_no_call sudo
expect_call "cmake --preset default"
expect_call "ctest --preset default"
case $output in *"100% tests passed") ;; *) fail "does not end with ctest's summary" ;; esac

pretend "warnings are errors for those who ask"
run test.sh --werror
expect_status 0
expect_call "cmake --preset default --log-level=WARNING -DVITRUVIAN_WERROR=ON"
run start.sh
expect_status 0

pretend "and for nobody else"
run test.sh
expect_no_call WERROR

# What lies in build/: CMakeCache.txt with HOME, FOLDER, GENERATOR, COMPILER, as CMake writes it.
cache() {
  printf 'CMAKE_HOME_DIRECTORY:INTERNAL=%s\nCMAKE_CACHEFILE_DIR:INTERNAL=%s\nCMAKE_GENERATOR:INTERNAL=%s\nCMAKE_CXX_COMPILER:FILEPATH=%s\n' \
    "$@" >"$root/build/CMakeCache.txt"
}
stale() { # stale SENTENCE: build/ is begun anew, and what is not CMake's is still there
  [ ! -e "$root/build/CMakeCache.txt" ] || fail "goes on with the old build"
  [ -e "$root/build/bin/vitruvian" ] || fail "deletes more than CMake's memory"
  expect "$1"
  expect_status 0
}
pretend "a build folder of another place"
cache "$scratch/elsewhere" "$scratch/elsewhere/build" Ninja "$scratch/bin/g++"
run test.sh
stale "build/ was made for another folder"

pretend "a build folder that was copied with its checkout"
cache "$root" "$scratch/elsewhere/build" Ninja "$scratch/bin/g++"
run test.sh
stale "build/ was made for another folder"

pretend "a build folder for make"
cache "$root" "$root/build" "Unix Makefiles" "$scratch/bin/g++"
run test.sh
stale "build/ was not made for ninja"

pretend "a build folder of a compiler that is gone"
cache "$root" "$root/build" Ninja /nowhere/g++-9
run test.sh
stale "a compiler that is gone, /nowhere/g++-9"

pretend "a build folder of another compiler than CXX"
stand_in clang++ ''
cache "$root" "$root/build" Ninja "$scratch/bin/g++"
CXX=clang++ run test.sh
stale "$scratch/bin/g++, not by clang++"

pretend "a build folder of today"
cache "$root" "$root/build" Ninja "$scratch/bin/g++"
CXX=g++ run test.sh
expect_status 0
[ -e "$root/build/CMakeCache.txt" ] || fail "forgets a good build"
run test.sh
[ -e "$root/build/CMakeCache.txt" ] || fail "forgets a good build"
rm "$root/build/CMakeCache.txt"

pretend "training"
run start.sh --epochs 2
expect_status 0
expect_call "cmake --build --preset default --target vitruvian lesson"
expect_call "vitruvian train --epochs 2"
expect "test accuracy 98.00 %"
expect "vitruvian eval --weights RUN"
expect "build/bin/lesson 1"

pretend "training into a folder of the user's"
run start.sh --out mine
expect_status 0
expect_call "vitruvian train --out mine"

pretend "a training that fails"
printf 'exit 3\n' >>"$root/build/bin/vitruvian"
run start.sh
expect_status 3
case $output in *"Try next"*) fail "goes on" ;; esac

pretend "root on a fresh machine"
stand_in dpkg-query 'case $* in *libfmt-dev | *libdnnl-dev) exit 1 ;; *) echo installed ;; esac'
run test.sh
expect_status 0
expect "Missing packages: libfmt-dev libdnnl-dev"
expect_call "apt-get install -y -qq --no-install-recommends libfmt-dev libdnnl-dev"
expect_no_call sudo

pretend "a processor without oneDNN"
stand_in dpkg-query 'case $* in *libfmt-dev | *libdnnl-dev) exit 1 ;; *) echo installed ;; esac'
stand_in apt-cache 'exit 100'
run test.sh
expect_status 0
expect_call "apt-get install -y -qq --no-install-recommends libfmt-dev"
expect_no_call "recommends libfmt-dev libdnnl-dev"

pretend "a processor without oneDNN, everything else there"
stand_in dpkg-query 'case $* in *libdnnl-dev) exit 1 ;; *) echo installed ;; esac'
stand_in apt-cache 'exit 100'
run test.sh
expect_status 0
expect_no_call apt-get

pretend "a user whom sudo asks for no password"
stand_in id 'echo 1000'
stand_in dpkg-query 'case $* in *libfmt-dev) exit 1 ;; *) echo installed ;; esac'
run test.sh
expect_status 0
expect_call "sudo env DEBIAN_FRONTEND=noninteractive apt-get install"

pretend "a user whom sudo would ask"
stand_in id 'echo 1000'
stand_in dpkg-query 'case $* in *libfmt-dev) exit 1 ;; *) echo installed ;; esac'
stand_in sudo 'exit 1'
run start.sh
expect_status 1
expect "apt-get install --no-install-recommends libfmt-dev"
expect_no_call apt-get
expect_no_call "cmake --build"

pretend "a package that cannot be installed"
stand_in dpkg-query 'case $* in *libfmt-dev) exit 1 ;; *) echo installed ;; esac'
stand_in apt-get '[ "$1" != install ]'
run test.sh
[ "$status" != 0 ] || fail "succeeds"
expect_no_call "cmake --build"

pretend "a failed build"
stand_in cmake '[ "$1" = --preset ]'
run test.sh
[ "$status" != 0 ] || fail "succeeds"
expect_no_call "ctest --preset"

pretend "failed tests"
stand_in ctest 'exit 8'
run test.sh
[ "$status" != 0 ] || fail "succeeds"

for system in 'ID=fedora\nPRETTY_NAME="Fedora 43"' 'ID=debian\nVERSION_ID="11"' \
  'ID=ubuntu\nVERSION_ID="22.04"'; do
  for script in start.sh test.sh; do
    pretend "$script on $system"
    printf '%b\n' "$system" >"$scratch/os-release"
    run $script
    expect_status 1
    expect "libxtensor-dev"
    expect "https://formulae.brew.sh"
    expect "scripts/$script --no-install"
    expect_no_call cmake
  done
done

pretend "packages brought by hand"
printf 'ID=fedora\n' >"$scratch/os-release"
run test.sh --no-install
expect_status 0
expect_call "ctest --preset default"

pretend "Ubuntu 24.04"
printf 'ID=ubuntu\nVERSION_ID="24.04"\n' >"$scratch/os-release"
run test.sh
expect_status 0

pretend "macOS with one formula missing"
stand_in uname 'echo Darwin'
stand_in brew 'case $* in "list --versions fmt") exit 1 ;; esac'
run test.sh
expect_status 0
expect_call "brew install fmt"
expect_no_call apt-

for script in start.sh test.sh; do
  pretend "$script --help"
  run $script --help
  expect_status 0
  expect "usage: scripts/$script"
  expect_no_call cmake
done

pretend "an option that does not exist"
run test.sh --sanitise
expect_status 2
expect "there is no option --sanitise"

pretend "every matrix product"
run test.sh --backends
expect_status 0
expect "VITRUVIAN_GEMM=packed"
expect "VITRUVIAN_GEMM=onednn"
expect "VITRUVIAN_GEMM=cblas"
expect "VITRUVIAN_SIMD=portable VITRUVIAN_GEMM=packed"

pretend "two suites"
run test.sh --sanitize --tsan
expect_status 0
expect_call "ctest --preset asan"
expect_call "cmake --build --preset tsan --target thread_tests"
expect_call "-L threads"

pretend "clang-tidy"
stand_in clang-tidy ''
mkdir -p "$root"/{apps,charts,core,datasets,media,nn,report,train,vit}
touch "$root/core/one.cpp" "$root/vit/two.cpp"
run test.sh --tidy
expect_status 0
expect_call "cmake --preset tidy"
expect_call "clang-tidy -p build-tidy --quiet core/one.cpp"
expect_call "clang-tidy -p build-tidy --quiet vit/two.cpp"
expect_no_call "cmake --build"
stand_in clang-tidy 'case $* in *one.cpp) exit 1 ;; esac'
run test.sh --tidy
[ "$status" != 0 ] || fail "succeeds with a finding"
expect_call "vit/two.cpp"

pretend "the slow tests, without and with PyTorch"
PYTHON=$scratch/bin/nowhere run test.sh --slow
expect_status 0
expect "skipped: the golden numbers"
expect_call "ctest --preset default"
expect_call "-L slow"
stand_in python ''
PYTHON=$scratch/bin/python run test.sh --slow
expect_status 0
expect_call "python tests/golden/make_golden.py --check"
expect_call "python tests/golden/torchvision_b16.py /"
stand_in python 'case $* in *--check) exit 1 ;; esac'
PYTHON=$scratch/bin/python run test.sh --slow
[ "$status" != 0 ] || fail "succeeds with other golden numbers"

if [ $failures -gt 0 ]; then
  printf '%d expectations failed\n' $failures
  exit 1
fi
echo "the scripts did what they should"
