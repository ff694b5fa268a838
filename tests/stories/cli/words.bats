#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The command line by itself: help, usage, completion, context, and a server
# that breaks off. Needs no installation.

load ../words

setup() {
    home=$(mktemp -d)
    # Not what whoever runs the stories has set.
    unset BULKHEAD_SOCKET BULKHEAD_URL BULKHEAD_TOKEN BULKHEAD_TENANT BULKHEAD_PROJECT
    export HOME=$home BULKHEAD_CONTEXT=$home/context.json
    PATH=$BATS_TEST_DIRNAME/../../../build/${BUILD:-debug}:$PATH
}
teardown() {
    [ -z "${server:-}" ] || kill "$server" || true
    rm -rf "$home"
}

commands() { bulkhead --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p' | sed 's/ *$//'; }

@test "every command and every word before one has its help" {
    [ "$(commands | wc -l)" -ge 30 ]
    while read -r command; do
        run bulkhead $command --help
        [ "$status" = 0 ] || { echo "$command: $status"; return 1; }
        [[ ${lines[0]} == "bulkhead $command"* ]]
        grep -q 'Everywhere:' <<<"$output"
        # Nothing wider than a page, no tab, each sentence with its end.
        [ "$(grep -c $'\t' <<<"$output")" = 0 ]
        [[ ${lines[1]} == *. ]] || { echo "$command: ${lines[1]}"; return 1; }
        [ "$(bulkhead help $command)" = "$output" ]
    done < <(commands)
    run bulkhead audit --help
    [ "$status" = 0 ]
    [ "${#lines[@]}" = 11 ]
}

@test "wrong usage ends with 2 and says what is right" {
    local wrong
    for wrong in "" nosuch "get" "get workloads a b" "get workloads --nosuch" \
        "get workloads -o pdf" "get nosuch" "get workloads -o" "cards --free=yes" \
        "login" "login alice --password secret" "wait w --timeout 5y" \
        "submit x --cpu 1.2345" "submit x -m 4x" "submit x -v data" "submit x -e NAME" \
        "create tenant t display" "create tenant t display=a display=b" \
        "set quota cards -g 1.2345" "set quota card_time -l 999999999" \
        "audit" "audit nosuch" "completion tcsh" "logs w --offset -1"; do
        run bulkhead $wrong
        [ "$status" = 2 ] || { echo "\"$wrong\" ended with $status: $output"; return 1; }
        grep -q '^bulkhead: .* (invalid)$' <<<"$output" || { echo "$wrong: $output"; return 1; }
    done
}

@test "completion loads in bash and completes verbs, nouns, options and forms" {
    bulkhead completion bash >"$home/completion"
    bash -n "$home/completion"
    complete_words() {
        bash -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _bulkhead; echo "${COMPREPLY[*]}"' \
            _ "$home/completion" bulkhead "$@"
    }
    [ "$(complete_words su)" = submit ]
    [ "$(complete_words aud)" = audit ]
    [ "$(complete_words get workl)" = workload ]
    [ "$(complete_words get wor)" = "workload workorder" ]
    [ "$(complete_words audit ver)" = verify ]
    [ "$(complete_words wait w --tim)" = --timeout ]
    [ "$(complete_words set quota cards --gua)" = --guaranteed ]
    [ "$(complete_words cards -o y)" = yaml ]
    bulkhead completion zsh | head -n 1 | grep -qx '#compdef bulkhead'
    run bulkhead completion fish
    [ "$status" = 0 ]
    # A description is quoted, so it holds no quote and nothing to expand.
    while IFS= read -r line; do
        [[ $line =~ ^complete\ -c\ bulkhead\ [^\$\`]*$ ]] || { echo "$line"; return 1; }
        [ $(($(tr -dc '"' <<<"$line" | wc -c) % 2)) = 0 ]
    done <<<"$output"
}

@test "the context file is for its owner alone" {
    umask 000
    export BULKHEAD_CONTEXT=$home/new/context.json
    bulkhead use -t research -p language
    [ "$(stat -c %a "$home/new")" = 700 ]
    [ "$(stat -c %a "$home/new/context.json")" = 600 ]
    echo '{"tenant": ' >"$home/new/context.json"
    run bulkhead use -t vision
    [ "$status" = 2 ]
    grep -q 'context' <<<"$output"
    unset BULKHEAD_CONTEXT
    XDG_CONFIG_HOME=$home/xdg bulkhead use -t research
    [ "$(jq -r .tenant "$home/xdg/bulkhead/context.json")" = research ]
    bulkhead use -t vision
    [ "$(jq -r .tenant "$home/.config/bulkhead/context.json")" = vision ]
}

@test "a flag goes before the environment, and that before the file" {
    bulkhead use -t file -p kept --socket /run/file.sock
    [ "$(bulkhead use)" = "tenant file, project kept, server /run/file.sock" ]
    export BULKHEAD_TENANT=environment BULKHEAD_PROJECT=other BULKHEAD_URL=http://environment
    [ "$(BULKHEAD_CONTEXT=$home/a cp "$home/context.json" "$home/a"; BULKHEAD_CONTEXT=$home/a bulkhead use)" = \
        "tenant environment, project other, server http://environment" ]
    cp "$home/context.json" "$home/b"
    [ "$(BULKHEAD_CONTEXT=$home/b bulkhead use -t flag -p mine --socket /run/flag.sock)" = \
        "tenant flag, project mine, server /run/flag.sock" ]
    # A kept project is none of another tenant.
    unset BULKHEAD_TENANT BULKHEAD_PROJECT BULKHEAD_URL
    cp "$home/context.json" "$home/c"
    [ "$(BULKHEAD_CONTEXT=$home/c bulkhead use -t another)" = "tenant another, project <none>, server /run/file.sock" ]
    [ "$(bulkhead use -t file)" = "tenant file, project kept, server /run/file.sock" ]
}

# serve ANSWER...: a server that gives one answer after the other ("cut":
# hangs up) and notes the requests; the last answer stays.
serve() {
    printf '%s\n' "$@" >"$home/answers"
    cat >"$home/answer" <<'END'
#!/bin/bash
while IFS= read -r line && [ -n "${line%$'\r'}" ]; do
    echo "${line%$'\r'}"
    case ${line,,} in content-length:*) size=${line#*: } size=${size%$'\r'} ;; esac
done >>"$FILES/requests"
[ -z "${size:-}" ] || head -c "$size" >/dev/null
answer=$(head -n 1 "$FILES/answers")
[ "$(wc -l <"$FILES/answers")" = 1 ] || sed -i 1d "$FILES/answers"
[ "$answer" != cut ] || exit 0
body='{"code":"unknown","detail":"outcome unknown","name":"red","id":"tn_a"}'
printf 'HTTP/1.1 %s x\r\nContent-Type: application/json\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s' \
    "$answer" "${#body}" "$body"
END
    chmod +x "$home/answer"
    for port in $(shuf -i 20000-29999 -n 20); do
        FILES=$home busybox nc -ll -p "$port" -e "$home/answer" 3>&- 2>/dev/null &
        server=$!
        sleep 0.2
        kill -0 "$server" 2>/dev/null && break
    done
    export BULKHEAD_URL=http://127.0.0.1:$port BULKHEAD_TOKEN=token
    : >"$home/requests"
}
keys() { grep -i '^idempotency-key: ' "$home/requests" | sort -u | wc -l; }

@test "a command whose outcome is unknown is repeated with the same key" {
    command -v busybox >/dev/null || skip "needs busybox"
    serve 503 cut 503 201
    run bulkhead create tenant red
    [ "$status" = 0 ]
    [ "$output" = "tenant/red created" ]
    [ "$(grep -c '^POST' "$home/requests")" = 4 ]
    [ "$(keys)" = 1 ]
    run bulkhead create tenant red
    [ "$(keys)" = 2 ]
}

@test "an outcome that stays unknown is said so, with 75" {
    command -v busybox >/dev/null || skip "needs busybox"
    serve 503
    run bulkhead cancel work -t research -p language
    [ "$status" = 75 ]
    grep -q '(unknown)' <<<"$output"
    [ "$(keys)" = 1 ]
    # Nobody there: nothing was sent, so nothing is unknown.
    BULKHEAD_URL=http://127.0.0.1:1 run bulkhead get tenants
    [ "$status" = 75 ]
    grep -q '(busy)' <<<"$output"
}
