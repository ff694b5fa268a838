#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Elastic gangs: they grow into what is free, and shrink for who has a right.

load ../lib

setup_file() { install_bulkhead bsg; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

# A member of a team: says how many they are whenever it is told, and leaves
# when it is asked to.
member='tell() {
    [ ! -e "$BULKHEAD_NOTICE" ] || { echo "asked to leave"; exit 0; }
    echo "now $(sed "s/.*\"instances\": *\([0-9]*\).*/\1/" "$BULKHEAD_GANG")"
}
trap tell USR1
echo "number $BULKHEAD_NUMBER of $BULKHEAD_INSTANCES"
while :; do sleep 0.1; done'
has_size() { [ "$(of "$1" "$2" instances_now)" = "$3" ]; }
log_says() { alice logs team | grep -qx "$1"; }

@test "a gang grows to its limit, shrinks for a guarantee and grows again [S6]" {
    quota cards -t research -g 0 -l 3
    quota cards -t vision -g 2 -l 4
    runs alice team -c $h100 -n 1..4 --grace 20s -- /bin/sh -c "$member"
    becomes alice team running
    soon has_size alice team 3
    # It is charged with what it has, and was told.
    soon log_says "now 3"
    log_says "number 0 of 1"
    run alice explain team
    says "3 instances of 1 to 4" "limit"
    # One card is free, one has to come from the surplus: the gang runs on.
    runs vera claim -c $h100 -n 2 -- "${stay[@]}"
    becomes vera claim running
    has_size alice team 2
    [ "$(state alice team)" = running ]
    [ "$(of alice team preemptions)" = 0 ]
    soon log_says "now 2"
    run alice get workload team -o json
    says guarantee
    vera cancel claim -q
    soon has_size alice team 3
    [ "$(of alice team attempt)" = 1 ]
}

@test "replicas that each need a node of their own are refused on one node" {
    quota cards -t research -g 0 -l 3
    run alice submit front -i demo -c $h100 -n 2 --spread node -- /bin/true
    [ "$status" != 0 ]
    says "at most 1 on one node" "could hold 1"
    runs alice near -c $h100 -n 2 --spread node:1:preferred -- "${stay[@]}"
    becomes alice near running
    refused 2 alice submit front -i demo -c $h100 -n 2 --spread rack -- /bin/true
    says "must be one of: node, leaf"
}

@test "a most below the least, and an island for a gang that grows, are refused" {
    quota cards -t research -g 0 -l 3
    refused 2 alice submit team -i demo -c $h100 -n 3..2 -- /bin/true
    says "less than /instances"
    refused 2 alice submit team -i demo -c $h100 -n 1..3 --topology island -- /bin/true
    says "part of a node"
    refused 2 alice submit team -i demo -c $h100 -n 2.. -- /bin/true
    says "LEAST..MOST"
}
