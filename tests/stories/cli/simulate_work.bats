#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A planner tries an estate before it is bought.

load ../words

setup() {
    repo=$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)
    bulkhead=$repo/build/${BUILD:-debug}/bulkhead
    work=$repo/examples/simulate
}

@test "the example's report has waits, use and no broken rule" {
    run "$bulkhead" simulate "$work/estate.json" "$work/work.csv" --until 6h
    [ "$status" = 0 ]
    [[ $output == *"violations"*" 0"* && $output == *vision* ]]
    run "$bulkhead" simulate "$work/estate.json" "$work/work.csv" --until 6h -o json
    [ "$(jq .violation_count <<<"$output")" = 0 ]
    [ "$(jq .work.submitted <<<"$output")" -gt 100 ]
    [ "$(jq .cards.total <<<"$output")" = 112 ]
}

@test "gcc and clang decide the same" {
    clang=$repo/build/clang/bulkhead
    [ -x "$clang" ] || skip "there is no build by clang"
    digest() { "$1" simulate "$work/estate.json" "$work/work.csv" --until 3h -o json | jq -r .digest; }
    [ "$(digest "$bulkhead")" = "$(digest "$clang")" ]
}

@test "a mistake names file, place and value" {
    printf 'at_s,project,class,run_s\n0,nobody/nothing,h100.1,10\n' >"$BATS_TEST_TMPDIR/work.csv"
    run "$bulkhead" simulate "$work/estate.json" "$BATS_TEST_TMPDIR/work.csv"
    [ "$status" = 2 ]
    [[ $output == *"work.csv: line 2: there is no project \"nobody/nothing\""* ]]
    run "$bulkhead" simulate "$BATS_TEST_TMPDIR/absent.json" "$work/work.csv"
    [ "$status" != 0 ]
    [[ $output == *absent.json* ]]
}
