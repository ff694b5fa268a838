#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The control plane starts, is killed, stops, and loses nothing.

load common

@test "the first administrator comes by a secret that works once" {
    start_daemon
    [ "$(stat -c %a "$home/data/first-admin")" = 600 ]
    secret=$(cat "$home/data/first-admin")
    first_admin
    [ ! -e "$home/data/first-admin" ]
    as nobody POST /first-admin \
        "{\"secret\":\"$secret\",\"name\":\"eve\",\"password\":\"$password\"}"
    [ "$status" != 201 ]
    end_daemon TERM
    start_daemon
    [ ! -e "$home/data/first-admin" ]
    must root GET /whoami "" 200
}

@test "one daemon runs on a data directory" {
    start_daemon
    run "$bulkheadd" --data "$home/data" --socket "$home/other.sock"
    [ "$status" = 1 ]
    grep -q 'another bulkheadd runs' <<<"$output"
    curl -sf --unix-socket "$home/api.sock" http://x/healthz
}

@test "wrong options end with 2, a wrong configuration with 1" {
    run "$bulkheadd"
    [ "$status" = 2 ]
    echo '{"colour":1}' >"$home/config"
    run "$bulkheadd" --data "$home/data" --config "$home/config"
    [ "$status" = 1 ]
    grep -q colour <<<"$output"
}

@test "SIGTERM ends it with 0, and its log verifies without it" {
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
    first_admin
    for i in 1 2 3; do must root POST /tenants "{\"name\":\"t$i\"}" 201; done
    key=$(signer_key)
    end_daemon TERM
    [ "$status" = 0 ]
    run "$build/bulkhead" audit verify "$home/data/audit" --key "$key"
    echo "$output"
    [ "$status" = 0 ]
    grep -q 'intact: 4 logs' <<<"$output"
}

@test "kill -9 in the middle of writing loses nothing that was answered" {
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
    first_admin
    for round in 1 2 3; do
        for client in 1 2 3 4; do
            for i in $(seq 100); do
                name=r$round-c$client-$i
                curl -sf -o /dev/null --unix-socket "$home/api.sock" \
                    -H "Authorization: Bearer $(cat "$home/token.root")" \
                    -H 'Content-Type: application/json' \
                    --data "{\"name\":\"$name\"}" \
                    http://x/api/v1/pools || break
                echo "$name" >>"$home/answered.$client"
            done &
            clients[client]=$!
        done
        sleep 0.$((round * 2))
        end_daemon KILL
        wait "${clients[@]}"
        start_daemon --signer-socket "$home/signer.sock"
    done
    cat "$home"/answered.* | sort >"$home/answered"
    sqlite3 -readonly "$home/data/store/bulkhead.db" 'SELECT name FROM pool' |
        sort >"$home/there"
    [ "$(wc -l <"$home/answered")" -gt 0 ]
    [ -z "$(comm -23 "$home/answered" "$home/there")" ]
    check_clean
    key=$(signer_key)
    end_daemon TERM
    "$build/bulkhead" audit verify "$home/data/audit" --key "$key"
}

@test "a full disk: no false answer, exit 70, and the next start works" {
    start_daemon
    first_admin
    end_daemon TERM
    rm -f "$home/data/store/bulkhead.db-wal"
    launch prlimit --fsize=1000000 "$bulkheadd" --data "$home/data" \
        --socket "$home/api.sock" --stream-socket "$home/stream.sock"
    await_ready
    for i in $(seq 2000); do
        as root POST /pools "{\"name\":\"p$i\"}"
        [ "$status" = 201 ] || break
    done
    [ "$status" = 503 ]
    [ "$(field .code)" = unknown ]
    await_end
    [ "$status" = 70 ]
    start_daemon
    sqlite3 -readonly "$home/data/store/bulkhead.db" \
        "SELECT COUNT(*) FROM pool WHERE name <> 'default'" >"$home/count"
    [ "$(cat "$home/count")" -ge $((i - 1)) ]
    [ "$(cat "$home/count")" -le "$i" ]
    check_clean
}

@test "a clock that jumps ahead expires nothing until somebody says so [A28]" {
    echo 0 >"$home/clock"
    export BULKHEAD_CLOCK_FILE=$home/clock
    start_daemon
    first_admin
    echo $((13 * 3600 * 1000)) >"$home/clock"
    # The session lasts twelve hours.
    must root GET /whoami "" 200
    run curl -s --unix-socket "$home/api.sock" http://x/readyz
    grep -q 'jumped ahead' <<<"$output"
    must root POST /clock "" 200
    as root GET /whoami
    [ "$status" = 401 ]
    curl -sf --unix-socket "$home/api.sock" http://x/readyz
    # Set back again: what expired stays so, also over a restart.
    echo 0 >"$home/clock"
    as root GET /whoami
    [ "$status" = 401 ]
    end_daemon TERM
    start_daemon
    as root GET /whoami
    [ "$status" = 401 ]
}

@test "an edit of the database behind the log is found" {
    start_daemon
    first_admin
    must root POST /tenants '{"name":"red"}' 201
    check_clean
    end_daemon TERM
    sqlite3 "$home/data/store/bulkhead.db" \
        "UPDATE tenant SET display = 'mine' WHERE name = 'red'"
    start_daemon
    must root GET /check "" 200
    [ "$(field .clean)" = false ]
    [ "$(field '.items[0].rule')" = record ]
}
