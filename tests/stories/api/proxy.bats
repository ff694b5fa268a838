#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Clients come through a proxy: whom it names is kept, if it is one of ours.

load common

# start_with CONFIG: the same control plane, on TCP too.
start_with() {
    stop_daemon TERM
    echo "$1" >"$home/config.json"
    rm -f "$home/port"
    "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" --listen 127.0.0.1:0 \
        --port-file "$home/port" --config "$home/config.json" \
        2>>"$home/daemon.log" 3>&- &
    echo $! >"$home/pid"
    soon curl -sf --unix-socket "$home/api.sock" -o "$home/ready" http://x/readyz
    soon test -s "$home/port"
}

# makes UNIT HEADER...: ann makes a unit over TCP.
makes() {
    local name=$1 args=() header
    shift
    for header; do args+=(-H "$header"); done
    curl -sf -X POST -H "Authorization: Bearer $(cat "$home/token.ann")" \
        -H 'Content-Type: application/json' "${args[@]}" \
        -d "{\"name\":\"$name\"}" -o "$home/body" \
        "http://127.0.0.1:$(cat "$home/port")/api/v1/tenants/research/units"
    id=$(jq -r .id "$home/body")
}
# The addresses of the record of what was made last.
addresses() {
    must reader GET "/tenants/research/audit?limit=500" "" 200
    field "[.items[] | select(.object.id == \"$id\")][-1].source | [.ip, .proxy] | @csv"
}

@test "only a configured proxy's own word about its client is kept" {
    must root POST /tenants/research/roles '{"name":"reader","verbs":["audit.read","audit.personal"]}' 201
    join reader research /tenants/research reader
    start_with '{}'
    makes a 'X-Forwarded-For: 203.0.113.7'
    [ "$(addresses)" = '"127.0.0.1",' ]
    start_with '{"proxies": "192.0.2.1, 10.0.0.0/8"}'
    makes b 'X-Forwarded-For: 203.0.113.7'
    [ "$(addresses)" = '"127.0.0.1",' ]
    start_with '{"proxies": "192.0.2.1, 127.0.0.0/8"}'
    makes c 'X-Forwarded-For: 203.0.113.7'
    [ "$(addresses)" = '"127.0.0.1","203.0.113.7"' ]
    # What the client itself sent stands before.
    makes d 'X-Forwarded-For: 198.51.100.1, 2001:db8::9'
    [ "$(addresses)" = '"127.0.0.1","2001:db8::9"' ]
    makes e 'X-Forwarded-For: 198.51.100.1' 'X-Forwarded-For: 203.0.113.8'
    [ "$(addresses)" = '"127.0.0.1","203.0.113.8"' ]
    makes f 'X-Forwarded-For: 203.0.113.7, <script>'
    [ "$(addresses)" = '"127.0.0.1",' ]
    makes g
    [ "$(addresses)" = '"127.0.0.1",' ]
}

@test "a list of proxies that cannot be read stops the start" {
    echo '{"proxies": "127.0.0.1/99"}' >"$home/wrong.json"
    run "$bulkheadd" --data "$home/other" --socket "$home/o.sock" --config "$home/wrong.json"
    [ "$status" != 0 ]
    [[ $output == *proxies* ]]
}
