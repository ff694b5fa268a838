#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Words of those who look after an installation.

load ../lib

setup_file() {
    clock_file=$(mktemp /tmp/bulkhead-clock.XXXXXX)
    echo 0 >"$clock_file"
    chmod 644 "$clock_file"
    export clock_file BULKHEAD_CLOCK_FILE=$clock_file
    install_bulkhead bsr
    node=$(jq -r .node "$data/estate.json")
    export node
}
teardown_file() { remove_bulkhead && rm -f "$clock_file"; }
teardown() { tell_why && everything_ends; }

stands() { curl -s --unix-socket "$(api)" -H "Authorization: Bearer $(token admin)" "http://x/api/v1/nodes/$node/alarms" | jq -e ".items[] | select(.code == \"$1\" and .cleared_ms == null)" >/dev/null; }
proof() { admin stepup --password-file "$data/people/admin.password" -q; }
# on_node OP INSTANCE INCARNATION: as somebody who has the agent's rights there
on_node() {
    setpriv --reuid bulkhead-agent --regid bulkhead-agent --clear-groups \
        "$data/bin/bulkhead-runner" --socket "$run/runner.sock" --request \
        "{\"op\":\"$1\",\"instance\":\"$2\",\"incarnation\":$3}" >/dev/null
}

@test "time that jumped ahead is taken over by an administrator with a fresh proof" {
    proof
    refused 7 admin clock confirm
    says 'did not jump'
    echo 120000 >"$clock_file"
    refused 3 alice clock confirm
    # The clock does not stand still while the question is asked.
    run admin clock confirm --dry-run
    [[ $output =~ (119[5-9]..|1200[0-4].)\ ms\ would\ be\ taken\ over ]]
    run admin clock confirm
    [[ $output =~ (119[5-9]..|1200[0-4].)\ ms\ taken\ over ]]
    refused 7 admin clock confirm
}

@test "an alarm that says what happened stands until somebody clears it" {
    quota cards -t research --level tenant -g 2 -l 4
    runs alice gone -c $h100 -- "${stay[@]}"
    becomes alice gone running
    run alice get instances -w gone -o json
    instance=$(jq -r '.items[0].id' <<<"$output")
    incarnation=$(jq -r '.items[0].incarnation' <<<"$output")
    on_node remove "$instance" "$incarnation"
    soon stands instance.vanished
    refused 6 alice clear alarm "$node" instance.vanished
    refused 6 admin clear alarm "$node" report.inflated
    admin clear alarm "$node" instance.vanished -q
    not stands instance.vanished
}

@test "the doctor finds nothing in a platform that is well, and what is not" {
    unset BULKHEAD_CLOCK_FILE # what the server's answers are dated by
    admin doctor -o json >"$BATS_TEST_TMPDIR/found"
    jq -e '[.items[] | select(.state == "fail")] == []' "$BATS_TEST_TMPDIR/found"
    for check in server clocks version session books node alarm; do
        jq -e --arg c $check 'any(.items[]; .check == $c and .state == "ok")' "$BATS_TEST_TMPDIR/found" || { echo "$check"; return 1; }
    done
    # Whoever may not see nodes is not told of them.
    alice doctor -o json | jq -e '[.items[] | select(.check == "node" or .check == "books")] == []'
    refused 8 admin doctor --socket "$run/nosuch.sock"
    says 'start bulkheadd'
    # A clock that is ahead, and a context file that others can read.
    echo 120000 >"$BATS_TEST_TMPDIR/ahead"
    chmod 644 "$data/people/alice.json"
    BULKHEAD_CLOCK_FILE=$BATS_TEST_TMPDIR/ahead refused 8 alice doctor
    chmod 600 "$data/people/alice.json"
    says 'chmod 600' 'has mode 644' 's ahead of the server'
    "$data/bin/bulkhead" doctor --machine --data "$data" -o json | jq -e '[.items[] | select(.check == "kernel" or .check == "cgroups" or .check == "programs" or .check == "room") | .state] | all(. == "ok")'
}
