#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hard slices of simulated cards: cut, created, cleaned and destroyed.

load common

A=SIM-GPU-5b1c0000-1000
B=SIM-GPU-5b1c0001-1001

setup_file() {
    make_home brslices
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    exec 9>&- || true
    forget_all
    ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}" >/dev/null
}

card() {
    ask '{"op":"cards"}' | jq -c ".cards[] | select(.uuid == \"$1\") | $2"
}
cut() { ask "{\"op\":\"card_scrub\",\"uuid\":\"$A/sliced\"}" >/dev/null; }
scrub() { ask "{\"op\":\"card_scrub\",\"uuid\":\"$A/$1\"}" | jq -c "${2:-.verified}"; }
slice() { echo "{\"cards\": [\"$A/$1\"], \"card_memory_mib\": ${2:-9984}}"; }

@test "a card is cut by a scrub, and whole again after another" {
    [ "$(card $A .sliced)" = false ]
    cut
    [ "$(card $A .sliced)" = true ]
    [ "$(card $B .sliced)" = false ]
    run start one 1 1 true "{\"cards\": [\"$A/7g.80gb@1\"], \"card_memory_mib\": 1}"
    [ "$status" != 0 ]
    ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}" >/dev/null
    [ "$(card $A .sliced)" = false ]
    run start one 1 1 true "$(slice 3g.40gb@4 40448)"
    [ "$status" = 7 ]
}

@test "two tenants have slices of one card, each sees its own" {
    cut
    start one 1 1 'wc -c </dev/bulkhead/card0; echo mine >/dev/bulkhead/card0; ls /dev/bulkhead
        echo $BULKHEAD_CARDS $BULKHEAD_CARD_MEMORY_MIB; sleep 100' "$(slice 3g.40gb@4 40448)"
    start two 1 2 'tr -d "\000" </dev/bulkhead/card0 | wc -c; echo $BULKHEAD_CARDS; sleep 100' "$(slice 1g.10gb@0)"
    says one 1 "card0 40448"
    says one 1 2097152
    says two 1 card0
    [ "$(log_of two 1 | head -1)" = 0 ]
    [ "$(card $A '[.holders[].slice] | sort')" = '["1g.10gb@0","3g.40gb@4"]' ]
}

@test "a slice is one instance's, and slices in its way refuse another" {
    cut
    start one 1 1 'sleep 100' "$(slice 3g.40gb@4 40448)"
    for other in 3g.40gb@4 1g.10gb@4 2g.20gb@4 7g.80gb@0; do
        run start two 1 2 'sleep 100' "$(slice $other)"
        [ "$status" = 7 ]
    done
    run start two 1 2 'sleep 100' "{\"cards\": [\"$A\"]}"
    [ "$status" = 7 ]
    run ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}"
    [ "$status" = 7 ]
    start two 1 2 'sleep 100' "$(slice 4g.40gb@0 40448)"
}

@test "what was left in a slice is gone with its scrub, its neighbour stays" {
    cut
    start one 1 1 'echo secret >/dev/bulkhead/card0' "$(slice 1g.10gb@6)"
    start two 1 2 'echo kept >/dev/bulkhead/card0; sleep 100' "$(slice 1g.10gb@5)"
    [ "$(ended one)" = 0 ]
    run ask "{\"op\":\"card_scrub\",\"uuid\":\"$A/1g.10gb@6\"}"
    [ "$status" = 7 ]
    op remove one 1
    grep -q secret "$HOME_DIR/state/cards/$A/sliced/1g.10gb@6"
    [ "$(op release_check one 1 | jq -c '[.released, .cards[0].uuid]')" = "[true,\"$A/1g.10gb@6\"]" ]
    [ "$(scrub 1g.10gb@6 '[.verified, .scrubbed_bytes]')" = '[true,524288]' ]
    [ ! -e "$HOME_DIR/state/cards/$A/sliced/1g.10gb@6" ]
    grep -q kept "$HOME_DIR/state/cards/$A/sliced/1g.10gb@5"
    # Once more: what is gone is clean.
    [ "$(scrub 1g.10gb@6 '[.verified, .scrubbed_bytes]')" = '[true,0]' ]
    start three 1 2 'tr -d "\000" </dev/bulkhead/card0 | wc -c' "$(slice 1g.10gb@6)"
    [ "$(ended three)" = 0 ]
    [ "$(log_of three 1)" = 0 ]
}

@test "a process of nobody's on a slice is on the card" {
    cut
    start one 1 1 'exit 0' "$(slice 1g.10gb@6)"
    [ "$(ended one)" = 0 ]
    op remove one 1
    exec 9<>"$HOME_DIR/state/cards/$A/sliced/1g.10gb@6"
    [ "$(card $A '.processes | map(.owner) | unique')" = '["foreign"]' ]
    [ "$(scrub 1g.10gb@6 '[.verified, .steps[-1].step]')" = '[false,"wait"]' ]
    exec 9>&-
    [ "$(scrub 1g.10gb@6)" = true ]
}

@test "[N38] slices that nobody made here are shown, and stay until an operator says that they may go" {
    cut
    echo theirs >"$HOME_DIR/state/cards/$A/sliced/3g.40gb@4"
    [ "$(card $A '[.layout, .foreign_slices]')" = '["3g.40gb@4","3g.40gb@4"]' ]
    for name in $A $A/sliced $A/3g.40gb@4; do
        run ask "{\"op\":\"card_scrub\",\"uuid\":\"$name\"}"
        [ "$status" = 7 ]
        [[ $output == *"not made by the platform"* ]]
    done
    run start one 1 1 'sleep 100' "$(slice 3g.40gb@4 40448)"
    [ "$status" = 7 ]
    grep -q theirs "$HOME_DIR/state/cards/$A/sliced/3g.40gb@4"
    # Beside it there is room, also after a kill.
    start two 1 1 'sleep 100' "$(slice 1g.10gb@0)"
    stop_runner KILL
    start_runner
    [ "$(card $A '[.layout, .foreign_slices]')" = '["1g.10gb@0 3g.40gb@4","3g.40gb@4"]' ]
    run ask "{\"op\":\"card_scrub\",\"uuid\":\"$A/cleared\"}"
    [ "$status" = 7 ]
    op remove two 1
    ask "{\"op\":\"card_scrub\",\"uuid\":\"$A/cleared\"}" >/dev/null
    [ "$(card $A '[.sliced, .foreign_slices, .change_failure]')" = '[false,"",""]' ]
}

@test "a runner that was killed knows its slices" {
    cut
    start one 1 1 'sleep 100' "$(slice 3g.40gb@4 40448)"
    stop_runner KILL
    start_runner
    [ "$(card $A '[.sliced, .holders[0].slice]')" = '[true,"3g.40gb@4"]' ]
    run start two 1 2 'sleep 100' "$(slice 1g.10gb@5)"
    [ "$status" = 7 ]
}
