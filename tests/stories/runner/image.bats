#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Images: what is fine is unpacked once; what is hostile leaves the machine as
# it was.

load common

setup_file() {
    make_home brimg
    start_runner
}

teardown_file() {
    remove_home
}

setup() {
    T=$BATS_TEST_TMPDIR
}

teardown() {
    forget_all
}

make() {
    "$repo/tools/make-image" "$HOME_DIR/images/$1" "${@:2}"
}

prepare() {
    ask "$(jq -cn --arg n "$1" --arg d "$2" '{op: "image_prepare", name: $n, digest: $d}')"
}

outside() {
    ls / "$HOME_DIR"
    ls -la "$HOME_DIR/images"
    sha256sum /etc/passwd /etc/shadow /etc/group
    stat -c '%n %a %u' /etc /tmp /bin/sh
    find /etc /tmp -maxdepth 1 -name '*evil*' -o -name stolen -o -name fifo
}

# hostile NAME TAR WORDS: preparing must fail with those words and change
# nothing outside the cache.
hostile() {
    local digest
    digest=$(make "$1" "$2")
    outside >"$T/before"
    run prepare "$1" "$digest"
    outside >"$T/after"
    [ "$status" != 0 ]
    [[ $output == *"$3"* ]]
    cmp "$T/before" "$T/after"
    [ ! -e "$HOME_DIR/state/images/${digest#sha256:}" ]
    [ ! -e "$HOME_DIR/state/images/unpacking" ]
}

@test "a directory layout, an archive and compressed layers are all unpacked" {
    d1=$(make plain "$HOME_DIR/rootfs" -- /bin/sh -c 'echo plain')
    d2=$(make packed.tar "$HOME_DIR/rootfs" -- /bin/sh -c 'echo packed')
    d3=$(GZIP=1 make zipped "$HOME_DIR/rootfs" -- /bin/sh -c 'echo zipped')
    i=0
    for name in plain packed zipped; do
        i=$((i + 1))
        digest=$(eval "echo \$d$i")
        start "in-$name" 1 1 '' "{\"argv\": [], \"image\": {\"name\": \"$name\", \"digest\": \"$digest\"}}"
        [ "$(ended "in-$name")" = 0 ]
        [ "$(log_of "in-$name" 1)" = $name ]
    done
}

@test "an image is unpacked once, listed with what it runs, and owned by no one of the machine" {
    digest=$(make once "$HOME_DIR/rootfs" -- /bin/true)
    [ "$(prepare once "$digest" | jq .cached)" = false ]
    [ "$(prepare once "$digest" | jq .cached)" = true ]
    [ "$(ask '{"op":"image_list"}' | jq -c '.images[] | select(.name == "once") | [.digest, .prepared, .argv]')" = "[\"$digest\",true,[\"/bin/true\"]]" ]
    [ "$(find "$HOME_DIR/state/images/${digest#sha256:}/root" -uid 0 | wc -l)" = 0 ]
}

@test "later layers replace, hide and whiten out what lower ones have" {
    mkdir -p "$T/a/dir" "$T/a/opaque" "$T/b/opaque" "$T/c"
    echo old >"$T/a/file" && echo x >"$T/a/dir/gone" && echo x >"$T/a/opaque/hidden"
    echo new >"$T/b/file" && mkdir "$T/b/dir" && : >"$T/b/dir/.wh.gone"
    : >"$T/b/opaque/.wh..wh..opq" && echo x >"$T/b/opaque/shown"
    digest=$(make layers "$HOME_DIR/rootfs" "$T/a" "$T/b" -- /bin/sh -c \
        'cat /file; ls /dir /opaque')
    start one 1 1 '' "{\"argv\": [], \"image\": {\"name\": \"layers\", \"digest\": \"$digest\"}}"
    [ "$(ended one)" = 0 ]
    [ "$(log_of one 1)" = "$(printf 'new\n/dir:\n\n/opaque:\nshown')" ]
}

@test "entries that would leave the root refuse the image" {
    mkdir "$T/x" && echo evil >"$T/x/f"
    tar -C "$T/x" -P --transform 's,^f,../../../../../../../tmp/evil,' -cf "$T/dots.tar" f
    hostile dots "$T/dots.tar" "a path with .."
    tar -C "$T/x" -P --transform 's,^f,/tmp/evil,' -cf "$T/abs.tar" f
    hostile abs "$T/abs.tar" "an absolute path"
    [ ! -e /tmp/evil ]
}

@test "entries that pass through a link refuse the image" {
    mkdir "$T/x" && ln -s /etc "$T/x/link" && echo evil >"$T/f"
    tar -C "$T/x" -cf "$T/link.tar" link
    tar -C "$T" --transform 's,^f,link/evil,' -rf "$T/link.tar" f
    hostile through "$T/link.tar" "passes through a link"
    ln -s ../../../../../../../../etc "$T/x/rel"
    tar -C "$T/x" -cf "$T/rel.tar" rel
    tar -C "$T" --transform 's,^f,rel/evil,' -rf "$T/rel.tar" f
    hostile relative "$T/rel.tar" "passes through a link"
    mkdir "$T/x/real" && ln -s real "$T/x/inner"
    tar -C "$T/x" -cf "$T/inner.tar" real inner
    tar -C "$T" --transform 's,^f,inner/evil,' -rf "$T/inner.tar" f
    hostile inner "$T/inner.tar" "passes through a link"
    [ ! -e /etc/evil ]
}

@test "a hard link to a file of the machine refuses the image" {
    mkdir -p "$T/x/etc" && echo x >"$T/x/etc/shadow" && ln "$T/x/etc/shadow" "$T/x/stolen"
    tar -C "$T/x" -cf "$T/hard.tar" etc/shadow stolen
    tar --delete -f "$T/hard.tar" etc/shadow
    hostile hardlink "$T/hard.tar" "the image is refused"
    ln -s /etc/shadow "$T/x/sym" && rm "$T/x/stolen"
    tar -C "$T/x" -cf "$T/hardsym.tar" sym
    digest=$(make hardsym "$T/hardsym.tar")
    prepare hardsym "$digest"
}

@test "device nodes refuse the image, except below dev where they are left out" {
    mkdir -p "$T/x/dev" "$T/y"
    mknod "$T/x/disk" b 254 0
    tar -C "$T/x" -cf "$T/dev.tar" disk
    hostile device "$T/dev.tar" "a device node or fifo"
    mkfifo "$T/y/fifo"
    tar -C "$T/y" -cf "$T/fifo.tar" fifo
    hostile fifo "$T/fifo.tar" "a device node or fifo"
    rm "$T/x/disk" && mknod "$T/x/dev/disk" b 254 0
    digest=$(make devdir "$T/x")
    [ "$(prepare devdir "$digest" | jq .skipped)" = 1 ]
    [ ! -e "$HOME_DIR/state/images/${digest#sha256:}/root/dev/disk" ]
}

@test "setuid, setgid and extended attributes are dropped" {
    mkdir "$T/x" && cp /usr/bin/busybox "$T/x/su" && chmod 6755 "$T/x/su"
    cp /usr/bin/busybox "$T/x/cap"
    setfattr -n security.capability -v 0x0000000200040000000000000000000000000000 "$T/x/cap" 2>/dev/null || true
    tar -C "$T/x" --xattrs --xattrs-include='*' -cf "$T/x.tar" . 2>/dev/null || tar -C "$T/x" -cf "$T/x.tar" .
    digest=$(make suid "$T/x.tar")
    prepare suid "$digest"
    root=$HOME_DIR/state/images/${digest#sha256:}/root
    [ "$(stat -c %a "$root/su")" = 755 ]
    [ -z "$(getcap "$root/cap" 2>/dev/null)" ]
}

@test "bombs are bounded: bytes, entries, depth, compressed zeros" {
    dd if=/dev/zero bs=1M count=100 2>/dev/null >"$T/zeros"
    tar -C "$T" -cf "$T/zeros.tar" zeros
    digest=$(GZIP=1 make zeros "$T/zeros.tar")
    run prepare zeros "$digest"
    [ "$status" = 2 ]
    [[ $output == *"more than 67108864 bytes"* ]]
    [ ! -e "$HOME_DIR/state/images/unpacking" ]
    mkdir "$T/many" && (cd "$T/many" && seq 1200 | xargs touch)
    hostile many "$T/many" "more than 1000 entries"
    deep=$(seq -s / 200)
    mkdir -p "$T/deep/$deep"
    tar -C "$T/deep" -cf "$T/deep.tar" .
    hostile deep "$T/deep.tar" "too deep or long"
}

@test "a sparse file of a terabyte and owners above the range are refused" {
    truncate -s 1T "$T/sparse"
    tar -C "$T" -Scf "$T/sparse.tar" sparse
    hostile sparse "$T/sparse.tar" "sparse"
    echo x >"$T/f"
    tar -C "$T" --owner=70000 --group=0 --numeric-owner -cf "$T/owner.tar" f
    hostile owner "$T/owner.tar" "an owner above 65535"
}

@test "a layer, a manifest and a description that are not what their digest says are refused" {
    digest=$(make tampered "$HOME_DIR/rootfs")
    layer=$(ls -S "$HOME_DIR/images/tampered/blobs/sha256" | head -1)
    printf x | dd of="$HOME_DIR/images/tampered/blobs/sha256/$layer" bs=1 seek=700 conv=notrunc 2>/dev/null
    run prepare tampered "$digest"
    [ "$status" != 0 ]
    [ ! -e "$HOME_DIR/state/images/${digest#sha256:}" ]
    digest=$(make tampered2 "$HOME_DIR/linked-not-there" 2>/dev/null || make tampered2 "$HOME_DIR/rootfs" -- /bin/false)
    echo ' ' >>"$HOME_DIR/images/tampered2/blobs/sha256/${digest#sha256:}"
    run prepare tampered2 "$digest"
    [ "$status" = 9 ]
}

@test "blobs that are links to files of the machine are not followed" {
    digest=$(make bloblink "$HOME_DIR/rootfs" -- /bin/echo)
    ln -sf /etc/shadow "$HOME_DIR/images/bloblink/blobs/sha256/${digest#sha256:}"
    run prepare bloblink "$digest"
    [ "$status" = 6 ]
    ln -s /etc "$HOME_DIR/images/dirlink"
    run prepare dirlink "$digest"
    [ "$status" = 6 ]
}

@test "a digest that the name does not list is refused even when it is unpacked" {
    digest=$(make listed "$HOME_DIR/rootfs" -- /bin/ls)
    prepare listed "$digest"
    run prepare tiny "$digest"
    [ "$status" = 6 ]
    run ask '{"op":"image_prepare","name":"../../etc","digest":"'"$digest"'"}'
    [ "$status" = 2 ]
}

@test "the image's environment steers the container only, never the runner's helpers" {
    mkdir -p "$T/x"
    digest=$(make env "$HOME_DIR/rootfs" -- /bin/env)
    config=$(jq -r .config.digest "$HOME_DIR/images/env/blobs/sha256/${digest#sha256:}")
    jq -c '.config.Env += ["LD_PRELOAD=/evil.so", "BULKHEAD_CARDS=stolen"]' \
        "$HOME_DIR/images/env/blobs/sha256/${config#sha256:}" >"$T/config"
    new=sha256:$(sha256sum <"$T/config" | cut -d' ' -f1)
    cp "$T/config" "$HOME_DIR/images/env/blobs/sha256/${new#sha256:}"
    jq -c --arg d "$new" --argjson s "$(stat -c %s "$T/config")" '.config.digest = $d | .config.size = $s' \
        "$HOME_DIR/images/env/blobs/sha256/${digest#sha256:}" >"$T/manifest"
    digest=sha256:$(sha256sum <"$T/manifest" | cut -d' ' -f1)
    cp "$T/manifest" "$HOME_DIR/images/env/blobs/sha256/${digest#sha256:}"
    jq -c --arg d "$digest" '.manifests[0].digest = $d' "$HOME_DIR/images/env/index.json" >"$T/index"
    cp "$T/index" "$HOME_DIR/images/env/index.json"
    start one 1 1 '' "{\"argv\": [], \"image\": {\"name\": \"env\", \"digest\": \"$digest\"}}"
    [ "$(ended one)" = 0 ]
    [[ $(log_of one 1) == *LD_PRELOAD=/evil.so* ]]
    [[ $(log_of one 1) != *stolen* ]]
}
