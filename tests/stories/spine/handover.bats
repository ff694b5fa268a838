#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# From one tenant to the next: what is recorded of it, and the way back of a
# card that could not be handed over.

load ../lib

setup_file() {
    install_bulkhead bho
    quota cards -t research -g 0 -l 4
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

where=/tenants/research/projects/language
# get PERSON PATH
get() {
    curl -s --unix-socket "$(api)" -H "Authorization: Bearer $(token "$1")" \
        "http://x/api/v1$2"
}
cleaned() { [ "$(get alice "$where/bindings" | jq '[.items[] | select(.cleaning.verified)] | length')" = "$1" ]; }
card_is() { [ "$(admin get card "$card" -o json | jq -r .handover)" = "$1" ]; }
# health WORD: of the card, as the estate says
health() {
    jq --arg h "$1" --arg u "$(admin get card "$card" -o json | jq -r .uuid)" \
        '(.cards[] | select(.uuid == $u) | .health) = $h' "$data/estate.json" >"$BATS_FILE_TMPDIR/estate"
    cat "$BATS_FILE_TMPDIR/estate" >"$data/estate.json"
}

@test "each step is recorded: all of it for operators, its own for the tenant" {
    runs alice w1 -c $h100 -- /bin/true
    becomes alice w1 succeeded
    soon cleaned 1
    get alice "$where/bindings" | jq -c '.items[0].cleaning' >"$BATS_TEST_TMPDIR/theirs"
    [ "$(jq -r '[.steps[] | .step] | join(" ")' "$BATS_TEST_TMPDIR/theirs")" = "release wait whole idle settle scrub probe" ]
    [ "$(jq '[.steps[] | select(.good and .from_ms <= .to_ms)] | length' "$BATS_TEST_TMPDIR/theirs")" = 7 ]
    # The only text is how it was cleaned; the card has no name there.
    [ "$(jq -c '[.steps[] | select(.text) | [.step, .text]]' "$BATS_TEST_TMPDIR/theirs")" = '[["scrub","simulated memory overwritten: A5, 00"]]' ]
    not grep -q SIM-GPU "$BATS_TEST_TMPDIR/theirs"
    card=$(get admin "$where/bindings" | jq -r '.items[0].card')
    run admin handover "$card"
    says "STEP" "wait" "scrub" "probe" "nobody is on it"
    refused 6 alice handover "$card"
    [ "$(get vera "$where/bindings" | grep -c cleaning || true)" = 0 ]
    check_is_clean
}

@test "a card that cannot be handed over is nobody's until a repair, and who begins anew is recorded" {
    card=$(admin cards -o json | jq -r '.items[0].id')
    health failed
    admin clear card "$card"
    soon card_is failed
    run admin handover "$card"
    says "probe" "the card is failed"
    run admin get alarms
    says "card.quarantined" "could not be handed over: probe: the card is failed"
    refused 6 alice clear card "$card"
    health healthy
    # Nobody declares it clean.
    run admin set card "$card" handover=clean
    [ "$status" -ne 0 ]
    says "a handover can only be asked for again"
    admin clear card "$card"
    soon card_is clean
    [ "$(admin get alarms -o json | jq '[.items[] | select(.code == "card.quarantined" and .cleared_ms == null)] | length')" = 0 ]
    run admin audit search --verb card.update
    says card.update
}
