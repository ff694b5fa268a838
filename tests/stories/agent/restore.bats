#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A backup is put back while nodes go on with what they have.

load common

setup_file() { make_platform bhr; }
teardown_file() { remove_platform; }
teardown() { show_logs; }

prove() { admin stepup --password-file "$HOME_DIR/password" -q; }

# put_back FILE: the control plane dies and comes back from the backup.
put_back() {
    kill_now daemon
    "$HOME_DIR/bulkheadd" --data "$HOME_DIR/control" --restore "$1"
    start daemon
    soon is_ready
    # Sessions are held: who decides logs in again.
    not admin whoami
    admin login admin --password-file "$HOME_DIR/password" -q
    alice login alice -t research -p language \
        --password-file "$HOME_DIR/password" -q
}

orphan() { admin restore -o json | jq -r ".orphans[0].$1 // empty"; }
has_orphan() { [ -n "$(orphan instance)" ]; }
no_orphan() { ! has_orphan; }
is_instance() {
    [ "$(api GET "/tenants/research/projects/language/workloads/$1/instances" |
        jq -r '.items[0].state')" = "$2" ]
}
platform() { admin restore -o json | jq -r ".$1"; }

@test "a container behind the backup is kept apart until somebody decides" {
    prove
    admin backup "$HOME_DIR/backup"
    submit stranger 'while :; do sleep 0.2; done'
    soon is_state stranger running
    pid=$(container_pid)
    taken=$(admin get cards -o json |
        jq -r '.items[] | select(.used_milli > 0) | .name')

    put_back "$HOME_DIR/backup"

    # Nobody kills it, nobody adopts it, its card is nobody's.
    soon has_orphan
    lives "$pid"
    [ "$(orphan state)" = running ]
    [ "$(platform observing)" = true ]
    is_card "$taken" handover failed
    alarm_stands node.orphans | grep -q "$(orphan instance)"
    alarm_stands card.quarantined "$taken"

    # Nothing is started and nothing is stopped.
    submit later 'exit 0'
    prove
    run admin restore stop sim-node-1 "$(orphan instance)"
    [ "$status" -eq 7 ]
    [[ $output == *"restore confirm"* ]]
    sleep 2
    [ "$(workload later state)" != running ]
    [ "$(workload later attempt)" = 0 ]
    lives "$pid"

    # Confirmed, the platform works again; the container still runs.
    admin restore confirm
    alice wait later --timeout 30s
    lives "$pid"
    is_card "$taken" handover failed

    # Stopped, it leaves a card that is cleaned before anybody gets it.
    admin restore stop sim-node-1 "$(orphan instance)"
    soon is_over "$pid"
    soon no_orphan
    soon is_card "$taken" handover clean
    alarm_is_over card.quarantined "$taken"
    alarm_is_over node.orphans
    check_platform
}

@test "work that the backup knows goes on running" {
    submit steady 'while :; do sleep 0.2; done' --grace 1s
    soon is_state steady running
    pid=$(container_pid)
    prove
    admin backup "$HOME_DIR/backup2"
    put_back "$HOME_DIR/backup2"
    soon is_state steady running
    sleep 1
    lives "$pid"
    no_orphan
    prove
    admin restore confirm
    is_state steady running
    lives "$pid"
    alice cancel steady -q
    soon is_state steady cancelled
    soon clean_cards
    check_platform
}

@test "work that ended behind the backup is not thought to run" {
    submit brief 'sleep 4; exit 0'
    soon is_state brief running
    prove
    admin backup "$HOME_DIR/backup3"
    alice wait brief --timeout 30s
    soon clean_cards
    put_back "$HOME_DIR/backup3"
    # Its end was lost with the state behind the backup; it is not hung on to.
    soon is_instance brief exited
    prove
    admin restore confirm
    soon is_state brief failed
    soon clean_cards
    check_platform
}

@test "keys that were revoked behind the backup open nothing" {
    prove
    alice stepup --password-file "$HOME_DIR/password" -q
    key=$(alice create apikey robot --user alice --for 1h -q)
    id=$(alice get apikeys --user alice -o json | jq -r '.items[0].id')
    admin backup "$HOME_DIR/backup4"
    alice delete apikey robot --user alice -q
    put_back "$HOME_DIR/backup4"
    use() { BULKHEAD_TOKEN=$key alice whoami; }
    run use
    [ "$status" -eq 4 ]
    admin review keys | grep -q "$id"
    prove
    admin review keys --revoke --all
    admin review sessions --revoke --all
    admin restore confirm
    run use
    [ "$status" -eq 4 ]
    [ "$(platform 'keys | length')" = 0 ]
    [ "$(platform 'sessions | length')" = 0 ]
    check_platform
}
