#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What a tenant learns of the cards, which are the platform's.

load ../lib

setup_file() { install_bulkhead bkcard; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why; }

# cards PERSON PATH: the names of cards in the bindings there
cards() {
    curl -s --unix-socket "$(api)" -H "Authorization: Bearer $(token "$1")" \
        "http://x/api/v1$2" | jq -r '.items[].card'
}

@test "a card has another name in each binding of a tenant, its own for the platform" {
    quota cards -t research --level tenant -g 0 -l 1
    local where=/tenants/research/projects/language i
    for i in 1 2 3 4 5; do
        runs alice "w$i" --class $h100 -- /bin/true
        becomes alice "w$i" succeeded
    done
    cards alice "$where/bindings" >"$data/theirs"
    cards admin "$where/bindings" >"$data/ours"
    [ "$(wc -l <"$data/theirs")" = 5 ]
    # Four cards of that class: at least one was used twice.
    [ "$(sort -u "$data/ours" | wc -l)" -lt 5 ]
    [ "$(sort -u "$data/theirs" | wc -l)" = 5 ]
    not_one_of=$(grep -cFf "$data/ours" "$data/theirs" || true)
    [ "$not_one_of" = 0 ]
    instance=$(curl -s --unix-socket "$(api)" -H "Authorization: Bearer $(token alice)" \
        "http://x/api/v1$where/workloads/w1/instances" | jq -r '.items[0].id')
    live=$(cards alice "$where/workloads/w1/instances/$instance/bindings")
    grep -qxF "$live" "$data/theirs"
}

@test "a tenant cannot ask which of its work was on a certain card" {
    local where=/tenants/research/projects/language card
    card=$(cards admin "$where/bindings" | head -n 1)
    run curl -s --unix-socket "$(api)" -H "Authorization: Bearer $(token alice)" \
        "http://x/api/v1$where/bindings?card=$card"
    says '"status":400' "only the platform"
    [[ $output != *bi_* ]]
    [ -n "$(cards admin "$where/bindings?card=$card")" ]
}
