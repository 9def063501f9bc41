#!/usr/bin/env bash
# Runs that are killed, stopped, or let down by the system. Usage: resume_test.sh PATH/TO/vitruvian PART
#   killed KILLS  killed again and again, at any moment, and resumed with other threads, a run leaves
#                 the same bytes as one that nobody disturbs
#   faults EVERY  killed at system calls that touch its directory, or where these fail: no checkpoint
#                 is lost, no error swallowed, nothing half-done left. Every so many calls are tried
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
RANDOM=${SEED:-1}
written=(model.safetensors metrics.jsonl checkpoints/last.safetensors checkpoints/best.safetensors)

same_run() { # same_run FOLDER UNDISTURBED WHAT FILE...
  for file in "${@:4}"; do cmp "$1/$file" "$2/$file" || fail "$3: $file is not the undisturbed run's"; done
}
until_under_way() { # the run in `asked`, as $pid
  until [ -s asked/metrics.jsonl ] || ! kill -0 "$pid" 2>/dev/null; do sleep 0.01; done
}

killed() {
  local wanted=$1
  [ "$wanted" -lt 100 ] || skip_unless_slow
  settings=(--train-size 200 --test-size 40 --val-fraction 0.1 --epochs 3 --batch-size 16 --width 32
    --depth 2 --heads 2 --dropout 0.1 --stochastic-depth 0.1 --ema 0.9 --patience 3 --warmup 0.3
    --log-every 1 --save-every 2)
  same_as_undisturbed() { # same_as_undisturbed WHAT
    same_run run calm "$1" "${written[@]}" checkpoints/epoch-0002.safetensors
    diff <(cd run && find . | sort) <(cd calm && find . | sort) || fail "$1: other files"
  }
  step_of() { sed -n 's/.*goes on after step \([0-9]*\).*/\1/p' "$1"; }
  "$vitruvian" train "${settings[@]}" --checkpoint-every 2 --out calm >out 2>&1 || fail "$(cat out)"

  # Asked to stop: the step is finished, saved, and the way on is told.
  for signal in INT TERM HUP; do
    "$vitruvian" train "${settings[@]}" --checkpoint-every 1000 --out asked >out 2>err &
    pid=$!
    until_under_way
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
    works 'is finished' train --resume asked --checkpoint-every 2
    same_run asked calm "after $signal" model.safetensors metrics.jsonl checkpoints/best.safetensors
    rm -rf asked
  done

  # Under nohup, which has SIGHUP ignored, a run outlives its terminal.
  nohup "$vitruvian" train "${settings[@]}" --out asked >out 2>err &
  pid=$!
  until_under_way
  kill -HUP $pid 2>/dev/null
  wait $pid || fail "nohup: $(cat err)"
  same_run asked calm nohup model.safetensors
  rm -rf asked

  # Asked twice, within a step that takes long: it leaves at once. Not once only: a signal that comes
  # in the middle of a product may do harm.
  for _ in 1 2 3; do
    "$vitruvian" train --train-size 1024 --test-size 10 --batch-size 512 --width 128 --depth 4 \
      --epochs 100 --log-every 1 --out asked >out 2>err &
    pid=$!
    until_under_way
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
    same_as_undisturbed "run $runs, $kills kills"
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
      same_as_undisturbed "line $line"
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
      same_run run files "pictures, killed at line $line" model.safetensors metrics.jsonl
    done
    killed_at 6 "${files[@]}"
    cp pictures/pale/1.ppm pictures/dark/1.ppm
    expect 4 'the data are not those of the run' train --resume run
  else
    left_out="runs killed at a named moment, and pictures: strace does not work here"
  fi

  # Damaged: the one before is used, and both are named.
  for byte in 20 2000 30000; do
    rm -rf run
    cp -r calm run
    printf '\377\376' | dd of=run/checkpoints/last.safetensors bs=1 seek=$byte conv=notrunc 2>/dev/null
    works 'last.safetensors: .*going on from .*last.previous.safetensors' train --resume run
    same_run run calm "damage at $byte" "${written[@]}" checkpoints/epoch-0002.safetensors
  done
  head -c 1000 calm/checkpoints/last.safetensors >run/checkpoints/last.safetensors
  cp run/checkpoints/last.safetensors run/checkpoints/last.previous.safetensors
  expect 4 . train --resume run

  # Other settings than the checkpoint's, and two trainers.
  rm -rf run && cp -r calm run
  sed -i 's/"label_smoothing": 0.0/"label_smoothing": 0.1/' run/config.json
  expect 4 "'label_smoothing' is 0.1, not 0.0" train --resume run
  "$vitruvian" train "${settings[@]}" --epochs 1000 --patience 0 --out busy >out 2>err &
  pid=$!
  until [ -s busy/metrics.jsonl ]; do sleep 0.01; done
  for how in "--resume busy" "--out busy --overwrite"; do
    # shellcheck disable=SC2086 # words
    "$vitruvian" train $how >out2 2>err
    { [ $? -eq 1 ] && grep -q 'another trainer' err; } || fail "two trainers: $(cat out2 err)"
  done
  [ -s busy/metrics.jsonl ] || fail "the second trainer spoiled the first one's files"
  mv busy gone # deleted while it runs; at once, as rm would race with what is being written
  rm -rf gone
  wait $pid
  code=$?
  [ $code -eq 1 ] || fail "a deleted directory gives $code"

  [ $failures -eq 0 ] || exit 1
  echo "$kills kills in $runs runs ($within resumed within an epoch, $fresh before the first checkpoint): the same bytes"
  [ -z "${left_out-}" ] || skip "$left_out"
}

faults() {
  local every=$1
  [ "$every" -gt 1 ] || skip_unless_slow
  strace -o /dev/null true 2>/dev/null || skip "strace does not work here"
  settings=(--train-size 40 --test-size 20 --epochs 2 --width 16 --depth 1 --heads 2 --batch-size 16
    --log-every 1 --checkpoint-every 2 --threads 1)
  export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # it cannot look under strace
  calls=openat,write,pwrite64,fsync,close,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,mkdirat,ftruncate,flock

  "$vitruvian" train "${settings[@]}" --out calm >out 2>&1 || fail "$(cat out)"

  # Which calls touch the directory: the name of each, and its number among those of that name.
  strace -f -y -o trace -e trace=$calls "$vitruvian" train "${settings[@]}" --out "$folder/run" \
    >out 2>&1 || fail "$(cat out)"
  awk -v folder="$folder/run" '{
      call = $2; sub(/\(.*/, "", call)
      if (call !~ /^[a-z0-9]+$/) next
      n[call]++
      if (index($0, folder)) print call, n[call]
    }' trace >touching
  [ "$(wc -l <touching)" -gt 40 ] || fail "only $(wc -l <touching) calls touch the directory"

  go_on() { # after what was done to a run: it can always go on, or begin
    if [ -e run/config.json ]; then
      "$vitruvian" train --resume run >out 2>err || fail "$1: cannot go on: $(cat err)"
    else
      rm -rf run
      "$vitruvian" train "${settings[@]}" --out run >out 2>err || fail "$1: cannot begin: $(cat err)"
    fi
    same_run run calm "$1" "${written[@]}"
    [ -z "$(find run -name '*.tmp')" ] || fail "$1: leftovers: $(find run -name '*.tmp')"
  }

  # A file system that knows no locks is used without; one that fails is not.
  for error in ENOLCK EOPNOTSUPP ENOSYS; do
    strace -f -o /dev/null -e trace=flock -e inject=flock:error=$error \
      "$vitruvian" train "${settings[@]}" --out unlocked >out 2>err || fail "$error: $(cat err)"
    same_run unlocked calm "$error" model.safetensors
    rm -r unlocked
  done
  strace -f -o /dev/null -e trace=flock -e inject=flock:error=EIO \
    "$vitruvian" train "${settings[@]}" --out unlocked >out 2>err && fail "trained without its lock"
  grep -q 'unlocked: cannot be locked: Input/output error' err || fail "$(cat err)"
  [ ! -e unlocked ] || fail "left: $(find unlocked)"

  # A path at fault is the user's, 3; a disk that fails or a full table of files is the machine's, 1.
  for what in 'config.json EACCES 3' 'config.json EIO 1' 'config.json EMFILE 1' 'checkpoints EACCES 3' \
    'checkpoints EIO 1' 'config.json EINTR:when=1 0'; do
    read -r file error expected <<<"$what"
    strace -f -o /dev/null -P "$folder/calm/$file" -e trace=openat -e inject=openat:error="$error" \
      "$vitruvian" report "$folder/calm" >out 2>err
    code=$?
    [ $code -eq "$expected" ] || fail "$what: exit $code: $(cat err)"
  done

  tried=0 index=0 swallowed=0
  while read -r call n; do
    index=$((index + 1))
    [ $(((index + 3) % every)) -eq 0 ] || continue
    for what in signal=KILL error=ENOSPC error=EIO error=EINTR; do
      rm -rf run
      strace -f -o /dev/null -e trace=$call -e "inject=$call:$what:when=$n" \
        "$vitruvian" train "${settings[@]}" --out "$folder/run" >out 2>err
      code=$?
      name="$call $n $what"
      tried=$((tried + 1))
      case $what in
      signal=KILL) [ $code -eq 137 ] || fail "$name: exit $code" ;;
      *)
        if [ $code -eq 0 ]; then
          swallowed=$((swallowed + 1)) # allowed where it was tried again, or there is a way round it
          [ -z "${VERBOSE-}" ] || echo "met: $name"
          cmp -s run/model.safetensors calm/model.safetensors || fail "$name: swallowed"
        else
          [ $code -eq 1 ] || [ $code -eq 4 ] || fail "$name: exit $code: $(cat err)"
          grep -q "$folder/run" err || fail "$name: the path is not named: $(cat err)"
          [ -z "$(find run -name '*.tmp' 2>/dev/null)" ] || fail "$name: leftovers: $(find run)"
        fi
        ;;
      esac
      [ -d run ] || continue
      go_on "$name"
    done
  done <touching
  echo "$tried faults at $(wc -l <touching) calls ($swallowed met by another try): no checkpoint lost, no leftovers"
}

"$2" "$3"
