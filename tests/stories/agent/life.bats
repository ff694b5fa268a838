#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the node does with instances, volumes and cards.

load common

setup_file() { make_platform bhl; }
teardown_file() { remove_platform; }
teardown() { show_logs; }

@test "a workload runs on a card of its own and gives it back clean" {
    submit hello 'echo hello; ls /dev/bulkhead'
    alice wait hello --timeout 30s
    [ "$(alice logs hello)" = $'hello\ncard0\ndevice0' ]
    soon clean_cards
}

@test "running out of memory is told apart from a plain failure" {
    submit hungry 'x=a; while :; do x=$x$x; done' -m 32
    soon is_state hungry failed
    [ "$(workload hungry oom)" = true ]
    submit plain 'exit 5'
    soon is_state plain failed
    [ "$(workload plain oom)" = false ]
    [ "$(workload plain exit_code)" = 5 ]
}

with_image() {
    alice submit "$1" -i "$2" -c h100-80g.1 --cpu 0.2 -m 64 -q -- /bin/true
}
node_has() {
    admin get nodes -o json | jq -e ".items[0].facts.images | index(\"$1\")"
}
node_lacks() { ! node_has "$1"; }

@test "an image that no node has is refused at once, with a way out" {
    soon node_has demo
    run with_image nothing nosuch
    [ "$status" = 2 ]
    [[ $output == *'no node has the image "nosuch"'*'image directory'* ]]
    not alice get workload nothing
    run with_image nothing "demo2@sha256:$(printf %064d 1)"
    [ "$status" = 2 ]
}

waits_for_image() { [ "$(workload "$1" reason)" = image ]; }

@test "work whose image went away waits for it and starts once it is there" {
    cp -a "$HOME_DIR/images/demo" "$HOME_DIR/images/fleeting"
    soon node_has fleeting
    admin set node sim-node-1 state=cordoned -q
    with_image late fleeting
    rm -r "$HOME_DIR/images/fleeting"
    soon node_lacks fleeting
    admin set node sim-node-1 state=schedulable -q
    soon waits_for_image late
    cp -a "$HOME_DIR/images/demo" "$HOME_DIR/images/fleeting"
    soon is_state late succeeded
    [ "$(workload late attempt)" = 1 ]
    soon clean_cards
}

@test "a cancelled workload gets notice, and its checkpoint is seen" {
    alice create volume work size_mib=16 -q
    submit saver 'trap "echo {\\\"step\\\": 41} >/data/new; mv /data/new /data/checkpoint.json; cat /run/bulkhead/notice.json; exit 75" USR1
        while :; do sleep 0.1; done' -v work:/data --grace 10s
    soon is_state saver running
    alice cancel saver -q
    soon is_state saver cancelled
    [ "$(workload saver checkpoint_step)" = 41 ]
    alice logs saver | grep -q '"reason"'
}

@test "who does not heed the notice is stopped at the deadline" {
    submit deaf 'trap "" USR1 TERM; while :; do sleep 0.1; done' --grace 1s
    soon is_state deaf running
    alice cancel deaf -q
    soon is_state deaf cancelled
    soon clean_cards
}

@test "a deadline that was ordered is kept while the control plane is away" {
    submit left 'trap "" USR1; while :; do sleep 0.1; done' --grace 3s
    soon is_state left running
    pid=$(container_pid)
    alice cancel left -q
    sleep 1
    kill_now daemon
    WITHIN=15 soon is_over "$pid"
    start daemon
    soon is_ready
    soon is_state left cancelled
    check_platform
}

@test "a process that the platform did not start makes its card not free" {
    file=$(find -L "$HOME_DIR/state" -path '*SIM-GPU-5b1c0007-1007*' -name memory | head -n 1)
    sleep 30 <"$file" 3>&- &
    stranger=$!
    soon is_card card7 foreign true
    alarm_stands card.foreign card7
    kill $stranger
    soon is_card card7 foreign false
    alarm_is_over card.foreign card7
}

@test "a log is followed while it grows" {
    submit counter 'for i in 1 2 3; do echo $i; sleep 1; done'
    soon is_state counter running
    [ "$(alice logs counter --follow)" = $'1\n2\n3' ]
}

@test "a node without a word is lost and comes back with what runs" {
    admin stepup --password-file "$HOME_DIR/password" -q
    api PATCH /platform '{"lease_ms": 3000}'
    submit patient 'sleep 12; exit 4'
    soon is_state patient running
    kill_now agent
    WITHIN=15 soon is_state patient lost
    [ "$(admin get nodes -o json | jq -r '.items[0].state')" = lost ]
    alarm_stands node.lost
    start agent
    WITHIN=15 soon is_state patient running
    WITHIN=5 soon alarm_is_over node.lost
    soon is_state patient failed
    [ "$(workload patient exit_code)" = 4 ]
    check_platform
}

@test "the agent's door is closed to who does not sign" {
    run curl -s -o /dev/null -w '%{http_code}' --unix-socket \
        "$HOME_DIR/run/api.sock" -X POST -H 'Content-Type: application/json' \
        -d '{}' http://localhost/agent/v1/sync
    [ "$output" = 401 ]
    run curl -s -o /dev/null -w '%{http_code}' --unix-socket \
        "$HOME_DIR/run/api.sock" -X POST -H 'Content-Type: application/json' \
        -d '{}' http://localhost/agent/v1/enrol
    [ "$output" = 401 ]
}
