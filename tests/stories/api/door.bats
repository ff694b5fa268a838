#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What is refused before anything is decided, and what a client can rely on.

load common

@test "a part of a token is no token [A34]" {
    token=$(cat "$home/token.ann")
    for length in 46 40 20 8 1; do
        echo "${token:0:$length}" >"$home/token.cut"
        must cut GET /whoami "" 401
    done
    echo "${token}a" >"$home/token.cut"
    must cut GET /whoami "" 401
    must ann GET /whoami "" 200
}

@test "a login does not tell whether the name exists [A40]" {
    try() {
        as nobody POST /login \
            "{\"name\":\"$1\",\"tenant\":\"research\",\"password\":\"wrong password\"}"
        [ "$status" = 401 ]
    }
    try nobody-at-all
    unknown=$(seen)
    try ann
    [ "$unknown" = "$(seen)" ]
    # Both take an Argon2 verification and a commit; medians of five.
    median() {
        for _ in 1 2 3 4 5; do
            must root GET /version "" 200
            start=$(date +%s%N)
            try "$1"
            echo $((($(date +%s%N) - start) / 1000000))
        done | sort -n | sed -n 3p
    }
    a=$(median nobody-1)
    must root POST /tenants/research/users '{"name":"timed"}' 201
    id=$(field .id)
    must root POST "/tenants/research/users/$id/password" \
        "{\"password\":\"$password\"}" 204
    b=$(median timed)
    echo "unknown $a ms, known $b ms"
    [ "$a" -gt 20 ]
    [ "$b" -gt 20 ]
    [ $((a > b ? a - b : b - a)) -lt $(((a + b) / 4 + 30)) ]
}

@test "every answer has a request id, and problems have their form" {
    as nobody GET /nothing
    [ "$status" = 404 ]
    grep -qi '^x-request-id: rq_' <<<"$headers"
    grep -qi '^content-type: application/problem+json' <<<"$headers"
    [ "$(field '[.type, .title, .status, .code, .detail, .request_id] | all(. != null)')" = true ]
}

@test "what a client sends wrong is named" {
    must root POST /tenants '{"name":"x","color":"red"}' 400
    [ "$(field .field)" = /color ]
    must root POST /tenants '{"name":"Not a name"}' 400
    [ "$(field .field)" = /name ]
    must root POST /tenants '{"name":"x","name":"y"}' 400
    must root POST /tenants '{"name":"x"' 400
    must root GET '/tenants?limit=9999' "" 400
    must root GET '/tenants?colour=red' "" 400
    as root POST /tenants '' -H 'Content-Type: text/plain' --data x
    [ "$status" = 415 ]
    head -c 2000000 /dev/zero | tr '\0' a >"$home/large"
    as root POST /tenants '' -H 'Content-Type: application/json' \
        --data-binary "@$home/large"
    [ "$status" = 413 ]
    as root POST /tenants '' -H 'Content-Type: application/json' \
        -H 'Transfer-Encoding: chunked' --data-binary "@$home/large"
    [ "$status" = 413 ]
    must root GET /whoami "" 200
}

@test "the document lists what is served" {
    must nobody GET /openapi.json "" 200
    [ "$(field .openapi)" = 3.1.0 ]
    [ "$(field '.paths | keys | length > 80')" = true ]
    [ "$(field '[.paths[][] | .operationId] | length == (unique | length)')" = true ]
    [ "$(field '.paths["/api/v1/tenants"].post["x-bulkhead-verb"]')" = tenant.create ]
}

@test "HEAD and OPTIONS are answered" {
    as root HEAD /tenants '' -I
    [ "$status" = 200 ]
    as root OPTIONS /tenants
    [ "$status" = 204 ]
    grep -qi '^allow: GET, HEAD, POST' <<<"$headers"
    as root PUT /tenants '{}'
    [ "$status" = 405 ]
}
