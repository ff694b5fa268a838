#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A list that goes on.

load common

# watch WHO PATH FILE: in the story's back; sets pid
watch() {
    curl -sN --unix-socket "$home/stream.sock" --max-time 60 \
        -H "Authorization: Bearer $(cat "$home/token.$1")" \
        "http://x/api/v1$2" >"$3" 3>&- &
    pid=$!
}

@test "a watch goes on where the list ended, and can be resumed" {
    must ann GET /tenants/research/projects "" 200
    since=$(field .revision)
    must ann POST /tenants/research/projects '{"name":"one"}' 201
    watch ann "/tenants/research/projects?watch=1&since=$since" "$home/w1"
    soon grep -q '"name":"one"' "$home/w1"
    must ann POST /tenants/research/projects '{"name":"two"}' 201
    soon grep -q '"name":"two"' "$home/w1"
    kill "$pid"
    last=$(sed -n 's/^id: //p' "$home/w1" | tail -1)
    must ann POST /tenants/research/projects '{"name":"three"}' 201
    watch ann "/tenants/research/projects?watch=1&since=$last" "$home/w2"
    soon grep -q '"name":"three"' "$home/w2"
    not grep -q '"name":"two"' "$home/w2"
    kill "$pid"
}

@test "bob hears nothing of research" {
    must bob GET /tenants/vision/projects "" 200
    watch bob "/tenants/vision/projects?watch=1" "$home/w3"
    soon grep -q watching "$home/w3"
    must ann POST /tenants/research/projects '{"name":"silent"}' 201
    must bob POST /tenants/vision/projects '{"name":"loud"}' 201
    soon grep -q loud "$home/w3"
    not grep -q silent "$home/w3"
    kill "$pid"
}

@test "a watch ends with the session that opened it" {
    log_in short ann research
    watch short "/tenants/research/projects?watch=1" "$home/w4"
    soon grep -q watching "$home/w4"
    must short POST /logout "" 204
    soon grep -q 'event: end' "$home/w4"
    wait "$pid"
}

@test "a position from before a restart is told to be gone" {
    must ann GET /tenants/research/projects "" 200
    since=$(($(field .revision) - 1))
    stop_daemon TERM
    start_daemon
    must ann GET "/tenants/research/projects?watch=1&since=$since" "" 410
}
