#!/usr/bin/env bash
# Runs deploy/slurm/starling.sbatch by a Slurm of its own on this machine: four tasks that train to
# a goal, and four that the time limit tells to take leave. Needs root and the package slurm-wlm of
# Debian; takes about two minutes. All daemons that it starts end with it.
#   tests/acceptance/slurm.sh PROGRAM
set -euo pipefail

program=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
for tool in munged slurmctld slurmd sbatch; do
  command -v $tool >/dev/null || { echo "slurm.sh: needs $tool (slurm-wlm)" >&2; exit 2; }
done
[[ $(id -u) == 0 ]] || { echo "slurm.sh: needs root" >&2; exit 2; }

folder=$(mktemp -d)
daemons=()
finish() {
  for process in "${daemons[@]}"; do kill "$process" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap finish EXIT
chmod 755 "$folder"
mkdir "$folder"/{state,spool,job}
fail() {
  echo "FAIL: $*" >&2
  tail -n 20 "$folder"/*.log "$folder"/job/*.out >&2
  exit 1
}
eventually() { # SECONDS COMMAND ...
  local deadline=$((SECONDS + $1))
  until "${@:2}" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "never true: ${*:2}"
    sleep 0.2
  done
}
free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("", 0)); print(s.getsockname()[1])'
}

cat >"$folder/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$(hostname -s)(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket=$folder/munge
CryptoType=crypto/munge
SlurmUser=root
SlurmctldPort=$(free_port)
SlurmdPort=$(free_port)
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
OverTimeLimit=0
KillWait=10
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 CoresPerSocket=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
SlurmdParameters=config_overrides
CONF
export SLURM_CONF=$folder/slurm.conf
head -c 1024 /dev/urandom >"$folder/key"
chmod 400 "$folder/key"
munged --foreground --force --socket="$folder/munge" --key-file="$folder/key" \
  --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
  --seed-file="$folder/seed" &
daemons+=($!)
eventually 30 test -S "$folder/munge"
slurmctld -D &
daemons+=($!)
slurmd -D -N localhost &
daemons+=($!)
eventually 60 sinfo -h -t idle -o %n
eventually 60 bash -c 'sinfo -h -o %T | grep -qx idle'
sinfo

submit() { # NAME LIMIT SIGNAL ARGUMENTS ...
  STARLING=$program STARLING_STATE=$folder/job/$1 STARLING_PORT=$(free_port) sbatch --parsable \
    --cpus-per-task=1 --time="$2" --signal="$3" --chdir="$folder/job" \
    --output="$folder/job/$1.out" "$root/deploy/slurm/starling.sbatch" \
    --cluster.preset=local --data.samples=2000 "${@:4}"
}
has_ended() { ! scontrol show job "$1" | grep -Eq 'JobState=(PENDING|RUNNING|COMPLETING)'; }

job=$(submit goal 5 TERM@60 --stop.rounds=200)
eventually 240 has_ended "$job"
scontrol show job "$job" | grep -E 'JobState|RunTime'
scontrol show job "$job" | grep -q 'JobState=COMPLETED ' || fail "job $job did not complete"
[[ $(grep -c 'control' "$folder/job/goal.out") -ge 4 ]] || fail "not four nodes"
[[ -s $folder/job/goal/model.safetensors ]] || fail "no model"
grep -hE 'goal|finished|members|joined' "$folder/job/goal.out" | head -n 12

# A limit of a minute; the signal comes 50 s before it, for Slurm looks at its jobs now and then.
job=$(submit leave 1 TERM@50 --stop.rounds=1000000000)
eventually 180 has_ended "$job"
scontrol show job "$job" | grep -E 'JobState|RunTime'
scontrol show job "$job" | grep -q 'JobState=COMPLETED ' || fail "the nodes did not take leave"
[[ -s $folder/job/leave/model.safetensors ]] || fail "no model"
echo "four tasks reached their goal, and four took leave before the limit of their job"
