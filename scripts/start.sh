#!/usr/bin/env bash
# Sets up, builds the trainer and the course, and trains a Vision Transformer on the built-in digits.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/start.sh [--no-install] [OPTION OF vitruvian train]...

Installs the packages that are missing (it names them first, asks only on a terminal, and uses sudo
only where it must), builds build/bin/vitruvian, build/bin/lesson and the first two lessons, and trains
a small Vision Transformer on digits that the program draws itself. What it writes goes to a new folder
under runs/, which it names.

  --no-install   do not look at packages; all of them are there
  --help         this text

Everything else is handed to the trainer: scripts/start.sh --epochs 2
USAGE
}

install=yes
options=()
for option in "$@"; do
  case $option in
    --help | -h) usage && exit 0 ;;
    --no-install) install=no ;;
    *) options+=("$option") ;;
  esac
done

[ $install = no ] || setup_packages
build default vitruvian lesson lesson_three_or_eight lesson_notation
"$ROOT/build/bin/vitruvian" train ${options[@]+"${options[@]}"}

cat <<NEXT

Try next, in $ROOT (export PATH="\$PWD/build/bin:\$PATH" spares you build/bin/):
  build/bin/lesson 0
      the course: how all of this works, one equation at a time
  build/bin/vitruvian eval --weights RUN
      the same model, read back from its file; RUN is the folder that the trainer named
  build/bin/vitruvian train --help
      every setting of the run and of the model
  build/bin/vitruvian train --dataset mnist --data DIR
      real digits: DIR holds the four files of MNIST
  cmake --build build --target gradcheck && build/bin/gradcheck
      every derivative in it against differences
  scripts/test.sh
      everything, tested
NEXT
