#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# kill -9 of agent, control plane and runner, each and together, while a
# container runs: it lives on, is adopted, and its exit code and log are whole.

load common

setup_file() { make_platform bhk; }
teardown_file() { remove_platform; }
teardown() { show_logs; }

talk='echo one; sleep 3; echo two; exit 7'
whole=$'one\ntwo'

runs() {
    submit "$1" "$talk"
    soon is_state "$1" running
    pid=$(container_pid)
    lives "$pid"
}

# The process that ran before is the one that ended: exit code, log, and one
# attempt in one incarnation say so.
ended_well() {
    soon is_state "$1" failed
    [ "$(workload "$1" exit_code)" = 7 ]
    [ "$(workload "$1" attempt)" = 1 ]
    [ "$(alice logs "$1")" = "$whole" ]
    soon clean_cards
    check_platform
}

@test "a killed agent leaves its containers running and adopts them" {
    runs agent-killed
    kill_now agent
    sleep 0.5
    lives "$pid"
    start agent
    sleep 1
    lives "$pid"
    ended_well agent-killed
}

@test "an end that came while the agent was dead is told by the next one" {
    runs agent-away
    kill_now agent
    while lives "$pid"; do sleep 0.1; done
    [ "$(state_of agent-away)" = running ]
    start agent
    ended_well agent-away
}

@test "a killed control plane does not touch what runs" {
    runs daemon-killed
    kill_now daemon
    sleep 0.5
    lives "$pid"
    start daemon
    soon is_ready
    lives "$pid"
    [ "$(state_of daemon-killed)" = running ]
    ended_well daemon-killed
}

@test "an end that came while the control plane was dead is told when it is back" {
    runs daemon-away
    kill_now daemon
    while lives "$pid"; do sleep 0.1; done
    sleep 1
    start daemon
    soon is_ready
    ended_well daemon-away
}

@test "a killed runner leaves its containers running and adopts them" {
    runs runner-killed
    kill_now runner
    sleep 0.5
    lives "$pid"
    rm -f "$HOME_DIR/run/runner.sock"
    start runner
    soon is_listening
    lives "$pid"
    ended_well runner-killed
}

@test "all three killed at once lose nothing" {
    runs all-killed
    kill_now agent
    kill_now daemon
    kill_now runner
    lives "$pid"
    while lives "$pid"; do sleep 0.1; done
    rm -f "$HOME_DIR/run/runner.sock"
    start runner
    start daemon
    start agent
    soon is_ready
    ended_well all-killed
}
