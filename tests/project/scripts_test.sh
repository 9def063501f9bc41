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

stand_in() { # stand_in COMMAND BODY
  printf '#!/bin/bash\necho "%s $*" >>"%s/calls"\n%s\n' "$1" "$scratch" "$2" >"$scratch/bin/$1"
  chmod +x "$scratch/bin/$1"
}
lacking() { echo "dpkg-query case \$* in $1) exit 1 ;; *) echo installed ;; esac"; } # lacking PATTERN: a stand-in

# pretend NAME ["COMMAND BODY"...]: a Debian 12 with every package, for root, where builds and tests succeed, but
# for these stand-ins.
pretend() {
  name=$1
  rm -rf "${scratch:?}/bin"
  mkdir "$scratch/bin"
  : >"$scratch/calls"
  system 'ID=debian\nVERSION_ID="12"\nPRETTY_NAME="Debian 12"'
  for command in 'uname echo Linux' 'id echo 0' 'dpkg-query echo installed' 'apt-cache exit 0' \
    'apt-get exit 0' 'sudo [ "$1" = -n ] && shift; "$@"' 'g++ :' 'ninja :' 'cmake exit 0' \
    'ctest echo "100% tests passed"' 'vitruvian echo "test accuracy 98.00 %"' "${@:2}"; do
    stand_in "${command%% *}" "${command#* }"
  done
  mv "$scratch/bin/vitruvian" "$root/build/bin"
}
system() { printf '%b\n' "$1" >"$scratch/os-release"; }

# run CODE WHAT... -- SCRIPT [ARGUMENT...]: from another folder, with nobody at the terminal. Code "red"
# is any but 0; WHAT is says:TEXT, silent:TEXT, ends:TEXT (the output), calls:TEXT or never:TEXT.
run() {
  local code=$1 expected=() what
  shift
  while [ "$1" != -- ]; do expected+=("$1") && shift; done
  output=$(cd / && VITRUVIAN_OS_RELEASE="$scratch/os-release" PATH="$scratch/bin:$PATH" \
    bash "$root/scripts/$2" "${@:3}" </dev/null 2>&1)
  local status=$?
  calls=$(cat "$scratch/calls")
  [ "$status" = "$code" ] || [[ $code = red && $status != 0 ]] || fail "exit code $status, expected $code"
  for what in ${expected[@]+"${expected[@]}"}; do
    case $what in
      says:*) [[ $output = *"${what#*:}"* ]] ;;
      silent:*) [[ $output != *"${what#*:}"* ]] ;;
      ends:*) [[ $output = *"${what#*:}" ]] ;;
      calls:*) [[ $calls = *"${what#*:}"* ]] ;;
      never:*) [[ $calls != *"${what#*:}"* ]] ;;
      *) false ;;
    esac || fail "not as expected: $what"
  done
}

pretend "everything is there"
run 0 never:apt- never:sudo "calls:cmake --preset default" "calls:ctest --preset default" \
  "ends:100% tests passed" -- test.sh

pretend "warnings are errors for those who ask"
run 0 "calls:cmake --preset default --log-level=WARNING -DVITRUVIAN_WERROR=ON" -- test.sh --werror
run 0 -- start.sh
pretend "and for nobody else"
run 0 never:WERROR -- test.sh

# What lies in build/: CMakeCache.txt with HOME, FOLDER, GENERATOR, COMPILER, as CMake writes it.
cache() {
  printf '%s\n' "CMAKE_HOME_DIRECTORY:INTERNAL=$1" "CMAKE_CACHEFILE_DIR:INTERNAL=$2" \
    "CMAKE_GENERATOR:INTERNAL=$3" "CMAKE_CXX_COMPILER:FILEPATH=$4" >"$root/build/CMakeCache.txt"
}
# A stale one is begun anew, and what is not CMake's is still there.
elsewhere=$scratch/elsewhere gxx=$scratch/bin/g++
while IFS='|' read -r name home folder generator compiler sentence; do
  pretend "a build folder $name"
  stand_in clang++ :
  cache "$home" "$folder" "$generator" "$compiler"
  if [[ $name = *CXX ]]; then export CXX=clang++; fi
  run 0 "says:$sentence" -- test.sh
  unset CXX
  [ ! -e "$root/build/CMakeCache.txt" ] || fail "goes on with the old build"
  [ -e "$root/build/bin/vitruvian" ] || fail "deletes more than CMake's memory"
done <<TABLE
of another place|$elsewhere|$elsewhere/build|Ninja|$gxx|build/ was made for another folder
that was copied with its checkout|$root|$elsewhere/build|Ninja|$gxx|build/ was made for another folder
for make|$root|$root/build|Unix Makefiles|$gxx|build/ was not made for ninja
of a compiler that is gone|$root|$root/build|Ninja|/nowhere/g++-9|a compiler that is gone, /nowhere/g++-9
of another compiler than CXX|$root|$root/build|Ninja|$gxx|$gxx, not by clang++
TABLE

pretend "a build folder of today"
cache "$root" "$root/build" Ninja "$gxx"
CXX=g++ run 0 -- test.sh
[ -e "$root/build/CMakeCache.txt" ] || fail "forgets a good build"
run 0 -- test.sh
[ -e "$root/build/CMakeCache.txt" ] || fail "forgets a good build"
rm "$root/build/CMakeCache.txt"

pretend "training"
run 0 "calls:cmake --build --preset default --target vitruvian lesson lesson_three_or_eight" "calls:vitruvian train --epochs 2" \
  "says:test accuracy 98.00 %" "says:Try next" "says:vitruvian eval --weights RUN" "says:build/bin/lesson 0" \
  -- start.sh --epochs 2

pretend "training into a folder of the user's"
run 0 "calls:vitruvian train --out mine" -- start.sh --out mine

pretend "a training that fails"
printf 'exit 3\n' >>"$root/build/bin/vitruvian"
run 3 "silent:Try next" -- start.sh

pretend "root on a fresh machine" "$(lacking '*libfmt-dev | *libdnnl-dev')"
run 0 "says:Missing packages: libfmt-dev libdnnl-dev" never:sudo \
  "calls:apt-get install -y -qq --no-install-recommends libfmt-dev libdnnl-dev" -- test.sh

pretend "tests over several processes, which start.sh does without" "$(lacking '*libopenmpi-dev')"
run 0 "calls:apt-get install -y -qq --no-install-recommends libopenmpi-dev" -- test.sh
pretend "training without MPI" "$(lacking '*libopenmpi-dev')"
run 0 never:apt-get -- start.sh

pretend "a processor without oneDNN" "$(lacking '*libfmt-dev | *libdnnl-dev')" 'apt-cache exit 100'
run 0 "calls:apt-get install -y -qq --no-install-recommends libfmt-dev" \
  "never:recommends libfmt-dev libdnnl-dev" -- test.sh

pretend "a processor without oneDNN, everything else there" "$(lacking '*libdnnl-dev')" 'apt-cache exit 100'
run 0 never:apt-get -- test.sh

pretend "a user whom sudo asks for no password" 'id echo 1000' "$(lacking '*libfmt-dev')"
run 0 "calls:sudo env DEBIAN_FRONTEND=noninteractive apt-get install" -- test.sh

pretend "a user whom sudo would ask" 'id echo 1000' "$(lacking '*libfmt-dev')" 'sudo exit 1'
run 1 "says:apt-get install --no-install-recommends libfmt-dev" never:apt-get "never:cmake --build" -- start.sh

pretend "a package that cannot be installed" "$(lacking '*libfmt-dev')" 'apt-get [ "$1" != install ]'
run red "never:cmake --build" -- test.sh

pretend "a failed build" 'cmake [ "$1" = --preset ]'
run red "never:ctest --preset" -- test.sh

pretend "failed tests" 'ctest exit 8'
run red -- test.sh

for system in 'ID=fedora\nPRETTY_NAME="Fedora 43"' 'ID=debian\nVERSION_ID="11"' \
  'ID=ubuntu\nVERSION_ID="22.04"'; do
  for script in start.sh test.sh; do
    pretend "$script on $system"
    system "$system"
    run 1 says:libxtensor-dev says:https://formulae.brew.sh "says:scripts/$script --no-install" \
      never:cmake -- $script
  done
done

pretend "packages brought by hand"
system ID=fedora
run 0 "calls:ctest --preset default" -- test.sh --no-install

pretend "Ubuntu 24.04"
system 'ID=ubuntu\nVERSION_ID="24.04"'
run 0 -- test.sh

pretend "macOS with one formula missing" 'uname echo Darwin' 'brew case $* in "list --versions fmt") exit 1 ;; esac'
run 0 "calls:brew install fmt" never:apt- -- test.sh

for script in start.sh test.sh; do
  pretend "$script --help"
  run 0 "says:usage: scripts/$script" never:cmake -- $script --help
done

pretend "an option that does not exist"
run 2 "says:there is no option --sanitise" -- test.sh --sanitise

pretend "every matrix product that the default suite does not take, each once"
multiplies_by() { # multiplies_by PRODUCT: where nobody asks for another, by AVX2
  printf 'echo "machine ${VITRUVIAN_GEMM:-%s} ${VITRUVIAN_SIMD:-avx2}"\n' "$1" >>"$root/build/bin/vitruvian"
}
multiplies_by "oneDNN or packed"
run 0 "says:--- VITRUVIAN_GEMM=onednn
the same here as what was tested before" says:VITRUVIAN_GEMM=packed says:VITRUVIAN_GEMM=cblas "calls:-E _f64" \
  "says:VITRUVIAN_SIMD=avx2 VITRUVIAN_GEMM=packed
the same here as what was tested before
--- VITRUVIAN_SIMD=portable VITRUVIAN_GEMM=packed
100% tests passed" -- test.sh --backends
pretend "with a matrix unit the default suite does not take oneDNN"
multiplies_by AMX
run 0 "says:--- VITRUVIAN_GEMM=onednn
100% tests passed" "calls:-E _f64" -- test.sh --backends
pretend "without oneDNN the default suite takes our own product"
printf '[ "${VITRUVIAN_GEMM-}" != onednn ] || exit 2\n' >>"$root/build/bin/vitruvian"
multiplies_by packed
run 0 "says:the same here" "never:-E _f64" "calls:ctest --preset default -j" -- test.sh --backends
pretend "a product that this build has not"
printf 'echo machine; [ -z "${VITRUVIAN_GEMM-}" ]\n' >>"$root/build/bin/vitruvian"
run 0 "says:not in this build" "never:ctest --preset" -- test.sh --backends

pretend "two suites"
run 0 "calls:ctest --preset asan" "calls:cmake --build --preset tsan --target thread_tests" \
  "calls:-L threads" -- test.sh --sanitize --tsan

pretend "the sanitizers in float64, too"
run 0 "calls:cmake --preset asan --log-level=WARNING -DVITRUVIAN_WERROR=ON -DVITRUVIAN_DOUBLE=ON" \
  -- test.sh --werror --sanitize --double

pretend "compiling what will be tested"
run 0 "calls:cmake --build --preset portable" "calls:cmake --build --preset tsan --target thread_tests" "never:ctest -" \
  -- test.sh --compile --portable --tsan

pretend "clang-tidy" 'clang-tidy :'
mkdir -p "$root"/{apps,charts,core,datasets,media,mpi,nn,report,train,vit}
touch "$root/core/one.cpp" "$root/vit/two.cpp"
run 0 "calls:cmake --preset tidy" "calls:clang-tidy -p build-tidy --quiet core/one.cpp" \
  "calls:clang-tidy -p build-tidy --quiet vit/two.cpp" "never:cmake --build" -- test.sh --tidy
stand_in clang-tidy 'case $* in *one.cpp) exit 1 ;; esac'
: >"$scratch/calls"
run red "calls:vit/two.cpp" -- test.sh --tidy

pretend "the slow tests, without and with PyTorch"
PYTHON=$scratch/bin/nowhere run 0 "says:skipped: the golden numbers" "calls:ctest --preset default" \
  "calls:-L slow" -- test.sh --slow
stand_in python :
PYTHON=$scratch/bin/python run 0 "calls:python tests/golden/make_golden.py --check" \
  "calls:python tests/golden/golden_torchvision.py /" -- test.sh --slow
stand_in python 'case $* in *--check) exit 1 ;; esac'
PYTHON=$scratch/bin/python run red -- test.sh --slow

[ $failures = 0 ] || { printf '%d expectations failed\n' $failures && exit 1; }
echo "the scripts did what they should"
