#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Somebody asks the log who did what, and sends it to where events go.

load common

found() { person "$@" -o json | jq '.items | length'; }

@test "records are found by actor, object, verb, decision, time and text" {
    begin
    work 1 4
    join vera research /tenants/research tenant-admin
    must vera POST /tenants/research/projects '{"name":"veras"}' 201
    project=$(field .id)
    as vera POST /tenants/research/quotas '{"name":"cards","dimension":"cards","limit":1}'
    [ "$status" = 403 ]
    [ "$(found vera audit search -t research --verb project.create)" = 5 ]
    [ "$(found vera audit search -t research --verb 'project.*' --actor vera)" = 1 ]
    [ "$(found vera audit search -t research --object "$project")" = 1 ]
    [ "$(found vera audit search -t research --decision deny --actor vera)" = 1 ]
    [ "$(found vera audit search -t research --actor nobody)" = 0 ]
    [ "$(found vera audit search -t research --verb project.create --limit 2)" = 2 ]
    [ "$(found vera audit search -t research PROJECT.CREATE --actor vera)" = 1 ]
    [ "$(found vera audit search -t research --until 2020-01-01T00:00:00Z)" = 0 ]
    [ "$(found vera audit search -t research --since 2020-01-01T00:00:00Z --limit 500)" -gt 6 ]
    # Newest first.
    person vera audit search -t research --verb project.create -o json |
        jq -e '[.items[].position] | . == (sort | reverse)'
    # Over a restart.
    stop_host
    start_host
    log_in vera vera research
    [ "$(found vera audit search -t research --verb project.create)" = 5 ]
}

@test "a text in a personal part is found by those alone who may read it" {
    begin
    # The name is in the redacted parameters of the record.
    work 41 41
    join vera research /tenants/research tenant-admin
    [ "$(found vera audit search -t research p41 --verb project.create)" = 0 ]
    must root POST /tenants/research/roles '{"name":"reader","verbs":["audit.personal"]}' 201
    id=$(person root get users -t research -o json | jq -r '.items[0].id')
    must root POST /tenants/research/grants "{\"subject\":\"$id\",\"role\":\"reader\"}" 201
    [ "$(found vera audit search -t research p41 --verb project.create)" = 1 ]
}

@test "what cannot be searched for is refused, and another tenant is like none" {
    begin
    join vera research /tenants/research tenant-admin
    must root POST /tenants '{"name":"vision"}' 201
    refused 2 vera audit search -t research --decision maybe
    says "allow or deny"
    refused 2 vera audit search -t research --since tomorrow
    refused 2 vera audit search -t research --since 2030-01-01T00:00:00Z --until 2029-01-01T00:00:00Z
    refused 2 vera audit export -t research --format xml
    says "jsonl or ocsf"
    refused 2 vera audit export "$home/x" -t research --actor vera
    says "every record"
    for tenant in vision tn_aaaaaaaaaaaaaaaaaaaaaaaaaa; do
        refused 6 vera audit search -t $tenant --verb project.create
        echo "$output" >"$home/said.$tenant"
    done
    cmp "$home/said.vision" "$home/said.tn_aaaaaaaaaaaaaaaaaaaaaaaaaa"
}

@test "an export as OCSF has one event of API Activity for each record" {
    begin
    work 1 3
    person root audit export -t research >"$home/json"
    person root audit export -t research --format ocsf >"$home/ocsf"
    [ "$(wc -l <"$home/ocsf")" -ge "$(wc -l <"$home/json")" ]
    jq -es 'all(.class_uid == 6003 and .type_uid == 600300 + .activity_id and
        has("time") and has("severity_id") and (.api.operation | length > 0) and
        (.src_endpoint | length > 0) and (.actor | length > 0) and
        .metadata.version == "1.3.0" and .metadata.product.vendor_name == "Bulkhead")' "$home/ocsf"
    jq -es '[.[] | select(.api.operation == "project.create")] | length == 3 and
        all(.activity_id == 1 and .resources[0].type == "project")' "$home/ocsf"
    [ "$(person root audit export -t research --format ocsf --verb project.create | wc -l)" = 3 ]
}
