#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The record says what was done, not what somebody claims.

load common

last_records() {
    must root GET "/tenants/$1/audit?from=0&limit=500" "" 200
}

@test "a body that claims another object changes and logs neither [A41]" {
    start_daemon
    first_admin
    for tenant in research vision; do
        must root POST /tenants "{\"name\":\"$tenant\"}" 201
    done
    must root GET /tenants/vision "" 200
    vision=$(field .id)
    must root GET /tenants/research "" 200
    research=$(field .id)
    must root POST /tenants/research/projects '{"name":"work"}' 201
    project=$(field .id)
    # Claims in a body are no fields, and the refusal is about the real one.
    must root POST /tenants/research/projects "{\"name\":\"x\",\"tenant\":\"$vision\"}" 400
    last_records research
    jq -e --arg p "$project" '[.items[] | select(.action.verb == "project.create" and .outcome.status == "success")] | length == 1' <<<"$body"
    jq -e --arg t "$research" '[.items[] | select(.action.verb == "project.create" and .outcome.status == "failure") | .object.id] == [$t]' <<<"$body"
    last_records vision
    jq -e '[.items[] | select(.action.verb | startswith("project."))] | length == 0' <<<"$body"
    # No credential is in any record.
    must root GET "/audit?from=0&limit=500" "" 200
    ! grep -qF "$(cat "$home/token.root")" <<<"$body"
}
