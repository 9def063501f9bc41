#!/usr/bin/env bash
# docs/transfer.md and docs/inside.md: their commands, in their order, on made-up models from a server on loopback and
# a few made-up pictures. Usage: transfer_test.sh PATH/TO/vitruvian
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
docs=$here/../../docs

serve_made_up_models
mkdir -p PICTURES/red PICTURES/blue
for i in 1 2 3 4 5; do
  ppm PICTURES/red/$i.ppm $((30 + i)) 200 40 20
  ppm PICTURES/blue/$i.ppm $((40 + i)) 20 40 200
done

commands=0
while read -r line; do
  line=${line//IMAGE.../PICTURES/red/1.ppm PICTURES/blue/1.ppm}
  line=${line//models\//$here/../../models/}
  case $line in
    *" weights fetch "*) line+=" --mirror $server/good" ;;
    *" train "*) line+=" --epochs 2 --batch-size 4" ;;
  esac
  # shellcheck disable=SC2086 # words, and weights/NAME/*.npz
  set -- $line
  if ! "$vitruvian" "${@:2}" >out 2>err; then
    grep -qE "made without (libcurl|OpenSSL)|without libzip" err && skip "$(cat err)"
    wrong "$line"
  fi
  [ "$2" != train ] || mv out "$commands.train"
  commands=$((commands + 1))
done < <(sed -e ':a' -e '/\\$/{N' -e 's/ *\\\n */ /' -e 'ba' -e '}' "$docs/transfer.md" "$docs/inside.md" |
  grep '^build/bin/vitruvian ')
check "$commands commands" test "$commands" -ge 28

# What they leave is what the page says.
has runs/figure7/filter_components.npy "'shape': \\(28, 3, 16, 16\\)"
has runs/figure7/position_similarity.npy "'shape': \\(14, 14, 14, 14\\)"
has runs/figure7/attention_distance.json '"images": ?2'
has runs/features.npy "'shape': \\(10, 192\\)"
check "the names of the pictures" test "$(head -n 1 runs/features.txt)" = PICTURES/blue/1.ppm
check "ten rows of DINO's" test "$(grep -c '"features"' runs/dino.json)" = 10
check "eleven runs ended" test "$(cat ./*.train | grep -c '^test accuracy')" = 11
works "^deviation" train --dataset folder --data PICTURES --image-size 224 --init weights/vit_ti16/*.npz \
  --recipe finetune --linear-probe --seeds 3 --out runs/probes --epochs 2 --batch-size 4
check "of finished runs nothing is trained" test "$(grep -c 'is finished: 2 epochs' out)" = 3
works "^seeds  *1 2 3  *1$" compare runs/probes runs/tuned
check "the table for pandas has a line for each of metrics.jsonl, and the names" \
  test "$(wc -l <runs/tuned.csv)" = "$(($(wc -l <runs/tuned/metrics.jsonl) + 1))"
works "^  *[0-9.]+ %  *[01]  *(blue|red)$" predict --weights runs/shots.safetensors PICTURES/red/1.ppm
works "blue" predict --weights runs/tuned PICTURES/blue/2.ppm
for figure in runs/inside runs/dino runs/tuned-inside; do check "$figure" test -s $figure/index.html; done
exec 9>&-
finish
