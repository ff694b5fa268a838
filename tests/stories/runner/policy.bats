#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The local policy is the last word, and cleaning takes what is ours alone.

load common

setup_file() {
    make_home brpol
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    forget_all
}

@test "only the policy's uid is answered, root included among the others" {
    chmod 777 "$HOME_DIR/run/runner.sock"
    run "$HOME_DIR/bulkhead-runner" --socket "$HOME_DIR/run/runner.sock" --request '{"op":"node"}'
    [ "$status" != 0 ]
    run setpriv --reuid 12 --clear-groups "$HOME_DIR/bulkhead-runner" --socket "$HOME_DIR/run/runner.sock" --request '{"op":"node"}'
    [ "$status" != 0 ]
    chmod 600 "$HOME_DIR/run/runner.sock"
    [ "$(ask '{"op":"node"}' | jq -r .prefix)" = brpol ]
}

@test "a policy that others own or may write is refused" {
    cp "$HOME_DIR/policy.json" "$BATS_TEST_TMPDIR/policy.json"
    refused() {
        run timeout 5 "$HOME_DIR/bulkhead-runner" --policy "$BATS_TEST_TMPDIR/$1"
        [ "$status" = 3 ]
    }
    chown 12 "$BATS_TEST_TMPDIR/policy.json" && refused policy.json
    chown 0 "$BATS_TEST_TMPDIR/policy.json" && chmod 664 "$BATS_TEST_TMPDIR/policy.json" && refused policy.json
    chmod 644 "$BATS_TEST_TMPDIR/policy.json"
    mkdir "$BATS_TEST_TMPDIR/open" && cp "$BATS_TEST_TMPDIR/policy.json" "$BATS_TEST_TMPDIR/open"
    chmod 777 "$BATS_TEST_TMPDIR/open" && refused open/policy.json
    chmod 755 "$BATS_TEST_TMPDIR/open" && ln -s policy.json "$BATS_TEST_TMPDIR/link"
    run timeout 5 "$HOME_DIR/bulkhead-runner" --policy "$BATS_TEST_TMPDIR/link"
    [ "$status" != 0 ]
}

@test "hostile requests are refused before anything happens" {
    start one 1 1 'sleep 100'
    before=$(ask '{"op":"list"}' | jq '.instances | length')
    base=$(jq -cn --arg d "$IMAGE" '{op: "start", instance: "evil", incarnation: 1, tenant: 1,
        image: {name: "tiny", digest: $d}, cpu_milli: 100, memory_mib: 16, pids_max: 5}')
    for more in '{"privileged": true}' '{"capabilities": ["CAP_SYS_ADMIN"]}' \
        '{"hooks": {}}' '{"mounts": [{"source": "/"}]}' '{"devices": ["/dev/sda"]}' \
        '{"instance": "../x"}' '{"instance": ""}' '{"incarnation": -1}' '{"incarnation": 0}' \
        '{"memory_mib": -5}' '{"memory_mib": 99999999}' '{"cpu_milli": 1.5}' '{"pids_max": 0}' \
        '{"cards": ["../../etc"]}' '{"cards": ["A", "A"]}' '{"cards": [0]}' \
        '{"volumes": [{"id": "a/b", "path": "/x"}]}' '{"volumes": [{"id": "a", "path": "/proc/x"}]}' \
        '{"volumes": [{"id": "a", "path": "/x/../y"}]}' '{"volumes": [{"id": "a", "path": "x"}]}' \
        '{"volumes": [{"id": "a", "path": "/x", "source": "/etc"}]}' \
        '{"image": {"name": "tiny", "digest": "latest"}}' '{"image": {"name": "../tiny", "digest": "'"$IMAGE"'"}}' \
        '{"env": {"BULKHEAD_CARDS": "x"}}' '{"env": {"A=B": "x"}}' '{"argv": [1]}' \
        '{"hostname": "a b"}' '{"network": {"address": 5000}}' '{"network": {"bridge": "br0"}}' \
        '{"tenant": 0}' '{"tenant": 5000}' '{"uid_base": 1}' '{"uid_base": 65536}' '{"notice_signal": "SEGV"}' \
        '{"checkpoint_dir": "/etc"}' '{"user": {"uid": -1, "gid": 0}}' '{"log_mib": 0}'; do
        run ask "$(jq -cn --argjson b "$base" --argjson m "$more" '$b + $m')"
        [ "$status" = 2 ] || [ "$status" = 8 ] || { echo "$more: $status $output" && false; }
    done
    run ask '{"op":"start"}'
    [ "$status" = 2 ]
    run ask '{"op":"exec","instance":"one"}'
    [ "$status" = 2 ]
    run ask '{"op":"kill","instance":"one","incarnation":1,"incarnation":2}'
    [ "$status" = 2 ]
    [ "$(ask '{"op":"list"}' | jq '.instances | length')" = "$before" ]
    [ "$(ls "$HOME_DIR/state/instances" | wc -l)" = 1 ]
}

@test "broken frames end the connection and the runner serves on" {
    as_agent() { setpriv --reuid $AGENT_UID --clear-groups "$@"; }
    for bytes in '\377\377\377\377' '\0\0\0\0' '\0\0\0\4{}' '\0\0\0\2[]' '\0\1'; do
        printf "$bytes" | as_agent timeout 2 busybox nc -w 1 "local:$HOME_DIR/run/runner.sock" 2>/dev/null || true
    done
    [ "$(ask '{"op":"node"}' | jq -r .prefix)" = brpol ]
}

@test "the policy's limits and its list of images are final" {
    stop_runner TERM
    jq -c --arg d "$IMAGE" '. + {images: [$d], writable_root: false, instances_max: 1}' \
        "$HOME_DIR/policy.json" >"$HOME_DIR/narrow.json"
    cp "$HOME_DIR/policy.json" "$HOME_DIR/wide.json"
    cp "$HOME_DIR/narrow.json" "$HOME_DIR/policy.json"
    start_runner
    other=$("$repo/tools/make-image" "$HOME_DIR/images/other" "$HOME_DIR/rootfs" -- /bin/ls)
    run start one 1 1 true "{\"image\": {\"name\": \"other\", \"digest\": \"$other\"}}"
    [ "$status" = 3 ]
    run start one 1 1 true '{"read_only_root": false}'
    [ "$status" = 2 ]
    run start one 1 1 true '{"memory_mib": 2048}'
    [ "$status" = 8 ]
    start one 1 1 'sleep 100'
    run start two 1 1 true
    [ "$status" = 8 ]
    stop_runner TERM
    cp "$HOME_DIR/wide.json" "$HOME_DIR/policy.json"
    start_runner
    start two 1 1 'echo x >/new && echo written' '{"read_only_root": false}'
    [ "$(ended two)" = 0 ]
    [ "$(log_of two 1)" = written ]
}

@test "clean removes everything of this installation and nothing of another" {
    mine=$HOME_DIR mine_prefix=$PREFIX mine_image=$IMAGE
    make_home brpoltwo
    second=$HOME_DIR
    start_runner
    ask '{"op":"volume_create","id":"data","tenant":1,"size_mib":8}'
    start gone 1 1 'sleep 1000' '{"network": {}, "volumes": [{"id": "data", "path": "/data"}], "cards": ["SIM-GPU-5b1c0000-1000"]}'
    gone=$(record gone | jq .pid)
    HOME_DIR=$mine IMAGE=$mine_image
    start stays 1 1 'sleep 1000' '{"network": {}}'
    stays=$(record stays | jq .pid)
    HOME_DIR=$second
    run "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" --clean
    [ "$status" = 75 ]
    stop_runner TERM
    kill -0 "$gone"
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" --clean
    not kill -0 "$gone" 2>/dev/null
    [ ! -e "$second/state" ]
    not grep -q "$second" /proc/self/mountinfo
    not ls -d /sys/fs/cgroup/*/brpoltwo 2>/dev/null
    [[ $(losetup -a) != *"$second"* ]]
    [ -e "$second/volumes/data.img" ]
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" --clean --volumes
    [ ! -e "$second/volumes" ]
    rm -rf "$second"
    HOME_DIR=$mine PREFIX=$mine_prefix
    kill -0 "$stays"
    [ "$(record stays | jq -r .state)" = running ]
}
