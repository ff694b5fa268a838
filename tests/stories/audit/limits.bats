#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What the log does without room, and who may take a person out of it.

load common

why() {
    curl -s --unix-socket "$home/api.sock" http://x/readyz | jq -r .reason
}
full() { why | grep -q 'nearly full'; }

@test "without room for records nothing is changed, and readiness says why" {
    begin
    work 1 2
    end_daemon TERM
    echo '{"space_low_mib": 1000000000}' >"$home/config"
    launch "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" --signer-socket "$home/signer.sock" \
        --config "$home/config"
    soon full
    log_in root root
    refused 75 root create project more -t research
    says "nearly full" "make room"
    # Reading, dry runs and taking away go on.
    person root get projects -t research
    person root create project more -t research --dry-run
    person root delete project p2 -t research -q
    as root GET "/audit?verb=audit.full"
    [ "$(jq '.items | length' <<<"$body")" = 1 ]
    # With room it goes on, over a restart.
    end_daemon TERM
    start_daemon --signer-socket "$home/signer.sock"
    log_in root root
    person root create project more -t research -q
    soon signed 5
    verify
}

@test "to erase a person needs the right and an approval" {
    begin
    join vera research /tenants/research tenant-admin
    refused 3 vera audit erase vera -t research
    refused 5 guard audit erase vera -t research
    says approval
    must root POST /tenants '{"name":"vision"}' 201
    refused 6 vera audit erase vera -t vision
    first=$output
    refused 6 vera audit erase vera -t tn_aaaaaaaaaaaaaaaaaaaaaaaaaa
    [ "$output" = "$first" ]
}

@test "failures of nobody known have a bounded stream of their own" {
    begin
    must root GET "/audit?from=0&limit=500" "" 200
    before=$(jq '.items | length' <<<"$body")
    for i in 1 2 3 4 5; do
        as nobody POST /login "{\"name\":\"nobody$i\",\"tenant\":null,\"password\":\"wrong wrong wrong\"}"
        [ "$status" = 401 ] || [ "$status" = 429 ]
    done
    person root audit strangers -o json >"$home/said"
    jq -e '.dropped == 0 and (.items | length) == 1 and .items[0].count >= 2 and .items[0].ip == null' "$home/said"
    # They are no records of the log one by one.
    must root GET "/audit?from=0&limit=500&verb=session.create&decision=deny" "" 200
    [ "$(jq '.items | length' <<<"$body")" = 0 ]
    join vera research /tenants/research tenant-admin
    refused 3 vera audit strangers
}
