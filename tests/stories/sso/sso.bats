#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# People log in by an identity provider: the npm package oidc-provider, on
# loopback.  Skipped where npm cannot be had.

load ../api/common
here=$BATS_TEST_DIRNAME
bulkhead=${bulkheadd%d}

install_provider() {
    local tools=$here/../../../build/sso
    command -v npm >/dev/null && command -v node >/dev/null || return 1
    mkdir -p "$tools"
    if ! cmp -s "$here/package-lock.json" "$tools/installed"; then
        rm -rf "$tools/node_modules"
        cp "$here"/package.json "$here"/package-lock.json "$here"/.npmrc "$tools/"
        (cd "$tools" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund >npm.log 2>&1) || return 1
        cp "$here/package-lock.json" "$tools/installed"
    fi
    cp "$here/provider.mjs" "$tools/"
    node "$tools/provider.mjs" "$home/issuer" >"$home/provider.log" 2>&1 3>&- &
    echo $! >"$home/provider.pid"
    soon test -s "$home/issuer"
}

start_daemon() {
    echo '{"egress":{"loopback":true}}' >"$home/config.json"
    "$bulkheadd" --data "$home/data" --socket "$home/api.sock" \
        --config "$home/config.json" --listen 127.0.0.1:0 \
        --port-file "$home/port" 2>>"$home/daemon.log" 3>&- &
    echo $! >"$home/pid"
    soon curl -sf --unix-socket "$home/api.sock" http://x/readyz
}

eval "api_$(declare -f setup_file)"
setup_file() {
    export home=$BATS_FILE_TMPDIR
    if ! install_provider; then
        touch "$home/skipped"
        return 0
    fi
    api_setup_file
    cli ann use --tenant research >/dev/null
    BULKHEAD_TOKEN=$(cat "$home/token.ann") cli ann create identityprovider corp -t research \
        issuer="$(cat "$home/issuer")" client_id=bulkhead-ES256 'scopes=profile groups' \
        'acr=["mfa"]' \
        'mapping=[{"claim":"groups","value":"ml","role":"developer","node":"work"},
                  {"claim":"groups","value":"leads","role":"tenant-admin"}]'
    echo 'a secret of the client: 0123456789' >"$home/secret"
    BULKHEAD_TOKEN=$(cat "$home/token.ann") cli ann set clientsecret corp -t research --secret-file "$home/secret"
}

teardown() {
    [ -n "${BATS_TEST_COMPLETED-}" ] || tail -n 20 "$home/provider.log" "$home/daemon.log" || true
}

teardown_file() {
    [ ! -e "$home/provider.pid" ] || kill "$(cat "$home/provider.pid")"
    [ ! -e "$home/conform.pid" ] || kill "$(cat "$home/conform.pid")"
    [ -e "$home/skipped" ] || stop_daemon TERM
}

setup() {
    [ ! -e "$home/skipped" ] || skip "npm cannot be had"
}

# cli PERSON WORDS...: somebody types `bulkhead ...`; their browser is at hand.
cli() {
    local who=$1
    shift
    BULKHEAD_CONTEXT=$home/$who.json BULKHEAD_SOCKET=$home/api.sock \
        BROWSER=$here/browser "$bulkhead" "$@"
}

# is JSON: who sits before the browser.
is() {
    curl -sf -G --data-urlencode "who=$1" "$(cat "$home/issuer")/as"
}

# recorded REASON VERB: the tenant's log says so.
recorded() {
    must ann GET '/tenants/research/audit?limit=500' "" 200
    [ "$(jq -r --arg r "$1" '.items[] | select(.decision.reason == $r) | .action.verb' <<<"$body" | sort -u)" = "$2" ]
}

@test "somebody logs in, and may what the groups say" {
    is '{"sub":"s-1","name":"Ada","groups":["ml"],"email":"ann@research.example"}'
    run cli ada login --sso corp -t research
    echo "$output"
    [ "$status" = 0 ]
    [[ "$output" = *"logged in as ada of research"* ]]
    cli ada get projects -t research -o name | grep -q work
    run cli ada create project more -t research
    [ "$status" = 3 ]
    soon recorded "identityprovider corp" session.create
    # Her name and her address are somebody else's there: it does not matter.
    run cli ada get users -t research
    not grep -q ann <<<"$output"
}

@test "no group any more, no right any more [A27]" {
    is '{"sub":"s-2","name":"lea","groups":["leads"]}'
    cli lea login --sso corp -t research
    cli lea create project lab -t research
    cp "$home/lea.json" "$home/old.json"
    is '{"sub":"s-2","name":"lea"}'
    cli lea login --sso corp -t research
    run cli lea create project lab2 -t research
    [ "$status" = 3 ]
    run cli old create project lab2 -t research
    [ "$status" = 3 ]
}

@test "a guarded command takes a proof that counts" {
    is '{"sub":"s-3","name":"max","groups":["leads"],"acr":"pwd"}'
    cli max login --sso corp -t research
    run cli max set identityprovider corp -t research display=Company
    [ "$status" = 4 ]
    run cli max stepup --sso
    [ "$status" = 4 ]
    is '{"sub":"s-3","name":"max","groups":["leads"],"acr":"mfa"}'
    cli max stepup --sso
    cli max set identityprovider corp -t research display=Company
    # Another person before the same browser proves nothing for max.
    is '{"sub":"s-4","name":"eve","acr":"mfa"}'
    run cli max stepup --sso
    [ "$status" = 4 ]
}

@test "claims that only the userinfo endpoint has are asked for there" {
    CONFORM=1 node "$here/../../../build/sso/provider.mjs" "$home/issuer2" >>"$home/provider.log" 2>&1 3>&- &
    echo $! >"$home/conform.pid"
    soon test -s "$home/issuer2"
    BULKHEAD_TOKEN=$(cat "$home/token.ann")
    export BULKHEAD_TOKEN
    cli ann create identityprovider conform -t research \
        issuer="$(cat "$home/issuer2")" client_id=bulkhead-ES256 'scopes=profile groups' \
        'mapping=[{"claim":"groups","value":"leads","role":"tenant-admin"}]'
    cli ann set clientsecret conform -t research --secret-file "$home/secret"
    curl -sf -G --data-urlencode 'who={"sub":"u-1","name":"una","groups":["leads"]}' "$(cat "$home/issuer2")/as"
    BULKHEAD_TOKEN='' cli una login --sso conform -t research
    BULKHEAD_TOKEN='' run cli una create project una-1 -t research
    [ "$status" = 3 ]
    cli ann set identityprovider conform -t research userinfo=true
    unset BULKHEAD_TOKEN
    cli una login --sso conform -t research
    cli una create project una-1 -t research
}

@test "where the browser is elsewhere the address is pasted" {
    is '{"sub":"s-5","name":"tom","groups":["ml"]}'
    mkfifo "$home/typed"
    (cli tom login --sso corp -t research --paste <"$home/typed" >"$home/said" 2>&1; echo $? >"$home/code") 3>&- &
    exec 9>"$home/typed"
    soon grep -q 'http.*/auth' "$home/said"
    "$here/browser" "$(grep -o 'http[^ ]*/auth[^ ]*' "$home/said")"
    cat "$home/address" >&9
    echo >&9
    exec 9>&-
    soon test -s "$home/code"
    cat "$home/said"
    [ "$(cat "$home/code")" = 0 ]
    cli tom whoami | grep -q tom
}

@test "each algorithm is taken" {
    is '{"sub":"s-6","name":"kim","groups":["ml"]}'
    must ann POST /stepup "{\"password\":\"$password\"}" 204
    for alg in RS256 EdDSA ES256; do
        BULKHEAD_TOKEN=$(cat "$home/token.ann") cli ann set identityprovider corp -t research client_id=bulkhead-$alg
        cli kim login --sso corp -t research
        cli kim whoami | grep -q kim
    done
}

@test "a logout there ends the session and its stream here" {
    is '{"sub":"s-7","name":"joe","groups":["ml"]}'
    cli joe login --sso corp -t research
    token=$(jq -r '.. | .token? // empty' "$home/joe.json" | head -n 1)
    id=$(cli joe whoami -o json | jq -r .id)
    must ann GET /tenants/research/identityproviders/corp "" 200
    provider=$(field .id)
    curl -sN --unix-socket "$home/api.sock" -H "Authorization: Bearer $token" \
        'http://x/api/v1/tenants/research/projects/work/workloads?watch=1' \
        >"$home/stream" 3>&- &
    stream=$!
    soon grep -q watching "$home/stream"
    curl -sf -G "$(cat "$home/issuer")/logout" --data-urlencode "client=bulkhead-ES256" \
        --data-urlencode "sub=s-7" --data-urlencode "sid=none" \
        --data-urlencode "uri=http://127.0.0.1:$(cat "$home/port")/api/v1/logout/sso/$provider"
    must ann GET "/tenants/research/users/$id/sessions" "" 200
    # The session of another sid stays; all sessions of the person end.
    curl -sf -G "$(cat "$home/issuer")/logout" --data-urlencode "client=bulkhead-ES256" \
        --data-urlencode "sub=s-7" \
        --data-urlencode "uri=http://127.0.0.1:$(cat "$home/port")/api/v1/logout/sso/$provider"
    WITHIN=5 soon not kill -0 $stream
    run cli joe whoami
    [ "$status" = 4 ]
    soon recorded "back-channel logout" session.delete
}

@test "a login that was begun before a restart ends behind it" {
    is '{"sub":"s-8","name":"zoe","groups":["ml"]}'
    must nobody POST /login/sso '{"provider":"corp","tenant":"research","redirect":"http://127.0.0.1:4711/callback"}' 200
    attempt=$(field .attempt)
    "$here/browser" "$(field .url)"
    query=$(sed 's/.*?//' "$home/address" | tr '&' '\n')
    value() { grep "^$1=" <<<"$query" | cut -d= -f2- | sed 's/%3A/:/g; s/%2F/\//g'; }
    stop_daemon KILL
    start_daemon
    must nobody POST /login/sso/callback "{\"attempt\":\"$attempt\",\"state\":\"$(value state)\",\"code\":\"$(value code)\",\"iss\":\"$(value iss)\"}" 201
    [ "$(field .user_name)" = zoe ]
    must nobody POST /login/sso/callback "{\"attempt\":\"$attempt\",\"state\":\"$(value state)\",\"code\":\"$(value code)\"}" 401
    # Sessions and links are there too.
    cli kim whoami | grep -q kim
}

@test "the client's secret is in no file but its own, sealed" {
    not grep -rqa 'secret of the client' "$home/data"
    not grep -qa 'secret of the client' "$home/daemon.log"
}

@test "what is refused says why and what to do" {
    run cli nobody login --sso none -t research
    [ "$status" = 6 ]
    run cli ann login ann --sso corp -t research
    [ "$status" = 2 ]
    run cli nobody login
    [ "$status" = 2 ]
    [[ "$output" = *"--sso PROVIDER"* ]]
    must ann POST /stepup "{\"password\":\"$password\"}" 204
    BULKHEAD_TOKEN=$(cat "$home/token.ann") run cli ann create identityprovider meta -t research \
        issuer=https://169.254.169.254 client_id=x
    [ "$status" = 2 ]
    [[ "$output" = *"not one that may be asked"* ]]
}
