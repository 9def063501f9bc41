#!/usr/bin/env bash
# Runs on several processes, as mpirun starts them. Usage: mpi_test.sh PATH/TO/vitruvian PART MPIRUN
#   bytes        every number of ranks and threads leaves the bytes of one process, also where fewer
#                ranks go on than began; and what ends one rank ends all, with one sentence
#   optimizers   the same of each optimizer, on 2, 3, 4 and 8 ranks of 1 and 2 threads
#   killed KILLS ranks that are killed at random, and runs that go on with as many as it likes
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
part=$2 mpirun=$3 kills=${4-0}
RANDOM=${SEED:-1}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 # a test's machine may be a container
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export OMPI_MCA_btl_vader_single_copy_mechanism=none PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
settings=(--train-size 80 --test-size 30 --val-fraction 0.1 --epochs 3 --batch-size 16 --accumulate 2 --width 16
  --depth 2 --heads 2 --dropout 0.1 --stochastic-depth 0.1 --mixup 0.2 --ema 0.9 --patience 3 --warmup 0.3
  --micro-batch 3 --log-every 1 --checkpoint-every 2)
written=(config.json model.safetensors metrics.jsonl checkpoints/last.safetensors checkpoints/best.safetensors)

ranks() { # ranks N ARGUMENT...: of `vitruvian train`; what it says is in out and err
  timeout 120 "$mpirun" -n "$1" "$vitruvian" train "${@:2}" >out 2>err </dev/null
}
same_run() { # same_run FOLDER WHAT
  for file in "${written[@]}"; do cmp "$1/$file" "alone/$file" || fail "$2: $file is not one process's: $(cat out err)"; done
}
# One line of the program's own on standard error; the launcher adds some.
says() { # says WHAT PATTERN
  checks=$((checks + 1))
  { [ "$(grep -c '^vitruvian: ' err)" -eq 1 ] && grep -qE "^vitruvian: $2" err; } || wrong "$1: expected one line: $2"
}

ranks 2 --epochs 0 2>/dev/null
grep -q "no available slots\|not enough slots" err && skip "mpirun gives no two processes here: $(cat err)"
"$vitruvian" train "${settings[@]}" --out alone >out 2>&1 || fail "$(cat out)"

every_number_of_ranks() {
  for n in 2 3 4 8; do
    for threads in 1 2; do
      ranks "$n" "${settings[@]}" --threads "$threads" --out run || fail "$n ranks: $(cat out err)"
      checks=$((checks + 1))
      same_run run "$n ranks of $threads threads"
      check "$n ranks speak once" [ "$(grep -c 'test accuracy' out)" -eq 1 ]
      check "$n ranks are told of" grep -q "^ranks    $n" out
      rm -r run
    done
  done
}

optimizers() {
  skip_unless_slow
  local common=("${settings[@]}") optimizer threads
  for optimizer in adamw adam sgd muon; do
    settings=("${common[@]}" --optimizer "$optimizer")
    rm -r alone
    "$vitruvian" train "${settings[@]}" --threads 1 --out alone >out 2>&1 || fail "$(cat out)"
    "$vitruvian" train "${settings[@]}" --threads 2 --out run >out 2>&1 || fail "$(cat out)"
    same_run run "$optimizer, 2 threads"
    rm -r run
    every_number_of_ranks
    for threads in 1 2; do
      "$vitruvian" train "${settings[@]}" --epochs 2 --out prolonged >out 2>&1 || fail "$(cat out)"
      "$vitruvian" train --resume prolonged --epochs 3 >out 2>&1 || fail "$(cat out)"
      ranks 4 "${settings[@]}" --epochs 2 --threads $threads --out run || fail "$(cat out err)"
      ranks 3 --resume run --epochs 3 --threads $threads || fail "$(cat out err)"
      for file in "${written[@]}"; do same "run/$file" "prolonged/$file"; done
      rm -r run prolonged
    done
    echo "$optimizer: the same bytes"
  done
  finish
}

bytes() {
  every_number_of_ranks
  # Double precision is a program of its own, in which each goes on before there is MPI.
  "$vitruvian" train "${settings[@]}" --epochs 1 --precision double --out one >out 2>&1 || fail "$(cat out)"
  ranks 3 "${settings[@]}" --epochs 1 --precision double --out three || fail "double: $(cat out err)"
  same one/model.safetensors three/model.safetensors

  # Asked to stop, whichever rank is asked, all stop after the same step; three go on for four.
  for signal in TERM INT; do
    timeout 120 "$mpirun" -n 4 "$vitruvian" train "${settings[@]}" --epochs 200 --patience 0 --out run >out 2>err </dev/null &
    pid=$!
    until [ -s run/metrics.jsonl ] || ! kill -0 $pid 2>/dev/null; do sleep 0.02; done
    kill -$signal "$(rank_of 2)"
    wait $pid
    code=$?
    check "$signal gives $code" [ $code -eq $((128 + $(kill -l $signal))) ]
    says "$signal" 'stopped after step [0-9]+ of [0-9]+; to go on: vitruvian train --resume run'
    rm -r run
  done
  ranks 4 "${settings[@]}" --epochs 2 --out run || fail "$(cat out err)"
  ranks 3 --resume run --epochs 3 || fail "$(cat out err)"
  "$vitruvian" train "${settings[@]}" --epochs 2 --out prolonged >out 2>&1
  "$vitruvian" train --resume prolonged --epochs 3 >out 2>&1 || fail "$(cat out)"
  for file in "${written[@]}"; do same "run/$file" "prolonged/$file"; done
  ranks 2 --resume run || fail "$(cat out err)"
  has out 'the run in run is finished'
  rm -r run

  # A rank that is killed ends all, and three go on for four.
  for _ in 1 2 3 4 5; do # a run may be over before its rank is found
    rm -rf run
    timeout 120 "$mpirun" -n 4 "$vitruvian" train "${settings[@]}" --out run >out 2>err </dev/null &
    pid=$! victim=
    until [ -s run/checkpoints/last.safetensors ] || ! kill -0 $pid 2>/dev/null; do
      victim=${victim:-$(rank_of 3)}
      sleep 0.02
    done
    victim=${victim:-$(rank_of 3)}
    [ -z "$victim" ] || kill -KILL "$victim" 2>/dev/null
    wait $pid
    code=$?
    [ $code -eq 0 ] || break
  done
  check "a killed rank gives $code" [ $code -ne 0 ]
  cat out >>err # where MPICH says it
  has err "[rR][aA][nN][kK] 3 |PID [0-9]+ RUNNING AT $(uname -n)" # MPICH knows the machine only
  ranks 3 --resume run || fail "$(cat out err)"
  same_run run "killed, and resumed by fewer"

  # What one rank alone cannot do is said with its name; what none can, once.
  ranks 9 "${settings[@]}" --out none
  code=$?
  check "more ranks than lanes give $code" [ $code -eq 2 ]
  says "more ranks than lanes" '9 ranks, but the sum of a step has 8 lanes: lanes 9 or more'
  ranks 2 --resume nowhere
  has err '^vitruvian: nowhere: there is no such folder' # MPICH lets others say so, too
  for i in 1 2 3 4; do
    mkdir -p pictures/dark pictures/pale
    ppm "pictures/dark/$i.ppm" $((20 + i)) 20 30 40
    ppm "pictures/pale/$i.ppm" $((20 + i)) 220 210 200
  done
  cp -r pictures others
  ppm others/pale/1.ppm 21 200 210 220
  files=(train --dataset folder --image-size 28 --patch-size 7 --width 16 --depth 1 --heads 2 --lanes 2 --out none)
  timeout 120 "$mpirun" -n 1 "$vitruvian" "${files[@]}" --data pictures : -n 1 "$vitruvian" "${files[@]}" --data others \
    >out 2>err </dev/null
  says "other data" "rank 1 of 2 on .* is not as rank 0 of 2 on .*: its 'data_checksum' is .*; all ranks must"
  timeout 120 "$mpirun" -n 1 "$vitruvian" "${files[@]}" --data pictures : -n 1 "$vitruvian" "${files[@]}" --data nowhere \
    >out 2>err </dev/null
  says "no data" "rank 1: nowhere: there is no such directory"
  checks=$((checks + 1))
  [ ! -e none ] || wrong "a run that was refused left a folder"
  finish
}

# The process of a rank: it knows its own number.
rank_of() {
  local process
  for process in $(pgrep -x vitruvian); do
    if { tr '\0' '\n' <"/proc/$process/environ"; } 2>/dev/null | grep -qxE "(OMPI_COMM_WORLD|PMI)_RANK=$1" &&
      [ "$(readlink "/proc/$process/cwd")" = "$folder" ]; then
      echo "$process"
      return
    fi
  done
}

killed() {
  skip_unless_slow
  local done=0 finished=0 tries=0 how n
  rm -rf run
  how=("${settings[@]}" --out run)
  while [ $done -lt "$kills" ]; do
    n=$((RANDOM % 4 + 2))
    timeout 120 "$mpirun" -n $n "$vitruvian" train "${how[@]}" >out 2>err </dev/null &
    pid=$!
    sleep "$((tries / 8)).$((RANDOM % 900 + 100))"
    tries=$((tries + 1))
    victim=$(rank_of $((RANDOM % n)))
    if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then done=$((done + 1)); fi
    wait $pid
    code=$?
    if [ $code -eq 0 ]; then
      same_run run "after $done kills"
      finished=$((finished + 1)) tries=0
      rm -rf run
    elif [ $code -ne 137 ] && [ $code -ne 9 ]; then # MPICH: the signal's number
      fail "$n ranks ended with $code after $done kills: $(cat out err)"
    fi
    if [ -e run/config.json ]; then how=(--resume run); else rm -rf run && how=("${settings[@]}" --out run); fi
  done
  ranks 3 "${how[@]}" || fail "$(cat out err)"
  same_run run "at the end"
  echo "$done ranks killed in $((finished + 1)) runs: the same bytes"
}

"$part"
