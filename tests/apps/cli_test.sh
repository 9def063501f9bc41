#!/usr/bin/env bash
# The command line as a user meets it: every mistake ends in one line on standard error, the right
# exit code, and nothing half-written. Usage: cli_test.sh PATH/TO/vitruvian
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"

small=(--train-size 40 --test-size 20 --epochs 1 --width 16 --depth 1 --heads 2 --batch-size 16)

# Usage: exit 2. Of every number's range tests/train/settings_test.cpp has more.
while IFS='|' read -r pattern arguments; do
  # shellcheck disable=SC2086 # words
  expect 2 "$pattern" $arguments
done <<'TABLE'
did you mean --epochs|train --epoch 3
did you mean --batch-size|train --batchsize 3
did you mean train|trian
zzzzzzz|train --zzzzzzz
epochs|train --epochs -1
epochs|train --epochs ten
epochs|train --epochs
lr|train --lr nan
batch-size|train --batch-size 0
3 heads do not divide|train --heads 3
patch of 5 does not divide|train --patch-size 5
patch|train --patch-size 0
depth|train --depth 0
threads|train --threads 100000
threads|train --threads -2
precision|train --precision half
did you mean mnist|train --dataset mnits
no data set 'mnits' to fetch; did you mean mnist\?$|data fetch mnits
there are digits, mnist, |train --dataset imagenet
machine has|train --width 100000 --heads 1 --depth 12
is not a whole number from 1 to 1000000|train --width 99999999999
train-size.*-3|train --train-size -3
seed|train --seed 99999999999999999999999
--data|train --dataset mnist
weights|eval
--overwrite needs --out|train --overwrite
optimizer.*adamw, adam, sgd|train --optimizer sdg
patience needs|train --patience 3
keep-head needs|train --keep-head
did you mean vit-pretrain|train --recipe vit-pretrian
DIR|report
DIR|compare
did you mean vit_b_16|models vit_b_61
patch of 16 does not divide|models vit_b_16 --image-size 100
batch-size|models --batch-size 0
did you mean mini_vit|trace --model minivit
machine has|trace --model vit_h_14 --batch-size 100000
did you mean mnist|data fetch minst --data data
drawn by the program|data fetch digits
out|data preview digits
TABLE
for flag in --out --resume --config --recipe; do
  expect 2 "$flag: a name is expected" train $flag ''
  expect 2 "$flag: .* missing" train $flag=
done
check "none of them made a run" test ! -e runs

# Data: exit 3.
mkdir empty damaged
expect 3 "missing.*|no such|No such" train --dataset mnist --data missing "${small[@]}"
expect 3 "train-images-idx3-ubyte" train --dataset mnist --data empty --out run "${small[@]}"
check "no run directory is left behind by a data error" test ! -e run
expect 3 "data_batch_1.bin" train --dataset cifar10 --data empty
expect 2 "data empty: the digits are drawn" train --data empty --out run "${small[@]}"
for part in train t10k; do
  printf '\0\0\10\3\0\0\0\2\0\0\0\34\0\0\0\34' >damaged/$part-images-idx3-ubyte
  printf '\0\0\10\1\0\0\0\2\1\2' >damaged/$part-labels-idx1-ubyte
done
expect 3 "train-images-idx3-ubyte" train --dataset mnist --data damaged "${small[@]}"

# Checkpoints: exit 4.
printf 'no weights' >noise.safetensors
expect 4 "noise.safetensors" eval --weights noise.safetensors
expect 4 "nowhere" eval --weights nowhere.safetensors

# Everything else: exit 1.
printf '' >file
expect 1 "file" train --out file/run "${small[@]}"
expect 2 "file is a file: a run needs a folder" train --out file "${small[@]}"
expect 1 "/proc" train --out /proc/run "${small[@]}"

# What works.
works "^test accuracy" train --out run "${small[@]}"
check "no carriage return off a terminal" not grep -q "$(printf '\r')" out
check "no escape off a terminal" not grep -q "$(printf '\033')" out
check "and in training" grep -qE "^epoch 1/1  train loss [0-9.]+ acc [0-9.]+ %  test loss [0-9.]+ acc [0-9.]+ %" out
check "and where it is" grep -qx "out      run" out
check "no line of an epoch is wider than 80 columns" not grep -E "^epoch.{75}" out
check "a line of metrics for each of 3 steps, and one for the epoch" test "$(wc -l <run/metrics.jsonl)" -eq 4
for key in kind step epoch train_loss test_loss test_accuracy lr grad_norm; do
  check "metrics.jsonl has $key" grep -q "\"$key\":" run/metrics.jsonl
done
for key in epoch images_per_second seconds; do
  check "timing.jsonl has $key" grep -q "\"$key\":" run/timing.jsonl
done
check "nothing temporary is left" test "$(find run | wc -l)" -eq 10

# What eval says is what train said, of the images that the run was tested on.
sed -n '/^confusion/,/^test accuracy/p' out | grep -v "^test accuracy" >matrix
for weights in run run/model.safetensors; do
  works "^digits: 20 test images, loss " eval --weights $weights
  accuracy=$(sed -n 's/.*accuracy \([0-9.]*\) %.*/\1/p' out)
  check "eval prints the confusion matrix that train printed" sh -c 'tail -n +2 out | cmp - matrix'
done
works "^digits: 30 test images" eval --weights run --test-size 30
works "^digits: 4000 test images" eval --weights run --test-size 0
expect 0 "" eval --weights run --json
check "eval --json is one line" test "$(wc -l <out)" -eq 1
test_loss=$(sed -n 's/.*"test_loss":\([^,]*\),.*/\1/p' run/metrics.jsonl)
check "eval finds the loss that train found, to the last bit" grep -q "\"images\":20,\"loss\":$test_loss," out
check "of each class" test "$(grep -o '"name":"[0-9]","images":2,"accuracy":' out | wc -l)" -eq 10
sed 's/.*"confusion":\[\[//; s/\]\].*//; s/\],\[/\n/g' out >rows
check "a row of the matrix is a true class" \
  awk -F, '{ n = 0; for (i = 1; i <= NF; i++) n += $i; if (n != 2) exit 1 } END { exit NR != 10 }' rows
cp run/model.safetensors plain.safetensors
works "^digits: 20 test images" eval --weights plain.safetensors --test-size 20
expect 2 "dataset mnist needs --data" eval --weights run --dataset mnist
expect 2 "data empty: the digits are drawn" eval --weights run --data empty
works "test accuracy $accuracy %" train --out again "${small[@]}"
check "the same seed writes the same bytes" cmp run/model.safetensors again/model.safetensors
for n in 1 4; do
  expect 0 "" train --threads $n --out "threads$n" "${small[@]}"
  check "$n threads write the same bytes" cmp run/model.safetensors "threads$n/model.safetensors"
  check "and the same metrics" cmp run/metrics.jsonl "threads$n/metrics.jsonl"
done
expect 0 "" train --seed 2 --out other "${small[@]}"
check "another seed writes other bytes" not cmp -s run/model.safetensors other/model.safetensors
expect 0 "" train --composed --out composed "${small[@]}"
loss() { sed -n 's/.*"train_loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | cut -c 1-6; }
check "the readable twins give the same loss" test "$(loss composed)" = "$(loss run)"
check "and not the same bits" not cmp -s run/model.safetensors composed/model.safetensors
for n in 1 2 3 4; do
  expect 0 "" train --micro-batch 3 --dropout 0.1 --threads "$n" --out "micro$n" "${small[@]}"
  check "micro-batches on $n threads" cmp micro1/model.safetensors "micro$n/model.safetensors"
done
expect 0 "" train --profile --out profiled "${small[@]}"
for row in "layer_norm " "blocks.0.mlp.fc1 .* [0-9.]*[1-9][0-9.]*$" "the step "; do
  check "a profile names ops, modules and totals: $row" grep -q "^$row" out
done
check "a profile changes no byte of the weights" cmp run/model.safetensors profiled/model.safetensors
expect 0 "" train --precision double --out double "${small[@]}"
expect 0 "" eval --weights double --test-size 20

# A run is safe with its owner's files.
cp run/model.safetensors first.safetensors
cp -r run before
for place in run before; do echo mine >$place/notes.tmp; done
expect 2 "run holds a run already: --resume run goes on with it, --overwrite" train --seed 3 --out run "${small[@]}"
expect 2 "run/ holds a run already" train --seed 3 --out run/ "${small[@]}"
check "and nothing of it is changed" diff -r run before
expect 2 "run/checkpoints lies inside the run" train --out run/checkpoints "${small[@]}"
expect 0 "" train --seed 3 --out run --overwrite "${small[@]}"
check "another run is in its place" not cmp -s first.safetensors run/model.safetensors
check "all that was there and was not the run's" sh -c 'grep -qx mine run/notes.tmp && rm run/notes.tmp'
check "and nothing else" test "$(find run | wc -l)" -eq 10
mkdir mine
echo '{"mine": 1}' >mine/config.json
for flags in "" --overwrite; do
  # shellcheck disable=SC2086 # one flag, or none
  expect 2 "mine/config.json is there already, and no run's" train --out mine $flags "${small[@]}"
done
check "a foreign file is as it was" test "$(cat mine/*)" = '{"mine": 1}'

# Without --out a run has a folder of its own, each of two in the same second.
mkdir place
(cd place && "$vitruvian" train "${small[@]}" >../out 2>../err) &
(cd place && "$vitruvian" train "${small[@]}" --seed 2 >../out2 2>&1)
wait $!
check "two folders" test "$(find place/runs -mindepth 1 -maxdepth 1 -name 'digits-20*' | wc -l)" -eq 2
for said in out out2; do
  where=$(sed -n 's/^out      //p' $said)
  check "the folder is told" test -s "place/$where/model.safetensors"
  check "and the weights in it" grep -qx "weights  $where/model.safetensors" $said
done
check "the two are apart" test "$(sed -n 's/^out  *//p' out)" != "$(sed -n 's/^out  *//p' out2)"
expect 0 "" train --quiet --out quiet "${small[@]}"
check "a quiet run prints what came of it, and no more" test "$(sed 's/ .*//' out | paste -sd' ')" = "test weights report"

# More epochs.
works "^note     prolonged from 1 epochs to 2: .* the same 0 steps" train --resume quiet --epochs 2
check "it goes on where it was" grep -q "goes on after step 3$" out
check "the config says it" grep -q '"epochs": 2' quiet/config.json
check "two epochs" test "$(grep -c '"kind":"epoch"' quiet/metrics.jsonl)" -eq 2
expect 2 "--epochs 1, but quiet is a run of 2: .* prolonged, not shortened" train --resume quiet --epochs 1
expect 2 "epochs.*is not a whole number from 1 to 1000000" train --resume quiet --epochs 2000000
expect 2 "no --recipe, --config, --out or --overwrite" train --resume quiet --overwrite
head -c 1000 first.safetensors >cut.safetensors
expect 4 "cut.safetensors" eval --weights cut.safetensors

# Recipes, config files, resuming.
expect 0 "" train --recipe list
for recipe in vit-pretrain finetune mnist cifar10 table3-imagenet table4-cifar; do
  check "there is a recipe $recipe" grep -q "^$recipe " out
done
expect 0 "AdamW where" train --recipe vit-pretrain --print-recipe --lr 5e-4
check "a recipe is printed whole" grep -q '"weight_decay": 0.1' out
check "a flag overrides it" grep -q '"lr": 0.0005' out
expect 0 "" train --config run/config.json --out configured
check "a run's config.json makes the run again" cmp run/model.safetensors configured/model.safetensors
expect 0 "" train --config run/config.json --out configured --overwrite
while IFS='|' read -r text pattern; do
  printf '%s\n' "$text" >bad.json
  expect 2 "bad.json: $pattern" train --config bad.json
done <<'TABLE'
{"epochs": 1, "lr": 0.1, "lr": 0.2}|'lr' is said twice
{"epoch": 1}|there is no setting 'epoch'; did you mean epochs
{"epochs": "ten"}|'epochs' is "ten": not a whole number
{"epochs": 1|not JSON
[1]|not a JSON object
TABLE
expect 2 "nowhere.json" train --config nowhere.json
expect 4 "no run to resume|config.json" train --resume nowhere
expect 2 "no --recipe, --config, --out or --overwrite" train --resume run --out other
works "is finished: 1 epochs, 3 steps" train --resume run
for optimizer in adam sgd; do
  expect 0 "" train --optimizer $optimizer --weight-decay 0 --schedule linear --out $optimizer "${small[@]}"
done
expect 0 "" train --accumulate 4 --batch-size 4 --micro-batch 4 --out accumulated "${small[@]:0:10}"
expect 0 "" train --batch-size 16 --micro-batch 4 --out whole "${small[@]:0:10}"
check "four accumulated batches are one of four parts" cmp accumulated/model.safetensors whole/model.safetensors
mkdir broken
cd broken || exit 1
breaking=(train --lr 100 --warmup 0 --clip 0 --optimizer sgd --epochs 30 "${small[@]:0:4}" --batch-size 16)
expect 1 "broke down at step [0-9]+ of .* in [0-9]+ of [0-9]+ numbers of .* of '[a-z_]+'.* training images [0-9]" \
  "${breaking[@]}"
expect 1 "broke down at step [0-9]+ of .*--anomaly found: the first is " "${breaking[@]}" --anomaly
expect 0 "" train --sanity --train-size 40 --test-size 20
check "three checks of this very model" test "$(grep -c '^ok ' out)" -eq 3
check "which make no run" test "$(find runs -mindepth 1 -maxdepth 1 | wc -l)" -eq 2
cd .. || exit 1

# Fine-tuning: another size, other images, a new head.
expect 0 "" train --init run --image-size 42 --optimizer sgd --lr 0.01 --weight-decay 0 "${small[@]:0:6}" --out tuned
expect 0 "" eval --weights tuned --test-size 20
expect 2 "width 64, but the model in run has 16" train --init run --width 64
expect 4 "nowhere" train --init nowhere.safetensors

# What a run shows.
works "^confusion " train --out seen "${small[@]}"
for part in "<svg" "Confusion" "data:image/png" "<dt>width</dt><dd>16</dd>"; do
  check "report.html has $part" grep -q "$part" seen/report.html
done
for run in seen double; do
  mv $run/report.html first.html
  expect 0 "" report $run
  check "report writes the page of $run again" cmp first.html $run/report.html
done
cp -r seen unfinished
rm unfinished/model.safetensors unfinished/report.html unfinished/metrics.jsonl
expect 0 "" report unfinished
check "an unfinished run has a report" test -s unfinished/report.html
expect 3 "missing: there is no such folder" report missing
expect 3 "no config.json" report empty
printf 'no weights' >unfinished/model.safetensors
expect 4 "unfinished/model.safetensors" report unfinished
works "^seed  *1  *2$" compare seen other
check "compare names not what does not differ" not grep -q dataset out
check "and what came of it" grep -q "^test accuracy " out
expect 0 "" compare seen other --out both.html
check "compare draws curves" grep -q "<svg" both.html
expect 2 "DIR" compare seen
expect 2 "did you mean --out" compare seen other --ou x
expect 3 "missing: there is no such folder" compare seen missing
expect 3 "empty: .*no config.json" compare seen empty --out none.html
check "a comparison that fails writes nothing" test ! -e none.html
expect 1 "nowhere/both.html" compare seen other --out nowhere/both.html
cp -r other bad
printf 'nonsense\n' >>bad/metrics.jsonl
expect 3 "metrics.jsonl: line 5 is no JSON object" compare seen bad

# The models of the paper.
expect 0 "" models
for row in "vit_b_16 .* 86M .* 86,567,656  *17[.]563 " "vit_b_32 .* 86M .* 88,224,232" "vit_l_16 .* 307M .* 304,326,632" \
  "vit_l_32 .* 307M .* 306,535,400" "vit_h_14 .* 632M .* 632,045,800" "vit_s_16" "vit_ti_16" "mini_vit" "mnist" "cifar"; do
  check "models lists $row" grep -q "^$row" out
done
works "633,470,440" models vit_h_14 --image-size 518
works "^vit_h_14 *a patch of 14 does not divide" models --image-size 384
works '"parameters":304326632,"macs":61' models vit_l_16 --json
expect 0 "" trace
cat >five <<'LINES'
Eq.(1) z0: torch.Size([1, 197, 192])
After layer 1: torch.Size([1, 197, 192])
After layer 2: torch.Size([1, 197, 192])
Eq.(4) y (pre-head): torch.Size([1, 192])
Logits: torch.Size([1, 10])
LINES
check "trace prints the notebook's five lines" sh -c 'grep torch.Size out | cmp - five'
check "symbols beside the numbers" grep -qE "blocks.1.attn.probs +\(B, h, T, T\) +\(1, 3, 197, 197\)" out
check "the symbols' values" grep -q "B 1, C 3, H 224" out
works "^Eq.\(1\) z0: torch.Size\(.2, 65, 128.\)$" trace --model cifar --batch-size 3 --batch-size 2 # the last counts

# Pictures, and weights under other names.
{ printf 'P5 40 30 255\n' && head -c 1200 /dev/zero; } >blank.pgm
works "^blank.pgm$" predict --weights run --top 3 blank.pgm
check "three guesses of it" test "$(wc -l <out)" -eq 4
works '"name":"' predict --weights run --json --top 2 blank.pgm blank.pgm
check "a line of JSON a picture" test "$(grep -c '"image":"blank.pgm","predictions":\[{"class":' out)" -eq 2
printf '%s\n' zero one two three four five six seven eight nine >names
works "% *7  seven" predict --weights run --labels names --top 10 blank.pgm
printf 'zero\none\n' >few
expect 3 "few: 2 lines, but the model has 10 classes" predict --weights run --labels few blank.pgm
expect 3 "cut.safetensors: not a picture" predict --weights run cut.safetensors
expect 3 "nowhere.png" predict --weights run nowhere.png
expect 2 "top" predict --weights run --top 0 blank.pgm
expect 2 "threads: 2000 is not between 1 and 1024" predict --weights run --threads 2000 blank.pgm
expect 2 "images" predict --weights run
expect 2 "--mean has 2 numbers, but the model's images have 1" predict --weights run --mean .1,.2 blank.pgm
expect 2 "'x' is not a number" predict --weights run --std x blank.pgm
expect 2 "interpolation" predict --weights run --interpolation nearest blank.pgm
expect 3 "more than 1199; --max-pixels" predict --weights run --max-pixels 1199 blank.pgm
"$vitruvian" predict --weights run blank.pgm nowhere.png blank.pgm >out 2>err
check "a picture that is missing: exit 3" test $? -eq 3
check "the others are answered" test "$(grep -c blank.pgm out)" -eq 2
check "and it is named" grep -q "vitruvian: nowhere.png" err
same_prediction() { # same_prediction WEIGHTS WEIGHTS: of the blank picture
  for weights in "$@"; do "$vitruvian" predict --weights "$weights" blank.pgm; done >out 2>err
  cmp <(head -n $(($(wc -l <out) / 2)) out) <(tail -n $(($(wc -l <out) / 2)) out)
}
for scheme in timm torchvision hf jax vitruvian; do
  expect 0 "" convert --from run --to $scheme.safetensors --scheme $scheme
  expect 0 "" convert --from $scheme.safetensors --to back.safetensors --scheme timm
  check "weights go to $scheme and back" cmp timm.safetensors back.safetensors
  check "weights under $scheme's names predict the same" same_prediction run $scheme.safetensors
done
check "another size and other classes" "$vitruvian" convert --from jax.safetensors --to larger.safetensors --scheme timm --image-size 56x42 --classes 3
works "33.33 %" predict --weights larger.safetensors blank.pgm
x=(convert --from run --to x --scheme)
expect 2 "a patch of 7 does not divide" "${x[@]}" hf --image-size 30
expect 2 "image-size" "${x[@]}" hf --image-size 0x7
expect 2 "did you mean torchvision" "${x[@]}" torchvison
expect 2 "pos" "${x[@]}" hf --pos-resize linear
expect 2 "8 heads were asked for" "${x[@]}" hf --heads 8
expect 4 "hf.safetensors: its names look like Hugging Face's, not JAX's" "${x[@]}" timm --from hf.safetensors \
  --from-scheme jax
expect 4 "noise.safetensors" "${x[@]}" timm --from noise.safetensors
expect 1 "/proc" "${x[@]}" timm --to /proc/x
expect 0 "" train --out fixed "${small[@]}" --positions sincos_2d --mean-pooling
expect 2 "torchvision's ViT has no such thing as mean_pooling; --scheme timm or jax or vitruvian" \
  "${x[@]}" torchvision --from fixed
for scheme in timm jax; do
  check "fixed positions and a mean go to $scheme" "$vitruvian" convert --from fixed --to $scheme.fixed --scheme $scheme
  check "and predict the same under $scheme's names" same_prediction fixed $scheme.fixed
done
expect 0 "" train --out post "${small[@]}" --post-norm --gelu-tanh
expect 2 "no such thing as gelu_tanh, post_norm; --scheme vitruvian can" "${x[@]}" torchvision --from post
check "nothing was written" test ! -e x

# Data sets.
case $("$vitruvian" data fetch mnist --data data --mirror ftp://127.0.0.1 2>&1) in
*"without OpenSSL"*) expect 1 "made without OpenSSL" data fetch mnist --data data ;;
*"without libcurl"*) expect 3 "made without libcurl" data fetch mnist --data data ;;
*)
  expect 2 "no http or https" data fetch mnist --data data --mirror ftp://127.0.0.1
  expect 3 "could not be fetched.*put train-images-idx3-ubyte.gz, .* into data/mnist" \
    data fetch mnist --data data --mirror http://127.0.0.1:9 --timeout 2
  ;;
esac
expect 3 "4 files are missing or wrong" data verify mnist --data data
works 58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec data info cifar100
sheet() { works "^row 22  cutmix" data preview digits --seed "$1" --columns 2 --out "$2"; }
sheet 3 sheet.png
sheet 3 again.png
sheet 4 other.png
check "the same seed draws the same sheet" cmp sheet.png again.png
check "another seed draws another" not cmp -s sheet.png other.png

# A folder of pictures: a folder for each class.
mkdir -p colours/{blue,green,red} parted/{train,test}/{blue,green,red}
for i in {0..19}; do
  ppm "colours/blue/$i.ppm" $((8 + i)) 10 20 200
  ppm "colours/green/$i.ppm" $((8 + i)) 10 200 20
  ppm "colours/red/$i.ppm" $((8 + i)) 200 10 20
  for colour in blue green red; do
    cp "colours/$colour/$i.ppm" "parted/$([ "$i" -lt 12 ] && echo train || echo test)/$colour"
  done
done
{ printf 'P6 20000 20000 255\n' && head -c 1000 /dev/zero; } >huge.ppm # over the limit by its header
of_folder=(train --dataset folder --image-size 16 --patch-size 8 --width 16 --depth 1 --heads 2
  --epochs 2 --batch-size 16 --lr 1e-2 --flip 0.5 --checkpoint-every 1)
for n in 1 2; do
  expect 0 "" "${of_folder[@]}" --data colours --val-fraction 0.25 --threads $n --out hues$n
done
check "a folder's run does not depend on the threads that read ahead" cmp hues1/model.safetensors hues2/model.safetensors
mv hues2 hues
check "the weights know the classes" grep -q 'blue.*green.*red' hues/model.safetensors
check "the report has a folder's pictures" grep -q "data:image/png" hues/report.html
works "^folder: 12 test images" eval --weights hues
check "and names the classes" grep -qE "^ *[012] blue " out
expect 0 "" inspect --weights hues --out inside
check "inspect sees the fifth that was set aside" grep -q "12 test images of folder, the classes in turn" inside/index.html
works " red$" predict --weights hues colours/red/1.ppm
mv colours hidden
for command in "eval --weights hues" "inspect --weights hues --out inside2" "report hues" \
  "eval --weights hues/checkpoints/best.safetensors" "train --resume hues --epochs 3"; do
  # shellcheck disable=SC2086
  expect 3 "colours: .*hues was trained on it: --data DIR says where it is now" $command
done
works "^folder: 12 test images" eval --weights hues --data hidden
expect 0 "" report hues --data hidden
mv hidden colours
mv hues/report.html first.html
expect 0 "" report hues
check "a folder's page again" cmp first.html hues/report.html
expect 0 "" "${of_folder[@]}" --data parted --out parted-run
works "^folder: 24 test images" eval --weights parted-run

mkdir elsewhere
cp -r colours elsewhere/moving
expect 0 "" "${of_folder[@]}" --data elsewhere/moving --val-fraction 0.25 --out moved
check "where the folder lies is of no account" cmp hues/model.safetensors moved/model.safetensors

# Stopped within an epoch and resumed, while threads read ahead.
long=("${of_folder[@]}" --data colours --epochs 60 --log-every 1 --mixup 0.2)
expect 0 "" "${long[@]}" --threads 2 --out calm
"$vitruvian" "${long[@]}" --threads 1 --out asked >out 2>err &
until [ -s asked/metrics.jsonl ] || ! kill -0 $! 2>/dev/null; do sleep 0.01; done
kill -INT $! 2>/dev/null
wait $!
"$vitruvian" train --resume asked --threads 2 >out 2>err
for file in model.safetensors metrics.jsonl; do
  check "a folder's run that was resumed has the same $file" cmp asked/$file calm/$file
done

# What cannot be used.
mkdir spoilt spoilt/empty
cp -r colours/* spoilt
head -c 100 colours/red/1.ppm >spoilt/red/1.ppm
echo "no picture" >spoilt/blue/notes.txt
cp huge.ppm spoilt/green
expect 3 "spoilt: 4 of .*cannot be used.*--skip-bad.*notes.txt" "${of_folder[@]}" --data spoilt --out none
check "nothing is made for it" test ! -e none
"$vitruvian" "${of_folder[@]}" --data spoilt --skip-bad --out skipped >out 2>err
check "a folder's bad files are left out" test -e skipped/model.safetensors
check "and counted" grep -q "4 left out" out err
expect 0 "4 left out" eval --weights skipped
cp skipped/model.safetensors alone.safetensors
expect 3 "cannot be used" eval --weights alone.safetensors --dataset folder --data spoilt
expect 2 "dataset folder needs --data" eval --weights alone.safetensors
expect 2 "image-size" "${of_folder[@]}" --data colours --image-size 0
expect 2 "needs --data" "${of_folder[@]}"
expect 3 "nowhere: there is no such directory" "${of_folder[@]}" --data nowhere
mkdir -p fewer/blue fewer/pink
cp colours/blue/1.ppm fewer/blue
cp colours/red/1.ppm fewer/pink
expect 3 "no class 'pink'" eval --weights hues --dataset folder --data fewer

check "whoever says --out has no other folder" test ! -e runs
works "matrix product" --version
works "--dataset" train --help
if [ -w /dev/full ]; then
  check "a full standard output is an error" not sh -c '"$1" --version >/dev/full' sh "$vitruvian"
fi
finish
