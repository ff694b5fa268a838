#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Secrets are used by people and programs, and put where they do not belong;
# then everything that the installation wrote is searched for them: its state
# with all pages of the store, logs, a backup, the audit log, answers, argument
# lists and environments.

load ../lib

setup_file() { install_bulkhead bksecret; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why; }

# ask WHO METHOD PATH [BODY [HEADER]]: the answer goes to $body
ask() {
    local options=(-s -X "$2" -D "$BATS_FILE_TMPDIR/headers")
    [ "$1" = nobody ] || options+=(-H "Authorization: Bearer $(token "$1")")
    [ -z "${4:-}" ] || options+=(-H "Content-Type: application/json" -d "$4")
    [ -z "${5:-}" ] || options+=(-H "$5")
    body=$(curl "${options[@]}" --unix-socket "$(api)" "http://x/api/v1$3")
}
# The same, of whose answer nothing is secret.
try() {
    ask "$@"
    { cat "$BATS_FILE_TMPDIR/headers"; echo "$body"; } >>"$BATS_FILE_TMPDIR/answers"
}
member() { jq -er "$1" <<<"$body"; }

# plant FILE SECRET: as it is, and in base64 wherever it may begin.
plant() {
    local before text
    echo "$2" >>"$BATS_FILE_TMPDIR/plain"
    for before in "" x xx; do
        text=$(printf %s "$before$2" | base64 -w0)
        text=${text:$(((${#before} * 8 + 5) / 6))}
        echo "${text%????}" >>"$BATS_FILE_TMPDIR/$1"
    done
    echo "$2" >>"$BATS_FILE_TMPDIR/$1"
}

# Processes of this installation, apart from what runs inside containers.
ours() {
    local exe process
    for process in /proc/[0-9]*; do
        exe=$(readlink "$process/exe") || continue
        case $exe in
        "$data/bin/"*) echo "$process" ;;
        */conmon | */crun) ! tr '\0' '\n' <"$process/cmdline" | grep -qF "$data" || echo "$process" ;;
        esac
    done 2>/dev/null
}

# What a search finds, one place a line.
places() {
    local process
    # What is there to be used: people's own files, and the node's token.
    grep -raFl -f "$BATS_FILE_TMPDIR/secrets" "$data" "$run" --exclude-dir=people \
        --exclude-dir=images --exclude=join-token --exclude='*.sock' --exclude-dir=netns || true
    grep -aFl -f "$BATS_FILE_TMPDIR/secrets" "$BATS_FILE_TMPDIR/answers" "$BATS_FILE_TMPDIR/backup" || true
    cat "$BATS_FILE_TMPDIR/secrets" "$BATS_FILE_TMPDIR/content" >"$BATS_FILE_TMPDIR/both"
    grep -raFl -f "$BATS_FILE_TMPDIR/both" "$data/log" "$BATS_FILE_TMPDIR/records" || true
    for process in $(ours); do
        ! cat "$process/cmdline" "$process/environ" 2>/dev/null |
            tr '\0' '\n' | grep -qaF -f "$BATS_FILE_TMPDIR/both" || echo "$process"
    done
    ! command -v journalctl >/dev/null ||
        ! journalctl -q --since "$(cat "$BATS_FILE_TMPDIR/since")" 2>/dev/null |
            grep -qaF -f "$BATS_FILE_TMPDIR/both" || echo journal
}

@test "no secret is in anything that an installation wrote" {
    unrecorded
    local where=/tenants/research/projects/language secret who
    date '+%F %T' >"$BATS_FILE_TMPDIR/since"
    : >"$BATS_FILE_TMPDIR/content"
    for who in admin alice vera; do plant secrets "$(token "$who")"; done
    for who in alice vera; do plant secrets "$(cat "$data/people/$who.password")"; done
    plant secrets "$(cat "$data/agent/join-token" 2>/dev/null || echo bh_enr_was_used_and_is_gone)"
    admin create user other -t research -q
    ask admin POST /tenants/research/users/other/password '{"password":"plant-a-long-word-77"}'
    plant secrets plant-a-long-word-77
    ask alice GET /whoami
    who=$(member .id)
    ask alice POST "/tenants/research/users/$who/apikeys" '{"name":"planted"}'
    key=$(member .key)
    plant secrets "$key"
    ask alice POST /tenants/research/invitations '{"name":"newcomer"}'
    plant secrets "$(member .token)"
    ask alice POST /tenants/research/identityproviders \
        '{"name":"lab","issuer":"https://127.0.0.1:9","client_id":"x"}'
    ask alice POST /tenants/research/identityproviders/lab/secret '{"client_secret":"secret-of-the-client-55"}'
    plant secrets secret-of-the-client-55
    ask vera POST /factor
    seed=$(member .uri | sed 's/.*secret=\([A-Z2-7]*\).*/\1/')
    [ ${#seed} = 32 ]
    plant secrets "$seed"
    plant content environment-of-the-work-31
    ask alice POST "$where/workloads" \
        "{\"name\":\"holds\",\"class\":\"$h100\",\"image\":\"demo\",\"memory_mib\":64,\"spec\":{\"command\":[\"/bin/sleep\",\"900\"],\"env\":{\"KEY\":\"environment-of-the-work-31\"}}}"
    becomes alice holds running

    while read -r secret; do
        try nobody POST /login "{\"name\":\"$secret\",\"password\":\"x\"}"
        try nobody POST /login "{\"name\":\"alice\",\"tenant\":\"research\",\"password\":\"$secret\"}"
        try nobody POST /login "{\"name\":\"alice\",\"passwort\":\"$secret\"}"
        try nobody POST /login "$secret"
        try nobody POST /invitations/accept "{\"token\":\"$secret\",\"password\":\"x\"}"
        try alice POST /stepup "{\"password\":\"$secret\",\"more\":1}"
        try alice POST /tenants/research/users "{\"name\":\"y\",\"password\":\"$secret\"}"
        try alice POST /tenants/research/projects "{\"name\":\"y\",\"key\":\"$secret\"}"
        try alice POST "$where/workloads" "{\"class\":\"$h100\",\"image\":\"x\",\"spec\":{\"command\":[\"x\"],\"token\":\"$secret\"}}"
        try alice GET "/whoami?token=${secret// /}"
        try alice GET "/tenants?cursor=${secret// /}"
        try alice GET "/tenants/research/users/${secret// /}"
        try alice DELETE "/tenants/${secret// /}"
        for header in "Authorization: Basic" X-Api-Key: Idempotency-Key: If-Match: Approval: User-Agent: X-Request-Id: Cookie: Origin:; do
            try nobody POST /tenants/research/projects '{"name":"y y"}' "$header $secret"
            try alice PATCH /tenants/research '{"state":"none"}' "$header $secret"
        done
        try nobody GET /whoami "" "Authorization: Bearer $secret"
        try nobody POST /agent/v1/enrol "{\"token\":\"$secret\"}"
    done < <(sort -u "$BATS_FILE_TMPDIR/plain")

    for where in "" /tenants/research /tenants/vision; do
        for raw in 0 1; do
            ask admin GET "$where/audit?from=0&limit=500&raw=$raw"
            echo "$body" >>"$BATS_FILE_TMPDIR/records"
        done
    done
    ask alice GET "/tenants/research/audit?from=0&limit=500"
    echo "$body" >>"$BATS_FILE_TMPDIR/records"
    curl -sf --unix-socket "$(api)" -H "Authorization: Bearer $(token admin)" \
        -o "$BATS_FILE_TMPDIR/backup" http://x/api/v1/backup

    # There is something to be found in, and processes to be asked.
    [ "$(wc -c <"$BATS_FILE_TMPDIR/answers")" -gt 50000 ]
    [ "$(wc -c <"$BATS_FILE_TMPDIR/backup")" -gt 50000 ]
    grep -q workload.create "$BATS_FILE_TMPDIR/records"
    [ "$(ours | wc -l)" -ge 5 ]
    found=$(places)
    [ -z "$found" ] || { echo "secrets are in: $found"; return 1; }
}

@test "the search finds a secret in a log, a state file, an answer and an argument list" {
    local before
    echo "x plant-a-long-word-77 x" >>"$data/log/runner.log"
    [ "$(places | sort -u)" = "$data/log/runner.log" ]
    sed -i '/plant-a-long-word-77/d' "$data/log/runner.log"
    printf '\0\1cGxhbnQtYS1sb25nLXdvcmQtNzc=\0' >"$data/control/page"
    [ "$(places | sort -u)" = "$data/control/page" ]
    rm "$data/control/page"
    before=$(wc -c <"$BATS_FILE_TMPDIR/answers")
    echo '{"detail":"environment and secret-of-the-client-55"}' >>"$BATS_FILE_TMPDIR/answers"
    [ "$(places | sort -u)" = "$BATS_FILE_TMPDIR/answers" ]
    truncate -s "$before" "$BATS_FILE_TMPDIR/answers"
    cp /bin/sleep "$data/bin/sleep"
    (exec -a "x environment-of-the-work-31" "$data/bin/sleep" 100 3>&-) &
    argued=$!
    (export KEY=environment-of-the-work-31 && exec "$data/bin/sleep" 100 3>&-) &
    kept=$!
    soon both_are_found
    kill "$argued" "$kept"
    wait "$argued" "$kept" || true
    [ -z "$(places)" ]
}

both_are_found() { [ "$(places | grep -c '^/proc/')" = 2 ]; }
