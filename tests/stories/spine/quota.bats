#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Limits and guarantees, with real containers behind them.

load ../lib

setup_file() { install_bulkhead bsq; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

speech() { bulkhead_as alice -t research -p speech "$@"; }
used_cards() { admin get cards -o json | jq '[.items[].used_milli] | add / 1000'; }

@test "of sixteen submissions at once four are admitted under a limit of four [S2]" {
    quota cards -t research -g 0 -l 4
    for i in $(seq 16); do
        runs alice "crowd$i" -c $([ $((i % 2)) = 0 ] && echo $h100 || echo $a100) -- \
            /bin/sleep 60 3>&- &
    done
    wait
    soon is count alice running 4
    # What is too much never gets in, whoever looks when.
    for _ in 1 2 3 4 5; do
        [ "$(used_cards)" -le 4 ]
        sleep 0.2
    done
    [ "$(count alice gated)" = 12 ]
    run alice queue -o json
    [ "$(jq '[.items[] | select(.reason == "limit" and .have == 4000 and .limit == 4000 and .need == 1000)] | length' <<<"$output")" = 12 ]
    check_is_clean
}

@test "two projects below a parent's limit share it [S3]" {
    quota cards -t research -g 0 -l 3
    admin create project speech -t research class=research -q
    id=$(admin get user alice -t research -o json | jq -r .id)
    admin create grant -t research -p speech --level project "subject=$id" role=developer -q
    quota cards -t research -p language --level project -g 0 -l 3
    quota cards -t research -p speech --level project -g 0 -l 3
    for i in 1 2; do
        runs alice "left$i" -c $h100 -- "${stay[@]}"
        runs speech "right$i" -c $h100 -- "${stay[@]}"
    done
    soon is used_cards 3
    soon is count alice running 2
    run speech get workload right2 -o wide
    says gated "tenant research uses 3 cards of its limit of 3 cards"
    speech cancel right1 -q
    becomes speech right2 running
    speech cancel right2 -q
    becomes speech right2 cancelled
    no_quota -t research -p language --level project
    no_quota -t research -p speech --level project
    check_is_clean
}

@test "gated work says why and starts by itself when room is made" {
    quota cards -t research -g 0 -l 1
    runs alice first -c $h100 -- "${stay[@]}"
    becomes alice first running
    runs alice second -c $h100 -- /bin/echo here
    [ "$(state alice second)" = gated ]
    run alice explain second
    says limit "tenant research"
    alice cancel first -q
    becomes alice second succeeded
    [ "$(alice logs second)" = here ]
    [ "$(of alice second reason)" = none ]
}

@test "the impossible is refused at once with its numbers and leaves nothing" {
    quota cards -t research -g 0 -l 2
    refused 8 runs alice five -c $h100 -n 5 -- /bin/true
    says "5 instances" "pool default could hold 4"
    refused 8 runs alice three -c $h100 -n 3 -- /bin/true
    says "3 cards needed" "tenant research is 2 cards in all" never
    refused 8 runs alice fat -c $h100 -m 900t -- /bin/true
    refused 2 runs alice unknown -c no-such-class -- /bin/true
    refused 2 runs alice less -c $h100 -n -1 -- /bin/true
    refused 2 runs alice much -c $h100 -m 9223372036854775808 -- /bin/true
    [ "$(alice get workloads -o json | jq '.items | length')" = 0 ]
}

@test "work that may not be stopped stays within the guarantee [S15]" {
    quota cards -t research -g 1 -l 4
    admin create class most model=H100-80GB form=soft milli=600 memory_mib=1000 -q
    runs alice safe1 -c most --no-preemptible -- "${stay[@]}"
    becomes alice safe1 running
    runs alice safe2 -c most --no-preemptible -- /bin/echo after
    [ "$(state alice safe2)" = gated ]
    run alice get workload safe2 -o wide
    says "not preemptible" "0.6 cards" "guarantee of 1 card"
    runs alice other -c most -- /bin/true
    becomes alice other succeeded
    [ "$(state alice safe2)" = gated ]
    alice cancel safe1 -q
    becomes alice safe2 succeeded
    quota cards -t research -g 0 -l 4
}

@test "the higher priority goes first, whoever came first" {
    quota cards -t research -g 0 -l 1
    # A research project has no production work.
    refused 3 runs alice grand -c $h100 --priority production -- /bin/true
    says "projects of class production" "bulkhead request priority"
    admin create priority urgent value=900 -q
    runs alice occupant -c $h100 -- "${stay[@]}"
    becomes alice occupant running
    runs alice late -c $h100 --priority research -- /bin/true
    runs alice soon -c $h100 --priority urgent -- /bin/true
    alice cancel occupant -q
    becomes alice late succeeded
    becomes alice soon succeeded
    [[ $(of alice soon started_ms) < $(of alice late started_ms) ]]
}

@test "held work waits for its release" {
    quota cards -t research -g 0 -l 1
    runs alice occupant -c $h100 -- "${stay[@]}"
    becomes alice occupant running
    runs alice kept -c $h100 -- /bin/true
    alice hold kept -q
    [ "$(of alice kept reason)" = held-by-user ]
    alice cancel occupant -q
    becomes alice occupant cancelled
    soon clean_cards
    [ "$(state alice kept)" = held ]
    alice release kept -q
    becomes alice kept succeeded
    refused 7 alice hold kept
    says succeeded
}

@test "card time that is promised counts against the month's quota" {
    quota cards -t vision -g 0 -l 4
    quota card_time -t vision -l 0.75
    runs vera half -c $h100 --max-run 30m -- "${stay[@]}"
    becomes vera half running
    runs vera more -c $h100 --max-run 30m -- /bin/true
    [ "$(state vera more)" = gated ]
    run vera get workload more -o wide
    says card-time card-hours "tenant vision"
    refused 8 runs vera never -c $h100 --max-run 1h -- /bin/true
    vera cancel half -q
    becomes vera more succeeded
    quota card_time -t vision -l none
}
