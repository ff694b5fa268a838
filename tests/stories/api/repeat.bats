#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A client that does not know whether its command arrived repeats it.

load common

@test "of twenty repetitions at once one makes the object, all see it" {
    for i in $(seq 20); do
        curl -s --unix-socket "$home/api.sock" \
            -H "Authorization: Bearer $(cat "$home/token.root")" \
            -H 'Content-Type: application/json' \
            -H 'Idempotency-Key: crowd' --data '{"name":"crowd"}' \
            http://x/api/v1/tenants >"$home/out.$i" &
    done
    wait $(jobs -p)
    [ "$(cat "$home"/out.* | jq -r .id | sort -u | wc -l)" = 1 ]
    must root GET '/tenants?name=crowd' "" 200
    [ "$(field '.items | length')" = 1 ]
}

@test "a key used for something else is refused" {
    as root POST /tenants '{"name":"k1"}' -H 'Idempotency-Key: other'
    [ "$status" = 201 ]
    as root POST /tenants '{"name":"k2"}' -H 'Idempotency-Key: other'
    [ "$status" = 409 ]
    [ "$(field .code)" = reused_key ]
}

@test "what was answered survives kill -9, and its repetition too" {
    as root POST /tenants '{"name":"kept"}' -H 'Idempotency-Key: kept'
    [ "$status" = 201 ]
    id=$(field .id)
    stop_daemon KILL
    start_daemon
    must root GET "/tenants/$id" "" 200
    as root POST /tenants '{"name":"kept"}' -H 'Idempotency-Key: kept'
    [ "$status" = 201 ]
    [ "$(field .id)" = "$id" ]
    grep -qi '^idempotency-replayed: true' <<<"$headers"
    must root GET /check "" 200
    [ "$(field .clean)" = true ]
}

@test "of ten changes to one version one wins" {
    must root POST /tenants '{"name":"race"}' 201
    for i in $(seq 10); do
        curl -s -o /dev/null -w '%{http_code}\n' -X PATCH \
            --unix-socket "$home/api.sock" \
            -H "Authorization: Bearer $(cat "$home/token.root")" \
            -H 'Content-Type: application/json' -H 'If-Match: "1"' \
            --data "{\"display\":\"$i\"}" \
            http://x/api/v1/tenants/race >"$home/race.$i" &
    done
    wait $(jobs -p)
    [ "$(cat "$home"/race.* | grep -c 200)" = 1 ]
    [ "$(cat "$home"/race.* | grep -c 412)" = 9 ]
}

@test "a dry run says the same and does nothing" {
    must root POST '/tenants?dry_run=1' '{"name":"dry","display":"D"}' 200
    [ "$(field .status)" = 201 ]
    would=$(field '.body | del(.id, .created, .updated, .version, .revision, .number)')
    must root GET /tenants/dry "" 404
    must root POST /tenants '{"name":"dry","display":"D"}' 201
    [ "$would" = "$(field 'del(.id, .created, .updated, .version, .revision, .number)')" ]
    must root POST '/tenants?dry_run=1' '{"name":"dry"}' 409
}
