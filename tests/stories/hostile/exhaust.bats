#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# An instance takes all it can get of what the whole machine has little of.

load ../runner/common

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_home brhost
    ${CC:-cc} -O1 -static -o "$HOME_DIR/greedy" "$BATS_TEST_DIRNAME/greedy.c"
    cp "$HOME_DIR/greedy" "$HOME_DIR/rootfs/bin/"
    export GREEDY
    GREEDY=$("$repo/tools/make-image" "$HOME_DIR/images/greedy" "$HOME_DIR/rootfs" -- /bin/sh)
    start_runner
}

teardown_file() { remove_home; }

teardown() {
    ask '{"op":"list"}' | jq -r '.instances[] | "\(.instance) \(.incarnation)"' |
        while read -r id n; do op remove "$id" "$n" >/dev/null; done
}

# takes INSTANCE TENANT WHAT: sets count, what it got
takes() {
    start "$1" 1 "$2" "exec greedy $3" \
        "{\"image\": {\"name\": \"greedy\", \"digest\": \"$GREEDY\"}}" >/dev/null
    says "$1" 1 "^$3: "
    count=$(log_of "$1" 1 | sed -n "s/^$3: //p")
}

@test "who opens all the file watchers it can leaves the others and the machine theirs" {
    takes first 1 watchers
    [ "$count" -gt 0 ]
    mine=$count
    takes second 2 watchers
    [ "$count" = "$mine" ]
    timeout 1 "$HOME_DIR/greedy" watchers >"$HOME_DIR/said" || true
    [ "$(sed -n 's/^watchers: //p' "$HOME_DIR/said")" -gt 0 ]
}

@test "who opens all the terminals it can is stopped at its own number" {
    takes third 1 terminals
    [ "$count" = 64 ]
}

@test "of netlink there is nothing but the listing of addresses" {
    takes fourth 1 netlink
    [ "$count" = 1 ]
}

@test "file systems and interrupts of the machine are not listed" {
    start nosy 1 1 'ls /proc/fs /proc/irq; ls /proc/fs/ext4 /proc/fs/jbd2; echo end'
    [ "$(ended nosy)" = 0 ]
    said=$(log_of nosy 1)
    [[ $said != *loop* && $said != *vda* && $said != *smp_affinity* ]]
    [[ $said == *end* ]]
}
