#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Root of the control plane's host has the store, the log and the signer's
# key.  A witness elsewhere remembers.

load common

@test "a witness cosigns what only grew, and an export proves it offline" {
    begin
    work 1 5
    soon signed 5
    witness
    work 6 9
    soon signed 9
    witness -o json >"$home/said"
    jq -e '.cosigned == 2 and (.logs | all(has("lie") | not))' "$home/said"
    own=$(person watcher audit witness "$home/witness" --public-key)
    [[ $own == w.example/1+* ]]

    person root audit export "$home/copy" -t research -q
    "$build/bulkhead" audit verify "$home/copy" --key "$key" --witness "$own"
    "$build/bulkhead" audit verify "$home/copy" --key "$key" --seen "$home/witness" -t "$tenant"
    # Another witness's key does not stand in for it.
    other=$(person watcher audit witness "$home/other" --name w.example/2 --public-key)
    run "$build/bulkhead" audit verify "$home/copy" --key "$key" --witness "$other"
    [ "$status" = 9 ]
    says unwitnessed
    # It survives a restart of everything.
    stop_host
    start_host
    log_in root root
    log_in watcher watcher
    witness
    verify --witness "$own" --seen "$home/witness"
}

@test "who may not witness is told so, and a cosignature that does not hold is not kept" {
    begin
    soon signed 1
    refused 3 root audit witness "$home/w" --name w.example/1 --key "$key" --once
    refused 2 watcher audit witness "$home/w2" --name w.example/1 --once
    says "--key is needed"
    refused 2 watcher audit witness "$home/w3" --key "$key" --once
    says "--name"
    witness -q
    # The platform's heads are for its own people.
    join vera research /tenants/research tenant-admin
    for path in /audit/heads "/audit/witness?origin=$estate/platform&old=0"; do
        must vera GET "$path" "" 403
    done
    must vera POST /audit/cosignatures '{"key":"x","notes":["x"]}' 403
    # Another tenant's log is like none at all.
    must root POST /tenants '{"name":"vision"}' 201
    for what in checkpoint cosigned keys; do
        as vera GET "/tenants/vision/audit/$what"
        hidden=$(jq -S 'del(.request_id)' <<<"$body")
        as vera GET "/tenants/tn_aaaaaaaaaaaaaaaaaaaaaaaaaa/audit/$what"
        [ "$status" = 404 ]
        [ "$(jq -S 'del(.request_id)' <<<"$body")" = "$hidden" ]
        as vera GET "/tenants/research/audit/$what"
        [ "$status" = 200 ] || [ "$what/$status" = checkpoint/503 ]
    done
    # A note with somebody else's cosignature.
    must watcher GET "/audit/cosigned" "" 200
    note=$(jq -Rs . <<<"$body")
    other=$(person watcher audit witness "$home/other" --name w.example/2 --public-key)
    as watcher POST /audit/cosignatures "{\"key\":\"$other\",\"notes\":[$note]}"
    [ "$status" = 400 ]
    [ "$(field .field)" = /notes/0 ]
}

@test "root sets everything back and drops a tail: the witness names it" {
    begin
    work 1 3
    soon signed 3
    stop_host
    cp -a "$home/data" "$home/data.old"
    cp -a "$home/signer" "$home/signer.old"
    start_host
    log_in root root
    log_in watcher watcher
    work 4 20
    soon signed 20
    witness
    stop_host
    rm -rf "$home/data" "$home/signer"
    mv "$home/data.old" "$home/data"
    mv "$home/signer.old" "$home/signer"
    start_host
    log_in root root
    log_in watcher watcher
    soon signed 3
    # Nothing on this host tells.
    check_clean
    verify
    run witness
    [ "$status" = 9 ]
    says "$tenant: truncated"
    not verify --seen "$home/witness"
    [ -n "$(ls "$home/witness/evidence")" ]

    # He goes on with another story until it is longer than the true one.
    work 30 60
    soon signed 34
    run witness
    [ "$status" = 9 ]
    says "$tenant: forked"
}

@test "root rewrites one record, hashes and signatures and all: the witness names it" {
    begin
    work 1 3
    soon signed 3
    witness
    stop_host
    "$build/tests/hostile/forger" "$home/data" "$home/signer" \
        "$estate/platform" tenant.create tenant.update
    verify
    start_host
    log_in root root
    log_in watcher watcher
    check_clean
    run witness
    [ "$status" = 9 ]
    says "$estate/platform: forked"
    # The honest log of the tenant is still cosigned.
    must root GET /tenants/research/audit/cosigned "" 200
    grep -q w.example/1 <<<"$body"
}
