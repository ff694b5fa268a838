#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A user of the machine without rights takes all places of the API.

load ../api/common

@test "who opens all connections and sends a byte a second shuts out nobody" {
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
