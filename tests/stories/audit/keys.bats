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

# Outcomes of the records about changing the key, in their order.
outcomes() {
    must root GET "/audit?verb=audit.rotate&limit=500" "" 200
    jq -r '[.items[] | select(.outcome.status) | .outcome.status] | join(" ")' <<<"$body"
}

@test "what the signer is to do is recorded before, and what came of it after" {
    begin
    soon signed 1
    person guard audit rotate-key -q
    [ "$(outcomes)" = "pending success" ]
    must root GET "/audit?verb=audit.rotate&limit=500" "" 200
    jq -e '.items[1].links.parent == .items[0].id and .items[0].actor.id == .items[1].actor.id' <<<"$body"
    # Without a signer nothing is done, and the log says so.
    kill "$(cat "$home/signer.pid")"
    run person guard audit rotate-key -q
    [ "$status" != 0 ]
    [ "$(outcomes)" = "pending success pending failure" ]
    # Killed in between, it knows no more after a start.
    rm -f "$home/signer.sock"
    python3 -c 'import socket, sys, time
s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(8); time.sleep(30)' "$home/signer.sock" 3>&- &
    echo $! >"$home/signer.pid"
    for _ in $(seq 50); do [ ! -S "$home/signer.sock" ] || break; sleep 0.1; done
    person guard audit rotate-key -q 3>&- &
    asking=$!
    soon pending
    end_daemon KILL
    wait "$asking" || true
    kill "$(cat "$home/signer.pid")"
    rm -f "$home/signer.sock"
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
    log_in root root
    [ "$(outcomes)" = "pending success pending failure pending unknown" ]
    soon signed 1
    verify --strict
}

pending() {
    case $(outcomes) in
    *"failure pending") ;;
    *) return 1 ;;
    esac
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
