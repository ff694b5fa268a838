#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Before they ask for more, people try what more would do.

load ../lib

setup_file() {
    install_bulkhead bsw
    quota cards -t research -g 0 -l 2
    quota cards -t vision -g 0 -l 4
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

@test "alice sees when her work would start, and what a higher limit changes" {
    runs alice first -c $h100 -n 2 --max-run 1h -- "${stay[@]}"
    becomes alice first running
    runs alice second -c $h100 -- "${stay[@]}"
    becomes alice second gated
    run alice what-if second -o json
    [ "$status" = 0 ]
    [ "$(jq -r '.starts | map(.name) | join(" ")' <<<"$output")" = second ]
    # An hour after the first one started, and its handover takes no time.
    started=$(date -d "$(of alice first started_ms)" +%s)
    at=$(date -d "$(jq -r '.starts[0].at' <<<"$output")" +%s)
    [ $((at - started)) = 3600 ]
    run alice what-if second --quota cards=3 --level tenant
    [ "$status" = 0 ]
    says "starts    second"
    [ "$(state alice second)" = gated ]
    run alice what-if -c $h100 -n 3
    says "refused:" "could hold 2"
}

kill_bulkheadd() {
    kill -KILL $(cat "/proc/$(cat "$run/bulkheadd.pid")/task/"*/children)
}
expects() { [ "$(of "$1" "$2" estimate.none)" = "$3" ]; }

@test "who waits sees when it starts, or why nobody can say, after a restart too" {
    runs alice first -c $h100 -n 2 --max-run 1h -- "${stay[@]}"
    becomes alice first running
    runs alice second -c $h100 -n 2 -- "${stay[@]}"
    runs alice third -c $h100 -- "${stay[@]}"
    becomes alice second gated
    soon expects alice second null
    started=$(date -d "$(of alice first started_ms)" +%s)
    [ $(($(date -d "$(of alice second estimate.at)" +%s) - started)) = 3600 ]
    # The second one says of no end.
    expects alice third endless
    run alice queue
    says "STARTS" "$(of alice second estimate.at)" "endless"
    run alice explain second
    says "expected start: $(of alice second estimate.at)" "nothing else is submitted"
    run alice explain second -o json
    [ "$(jq '.estimate.assumptions | length' <<<"$output")" = 4 ]
    alice hold third
    expects alice third held
    # What runs waits for nothing; what is not one's own is not there.
    [ "$(of alice first estimate)" = null ]
    refused 6 vera get workload second -t research -p language
    kill_bulkheadd
    soon expects alice second null
    [ $(($(date -d "$(of alice second estimate.at)" +%s) - started)) = 3600 ]
}

@test "nobody learns of other people's work" {
    runs vera hidden -c $h100 -n 2 -- "${stay[@]}"
    becomes vera hidden running
    run alice what-if -c $h100 --run 10m -o json
    [ "$status" = 0 ]
    [[ $output != *hidden* && $output != *vision* ]]
    refused 6 alice what-if hidden
    refused 6 vera what-if -t research --level tenant
}

@test "an operator tries more nodes" {
    run admin what-if --add-nodes 2 --in-pool default --of-class $h100 --level platform
    [ "$status" = 0 ]
    says "until"
    refused 2 admin what-if --add-nodes 2 --level platform
    says "--in-pool"
    refused 2 admin what-if --add-nodes 2 --in-pool nosuch --of-class $h100 --level platform
    says "nosuch"
}

@test "advice is given about quotas that are old enough, and to those who see them" {
    run alice advise -o json
    [ "$status" = 0 ]
    [ "$(jq '.items | length' <<<"$output")" = 0 ]
    refused 6 vera advise -t research --level tenant
    refused 6 admin advise --level platform --apply guarantee-unused-qt_x
    says "bulkhead advise"
}
