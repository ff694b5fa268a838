#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# How the command line shows what a server, and so other people, wrote; and
# what its exit code says.

load ../lib

setup_file() {
    install_bulkhead bsc
    quota cards -t research -g 0 -l 2
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

# on_terminal COMMAND...: as somebody at a terminal sees it.
on_terminal() {
    script -qec "$(printf '%q ' "$@")" /dev/null </dev/null
}
# Bytes that drive a terminal: C0 but tab, newline and what script adds (CR),
# DEL, C1 in UTF-8, direction marks.
drives() { LC_ALL=C grep -qP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]'; }
evil=$'red\e]0;owned\a\e[2J\x7f \u009b31m \u202egnp.exe'

@test "each kind of failure has its exit code" {
    refused 2 alice get workloads --nosuch
    refused 3 alice create tenant mine
    says denied
    refused 4 bulkhead_as nobody -t research get projects
    says unauthenticated
    refused 6 vera get tenant research
    refused 6 vera get tenant tn_aaaaaaaaaaaaaaaaaaaaaaaaaa
    refused 2 admin delete project .. -t research
    refused 2 admin get tenant ../tenants/research
    refused 7 admin create tenant research
    says conflict
    refused 8 runs alice never -c $h100 -n 3 -- /bin/true
    says quota
    printf 'bulkhead/x+00000000+AAAA\n' >"$data/people/other.key"
    run "$data/bin/bulkhead" audit verify "$data/control/audit" --key "$data/people/other.key"
    [ "$status" != 0 ]
    "$data/bin/bulkhead-signer" --directory "$data/signer" --public-key bulkhead >"$data/people/audit.key"
    # The outbox lays records down about once a second.
    soon grep -rq tenant.create "$data/control/audit"
    cp -r "$data/control/audit" "$data/people/audit"
    find "$data/people/audit" -type f -size +64c ! -name '*.key' -exec sed -i 's/tenant.create/tenant.delete/' {} +
    refused 9 "$data/bin/bulkhead" audit verify "$data/people/audit" --key "$data/people/audit.key"
    # As JSON the error is JSON.
    run alice get workload nosuch -o json
    [ "$status" = 6 ]
    [ "$(jq -r .code <<<"$output")" = not_found ]
}

@test "what may need a proof of identity says so with 4" {
    # A session is as good as its last proof for five minutes; a key never is.
    admin create apikey tool --user admin --level platform --for 1h -q >"$data/people/tool.key"
    BULKHEAD_TOKEN=$(cat "$data/people/tool.key") refused 4 admin passwd vera -t vision --password-file "$data/people/vera.password"
    says step_up "bulkhead stepup"
}

@test "each form is what it says" {
    admin create tenant forms 'display=Forms, "and" more' -q
    [ "$(admin get tenant forms -o json | jq -r .display)" = 'Forms, "and" more' ]
    [ "$(admin get tenants -o json | jq '.items | length')" = 3 ]
    [ "$(admin get tenants -o name | sort | tr '\n' ' ')" = "tenant/forms tenant/research tenant/vision " ]
    run admin get tenant forms -o yaml
    says 'name: "forms"' 'display: "Forms, \"and\" more"'
    run admin get tenants -o csv
    [[ ${lines[0]} == *name*display* ]]
    says '"Forms, ""and"" more"'
    run admin get tenants
    [[ ${lines[0]} == NAME*AGE ]]
    [[ $output != *Forms* ]]
    run admin get tenants -o wide --no-headers
    [[ ${lines[0]} != NAME* ]]
    [[ $output == *Forms* ]]
    [ "$(admin create tenant quiet -q)" = "" ]
    [ "$(admin create tenant named -o name)" = tenant/named ]
    admin get tenants -o json | jq -e '.items[0].id' >/dev/null
}

@test "a cell that a spreadsheet would run is text, a number stays one" {
    admin create tenant sheet 'display==HYPERLINK("http://x","y")' -q
    run admin get tenants -o csv
    says "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\""
    admin set tenant sheet 'display=  @SUM(1)' -q
    run admin get tenants -o csv
    says "\"'  @SUM(1)\""
    [ "$(admin get quotas -t research -o csv | tr -d '\r' | tail -n 1 | grep -c "'")" = 0 ]
}

@test "no text of a tenant drives the terminal of who looks" {
    admin create tenant evil "display=plain" -q
    refused 2 admin create tenant "$evil"
    # Whether the server takes such a text or not: none reaches the screen.
    jq -n --arg display "$evil" '{name: "evil2", display: $display}' >"$data/people/evil.json"
    admin create tenant -f "$data/people/evil.json" -q || true
    for form in table wide csv yaml json name; do
        not drives < <(admin get tenants -o $form)
        not drives < <(admin get tenant evil2 -o $form 2>&1)
    done
    runs alice loud -c $h100 -- /bin/sh -c 'printf "a\033[2J\007b\302\2335mc\342\200\256d\177\303\244\n"; exit 3'
    becomes alice loud failed
    drives < <(alice logs loud)
    export BULKHEAD_CONTEXT=$data/people/alice.json BULKHEAD_SOCKET=$run/control/api.sock
    run on_terminal "$data/bin/bulkhead" logs loud -t research -p language
    says $'a?[2J?b?5mc?d?\u00e4'
    not drives <<<"$output"
}

@test "a watch prints each change whole, as one line of JSON" {
    BULKHEAD_CONTEXT=$data/people/alice.json BULKHEAD_SOCKET=$run/control/api.sock \
        "$data/bin/bulkhead" get workloads -t research -p language -W --no-headers >"$data/people/watched" 3>&- &
    watcher=$!
    sleep 1
    runs alice long -c $h100 -e "LONG=$(head -c 15000 /dev/zero | tr '\0' x)" -- /bin/true
    becomes alice long succeeded
    soon grep -q succeeded "$data/people/watched"
    kill $watcher
    [ "$(grep -c . "$data/people/watched")" -ge 3 ]
    grep . "$data/people/watched" | jq -es 'map(select(.. | strings | length > 14000)) | length > 0'
}

@test "a dry run says what the command would and changes nothing" {
    for words in "create tenant dry" "create tenant research" "create tenant Not-A-Name"; do
        run admin $words --dry-run
        dry=$status:${output//dry_run/}
        before=$(admin get tenants -o json | jq -S '[.items[].id] | sort')
        [ "$before" = "$(admin get tenants -o json | jq -S '[.items[].id] | sort')" ]
        run admin $words
        [ "$status:$output" = "${dry/ (dry run)/}" ] || { echo "$dry, then $status:$output"; return 1; }
    done
    runs alice real -c $h100 -- "${stay[@]}"
    becomes alice real running
    run alice submit trial -i demo -c $h100 -n 3 --dry-run -- /bin/true
    [ "$status" = 8 ]
    run alice submit trial -i demo -c $h100 -n 2 --dry-run -- /bin/true
    says "workload/trial submitted (dry run)" "gated: 2 cards needed"
    dry=${output/ (dry run)/}
    alice cancel real --dry-run -q
    [ "$(state alice real)" = running ]
    refused 6 alice get workload trial
    run alice submit trial -i demo -c $h100 -n 2 -- /bin/true
    [ "$output" = "$dry" ]
}

@test "a password comes by file or standard input, and is not cut" {
    not grep -qE -- '--(password|secret|token)[ =]' < <(for c in login passwd stepup first-admin; do "$data/bin/bulkhead" $c --help; done)
    bulkhead_as again login alice -t research -q <"$data/people/alice.password"
    [ "$(stat -c %a "$data/people/again.json")" = 600 ]
    bulkhead_as again whoami -q
    bulkhead_as again logout
    refused 4 bulkhead_as again whoami
    [ "$(jq -r .token "$data/people/again.json")" = null ]
    head -c 3000 /dev/zero | tr '\0' x >"$data/people/long"
    refused 2 bulkhead_as again login alice -t research --password-file "$data/people/long"
    refused 2 bulkhead_as again login alice -t research <"$data/people/long"
    refused 2 bulkhead_as again login alice -t research </dev/null
}

# exports_at_least N PERSON...: into $copy, once the signer vouched for so much.
exports_at_least() {
    "${@:2}" audit export "$copy" >"$copy.said" && [ "$(sed -n 's/.*: \([0-9]*\) records.*/\1/p' "$copy.said")" -ge "$1" ]
}
# verifies [OPTION...]: without a server, a context or a socket.
verifies() { env -i "$data/bin/bulkhead" audit verify "$copy" --key "$data/people/audit.key" -t "$tenant" "$@"; }
# touched KIND COMMAND...: what verify says when the copy was changed so.
touched() {
    local kind=$1
    shift
    rm -rf "$copy" && cp -r "$copy.kept" "$copy" && "$@"
    run verifies
    [ "$status" = 9 ] && [[ $output == *"$kind"* ]] || { echo "$kind: $status $output"; return 1; }
}
log_of() { find "$copy" -maxdepth 1 -name "*$tenant"; }
edit_entry() { sed -i 's/project.create/project.delete/' "$(find "$(log_of)/tile/entries" -type f | head -n 1)"; }
drop_tail() { cp -r "$copy.early/$(basename "$log")"/{head,tile,personal} "$log/"; }
sign_anew() { sed -i '$y/ABCDEFGHIJKLM/BCDEFGHIJKLMA/' "$log/checkpoint" "$log/checkpoints"; }
platform_commits() { exports_at_least 1 admin && grep -rqa "/$tenant " "$copy"/*platform/tile/entries; }

@test "an exported log proves itself without a server, and shows who touched it" {
    copy=$data/people/export tenant=$(alice get tenant research -o json | jq -r .id)
    "$data/bin/bulkhead-signer" --directory "$data/signer" --public-key bulkhead >"$data/people/audit.key"
    alice create project early
    exports_at_least 1 alice
    log=$(log_of)
    verifies
    cp -r "$copy" "$copy.early"
    early=$(sed -n 's/.*: \([0-9]*\) records.*/\1/p' "$copy.said")
    alice create project late
    # The platform's log too: what it committed, the tenant's must have.
    WITHIN=90 soon platform_commits
    exports_at_least 1 admin
    soon exports_at_least $((early + 1)) alice
    run verifies
    [ "$status" = 0 ] && [[ $output == "intact: 2 logs"* ]]
    "$data/bin/bulkhead" audit prove "$copy" "$(head -n 1 "$log/checkpoint")" 0 -f "$copy.proof"
    env -i "$data/bin/bulkhead" audit check-proof "$copy.proof" --key "$data/people/audit.key"
    cp -r "$copy" "$copy.kept"
    touched edited edit_entry
    touched truncated drop_tail
    touched forged sign_anew
    touched missing rm -r "$log"
    refused 2 alice audit export "$copy" --from 3
    says --from
}
