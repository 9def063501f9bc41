#!/usr/bin/env bash
# The job script of docs/cluster.md in a Slurm of two nodes, both of them this machine: it runs, is
# told to stop, goes into the queue again and goes on, with the bytes of one process.
# Usage: slurm_test.sh PATH/TO/vitruvian docs/cluster.md
# As root, with slurmctld, slurmd and munged: apt install slurm-wlm munge.
page=$(realpath "$2")
# shellcheck source=tests/program.sh
source "$(dirname "$0")/../program.sh" "$1"
skip_unless_slow
[ "$(id -u)" -eq 0 ] || skip "only root may start Slurm's daemons"
for program in slurmctld slurmd munged srun; do
  command -v $program >/dev/null || skip "there is no $program: apt install slurm-wlm munge"
done

export SLURM_CONF=$folder/slurm.conf SCRATCH=$folder PATH=$folder/bin:$PATH
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
host=$(hostname -s) port=${SLURM_PORT-26817}
mkdir bin munge state spool-node1 spool-node2 tmp-node1 tmp-node2
ln -s "$vitruvian" bin/vitruvian
head -c 1024 /dev/urandom >munge/key
chmod 600 munge/key
cat >slurm.conf <<END
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthInfo=socket=$folder/munge/socket
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool-%n
TmpFS=$folder/tmp-%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd-%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd-%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
SchedulerParameters=sched_interval=2
NodeName=node[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 2))] CPUs=$(nproc)
PartitionName=main Nodes=ALL Default=YES State=UP
END
# shellcheck disable=SC2317 # the trap calls it
stop() {
  scancel --state=running,pending --user=root 2>/dev/null
  for pid in slurmd-node1.pid slurmd-node2.pid slurmctld.pid munge/pid; do
    [ -s "$pid" ] && kill "$(cat "$pid")"
  done
  sleep 2
}
trap 'stop; rm -rf "$folder"' EXIT
munged --force --socket="$folder/munge/socket" --key-file="$folder/munge/key" --pid-file="$folder/munge/pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" 2>out || skip "no munged here: $(cat out)"
slurmctld -f slurm.conf 2>out || skip "no slurmctld here: $(cat out)"
for node in node1 node2; do slurmd -f slurm.conf -N $node 2>out || skip "no two slurmd here: $(cat out)"; done
srun -N 2 -n 2 --mpi=pmix true 2>out || skip "this Slurm has no PMIx: $(cat out)"

# The page's script, in other sizes and on the drawn digits.
# shellcheck disable=SC2016
sed -n '/^#!\/bin\/bash$/,/^```$/p' "$page" | sed 's/^```$//
  s/--nodes=8/--nodes=2/; s/--cpus-per-task=32/--cpus-per-task=1/; s/--time=08:00:00/--time=00:10:00/
  s/--recipe cifar10 --data "$SCRATCH\/cifar"/--train-size 200 --epochs 12 --log-every 1/' >job.sh
[ "$(grep -c '^#SBATCH' job.sh)" -ge 6 ] || fail "docs/cluster.md has no job script: $(cat job.sh)"
check "the sizes are replaced" grep -q 'nodes=2' job.sh
check "the data are replaced" grep -q 'train-size 200' job.sh
job=$(sbatch --parsable --output=said job.sh) || fail "sbatch"
wait_for() { # wait_for SECONDS COMMAND...
  for ((i = 0; i < 5 * $1; ++i)); do
    "${@:2}" >/dev/null 2>&1 && return
    sleep 0.2
  done
  fail "nothing came of ${*:2}: $(squeue) $(cat said slurmctld.log)"
}
wait_for 60 test -s runs/cifar/metrics.jsonl
scancel --signal=TERM "$job" # as --signal does when the time is nearly up
wait_for 60 grep -q 'to go on: vitruvian train --resume' said
cp said first
wait_for 60 sh -c "scontrol show job $job | grep -q Restarts=1"
scontrol release "$job" 2>/dev/null
scontrol update JobId="$job" StartTime=now 2>/dev/null # a requeued job waits two minutes
wait_for 300 sh -c "scontrol show job $job | grep -qE 'JobState=(COMPLETED|FAILED|CANCELLED)'"
check "it is completed" sh -c "scontrol show job $job | grep -q JobState=COMPLETED"
cat first said >all
has all 'stopped after step' '^ranks +2' 'test accuracy'
"$vitruvian" train --train-size 200 --epochs 12 --log-every 1 --out alone >out 2>&1 || fail "$(cat out)"
same runs/cifar/model.safetensors alone/model.safetensors
same runs/cifar/metrics.jsonl alone/metrics.jsonl
cat all
finish
