#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The probe says "reached" when it reaches, and only then; what it finds inside
# an instance is believed because of these.

setup() {
    probe=$BATS_TEST_DIRNAME/../../../build/${BUILD:-debug}/examples/probe/probe
    cd "$BATS_TEST_TMPDIR" || return 1
    [ "$(id -u)" -eq 0 ] || skip "needs root to build a cell"
}

# in_cell SETUP ARGS...: the probe with its own processes, mounts, network and
# devices and without rights, after SETUP has run in the cell.
in_cell() {
    local prepare=$1
    shift
    # shellcheck disable=SC2016
    run unshare --pid --mount --net --fork sh -c '
        set -e
        mount -t proc proc /proc
        mount -t tmpfs tmpfs /dev
        mknod -m 666 /dev/null c 1 3
        cp "$1" /dev/probe
        eval "$2"
        shift 2
        exec setpriv --reuid 65534 --regid 65534 --clear-groups \
            --bounding-set=-all --inh-caps=-all --no-new-privs /dev/probe "$@"
    ' sh "$probe" "$prepare" "$@"
    # Every line is one JSON object with the two members.
    [ "$(jq -r 'select((keys | join(" ")) == "result try") | 1' <<<"$output" | wc -l)" \
        -eq "${#lines[@]}" ]
}

result_of() { # result_of TRY
    jq -r --arg name "$1" 'select(.try == $name) | .result' <<<"$output"
}

@test "in a cell of its own nothing is reached" {
    in_cell : --mark secret-of-research --open /etc/shadow --connect 127.0.0.1:1 \
        --connect 192.0.2.1:80 --connect '[fd00::1]:80' --udp 192.0.2.53:53
    [ "$status" -eq 0 ]
    [ "$(jq -r 'select(.result | startswith("reached")) | .try' <<<"$output")" = "" ]
    [[ "$(result_of 'open /etc/shadow')" == "refused: Permission denied" ]]
    [[ "$(result_of 'connect 192.0.2.1:80')" == "refused: Network is unreachable" ]]
    [[ "$(result_of 'mount proc')" == "refused: Operation not permitted" ]]
    [[ "$(result_of 'make device memory')" == "refused: "* ]]
    [ "$(result_of 'process /proc/1')" = own ]
    [ "$(result_of 'device /dev/null')" = own ]
}

@test "a device that is not its own is found" {
    in_cell 'mknod -m 666 /dev/card c 1 5'
    [ "$status" -eq 1 ]
    [ "$(result_of 'device /dev/card')" = "reached: it opens" ]
    in_cell 'mknod -m 666 /dev/card c 1 5' --device /dev/card
    [ "$status" -eq 0 ]
    in_cell 'mknod -m 600 /dev/card c 1 5'
    [ "$status" -eq 0 ]
    [ "$(result_of 'device /dev/card')" = "refused: Permission denied" ]
}

@test "a process of another cell is found" {
    in_cell 'unshare --mount sleep 5 & sleep 0.2'
    [ "$status" -eq 1 ]
    [ "$(result_of 'process /proc/1')" = own ]
    grep -q '"process /proc/[0-9]*", "result": "reached: it can be seen"' <<<"$output"
}

@test "a mark in a mount is found" {
    in_cell 'mkdir /dev/secret-of-research; mount -t tmpfs tmpfs /dev/secret-of-research' \
        --mark secret-of-research
    [ "$status" -eq 1 ]
    [ "$(result_of 'read /proc/self/mountinfo')" = "reached: it holds secret-of-research" ]
}

@test "a path that opens and a port that answers are found" {
    in_cell 'echo hello >/dev/theirs; chmod 644 /dev/theirs' --open /dev/theirs
    [ "$status" -eq 1 ]
    [ "$(result_of 'open /dev/theirs')" = "reached: it opens" ]
    in_cell 'ip link set lo up; busybox nc -l -p 4000 </dev/null >/dev/null & sleep 0.3' \
        --connect 127.0.0.1:4000
    [ "$status" -eq 1 ]
    [ "$(result_of 'connect 127.0.0.1:4000')" = "reached: connected" ]
}

@test "wrong usage ends with 2" {
    for args in "--connect 1.2.3.4" "--connect host:80" "--connect 1.2.3.4:0" \
        "--connect [::1:80" "--mark" "extra" "--nonsense"; do
        # shellcheck disable=SC2086
        run "$probe" $args
        [ "$status" -eq 2 ]
    done
}
