#!/usr/bin/env bash
# README and the pages of docs/ say what the program does: their commands run (with little data, so
# that it takes seconds), and the programs of docs/own print what stands on their pages.
# Usage: readme_test.sh ROOT PROGRAM_FOLDER
set -eu
root=$1
programs=$2
folder=$(mktemp -d)
export XDG_STATE_HOME=$folder/state
trap 'rm -rf "$folder"' EXIT

{ printf 'P5 28 28 255\n' && head -c 784 /dev/zero; } >"$folder/blank.pgm"
# Two tiny data sets stand for the reader's own.
mkdir "$folder/mnist" "$folder/cifar"
for part in train t10k; do
  { printf '\0\0\10\3\0\0\0\10\0\0\0\34\0\0\0\34' && head -c $((8 * 784)) /dev/zero; } \
    >"$folder/mnist/$part-images-idx3-ubyte"
  printf '\0\0\10\1\0\0\0\10\0\1\2\3\4\5\6\7' >"$folder/mnist/$part-labels-idx1-ubyte"
done
for part in data_batch_1 data_batch_2 data_batch_3 data_batch_4 data_batch_5 test_batch; do
  head -c 30730000 /dev/zero >"$folder/cifar/$part.bin"
done

mkdir -p "$folder/folder/dark" "$folder/folder/pale"
"$programs/vitruvian" data preview digits --columns 2 --out "$folder/folder/dark/1.png" >"$folder/out"
for i in {2..20}; do cp "$folder/folder/dark/1.png" "$folder/folder/dark/$i.png"; done
cp "$folder"/folder/dark/*.png "$folder/folder/pale"

commands=0
ln -s "$root/models" "$folder/models"
cd "$folder" # runs of the reader's land here, not in the checkout
while read -r command; do
  [[ $command != *" weights/"* ]] || continue # fetched ones: see the test `transfer`
  set -- ${command%%#*}
  program=$programs/${1##*/}
  shift
  arguments=()
  data=mnist
  for argument in "$@"; do
    case $argument in
      cifar10 | *-cifar10) data=cifar && arguments+=("$argument") ;;
      folder) data=folder && arguments+=("$argument") ;;
      DIR) arguments+=("$folder/$data") ;;
      IMAGE...) arguments+=("$folder/blank.pgm") ;;
      *) arguments+=("$argument") ;;
    esac
  done
  case "${1:-} ${2:-}" in
    "data fetch" | "data verify" | "weights fetch") continue ;; # the published files: see the test `fetch`
    "train --resume" | "train --recipe list") ;;
    train\ *) arguments+=(--epochs 1 --train-size 8 --test-size 8) ;;
    eval\ *) arguments+=(--test-size 8) ;;
    --strict\ *) arguments+=(--op softmax) ;;
  esac
  if ! "$program" "${arguments[@]}" >"$folder/out" 2>&1; then
    grep -q "onnx: this build .* made without" "$folder/out" && continue
    echo "this command fails: $command"
    cat "$folder/out"
    exit 1
  fi
  commands=$((commands + 1))
done < <(cd "$root" && grep -hE '^build/bin/' README.md docs/{trainer,inside,weights}.md)

(
  mkdir own && cd own
  for page in "$root"/docs/own/*.md; do
    awk '/^```$/ {on = !on; next} /^```/ {on = 2; next} on == 1' "$page" >expected
    "$programs/own_$(basename "$page" .md)" >found
    # Shares of a few pictures may round otherwise with other vectors; the programs end with 1 when
    # they are poor.
    sed -i 's/[0-9]* %/N %/' expected found
    diff -u expected found
  done
)

# Real digits, where they are. Another processor rounds otherwise: a few images may fall the other way.
mnist=${VITRUVIAN_DATA:-$root/../shared/datasets}/mnist
if [ -d "$mnist" ]; then
  said=$(sed -n 's/.* finds \([0-9]*\),\([0-9]*\) of 10,000 real ones right.*/\1\2/p' "$root/README.md")
  "$programs/vitruvian" eval --weights models/digits.safetensors --dataset mnist --data "$mnist" >"$folder/out"
  right=$(sed -n '1s/.*accuracy \([0-9]*\)\.\([0-9]*\) %/\1\2/p' "$folder/out")
  if [ $((right - said)) -gt 5 ] || [ $((said - right)) -gt 5 ]; then
    echo "README: the model that is kept reads $said of MNIST's test images, but it is $right"
    exit 1
  fi
fi
echo "$commands commands of README and docs/ run"
[ "$commands" -ge 20 ]
