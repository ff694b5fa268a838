#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Soft shares of a card: measured from outside, held to by a sharing server
# where there is one (here a script), stopped when they are not.

load common

A=SIM-GPU-5b1c0000-1000

setup_file() {
    make_home brshares
    cp "$repo/tests/stub/mps-control" "$HOME_DIR/mps-control"
    jq --arg p "$HOME_DIR/mps-control" '. + {mps: $p, share_look_ms: 200,
        share_grace_ms: 1500, share_attach_ms: 1500}' "$HOME_DIR/policy.json" \
        >"$HOME_DIR/policy.new"
    mv "$HOME_DIR/policy.new" "$HOME_DIR/policy.json"
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    rm -f "$HOME_DIR"/mps/{hang,fail,garbage,clients,told}
    forget_all
    soon server_is_gone
}

share() { echo "{\"cards\": [\"$A\"], \"card_memory_mib\": ${1:-30000}, \"card_milli\": 500}"; }
server_is_gone() { [ ! -e "$HOME_DIR/state/mps/$A/pipe/control_alive" ]; }
told() { grep -c -- "$1" "$HOME_DIR/mps/told"; }
# All processes of the instance are the server's clients.
attach() {
    for group in /sys/fs/cgroup/{,*/}brshares/*/cgroup.procs; do
        [ -e "$group" ] && cat "$group"
    done | sort -un >"$HOME_DIR/mps/clients.new"
    mv "$HOME_DIR/mps/clients.new" "$HOME_DIR/mps/clients"
}
is_stopped() { [ "$(record "$1" | jq -r .state)" = exited ]; }
uses() { [ "$(record "$1" | jq .share.used_mib)" -ge 1 ]; }

@test "a share gets its card's sharing server, and its limits" {
    start one 1 1 'ls -d /dev/bulkhead/mps; env | grep MPS | sort; echo $BULKHEAD_SHARE; sleep 100' "$(share)"
    says one 1 /dev/bulkhead/mps
    says one 1 'CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=30000M'
    says one 1 'CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50'
    says one 1 '^mps$'
    [ "$(told "start -d -multiuser-server $A")" = 1 ]
    [ "$(told 'set_default_device_pinned_mem_limit 0 30000M')" = 1 ]
    [ "$(record one | jq -c '.share | [.limit_mib, .over]')" = '[30000,false]' ]
    # The next one finds it; the server's own limit is the larger share's.
    start two 1 1 'sleep 100' "$(share 40000)"
    [ "$(told 'start -d')" = 1 ]
    [ "$(told 'set_device_pinned_mem_limit 4242 0 40000M')" = 1 ]
    op remove one 1
    ! server_is_gone
    op remove two 1
    soon server_is_gone
    # A whole card has none of this.
    start three 1 1 'ls /dev/bulkhead; env | grep -c MPS' "{\"cards\": [\"$A\"]}"
    [ "$(ended three)" = 1 ]
}

@test "[N42] a process beside the server is stopped, one that is its client is not" {
    start one 1 1 'exec 5<>/dev/bulkhead/card0; echo open; sleep 100' "$(share)"
    says one 1 open
    attach
    sleep 3
    [ "$(record one | jq -r .state)" = running ]
    start two 1 1 'exec 5<>/dev/bulkhead/card0; echo open; sleep 100' "$(share)"
    soon is_stopped two
    [[ $(record two | jq -r .reason) == *"beside the sharing server"* ]]
    [ "$(record one | jq -r .state)" = running ]
}

@test "[N33] a share does not start while the control directory is missing or closed" {
    start one 1 1 'sleep 100' "$(share)"
    pipe=$HOME_DIR/state/mps/$A/pipe
    chmod 700 "$pipe"
    run start two 1 1 'sleep 100' "$(share)"
    [ "$status" != 0 ]
    [[ $output == *"cannot be entered by instances"*"nothing is started on it"* ]]
    chmod 755 "$pipe"
    mv "$pipe" "$pipe.away"
    run start two 1 1 'sleep 100' "$(share)"
    [ "$status" != 0 ]
    [[ $output == *"is missing"* ]]
    mv "$pipe.away" "$pipe"
    start two 2 1 'sleep 100' "$(share)"
}

@test "[N33] a server that hangs, fails or talks nonsense starts no share" {
    touch "$HOME_DIR/mps/fail"
    run start one 1 1 'sleep 100' "$(share)"
    [ "$status" != 0 ]
    [[ $output == *"start the card's sharing server"* ]]
    rm "$HOME_DIR/mps/fail"
    touch "$HOME_DIR/mps/hang"
    SECONDS=0
    run start one 1 1 'sleep 100' "$(share)"
    [ "$status" != 0 ]
    [ $SECONDS -lt 60 ]
    rm "$HOME_DIR/mps/hang"
    touch "$HOME_DIR/mps/garbage"
    run start one 1 1 'sleep 100' "$(share)"
    [ "$status" != 0 ]
    rm "$HOME_DIR/mps/garbage"
    start one 1 1 'sleep 100' "$(share)"
}

@test "[N32] more than the share is warned of, and stopped when it is not given back" {
    # The memory file is 4 MiB here: what was written of it counts.
    start one 1 1 'exec 5<>/dev/bulkhead/card0; head -c 1000000 /dev/zero >&5; echo open
        sleep 100' "$(share 10000)"
    start two 1 1 'exec 5<>/dev/bulkhead/card0; head -c 1000 /dev/zero >&5; echo open; sleep 100' "$(share 10000)"
    says two 1 open
    attach
    soon is_stopped one
    [[ $(record one | jq -r .reason) =~ "stopped: it uses "[0-9]+" MiB of the card, its share is 10000 MiB" ]]
    [ "$(record one | jq .exit_code)" = 137 ]
    [ "$(record two | jq -c '[.state, .share.over]')" = '["running",false]' ]
}

@test "[N32] who gives back in time goes on" {
    start one 1 1 'exec 5<>/dev/bulkhead/card0; head -c 3000000 /dev/zero >&5; echo open
        while [ ! -e /run/bulkhead/share.json ]; do sleep 0.1; done
        cat /run/bulkhead/share.json; exec 5>&-; sleep 100' "$(share 10000)"
    says one 1 open
    attach
    says one 1 '"limit_mib":10000,"over":true,"stops":"20'
    sleep 2.5
    [ "$(record one | jq -r .state)" = running ]
}

@test "[N29] a runner that was killed measures again what is there" {
    start one 1 1 'exec 5<>/dev/bulkhead/card0; head -c 1000000 /dev/zero >&5; echo open; sleep 100' "$(share)"
    says one 1 open
    attach
    soon uses one
    stop_runner KILL
    start_runner
    soon uses one
    [ "$(told 'start -d')" = 1 ]
    [ "$(record one | jq -r .state)" = running ]
}
