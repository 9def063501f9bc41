#!/usr/bin/env bash
# The models that come with the project, made again.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

usage() {
  cat <<USAGE
usage: scripts/make_model.sh digits
       scripts/make_model.sh cifar DIR

The first trains the model of models/digits.safetensors again: the default run of the trainer on the
built-in digits. (The file that is kept was made by an earlier version, which rounded some sums otherwise:
the bytes differ.) The second trains the model of
models/cifar.safetensors, which the lessons on filters, positions and attention look into, on CIFAR-10:
twelve epochs, some 15 minutes on one thread, written as float16, which is half of the file. DIR holds
data_batch_1.bin to data_batch_5.bin and test_batch.bin.

  --help   this text
USAGE
}

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
train() {
  build default vitruvian
  # Our own product, so that it does not matter whether oneDNN is installed.
  VITRUVIAN_GEMM=packed "$ROOT/build/bin/vitruvian" train --seed 1 --out "$out" "$@"
}

case "${1:-} ${2:-}" in
  "--help "* | "-h "*) usage ;;
  "digits ")
    train
    cp "$out/model.safetensors" "$ROOT/models/digits.safetensors"
    ;;
  "cifar "?*)
    train --dataset cifar10 --data "$2" --width 96 --heads 6 --mlp-width 192 --epochs 12 --lr 0.001 \
      --crop-padding 3 --flip 0.5 --ema 0.999 --threads 1
    python3 "$ROOT/scripts/half.py" "$out/model.safetensors" "$ROOT/models/cifar.safetensors"
    ;;
  *)
    say "$SCRIPT: which model, and where is CIFAR-10? see --help" >&2
    exit 2
    ;;
esac
