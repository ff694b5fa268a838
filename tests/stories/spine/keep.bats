#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What was answered is kept through kill -9 and a second start, what was used
# is accounted for, and no secret is written down.

load ../lib

setup_file() {
    install_bulkhead bsk
    admin create price meter=card_hour model=H100-80GB nano=3600000000000 -q
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 0 -l 4
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

kill_bulkheadd() { kill -KILL $(cat "/proc/$(cat "$run/bulkheadd.pid")/task/"*/children); }
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
audit_key() { "$data/bin/bulkhead-signer" --directory "$data/signer" --public-key bulkhead; }
audit_verifies() { "$data/bin/bulkhead" audit verify "$data/control/audit" --key "$data/people/audit.key"; }

@test "usage adds up to card times wall time, and the cost to the price" {
    runs alice counted -c $h100 -- /bin/sleep 2
    runs vera half -c h100-80g.half -- /bin/sleep 1
    becomes alice counted succeeded
    becomes vera half succeeded
    soon clean_cards
    # Each card's time line, from its first moment to its last cut.
    wrong=$(jq -n --argjson used "$(admin usage --by card -o json)" \
        --argjson cards "$(admin get cards -o json)" '
        def ms: (.[:19] + "Z" | fromdate) * 1000 + (.[20:23] | tonumber);
        [$cards.items[] | . as $card |
            {card: .name, wall: (((.cut_ms | ms) - (.created | ms)) * 1000),
             sum: ([$used.items[] | select(.card == $card.id) | .quantity] | add)} |
            select(.wall != .sum)]')
    [ "$wrong" = "[]" ] || { echo "$wrong"; return 1; }
    # alice pays for what she held and sees no one else.
    held=$(alice get workload counted -o json | jq .card_time)
    [ "$held" -ge 2000000 ]
    [ "$(alice cost -o json | jq -c '[.items[] | [.usage, .quantity, .cost_nano]]')" = "[[\"bound\",$held,$((held * 1000))]]" ]
    # Half a card is charged as half.
    bound=$(vera bindings -w half -o json | jq '.items[0] |
        def ms: (.[:19] + "Z" | fromdate) * 1000 + (.[20:23] | tonumber);
        ((.to_ms | ms) - (.from_ms | ms)) * 500')
    [ "$(of vera half card_time)" = "$bound" ]
}

@test "who held which card at an instant is told, to the owner and the operator" {
    before=$(now)
    sleep 0.1
    runs alice held -c $h100 -- "${stay[@]}"
    becomes alice held running
    during=$(now)
    sleep 0.1
    alice cancel held -q
    becomes alice held cancelled
    sleep 0.1
    after=$(now)
    id=$(alice get workload held -o json | jq -r .id)
    holder() { "$1" bindings --at "$2" -o json | jq -r '[.items[].workload] | join(" ")'; }
    for who in alice admin; do
        [ "$(holder $who "$during")" = "$id" ]
        [ -z "$(holder $who "$before")" ]
        [ -z "$(holder $who "$after")" ]
    done
    [ -z "$(holder vera "$during")" ]
}

@test "kill -9 in the middle of a burst loses no answer and doubles nothing" {
    for client in 1 2 3 4; do
        for i in $(seq 12); do
            # 75: nobody was there to be asked, so it is asked again.
            code=75
            while [ $code = 75 ]; do
                code=0
                alice submit "b$client-$i" "${small[@]}" -c h100-80g.4 -- /bin/true || code=$?
            done
            echo "b$client-$i $code" >>"$data/answered.$client"
        done 2>>"$data/burst.$client" 3>&- &
    done
    for _ in 1 2; do
        sleep 1
        kill_bulkheadd
    done
    wait
    soon installation_ready
    cat "$data"/answered.* | sort >"$data/answered"
    # A command whose answer was cut off is repeated with its key: to try the
    # name anew would be a conflict.
    cat "$data"/burst.*
    [ "$(grep -c ' 0$' "$data/answered")" = 48 ]
    sed -i 's/ 0$//' "$data/answered"
    alice get workloads -o json | jq -r '.items[].name | select(startswith("b"))' | sort >"$data/there"
    cmp "$data/answered" "$data/there"
    check_is_clean
    audit_key >"$data/people/audit.key"
    soon audit_verifies
}

@test "a second start keeps people, work, history and sessions" {
    runs alice ended -c $h100 -- /bin/echo kept
    becomes alice ended succeeded
    soon clean_cards
    before=$(alice get workloads -o json | jq -S '[.items[] | {id, name, card_time}]')
    used=$(alice usage -o json | jq -S .items)
    installation_stop >/dev/null 2>&1
    [ "$(pgrep -c -f "$data/bin/bulkhead" || true)" = 0 ]
    installation_start 3>&- >/dev/null 2>&1
    [ "$(alice get workloads -o json | jq -S '[.items[] | {id, name, card_time}]')" = "$before" ]
    [ "$(alice usage -o json | jq -S .items)" = "$used" ]
    [ "$(alice logs ended)" = kept ]
    runs alice anew -c $h100 -- /bin/echo new
    becomes alice anew succeeded
    check_is_clean
}

@test "preparing and starting again while all runs disturbs nothing" {
    runs alice before -c $h100 -- "${stay[@]}"
    becomes alice before running
    installation_prepare >/dev/null
    installation_start 3>&- >/dev/null 2>&1
    runs alice after -c $h100 -- /bin/echo after
    becomes alice after succeeded
    [ "$(state alice before)" = running ]
    alice cancel before -q
}

@test "no secret of a whole run is in any file, log or record" {
    alice create apikey robot --user alice --for 1h -q >"$data/people/robot.key"
    echo wrong-horse-battery >"$data/people/wrong.password"
    refused 4 alice login alice --password-file "$data/people/wrong.password"
    BULKHEAD_TOKEN=$(cat "$data/people/robot.key") alice get workloads -q
    admin audit export -o json >"$data/log/platform.audit"
    alice audit export -o json >"$data/log/research.audit"
    [ -s "$data/log/research.audit" ]
    cat "$data"/people/*.password "$data"/people/*.key "$data/agent/join-token" |
        grep -v '^bulkhead' >"$data/people/secrets"
    jq -r .token "$data"/people/{admin,alice,vera}.json >>"$data/people/secrets"
    cat "$data"/{agent/agent.key,control/control.key,signer/key} >>"$data/people/secrets"
    [ "$(sort -u "$data/people/secrets" | wc -l)" -ge 12 ]
    written() { grep -rFl -f "$data/people/secrets" "$@" 2>/dev/null || true; }
    written "$data/people" | grep -q .
    found=$(written "$data" --exclude-dir=people --exclude=agent.key \
        --exclude=control.key --exclude=key --exclude=join-token)
    # Nor is one in what programs were started with.
    found+=$(written /proc/[0-9]*/cmdline)
    [ -z "$found" ] || { echo "$found"; return 1; }
}
