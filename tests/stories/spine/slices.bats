#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two tenants on one card, each in a hard slice of its own.

load ../lib

setup_file() { install_bulkhead bsl; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

three=a100-40g.3g20gb
sliced() { admin cards -o json | jq "[.items[] | select(.sliced) | .name] | length"; }
whole_again() { [ "$(admin cards -o json | jq '[.items[] | select(.slices != "")] | length')" = 0 ]; }
slice_of() { admin cards -o json | jq -r '.items[] | select(.slices != "") | .slices'; }
kill_bulkheadd() {
    kill -KILL $(cat "/proc/$(cat "$run/bulkheadd.pid")/task/"*/children)
    soon installation_ready
}

@test "two tenants run on slices of one card" {
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 0 -l 4
    runs alice left -c $three -- /bin/sh -c 'echo secret >/dev/bulkhead/card0; echo $BULKHEAD_CARDS; sleep 60'
    becomes alice left running
    runs vera right -c $three -- /bin/sh -c 'tr -d "\000" </dev/bulkhead/card0 | wc -c; echo $BULKHEAD_CARDS $BULKHEAD_CARD_MEMORY_MIB; sleep 60'
    becomes vera right running
    [ "$(sliced)" = 1 ]
    [ "$(slice_of)" = "3g.20gb@4 3g.20gb@0" ]
    # 428 of 1000 each: three of seven parts.
    [ "$(admin cards -o json | jq '[.items[].used_milli] | add')" = 856 ]
    run alice logs left
    says card0
    run vera logs right
    says "card0 19968"
    run admin cards -o wide
    says "3g.20gb@4 3g.20gb@0"
    check_is_clean
}

@test "a slice passes to another tenant clean, and a kill in between loses nothing" {
    runs alice first -c $three -- /bin/sh -c 'echo secret >/dev/bulkhead/card0; sleep 2'
    becomes alice first running
    kill_bulkheadd
    becomes alice first succeeded
    soon whole_again
    runs vera next -c $three -- /bin/sh -c 'tr -d "\000" </dev/bulkhead/card0 | wc -c'
    becomes vera next succeeded
    [ "$(vera logs next)" = 0 ]
    check_is_clean
}

@test "a card is made whole for a gang when its slices are gone" {
    runs vera ones -n 3 -c a100-40g.1g5gb -- "${stay[@]}"
    becomes vera ones running
    runs alice all -n 4 -c a100-40g.1 -- /bin/true
    soon is state alice all queued
    vera cancel ones -q
    # The card is made whole for the gang.
    becomes alice all succeeded
    [ "$(sliced)" = 0 ]
    check_is_clean
}

@test "a class of slices that no card has is refused with the way out" {
    refused 2 admin create class odd form=hard model=A100-40GB profile=3g.40gb
    says 'profile "3g.40gb"'
    refused 2 admin create class odd form=hard model=A100-40GB profile=3g.20gb milli=1
    says "leave milli"
}

@test "an island is waited for, and refused when none is that large" {
    runs alice close -n 4 -c h100-80g.1 --topology island -- /bin/true
    becomes alice close succeeded
    run alice submit far "${small[@]}" -n 5 -c h100-80g.1 --topology island -- /bin/true
    [ "$status" != 0 ]
    says "on one island, pool"
    refused 2 alice submit odd "${small[@]}" -c h100-80g.1 --topology rack -- /bin/true
    says "pool, leaf, node, numa, switch, island"
}
