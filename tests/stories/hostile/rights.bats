#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A tenant's administrator and her people try to get more than they have.

load ../api/common

refused() {
    as "$@"
    [[ $status =~ ^(400|401|403|404|409)$ ]] && return 0
    echo "$* gave $status: $body" >&2
    return 1
}

id_of() {
    must "$1" GET "$2" "" 200
    field .id
}

@test "no role of a tenant holds or hands out what is the platform's [A17] [A21]" {
    local verb
    for verb in platform.update tenant.delete tenant.update node.update \
        card.update deny.create audit.retention priority.across instance.release \
        price.create tenant.create; do
        refused ann POST /tenants/research/roles "{\"name\":\"r\",\"verbs\":[\"$verb\"]}"
        refused ann POST /tenants/research/roles \
            "{\"name\":\"r\",\"verbs\":[\"project.get\"],\"give\":[\"$verb\"]}"
    done
    refused ann PATCH /roles/developer '{"verbs":["project.get"]}' -H 'If-Match: *'
}

@test "nobody gives rights across tenants, or themselves what they only hand out" {
    local ann bob root
    ann=$(id_of ann /whoami) bob=$(id_of bob /whoami) root=$(id_of root /whoami)
    refused ann POST /grants "{\"subject\":\"$ann\",\"role\":\"platform-admin\"}"
    refused ann POST /tenants/research/grants "{\"subject\":\"$ann\",\"role\":\"developer\"}"
    refused ann POST /tenants/research/grants "{\"subject\":\"$bob\",\"role\":\"developer\"}"
    refused ann POST /tenants/research/grants "{\"subject\":\"$root\",\"role\":\"developer\"}"
    refused ann POST /tenants/vision/grants "{\"subject\":\"$ann\",\"role\":\"developer\"}"
}

@test "a tenant's own bounds are not its administrator's to move" {
    must root POST /tenants/research/quotas '{"dimension":"cards","limit":1000}' 201
    quota=$(field .id)
    for where in /tenants/research /tenants/research/projects/work; do
        refused ann PATCH "$where/quotas/$quota" '{"limit":-1}' -H 'If-Match: *'
        refused ann DELETE "$where/quotas/$quota"
    done
    refused ann POST /tenants/research/quotas '{"dimension":"cards","limit":-1}'
    refused ann POST /tenants/research/ceilings '{"verbs":["project.get"]}'
    refused ann PATCH /tenants/research '{"pools":null}' -H 'If-Match: *'
    vision=$(id_of bob /tenants/vision)
    refused ann PATCH /tenants/research/projects/work "{\"parent\":\"$vision\"}" -H 'If-Match: *'
}

@test "a narrow key is narrow everywhere, and ends with its owner [A24] [A33]" {
    join dora research /tenants/research/projects/work developer
    dora=$(id_of dora /whoami) work=$(id_of ann /tenants/research/projects/work)
    must dora POST "/tenants/research/users/$dora/apikeys" \
        "{\"verbs\":[\"workload.get\"],\"subtree\":\"$work\"}" 201
    field .key >"$home/token.key"
    must key GET /tenants/research/projects/work/workloads "" 200
    refused key POST /tenants/research/projects/work/workloads '{"name":"a"}'
    refused key POST "/tenants/research/users/$dora/apikeys" '{}'
    refused key POST "/tenants/research/users/$dora/password" "{\"password\":\"$password\"}"
    refused key POST /stepup "{\"password\":\"$password\"}"
    refused key GET "/tenants/research/users/$dora"
    refused key GET /tenants/research/projects/work/usage
    refused dora POST "/tenants/research/users/$dora/apikeys" "{\"subtree\":\"$(id_of bob /tenants/vision)\"}"
    refused dora POST "/tenants/research/users/$(id_of ann /whoami)/password" "{\"password\":\"$password\"}"
    must ann DELETE "/tenants/research/users/$dora" "" 204
    must dora GET /whoami "" 401
    must key GET /tenants/research/projects/work/workloads "" 401
    refused ann PATCH "/tenants/research/users/$dora" '{"state":"active"}' -H 'If-Match: *'
    refused ann POST "/tenants/research/users/$dora/password" "{\"password\":\"$password\"}"
    must ann POST /tenants/research/users '{"name":"dora"}' 201
    [ "$(field .id)" != "$dora" ]
}
