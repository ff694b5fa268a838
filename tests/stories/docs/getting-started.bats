#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# docs/getting-started.md does what it says: its commands run, as they are
# printed, against a fresh installation of their own.

setup() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    repo=$(cd "$BATS_TEST_DIRNAME/../../.." && pwd)
    cd "$repo" || return 1
    BULKHEAD_DATA=$(mktemp -d /var/lib/bulkhead-docs.XXXXXX)
    BULKHEAD_RUN=$BULKHEAD_DATA/run
    BULKHEAD_PORT=$((20000 + RANDOM % 10000))
    export BULKHEAD_DATA BULKHEAD_RUN BULKHEAD_PORT
    page=$BATS_TEST_TMPDIR/page.sh
}

teardown() {
    [ -n "${BULKHEAD_DATA:-}" ] || return 0
    ./up --stop >/dev/null 2>&1
    rm -rf "$BULKHEAD_DATA"
}

# The sh blocks of a page, in order; only the places are this test's own.
commands_of() {
    awk '/^```sh$/ { on = 1; next } /^```$/ { on = 0 } on' "$1" |
        sed -e "s|/var/lib/bulkhead|$BULKHEAD_DATA|g; s|127.0.0.1:7080|127.0.0.1:$BULKHEAD_PORT|g"
}

has() {
    grep -qF -e "$1" "$BATS_TEST_TMPDIR/said" && return 0
    echo "\"$1\" was not said:"
    cat "$BATS_TEST_TMPDIR/said"
    return 1
}

@test "the commands of getting-started run as printed and say what the page promises" {
    commands_of docs/getting-started.md >"$page"
    [ "$(wc -l <"$page")" -gt 40 ]
    # Nothing it starts may hold the harness's own pipe open.
    bash -eu -o pipefail "$page" >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- || {
        cat "$BATS_TEST_TMPDIR/said"
        return 1
    }
    has "up: ok in "
    has "hello from card"
    has "line 3"
    has "serve is gated"
    has "its limit of 2 cards"
    has "exit code 8: it could never fit the limit"
    has "exit code 2: no such class"
    has "exit code 3: not Anna's to do"
    has "exit code 6: hidden and missing answer alike"
    has "exit code 7: something is in the way"
    has "exit code 4: the key is revoked"
    has "done: vocab 256"
    has "100 card-hours"
    has "H100-80GB  3.5"
    has "clean: every counter equals what the bindings give"
}
