#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The control plane is copied while it works, dies, and comes back elsewhere.

load common

# As root, through the command that people use.
root() {
    BULKHEAD_SOCKET=$home/api.sock BULKHEAD_TOKEN=$(cat "$home/token.root") \
        BULKHEAD_CONTEXT=$home/context.json "$build/bulkhead" "$@"
}

begin() {
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
    first_admin
}

# Tenants are made as fast as it goes, until `stop` is there.
load_it() {
    local i
    for ((i = 0; ; i++)); do
        [ ! -e "$home/stop" ] || return 0
        curl -s -o "$home/load.body" --unix-socket "$home/api.sock" \
            -H "Authorization: Bearer $(cat "$home/token.root")" \
            -H 'Content-Type: application/json' \
            -d "{\"name\":\"load-$i\"}" http://x/api/v1/tenants || return 0
    done
}

# What there is, as one can count it: objects by kind but those of logins.
census() {
    root metrics | grep '^bulkhead_objects' | grep -v 'session\|receipt'
}

signed() {
    must root GET /audit/checkpoint "" 200
    [ "$(sed -n 2p <<<"$body")" -gt "$1" ]
}

verify() {
    "$build/bulkhead" audit verify "$1" --key "$key"
}

@test "a backup under load is whole; elsewhere it counts the same" {
    begin
    key=$(signer_key)
    load_it 3>&- &
    load=$!
    enough() { [ "$(root get tenants -o json | jq '.items | length')" -gt 20 ]; }
    soon enough
    root backup "$home/under-load"
    : >"$home/stop"
    wait $load || true
    [ "$(stat -c %a "$home/under-load")" = 600 ]
    [ ! -e "$home/under-load.partial" ]

    # At rest its counters can be compared one by one.
    before=$(census)
    root backup "$home/at-rest"
    end_daemon TERM
    verify "$home/data/audit"

    mv "$home/data" "$home/elsewhere"
    for file in under-load at-rest; do
        rm -rf "$home/data"
        "$bulkheadd" --data "$home/data" --restore "$home/$file"
        start_daemon --signer-socket "$home/signer.sock"
        log_in root root
        check_clean
        [ "$file" = under-load ] || [ "$(census)" = "$before" ]
        end_daemon TERM
        verify "$home/data/audit"
    done
}

@test "a backup names its version and what it leaves out, and no key is in it" {
    begin
    root backup "$home/backup" >"$home/said"
    grep -q 'control.key' "$home/said"
    head -n 2 "$home/backup" | tail -n 1 |
        jq -e '.facts.version and .facts.schema >= 1 and
               (.parts | map(.sha256 | length) == [64, 64])'
    run grep -c "$(xxd -p -c 200 "$home/data/control.key" | head -c 40)" "$home/backup"
    [ "$output" = 0 ]
    run grep -caF "$(head -c 32 "$home/data/control.key")" "$home/backup"
    [ "${output:-0}" = 0 ]
}

@test "a backup that was cut, or has another byte, is not taken" {
    begin
    root backup "$home/backup"
    end_daemon TERM
    head -c 100000 "$home/backup" >"$home/cut"
    cp "$home/backup" "$home/other"
    printf X | dd of="$home/other" bs=1 seek=50000 conv=notrunc status=none
    for file in cut other nothing; do
        run "$bulkheadd" --data "$home/data" --restore "$home/$file"
        [ "$status" -eq 1 ]
    done
    [ ! -e "$home/data/before-restore-1" ]
    start_daemon
    must root GET /whoami "" 200
}

@test "a guarded command: without a fresh proof there is no backup" {
    begin
    must root POST /tenants '{"name":"research"}' 201
    join ann research /tenants/research tenant-admin
    as ann GET /backup
    [ "$status" = 403 ] || [ "$status" = 404 ]
    must root POST /users '{"name":"ops"}' 201
    id=$(field .id)
    must root POST "/users/$id/password" "{\"password\":\"$password\",\"temporary\":false}" 204
    must root POST /grants "{\"subject\":\"$id\",\"role\":\"operations-engineer\"}" 201
    log_in ops ops
    as ops GET /backup
    [ "$status" = 403 ]
    root backup "$home/backup"
    must root GET "/audit?from=0&limit=500" '' 200
    jq -e '[.items[] | select(.action.verb == "platform.backup") | .decision.effect] == ["deny", "allow"]' <<<"$body"
}

@test "kill -9 in the middle of a backup leaves the old one or the new one" {
    begin
    root backup "$home/backup"
    cp "$home/backup" "$home/first"
    end_daemon TERM
    for i in $(seq 1 12); do
        "$bulkheadd" --data "$home/data" --backup "$home/backup" \
            >/dev/null 3>&- &
        sleep "$(printf '0.%03d' $((i * 3)))"
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        rm -rf "$home/try"
        "$bulkheadd" --data "$home/try" --restore "$home/backup"
    done
    # What was left over is taken away by the next start and the next backup.
    start_daemon
    end_daemon TERM
    "$bulkheadd" --data "$home/data" --backup "$home/backup"
    [ -z "$(find "$home/data/store" -name 'copy-*')" ]
    [ ! -e "$home/backup.partial" ]
}

@test "kill -9 in the middle of a restore: what was there, or all of the new" {
    begin
    must root POST /tenants '{"name":"before"}' 201
    root backup "$home/backup"
    must root POST /tenants '{"name":"after"}' 201
    end_daemon TERM
    cp -a "$home/data" "$home/kept"
    for i in $(seq 1 12); do
        rm -rf "$home/data"
        cp -a "$home/kept" "$home/data"
        "$bulkheadd" --data "$home/data" --restore "$home/backup" \
            >/dev/null 3>&- &
        sleep "$(printf '0.%03d' $((i * 3)))"
        kill -9 $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        start_daemon
        log_in root root
        must root GET /restore "" 200
        restored=$(field '.restored_ms != null')
        must root GET /tenants "" 200
        names=$(field '[.items[].name] | sort | join(" ")')
        check_clean
        end_daemon TERM
        if [ "$restored" = true ]; then
            [ "$names" = before ]
            [ -d "$home/data/before-restore-1/store" ]
        else
            [ "$names" = "after before" ]
        fi
    done
}

@test "a store that is set back without saying so is named" {
    begin
    key=$(signer_key)
    soon signed 5
    end_daemon TERM
    cp -a "$home/data" "$home/kept"
    start_daemon --signer-socket "$home/signer.sock"
    for i in $(seq 5); do
        must root POST /tenants "{\"name\":\"later-$i\"}" 201
    done
    end_daemon TERM
    rm -rf "$home/data"
    mv "$home/kept" "$home/data"
    launch "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" --signer-socket "$home/signer.sock"
    says_so() {
        curl -s --unix-socket "$home/api.sock" http://x/readyz |
            grep -q 'declared'
    }
    soon says_so
}

@test "a declared restore is signed on, and the old timeline is over" {
    begin
    key=$(signer_key)
    root backup "$home/backup"
    for i in $(seq 5); do
        must root POST /tenants "{\"name\":\"later-$i\"}" 201
    done
    soon signed 8
    end_daemon TERM
    cp -a "$home/data" "$home/old"
    "$bulkheadd" --data "$home/data" --restore "$home/backup"
    start_daemon --signer-socket "$home/signer.sock"
    log_in root root
    soon signed 3
    [[ $(head -n 1 <<<"$body") == pl_*~*/platform ]]
    must root GET "/audit?from=0&limit=500" "" 200
    jq -e '[.items[] | select(.action.verb == "audit.epoch")] | length == 1' <<<"$body"
    end_daemon TERM
    verify "$home/data/audit"
    # Who goes on with the old one gets no signature.
    rm -rf "$home/data"
    mv "$home/old" "$home/data"
    launch "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" --signer-socket "$home/signer.sock"
    is_over() {
        curl -s --unix-socket "$home/api.sock" http://x/readyz |
            grep -q 'superseded'
    }
    soon is_over
}
