#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# ./up says in its last line why it failed and what to do, and leaves nothing
# half-started.

load ../words

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
    BULKHEAD_DATA=$(mktemp -d /var/lib/bulkhead-up.XXXXXX)
    BULKHEAD_RUN=$BULKHEAD_DATA/run
    BULKHEAD_PORT=$((20000 + RANDOM % 10000))
    export BULKHEAD_DATA BULKHEAD_RUN BULKHEAD_PORT
}

teardown_file() {
    [ -n "${BULKHEAD_DATA:-}" ] || return 0
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
    ./up --stop >/dev/null 2>&1
    rm -rf "$BULKHEAD_DATA"
}

setup() {
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
}

up() { ./up "$@" 3>&- >"$BATS_TEST_TMPDIR/said" 2>&1; }
# fails CODE TEXT OPTION...: with that exit code, the text in the last line.
fails() {
    local code=$1 text=$2 status=0
    shift 2
    up "$@" || status=$?
    [ $status = "$code" ] && [[ $(tail -n 1 "$BATS_TEST_TMPDIR/said") == "up: failed: "*"$text"* ]] && return 0
    echo "wanted $code and \"$text\", got $status:"
    cat "$BATS_TEST_TMPDIR/said"
    return 1
}
processes() { find /proc -maxdepth 2 -name exe -lname "$BULKHEAD_DATA/bin/*" 2>/dev/null | wc -l; }
admin() {
    BULKHEAD_CONTEXT=$BULKHEAD_DATA/people/admin.json "$BULKHEAD_DATA/bin/bulkhead" "$@"
}

@test "an unknown option, a missing and a broken estate are told before anything is done" {
    fails 2 "./up --help lists them" --frobnicate
    fails 2 "needs a file" --sim
    fails 1 "cannot be read" --sim /nonexistent
    echo '{bad' >"$BATS_TEST_TMPDIR/estate"
    fails 1 "not JSON" --sim "$BATS_TEST_TMPDIR/estate"
    echo '{"node": "n", "cards": []}' >"$BATS_TEST_TMPDIR/estate"
    fails 1 'needs "node"' --sim "$BATS_TEST_TMPDIR/estate"
    jq '.cards |= .[0:2]' data/estates/demo.json >"$BATS_TEST_TMPDIR/estate"
    fails 1 "--start --sim" --sim "$BATS_TEST_TMPDIR/estate"
    [ ! -e "$BULKHEAD_DATA/bin" ]
}

@test "a port in use is named, with a way out" {
    busybox nc -ll -p "$BULKHEAD_PORT" -e /bin/true >/dev/null 2>&1 3>&- &
    server=$!
    for _ in $(seq 50); do (exec 4<>"/dev/tcp/127.0.0.1/$BULKHEAD_PORT") 2>/dev/null && break; sleep 0.1; done
    fails 1 "BULKHEAD_PORT=N ./up takes another" --start
    kill $server
    [ ! -e "$BULKHEAD_DATA/bin" ]
}

@test "a second start keeps the data, and --stop leaves no process" {
    up --start
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/said") == "up: ok in "*" s" ]]
    admin create tenant kept -q
    up --start
    admin get tenant kept -q
    up --stop
    [ "$(processes)" = 0 ]
    up --start
    admin get tenant kept -q
}

@test "--stop ends a program whose supervisor was killed, and --start goes on" {
    unrecorded
    kill -9 "$(cat "$BULKHEAD_RUN/bulkheadd.pid")"
    up --stop
    [ "$(processes)" = 0 ]
    up --start
    kill -9 "$(cat "$BULKHEAD_RUN/bulkheadd.pid")"
    up --start
    admin get tenant kept -q
    up --stop
    [ "$(processes)" = 0 ]
}

@test "data of a newer version stops the start, and nothing stays behind" {
    unrecorded
    store=$(echo "$BULKHEAD_DATA"/control/store/*.db)
    version=$(sqlite3 "$store" 'PRAGMA user_version')
    sqlite3 "$store" 'PRAGMA user_version = 99'
    fails 1 "schema 99 is newer" --start
    [ "$(processes)" = 0 ]
    sqlite3 "$store" "PRAGMA user_version = $version"
    up --start
    admin get tenant kept -q
}

@test "an interrupt while it starts undoes the start; later the platform stays" {
    unrecorded
    up --stop
    # In a session of its own, as at a terminal: the signal reaches all of it.
    setsid env --default-signal=INT ./up --start >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
    up=$!
    for _ in $(seq 3000); do grep -q '^== start' "$BATS_TEST_TMPDIR/said" && break; sleep 0.01; done
    kill -INT -- "-$up"
    status=0
    wait $up || status=$?
    [ $status = 130 ]
    [[ $(tail -n 1 "$BATS_TEST_TMPDIR/said") == "up: failed: interrupted"* ]]
    [ "$(processes)" = 0 ]
    up --start
    admin get tenant kept -q
}
