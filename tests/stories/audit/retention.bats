#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a policy no longer keeps goes, two people said so, and everything that
# was proven holds.

load common

# What needs a second person: sec asks, root approves, sec does it.
two() {
    local id
    run person sec audit retention "$@" --ask-approval "as the law says"
    id=$(grep -o 'ap_[a-z0-9]*' <<<"$output" | head -n 1)
    must ben POST /stepup "{\"password\":\"$password\"}" 204
    person ben approve approval "$id" -q
    person sec execute approval "$id"
}

pruned() {
    must root GET /tenants/research/audit/retention "" 200
    [ "$(field .pruned)" -ge "$1" ]
}

gone() {
    [ ! -e "$home/data/audit/$estate%2F$tenant/tile/entries/000" ]
}

@test "what is older than the policy is pruned, and copies and proofs verify" {
    echo 0 >"$home/clock"
    export BULKHEAD_CLOCK_FILE=$home/clock
    begin
    operator sec security-admin
    operator ben platform-admin
    must sec POST /stepup "{\"password\":\"$password\"}" 204
    join vera research /tenants/research tenant-admin
    refused 3 vera audit retention -t research --keep 90
    refused 2 sec audit retention -t research --keep 89 --ask-approval "too little"
    says "90" "keep"
    refused 2 sec audit retention -t research --keep soon
    refused 2 sec audit retention -t research --hold perhaps
    refused 5 sec audit retention -t research --keep 90
    work 1 260
    soon signed 262
    person root audit export "$home/before" -q -t research
    "$build/bulkhead" audit prove "$home/before" "$estate/$tenant" 7 -f "$home/proof"
    echo $((91 * 86400 * 1000)) >"$home/clock"
    must root POST /clock "" 200
    log_in root root
    log_in sec sec
    log_in ben ben
    must root POST /stepup "{\"password\":\"$password\"}" 204
    must sec POST /stepup "{\"password\":\"$password\"}" 204
    work 261 262
    two -t research --keep 90
    person sec audit retention -t research | grep -q "kept for 90 days"
    WITHIN=60 soon pruned 256
    end_daemon TERM
    start_daemon --signer-socket "$home/signer.sock"
    log_in root root
    pruned 256
    soon gone
    verify >"$home/said"
    grep -q "256 entries from 0 to 255 were pruned by policy (kept for 90 days), recorded at" "$home/said"
    person root check | grep -q -i clean
    # A new copy has hashes, an old one grows on; both verify.
    person root audit export "$home/after" -t research | grep -q "below 256 are pruned"
    person root audit export "$home/before" -q -t research
    for copy in before after; do
        "$build/bulkhead" audit verify "$home/$copy" --key "$key" -t "$tenant"
    done
    "$build/bulkhead" audit verify "$home/after" --key "$key" -o json |
        jq -e '.intact and .pruned == 256 and .prunings[0].to == 256'
    "$build/bulkhead" audit check-proof "$home/proof" --key "$key" | grep -q "\"seq\":7,"
    run "$build/bulkhead" audit prove "$home/after" "$estate/$tenant" 7
    [ "$status" = 8 ]
    says "hash is all that is left"
    # What is read begins behind it.
    person root audit search -t research --verb project.create -o json |
        jq -e '(.items | length) < 50'
    must root GET "/tenants/research/audit?from=0&limit=1" "" 200
    [ "$(field '.items[0].position')" = 256 ]
    [ "$(person root audit export -t research --format ocsf --verb project.create | wc -l)" = "$(person root audit export -t research --verb project.create | wc -l)" ]
    [ "$(person root audit export -t research --format ocsf | wc -l)" -gt 6 ]
    # What is no number, no log or no proof is refused and breaks nothing.
    for odd in -1 1x "" 99999999999999999999999; do
        run "$build/bulkhead" audit prove "$home/after" "$estate/$tenant" "$odd"
        [ "$status" = 2 ] || [ "$status" = 6 ]
    done
    for odd in ../after "" . "$estate/other"; do
        run "$build/bulkhead" audit prove "$home/after" "$odd" 300
        [ "$status" = 6 ] || [ "$status" = 2 ]
    done
    for odd in /dev/null "$home/token.root" "$home/after/$estate%2F$tenant/tile/0/000"; do
        run "$build/bulkhead" audit check-proof "$odd" --key "$key"
        [ "$status" = 2 ] || [ "$status" = 9 ]
        run "$build/bulkhead" audit verify "$odd" --key "$key"
        [ "$status" != 0 ]
    done
    sed 's/^index 7/index 8/' "$home/proof" >"$home/proof8"
    run "$build/bulkhead" audit check-proof "$home/proof8" --key "$key"
    [ "$status" = 9 ]
    # Whoever removes more is found.
    cp -r "$home/after" "$home/lie"
    rm "$home/lie/$estate%2F$tenant/tile/entries/"*.p/*
    run "$build/bulkhead" audit verify "$home/lie" --key "$key"
    [ "$status" = 9 ]
    # Removed from a copy of before what was pruned since: that is no lie.
    rm "$home/before/$estate%2F$tenant/tile/entries/000"
    "$build/bulkhead" audit verify "$home/before" --key "$key"
}
