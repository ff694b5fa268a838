#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Somebody takes everything away from a node while work runs there: the
# platform notices, the work ends or begins again by its own rules, and the
# cards are free.

load common

setup_file() { make_platform bht; }
teardown_file() { remove_platform; }
teardown() { show_logs; }

# clean_runner: the runner ends, and all that it owns.
clean_runner() {
    stop_now runner
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" --clean
}

begin_runner() {
    rm -f "$HOME_DIR/run/runner.sock"
    start runner
    soon is_listening
}

runs() {
    submit "$1" 'sleep 300' "${@:2}"
    soon is_state "$1" running
    pid=$(container_pid)
    lives "$pid"
}

is_attempt() { [ "$(workload "$1" attempt)" = "$2" ]; }

@test "work whose container was taken away has failed, and says so" {
    runs taken
    clean_runner
    soon is_over "$pid"
    begin_runner
    soon is_state taken failed
    [ "$(workload taken exit_code)" = 137 ]
    alarm_stands instance.vanished
    soon clean_cards
    check_platform
}

@test "the agent restarts too, and the work has failed just the same" {
    runs taken-both
    stop_now agent
    clean_runner
    begin_runner
    start agent
    soon is_state taken-both failed
    soon clean_cards
    check_platform
}

@test "work that may be restarted begins again in a new attempt" {
    runs again --restarts 1 --grace 1s
    clean_runner
    begin_runner
    WITHIN=60 soon is_state again running
    soon is_attempt again 2
    alice cancel again -q
    soon is_state again cancelled
    soon clean_cards
    check_platform
}
