#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Volumes: limits that hold, owners that stay, paths that cannot be bent.

load common

setup_file() {
    make_home brvol
    start_runner
    ask '{"op":"volume_create","id":"data","tenant":7,"size_mib":16}'
    ask '{"op":"volume_create","id":"other","tenant":8,"size_mib":16}'
}

teardown_file() {
    remove_home
}

teardown() {
    forget_all
}

at() {
    echo "{\"volumes\": [{\"id\": \"$1\", \"path\": \"/data\"}]}"
}

@test "a volume is made once: the same again is fine, another size is not" {
    ask '{"op":"volume_create","id":"data","tenant":7,"size_mib":16}'
    run ask '{"op":"volume_create","id":"data","tenant":7,"size_mib":32}'
    [ "$status" = 7 ]
    run ask '{"op":"volume_create","id":"huge","tenant":7,"size_mib":1024}'
    [ "$status" = 8 ]
}

@test "the limit of a volume holds and its blocks are taken in advance" {
    [ "$(du -m "$HOME_DIR/volumes/data.img" | cut -f1)" -ge 16 ]
    start one 1 7 'dd if=/dev/zero of=/data/x bs=1M count=40' "$(at data)"
    [ "$(ended one)" != 0 ]
    [[ $(log_of one 1) == *"No space left"* ]]
    [ "$(du -m "$HOME_DIR/volumes/data.img" | cut -f1)" -le 17 ]
    op remove one 1
    start two 1 7 'rm /data/x; echo gone' "$(at data)"
    [ "$(ended two)" = 0 ]
}

@test "every instance of the tenant sees the same owners, the machine's root owns nothing" {
    start one 1 7 'umask 022; echo mine >/data/file; mkdir -p /data/dir' "$(at data)"
    [ "$(ended one)" = 0 ]
    start two 1 7 'stat -c "%u %n" /data /data/file; cat /data/file; echo more >>/data/file' "$(at data)"
    [ "$(ended two)" = 0 ]
    [ "$(record one | jq .uid_base)" != "$(record two | jq .uid_base)" ]
    [ "$(log_of two 1)" = "$(printf '0 /data\n0 /data/file\nmine')" ]
    [ "$(find "$HOME_DIR/state/volumes/data" -uid 0 | wc -l)" = 0 ]
}

@test "a volume of another tenant is as one that is not there" {
    run start one 1 7 true "$(at other)"
    [ "$status" = 6 ]
    theirs=${output/other/X}
    run start one 1 7 true "$(at none)"
    [ "$status" = 6 ]
    [ "${output/none/X}" = "$theirs" ]
}

@test "what the volume's file system could carry does nothing: setuid and devices" {
    start one 1 7 'sleep 100' "$(at data)"
    cp /usr/bin/busybox "$HOME_DIR/state/volumes/data/busybox"
    chmod 4755 "$HOME_DIR/state/volumes/data/busybox"
    mknod "$HOME_DIR/state/volumes/data/zero" c 1 5
    chmod 666 "$HOME_DIR/state/volumes/data/zero"
    start two 1 7 '/data/busybox id -u; head -c 1 /data/zero; true' \
        '{"user": {"uid": 1000, "gid": 1000}, "volumes": [{"id": "data", "path": "/data"}]}'
    [ "$(ended two)" = 0 ]
    [[ $(log_of two 1) == *1000* ]]
    [[ $(log_of two 1) == *"Permission denied"* ]]
    rm "$HOME_DIR/state/volumes/data/busybox" "$HOME_DIR/state/volumes/data/zero"
}

@test "a read-only mount is read-only; the volume stays while it is in use" {
    start one 1 7 'echo x >/data/y' '{"volumes": [{"id": "data", "path": "/data", "read_only": true}]}'
    [ "$(ended one)" != 0 ]
    [[ $(log_of one 1) == *"Read-only file system"* ]]
    run ask '{"op":"volume_remove","id":"data"}'
    [ "$status" = 7 ]
    [ "$(ask '{"op":"volume_list"}' | jq -c '.volumes[] | select(.id == "data") | [.tenant, .size_mib, .mounted, .users]')" = '[7,16,true,["one"]]' ]
    op remove one 1
    [ "$(ask '{"op":"volume_list"}' | jq -c '.volumes[] | select(.id == "data") | .mounted')" = false ]
    [[ $(losetup -a) != *"$HOME_DIR/volumes/data.img"* ]]
}

checkpoint='{"volumes": [{"id": "data", "path": "/data"}], "checkpoint_dir": "/data/keep/here"}'

# A file as the instance would have made it.
put() {
    touch "$1"
    chown 999948288:999948288 "$1"
}

@test "a checkpoint counts when its marker is renamed into place, not when it is written" {
    start one 1 7 'cd $BULKHEAD_CHECKPOINT_DIR; rm -f *; echo "{\"step\": 1}" >checkpoint.json
        echo written; while [ ! -e go ]; do sleep 0.05; done
        echo "{\"step\": 12}" >new; mv new checkpoint.json; echo renamed
        while [ ! -e more ]; do sleep 0.05; done
        echo "{\"step\": 99}" >checkpoint.json; echo overwritten; sleep 100' "$checkpoint"
    says one 1 written
    here=$HOME_DIR/state/volumes/data/keep/here
    put "$here/go"
    says one 1 renamed
    [ "$(record one | jq .checkpoint.step)" = 12 ]
    time=$(record one | jq .checkpoint.time_ms)
    [ $(($(date +%s%3N) - time)) -lt 20000 ]
    put "$here/more"
    says one 1 overwritten
    [ "$(record one | jq -c .checkpoint)" = "{\"step\":12,\"time_ms\":$time}" ]
}

@test "the marker of an earlier incarnation is not one of this" {
    start one 1 7 'cd $BULKHEAD_CHECKPOINT_DIR; echo "{\"step\": 5}" >n; mv n checkpoint.json; sleep 0.2' "$checkpoint"
    [ "$(ended one)" = 0 ]
    [ "$(record one | jq .checkpoint.step)" = 5 ]
    op remove one 1
    start one 2 7 'cat $BULKHEAD_CHECKPOINT_DIR/checkpoint.json; sleep 100' "$checkpoint"
    says one 2 '"step": 5'
    [ "$(record one | jq .checkpoint)" = null ]
}

@test "links, fifos and devices as marker or directory show nothing and harm nothing" {
    echo '{"step": 666}' >"$HOME_DIR/secret.json"
    for trick in "ln -s $HOME_DIR/secret.json checkpoint.json" \
        "ln -s other checkpoint.json" "ln -s /etc/hostname checkpoint.json" "mkfifo checkpoint.json" \
        "mkdir checkpoint.json" "cd ..; rm -r here; ln -s $HOME_DIR here; ln -s secret.json checkpoint.json"; do
        start one 1 7 "cd \$BULKHEAD_CHECKPOINT_DIR; rm -rf *; echo '{\"step\": 666}' >other; busybox $trick 2>/dev/null || $trick; echo set; sleep 100" "$checkpoint"
        says one 1 set
        [ "$(record one | jq -c '[.state, .checkpoint]')" = '["running",null]' ]
        op kill one 1
        forget_all
    done
}

@test "a checkpoint directory that is a link to the machine refuses the start" {
    start one 1 7 'rm -rf /data/keep; ln -s /etc /data/keep' "$(at data)"
    [ "$(ended one)" = 0 ]
    before=$(ls -la /etc | sha256sum)
    run start two 1 7 true "$checkpoint"
    [ "$status" = 7 ]
    [ "$(ls -la /etc | sha256sum)" = "$before" ]
    start three 1 7 'rm /data/keep' "$(at data)"
    [ "$(ended three)" = 0 ]
}

@test "the notice's directory cannot be bent: it is not the instance's to write" {
    start one 1 7 'trap "echo got; cat /run/bulkhead/notice.json; exit 0" USR1
        ln -s /etc/passwd /run/bulkhead/notice.json; ln -s /etc/passwd /run/bulkhead/notice.new
        mv /run/bulkhead /run/other; rm -r /run/bulkhead; ln -s /etc /run/bulkhead
        echo tried; while :; do sleep 0.1; done'
    says one 1 tried
    before=$(sha256sum /etc/passwd)
    op notice one 1 '{"reason":"reclaim","deadline_ms":1800000000000}'
    [ "$(ended one)" = 0 ]
    [[ $(log_of one 1) == *'"reason":"reclaim"'* ]]
    [ "$(sha256sum /etc/passwd)" = "$before" ]
    [ ! -e /etc/notice.json ]
}

@test "links at a mount path inside the image do not lead out" {
    mkdir -p "$HOME_DIR/linked/bin"
    cp -a "$HOME_DIR"/rootfs/bin/* "$HOME_DIR/linked/bin"
    for name in data etc run tmp proc sys; do
        ln -s /../../../../../../../etc "$HOME_DIR/linked/$name"
    done
    digest=$("$repo/tools/make-image" "$HOME_DIR/images/linked" "$HOME_DIR/linked")
    before=$(ls -laR /etc | sha256sum)
    start one 1 7 'echo x >/data/inside; echo y >/tmp/z' \
        "$(at data | jq -c --arg d "$digest" '. + {image: {name: "linked", digest: $d}}')" || true
    ended one
    [ "$(ls -laR /etc | sha256sum)" = "$before" ]
}
