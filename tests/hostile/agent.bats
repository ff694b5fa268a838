#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A node is lost to an attacker who has its key: what is old, foreign, forged
# or no message at all is refused and changes nothing.

load ../stories/api/common

agent=$BATS_TEST_DIRNAME/../../build/${BUILD:-debug}/tests/hostile/agent
work=/tenants/research/projects/work

# enrol NODE: a node by that name that does what it is told
enrol() {
    must root POST /pools/default/jointokens "{\"node\":\"$1\"}" 201
    field .token >"$home/join.$1"
    "$agent" "$home/api.sock" "$home/$1" "$1" "$home/join.$1" 2>>"$home/agent.log" 3>&- &
    echo $! >"$home/pid.$1"
}

# Both nodes work, each has an instance that runs; only node-2 is the liar.
setup() {
    [ ! -e "$home/ready" ] || return 0
    enrol node-1
    enrol node-2
    soon has_cards
    join dev research $work developer
    # All of the cards may be one tenant's.
    as root PATCH /platform '{"tenant_limit_permille":1000}' -H 'If-Match: *'
    [ "$status" = 200 ]
    must root POST /tenants/research/quotas '{"dimension":"cards","limit":4000}' 201
    must root POST /classes '{"name":"one","count":1,"model":"X"}' 201
    for i in 1 2 3 4; do
        must dev POST $work/workloads "{\"name\":\"job$i\",\"image\":\"demo\",\"class\":\"one\",\"cpu_milli\":100,\"memory_mib\":64,\"grace_ms\":0,\"spec\":{\"command\":[\"true\"]}}" 201
    done
    soon all_run
    instances_on node-1 >"$home/theirs"
    instances_on node-2 >"$home/ours"
    touch "$home/ready"
}
has_cards() { as root GET /cards && [ "$(field '[.items[] | select(.handover == "clean")] | length')" = 4 ]; }
all_run() { as dev GET $work/workloads && [ "$(field '[.items[] | select(.state == "running")] | length')" = 4 ]; }
node_id() { as root GET "/pools/default/nodes/$1" && field .id; }
card_of() { as root GET "/nodes/$(node_id "$1")/cards" && field '.items[0].uuid'; }
instances_on() {
    local i node
    node=$(node_id "$1")
    for i in 1 2 3 4; do
        as root GET "$work/workloads/job$i/instances"
        field ".items[] | select(.node == \"$node\") | \"\\(.id)@\\(.incarnation)\""
    done
}

teardown_file() {
    kill "$(cat "$home/pid.node-1")" "$(cat "$home/pid.node-2")"
    stop_daemon TERM
}

# What must not move: cards, instances, bindings, workloads, volumes.
facts() {
    local table
    for table in card instance binding workload volume allocation; do
        sqlite3 -json "$home/data/store/bulkhead.db" "select * from $table order by 1" 2>/dev/null |
            jq -c '.[] | del(.used_ms)'
    done
}
# lie WHAT...: as node-2; sets said
lie() { said=$("$agent" "$home/api.sock" "$home/node-2" lie "$@"); }
# fact WHAT...: a lie that is taken as a message and refused as a fact.  The
# true agent beside it may have used the liar's number in between: once more.
fact() {
    local i
    for i in 1 2 3 4 5 6 7 8 9; do
        refused 200 "$@" && return 0
        [[ $said == "409 conflict the sequence was used before" ]] || return 1
    done
    return 1
}

# refused STATUS WHAT...: with that status, and nothing moves
refused() {
    local wanted=$1
    shift
    facts >"$home/before"
    lie "$@"
    facts >"$home/after"
    diff "$home/before" "$home/after" || return 1
    [[ $said == "$wanted "* ]] || { echo "$*: wanted $wanted, not $said"; return 1; }
}

@test "nothing old, foreign or forged is taken from a node" {
    refused 409 replay
    refused 409 reordered
    refused 409 old-sequence
    refused 401 old-epoch
    refused 401 next-epoch
    refused 401 other-boot
    refused 401 other-node "$(node_id node-1)"
    refused 401 other-key
    refused 401 changed-body
    refused 401 no-signature
    refused 401 short-signature
    refused 401 negative-sequence
    refused 401 last-sequence
}

@test "what is no message is refused as a whole" {
    for what in garbage deep empty twice unknown-field; do
        refused 400 $what
    done
    refused 413 huge
    refused 400 many-cards
}

@test "a scrub that nobody ordered cleans no card" {
    facts >"$home/before"
    lie scrub - "$(card_of node-2)"
    facts >"$home/after"
    diff "$home/before" "$home/after"
}

# alarmed CODE: an alarm about the liar has been raised, whether or not the
# next true message ended it
alarmed() {
    as root GET "/nodes/$(node_id node-2)/alarms"
    field ".items[] | select(.code == \"$1\") | .text"
}
suspected() { [ -n "$(alarmed "$1")" ]; }
stands() {
    as root GET "/nodes/$(node_id node-2)/alarms"
    [ "$(field ".items[] | select(.code == \"$1\" and .cleared_ms == null) | .code")" = "$1" ]
}
# All that node-2 has but the first: what else an honest list would name.
rest() { sed 1d "$home/ours"; }

@test "CPU time that the node cannot have had is not counted and an alarm says so until somebody looked" {
    fact inflate "$(head -n 1 "$home/ours")" - $(rest)
    [[ $(alarmed report.inflated) == *"more than it can have had"* ]]
    # The node goes on saying what is true; that ends nothing.
    sleep 0.5
    stands report.inflated
    must root POST "/nodes/$(node_id node-2)/alarms/clear" '{"code":"report.inflated"}' 200
    not stands report.inflated
}

@test "another node's instance is not ended, run or released by a liar" {
    them=$(head -n 1 "$home/theirs")
    fact foreign-exit "$them" - $(cat "$home/ours")
    fact foreign-instance "$them" - $(cat "$home/ours")
    [[ $(alarmed report.instance) == *"${them%@*}, which is not assigned to it"* ]]
    fact release "$them" "$(card_of node-1)"
}

@test "an incarnation that was never ordered is not taken" {
    fact incarnation "$(head -n 1 "$home/ours")" - $(rest)
    suspected report.incarnation
}

@test "a release of what still runs frees no card, nor does one that leaves a card out" {
    us=$(head -n 1 "$home/ours")
    fact release "$us" "$(card_of node-2)"
    stands report.release
    fact release-no-cards "$us"
    fact release-incarnation "$us" "$(card_of node-2)"
}

@test "a card of another node is not taken over and a card does not change its make" {
    fact stolen-card - "$(card_of node-1)"
    [[ $(alarmed report.card) == *"$(card_of node-1)"* ]]
    fact other-make
}
