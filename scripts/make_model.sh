#!/usr/bin/env bash
# Makes models/digits.safetensors again, byte for byte on a processor with the same instruction set
# and matrix product: the default run of the trainer on the built-in digits.
# shellcheck source=scripts/setup.sh
. "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
build default vitruvian
# Our own product, so that it does not matter whether oneDNN is installed.
VITRUVIAN_GEMM=packed "$ROOT/build/bin/vitruvian" train --seed 1 --out "$out"
mkdir -p "$ROOT/models"
cp "$out/model.safetensors" "$ROOT/models/digits.safetensors"
sha256sum "$ROOT/models/digits.safetensors" 2>/dev/null || shasum -a 256 "$ROOT/models/digits.safetensors"
