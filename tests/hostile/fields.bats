#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Every operation of the API and each field of it, with what does not belong
# there: refused with a reason, and nothing has changed.  Against the build
# with AddressSanitizer and UBSan.

load ../stories/api/common

campaign=$BATS_TEST_DIRNAME/../../build/${BUILD:-debug}/tests/hostile
BUILD=asan
bulkheadd=$BATS_TEST_DIRNAME/../../build/asan/bulkheadd
# Whatever the sanitizers find ends the program, with an exit code of theirs.
export ASAN_OPTIONS=detect_leaks=1:exitcode=66 UBSAN_OPTIONS=print_stacktrace=1

# make WHO WHAT PATH BODY: makes one, and keeps its id
make() {
    local who=$1
    shift
    must "$who" POST "$2" "$3" 201
    field .id >"$home/id.$1"
}

# operator NAME ROLE: one of the platform's people
operator() {
    must root POST /users "{\"name\":\"$1\"}" 201
    local id
    id=$(field .id)
    must root POST "/users/$id/password" "{\"password\":\"$password\",\"temporary\":false}" 204
    must root POST /grants "{\"subject\":\"$id\",\"role\":\"$2\"}" 201
    log_in "$1" "$1"
}

# The same kinds in other places: each operation finds one of its own.
furnish_again() {
    local where user
    for where in "" $t/units/lab $p; do
        [ -z "$where" ] || make root grant $where/grants "{\"subject\":\"$(cat "$home/id.user")\",\"role\":\"developer\"}"
        make root quota $where/quotas '{"dimension":"memory","limit":900000}'
        make sec deny $where/denies '{"name":"not","verbs":["volume.read"],"reason":"why"}'
    done
    make root role /roles '{"name":"looker","verbs":["project.get"]}'
    must root POST $p/ceilings "$verbs" 201
    make root operator /users '{"name":"oscar"}'
}

# Whom and what one meets later: groups, logins by others, windows, wishes.
furnish_people_and_times() {
    local window='"from_ms":"2031-01-01T00:00:00Z","to_ms":"2031-01-02T00:00:00Z"'
    local provider='{"name":"corp","issuer":"https://id.example","client_id":"x"}'
    make ann group $t/groups '{"name":"crew"}'
    make ann member $t/groups/crew/members "{\"subject\":\"$user\"}"
    make ann invitation $t/invitations '{"name":"guest"}'
    make ann identityprovider $t/identityproviders "$provider"
    make root operatorgroup /groups '{"name":"duty"}'
    make root operatormember /groups/duty/members "{\"subject\":\"$(cat "$home/id.operator")\"}"
    make root operatorinvitation /invitations '{"name":"visitor"}'
    make root operatorprovider /identityproviders "$provider"
    make root guard /guards '{"name":"price.delete","step_up":true}'
    make root maintenance "/nodes/$(cat "$home/id.node")/maintenances" "{\"name\":\"repair\",$window}"
    make root poolmaintenance /pools/vault/maintenances "{\"name\":\"repair\",$window}"
    make root commitment $t/commitments "{\"name\":\"year\",\"cards\":1,\"nano\":1,$window}"
    make pia request $p/requests '{"name":"more","sort":"quota","dimension":"cards","limit":1,"reason":"why"}'
}

has_cards() { as root GET /cards && [ "$(field '[.items[] | select(.handover == "clean")] | length')" = 2 ]; }
is_running() { as dev GET /tenants/research/projects/work/workloads/job && [ "$(field .state)" = running ]; }

# An estate with one of each kind that a person can make.
furnish() {
    local t=/tenants/research p=/tenants/research/projects/work user
    join dev research $p developer
    join pia research $p project-admin
    operator sec security-admin
    operator eng operations-engineer
    cat "$home"/token.{root,ann,pia,dev,sec,eng} >"$home/tokens"
    must root GET $t "" 200
    field .id >"$home/id.tenant"
    must root GET $p "" 200
    field .id >"$home/id.project"
    make ann unit $t/units '{"name":"lab"}'
    make ann unit_below "$t/units/lab/units" '{"name":"corner"}'
    make ann user $t/users '{"name":"carol"}'
    user=$(cat "$home/id.user")
    make ann role $t/roles '{"name":"reader","verbs":["project.get"]}'
    make root grant $t/grants "{\"subject\":\"$user\",\"role\":\"developer\"}"
    must root GET /openapi.json "" 200
    echo "$body" >"$home/document"
    must root GET /roles "" 200
    verbs=$(jq -c --slurpfile d "$home/document" \
        '{verbs: ([.items[].verbs[], ($d[0].paths[][]."x-bulkhead-verb" | values)] | unique)}' <<<"$body")
    make root ceiling $t/ceilings "$verbs"
    make sec deny $t/denies '{"name":"not","verbs":["inference.invoke"],"reason":"why"}'
    furnish_again
    make ann userkey "$t/users/$(cat "$home/id.user")/apikeys" '{}' || true
    make root quota $t/quotas '{"dimension":"cpu","limit":5000}'
    make pia serviceaccount $p/serviceaccounts '{"name":"robot"}'
    make pia apikey "$p/serviceaccounts/robot/apikeys" '{}'
    make root class /classes '{"name":"tiny","count":1,"model":"X"}'
    make root pool /pools '{"name":"vault","kind":"shared"}'
    make root jointoken /pools/default/jointokens '{"node":"node-1"}'
    field .token >"$home/join"
    "$campaign/agent" "$home/api.sock" "$home/station" node-1 "$home/join" 2>"$home/agent.log" 3>&- &
    echo $! >"$home/agent.pid"
    WITHIN=120 soon has_cards
    must root GET /cards "" 200
    field '.items[0].id' >"$home/id.card"
    field '.items[0].parent' >"$home/id.node"
    make root priority /priorities '{"name":"late","value":1}'
    make root price /prices '{"meter":"request","nano":1}'
    make dev volume $p/volumes '{"name":"data","size_mib":1}'
    make dev workload $p/workloads '{"name":"job","image":"demo","class":"tiny","cpu_milli":100,"memory_mib":64,"spec":{"command":["true"]}}'
    soon is_running
    furnish_people_and_times # no unlimited work starts towards a window
    must dev GET $p/workloads/job/instances "" 200
    field '.items[0].id' >"$home/id.instance"
    must dev GET "$p/workloads/job/instances/$(cat "$home/id.instance")/bindings" "" 200
    field '.items[0].id' >"$home/id.binding"
    for file in "$home"/id.*; do
        jq -n --arg k "${file##*/id.}" --arg v "$(cat "$file")" '{($k): $v}'
    done | jq -s add >"$home/ids"
}

# All of the state, but for the log of who asked what with its revision, and
# when a credential was used last.
state() {
    local table file=$home/data/store/bulkhead.db
    for table in $(sqlite3 "$file" "select name from sqlite_master where type = 'table' order by 1"); do
        case $table in event | counter | sqlite_*) continue ;; esac
        echo "== $table"
        sqlite3 -json "$file" "select * from \"$table\" order by 1" |
            jq -c --arg t "$table" '.[] | del(.used_ms, .sequence) |
                if $t == "store" then del(.revision) elif $t == "session" then del(.version, .revision, .updated_ms) else . end'
    done
}

# Time lines are cut every five minutes of the clock (within half a minute);
# from now on there is time for all that is asked.
no_cut_is_near() { [ $(($(date +%s) % 300)) -ge 31 ] && [ $(($(date +%s) % 300)) -le 170 ]; }

@test "nothing wrong in any field is taken, answered by a fault, or leaves a trace" {
    furnish
    WITHIN=170 soon no_cut_is_near
    state >"$home/before"
    "$campaign/fields" "$home/api.sock" "$home/tokens" "$home/ids" "$home/document" >"$home/said" || {
        tail -n 60 "$home/said" | cut -c 1-600
        false
    }
    tail -n 2 "$home/said" | sed 's/^/# /' >&3
    # Each operation was reached, most with a body that is right but for one.
    [ "$(sed -n 's/^\([0-9]*\) operations.*/\1/p' "$home/said")" -ge 240 ]
    [ "$(sed -n 's/.*put fields into: //p' "$home/said")" -ge 65 ]
    state >"$home/after"
    [ "$(wc -l <"$home/before")" -gt 60 ]
    diff "$home/before" "$home/after"
}

@test "the program that was asked all this ends well, its sanitizers silent" {
    pid=$(cat "$home/pid")
    kill -TERM "$pid"
    soon is_gone
    not grep -E 'ERROR: (Address|Leak)Sanitizer|runtime error' "$home/daemon.log"
    start_daemon
}
is_gone() { ! kill -0 "$pid" 2>/dev/null; }

teardown_file() {
    kill "$(cat "$home/agent.pid")"
    stop_daemon TERM
}
