#!/usr/bin/env bash
# `vitruvian inspect` as a user meets it. Usage: inspect_cli_test.sh PATH/TO/vitruvian WEIGHTS, where
# WEIGHTS is the digit model.
weights=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
# shellcheck disable=SC2034
notes='/^note: /d'
inspect() { expect "$1" "$2" inspect "${@:3}"; }
of() { inspect "$1" "$2" --checkpoint "$weights" --out o "${@:3}"; } # of CODE PATTERN ARGUMENT...: the digits' model
shape_of() { head -c 128 "$1" | tr -d '\0' | grep -oa "'shape': ([0-9, ]*)"; }
check_shape() { # check_shape FILE SHAPE, as numpy's header says it
  check "$1: $(shape_of "$1")" test "$(shape_of "$1")" = "'shape': ($2)"
}

# Mistakes.
inspect 2 "which weights" --out o
inspect 2 "out" --checkpoint "$weights"
of 2 "layer 4: the model has 0 to 3" --layer 4
of 2 "head 4: the model has 0 to 3" --head 4
of 2 "query 16: the model has 0 to 15" --query 16
of 2 "3 heads were asked for, but the file says 4" --heads 3
of 2 "whole number" --layer -1
of 2 "not both" --dataset digits picture.png
of 2 "did you mean mnist" --dataset mnits
of 2 "--data DIR" --dataset mnist
of 2 "--every requires --strip" --every 2
inspect 4 "missing.safetensors" --checkpoint missing.safetensors --out o
printf 'no weights' >damaged.safetensors
inspect 4 "damaged.safetensors" --checkpoint damaged.safetensors --out o
of 3 "missing.png" missing.png
printf 'no picture' >damaged.png
of 3 "damaged.png" damaged.png
mkdir empty
inspect 3 "empty" --strip empty --out o
inspect 3 "nowhere" --strip nowhere --out o
check "mistakes leave no folder behind" test ! -e o
printf 'P5\n28 28\n255\n%0784d' 0 >grey.pgm
# Images or classes that are not the model's, with the size that they have.
mkdir -p cifar pictures/a pictures/b
head -c 30730000 /dev/zero >cifar/test_batch.bin
of 3 "cifar10: images of 3 x 32 x 32 in 10 classes, but the model takes 1 x 28 x 28 in 10$" \
  --dataset cifar10 --data cifar
for i in 1 2 3 4 5 6; do cp grey.pgm pictures/a/$i.pgm && cp grey.pgm pictures/b/$i.pgm; done
of 3 "folder: images of 1 x 28 x 28 in 2 classes, but the model takes 1 x 28 x 28 in 10$" \
  --dataset folder --data pictures --images 2
: >file
inspect 1 "file" --checkpoint "$weights" --out file grey.pgm
inspect 1 "file/o" --checkpoint "$weights" --out file/o grey.pgm
if [ "$(id -u)" != 0 ]; then
  mkdir locked && chmod a-w locked
  inspect 1 "locked" --checkpoint "$weights" --out locked grey.pgm
fi

# Everything, of three of the digits' test images.
everything=(--checkpoint "$weights" --images 3 --layer 1 --head 2 --query 5 --smoothgrad=2 --integrated-gradients 3)
inspect 0 "gradients of each of 3 images" "${everything[@]}" --out all
check "the terminal tells of the distances" grep -q "layer  3: .* pixels" out
check "no escapes where there is no terminal" test "$(grep -c "$(printf '\033')" out)" = 0
for figure in patches filters filter_components position_similarity attention_distance \
  attention_entropy attention_maps attention_map attention_matrix explanations norms hidden_units; do
  has all/$figure.svg "^<svg xmlns"
  has all/index.html "<figure id=\"$figure\" " "href=\"$figure.svg\""
done
while read -r name shape; do
  check_shape "all/$name.npy" "$shape"
done <<'TABLE'
patches 16, 1, 7, 7
filters 64, 1, 7, 7
position_similarity 4, 4, 4, 4
attention_maps 4, 4, 4, 4
attention_map 4, 4
attention_matrix 17, 17
rollout 3, 4, 4
saliency 3, 28, 28
smooth_grad 3, 28, 28
integrated_gradients 3, 28, 28
TABLE
check "no file is half-written" test -z "$(find all -size 0 -o -name '*.tmp*' -o -name '*trial*')"

if python3 -c '' 2>/dev/null; then
  check "parsers of HTML and XML read index.html" python3 "$here/../report/html_check.py" all/index.html
fi

has all/block_graph.dot "^digraph block_1 " # its tape
has all/index.html 'id="block_graph"'

# The same again is the same, byte for byte; the tape has times in it.
inspect 0 "" "${everything[@]}" --out again
check "the same twice" diff -r -x "block_graph.*" -x index.html all again

# Pictures of another size, one or several.
printf 'P5\n40 30\n255\n%01200d' 0 >wide.pgm
inspect 0 "wide.pgm: 40 x 30 pixels become the model's 28 x 28" --checkpoint "$weights" --out two \
  grey.pgm wide.pgm wide.pgm
check "what is so of many pictures is said once" test "$(grep -c "pixels become" err)" -eq 1
check_shape two/rollout.npy "3, 4, 4"

# A run's weights, in the order of its epochs.
inspect 3 "save-every" --strip two --out strip
small=(train --train-size 40 --test-size 20 --save-every 1 --width 16 --depth 1 --heads 2 --batch-size 16)
expect 0 "" "${small[@]}" --epochs 3 --out run
inspect 0 "" --strip run --out strip
names() { grep -o 'epoch-[0-9]*' "$1" | tr '\n' ' '; }
check "epochs in their order" test "$(names strip/strip.json)" = "epoch-0001 epoch-0002 epoch-0003 "
inspect 0 "" --strip run --every 2 --out every
check "every second" test "$(names every/strip.json)" = "epoch-0001 epoch-0003 "

# A model that was trained on a folder, and that folder's test images.
expect 0 "" train --dataset folder --data pictures --image-size 32 --patch-size 8 --width 16 --depth 1 \
  --heads 2 --epochs 1 --batch-size 4 --out own
inspect 0 "" --checkpoint own --dataset folder --data pictures --out of_own
inspect 0 "" --checkpoint own --out of_run # where only the run says which
for out in of_own of_run; do has $out/index.html "2 test images of folder, the classes in turn"; done
mkdir pictures/c && cp grey.pgm pictures/c
inspect 3 "there is no class 'c' among the training pictures" --checkpoint own --dataset folder \
  --data pictures --out o
cp own/model.safetensors alone.safetensors
inspect 2 "dataset folder needs --data" --checkpoint alone.safetensors --dataset folder --out o

# Neither class token nor learned positions: nothing of them is drawn.
expect 0 "" "${small[@]}" --epochs 2 --positions sincos_2d --mean-pooling --out mean
inspect 0 "" --checkpoint mean --images 3 --out of_mean --smoothgrad=2 --integrated-gradients 2
check_shape of_mean/attention_matrix.npy "16, 16"
check "true labels beside what was found" test "$(grep -o '"true [0-9], found [0-9]: ' of_mean/explanations.json | wc -l)" -eq 3
check "no class token" test "$(cat of_mean/index.html of_mean/*.json mean/report.html | grep -ci 'class token\|on_class_token')" = 0
check "no positions that find a grid" test "$(grep -c 'finding their grid' mean/report.html)" = 0
check "positions that do, in a run that learns them" grep -q "finding their grid" run/report.html
inspect 4 "learns no table of positions" --strip mean --out strip_of_mean

# What cannot be shown is drawn all the same.
if [ -w /dev/full ]; then
  "$vitruvian" inspect --checkpoint "$weights" --out unread grey.pgm >/dev/full 2>err && wrong "inspect >/dev/full"
  check "the figures are there" test -s unread/index.html
fi

# A page of the user's own stays.
mkdir site && printf 'mine\n' >site/index.html
inspect 2 "site/index.html is there already" --checkpoint mean --out site
check "as it was" grep -qx mine site/index.html

# Units that are neither on nor off, and tokens that are no patches.
expect 0 "" "${small[@]}" --epochs 1 --swiglu --registers 2 --out gated
inspect 0 "" --checkpoint gated --images 1 --out of_gated
check "no figure of dead units" test ! -e of_gated/hidden_units.svg
check "and not in the page" test "$(grep -c hidden_units of_gated/index.html)" = 0
check_shape of_gated/attention_matrix.npy "19, 19"

finish
