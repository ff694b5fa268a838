#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A noisy neighbour, from the first count to the cap that is lifted: who is
# told what, and what outlives kills.

load common

setup_file() {
    make_platform banoise

    admin set pool default interference=cap interference_window_ms=10000 \
        interference_hold_ms=20000 -q
}
teardown_file() { remove_platform; }
teardown() { show_logs; }

# A gang of two: the second listens, the first sends so many bytes a second,
# as `rate` (shell, $at: seconds since it began) says.
gang() {
    local name=$1 port=$2 rate=$3
    alice submit "$name" -n 2 -i demo -c h100-80g.1 --cpu 0.2 -m 64 -q -- \
        /bin/sh -c 'n() { busybox nc "$@"; }
            if [ "$BULKHEAD_NUMBER" = 1 ]; then
                while :; do sleep 100000 | n -l -p '"$port"' >/dev/null; done
            fi
            net=${BULKHEAD_ADDRESS%.*}
            while :; do
                for i in $(seq 1 30); do
                    [ "$net.$i" != "$BULKHEAD_ADDRESS" ] || continue
                    at=0
                    while at=$((at + 1)); do '"$rate"'; head -c $bytes /dev/zero || break; sleep 1; done |
                        n -w 2 $net.$i '"$port"' && break
                done
            done'
}

rows() { "$1" interference -o json "${@:2}"; }
is_fine() { rows alice | jq -e '.items[] | select(.workload == "steady" and .resource == "network" and .state == "fine")'; }
is_slowed() { rows alice | jq -e '.items[] | select(.workload == "steady" and .resource == "network" and .state == "slowed")'; }
records() {
    setpriv --reuid $AGENT_UID --clear-groups "$HOME_DIR/bulkhead-runner" \
        --socket "$HOME_DIR/run/runner.sock" --request '{"protocol":1,"op":"list"}'
}
is_capped() { records | jq -e '[.instances[].cap.network_kib] | max > 0'; }
is_free() { records | jq -e '[.instances[].cap.network_kib] | max == 0'; }
alice_alarm() { alice get alarms -o json | jq -re ".items[] | select(.code == \"$1\" and .cleared_ms == null) | .text"; }
no_alarm() { ! alice_alarm "$1"; }
# Reports come every ten seconds.
patiently() { WITHIN=100 soon "$@"; }

@test "a neighbour is learnt, told, capped, and freed when it is over" {
    # Two MB a second, less for as long as it is disturbed, as disturbed work
    # would get; then as before.
    gang steady 7001 'bytes=2000000; [ $at -lt 75 ] || [ $at -gt 150 ] || bytes=200000'
    patiently is_fine
    gang loud 7002 'bytes=8000000'
    patiently is_slowed
    patiently is_capped

    # Owners are told, and not of whom; operators are.
    alice_alarm contention | grep "shared resource contention"
    alice_alarm fair-use | grep "shared resource contention"
    run rows alice
    [[ $output != *cause* ]]
    rows admin --level platform |
        jq -e '.items[] | select(.workload == "steady" and .state == "slowed") | .cause | startswith("in_")'
    alarm_stands node.contention
    admin metrics | grep '^bulkhead_interference_capped [1-9]'

    # It outlives agent and runner.
    kill_now agent
    kill_now runner
    start runner
    soon is_listening
    is_capped
    start agent
    is_capped

    # The neighbour is as fast as alone again: the cap is lifted.
    patiently no_alarm contention
    patiently is_free
    no_alarm fair-use
    alice get instances -w loud -o json | jq -e '[.items[].caps] | max >= 1'
}

@test "what is not a policy is refused, and tenants do not set one" {
    run admin set pool default interference=punish
    [ "$status" != 0 ]
    [[ $output == *observe* ]]
    run admin set pool default interference_milli=1001
    [ "$status" != 0 ]
    [[ $output == *"1050 or more"* ]]
    run alice set pool default interference=observe
    [ "$status" != 0 ]
    run alice interference --level platform
    [ "$status" != 0 ]
}
