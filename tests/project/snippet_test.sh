#!/usr/bin/env bash
# The Python program of docs/weights.md opens a model of ours in torchvision's class, and prints the logits that
# `predict` has. Skipped without torchvision.
# Usage: snippet_test.sh PATH/TO/vitruvian ROOT
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
root=$2

python=""
for candidate in python3 /usr/bin/python3; do
  "$candidate" -c 'import numpy, torchvision, PIL' 2>/dev/null && python=$candidate && break
done
[ -n "$python" ] || skip "no python3 with torchvision"
sed -n '/^```python$/,/^```$/p' "$root/docs/weights.md" | grep -v '^```' >snippet.py
check "there is a program" test "$(wc -l <snippet.py)" -gt 20

# The digits' model, and one with other sizes, another eps and a bias that is written out.
notes='/^note: /d' # on standard error
{ printf 'P5 28 28 255\n' && seq 300 | head -c 784; } >grey.pgm # of their size: Pillow would round as it resizes
works "" train --dataset digits --train-size 20 --test-size 20 --epochs 1 --patch-size 14 --width 16 --heads 2 --depth 2 \
  --eps 1e-3 --no-qkv-bias --out run
for weights in "$root/models/digits.safetensors" run/model.safetensors; do
  expect 0 "" convert --from "$weights" --to torchvision.safetensors --scheme torchvision
  "$python" snippet.py torchvision.safetensors grey.pgm >theirs.json 2>err || wrong "the program fails"
  expect 0 "" predict --weights "$weights" --logits ours.json grey.pgm
  check "the logits of $weights" "$python" -c '
import json
ours = json.load(open("ours.json"))[0]["logits"]
theirs = json.load(open("theirs.json"))
assert len(ours) == len(theirs) > 1
assert max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-5 * max(map(abs, ours)), (ours, theirs)
'
done
finish
