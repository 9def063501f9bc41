#!/usr/bin/env bash
# The command line as a user meets it: every mistake ends in one line on standard error, the right
# exit code, and nothing half-written. Usage: cli_test.sh PATH/TO/vitruvian DOUBLE, which is 0 where there is no
# vitruvian_double (VITRUVIAN_DOUBLE).
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
double=$2

small=(--train-size 40 --test-size 20 --epochs 1 --width 16 --depth 1 --heads 2 --batch-size 16)

# Usage: exit 2. Of every number's range tests/train/settings_test.cpp has more.
while IFS='|' read -r pattern arguments; do
  # shellcheck disable=SC2086 # words
  expect 2 "$pattern" $arguments
done <<'TABLE'
did you mean --epochs|train --epoch 3
did you mean train|trian
zzzzzzz|train --zzzzzzz
epochs|train --epochs ten
epochs|train --epochs
3 heads do not divide|train --heads 3
did you mean mnist|train --dataset mnits
no data set 'mnits' to fetch; did you mean mnist\?$|data fetch mnits
machine has|train --width 100000 --heads 1 --depth 12
weights|eval
--overwrite needs --out|train --overwrite
optimizer.*adamw, adam, sgd|train --optimizer sdg
did you mean vit-pretrain|train --recipe vit-pretrian
DIR|report
DIR|compare
did you mean vit_b_16|models vit_b_61
patch of 16 does not divide|models vit_b_16 --image-size 100
batch-size|models --batch-size 0
--layer-decay: '0' is not a number above 0 and at most 1$|train --layer-decay 0
--head-lr: '-1' is not a number above 0|train --head-lr -1
there are float, double, bfloat16|eval --weights x --precision half
weights|eval --precision double
did you mean mini_vit|trace --model minivit
machine has|trace --model vit_h_14 --batch-size 100000
drawn by the program|data fetch digits
see vitruvian data fetch --help$|data fetch mnist --wohin X
data: which. fetch, verify|data
--json takes no value$|eval --json=x
--qk-norm takes no value$|train --qk-norm=foo
--no-qk-norm takes no value$|train --no-qk-norm=false
--json takes no value$|eval --weights run --json=true
no command or argument 'eval'; see vitruvian train --help$|train eval
no data set 'mnits'; did you mean mnist|data info mnits
--lr needs a value$|train --lr
out|data preview digits
call it NAME.png|data preview digits --out sheet.jpg
--head none learns no classes; --task masked|train --head none
which weights. --weights|inspect --out x
--top: '-1' is not a whole number from 1 to|predict --weights x --top -1 y.png
--smoothgrad: '-1' is not a whole number|inspect --weights x --out y --smoothgrad=-1
--seed: '-1' is not a whole number from 0 to 18446744073709551615|data preview digits --out x.png --seed -1
--mean: '' is not a number|predict --weights x --mean 0.5, y.png
x.onnx: what is written is safetensors|few-shot --weights x --out x.onnx
two files, not n.npy for both|predict --weights x --features n.npy --logits n.npy y.png
two files, not ./n.npy for both|predict --weights x --features n.npy --logits ./n.npy y.png
no interpolation 'lanczos'; there are bilinear, bicubic|predict --weights x --interpolation lanczos y.png
TABLE
for flag in --out --resume --config --recipe; do
  expect 2 "$flag: a name is expected" train $flag ''
  expect 2 "$flag needs a value$" train $flag=
done
for command in "eval --weights" "convert --to x --from" "report" "report x --csv" "inspect --weights x --out" "compare x" \
  "few-shot --weights x --out" "predict --weights x --labels" "data verify mnist --data" "weights info --into"; do
  # shellcheck disable=SC2086 # words
  expect 2 ": a name is expected" $command ''
done
check "none of them made a run" test ! -e runs

# Data: exit 3.
mkdir empty
expect 2 "empty/: a folder is what --scheme hf is written to; name a file" convert --from x --to empty/ --scheme timm
expect 3 "train-images-idx3-ubyte" train --dataset mnist --data empty --out run "${small[@]}"
check "no run directory is left behind by a data error" test ! -e run

# Checkpoints: exit 4.
printf 'no weights' >noise.safetensors
expect 4 "noise.safetensors" eval --weights noise.safetensors
expect 4 "nowhere" eval --weights nowhere.safetensors

# Everything else: exit 1.
expect 1 "/proc" train --out /proc/run "${small[@]}"

# What works.
works "^test accuracy" train --out run "${small[@]}"
check "neither carriage returns nor escapes off a terminal" not grep -q $'[\r\e]' out
has out "^epoch 1/1  train loss [0-9.]+ acc [0-9.]+ %  test loss [0-9.]+ acc [0-9.]+ %" "^out      run$"
check "a line of metrics for each of 3 steps, and one for the epoch" test "$(wc -l <run/metrics.jsonl)" -eq 4
has run/metrics.jsonl '"'{kind,step,epoch,train_loss,test_loss,test_accuracy,lr,grad_norm}'":'
has run/timing.jsonl '"'{epoch,images_per_second,seconds}'":'
check "nothing temporary is left" test "$(find run | wc -l)" -eq 10

# What eval says is what train said, of the images that the run was tested on.
sed -n '/^confusion/,/^test accuracy/p' out | grep -v "^test accuracy" >matrix
for weights in run run/model.safetensors; do
  works "^digits: 20 test images, loss " eval --weights $weights
  accuracy=$(sed -n 's/.*accuracy \([0-9.]*\) %.*/\1/p' out)
  check "eval prints the confusion matrix that train printed" sh -c 'tail -n +2 out | cmp - matrix'
done
works "^digits: 4000 test images" eval --weights run --test-size 0
expect 0 "" eval --weights run --json
check "eval --json is one line" test "$(wc -l <out)" -eq 1
has out "\"images\":20,\"loss\":$(sed -n 's/.*"test_loss":\([^,]*\),.*/\1/p' run/metrics.jsonl)," # to the last bit
check "of each class" test "$(grep -o '"name":"[0-9]","images":2,"accuracy":' out | wc -l)" -eq 10
sed 's/.*"confusion":\[\[//; s/\]\].*//; s/\],\[/\n/g' out >rows
check "a row of the matrix is a true class" \
  awk -F, '{ n = 0; for (i = 1; i <= NF; i++) n += $i; if (n != 2) exit 1 } END { exit NR != 10 }' rows
cp run/model.safetensors plain.safetensors
works "^digits: 20 test images" eval --weights plain.safetensors --test-size 20
expect 2 "dataset mnist needs --data" eval --weights run --dataset mnist
works "test accuracy $accuracy %" train --out again "${small[@]}"
same again/model.safetensors run/model.safetensors
expect 0 "" train --seed 2 --out other "${small[@]}"
check "another seed writes other bytes" not cmp -s run/model.safetensors other/model.safetensors
expect 0 "" train --composed --out composed "${small[@]}"
loss() { sed -n 's/.*"train_loss":\([0-9.]*\).*/\1/p' "$1/metrics.jsonl" | cut -c 1-6; }
check "the readable twins give the same loss" test "$(loss composed)" = "$(loss run)"
check "and not the same bits" not cmp -s run/model.safetensors composed/model.safetensors
expect 0 "" train --profile --out profiled "${small[@]}"
has out "^layer_norm " "^blocks.0.mlp.fc1 .* [0-9.]*[1-9][0-9.]*$" "^the step "
same profiled/model.safetensors run/model.safetensors
if [ "$double" = 1 ]; then
  expect 0 "" train --precision double --out double "${small[@]}"
  has out "^machine .* float64"
  expect 0 "" eval --weights double --test-size 20 --json
  cp out float.json
  expect 0 "" eval --weights double --test-size 20 --json --precision double
  check "double precision is another loss" not cmp -s out float.json
  works "^Measure" eval --precision double --help
else
  expect 1 "double precision is a program of its own, .* build --target vitruvian_double makes it" \
    train --precision double --out double "${small[@]}"
fi
mkdir alone_here && cp "$vitruvian" alone_here/
vitruvian=$folder/alone_here/vitruvian expect 1 "--sanity checks in double: .* build --target vitruvian_double makes it" train --sanity

# A run is safe with its owner's files: tests/train/run_directory_test.cpp has more.
cp run/model.safetensors first.safetensors
cp -r run before
expect 2 "run/metrics.jsonl: it is the run's own" report run --csv run/metrics.jsonl
expect 2 "run/report.html: it is the run's own" compare run run --out run/report.html
expect 2 "run/model.safetensors: it is the run's own" convert --from run --to run/model.safetensors --scheme timm
expect 2 "run/config.json: it is the run's own" predict --weights run --features run/config.json x.png
expect 2 "run/config.json: it is the run's own" few-shot --weights run --out run/config.json
expect 4 "last.safetensors: a checkpoint, for its run to go on from" eval --weights run/checkpoints/last.safetensors
expect 2 "run/ holds a run already: --resume run/ goes on with it, --overwrite" train --seed 3 --out run/ "${small[@]}"
check "and nothing of it is changed" diff -r run before
expect 0 "" train --seed 3 --out run --overwrite "${small[@]}"
check "another run is in its place" not cmp -s first.safetensors run/model.safetensors
check "and nothing else" test "$(find run | wc -l)" -eq 10

# Without --out a run has a folder of its own, which is told.
mkdir place
(cd place && "$vitruvian" train "${small[@]}") >out 2>err
where=$(sed -n 's/^out      //p' out)
check "the weights are there" test -s "place/$where/model.safetensors"
has out "^out      runs/digits-20" "^weights  $where/model.safetensors$"
expect 0 "" train --quiet --out quiet "${small[@]}"
check "a quiet run prints what came of it, and no more" test "$(sed 's/ .*//' out | paste -sd' ')" = "test weights report"

# More epochs.
works "^note     prolonged from 1 epoch to 2: .* the same 0 steps" train --resume quiet --epochs 2
has out "goes on after step 3$"

# What was changed by hand.
cp -r quiet edited
sed -i 's/"epochs": 2/"epochs": 1/' edited/config.json
expect 4 "'epochs' is 1, not 2$" train --resume edited --epochs 3
check "nothing is said of what is not done" not grep -q prolonged out

# A run that stopped early: its accuracy is that of the test images, not of those that stopped it.
works "^note     stopped early, after [2-8] of 9 epochs" \
  train --out early "${small[@]}" --epochs 9 --val-fraction 0.5 --patience 1 --lr 1e-2 --seed 2
accuracy=$(sed -n 's/^test accuracy \([0-9.]*\) %.*/\1/p' out)
works "accuracy $accuracy %" eval --weights early
works "^the run in early is finished: [2-8] epochs, .* steps, stopped early \(--patience\)$" train --resume early

# Recipes, config files, resuming.
works "^finetune " train --recipe list
expect 0 "AdamW where" train --recipe vit-pretrain --print-recipe --lr 5e-4
has out '"weight_decay": 0.1' '"lr": 0.0005' # the recipe's, and the flag's
expect 0 "" train --config run/config.json --out configured
same configured/model.safetensors run/model.safetensors
echo '{"epoch": 1}' >bad.json
expect 2 "bad.json: there is no setting 'epoch'; did you mean epochs" train --config bad.json
expect 2 "nowhere.json" train --config nowhere.json
expect 4 "nowhere: there is no such folder" train --resume nowhere
for flags in "--no-qk-norm --qk-norm" "--qk-norm --no-qk-norm --no-qk-norm --qk-norm"; do
  # shellcheck disable=SC2086 # words
  works '"qk_norm": true' train --print-recipe $flags # the last counts
done
expect 2 "no --recipe, --config, --out or --overwrite" train --resume run --out other
works "is finished: 1 epoch, 3 steps" train --resume run
breaking=(train --lr 100 --warmup 0 --clip 0 --optimizer sgd --epochs 30 "${small[@]:0:4}" --batch-size 16 --out broken)
expect 1 "broke down at step [0-9]+ of .* in [0-9]+ of [0-9]+ numbers of .* of '[a-z_]+'.* training images [0-9]" \
  "${breaking[@]}"
expect 1 "broke down at step [0-9]+ of .*anomaly found: the first is " "${breaking[@]}" --anomaly --overwrite
if [ "$double" = 1 ]; then
  expect 0 "" train --sanity --train-size 40 --test-size 20
  has out "^machine .* float64"
  check "three checks of this very model" test "$(grep -c '^ok ' out)" -eq 3
fi

# Fine-tuning: another size, other images, a new head.
expect 0 "" train --init run --image-size 42 --optimizer sgd --lr 0.01 --weight-decay 0 "${small[@]:0:6}" --out tuned
expect 0 "" eval --weights tuned --test-size 20

# Killed before its first checkpoint it begins with those weights again, not with others.
cp -r tuned anew
rm -r anew/checkpoints anew/model.safetensors
mv run hidden
expect 4 "there is no such file; anew has no checkpoint yet, and begins with it again" train --resume anew
mv hidden run
(cd place && "$vitruvian" train --resume ../anew) >out 2>err || wrong "a run with --init, begun anew from another folder"
has out "^note +it has no checkpoint yet: it begins anew$"
same anew/model.safetensors tuned/model.safetensors
rm -r anew/checkpoints anew/model.safetensors
sed -i 's/"data_checksum": "........./"data_checksum": "00000000-/' anew/config.json
expect 4 "anew: the data are not those of the run: checksum " train --resume anew
expect 2 "--teacher run: anew has none, and a resumed run keeps its settings" train --resume anew --teacher run
expect 2 "--init /.*/tuned is of the run ./tuned, which --overwrite would remove" train --init tuned --out ./tuned --overwrite "${small[@]:0:6}"
check "its weights are still there" test -s tuned/model.safetensors

# From a teacher, which is asked again from wherever the run goes on.
works "^test accuracy" train --teacher run --out taught "${small[@]}"
has taught/config.json "\"teacher\": \"/.*/run\"" '"distilled": true' '"data_checksum": ".*-teacher-[0-9a-f]{8}"'
(cd place && "$vitruvian" train --resume ../taught --epochs 2) >out 2>err || wrong "a run with a teacher, resumed from another folder"
has out "goes on after step 3$"
expect 4 "the teacher is not that of the run" train --resume taught --epochs 3 --teacher other
mv run hidden
expect 4 "taught learned from it: --teacher FILE says where it is now" train --resume taught --epochs 3
works "goes on after step 6$" train --resume taught --epochs 3 --teacher hidden
mv hidden run
expect 0 "" train --seeds 1 --out taught-set --teacher run "${small[@]}"
expect 2 "holds a run with other settings, for here 'teacher'" train --seeds 1 --out taught-set --teacher other "${small[@]}"
expect 2 "--teacher names classes, and --task masked learns none" train --teacher run --task masked "${small[@]}"
works "^note +a distillation token without a teacher" train --distilled --out untaught "${small[@]}"

# What a run shows.
works "^confusion " train --out seen "${small[@]}"
has seen/report.html "<svg" "Confusion" "data:image/png" "<dt>width</dt><dd>16</dd>"
page_again() { # page_again RUN: `report` writes the page that `train` wrote
  mv "$1/report.html" first.html
  expect 0 "" report "$1"
  same "$1/report.html" first.html
}
page_again seen
[ "$double" = 0 ] || page_again double
cp -r seen unfinished
rm unfinished/model.safetensors unfinished/report.html unfinished/metrics.jsonl
expect 0 "" report unfinished
check "an unfinished run has a report" test -s unfinished/report.html
expect 3 "missing: there is no such folder" report missing
expect 3 "no config.json" report empty
printf 'no weights' >unfinished/model.safetensors
expect 4 "unfinished/model.safetensors" report unfinished
works "^seeds  *1 2$" compare seen other
check "compare names not what does not differ" not grep -q dataset out
has out "^test accuracy "
expect 0 "" compare seen other --out both.html
has both.html "<svg" "<h2>Each run</h2>"
expect 2 "compare needs two runs or more, and seen is one" compare seen
expect 3 "empty: .*no config.json" compare seen empty --out none.html
check "a comparison that fails writes nothing" test ! -e none.html
expect 0 "" compare seen other --out made/for/both.html
expect 1 "both.html/one.html: its folder cannot be made: Not a directory" compare seen other --out both.html/one.html
cp -r other bad
printf 'nonsense\n' >>bad/metrics.jsonl
expect 3 "metrics.jsonl: line 5 is no JSON object" compare seen bad

# Metrics for other programs.
works "^metrics  seen.csv$" report seen --csv seen.csv
check "Python reads as many rows as there are lines" python3 - seen.csv seen/metrics.jsonl <<'PYTHON'
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1], newline="")))
lines = [json.loads(line) for line in open(sys.argv[2])]
assert len(rows) == len(lines) > 3
for row, line in zip(rows, lines):
    assert {k: v for k, v in row.items() if v} == {k: str(v) for k, v in line.items() if v is not None}, (row, line)
PYTHON
expect 0 "" report seen --csv -
check "a pipe gets the table alone" cmp out seen.csv
expect 3 "no config.json" report empty --csv left/none.csv
expect 4 "nowhere" convert --from nowhere.safetensors --to left/x.safetensors --scheme timm
check "no folder is left behind by what fails" test ! -e left

# Several seeds: a run each, what they come to, and going on with what is unfinished.
set_of=(train "${small[@]}" --out set --quiet)
notes=/^note:/d # of its narrow heads
works "^deviation +[0-9.]+ % +[0-9.]+$" "${set_of[@]}" --seeds 2
check "mean and deviation are those of the two" awk '$1 == 1 { a = $2; b = $4 } $1 == 2 { c = $2; d = $4 }
  $1 == "mean" { bad = ($2 - (a + c) / 2) ^ 2 > 2e-4 || ($4 - (b + d) / 2) ^ 2 > 2e-8 }
  $1 == "deviation" { exit bad || (2 * $2 ^ 2 - (a - c) ^ 2) ^ 2 > 1e-2 || (2 * $4 ^ 2 - (b - d) ^ 2) ^ 2 > 1e-6 }' out
has out "^seed +test accuracy +test loss$" "^1 +[0-9.]+ % +[0-9.]+$" "^2 " "^mean " "^report   set/report.html$"
check "a run for each seed, and their page" test "$(cd set && echo *)" = "report.html seed-1 seed-2"
has set/report.html "2 seeds"
works "^test accuracy" train --out alone --seed 2 "${small[@]}" --quiet
same alone/model.safetensors set/seed-2/model.safetensors
cp set/seed-1/model.safetensors first.safetensors
rm -r set/seed-2/model.safetensors set/seed-2/checkpoints # as if it had just begun
works "^mean" "${set_of[@]}" --seeds 1,2,7
same set/seed-1/model.safetensors first.safetensors
same set/seed-2/model.safetensors alone/model.safetensors
check "the third has begun too" test -s set/seed-7/model.safetensors
works "^mean" "${set_of[@]}" --seeds 4,7
check "the page is of all of them, as compare's" grep -q "4 seeds" set/report.html
expect 2 "set/seed-1 holds a run with other settings, for here 'lr' is 0.5, not" "${set_of[@]}" --seeds 2 --lr 0.5
works "^mean" "${set_of[@]}" --seeds 2 --lr 0.01 --overwrite
works "^mean" "${set_of[@]}" --out halves --val-fraction 0.5 --seeds 2
check "so are those of the best validation" awk '$1 == 1 { a = $5 } $1 == 2 { c = $5 } $1 == "mean" { m = $5 }
  $1 == "deviation" { exit (m - (a + c) / 2) ^ 2 > 2e-4 || (2 * $5 ^ 2 - (a - c) ^ 2) ^ 2 > 1e-2 }' out
unset notes
works "^seeds +1 2 +4 7$" compare set
mkdir mine && : >mine/report.html
expect 2 "mine/report.html is there already" train "${small[@]}" --seeds 2 --out mine
expect 2 "set/seed-1/seed-1 lies inside|inside the run" train "${small[@]}" --seeds 2 --out set/seed-1
expect 2 "--seeds needs --out" train --seeds 2
expect 2 "which" train --seeds 2 --seed 3 --out x
expect 2 "the command that began" train --seeds 2 --resume set
expect 2 "'two' is neither a whole number" train --seeds two --out x
check "none of them made a run" test ! -e x

# Few-shot.
works "^digits: 20 test images in 10 classes, 16 features, 2 draws$" \
  few-shot --weights run --shots 1,3 --seeds 2 --test-size 20 --train-size 60 --out shots.safetensors
has out "^ +1 +10  [0-9.]+ % \\+- [0-9.]+ +[0-9.]+ [0-9.]+$" "^ +3 +30  " "^weights  shots.safetensors$"
each=$(sed -n 's/^ *3 .* \([0-9.]*\) [0-9.]*$/\1/p' out)
works "accuracy $each %" eval --weights shots.safetensors --dataset digits --test-size 20
works '^\{"dataset":"digits","classes":10,.*"shots":\[\{"shots":5,"mean":0\.' \
  few-shot --weights run --shots 5 --seeds 1 --test-size 20 --train-size 60 --json --out shots/of/five.safetensors
check "the folder of its weights is made" test -s shots/of/five.safetensors
expect 2 "--shots 7: class '0' has 6 training images" few-shot --weights run --shots 7 --train-size 60
expect 2 "--ridge 0" few-shot --weights run --ridge 0
ln -s run/config.json link.safetensors
expect 1 "link.safetensors: cannot be written: it is a symbolic link" few-shot --weights run --shots 1 --train-size 60 --test-size 20 --out link.safetensors
rm link.safetensors
expect 2 "needs --data DIR" few-shot --weights run --dataset mnist
expect 4 "noise.safetensors" few-shot --weights noise.safetensors

# The models of the paper.
works "^vit_b_16 .* 86M .* 86,567,656  *17[.]563 " models
check "the models fit a terminal" test "$(wc -L <out)" -le 80
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
has out "blocks.1.attn.probs +\(B, h, T, T\) +\(1, 3, 197, 197\)" "B 1, C 3, H 224"
works "^Eq.\(1\) z0: torch.Size\(.2, 65, 128.\)$" trace --model cifar --batch-size 3 --batch-size 2 # the last counts

# Pictures, and weights under other names.
{ printf 'P5 40 30 255\n' && head -c 1200 /dev/zero; } >blank.pgm
works "^blank.pgm$" predict --weights run --top 3 blank.pgm
check "three guesses of it" test "$(wc -l <out)" -eq 4
works '"name":"' predict --weights run --json --top 2 blank.pgm blank.pgm
check "a line of JSON a picture" test "$(grep -c '"image":"blank.pgm","predictions":\[{"class":' out)" -eq 2
printf '%s\n' zero one two three four five six seven eight nine >names
works "% *7  seven" predict --weights run --labels names --top 10 blank.pgm
{ printf '\357\273\277' && sed 's/$/\r/' names; } >windows
works "% *0  zero$" predict --weights run --labels windows --top 10 blank.pgm
printf 'zero\none\n' >few
expect 3 "few: 2 lines, but the model has 10 classes" predict --weights run --labels few blank.pgm
expect 2 "top" predict --weights run --top 0 blank.pgm
expect 2 "--threads: '2000' is not a whole number from 0 to 1024" predict --weights run --threads 2000 blank.pgm
expect 2 "IMAGE is missing; see vitruvian predict --help" predict --weights run
expect 2 "--top needs a value" predict --weights run blank.pgm --top
{ printf 'P5 40 30 255\n' && head -c 1200 /dev/zero | tr '\0' '\377'; } >paper.pgm
expect 0 "note: paper.pgm is dark on light" predict --weights run paper.pgm blank.pgm paper.pgm # once: in one line
expect 2 "--mean has 2 numbers, but the model's images have 1" predict --weights run --mean .1,.2 blank.pgm
expect 2 "'x' is not a number" predict --weights run --std x blank.pgm
expect 2 "interpolation" predict --weights run --interpolation nearest blank.pgm
expect 3 "more than 1199; --max-pixels" predict --weights run --max-pixels 1199 blank.pgm
"$vitruvian" predict --weights run blank.pgm nowhere.png blank.pgm >out 2>err
check "a picture that is missing: exit 3" test $? -eq 3
check "the others are answered" test "$(grep -c blank.pgm out)" -eq 2
check "and it is named" grep -q "vitruvian: nowhere.png" err
# Numbers, of a folder at once.
mkdir -p pictures/below empty_folder && cp blank.pgm pictures && cp blank.pgm pictures/below/other.pgm
works "^f.npy: features of 3 pictures, 16 numbers each$" predict --weights run --features f.npy --logits z.json pictures blank.pgm
has out "^z.json: logits of 3 pictures, 10 numbers each$"
has f.npy "'descr': '<f8'.*'shape': \(3, 16\)"
check "a row each: its header and 3 * 16 doubles" test "$(wc -c <f.npy)" = $((128 + 3 * 16 * 8))
check "whose they are" test "$(paste -sd' ' f.txt)" = "pictures/below/other.pgm pictures/blank.pgm blank.pgm"
check "nothing else is printed" test "$(wc -l <out)" = 2
check "JSON of the same" test "$(grep -c '"image":".*","logits":\[' z.json)" = 3
printf 'mine\n' >labels.txt
expect 2 "labels.txt is there already" predict --weights run --features labels.npy blank.pgm
ln -s f.npy link.npy # ahead of any picture, even one that is not there
expect 1 "link.npy: cannot be written: it is a symbolic link" predict --weights run --features link.npy missing.pgm
rm link.npy
check "a text of the user's stays" grep -qx mine labels.txt
mv f.txt kept.txt && ln -s kept.txt f.txt
expect 1 "f.txt: cannot be written: it is a symbolic link" predict --weights run --features f.npy missing.pgm
mv kept.txt f.txt
works "^f.npy" predict --weights run --features f.npy blank.pgm
expect 2 "f.txt: numbers are written to a file NAME.npy or NAME.json" predict --weights run --features f.txt blank.pgm
expect 3 "empty_folder: there are no pictures in it" predict --weights run empty_folder
printf 'no picture' >pictures/below/notes
"$vitruvian" predict --weights run --features some.json pictures >out 2>err
check "what is no picture is named, and the others are written: exit 3" test $? -eq 3
check "two of three" test "$(grep -c '"features"' some.json)" = 2
mkdir no_pictures
for i in 1 2 3 4 5 6 7 8; do printf 'no picture' >no_pictures/$i.pgm; done
"$vitruvian" predict --weights run no_pictures blank.pgm >out 2>err
check "a folder full of what is no picture: exit 3" test $? -eq 3
check "five of them are named" test "$(grep -c "^vitruvian: no_pictures/[1-5].pgm: " err)" -eq 5
check "the others are counted" test "$(tail -n +6 err | paste -sd' ')" = "vitruvian: and 3 more vitruvian: 8 of 9 pictures could not be read"
same_prediction() { # same_prediction WEIGHTS WEIGHTS: of the blank picture
  for weights in "$@"; do "$vitruvian" predict --weights "$weights" blank.pgm; done >out 2>err
  cmp <(head -n $(($(wc -l <out) / 2)) out) <(tail -n $(($(wc -l <out) / 2)) out)
}
for scheme in timm torchvision hf jax vitruvian; do
  expect 0 "" convert --from run --to $scheme.safetensors --scheme $scheme
  expect 0 "" convert --from $scheme.safetensors --to back.safetensors --scheme timm
  same back.safetensors timm.safetensors
  check "weights under $scheme's names predict the same" same_prediction run $scheme.safetensors
done
# What transformers opens, and what others run.
expect 0 "" convert --from run --to deep/hf/ --scheme hf
same deep/hf/model.safetensors hf.safetensors
check "three files" test "$(ls deep/hf | xargs)" = "config.json model.safetensors preprocessor_config.json"
has deep/hf/config.json '"hidden_size": [0-9]+' '"model_type": "vit"' '"9": "9"'
has deep/hf/preprocessor_config.json '"image_mean"' '"height": 28'
check "the folder predicts the same" same_prediction run deep/hf
expect 0 "" convert --from run --to deep/hf --scheme hf
expect 2 "run/config.json: it is there already" convert --from run --to run/ --scheme hf
expect 2 "x.npz: what is written is safetensors: call it NAME.safetensors" convert --from run --to x.npz --scheme jax
check "the run is as it was" "$vitruvian" eval --weights run
if "$vitruvian" convert --from run --to run.onnx >out 2>err; then
  has out "tensors from timm's names to a graph of ONNX's operators: 28 x 28 x 1"
  check "a graph of a model" grep -q LayerNormalization run.onnx
  (ulimit -f 8; exec "$vitruvian" convert --from run --to full.onnx) >out 2>err # KB, as a disk that is full
  check "a graph that finds no room: exit 1" test $? -eq 1
  check "it is said" grep -q "full.onnx: cannot be written" err
  check "and nothing is left of it" test -z "$(ls | grep full)"
else
  check "what is missing is said" grep -qx "vitruvian: run.onnx: this build writes no ONNX files: it was made without libonnx and protobuf" err
fi
expect 2 "an ONNX file has operators" convert --from run --to run2.onnx --scheme timm
"$vitruvian" convert --from run --to /dev/stdout --scheme timm >piped.safetensors 2>err
check "a pipe gets the weights alone" "$vitruvian" predict --weights piped.safetensors blank.pgm
works "^[0-9]+ tensors" convert --from run --to new/folder/run.safetensors --scheme timm
expect 2 "scheme is missing" convert --from run --to x
check "another size and other classes" "$vitruvian" convert --from jax.safetensors --to larger.safetensors --scheme timm --image-size 56x42 --classes 3
works "33.33 %" predict --weights larger.safetensors blank.pgm
x=(convert --from run --to x --scheme)
expect 2 "a patch of 7 does not divide" "${x[@]}" hf --image-size 30
expect 2 "image-size" "${x[@]}" hf --image-size 0x7
expect 2 "did you mean torchvision" "${x[@]}" torchvison
expect 2 "pos" "${x[@]}" hf --pos-resize linear
expect 4 "hf.safetensors: its names .* not JAX's" "${x[@]}" timm --from hf.safetensors --from-scheme jax
expect 1 "/proc" "${x[@]}" timm --to /proc/x
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
expect 3 "4 files missing or wrong" data verify mnist --data data
expect 3 "\(nowhere/kmnist/train-images" data verify kmnist --data nowhere
works 58a81ae192c23a4be8b1804d68e518ed807d710a4eb253b1f2a199162a40d8ec data info cifar100
sheet() { works "^row 22  cutmix" data preview digits --seed "$2" --columns 2 --out "$1"; }
sheet sheet.png 3
sheet again.png 3
sheet other.png 4
same again.png sheet.png
check "another seed draws another" not cmp -s sheet.png other.png

# A folder of pictures: a folder for each class.
mkdir -p colours/{blue,green,red}
for i in {0..19}; do
  ppm "colours/blue/$i.ppm" $((8 + i)) 10 20 200
  ppm "colours/green/$i.ppm" $((8 + i)) 10 200 20
  ppm "colours/red/$i.ppm" $((8 + i)) 200 10 20
done
of_folder=(train --dataset folder --image-size 16 --patch-size 8 --width 16 --depth 1 --heads 2
  --epochs 2 --batch-size 16 --lr 1e-2 --flip 0.5 --checkpoint-every 1)
cp -r colours moving
for n in 1 2; do # neither the threads that read ahead nor the place of the folder change a byte
  expect 0 "" "${of_folder[@]}" --data "$([ $n = 1 ] && echo moving || echo colours)" --val-fraction 0.25 \
    --threads $n --out hues$n
done
same hues1/model.safetensors hues2/model.safetensors
mv hues2 hues
has hues/report.html "data:image/png"
works "^folder: 12 test images" eval --weights hues
has out "^ *[012] blue "
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
page_again hues

# In grey, because --channels says so or the model that a run begins with: it goes on in grey.
expect 2 "--channels 2: the pictures of a folder have 1 or 3" "${of_folder[@]}" --data colours --channels 2 --out none
expect 0 "" "${of_folder[@]}" --data colours --channels 1 --out grey
expect 2 "--channels 3, but the model in grey has 1" "${of_folder[@]}" --data colours --init grey --channels 3 --out none
expect 0 "" "${of_folder[@]}" --data colours --init grey --out greyer
works "^test accuracy" train --resume greyer --epochs 3
works '"channels": 1' train --config greyer/config.json --print-recipe

# What cannot be used.
cp -r colours spoilt
head -c 100 colours/red/1.ppm >spoilt/red/1.ppm
echo "no picture" >spoilt/blue/notes.txt
expect 3 "spoilt: 2 of .*cannot be used.*--skip-bad.*notes.txt" "${of_folder[@]}" --data spoilt --out none
check "nothing is made for it" test ! -e none
"$vitruvian" "${of_folder[@]}" --data spoilt --skip-bad --out skipped >out 2>err
check "a folder's bad files are left out" test -e skipped/model.safetensors
check "and counted" grep -q "2 left out" out err
expect 0 "2 left out" eval --weights skipped
cp skipped/model.safetensors alone.safetensors
expect 0 "2 left out" few-shot --weights hues --dataset folder --data spoilt --skip-bad --shots 1 --seeds 1
expect 3 "cannot be used" eval --weights alone.safetensors --dataset folder --data spoilt
expect 2 "dataset folder needs --data" eval --weights alone.safetensors

# Pictures that the run was not made with, a head for other classes, one class alone, several runs, text.
echo "apple, leaf, sea" >names.txt
cp -r colours more
expect 0 "" "${of_folder[@]}" --data more --out several/seed-1
expect 0 "" eval --weights several/seed-1
check "no word while the pictures are the run's" not grep -q "not those" err
rm more/red/7.ppm
for command in "eval --weights" "inspect --out more_inside --weights" report; do
  # shellcheck disable=SC2086 # words
  expect 0 "its pictures are not those that several/seed-1 was made with" $command several/seed-1
done
expect 0 "" "${of_folder[@]}" --data colours --teacher several/seed-1 --epochs 1 --out several/taught
mkdir apart
cp -r colours apart/train
cp -r colours apart/valid
expect 0 "" "${of_folder[@]}" --data apart --epochs 1 --out several/apart
rm apart/train/red/7.ppm
for run in taught apart; do # a teacher's word is data, too; and test pictures that lie apart are the same
  expect 0 "" eval --weights several/$run
  check "no word about the pictures of $run" not grep -q "not those" err
done
mv more/blue more/yellow
expect 2 "class 0 of its head is 'blue', and 'green' here" "${of_folder[@]}" --data more --init several/seed-1 --keep-head --out none
rm -r more/yellow
expect 2 "head is for 3 classes, not for 2" "${of_folder[@]}" --data more --init several/seed-1 --keep-head --out none
cp -r colours lines
mv lines/blue $'lines/b\nlue'
expect 0 "" "${of_folder[@]}" --data lines --epochs 1 --out lines_run
expect 0 "" "${of_folder[@]}" --data lines --epochs 1 --init lines_run --keep-head --out lines_more
works '%  .* b\\nlue$' predict --weights lines_run colours/red/1.ppm
works '"name":"b\\nlue"' eval --weights lines_run --json
mkdir single
cp -r colours single/all
expect 3 "one class alone, 'all', .*--data .*single/all\\?" "${of_folder[@]}" --data single --out none
expect 3 "one class alone, 'all'" few-shot --weights several/seed-1 --dataset folder --data single --shots 1
expect 0 "" "${of_folder[@]}" --data single --task masked --epochs 1 --out hidden_colours
mv hidden_colours/report.html of_training.html
expect 0 "" report hidden_colours
same hidden_colours/report.html of_training.html
check "a model without a head takes nothing for a class" not grep -qE "Confusion|true [a-z]+, found" of_training.html
expect 2 "it has no head to keep" "${of_folder[@]}" --data colours --init hidden_colours --keep-head --out none
expect 3 "a file, and no directory" "${of_folder[@]}" --data colours/red/1.ppm --out none
expect 3 "a file, and no run's folder" report names.txt
expect 4 "no file of weights in it; it holds the runs apart, seed-1, taught" eval --weights several
expect 4 "no config.json; it holds the runs apart, seed-1, taught" train --resume several
expect 3 "no config.json; it holds the runs apart, seed-1, taught" report several
expect 4 "names.txt: text, and no file of weights" eval --weights names.txt
expect 2 "no flag '--weight'; did you mean --weights" predict --weight several/seed-1 colours/red/1.ppm
expect 0 "all begins at random" "${of_folder[@]}" --recipe finetune --data colours --epochs 1 --out several/seed-2
cd several || exit 1
expect 0 "" eval --weights seed-2 # the data are where they were, wherever one stands
cd ..

check "whoever says --out has no other folder, and those checks none" test ! -e runs
works "matrix product" --version
works "--dataset" train --help
works "bfloat16" train --precision bfloat16 --threads 1 --out rounded "${small[@]}"
works "^test accuracy" train --precision bfloat16 --threads 3 --out rounded_too "${small[@]}"
check "bfloat16 gives the same bytes with any threads" cmp rounded/model.safetensors rounded_too/model.safetensors
check "bfloat16 rounds" not cmp -s rounded/model.safetensors run/model.safetensors
check "a run says its precision" grep -q '"precision": "bfloat16"' rounded/config.json
works "." eval --weights rounded/model.safetensors --precision bfloat16
finish
