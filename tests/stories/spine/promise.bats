#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is promised, asked for and weighed: windows, requests, shares, and a
# choice of cards.

load ../lib

setup_file() {
    install_bulkhead bsp
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 0 -l 4
    node=$(jq -r .node data/estates/demo.json)
    export node
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

node_is() { admin set node "$node" --pool default "state=$1" -q; }
window_is() { [ "$(admin get reservation "$1" -t research --level tenant -o json | jq -r .state)" = "$2" ]; }

@test "cards of a window are for those that it was made for alone" {
    # Of the four h100 three are reserved from now on.
    admin create reservation exam -t research --level tenant --pool default -c $h100 -n 3 --from now --to +2h -q
    soon window_is exam open
    for i in 1 2; do runs vera "v$i" -c $h100 -- "${stay[@]}"; done
    soon is count vera running 1
    for i in 1 2 3; do runs alice "a$i" -c $h100 -- "${stay[@]}"; done
    soon is count alice running 3
    [ "$(count vera queued)" = 1 ]
    refused 8 admin create reservation more -t vision --level tenant --pool default -c $h100 -n 2 --from +1h --to +3h
    says "can be reserved"
    refused 3 vera create reservation mine -t vision --level tenant --pool default -n 1 --from +1h --to +3h
    # The window ends: what it kept is anybody's.
    alice cancel a1 -q
    becomes alice a1 cancelled
    [ "$(count vera running)" = 1 ]
    admin delete reservation exam -t research --level tenant -q
    soon is count vera running 2
    check_is_clean
}

@test "a wish is decided by somebody above, and the change is made at once" {
    id=$(alice request quota cards -t research --level tenant -l 3 --reason "three are enough" -o json | jq -r .id)
    refused 3 alice approve request "$id"
    refused 6 vera get request "$id" -t vision --level tenant
    admin approve request "$id" --note "until May" -q
    [ "$(admin get quotas -t research --level tenant -o json | jq '.items[] | select(.dimension == "cards") | .limit')" = 3000 ]
    run alice get request "$id" -t research --level tenant -o json
    [ "$(jq -r '.state + ": " + .note' <<<"$output")" = "granted: until May" ]
    refused 7 admin deny request "$id" --note "too late"
    id=$(alice request quota cards -t research --level tenant -l 9 --reason more -o json | jq -r .id)
    refused 2 admin deny request "$id"
    admin deny request "$id" --note "there are eight" -q
    [ "$(alice get request "$id" -t research --level tenant -o json | jq -r .state)" = denied ]
    quota cards -t research -g 0 -l 4
}

@test "of four cards a weight of three gets three" {
    refused 2 admin set tenant research weight=0
    refused 3 alice set tenant research weight=3000
    admin set tenant research weight=3000 -q
    [ "$(admin get tenant research -o json | jq .weight)" = 3000 ]
    node_is cordoned
    for i in 1 2 3 4; do
        runs vera "v$i" -c $h100 -- "${stay[@]}"
        runs alice "a$i" -c $h100 -- "${stay[@]}"
    done
    node_is schedulable
    soon is count alice running 3
    soon is count vera running 1
    [ "$(count alice queued)" = 3 ] || [ "$(count alice queued)" = 1 ]
    admin set tenant research weight=1000 -q
}

@test "the first class that has a place is taken" {
    runs alice best -c $h100,$a100 -n 2 -- "${stay[@]}"
    becomes alice best running
    runs vera rest -c $h100 -n 2 -- "${stay[@]}"
    becomes vera rest running
    runs alice next -c $h100,$a100 -- "${stay[@]}"
    becomes alice next running
    class_of() { alice bindings -o json | jq -r --arg id "$(of alice "$1" id)" '[.items[] | select(.workload == $id) | .model] | unique | join(" ")'; }
    [[ $(class_of best) == *H100* ]]
    [[ $(class_of next) == *A100* ]]
    refused 2 runs alice twice -c $h100,$h100 -- /bin/true
    says "twice"
    refused 2 runs alice unknown -c $h100,no-such -- /bin/true
}
