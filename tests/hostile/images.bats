#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Hostile images, one after the other: each is refused with a reason or does
# no harm, and the machine is as it was before.

load ../stories/runner/common

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_home brcorp
    ${CC:-cc} -O1 -o "$HOME_DIR/tarball" "$BATS_TEST_DIRNAME/tarball.c"
    mkdir -p "$HOME_DIR/outside"
    echo mine >"$HOME_DIR/outside/file"
    start_runner
    # What is made once, is made now.
    start first 1 1 true '{"network": {}}' >/dev/null
    ended first >/dev/null
    op remove first 1 >/dev/null
    machine >"$HOME_DIR/before"
}
teardown_file() { remove_home; }
teardown() { forget_all; }

# Files with their times, mounts, rules, interfaces and processes of tenants.
machine() {
    find / /dev /etc /root /home /bin/ /usr/bin /var "$HOME_DIR/outside" -maxdepth 1 \
        -not -path '/dev/loop*' -printf '%p %y %m %U %G %s %l\n' | grep -v '^/tmp \|^/proc \|^/run ' | sort
    find /etc "$HOME_DIR/outside" -type f -printf '%p %C@ %n\n' | sort
    find /tmp -maxdepth 1 -name '*evil*'
    ls "$HOME_DIR" "$HOME_DIR/state/images"
    cut -d' ' -f3,4,5,6 /proc/self/mountinfo | sort
    for net in '' "--net=$HOME_DIR/state/netns/router"; do
        ${net:+nsenter $net} nft list ruleset
        ${net:+nsenter $net} ip -o link | cut -d: -f2
    done
    ps -eo uid,args | awk '$1 >= 100000'
    pgrep -fc "conmon.*$HOME_DIR" || true
    losetup -a | grep "$HOME_DIR" || true
}
same() {
    machine >"$BATS_TEST_TMPDIR/after"
    diff <(grep -vE '^[0-9a-f]{64}$' "$HOME_DIR/before") <(grep -vE '^[0-9a-f]{64}$' "$BATS_TEST_TMPDIR/after")
}
make() { "$repo/tools/make-image" "$HOME_DIR/images/$1" "${@:2}"; }
prepare() { ask "$(jq -cn --arg n "$1" --arg d "$2" '{op: "image_prepare", name: $n, digest: $d}')"; }

number=0
# refused WORDS ENTRY...: the layer is refused with those words; nothing is left
refused() {
    local words=$1 name=bad-$((++number)) digest
    shift
    "$HOME_DIR/tarball" "$@" >"$BATS_TEST_TMPDIR/layer.tar"
    digest=$(make $name "$HOME_DIR/rootfs" "$BATS_TEST_TMPDIR/layer.tar" -- /bin/true)
    run prepare $name "$digest"
    [ "$status" != 0 ] && [[ $output == *"$words"* ]] || { echo "$*: $status, $output"; return 1; }
    [ ! -e "$HOME_DIR/state/images/${digest#sha256:}" ]
    same || { echo "after $*"; return 1; }
}
# harmless ENTRY...: it is unpacked, runs, and leaves the machine as it was
harmless() {
    local name=odd-$((++number)) digest
    "$HOME_DIR/tarball" "$@" >"$BATS_TEST_TMPDIR/layer.tar"
    digest=$(make $name "$HOME_DIR/rootfs" "$BATS_TEST_TMPDIR/layer.tar" -- /bin/true)
    run prepare $name "$digest"
    [ "$status" = 0 ] || { echo "$*: $status, $output"; return 1; }
    root=$HOME_DIR/state/images/${digest#sha256:}/root
    start $name 1 1 'echo x >/evil; cat /evil; true' "{\"image\": {\"name\": \"$name\", \"digest\": \"$digest\"}}" >/dev/null 2>&1 || true
    ended $name >/dev/null
    op remove $name 1 >/dev/null 2>&1 || true
    same || { echo "after $*"; return 1; }
}

@test "names that lead out are refused" {
    refused "an absolute path" 0:/tmp/evil::::::x
    refused "an absolute path" 0://tmp/evil::::::x
    refused "a path with .." 0:../../../../../tmp/evil:::::x
    refused "a path with .." 0:a/../../../tmp/evil:::::x
    refused "a path with .." 5:..
    refused "an absolute path" pax:path=/tmp/evil 0:x:::::x
    refused "a path with .." pax:path=../../../../tmp/evil 0:x:::::x
    refused "a path with .." L:longlink:::::../../../../tmp/evil 0:x:::::x
}

@test "links that lead out are not followed" {
    refused "passes through a link" 2:out:/etc 0:out/evil:::::x
    refused "passes through a link" 2:out:../../../../../../../../etc 0:out/evil:::::x
    refused "passes through a link" 2:one:two 2:two:/etc 0:one/evil:::::x
    refused "passes through a link" 0:x:::::x 2:x:/tmp 5:x/evil
    refused "passes through a link" 2:out:/etc 1:stolen:out/shadow
    refused "an absolute path" 1:stolen:/etc/shadow
    refused "a path with .." 1:stolen:../../../../../../../etc/shadow
    refused "the image is refused" 1:stolen:not-there
    refused "a path with .." pax:linkpath=../../etc/shadow 1:stolen:x
    harmless 2:sym:/etc/shadow 2:evil:$HOME_DIR/outside/file
    [ "$(cat "$HOME_DIR/outside/file")" = mine ]
    refused "not a directory" 2:.:/etc 0:evil:::::x
}

@test "devices, pipes and what no archive of files has are refused" {
    refused "a device node or fifo" 3:null
    refused "a device node or fifo" 4:disk
    refused "a device node or fifo" 6:pipe
    refused "unknown type" Z:x
    refused "sparse" S:x
    refused "sparse" pax:GNU.sparse.major=1 0:x:::::x
}

@test "rights that files bring are dropped" {
    harmless 0:su::6755:0::x pax:SCHILY.xattr.security.capability=evil 0:cap:::::x \
        pax:SCHILY.xattr.trusted.overlay.redirect=/etc 5:dir::7777
    [ "$(stat -c %a "$root/su")" = 755 ]
    [ -z "$(getcap "$root/cap")" ]
    [ "$(stat -c %U "$root/dir")" != root ]
    harmless 5:.::2777
    refused "an owner above 65535" 0:x:::65536::x
}

@test "whiteouts hide what is in the image, never what is outside" {
    refused "passes through a link" 2:out:$HOME_DIR/outside 0:out/.wh.file
    refused "passes through a link" 2:out:$HOME_DIR/outside 0:out/.wh..wh..opq
    refused "a path with .." 0:../.wh.outside
    refused "a whiteout of a directory's own name" 0:.wh...
    refused "a whiteout of a directory's own name" 5:a 0:a/.wh...
    refused "a whiteout of a directory's own name" 0:bin/.wh..
    harmless 0:.wh. 0:bin/.wh.not-there
    [ -e "$HOME_DIR/outside/file" ]
}

@test "an entry that comes again as something else replaces the first, and only it" {
    harmless 0:x:::::one 5:x 0:x/y:::::two 2:x:$HOME_DIR/outside 0:x:::::three
    [ "$(cat "$root/x")" = three ]
    harmless 5:d 0:d/e:::::x 2:d/e:$HOME_DIR/outside/file 0:d/e:::::evil
    [ "$(cat "$HOME_DIR/outside/file")" = mine ]
}

@test "sizes that lie and bombs are refused" {
    refused "ends early" 0:x::::4096:x cut:
    refused "malformed" 0:x::::-:x
    refused "malformed" 0:x::::bad:x
    refused "" 0:x::::8589934591:x
    refused "" pax:size=99999999999999999999 0:x:::::x
    refused "more than 1000 entries" many:1100
    refused "too deep or long" "pax:path=$(seq -s / 200)" 5:x
}

@test "descriptions that lie steer nothing" {
    digest=$(make lies "$HOME_DIR/rootfs" -- /bin/sh -c 'id -u; pwd; env | grep -c VAR; true')
    blobs=$HOME_DIR/images/lies/blobs/sha256
    # describe FILTER: another description for the same image; sets digest
    describe() {
        local manifest config new
        manifest=$(jq -r '.manifests[0].digest' "$HOME_DIR/images/lies/index.json")
        config=$(jq -r .config.digest "$blobs/${manifest#sha256:}")
        jq -c "$1" "$blobs/${config#sha256:}" >"$BATS_TEST_TMPDIR/config"
        new=$(sha256sum <"$BATS_TEST_TMPDIR/config" | cut -d' ' -f1)
        cp "$BATS_TEST_TMPDIR/config" "$blobs/$new"
        jq -c --arg d "sha256:$new" --argjson s "$(stat -c %s "$BATS_TEST_TMPDIR/config")" \
            '.config.digest = $d | .config.size = $s' "$blobs/${manifest#sha256:}" >"$BATS_TEST_TMPDIR/manifest"
        new=$(sha256sum <"$BATS_TEST_TMPDIR/manifest" | cut -d' ' -f1)
        cp "$BATS_TEST_TMPDIR/manifest" "$blobs/$new"
        jq -c --arg d "sha256:$new" '.manifests[0].digest = $d' "$HOME_DIR/images/lies/index.json" >"$BATS_TEST_TMPDIR/index"
        cp "$BATS_TEST_TMPDIR/index" "$HOME_DIR/images/lies/index.json"
        digest=sha256:$new
    }
    i=0
    for lie in '.hooks = {prestart: [{path: "/bin/touch", args: ["touch", "/tmp/evil-hook"]}]}' \
        '.config.Env = [range(20000) | "VAR\(.)=x"]' '.config.Env = ["LD_PRELOAD=/evil.so", "=", "", 7]' \
        '.config.User = "root:/etc"' '.config.User = "99999999999999999999"' '.config.User = "-1:-1"' \
        '.config.WorkingDir = "../../../../etc"' '.config.WorkingDir = "/proc/self/root/../.."' \
        '.config.Entrypoint = [range(5000) | "x"]' '.config.Entrypoint = {}' '.config = 7' '.config = null' \
        '.config.Volumes = {"/etc": {}} | .config.Labels = {"run": "evil"} | .config.StopSignal = "evil"' \
        '.annotations = {"run.oci.hooks.stderr": "/tmp/evil", "run.oci.handler": "krun"}'; do
        describe "$lie"
        i=$((i + 1))
        start "lie-$i" 1 1 '' "{\"argv\": [], \"image\": {\"name\": \"lies\", \"digest\": \"$digest\"}}" >/dev/null 2>&1 &&
            [ "$(ended "lie-$i")" != "still running" ]
        op remove "lie-$i" 1 >/dev/null 2>&1 || true
        kill -0 "$(cat "$HOME_DIR/runner.pid")"
        same || { echo "after $lie"; return 1; }
    done
    [ ! -e /tmp/evil-hook ]
}
