#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An instance that disturbs others is held down: its CPU, its disks, its
# network, as the kernel's counters show it.

load common

setup_file() {
    make_home brcap
    start_runner
}
teardown_file() { remove_home; }
teardown() { forget_all; }

counters() { ask '{"op":"samples","cards":false}' | jq ".instances[] | select(.instance == \"$1\") | .$2"; }
cap() { op cap "$1" 1 "{\"cpu_milli\": $2, \"io_kib\": $3, \"network_kib\": $4}"; }
busy='while :; do :; done'

# cpu_of INSTANCE: milli-CPU that it gets over two seconds.
cpu_of() {
    local from to began
    from=$(counters "$1" cpu_us) began=$(date +%s%N)
    sleep 2
    to=$(counters "$1" cpu_us)
    echo $(((to - from) * 1000000 / ($(date +%s%N) - began)))
}

@test "a CPU cap holds, as the group's counters show, and ends when it is lifted" {
    start loud 1 1 "$busy"
    cap loud 100 0 0 | jq -e '.cap.cpu_milli == 100'
    [ "$(cpu_of loud)" -le 120 ]
    before=$(counters loud throttled)
    sleep 1
    [ "$(counters loud throttled)" -gt "$before" ]
    cap loud 0 0 0 | jq -e '.cap.cpu_milli == 0'
    [ "$(cpu_of loud)" -gt 200 ]
}

@test "a cap outlives a killed runner and ends with its instance" {
    start loud 1 1 "$busy"
    cap loud 100 0 0
    stop_runner KILL
    start_runner
    record loud | jq -e '.cap.cpu_milli == 100'
    [ "$(cpu_of loud)" -le 120 ]
    op remove loud 1
    start loud 2 1 "$busy"
    record loud | jq -e '.cap.cpu_milli == 0'
    [ "$(cpu_of loud)" -gt 200 ]
}

@test "a disk cap holds what is read from the disk" {
    start loud 1 1 'while :; do dd if=/bin/busybox of=/dev/null bs=64k iflag=direct 2>/dev/null; done'
    sleep 1
    [ "$(counters loud read_bytes)" -gt 0 ] || skip "reads do not reach a disk here"
    from=$(counters loud read_bytes)
    sleep 2
    free=$((($(counters loud read_bytes) - from) / 2048))
    [ "$free" -gt 8192 ] || skip "the disk gives $free KiB/s: too slow to tell"
    cap loud 0 2048 0
    sleep 1
    from=$(counters loud read_bytes)
    sleep 4
    held=$((($(counters loud read_bytes) - from) / 4096))
    echo "KiB/s: $free free, $held held"
    [ "$held" -le 2300 ]
    cap loud 0 0 0
    sleep 1
    from=$(counters loud read_bytes)
    sleep 2
    [ $((($(counters loud read_bytes) - from) / 2048)) -gt 4096 ]
}

# sent_in SECONDS [WHO]: what the sender gets through in that time, KiB/s.
sent_in() {
    local from
    from=$(counters "${2:-sender}" sent_bytes)
    sleep "$1"
    echo $((($(counters "${2:-sender}" sent_bytes) - from) / 1024 / $1))
}

@test "a network cap holds real traffic, both ways, and only its own" {
    start sink 1 5 "for port in 7000 7001; do sleep 1000 | nc -l -p \$port >/dev/null & done; wait" '{"network": {"address": 1}}'
    start sender 1 5 'sleep 1; nc 10.0.80.1 7000 </dev/zero' '{"network": {"address": 2}}'
    start other 1 5 'sleep 1; nc 10.0.80.1 7001 </dev/zero' '{"network": {"address": 3}}'
    sleep 2
    free=$(sent_in 2)
    [ "$free" -gt 4096 ]
    cap sender 0 0 1024
    sleep 1
    held=$(sent_in 4)
    echo "KiB/s: $free free, $held held"
    [ "$held" -le 1200 ]
    [ "$held" -ge 400 ]
    [ "$(sent_in 2 other)" -gt 2048 ]
    # The end that receives is held as well.
    cap sender 0 0 0
    cap sink 0 0 512
    sleep 1
    held=$(sent_in 4)
    [ "$held" -le 650 ]
    cap sink 0 0 0
    sleep 1
    [ "$(sent_in 2)" -gt 2048 ]
}

@test "a cap below what the machine leaves everybody is refused, and says how" {
    start loud 1 1 'sleep 100'
    run cap loud 49 0 0
    [ "$status" != 0 ]
    [[ $output == *"the least that this machine allows"* ]]
    run cap loud 0 1023 0
    [ "$status" != 0 ]
    run op cap loud 1 '{"cpu_milli": 100}'
    [ "$status" != 0 ]
    run op cap loud 2 '{"cpu_milli": 100, "io_kib": 0, "network_kib": 0}'
    [ "$status" != 0 ]
    run cap nobody 100 0 0
    [ "$status" != 0 ]
}
