#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a neighbour, the bridges and the machine hear of an instance that sends
# all it can, from its first instruction on and while rules are replaced.

load ../stories/runner/common

setup_file() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    make_home brpack
    ${CC:-cc} -O1 -static -o "$HOME_DIR/rootfs/bin/packets" "$BATS_TEST_DIRNAME/packets.c"
    export PACKETS
    PACKETS=$("$repo/tools/make-image" "$HOME_DIR/images/packets" "$HOME_DIR/rootfs" -- /bin/sh)
    start_runner
}
teardown_file() { remove_home; }
teardown() { forget_all; }

with() { jq -cn --arg d "$PACKETS" '{network: {}, image: {name: "packets", digest: $d}}'; }
packets() { "$HOME_DIR/rootfs/bin/packets" "$@"; }
mac() { jq -r .mac <<<"$1"; }
# party RECORD: as `packets forge` wants it
party() { jq -r '"\(.mac) \(.address) \(.address6)"' <<<"$1"; }
within() { # within NAME COMMAND: in that instance's network
    local pid
    pid=$(record "$1" | jq .pid)
    shift
    nsenter --net="/proc/$pid/ns/net" "$@"
}
router() { nsenter --net="$HOME_DIR/state/netns/router" "$@"; }
# hears NAME: what a listener said
heard() { tail -n 1 "$BATS_TEST_TMPDIR/$1"; }
clean() { [[ $(heard "$1") == "frames "*" foreign 0" ]] || { cat "$BATS_TEST_TMPDIR/$1"; return 1; }; }
listen() { # listen NAME PREFIX... -- LINK MAC...
    local name=$1 prefix=()
    shift
    while [ "$1" != -- ]; do prefix+=("$1"); shift; done
    shift
    local link=$1
    shift
    "${prefix[@]}" "$HOME_DIR/rootfs/bin/packets" listen "$link" 12 "$@" none >"$BATS_TEST_TMPDIR/$name" 2>&1 3>&- &
    listeners+=($!)
}

@test "nobody hears what an instance may not say: neighbours, bridges and the machine, while rules are replaced" {
    listeners=()
    server=$(start server 1 7 'nc -ll -p 80 -e echo hello' '{"network": {}}')
    friend=$(start friend 1 7 'while :; do nc -w 1 '"$(jq -r .address <<<"$server")"' 80 </dev/null >/dev/null; sleep 0.1; done' '{"network": {}}')
    mate=$(start mate 1 7 'sleep 100' '{"network": {}}')
    enemy=$(start enemy 1 8 'sleep 100' '{"network": {}}')
    known="$(mac "$server") $(mac "$friend") $(mac "$mate")"
    listen server within server -- eth0 $known
    listen bridge7 router -- t007 none
    listen bridge8 router -- t008 none
    listen host -- any
    sleep 0.5
    within mate "$HOME_DIR/rootfs/bin/packets" forge eth0 9 $(party "$server") $(party "$friend") $(party "$mate") >"$BATS_TEST_TMPDIR/mate" 3>&- &
    within enemy "$HOME_DIR/rootfs/bin/packets" forge eth0 9 $(party "$server") $(party "$friend") $(party "$enemy") >"$BATS_TEST_TMPDIR/enemy" 3>&- &
    addresses="$(jq -r '"\(.address) \(.address6)"' <<<"$server") $(hostname -I) 10.0.128.1 10.0.143.255 255.255.255.255"
    addresses="$addresses 224.0.0.1 224.0.0.251 ff02::1 ff02::2 ff02::fb fe80::1 169.254.169.254 8.8.8.8 127.0.0.1"
    # Strangers come, send at once, and go: the rules are replaced each time.
    for i in 1 2 3 4 5 6 7 8; do
        start "quick-$i" 1 8 "exec packets probe 0.2 $addresses" "$(with)" >/dev/null
        [ "$(ended "quick-$i")" = 0 ]
        op remove "quick-$i" 1 >/dev/null
    done
    wait "${listeners[@]}"
    echo "# server: $(heard server); bridges: $(heard bridge7), $(heard bridge8); machine: $(heard host); $(cat "$BATS_TEST_TMPDIR/mate" "$BATS_TEST_TMPDIR/enemy" | tr '\n' ' ')" >&3
    for name in server bridge7 bridge8 host; do clean $name; done
    # The ear works: the friend was heard all the time.
    [ "$(heard server | cut -d' ' -f2)" -gt 100 ]
    [ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/mate")" -gt 1000 ]
    [ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/enemy")" -gt 1000 ]
}
