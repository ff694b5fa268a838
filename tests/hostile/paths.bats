#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A tenant turns the paths that the machine's root reads and writes into links
# to the machine's files, while it reads and writes: no file there is opened.

load ../stories/runner/common

witness=$BATS_TEST_DIRNAME/../../build/${BUILD:-debug}/tests/hostile/witness

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_home brrace
    ${CC:-cc} -O1 -static -o "$HOME_DIR/rootfs/bin/racer" "$BATS_TEST_DIRNAME/racer.c"
    export RACER
    RACER=$("$repo/tools/make-image" "$HOME_DIR/images/racer" "$HOME_DIR/rootfs" -- /bin/sh)
    mkdir -p "$HOME_DIR/canary/deep" "$HOME_DIR/canary/here/deep"
    for name in . deep here/deep; do
        echo '{"step": 777777}' >"$HOME_DIR/canary/$name/checkpoint.json"
    done
    start_runner
    ask '{"op":"volume_create","id":"data","tenant":7,"size_mib":16}'
}
teardown_file() { remove_home; }
teardown() { forget_all; }

checkpoint='{"volumes": [{"id": "data", "path": "/data"}], "checkpoint_dir": "/data/keep/here/deep"}'
canary() { find "$HOME_DIR/canary" -printf '%p %y %m %U %G %s %n %T@ %C@\n' | sort; }

@test "paths that are turned into links while the machine uses them lead nowhere outside" {
    start one 1 7 "exec racer /data $HOME_DIR/canary" \
        "$(jq -c --arg d "$RACER" '. + {image: {name: "racer", digest: $d}}' <<<"$checkpoint")"
    says one 1 'turns'
    canary >"$BATS_TEST_TMPDIR/before"
    : >"$BATS_TEST_TMPDIR/refused"
    setpriv --reuid "$AGENT_UID" --regid "$AGENT_UID" --clear-groups \
        "$witness" "$HOME_DIR/run/runner.sock" one 1 20 "$HOME_DIR/canary" 777777 \
        >"$BATS_TEST_TMPDIR/said" 3>&- &
    watcher=$!
    # Others of the tenant start there, are refused or not, and go; volumes
    # come and go beside it.
    for i in $(seq 15); do
        start "other-$i" 1 7 true "$checkpoint" >/dev/null 2>&1 || echo "refused" >>"$BATS_TEST_TMPDIR/refused"
        op remove "other-$i" 1 >/dev/null 2>&1 || true
        ask "{\"op\":\"volume_create\",\"id\":\"beside-$i\",\"tenant\":7,\"size_mib\":16}" >/dev/null
        ask "{\"op\":\"volume_remove\",\"id\":\"beside-$i\"}" >/dev/null
    done
    wait $watcher
    canary >"$BATS_TEST_TMPDIR/after"
    diff "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
    read -r _ asked _ noticed _ seen _ leaked _ touched <"$BATS_TEST_TMPDIR/said"
    turns=$(log_of one 1 | sed -n 's/^turns //p' | tail -n 1)
    echo "# $turns turns, $(cat "$BATS_TEST_TMPDIR/said"), $(wc -l <"$BATS_TEST_TMPDIR/refused") of 15 starts refused" >&3
    [ "$turns" -gt 10000 ]
    [ "$asked" -gt 1000 ]
    [ "$noticed" -gt 100 ]
    # What is a marker was seen in between: the others were refused, not all.
    [ "$seen" -gt 0 ]
    [ "$leaked" = 0 ]
    [ "$touched" = 0 ]
    [[ $(log_of one 1) != *BENT* ]]
    notice=$(echo "$HOME_DIR"/state/instances/*/made/run/notice.json)
    [ "$(jq .deadline_ms "$notice")" = $((4000000000000 + noticed - 1)) ]
}
