#!/usr/bin/env bash
# A run that is killed, again and again, at any moment, and resumed with other threads, leaves the
# same bytes as one that nobody disturbs. Usage: resume_test.sh PATH/TO/vitruvian [KILLS]
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
wanted=${2:-3}
[ "$wanted" -lt 100 ] || skip_unless_slow
RANDOM=${SEED:-1}
settings=(--train-size 200 --test-size 40 --val-fraction 0.1 --epochs 3 --batch-size 16 --width 32
  --depth 2 --heads 2 --dropout 0.1 --stochastic-depth 0.1 --ema 0.9 --patience 3 --warmup 0.3
  --log-every 1 --save-every 2)
kept=(model.safetensors metrics.jsonl checkpoints/last.safetensors checkpoints/best.safetensors
  checkpoints/epoch-0002.safetensors)

same_as_undisturbed() {
  for file in "${kept[@]}"; do
    cmp "$1/$file" "calm/$file" || fail "$1/$file is not that of the undisturbed run ($2)"
  done
  diff <(cd "$1" && find . | sort) <(cd calm && find . | sort) || fail "other files in $1"
}
step_of() { sed -n 's/.*goes on after step \([0-9]*\).*/\1/p' "$1"; }

"$vitruvian" train "${settings[@]}" --checkpoint-every 2 --out calm >out 2>&1 || fail "$(cat out)"

# Asked to stop: the step is finished, saved, and the way on is told.
for signal in INT TERM HUP; do
  "$vitruvian" train "${settings[@]}" --checkpoint-every 1000 --out asked >out 2>err &
  pid=$!
  until [ -s asked/metrics.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  # Only a run that was still under way can be stopped.
  if kill -$signal $pid 2>/dev/null; then
    wait $pid
    code=$?
    [ $code -eq $((128 + $(kill -l $signal))) ] || fail "$signal gives $code: $(cat err)"
    grep -q 'vitruvian train --resume asked' err || fail "no way on: $(cat err)"
  else
    wait $pid
  fi
  "$vitruvian" train --resume asked >out 2>err || fail "$(cat err)"
  "$vitruvian" train --resume asked --checkpoint-every 2 >out 2>err || fail "$(cat err)"
  grep -q 'is finished' out || fail "a finished run says so"
  for file in model.safetensors metrics.jsonl checkpoints/best.safetensors; do
    cmp asked/$file calm/$file || fail "$file after $signal"
  done
  rm -rf asked
done

# Under nohup, which has SIGHUP ignored, a run outlives its terminal.
nohup "$vitruvian" train "${settings[@]}" --out asked >out 2>err &
pid=$!
until [ -s asked/metrics.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
kill -HUP $pid 2>/dev/null
wait $pid || fail "nohup: $(cat err)"
cmp asked/model.safetensors calm/model.safetensors || fail "nohup: another model"
rm -rf asked

# Asked twice, within a step that takes long: it leaves at once. Not once only: a signal that comes
# in the middle of a product may do harm.
for time in 1 2 3; do
  "$vitruvian" train --train-size 1024 --test-size 10 --batch-size 512 --width 128 --depth 4 \
    --epochs 100 --log-every 1 --out asked >out 2>err &
  pid=$!
  until [ -s asked/metrics.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
  kill -INT $pid && sleep 0.05 && kill -TERM $pid
  wait $pid
  code=$?
  # Of two signals that wait for a process that was not running, either may come first.
  [ $code -eq 143 ] || [ $code -eq 130 ] || fail "two signals give $code: $(cat err)"
  ! grep -q resume err || fail "the second signal was waited for: $(cat err)"
  rm -rf asked
done

# Killed.
kills=0 within=0 fresh=0 runs=0
while [ "$kills" -lt "$wanted" ]; do
  runs=$((runs + 1))
  rm -rf run
  how=("${settings[@]}" --checkpoint-every 2 --out run)
  tries=0
  while true; do
    threads=$((1 << (RANDOM % 3)))
    "$vitruvian" train "${how[@]}" --threads $threads >out 2>err &
    pid=$!
    sleep "$((tries / 10)).$(printf '%03d' $((RANDOM % 450 + 30)))" # longer on a busy machine
    tries=$((tries + 1))
    if kill -KILL $pid 2>/dev/null; then kills=$((kills + 1)); fi
    wait $pid 2>/dev/null
    code=$?
    step=$(step_of out)
    if [ "${step:-0}" -eq 0 ]; then fresh=$((fresh + 1)); elif [ $((step % 12)) -ne 0 ]; then within=$((within + 1)); fi
    [ $code -eq 0 ] && break
    [ $code -eq 137 ] || fail "a run ended with $code: $(cat err)"
    if [ -e run/config.json ]; then how=(--resume run); else rm -rf run; fi
  done
  same_as_undisturbed run "run $runs, $kills kills"
done

# Killed at a named moment: at the line of a step, which is after the step and before its checkpoint.
killed_at() { # killed_at LINE SETTING...: of metrics.jsonl
  rm -rf run
  mkdir run
  strace -f -o trace -P "$folder/run/metrics.jsonl" -e trace=write \
    -e inject=write:signal=KILL:when="$1" "$vitruvian" train "${@:2}" --checkpoint-every 2 \
    --out "$folder/run" >out 2>err &
  wait $! 2>/dev/null # and nothing is printed of a killed job
  [ $? -eq 137 ] || fail "not killed at line $1: $(cat err)"
  kills=$((kills + 1))
}
if command -v strace >/dev/null && strace -o trace -e trace=write true 2>/dev/null; then
  for line in 1 2 12 13 14 24 25 38; do # the first and last of an epoch, in the warm-up, the test
    killed_at "$line" "${settings[@]}"
    "$vitruvian" train --resume run --threads $((line % 4 + 1)) >out 2>err || fail "$(cat err)"
    same_as_undisturbed run "line $line"
  done

  # Pictures in files, decoded ahead by threads. Another picture under an old name is refused.
  mkdir -p pictures/dark pictures/pale
  for i in {1..8}; do
    ppm "pictures/dark/$i.ppm" $((20 + i)) 20 30 40
    cp "pictures/dark/$i.ppm" "pictures/pale/$((9 - i)).ppm"
  done
  files=(--dataset folder --data pictures --image-size 28 --patch-size 7 --width 16 --depth 1 --heads 2
    --epochs 4 --batch-size 4 --crop-padding 2 --flip 0.5 --log-every 1)
  "$vitruvian" train "${files[@]}" --out files >out 2>&1 || fail "$(cat out)"
  for line in 2 6 11; do
    killed_at "$line" "${files[@]}"
    "$vitruvian" train --resume run --threads $((line % 4 + 1)) >out 2>err || fail "$(cat err)"
    for file in model.safetensors metrics.jsonl; do
      cmp "run/$file" "files/$file" || fail "$file of a run on pictures, killed at line $line"
    done
  done
  killed_at 6 "${files[@]}"
  cp pictures/pale/1.ppm pictures/dark/1.ppm
  "$vitruvian" train --resume run >out 2>err
  { [ $? -eq 4 ] && grep -q 'the data are not those of the run' err; } || fail "changed pictures: $(cat err)"
else
  left_out="runs killed at a named moment, and pictures: strace does not work here"
fi

# Damaged: the one before is used, and both are named.
for byte in 20 2000 30000; do
  rm -rf run
  cp -r calm run
  printf '\377\376' | dd of=run/checkpoints/last.safetensors bs=1 seek=$byte conv=notrunc 2>/dev/null
  "$vitruvian" train --resume run >out 2>err || fail "$(cat err)"
  grep -q 'last.safetensors: .*going on from .*last.previous.safetensors' out || fail "damage at $byte is not said: $(cat out)"
  for file in "${kept[@]}"; do cmp run/$file calm/$file || fail "$file after damage at $byte"; done
done
head -c 1000 calm/checkpoints/last.safetensors >run/checkpoints/last.safetensors
cp run/checkpoints/last.safetensors run/checkpoints/last.previous.safetensors
"$vitruvian" train --resume run >out 2>err
[ $? -eq 4 ] || fail "two damaged checkpoints: $(cat out err)"
[ "$(wc -l <err)" -eq 1 ] || fail "not one line: $(cat err)"

# Another run's settings, and two trainers.
"$vitruvian" train --resume calm --lr 0.1 >out 2>err
{ [ $? -eq 2 ] && grep -q -- '--lr 0.1 contradicts' err; } || fail "another lr: $(cat err)"
rm -rf run && cp -r calm run
sed -i 's/"label_smoothing": 0.0/"label_smoothing": 0.1/' run/config.json
"$vitruvian" train --resume run >out 2>err
{ [ $? -eq 4 ] && grep -q "'label_smoothing' is 0.1, not 0.0" err; } || fail "a changed config: $(cat err)"
"$vitruvian" train "${settings[@]}" --epochs 1000 --patience 0 --out busy >out 2>err &
pid=$!
until [ -s busy/metrics.jsonl ]; do sleep 0.01; done
"$vitruvian" train --resume busy >out2 2>err
{ [ $? -eq 1 ] && grep -q 'another trainer' err; } || fail "two trainers: $(cat out2 err)"
"$vitruvian" train "${settings[@]}" --out busy --overwrite >out2 2>err
{ [ $? -eq 1 ] && grep -q 'another trainer' err; } || fail "two trainers: $(cat out2 err)"
[ -s busy/metrics.jsonl ] || fail "the second trainer spoiled the first one's files"
mv busy gone # deleted while it runs; at once, as rm would race with what is being written
rm -rf gone
wait $pid
code=$?
[ $code -eq 1 ] || fail "a deleted directory gives $code"

echo "$kills kills in $runs runs ($within resumed within an epoch, $fresh before the first checkpoint): the same bytes"
[ -z "${left_out-}" ] || skip "$left_out"
