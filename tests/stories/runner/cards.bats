#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Simulated cards: who has them, who is on them, are they clean.

load common

A=SIM-GPU-5b1c0000-1000
B=SIM-GPU-5b1c0001-1001

setup_file() {
    make_home brcards
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    exec 9>&- || true
    forget_all
}

card() {
    ask '{"op":"cards"}' | jq -c ".cards[] | select(.uuid == \"$1\") | $2"
}

@test "the estate's cards are listed and said to be simulated" {
    answer=$(ask '{"op":"cards"}')
    [ "$(echo "$answer" | jq -c '[.simulated, (.cards | length)]')" = '[true,8]' ]
    [ "$(card $A '[.model, .memory_mib, .health, .processes]')" = '["H100-80GB",81559,"healthy",[]]' ]
}

@test "an instance sees its own card and no other, from inside" {
    start one 1 1 'ls /dev/bulkhead; echo $BULKHEAD_CARDS $BULKHEAD_CARD_MEMORY_MIB $BULKHEAD_SIMULATED
        find / -xdev -name "*5b1c0001*" 2>/dev/null
        find /dev /sys -type b -o -type c -name "device*" 2>/dev/null
        grep -c 5b1c000 /proc/self/mountinfo; grep -c 5b1c000 /proc/self/environ; cat /proc/devices; ls /proc/driver /proc/bus' \
        "{\"cards\": [\"$A\"]}"
    start two 1 2 'ls /dev/bulkhead; ps | grep -c sleep; sleep 100' "{\"cards\": [\"$B\"]}"
    [ "$(ended one)" != running ]
    [ "$(log_of one 1)" = "$(printf '%s\n' card0 device0 "card0 81559 1" \
        /dev/bulkhead/device0 0 0 /proc/bus: '' /proc/driver:)" ]
    says two 1 device0
    # Its control group allows its own device and not the neighbour's.
    for list in /sys/fs/cgroup/devices/brcards/*/devices.list; do
        [ -e "$list" ] || skip "device rules of v2 cannot be read back"
        [ "$(grep -c '^c 245:' "$list")" = 1 ]
    done
}

@test "a card is held by one instance until that is removed" {
    start one 1 1 'exit 0' "{\"cards\": [\"$A\"]}"
    [ "$(ended one)" = 0 ]
    run start two 1 1 true "{\"cards\": [\"$A\"]}"
    [ "$status" = 7 ]
    [ "$(card $A '.holders[0].instance')" = '"one"' ]
    op remove one 1
    start two 1 1 true "{\"cards\": [\"$A\"]}"
}

@test "of starts at once that want one card a single one gets it" {
    for i in 1 2 3 4; do
        start "at-once-$i" 1 1 'sleep 100' "{\"cards\": [\"$A\"]}" \
            >/dev/null 2>&1 && echo got >>"$BATS_TEST_TMPDIR/got" &
    done
    wait $(jobs -p) || true
    [ "$(wc -l <"$BATS_TEST_TMPDIR/got")" = 1 ]
    [ "$(ask '{"op":"list"}' | jq '.instances | length')" = 1 ]
}

@test "soft shares: the sum of memory holds, and never two tenants" {
    start one 1 1 'sleep 100' "{\"cards\": [\"$A\"], \"card_memory_mib\": 50000}"
    start two 1 1 'echo $BULKHEAD_CARD_MEMORY_MIB; sleep 100' "{\"cards\": [\"$A\"], \"card_memory_mib\": 31559}"
    says two 1 31559
    run start three 1 1 'sleep 100' "{\"cards\": [\"$A\"], \"card_memory_mib\": 1}"
    [ "$status" = 7 ]
    op remove two 1
    run start four 1 2 'sleep 100' "{\"cards\": [\"$A\"], \"card_memory_mib\": 1}"
    [ "$status" = 7 ]
    run start five 1 1 'sleep 100' "{\"cards\": [\"$A\"]}"
    [ "$status" = 7 ]
}

@test "what runs is not released, though it never opened its card" {
    start idle 1 1 'sleep 100' "{\"cards\": [\"$A\"]}"
    [ "$(op release_check idle 1 | jq .released)" = false ]
    op kill idle 1
    [ "$(op release_check idle 1 | jq .released)" = true ]
    op remove idle 1
}

@test "[S45] a process on a card is seen with its owner; one that is nobody's makes it not free" {
    start one 1 1 'exec 5<>/dev/bulkhead/card0; echo open; sleep 100' "{\"cards\": [\"$A\"]}"
    says one 1 open
    [ "$(card $A '.processes | map(.owner) | unique')" = '["one"]' ]
    [ "$(op release_check one 1 | jq .released)" = false ]
    op kill one 1
    [ "$(op release_check one 1 | jq .released)" = true ]
    op remove one 1
    [ "$(op release_check one 1 | jq -c '[.released, .cards[0].uuid]')" = "[true,\"$A\"]" ]
    exec 9<>"$HOME_DIR/state/cards/$A/memory"
    [ "$(card $A '.processes | map(.owner) | unique')" = '["foreign"]' ]
    run start two 1 1 true "{\"cards\": [\"$A\"]}"
    [ "$status" = 7 ]
    ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}" >"$BATS_TEST_TMPDIR/scrub"
    [ "$(jq -c '[.verified, .steps[-1].step, .steps[-1].good]' "$BATS_TEST_TMPDIR/scrub")" = '[false,"wait",false]' ]
    [[ $(jq -r .text "$BATS_TEST_TMPDIR/scrub") == "wait: "*" processes are on the card"* ]]
    exec 9>&-
    # What could not be handed over is nobody's before it was.
    run start two 1 1 true "{\"cards\": [\"$A\"]}"
    [ "$status" = 7 ]
    [ "$(ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}" | jq .verified)" = true ]
    start two 1 1 true "{\"cards\": [\"$A\"]}"
}

@test "what one tenant left in a card's memory is there until the scrub, not after" {
    start one 1 1 'echo secret >/dev/bulkhead/card0' "{\"cards\": [\"$A\"]}"
    [ "$(ended one)" = 0 ]
    run ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}"
    [ "$status" = 7 ]
    op remove one 1
    grep -q secret "$HOME_DIR/state/cards/$A/memory"
    [ "$(ask "{\"op\":\"card_scrub\",\"uuid\":\"$A\"}" | jq -c '[.verified, .scrubbed_bytes, .simulated]')" = '[true,4194304,true]' ]
    start two 1 2 'tr -d "\000" </dev/bulkhead/card0 | wc -c' "{\"cards\": [\"$A\"]}"
    [ "$(ended two)" = 0 ]
    [ "$(log_of two 1)" = 0 ]
}

@test "a card's memory cannot be made larger than the card" {
    start one 1 1 'dd if=/dev/zero of=/dev/bulkhead/card0 bs=1M seek=4 count=64' "{\"cards\": [\"$A\"]}"
    [ "$(ended one)" != 0 ]
    [ "$(du -m "$HOME_DIR/state/cards" | tail -1 | cut -f1)" -le 33 ]
}

@test "health is read anew: an ill card says so" {
    jq '(.cards[] | select(.uuid == "'$B'") | .health) = "degraded"' \
        "$HOME_DIR/estate.json" >"$HOME_DIR/estate.new"
    mv "$HOME_DIR/estate.new" "$HOME_DIR/estate.json"
    [ "$(card $B .health)" = '"degraded"' ]
}
