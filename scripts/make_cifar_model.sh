#!/usr/bin/env bash
# Writes models/cifar.safetensors, which the lessons on filters, positions and attention look into.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/make_cifar_model.sh DIR

Trains a small Vision Transformer on CIFAR-10, twelve epochs, some 15 minutes on one thread, and writes
it to models/cifar.safetensors as float16, which is half of the file. DIR holds CIFAR-10's
data_batch_1.bin to data_batch_5.bin and test_batch.bin.

  --help   this text
USAGE
}

case ${1:-} in
  --help | -h) usage && exit 0 ;;
  "" | -*)
    say "scripts/make_cifar_model.sh: which folder holds CIFAR-10? see --help" >&2
    exit 2
    ;;
esac

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
build default vitruvian
# Our own product, so that it does not matter whether oneDNN is installed.
VITRUVIAN_GEMM=packed "$ROOT/build/bin/vitruvian" train --dataset cifar10 --data "$1" \
  --width 96 --heads 6 --mlp-width 192 --epochs 12 --lr 0.001 \
  --crop-padding 3 --flip 0.5 --ema 0.999 --seed 1 --threads 1 --out "$out"
python3 "$ROOT/scripts/half.py" "$out/model.safetensors" "$ROOT/models/cifar.safetensors"
