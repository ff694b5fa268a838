#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a neighbour gets back when the noise beside it is capped.  Alone, beside
# and capped are taken in turns, so that what else the machine does falls on
# all of them alike; medians of five.

load common

setup_file() {
    make_home brnear
    start_runner
}
teardown_file() { remove_home; }
teardown() { forget_all; }

# The neighbour's own files: what it wrote, and its counters.
place_of() { dirname "$(grep -l "\"instance\":\"$1\"" "$HOME_DIR"/state/instances/*/instance.json)"; }
group_of() {
    local name
    name=$(basename "$(place_of "$1")")
    echo /sys/fs/cgroup/cpuacct/brnear/"$name"/cpuacct.usage \
        /sys/fs/cgroup/brnear/"$name"/cpu.stat
}
cpu_ns() {
    if [ -e "$v1" ]; then cat "$v1"; else awk '/^usage_usec/ {print $2 * 1000}' "$v2"; fi
}
read_bytes() { ask '{"op":"samples","cards":false}' | jq '.instances[] | select(.instance == "quiet") | .read_bytes'; }
cap() { op cap loud 1 "{\"cpu_milli\": $1, \"io_kib\": $2, \"network_kib\": 0}" >/dev/null; }

# turn cpu: lines of work in 100 s of CPU; turn io: KiB read in a second.
turn() {
    local work from
    if [ "$1" = cpu ]; then
        work=$(stat -c %s "$log") from=$(cpu_ns)
        sleep 1
        echo $((($(stat -c %s "$log") - work) * 100000000 / (($(cpu_ns) - from) / 1000 + 1)))
    else
        work=$(read_bytes) from=$(date +%s%N)
        sleep 1
        echo $((($(read_bytes) - work) * 1000 / 1024 * 1000 / (($(date +%s%N) - from) / 1000 + 1)))
    fi
}

# rounds KIND CPU IO: the three medians, and by how much of a hundred the rounds
# alone differ among themselves.
rounds() {
    local i alone='' beside='' capped=''
    for i in 1 2 3 4 5; do
        op signal loud 1 '{"signal": "STOP"}' >/dev/null
        alone+="$(turn "$1") "
        op signal loud 1 '{"signal": "CONT"}' >/dev/null
        beside+="$(turn "$1") "
        cap "$2" "$3"
        capped+="$(turn "$1") "
        cap 0 0
    done
    {
        for i in "$alone" "$beside" "$capped"; do
            tr ' ' '\n' <<<"${i% }" | sort -n | sed -n 3p
        done
        tr ' ' '\n' <<<"${alone% }" | sort -n | xargs |
            awk '{print int(($5 - $1) * 100 / ($3 + 1))}'
    } | xargs
}

@test "under a cap the neighbour's work a CPU-second is within a tenth of alone" {
    start quiet 1 1 'while :; do i=0; while [ $i -lt 500 ]; do i=$((i + 1)); done; echo; done' '{"log_mib": 64}'
    start loud 1 2 'exec dd if=/dev/zero of=/dev/null bs=4M'
    log=$(place_of quiet)/log
    read -r v1 v2 <<<"$(group_of quiet)"
    sleep 1
    read -r alone beside capped spread <<<"$(rounds cpu 50 0)"
    echo "# work a CPU-second: $alone alone, $beside beside, $capped capped" >&3
    [ "$alone" -gt 0 ]
    [ "$spread" -le 20 ] || skip "the machine's own pace varies by $spread %"
    [ "$capped" -ge $((alone * 9 / 10)) ]
}

@test "under a cap the neighbour reads within a tenth of what it reads alone" {
    ask '{"op":"volume_create","id":"near","tenant":1,"size_mib":64}' >/dev/null
    ask '{"op":"volume_create","id":"far","tenant":2,"size_mib":64}' >/dev/null
    reads='dd if=/dev/zero of=/v/file bs=1M count=32 2>/dev/null; sync; while :; do dd if=/v/file of=/dev/null bs=1M iflag=direct 2>/dev/null; done'
    start quiet 1 1 "$reads" '{"volumes": [{"id": "near", "path": "/v"}]}'
    start loud 1 2 "$reads" '{"volumes": [{"id": "far", "path": "/v"}]}'
    sleep 2
    [ "$(read_bytes)" -gt 0 ] || skip "reads do not reach a disk here"
    read -r alone beside capped spread <<<"$(rounds io 50 1024)"
    echo "# KiB/s: $alone alone, $beside beside, $capped capped" >&3
    [ "$spread" -le 20 ] || skip "the disk's own pace varies by $spread %"
    [ "$capped" -ge $((alone * 9 / 10)) ]
}
