#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A card falls ill under real work: its owner hears of it, the pool's policy
# acts, and the card comes back by itself once it is well, through kills of
# every process.

load common

setup_file() {
    make_platform bhh
    : >"$HOME_DIR/kernel.log"
    jq ".kernel_log = \"$HOME_DIR/kernel.log\"" "$HOME_DIR/policy.json" \
        >"$HOME_DIR/policy.new"
    mv "$HOME_DIR/policy.new" "$HOME_DIR/policy.json"
    begin_runner
}
teardown_file() { remove_platform; }
teardown() { show_logs; }

begin_runner() {
    kill_now runner
    rm -f "$HOME_DIR/run/runner.sock"
    start runner
    soon is_listening
}

prove() { admin stepup --password-file "$HOME_DIR/password" -q; }
held_card() {
    admin get cards -o json |
        jq -r '[.items[] | select(.used_milli > 0)][0].name'
}
health_of() { admin cards health "$(card "$1" id)" -o json; }
is_health() { [ "$(health_of "$1" | jq -r .health)" = "$2" ]; }
has_event() {
    health_of "$1" | jq -e ".events[] | select(.xid == $2 and .count == $3)"
}
was_suspect() {
    health_of "$1" | jq -e '.past[] | select(.health == "suspect")
        | select(.reason | startswith("Xid 79: "))'
}
is_told() { [ "$(alice impact -t research -o json | jq -r '.items[0].workload_name')" = "$1" ]; }
# told WORKLOAD: the alarm that its owner sees.
told() {
    local token
    token=$(jq -r .token "$HOME_DIR/alice.json")
    curl -sf --unix-socket "$HOME_DIR/run/api.sock" \
        -H "Authorization: Bearer $token" \
        "http://localhost/api/v1/tenants/research/projects/language/workloads/$1/alarms" |
        jq -e '.items[] | select(.code == "workload.card" and .cleared_ms == null)'
}
not_told() { ! told "$1"; }
refused() {
    run "$@"
    [ "$status" -ne 0 ]
}
# script EVENT...: what happens after the runner's next start.
script() {
    jq ".events = [$1]" "$HOME_DIR/estate.json" >"$HOME_DIR/estate.new"
    mv "$HOME_DIR/estate.new" "$HOME_DIR/estate.json"
}
runs_elsewhere() {
    is_state "$1" running && [ "$(held_card)" != "$2" ]
}
is_back() { is_card "$1" health healthy && is_card "$1" handover clean; }

@test "a card that fails under work is drained, reset and back [N1] [N2]" {
    admin set pool default 'health={"probes":2,"failed":{"running":"drain","reset":true,"notify":true,"workorder":true}}' -q
    submit trainer 'while :; do sleep 1; done' --grace 8s
    soon is_state trainer running
    ill=$(held_card)
    uuid=$(card "$ill" uuid)
    script "{\"at_ms\": 500, \"uuid\": \"$uuid\", \"event\": \"xid\", \"number\": 119},
            {\"at_ms\": 500, \"uuid\": \"$uuid\", \"event\": \"recovery\", \"number\": 1}"
    begin_runner
    soon is_health "$ill" failed
    soon told trainer
    is_told trainer
    alarm_stands card.workorder "$ill"
    # Nobody who is killed now forgets it, and nobody hopes.
    kill_now agent
    kill_now daemon
    start daemon
    soon is_ready
    is_health "$ill" failed
    start agent
    soon runs_elsewhere trainer "$ill"
    soon is_back "$ill"
    health_of "$ill" | jq -e '.past[0].health == "healthy" and
        (.past[] | select(.health == "failed") | .reason | length > 0)'
    has_event "$ill" 119 1
    soon alarm_is_over card.health "$ill"
    soon not_told trainer
    script ""
    alice cancel trainer -q
    soon clean_cards
    check_platform
}

@test "the kernel's log is heard, and storms are counted [N6] [N8]" {
    spare=card7
    pci=$(card $spare pci)
    seq 20000 | sed "s|.*|NVRM: Xid (PCI:${pci%.*}): 31, pid=77, name=a, MMU Fault|" \
        >>"$HOME_DIR/kernel.log"
    soon has_event $spare 31 20000
    is_health $spare healthy
    echo "NVRM: GPU $pci: GPU has fallen off the bus." >>"$HOME_DIR/kernel.log"
    soon was_suspect $spare
    has_event $spare 79 1
    soon is_back $spare
}

@test "a person's word stands until it is taken back" {
    id=$(card card6 id)
    prove
    admin cards set "$id" degraded --reason "noisy fan" -q
    is_health card6 degraded
    sleep 2
    is_health card6 degraded
    refused admin cards set "$id" broken --reason "noisy fan"
    refused admin cards clear "$id"
    admin cards clear "$id" --reason "fan replaced" -q
    is_health card6 healthy
    refused alice cards health "$id"
    refused admin set pool default 'health={"failed":{"takes_work":true}}'
    [[ "$output" == *"takes no work"* ]]
}
