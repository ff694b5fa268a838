#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Faults that users of other schedulers met, asked of a whole installation:
# with real containers, and with the control plane killed in the middle.

load ../lib

setup_file() {
    install_bulkhead bsx
    admin create class half model=H100-80GB form=soft milli=500 memory_mib=1000 -q
}
teardown_file() { remove_bulkhead; }
teardown() {
    tell_why && everything_ends && no_quota -t research && no_quota -t vision &&
        no_quota -t research -p language --level project
}

kill_bulkheadd() {
    kill -KILL $(cat "/proc/$(cat "$run/bulkheadd.pid")/task/"*/children)
    soon installation_ready
}
used_of() { admin get quotas -t research "${@:2}" -o json | jq "[.items[] | select(.dimension == \"$1\") | .used][0]"; }
free_cards() { admin get cards -o json | jq '[.items[] | select(.used_milli == 0)] | length'; }

@test "what one victim frees is spent once, across a restart [S1]" {
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 2 -l 4
    runs alice all -c $h100 -n 4 -- "${stay[@]}"
    becomes alice all running
    runs vera first -c $h100 -n 2 -- "${stay[@]}"
    runs vera second -c $h100 -- "${stay[@]}"
    kill_bulkheadd
    becomes vera first running
    soon is state alice all queued
    # The two that are left are no guarantee's, so the head of the queue that
    # fits gets one; nothing is stopped for it.
    soon is count vera running 2
    [ "$(of alice all preemptions)" = 1 ]
    check_is_clean
}

@test "a quota that is dropped and made again knows what runs [S4] [S12]" {
    quota cards -t research -g 0 -l 4
    quota memory -t research -p language --level project -l 64
    runs alice holder -c $h100 -- "${stay[@]}"
    becomes alice holder running
    no_quota -t research -p language --level project
    no_quota -t research
    kill_bulkheadd
    quota cards -t research -g 0 -l 1
    quota memory -t research -p language --level project -l 64
    [ "$(used_of cards)" = 1000 ]
    [ "$(used_of memory -p language --level project)" = 64 ]
    runs alice more -c $h100 -- /bin/true
    kill_bulkheadd
    [ "$(used_of cards)" = 1000 ]
    [ "$(state alice more)" = gated ]
    alice cancel holder -q
    becomes alice more succeeded
    check_is_clean
}

@test "of nine halves at once eight fill four cards [S34]" {
    quota cards -t research -g 0 -l 4
    for i in $(seq 9); do
        runs alice "half$i" -c half -- "${stay[@]}" 3>&- &
    done
    wait
    soon is count alice running half 8
    [ "$(admin get cards -o json | jq '[.items[].used_milli] | max')" = 1000 ]
    [ "$(count alice gated half)" = 1 ]
    runs vera other -c half -- /bin/true
    [ "$(state vera other)" = queued ] || [ "$(state vera other)" = gated ]
    check_is_clean
}

@test "a guarantee that is cut turns into what can be taken back [S17]" {
    quota cards -t research -g 4 -l 4
    for i in 1 2 3 4; do runs alice "own$i" -c $h100 -- "${stay[@]}"; done
    soon is count alice running own 4
    quota cards -t research -g 1 -l 4
    quota cards -t vision -g 3 -l 3
    runs vera peer -c $h100 -n 3 -- "${stay[@]}"
    becomes vera peer running
    [ "$(count alice running own)" = 1 ]
    check_is_clean
}

@test "a reason with an age is there at all times, and another tenant's fault is not it [S49] [S58]" {
    quota cards -t research -g 0 -l 1
    quota cards -t vision -g 0 -l 4
    runs alice runs -c $h100 -- "${stay[@]}"
    becomes alice runs running
    runs alice waits -c $h100 -- /bin/true
    for _ in $(seq 20); do
        alice get workload waits -o json |
            jq -e '.reason != "none" and (.reason_text | length > 10) and .state_ms != null' >/dev/null
    done
    admin set tenant research state=suspended -q
    soon is of_admin waits reason suspended
    runs vera good -c $h100 -- /bin/true
    becomes vera good succeeded
    admin set tenant research state=active -q
    alice cancel runs -q
    becomes alice waits succeeded
}
of_admin() { admin get workload "$1" -t research -p language -o json | jq -r ".$2"; }

@test "a priority that a tenant may not have comes by no way [A6]" {
    quota cards -t research -g 0 -l 1
    refused 5 admin create priority crisis value=1000 preempt_across=true
    admin break glass --reason "nobody else is here yet" -q
    admin create priority crisis value=1000 preempt_across=true -q
    refused 3 runs alice grand -c $h100 --priority crisis -- /bin/true
    runs alice modest -c $h100 -- "${stay[@]}"
    becomes alice modest running
    refused 2 alice set workload modest priority=crisis
    says priority
    [ "$(of alice modest state)" = running ]
}
