# SPDX-License-Identifier: Apache-2.0
# A runner of its own for one file of stories: own prefix, own state, own
# simulated cards, and a small image of busybox made here.

. "$(dirname "${BASH_SOURCE[0]}")/../words.bash"
repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
AGENT_UID=64321

runner_binary() {
    echo "${BULKHEAD_RUNNER:-$repo/build/${BUILD:-debug}/bulkhead-runner}"
}

# make_home PREFIX: directories, policy, image; sets HOME_DIR.
make_home() {
    HOME_DIR=$(mktemp -d /tmp/bulkhead-runner.XXXXXX)
    export HOME_DIR PREFIX=$1
    chmod 755 "$HOME_DIR"
    mkdir -p "$HOME_DIR/images" "$HOME_DIR/rootfs/bin"
    cp "$repo/data/estates/demo.json" "$HOME_DIR/estate.json"
    cp "$(runner_binary)" "$HOME_DIR/bulkhead-runner"
    cp /usr/bin/busybox "$HOME_DIR/rootfs/bin/busybox"
    for applet in sh ls cat id sleep echo touch mkdir ps ip nc dd env ln rm \
        mv kill true false stat head mount mknod grep wc seq tr arping \
        hostname date unshare wget find chmod sync df; do
        ln -s busybox "$HOME_DIR/rootfs/bin/$applet"
    done
    IMAGE=$("$repo/tools/make-image" "$HOME_DIR/images/tiny" \
        "$HOME_DIR/rootfs" -- /bin/sh -c 'echo from the image')
    export IMAGE
    cat >"$HOME_DIR/policy.json" <<END
{"version": 1, "prefix": "$1", "agent_uid": $AGENT_UID,
 "socket": "$HOME_DIR/run/runner.sock", "state_dir": "$HOME_DIR/state",
 "image_dir": "$HOME_DIR/images", "volume_dir": "$HOME_DIR/volumes",
 "estate": "$HOME_DIR/estate.json", "writable_root": true,
 "memory_mib_max": 1024, "volume_mib_max": 256, "image_mib_max": 64,
 "image_entries_max": 1000, "release_wait_ms": 1000}
END
}

start_runner() {
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" \
        </dev/null >>"$HOME_DIR/runner.out" 2>&1 3>&- &
    echo $! >"$HOME_DIR/runner.pid"
    disown
    for _ in $(seq 200); do
        [ -S "$HOME_DIR/run/runner.sock" ] && return 0
        sleep 0.05
    done
    cat "$HOME_DIR/runner.out" >&2
    return 1
}

stop_runner() {
    kill "-${1:-TERM}" "$(cat "$HOME_DIR/runner.pid")" 2>/dev/null || true
    while kill -0 "$(cat "$HOME_DIR/runner.pid")" 2>/dev/null; do
        sleep 0.02
    done
    rm -f "$HOME_DIR/run/runner.sock"
}

remove_home() {
    [ -n "${HOME_DIR:-}" ] || return 0
    stop_runner TERM
    "$HOME_DIR/bulkhead-runner" --policy "$HOME_DIR/policy.json" \
        --clean --volumes
    rm -rf "$HOME_DIR"
}

# ask JSON: one request as the agent; prints the result.
ask() {
    setpriv --reuid "$AGENT_UID" --regid "$AGENT_UID" --clear-groups \
        "$HOME_DIR/bulkhead-runner" --socket "$HOME_DIR/run/runner.sock" \
        --request "$1"
}

# op NAME INSTANCE INCARNATION [MORE-JSON]
op() {
    ask "$(jq -cn --arg o "$1" --arg i "$2" --argjson n "$3" \
        --argjson m "${4:-{\}}" '{op: $o, instance: $i, incarnation: $n} + $m')"
}

# start INSTANCE INCARNATION TENANT SCRIPT [MORE-JSON]
start() {
    ask "$(jq -cn --arg i "$1" --argjson n "$2" --argjson t "$3" \
        --arg s "$4" --arg d "$IMAGE" --argjson m "${5:-{\}}" \
        '{op: "start", instance: $i, incarnation: $n, tenant: $t,
          image: {name: "tiny", digest: $d}, argv: ["/bin/sh", "-c", $s],
          cpu_milli: 1000, memory_mib: 64, pids_max: 64} + $m')"
}

record() {
    ask "{\"op\":\"list\",\"instance\":\"$1\"}" | jq -c '.instances[0]'
}

# ended INSTANCE: waits for the end; prints the exit code.
ended() {
    for _ in $(seq 400); do
        case $(record "$1" | jq -r .state) in
        exited | failed)
            record "$1" | jq -r .exit_code
            return 0
            ;;
        esac
        sleep 0.05
    done
    echo "still running"
}

# log_of INSTANCE INCARNATION: all of it; of one that has ended, to the end.
log_of() {
    local at=0 answer ended=false
    case $(record "$1" | jq -r .state) in exited | failed) ended=true ;; esac
    while :; do
        answer=$(op log "$1" "$2" "{\"offset\": $at, \"max\": 65536}") ||
            return 1
        echo "$answer" | jq -r .bytes | base64 -d
        [ "$(echo "$answer" | jq .complete)" = false ] || break
        [ "$(echo "$answer" | jq .next)" != "$at" ] || [ $ended = true ] ||
            break
        at=$(echo "$answer" | jq .next)
    done
}

# says INSTANCE INCARNATION TEXT: waits until the log has it.
says() {
    for _ in $(seq 200); do
        log_of "$1" "$2" | grep -q -- "$3" && return 0
        sleep 0.05
    done
    log_of "$1" "$2"
    return 1
}

remove_all_instances() {
    ask '{"op":"list"}' | jq -r '.instances[] | "\(.instance) \(.incarnation)"' |
        while read -r id n; do op remove "$id" "$n" >/dev/null; done
}

# Between stories: nothing runs, and ids may be used again.
forget_all() {
    remove_all_instances
    rm -f "$HOME_DIR"/state/removed/* "$HOME_DIR"/state/handover/*
}
