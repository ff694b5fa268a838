#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Anybody measures the placement policy on the traces, without a server.

load ../lib

simulate() { "$BULKHEAD" simulate openb --data "$ROOT/data/openb" "$@"; }
setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)
    BULKHEAD=$ROOT/build/${BUILD:-debug}/bulkhead
}

@test "one trace is played, and the policy fills more than the published FGD" {
    run simulate --traces multigpu20 --seeds 1 -o json
    [ "$status" -eq 0 ]
    jq -e '.items[0].policy.alloc_130_milli_percent > .items[0].published_fgd_130_milli_percent' <<<"$output"
    jq -e '.items[0].policy.alloc_130_milli_percent < 100000' <<<"$output"
}

@test "two runs decide the same" {
    first=$(simulate --traces gpushare100 --seeds 1 --mix cold -o json | jq -r '.items[0].policy.digest')
    again=$(simulate --traces gpushare100 --seeds 1 --mix cold --threads 1 -o json | jq -r '.items[0].policy.digest')
    [ ${#first} -eq 16 ]
    [ "$first" = "$again" ]
}

@test "pods come and go at their own times" {
    run simulate --traces default --seeds 1 --replay -o json
    [ "$status" -eq 0 ]
    jq -e '.items[0].policy.placed_milli_percent > 99000' <<<"$output"
}

@test "what is wrong is refused with the way out" {
    run simulate --traces nosuch
    [ "$status" -ne 0 ]
    [[ $output == *"--data names a folder"* ]]
    run simulate --seeds 5-1
    [ "$status" -eq 2 ]
    [[ $output == *'0 <= A <= B'* ]]
    run simulate --mix guessed
    [ "$status" -eq 2 ]
    [[ $output == *"known, learnt, cold"* ]]
    run simulate --arrive 0
    [ "$status" -eq 2 ]
    run simulate --traces multigpu20 --replay
    [ "$status" -eq 2 ]
    [[ $output == *"no times to replay"* ]]
}
