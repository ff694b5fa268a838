#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two worlds that differ in what another tenant does alone: every answer that
# ann gets is the same in both.

load ../api/common

# Every path of the document that ann can read, with her own ids in it.
paths() {
    local tenant project user
    must ann GET /tenants/research "" 200
    tenant=$(field .id)
    must ann GET /tenants/research/projects/work "" 200
    project=$(field .id)
    must ann GET /whoami "" 200
    user=$(field .id)
    must ann GET /openapi.json "" 200
    # Her own log holds her own reads, so it differs by nature.
    field '.paths | to_entries[] | select(.value.get) | .key' |
        grep -vE 'audit|/(healthz|readyz)$' |
        sed -E "s/\{tenant\}/$tenant/; s/\{project\}/$project/; s/\{user\}/$user/; s/\{[a-z]+\}/never/g"
}

# All of them, without what differs by the clock.
world() {
    local path
    while read -r path; do
        as ann GET "$path"
        echo "$path $status"
        seen | sed -E 's/"(to|expires)":"[^"]*"//'
    done <"$home/paths"
}

@test "nothing that ann can read tells that vision or the platform worked" {
    paths >"$home/paths"
    [ "$(wc -l <"$home/paths")" -gt 100 ]
    world >"$home/before"
    must bob POST /tenants/vision/projects '{"name":"secret"}' 201
    must bob POST /tenants/vision/users '{"name":"newcomer"}' 201
    must root POST /tenants/vision/quotas '{"dimension":"cpu","limit":5}' 201
    must root GET /tenants/vision "" 200
    vision=$(field .id)
    must root POST /prices "{\"meter\":\"request\",\"nano\":1,\"tenant\":\"$vision\"}" 201
    must root POST /pools "{\"name\":\"vault\",\"kind\":\"dedicated\",\"tenants\":[\"$vision\"]}" 201
    must root POST /tenants '{"name":"third"}' 201
    must root POST /users '{"name":"operator"}' 201
    world >"$home/after"
    diff "$home/before" "$home/after"
}

# watch_for PATH SECONDS: what a watch of ann's says in that time.
watch_for() {
    curl -sN --unix-socket "$home/stream.sock" --max-time "$2" \
        -H "Authorization: Bearer $(cat "$home/token.ann")" \
        "http://x/api/v1$1" || true
}

@test "a watch of the platform's lists tells ann what she may see, not how far the platform is" {
    must ann GET /roles "" 200
    since=$(field .revision)
    must root POST /users '{"name":"unseen"}' 201
    as ann GET "/roles?watch=1&since=none"
    [ "$status" = 400 ]
    must root GET /roles "" 200
    [[ $body != *"to $(field .revision)\""* ]]
    watch_for "/classes?watch=1&since=$since" 4 >"$home/watch" 3>&- &
    for _ in $(seq 100); do grep -q watching "$home/watch" && break; sleep 0.05; done
    must root POST /users '{"name":"unseen-too"}' 201
    must root POST /classes '{"name":"tiny","count":1,"model":"X"}' 201
    for _ in $(seq 100); do grep -q '"name":"tiny"' "$home/watch" && break; sleep 0.05; done
    wait %%
    [ "$(grep -c '^event:' "$home/watch")" = 1 ]
    grep -q '"name":"tiny"' "$home/watch"
}

@test "a platform's list that was read before a restart can be watched behind it" {
    must ann GET /classes "" 200
    since=$(field .revision)
    [ "$since" -gt 0 ]
    stop_daemon KILL
    start_daemon
    [[ $(watch_for "/classes?watch=1&since=$since" 1) == ": watching"* ]]
    must root POST /classes '{"name":"tinier","count":1,"model":"X"}' 201
    [[ $(watch_for "/classes?watch=1&since=$since" 1) == *tinier* ]]
    stop_daemon KILL
    start_daemon
    [[ $(watch_for "/classes?watch=1&since=$since" 1) == *'"code":"gone"'* ]]
}
