# SPDX-License-Identifier: Apache-2.0
# What the stories about the log share: a control plane with a signer, root
# who is its administrator, a guard who may purge, erase and rotate, and a watcher
# who has what a witness needs.
#
#   person NAME COMMAND...    bulkhead, as that person, in no tenant
#   refused CODE NAME ...     ends with that exit code; the sentence is in
#                             $output
#   says TEXT                 $output holds the text
#   witness [OPTION...]       one look by the witness in $home/witness

. "$BATS_TEST_DIRNAME/../control/common.bash"

person() {
    local who=$1
    shift
    BULKHEAD_SOCKET=$home/api.sock BULKHEAD_TOKEN=$(cat "$home/token.$who") \
        BULKHEAD_CONTEXT=$home/context.json "$build/bulkhead" "$@"
}

refused() {
    local wanted=$1
    shift
    run person "$@"
    [ "$status" = "$wanted" ] && return 0
    echo "wanted exit code $wanted, not $status: $*: $output"
    return 1
}

says() {
    local text
    for text; do
        [[ $output == *"$text"* ]] && continue
        echo "\"$text\" is not said in: $output"
        return 1
    done
}

# operator NAME ROLE...: a user of the platform, logged in
operator() {
    local name=$1 id role
    shift
    must root POST /users "{\"name\":\"$name\"}" 201
    id=$(field .id)
    must root POST "/users/$id/password" "{\"password\":\"$password\",\"temporary\":false}" 204
    for role; do
        must root POST /grants "{\"subject\":\"$id\",\"role\":\"$role\"}" 201
    done
    log_in "$name" "$name"
}

begin() {
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
    first_admin
    must root POST /stepup "{\"password\":\"$password\"}" 204
    must root POST /roles '{"name":"witness","verbs":["audit.read","audit.witness"]}' 201
    operator watcher witness
    operator guard security-admin
    must guard POST /stepup "{\"password\":\"$password\"}" 204
    must root POST /tenants '{"name":"research"}' 201
    tenant=$(field .id)
    key=$(signer_key)
    must root GET /platform "" 200
    estate=$(field .id)
}

# work FROM TO: as many records in the tenant's log
work() {
    local i
    for i in $(seq "$1" "$2"); do
        must root POST /tenants/research/projects "{\"name\":\"p$i\"}" 201
    done
}

# The signed head has all that the log has: size of the tenant's log.
signed() {
    must root GET "/tenants/research/audit/checkpoint" "" 200
    [ "$(sed -n 2p <<<"$body")" -ge "$1" ]
}

witness() {
    person watcher audit witness "$home/witness" --name w.example/1 \
        --key "$key" --once "$@"
}

verify() {
    "$build/bulkhead" audit verify "$home/data/audit" --key "$key" "$@"
}

teardown() {
    [ "${BATS_TEST_COMPLETED:-}" = 1 ] || tail -n 8 "$home"/*.log
    [ ! -e "$home/pid" ] || [ -e "$home/ended" ] || end_daemon KILL
    [ ! -e "$home/signer.pid" ] || kill "$(cat "$home/signer.pid")" || true
}

# Everything of the control plane's host stops; its root may do as he likes.
stop_host() {
    end_daemon TERM
    kill "$(cat "$home/signer.pid")"
}

start_host() {
    rm -f "$home/signer.sock"
    start_signer
    start_daemon --signer-socket "$home/signer.sock"
}
