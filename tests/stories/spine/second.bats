#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Two people: what one operator may not do alone, what is left when nobody
# else is there, and a vendor's visit.

load ../lib

setup_file() {
    install_bulkhead bse
    operator ann
    operator ben
    admin create tenant leaving -q
}
teardown_file() { remove_bulkhead; }
teardown() { tell_why; }

# operator NAME: one more platform admin, logged in.
operator() {
    local id
    id=$(admin create user "$1" -o json | jq -r .id)
    (umask 077 && head -c 18 /dev/urandom | base64 >"$data/people/$1.password")
    admin passwd "$1" --lasting --password-file "$data/people/$1.password" -q
    admin create grant "subject=$id" role=platform-admin -q
    bulkhead_as "$1" login "$1" --operator --password-file "$data/people/$1.password" -q
}
ann() { bulkhead_as ann "$@"; }
ben() { bulkhead_as ben "$@"; }
kim() { bulkhead_as kim "$@"; }
# asks PERSON COMMAND...: its approval's id.
asks() {
    local id code=0
    id=$("$@" --ask-approval "the story wants it" -q 2>/dev/null) || code=$?
    [ "$code" = 5 ] && [[ $id == ap_* ]] && echo "$id"
}
state_of_order() { ann get workorder "$1" -o json | jq -r .state; }

@test "a tenant goes when two people want it, and once" {
    refused 5 ann delete tenant leaving
    says "needs the approval of a second person" "--ask-approval"
    id=$(asks ann delete tenant leaving)
    ann get tenant leaving
    refused 5 ann execute approval "$id"
    says "not approved yet"
    refused 3 ann approve approval "$id"
    says "nobody approves what they asked for themselves"
    refused 3 admin approve approval "$id"
    says "one of you made the other"
    refused 6 alice get approval "$id"
    [ "$(ben get approval "$id" -o json | jq -r '.method + " " + .path')" = "DELETE /api/v1/tenants/leaving" ]
    ben approve approval "$id" --note "the contract ended"
    refused 8 ann delete tenant vision --approval "$id"
    says "the object differs"
    ann execute approval "$id"
    refused 6 ann get tenant leaving
    refused 5 ann execute approval "$id"
    says "used already"
}

@test "a guard is set by one and lifted by two" {
    ann create guard pool.create approvers=1 -q
    refused 5 ben create pool annex
    refused 5 ann delete guard pool.create
    id=$(asks ann delete guard pool.create)
    ann drop approval "$id" -q
    refused 7 ben approve approval "$id"
    id=$(asks ann delete guard pool.create)
    ben approve approval "$id" -q
    ann execute approval "$id" -q
    # The log has who did it, and who stood behind it.
    ben audit tail -o json | jq -es --arg id "$id" --arg ben "$(ben whoami -o json | jq -r .id)" \
        'any(.[] | (.items? // [.])[]; .action.verb == "guard.delete" and .approval.request == $id and .approval.approvers == $ben)'
    ben create pool annex -q
}

@test "who breaks the glass goes alone, loudly, and is reviewed by another" {
    admin create tenant second -q
    admin create project there -t second -q
    refused 3 alice break glass --reason "me too"
    refused 2 ann break glass
    ann break glass --reason "nobody answers" --for 20m -q
    ann raise quota cards -t second -l 2 --for 1h --reason fire || true
    glass=$(ben list breakglasses -o json | jq -r '.items[0].id')
    ben list alarms | grep -q "ann broke the glass: nobody answers"
    ann delete project there -t second -q
    refused 5 ben delete tenant second
    ann delete tenant second
    refused 7 ben review breakglass "$glass" --note "too early"
    ann end breakglass "$glass"
    refused 5 ann delete tenant vision
    refused 3 ann review breakglass "$glass" --note "all is well"
    refused 2 ben review breakglass "$glass"
    ben get breakglass "$glass" -o json | jq -e '[.actions[].verb] | index("tenant.delete") != null'
    ben review breakglass "$glass" --note "it burnt indeed"
    not sh -c "ben list alarms | grep -q 'broke the glass'"
}

@test "a vendor is there for its devices, while its order is open" {
    node=$(ann list nodes -o json | jq -r '.items[0].name')
    runs alice near -c $h100 -- "${stay[@]}"
    becomes alice near running
    id=$(asks ann create workorder fan-7 vendor=kim reason="replace a fan" "devices=[\"$node\"]" to_ms=+1h)
    ben approve approval "$id" -q
    ann execute approval "$id" -q
    soon is state_of_order fan-7 open
    order=$(ann get workorder fan-7 -o json | jq -r .id)
    echo "a fan and a screwdriver" >"$data/people/kim.password"
    ann passwd kim --workorder fan-7 --lasting --password-file "$data/people/kim.password" -q
    kim login kim --workorder "$order" --password-file "$data/people/kim.password" -q
    [ "$(kim list nodes -o json | jq '.items | length')" = 1 ]
    [ "$(kim list cards -o json | jq '.items | length')" = 8 ]
    for noun in pools tenants users classes prices roles workorders; do
        [ "$noun $(kim list "$noun" -o json | jq '.items | length')" = "$noun $([ "$noun" = workorders ] && echo 1 || echo 0)" ]
    done
    refused 6 kim get tenant research
    kim report firmware fan-7 bmc=aa11 -q
    ann create opdocument plan --workorder fan-7 content="rack 4, left" audience=vendor -q
    ann create opdocument ours --workorder fan-7 content="watch them" -q
    [ "$(kim list opdocuments --workorder fan-7 -o json | jq -r '[.items[].name] | join(" ")')" = plan ]
    # The tenant whose work is there sees who is there and why.
    soon sh_visit
    not vera_sees_visit
    kim get cards --watch >"$data/watch" &
    watcher=$!
    soon test -s "$data/watch"
    ann close workorder fan-7
    WITHIN=5 soon gone "$watcher"
    refused 4 kim list nodes
    refused 4 kim login kim --workorder "$order" --password-file "$data/people/kim.password"
    [ "$(alice list visits -o json | jq '.items[0].ended_ms != null')" = true ]
    everything_ends
}
sh_visit() { [ "$(alice list visits -o json | jq -r '.items[0] | .vendor + ": " + .reason')" = "kim: replace a fan" ]; }
vera_sees_visit() { [ "$(vera list visits -o json | jq '.items | length')" != 0 ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }

@test "all of it is there after a restart" {
    admin create tenant later -q
    id=$(asks ann delete tenant later)
    ben approve approval "$id" -q
    kill -KILL $(cat "/proc/$(cat "$run/bulkheadd.pid")/task/"*/children)
    soon installation_ready
    [ "$(ben get approval "$id" -o json | jq -r .state)" = approved ]
    [ "$(state_of_order fan-7)" = closed ]
    ann drop approval "$id" -q
    refused 5 ann execute approval "$id"
    says "was dropped"
    check_is_clean
}
