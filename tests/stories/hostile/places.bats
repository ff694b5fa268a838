#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A user of the machine without rights takes all places of the API.

load ../api/common

@test "who opens all connections and sends a byte a second shuts out nobody" {
    unrecorded
    [ "$(id -u)" = 0 ] || skip "needs root"
    ${CC:-cc} -O1 -static -o /tmp/greedy.$$ "$BATS_TEST_DIRNAME/greedy.c"
    # The way to the socket is open to all, as it is below /run.
    local way=$home
    while [ "$way" != /tmp ] && [ "$way" != / ]; do
        chmod a+x "$way"
        way=$(dirname "$way")
    done
    chmod 755 /tmp/greedy.$$
    setpriv --reuid 65534 --regid 65534 --clear-groups \
        /tmp/greedy.$$ "$home/api.sock" >"$home/greedy" 3>&- &
    greedy=$!
    for _ in $(seq 100); do grep -q connections "$home/greedy" && break; sleep 0.1; done
    began=$(date +%s%N)
    must ann GET /tenants "" 200
    [ $((($(date +%s%N) - began) / 1000000)) -lt 2000 ]
    # Its share at first, nothing once the time of a head is over.
    [ "$(sed -n 's/^connections: //p' "$home/greedy" | tail -1)" -le 256 ]
    for _ in $(seq 45); do
        [ "$(tail -n 1 "$home/greedy")" = "connections: 0" ] && break
        sleep 1
    done
    kill "$greedy"
    rm -f /tmp/greedy.$$
    [ "$(tail -n 1 "$home/greedy")" = "connections: 0" ]
    must ann GET /tenants "" 200
}

@test "who opens all watches, by whatever sessions, leaves those of others" {
    local i pids=()
    log_in again ann research
    for i in $(seq 40); do
        [ $((i % 2)) = 0 ] && who=ann || who=again
        curl -sN --unix-socket "$home/stream.sock" --max-time 30 \
            -o /dev/null -w '%{http_code}\n' -D "$home/watch.$i" \
            -H "Authorization: Bearer $(cat "$home/token.$who")" \
            "http://x/api/v1/tenants/research/projects?watch=1" 3>&- >/dev/null &
        pids+=($!)
    done
    for i in $(seq 100); do
        [ "$(cat "$home"/watch.* | grep -c '^HTTP')" = 40 ] && break
        sleep 0.1
    done
    [ "$(cat "$home"/watch.* | grep -c '^HTTP.* 200')" = 32 ]
    [ "$(cat "$home"/watch.* | grep -c '^HTTP.* 429')" = 8 ]
    code=$(curl -sN --unix-socket "$home/stream.sock" --max-time 1 -o /dev/null -w '%{http_code}' \
        -H "Authorization: Bearer $(cat "$home/token.bob")" \
        "http://x/api/v1/tenants/vision/projects?watch=1") || true
    [ "$code" = 200 ]
    kill "${pids[@]}" 2>/dev/null || true
}
