#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The signer changes its key; who has the old one goes on.

load common

recorded() {
    must root GET "/audit?from=0&limit=500" "" 200
    [ "$(jq '[.items[] | select(.action.verb == "audit.key")] | length' <<<"$body")" = "$1" ]
}

@test "the old key vouches for the new one; verifiers and witnesses follow" {
    begin
    work 1 3
    soon signed 3
    witness -q
    before=$(signer_key)
    person guard audit rotate-key --dry-run | grep -q 'would change'
    [ "$(signer_key)" = "$before" ]
    new=$(person guard audit rotate-key | head -n 1)
    [ "${new##*+}" != "${before##*+}" ]
    work 4 6
    soon signed 6
    soon recorded 1
    # All with the key from before.
    witness -q
    run verify
    [ "$status" = 0 ]
    says "changed 1 times"
    person root audit export "$home/copy" -q
    person root audit export "$home/copy" -q -t research
    "$build/bulkhead" audit verify "$home/copy" --key "$key"
    # The new key alone did not sign what came before it.
    run "$build/bulkhead" audit verify "$home/data/audit" --key "$new"
    [ "$status" = 9 ]
    says forged
    # Again, and over a restart of both.
    person guard audit rotate-key -q
    stop_host
    start_host
    log_in root root
    log_in watcher watcher
    soon recorded 2
    soon signed 6
    witness -q
    verify
}

@test "who may not change the key is refused, and nothing changes" {
    begin
    before=$(signer_key)
    refused 3 root audit rotate-key
    join vera research /tenants/research tenant-admin
    refused 3 vera audit rotate-key
    soon signed 1
    [ "$(signer_key)" = "$before" ]
    recorded 0
}
