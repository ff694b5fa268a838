# SPDX-License-Identifier: Apache-2.0
# What the stories about the control plane's own life share: a fresh data
# directory for each, and the words of ../api/common.bash.
#
#   start_daemon [ARGS...]      waits until it is ready
#   end_daemon SIGNAL           sets status to what it ended with
#   grow N                      makes N more tenants

. "$BATS_TEST_DIRNAME/../api/common.bash"
build=$BATS_TEST_DIRNAME/../../../build/${BUILD:-debug}

setup_file() { :; }
teardown_file() { :; }

# Its parent is a shell that writes down how it ended.
launch() {
    rm -f "$home/ended"
    { "$@" 2>>"$home/daemon.log" 3>&- &
      echo $! >"$home/pid"
      code=0
      wait $! || code=$?
      echo "$code" >"$home/ended"; } 3>&- &
}

await_ready() {
    for _ in $(seq 100); do
        curl -sf --unix-socket "$home/api.sock" http://x/readyz >/dev/null && return 0
        [ ! -e "$home/ended" ] || break
        sleep 0.1
    done
    cat "$home/daemon.log" >&2
    return 1
}

start_daemon() {
    launch "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" "$@"
    await_ready
}

await_end() {
    for _ in $(seq 200); do
        [ -s "$home/ended" ] && break
        sleep 0.05
    done
    status=$(cat "$home/ended")
}

end_daemon() {
    kill -"$1" "$(cat "$home/pid")"
    await_end
}

first_admin() {
    must nobody POST /first-admin \
        "{\"secret\":\"$(cat "$home/data/first-admin")\",\"name\":\"root\",\"password\":\"$password\"}" 201
    log_in root root
}

setup() {
    home=$BATS_TEST_TMPDIR
    mkdir -p "$home/data"
}

teardown() {
    [ ! -e "$home/pid" ] || [ -e "$home/ended" ] || end_daemon KILL
    [ ! -e "$home/signer.pid" ] || kill "$(cat "$home/signer.pid")"
}

start_signer() {
    mkdir -p -m 700 "$home/signer"
    "$build/bulkhead-signer" --directory "$home/signer" \
        --socket "$home/signer.sock" 2>>"$home/signer.log" 3>&- &
    echo $! >"$home/signer.pid"
    for _ in $(seq 50); do
        [ ! -S "$home/signer.sock" ] || return 0
        sleep 0.1
    done
    return 1
}

signer_key() {
    must root GET /platform "" 200
    "$build/bulkhead-signer" --directory "$home/signer" --public-key "$(field .id)"
}

check_clean() {
    must root GET /check "" 200
    [ "$(field .clean)" = true ] || { echo "$body" >&2; return 1; }
}
