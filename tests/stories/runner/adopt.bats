#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The runner is killed; what it started lives on.

load common

setup_file() {
    make_home bradopt
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    forget_all
}

@test "[S46] kill -9 of the runner leaves instances running, the next one adopts them" {
    start one 1 1 'i=0; while [ $i -lt 20 ]; do echo "tick $i"; i=$((i+1));
        sleep 0.1; done; exit 9' '{"network": {}, "cards": ["SIM-GPU-5b1c0000-1000"]}'
    start two 1 1 'sleep 100' '{"network": {}}'
    before=$(record one | jq -c '[.pid, .address, .uid_base, .cards]')
    stop_runner KILL
    kill -0 "$(echo "$before" | jq '.[0]')"
    sleep 0.5
    start_runner
    [ "$(record one | jq -c '[.pid, .address, .uid_base, .cards]')" = "$before" ]
    [ "$(record one | jq -r .state)" = running ]
    run start three 1 1 'sleep 1' '{"cards": ["SIM-GPU-5b1c0000-1000"]}'
    [ "$status" = 7 ]
    [ "$(ended one)" = 9 ]
    [ "$(log_of one 1 | wc -l)" = 20 ]
    [ "$(start two 1 1 'sleep 100' '{"network": {}}' | jq .pid)" = "$(record two | jq .pid)" ]
}

@test "an instance that ended while no runner was there has its exit code, oom and log" {
    start code 1 1 'sleep 0.3; echo last words; exit 6'
    start big 1 1 'sleep 0.3; exec dd if=/dev/zero of=/tmp/x bs=1M count=100' \
        '{"memory_mib": 32, "scratch_mib": 200}'
    stop_runner KILL
    sleep 1.5
    start_runner
    [ "$(ended code)" = 6 ]
    [ "$(log_of code 1)" = 'last words' ]
    [ "$(ended big)" = 137 ]
    [ "$(record big | jq .oom)" = true ]
}

@test "adopted instances still reach each other and nobody else" {
    start a 1 1 'nc -ll -p 80 -e echo hello'
    op remove a 1
    forget_all
    address=$(start a 1 1 'nc -ll -p 80 -e echo hello' '{"network": {}}' | jq -r .address)
    stop_runner KILL
    start_runner
    start b 1 1 "sleep 0.3; nc -w 3 $address 80 </dev/null" '{"network": {}}'
    start c 1 2 "sleep 0.3; nc -w 2 $address 80 </dev/null" '{"network": {}}'
    [ "$(ended b)" = 0 ]
    [ "$(log_of b 1)" = hello ]
    [ "$(ended c)" != 0 ]
    [[ $(log_of c 1) != *hello* ]]
}

@test "a start that kill -9 broke off is undone and can be asked again" {
    for pause in 0.01 0.03 0.05 0.07 0.09 0.11 0.13; do
        start "broken" 1 1 'echo alive; sleep 100' '{"network": {}}' >/dev/null 2>&1 &
        sleep $pause
        stop_runner KILL
        wait || true
        start_runner
        start broken 1 1 'echo alive; sleep 100' '{"network": {}}'
        says broken 1 alive
        [ "$(pgrep -fc "conmon.*bradopt-")" -le 2 ]
        [ "$(ls "$HOME_DIR/state/instances" | wc -l)" = 1 ]
        [ "$(cat /sys/fs/cgroup/pids/bradopt/*/cgroup.procs 2>/dev/null | wc -l)" -ge 1 ]
        forget_all
        [ -z "$(cat /sys/fs/cgroup/pids/bradopt/*/cgroup.procs 2>/dev/null)" ]
    done
}

@test "an instance whose monitor was killed ends as failed, its code not known" {
    start one 1 1 'sleep 100'
    pid=$(record one | jq .pid)
    kill -9 "$(cat "$HOME_DIR"/state/instances/*/made/monitor)"
    kill -9 "$pid"
    [ "$(ended one)" = null ]
    [ "$(record one | jq -r .state)" = failed ]
    op remove one 1
}

@test "two runners never work on one state" {
    run "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json"
    [ "$status" = 75 ]
}

@test "[S44] the state's lock is its runner's alone: it names it and dies with it" {
    run "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json"
    [ "$status" -ne 0 ]
    [[ $output == *"process $(cat "$HOME_DIR/runner.pid")"* ]]
    stop_runner KILL
    begun=$SECONDS
    start_runner
    [ $((SECONDS - begun)) -le 2 ]
}
