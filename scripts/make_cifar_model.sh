#!/usr/bin/env bash
# Makes models/cifar.safetensors again: make_cifar_model.sh DIR, the folder with CIFAR-10's data_batch_*.bin.
# Twelve epochs, some 15 minutes on one thread. The weights are kept as float16, which is half of the file; the
# course opens them (filters_and_positions, attention_maps).
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

data=${1:?the folder with the binary files of CIFAR-10}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
build default vitruvian
# Our own product, so that it does not matter whether oneDNN is installed.
VITRUVIAN_GEMM=packed "$ROOT/build/bin/vitruvian" train --dataset cifar10 --data "$data" \
  --width 96 --heads 6 --mlp-width 192 --epochs 12 --lr 0.001 \
  --crop-padding 3 --flip 0.5 --ema 0.999 --seed 1 --threads 1 --out "$out"
python3 "$ROOT/scripts/half.py" "$out/model.safetensors" "$ROOT/models/cifar.safetensors"
sha256sum "$ROOT/models/cifar.safetensors" 2>/dev/null || shasum -a 256 "$ROOT/models/cifar.safetensors"
