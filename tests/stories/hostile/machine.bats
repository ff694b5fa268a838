#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What an instance learns of the machine and of those it shares it with.

load ../runner/common

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_home brmach
    ${CC:-cc} -O1 -static -o "$HOME_DIR/rootfs/bin/greedy" "$BATS_TEST_DIRNAME/greedy.c"
    export GREEDY
    GREEDY=$("$repo/tools/make-image" "$HOME_DIR/images/greedy" "$HOME_DIR/rootfs" -- /bin/sh)
    start_runner
}
teardown_file() { remove_home; }
teardown() { forget_all; }

# Everything below /proc that can be read and is not of one's own processes.
files="meminfo stat loadavg uptime vmstat diskstats interrupts softirqs schedstat zoneinfo buddyinfo"
files="$files slabinfo cmdline locks key-users swaps sys/fs/file-nr sys/fs/inode-nr sys/fs/dentry-state"
look="for f in $files; do echo == \$f; cat /proc/\$f 2>/dev/null; done"


@test "nothing in /proc moves when a neighbour works" {
    start quiet 1 1 "($look) >/tmp/a; while [ ! -e /run/bulkhead/notice.json ]; do sleep 0.1; done
        ($look) >/tmp/b; cat /tmp/b; [ \"\$(cat /tmp/a)\" = \"\$(cat /tmp/b)\" ]"
    start busy 1 2 'dd if=/dev/zero of=/tmp/x bs=1M count=20; i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; echo worked'
    says busy 1 worked
    op notice quiet 1 '{"reason": "now", "deadline_ms": 4000000000000}' >/dev/null
    [ "$(ended quiet)" = 0 ]
    said=$(log_of quiet 1)
    # It is told what it has itself, in the kernel's own form.
    [[ $said == *"MemTotal:          65536 kB"* ]]
    [ "$(grep -c '^cpu[0-9]' <<<"$said")" = 1 ]
    # And nothing else: the rest is empty.
    [ "$(sed -n '/== vmstat/,$p' <<<"$said" | grep -cv '^==' || true)" = 0 ]
}

@test "the machine's own numbers cannot be had by another way to the same file" {
    start digger 1 1 'cat /proc/self/root/proc/meminfo /proc/1/root/proc/stat; umount /proc/stat; cat /proc/stat; ls -d /proc/*/cwd/proc/stat'
    [ "$(ended digger)" != running ]
    [[ $(log_of digger 1) != *$(sed -n 's/^MemTotal: *//p' /proc/meminfo)* ]]
    [[ $(log_of digger 1) != *"$(grep '^btime' /proc/stat)"* ]]
}

@test "a card's name in its mounts and its environment is not the card's own" {
    for card in SIM-GPU-5b1c0000-1000 SIM-GPU-5b1c0001-1001; do
        with=with-$((++number))
        start "$with" 1 1 'cat /proc/self/mountinfo /proc/self/environ; cat /proc/mounts' "{\"cards\": [\"$card\"]}"
        [ "$(ended "$with")" = 0 ]
        log_of "$with" 1 >"$HOME_DIR/said"
        [ "$(grep -ac 'SIM-GPU' "$HOME_DIR/said" || true)" = 0 ]
        grep -aq 'BULKHEAD_CARDS=card0' "$HOME_DIR/said"
    done
}

@test "who opens all the files it can leaves the others and the machine theirs" {
    [ "$(cat /proc/sys/fs/file-max)" = 9223372036854775807 ]
    start many 1 1 "exec greedy files" \
        "{\"image\": {\"name\": \"greedy\", \"digest\": \"$GREEDY\"}, \"pids_max\": 512}" >/dev/null
    sleep 3
    before=$(cut -f1 /proc/sys/fs/file-nr)
    # Paid by its own memory: 64 MiB are room for some hundred thousand.
    [ "$before" -lt 1000000 ]
    start other 1 2 'exec 3</dev/null 4</dev/null; echo opened'
    [ "$(ended other)" = 0 ]
    [ "$(log_of other 1)" = opened ]
    op remove many 1 >/dev/null
    soon files_are_back
}
files_are_back() { [ "$(cut -f1 /proc/sys/fs/file-nr)" -lt "$((before / 2 + 4000))" ]; }
