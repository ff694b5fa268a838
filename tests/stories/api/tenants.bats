#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two tenants on one control plane: what each learns of the other.

load common

never=aaaaaaaaaaaaaaaaaaaaaaaaaa

@test "ann sees her tenant and no sign of the other [A37] [A39]" {
    must ann GET /tenants "" 200
    [ "$(field '.items | length')" = 1 ]
    [ "$(field '.items[0].name')" = research ]
    [ "$(field 'keys | join(" ")')" = "items names next revision" ]
    must root GET /tenants "" 200
    [ "$(field '.items | length')" = 2 ]
}

@test "what ann must not see answers like what never was, byte for byte [A36]" {
    must root GET /tenants/vision "" 200
    tenant=$(field .id)
    must root GET /tenants/vision/projects/work "" 200
    project=$(field .id)
    for tail in "" /projects /users /audit /usage "/projects/$project" \
        "/projects/$project/workloads"; do
        as ann GET "/tenants/$tenant$tail"
        [ "$status" = 404 ]
        hidden=$(seen)
        as ann GET "/tenants/tn_$never${tail/$project/pj_$never}"
        [ "$status" = 404 ]
        [ "$hidden" = "$(seen)" ]
        must bob GET "/tenants/$tenant$tail" "" 200
    done
}

@test "an id of vision is not found below research's path [A1]" {
    must root GET /tenants/vision/projects/work "" 200
    project=$(field .id)
    version=$(field .version)
    as ann PATCH "/tenants/research/projects/$project" '{"display":"mine"}' \
        -H 'If-Match: *'
    [ "$status" = 404 ]
    as ann DELETE "/tenants/research/projects/$project"
    [ "$status" = 404 ]
    must bob GET "/tenants/vision/projects/$project" "" 200
    [ "$(field .version)" = "$version" ]
}

@test "bob's key cannot be revoked by ann by any path [A6]" {
    must bob GET /whoami "" 200
    bob=$(field .id)
    must bob POST "/tenants/vision/users/$bob/apikeys" '{"name":"k"}' 201
    key=$(field .id)
    field .key >"$home/token.key"
    for path in "/tenants/research/users/$bob/apikeys/$key" \
        "/tenants/vision/users/$bob/apikeys/$key" \
        "/users/$bob/apikeys/$key"; do
        as ann DELETE "$path"
        [ "$status" = 404 ]
    done
    must key GET /whoami "" 200
    must bob DELETE "/tenants/vision/users/$bob/apikeys/$key" "" 204
    must key GET /whoami "" 401
}

@test "a key carries its own subject and no one's who asked before [A14]" {
    must root POST /tenants/research/projects/work/serviceaccounts \
        '{"name":"robot"}' 201
    robot=$(field .id)
    must root POST \
        "/tenants/research/projects/work/serviceaccounts/robot/apikeys" \
        '{"name":"k"}' 201
    field .key >"$home/token.robot"
    must root GET /whoami "" 200
    must robot GET /whoami "" 200
    [ "$(field .id)" = "$robot" ]
    must robot GET /tenants/research "" 403
    must root PATCH "/tenants/research/projects/work/serviceaccounts/robot" \
        '{"state":"suspended"}' 428
    as root PATCH "/tenants/research/projects/work/serviceaccounts/robot" \
        '{"state":"suspended"}' -H 'If-Match: *'
    [ "$status" = 200 ]
    # [A24] looked at when it is used
    must robot GET /whoami "" 401
}

@test "each tenant reads its own log and only that" {
    must ann GET "/tenants/research/audit?limit=500" "" 200
    [ "$(field '[.items[].position] == [range(.items | length)]')" = true ]
    not grep -q vision <<<"$body"
    not grep -q "$password" <<<"$body"
    must bob GET /tenants/research/audit "" 404
    must ann GET /audit "" 403
}
