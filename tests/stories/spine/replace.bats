#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A card falls off the bus under a gang, after a while that the estate says: the
# gang goes on with what it has and one card more, before others.

load ../lib

gone=SIM-GPU-5b1c0000-1000

setup_file() {
    local estate
    estate=$(mktemp)
    jq --arg u "$gone" \
        '.events = [{"at_ms": 40000, "uuid": $u, "event": "lost"}]' \
        "$BATS_TEST_DIRNAME/../../../data/estates/demo.json" >"$estate"
    install_bulkhead bsp "$estate"
    rm "$estate"
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why; }

card() { admin get cards -o json | jq -r ".items[] | select(.uuid == \"$gone\") | $1"; }
is_gone() { [ "$(card '.health == "failed" or .missing')" = true ]; }
goes_on() { [ "$(of alice team attempt)" = 2 ] && [ "$(state alice team)" = running ]; }
used() { admin get quotas -t research -o json | jq '.items[] | select(.dimension == "cards") | .used'; }

@test "a gang whose card fails goes on with another, before who waits and within its quota [S41]" {
    quota cards -t research -g 0 -l 3
    quota cards -t vision -g 0 -l 4
    runs alice team -c $h100 -n 3 -- sleep 7788
    becomes alice team running
    runs vera big -c $h100 -n 2 -- "${stay[@]}"
    becomes vera big queued
    # One of the four is free; the one that fails is the gang's.
    [ "$(card .used_milli)" = 1000 ]
    WITHIN=90 soon is_gone
    [ "$(state alice team)" = running ]
    # A member ends of it, as a program does whose card is gone.
    kill -9 "$(pgrep -of '^sleep 7788')"
    WITHIN=60 soon goes_on
    [ "$(used)" = 3000 ]
    [ "$(card .used_milli)" = 0 ]
    # It cost none of its restarts, and nobody came before it.
    [ "$(of alice team failures)" = 0 ]
    [ "$(state vera big)" = queued ]
}
