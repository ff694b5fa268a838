#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ./up takes the cards that a vendor's library knows, and says which it took.

load ../words

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
    export STUB=$PWD/build/${BUILD:-debug}/tests/stub
    [ -e "$STUB/nvml_world" ] || skip "the stub of the library is not built: make test-stories does"
    BULKHEAD_DATA=$(mktemp -d /var/lib/bulkhead-up.XXXXXX)
    BULKHEAD_RUN=$BULKHEAD_DATA/run
    BULKHEAD_PORT=$((20000 + RANDOM % 10000))
    export BULKHEAD_DATA BULKHEAD_RUN BULKHEAD_PORT BUILD=${BUILD:-debug}
    export STUB_NVML=$BULKHEAD_DATA/world
    "$STUB/nvml_world" "$STUB_NVML" 2
    mkdir "$BULKHEAD_DATA/none"
}

teardown_file() {
    [ -n "${BULKHEAD_DATA:-}" ] || return 0
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
    ./up --stop >/dev/null 2>&1
    rm -rf "$BULKHEAD_DATA"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
}

admin() {
    BULKHEAD_CONTEXT=$BULKHEAD_DATA/people/admin.json "$BULKHEAD_DATA/bin/bulkhead" "$@"
}
cards() {
    admin get cards -o json | jq -c "[.items[] | select(.missing | not) | $1] | unique"
}

@test "real cards are taken where a library knows some, without the main job" {
    run env BULKHEAD_LIBRARIES="$STUB/nvml" ./up 3>&-
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *"== start (real cards: 2 x NVIDIA A100-SXM4-40GB)"* ]]
    [[ $output == *"The main job is for simulated cards"* ]]
    [[ ${lines[-1]} == "up: ok in "* ]]
    [ "$(cards '[.model, .simulated]')" = '[["NVIDIA A100-SXM4-40GB",false]]' ]
    [ "$(admin get cards -o json | jq '.items | length')" = 2 ]
    [ "$(jq -c '[.accel, .libraries]' "$BULKHEAD_DATA/policy.json")" = "[\"vendor\",\"$STUB/nvml\"]" ]
    not admin get tenant demo
}

@test "without a library it is as it was: simulated cards, and it says so" {
    ./up --stop >/dev/null
    run env BULKHEAD_LIBRARIES="$BULKHEAD_DATA/none" ./up --start 3>&-
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *"simulated cards: data/estates/demo.json; no vendor's library knows a real one"* ]]
    soon eval '[ "$(cards .simulated)" = "[true]" ]'
    [ "$(jq -c '[.accel, .libraries]' "$BULKHEAD_DATA/policy.json")" = '["sim",null]' ]
}

@test "simulated cards can be asked for where there are real ones" {
    ./up --stop >/dev/null
    run env BULKHEAD_LIBRARIES="$STUB/nvml" ./up --start --sim data/estates/demo.json 3>&-
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *"== start (simulated cards: data/estates/demo.json)"* ]]
}
