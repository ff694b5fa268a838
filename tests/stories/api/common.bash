# SPDX-License-Identifier: Apache-2.0
# What the stories about the API share: a control plane of their own, and
# people who talk to it with curl.
#
#   as WHO METHOD PATH [BODY]   sends it; sets status, body and headers
#   field .name                 of the last body (jq)
#
# WHO is a name that `join` or setup_file made, or "nobody".

. "$(dirname "${BASH_SOURCE[0]}")/../words.bash"
bulkheadd=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)/build/${BUILD:-debug}/bulkheadd
password="correct horse battery"

start_daemon() {
    "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --stream-socket "$home/stream.sock" 2>>"$home/daemon.log" 3>&- &
    echo $! >"$home/pid"
    for _ in $(seq 100); do
        curl -sf --unix-socket "$home/api.sock" http://x/readyz >/dev/null && return 0
        sleep 0.1
    done
    cat "$home/daemon.log" >&2
    return 1
}

# stop_daemon SIGNAL
stop_daemon() {
    local pid
    pid=$(cat "$home/pid")
    kill -"$1" "$pid"
    while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
}

# as WHO METHOD PATH [BODY] [CURL ARGS...]
as() {
    local who=$1 method=$2 path=$3
    local args=(-s -X "$method" -D "$home/headers" -o "$home/body"
        -w '%{http_code}' --unix-socket "$home/api.sock" --max-time 30)
    [ "$who" = nobody ] ||
        args+=(-H "Authorization: Bearer $(cat "$home/token.$who")")
    if [ -n "${4-}" ]; then
        args+=(-H 'Content-Type: application/json' --data-binary "$4")
    fi
    shift 3
    [ $# -eq 0 ] || shift
    : >"$home/body"
    status=$(curl "${args[@]}" "$@" "http://x/api/v1$path")
    body=$(cat "$home/body")
    headers=$(cat "$home/headers")
}

# must WHO METHOD PATH BODY STATUS
must() {
    as "$1" "$2" "$3" "$4"
    if [ "$status" != "$5" ]; then
        echo "$1: $2 $3 gave $status: $body" >&2
        return 1
    fi
}

field() {
    jq -r "$1" <<<"$body"
}

# log_in WHO NAME [TENANT]
log_in() {
    local tenant=null
    [ -z "${3-}" ] || tenant="\"$3\""
    must nobody POST /login \
        "{\"name\":\"$2\",\"tenant\":$tenant,\"password\":\"$password\"}" 201
    field .token >"$home/token.$1"
}

# join WHO TENANT NODE ROLE: a user of the tenant with a role at a node
join() {
    must root POST "/tenants/$2/users" "{\"name\":\"$1\"}" 201
    local id
    id=$(field .id)
    must root POST "/tenants/$2/users/$id/password" \
        "{\"password\":\"$password\",\"temporary\":false}" 204
    must root POST "$3/grants" "{\"subject\":\"$id\",\"role\":\"$4\"}" 201
    log_in "$1" "$1" "$2"
}

# The answer as anybody sees it, but for what differs by nature.
seen() {
    grep -viE '^(date|x-request-id):' <<<"$headers"
    sed -E 's/"request_id":"[a-z0-9_]*"//' <<<"$body"
}

setup_file() {
    export home=$BATS_FILE_TMPDIR
    mkdir -p "$home/data"
    start_daemon
    must nobody POST /first-admin \
        "{\"secret\":\"$(cat "$home/data/first-admin")\",\"name\":\"root\",\"password\":\"$password\"}" 201
    log_in root root
    for tenant in research vision; do
        must root POST /tenants "{\"name\":\"$tenant\"}" 201
        must root POST "/tenants/$tenant/projects" '{"name":"work"}' 201
    done
    join ann research /tenants/research tenant-admin
    join bob vision /tenants/vision tenant-admin
}

teardown_file() {
    stop_daemon TERM
}
