#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# slurm.sh PEER: placement decisions a second, slurmctld's beside ours, on the
# same queue: 100 nodes of 8 cards, 5,000 jobs of one card, all free cards are
# given away.  The nodes are CLOUD nodes without a slurmd, so only decisions
# count.  PEER is the built bench/slurm_peer.  Prints the ratio and PASS or
# FAIL (100x); `skipped` where Slurm is not installed.
set -u
peer=$1
if ! command -v slurmctld >/dev/null || ! command -v munged >/dev/null; then
    echo "slurm: skipped, slurmctld and munged are not installed (packages slurm-wlm, munge)"
    exit 0
fi
dir=$(mktemp -d /tmp/bench-slurm.XXXXXX)
pids=()
cleanup() {
    [ ${#pids[@]} = 0 ] || kill "${pids[@]}" 2>/dev/null
    wait 2>/dev/null
    rm -rf "$dir"
}
trap cleanup EXIT
port=${BENCH_SLURM_PORT:-26817}
mkdir -p "$dir/munge" "$dir/state"
chown -R munge: "$dir/munge"
chmod 755 "$dir"
head -c 1024 /dev/urandom >"$dir/munge/key"
chown munge: "$dir/munge/key"
chmod 400 "$dir/munge/key"
runuser -u munge -- /usr/sbin/munged --foreground --key-file "$dir/munge/key" \
    --socket "$dir/munge/socket" --pid-file "$dir/munge/pid" \
    --log-file "$dir/munge/log" --seed-file "$dir/munge/seed" >"$dir/munge.out" 2>&1 &
pids+=($!)
cat >"$dir/slurm.conf" <<CONF
ClusterName=bench
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/state
SlurmctldPidFile=$dir/slurmctld.pid
SlurmctldLogFile=$dir/slurmctld.log
SwitchType=switch/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
ReturnToService=2
MaxJobCount=20000
MaxArraySize=2000
SuspendProgram=/bin/true
ResumeProgram=/bin/true
SuspendTime=INFINITE
ResumeTimeout=3600
NodeName=c[1-100] CPUs=64 RealMemory=1000000 Gres=gpu:8 State=CLOUD
PartitionName=p Nodes=c[1-100] Default=YES MaxTime=INFINITE State=DOWN
CONF
export SLURM_CONF=$dir/slurm.conf
for _ in $(seq 50); do
    [ -S "$dir/munge/socket" ] && break
    sleep 0.1
done
slurmctld -D >"$dir/out" 2>&1 &
pids+=($!)
for _ in $(seq 100); do
    scontrol ping 2>/dev/null | grep -q 'is UP' && break
    sleep 0.1
done
if ! scontrol ping 2>/dev/null | grep -q 'is UP'; then
    echo "slurm: slurmctld does not answer:"
    tail -n 20 "$dir/out" "$dir/slurmctld.log"
    exit 1
fi
printf '#!/bin/sh\ntrue\n' >"$dir/job.sh"
for _ in 1 2 3 4 5; do
    sbatch -Q --array=1-1000 --gres=gpu:1 -n 1 -t 60 -o /dev/null "$dir/job.sh" ||
        exit 1
done
started() { squeue -h -r -t CF,R -o %i 2>/dev/null | wc -l; }
begin=$(date +%s.%N)
scontrol update partition=p state=UP
count=0
while [ "$count" -lt 800 ]; do
    sleep 0.05
    count=$(started)
    now=$(date +%s.%N)
    if [ "$(awk "BEGIN { print ($now - $begin > 120) }")" = 1 ]; then
        echo "slurm: only $count of 800 jobs started in 120 s"
        exit 1
    fi
done
theirs=$(awk "BEGIN { print $now - $begin }")
read -r ours decisions <<<"$("$peer")"
awk -v a="$theirs" -v b="$ours" -v n="$decisions" 'BEGIN {
    ratio = (n / b) / (800 / a)
    printf "slurmctld: 800 of 5000 jobs placed in %.3f s, %.0f decisions/s\n", a, 800 / a
    printf "bulkhead:  %d of 5000 workloads placed in %.4f s, %.0f decisions/s\n", n, b, n / b
    printf "ratio %.0fx slurmctld (goal 100x) %s\n", ratio, (ratio >= 100 ? "PASS" : "FAIL")
    exit (ratio < 100)
}'
