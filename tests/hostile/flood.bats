#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A stranger takes all places of the TCP door, a tenant asks without end: the
# others are served as before.

load ../stories/api/common

flood=$BATS_TEST_DIRNAME/../../build/${BUILD:-debug}/tests/hostile/flood

start_daemon() {
    "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" --listen 127.0.0.1:0 \
        --port-file "$home/port" 2>>"$home/daemon.log" 3>&- &
    echo $! >"$home/pid"
    soon is_ready
}
is_ready() { curl -sf --unix-socket "$home/api.sock" http://x/readyz; }
door() { echo "127.0.0.1:$(cat "$home/port")"; }

# held COUNT ADDRESS: opens so many from there; the pid goes to $holder
held() {
    "$flood" "$(door)" hold "$1" "$2" >"$home/held" 3>&- &
    holder=$!
    soon grep -q held "$home/held"
    tail -n 1 "$home/held"
}

# probed NAME: how ann is served, as JSON into $home/NAME
probed() {
    "$flood" "$home/api.sock" probe "$home/token.ann" /api/v1/tenants/research/projects 300 >"$home/$1"
    echo "# $1: $(cat "$home/$1")" >&3
    [ "$(jq .failed "$home/$1")" = 0 ]
}
# bounded NAME MS: her 99th percentile is below
bounded() { [ "$(jq ".p99_ms < $2" "$home/$1")" = true ]; }

@test "a source that opens all connections of the TCP door leaves the others theirs" {
    held 2000 127.0.0.9
    kept=$(sed -n 's/held: //p' "$home/held" | tail -n 1)
    [ "$kept" -gt 100 ] && [ "$kept" -le 512 ]
    code=$(curl -s -o "$home/body" -w '%{http_code}' --interface 127.0.0.8 --max-time 5 "http://$(door)/healthz")
    [ "$code" = 200 ]
    probed "connections"
    bounded connections 250
    WITHIN=50 soon all_gone
    kill "$holder"
}
all_gone() { [ "$(tail -n 1 "$home/held")" = "held: 0" ]; }

@test "fifty thousand requests in one go are served in turn or not at all" {
    "$flood" "$home/api.sock" pipe 50000 >"$home/piped" 3>&- &
    probed pipelining
    bounded pipelining 250
    wait $!
}

@test "who never reads what it asked for holds nobody up and is let go" {
    "$flood" "$home/api.sock" deaf 200 >"$home/deaf" 3>&- &
    soon grep -q asked "$home/deaf"
    probed "deaf readers"
    bounded "deaf readers" 250
    kill %%
}

# vision asks so for 8 s while ann is watched
flooded() {
    local name=$1
    shift
    "$flood" "$home/api.sock" ask "$home/token.bob" "$@" 8 6 >"$home/$name.flood" 3>&- &
    sleep 0.5
    probed "$name"
    wait $!
    echo "# $name: $(head -n 1 "$home/$name.flood") by each of six" >&3
}

@test "a tenant's flood of refusals, trials and questions leaves its neighbour's answers quick" {
    probed quiet
    flooded refusals GET /api/v1/tenants/research/projects ''
    flooded trials POST '/api/v1/tenants/vision/projects?dry_run=1' '{"name":"trial"}'
    flooded explain GET /api/v1/tenants/vision/queue ''
    flooded logins POST /api/v1/stepup '{"password":"wrong wrong wrong"}'
    for name in refusals trials explain logins; do bounded "$name" 250; done
}

@test "a tenant that fills its project with objects does not slow its neighbour" {
    "$flood" "$home/api.sock" ask "$home/token.bob" POST /api/v1/tenants/vision/units '{"name":"x"}' 5 6 >"$home/units.flood" 3>&- &
    for i in $(seq 200); do
        as bob POST /tenants/vision/units "{\"name\":\"unit-$i\"}"
        [ "$status" = 201 ] || break
    done
    probed objects
    wait $!
    bounded objects 250
}
