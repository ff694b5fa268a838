#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# People look after their access by the CLI: groups, invitations, second
# factors, keys.  All of it is there after the control plane was killed.

load common

setup() {
    export BULKHEAD_SOCKET=$home/api.sock
    printf '%s\n' "$password" >"$home/password"
    end=/dev/null
}

# cli WHO COMMAND...: bulkhead with a context of its own
cli() {
    local who=$1
    shift
    BULKHEAD_CONTEXT=$home/context.$who \
        "$(dirname "$bulkheadd")/bulkhead" "$@" <"$end"
}
# refused CODE WHO COMMAND...
refused() {
    local wanted=$1
    shift
    run cli "$@"
    [ "$status" = "$wanted" ] && return 0
    echo "wanted exit code $wanted, not $status: $*: $output"
    return 1
}
says() { [[ $output == *"$1"* ]] || { echo "\"$1\" is not said in: $output"; return 1; }; }
enter() { cli "$1" login "$1" -t research --password-file "$home/password" -q; }
operator() { cli root login root --operator --password-file "$home/password" -q; }
killed() {
    stop_daemon KILL
    start_daemon
}
# An app of another make: oathtool reads the seed out of the address.
code_at() {
    oathtool --totp -b "$(sed 's/.*secret=\([A-Z2-7]*\)&.*/\1/' "$home/uri.$1")" --now "$2" >"$home/code.$1"
}

@test "a group's rights are its members' while they are members, through a crash [A23]" {
    operator && enter ann
    cli ann create group readers -t research -q
    cli ann create grant -t research -p work --level project subject=group/readers role=developer -q
    cli root create user gus -t research -q
    cli root passwd gus -t research --lasting --password-file "$home/password" -q
    cli ann create member -t research --group readers subject=gus -q
    enter gus
    killed
    run cli gus whoami
    says "developer at project work by group readers"
    cli gus get workloads -t research -p work
    run cli ann rights gus -t research
    says readers
    refused 3 gus create group mine -t research
    cli ann stepup --password-file "$home/password" -q
    refused 7 ann create member -t research --group readers subject=gus
    cli ann delete member gus -t research --group readers -q
    killed
    refused 6 gus get project work -t research
}

@test "who adds to a group has to be able to give what it has [A15]" {
    operator
    cli root create role user-manager -t research verbs=user.get,group.get,member.create -q
    join hannah research /tenants/research user-manager
    cli root create group admins -t research -q
    cli root create grant -t research --level tenant subject=group/admins role=tenant-admin -q
    enter hannah
    refused 3 hannah create member -t research --group admins subject=hannah
    says "not yours to hand out"
    says admins
    refused 3 hannah delete group admins -t research
}

@test "an invited user sets the first password, once [A5]" {
    operator && enter ann
    cli ann invite dora -t research -q >"$home/invitation"
    cli ann create grant -t research -p work --level project subject=dora role=developer -q
    killed
    run cli ann get invitations -t research
    says dora
    refused 4 dora login dora -t research --password-file "$home/password"
    cli dora accept --token-file "$home/invitation" --password-file "$home/password" -q
    refused 4 dora accept --token-file "$home/invitation" --password-file "$home/password"
    says "was used"
    enter dora
    cli dora get workloads -t research -p work
    cli ann invite eli -t research -q >"$home/invitation"
    cli ann delete invitation eli -t research -q
    refused 4 eli accept --token-file "$home/invitation" --password-file "$home/password"
}

@test "a second factor is asked for from its confirmation on, through a crash" {
    operator
    join fay research /tenants/research tenant-admin
    enter fay
    cli fay enrol factor -q >"$home/uri.fay" 2>/dev/null
    grep -q '^otpauth://totp/Bulkhead:research/fay?' "$home/uri.fay"
    code_at fay "now - 10 minutes"
    refused 2 fay confirm factor --code-file "$home/code.fay"
    code_at fay "now - 30 seconds"
    cli fay confirm factor --code-file "$home/code.fay" >"$home/recovery" 2>/dev/null
    [ "$(wc -l <"$home/recovery")" = 10 ]
    killed
    enter fay
    refused 4 fay create role r1 -t research verbs=project.get
    refused 2 fay stepup --password-file "$home/password"
    says "second factor"
    refused 4 fay stepup --code-file "$home/code.fay"
    code_at fay now
    cli fay stepup --code-file "$home/code.fay" -q
    cli fay create role r1 -t research verbs=project.get -q
    refused 4 fay stepup --code-file "$home/code.fay"
    head -1 "$home/recovery" >"$home/once"
    enter fay
    cli fay stepup --recovery-file "$home/once" -q
    refused 4 fay stepup --recovery-file "$home/once"
    # lost: whoever controls the account takes the factor off
    operator
    cli root reset factor fay -t research -q
    refused 4 fay whoami
    enter fay
    cli fay create role r2 -t research verbs=project.get -q
}

@test "a policy asks everybody of the tenant, and a login then asks for the code" {
    operator
    join pol vision /tenants/vision developer
    login_pol() { cli pol login pol -t vision --password-file "$home/password" "$@"; }
    login_pol -q
    join vera vision /tenants/vision tenant-admin
    cli vera login vera -t vision --password-file "$home/password" -q
    refused 3 pol require factor off -t vision
    refused 2 vera require factor sometimes -t vision
    says "off, step-up, login"
    cli vera require factor login -t vision -q
    refused 4 pol get projects -t vision
    says "enrol factor"
    cli pol enrol factor -q >"$home/uri.pol" 2>/dev/null
    code_at pol "now - 30 seconds"
    cli pol confirm factor --code-file "$home/code.pol" >/dev/null 2>&1
    cli pol get projects -t vision
    code_at pol now
    login_pol --code-file "$home/code.pol" -q
    cli pol get projects -t vision
    as root PATCH /tenants/vision '{"second_factor":"off"}' -H 'If-Match: *'
}

@test "a rotated key works with both secrets for the overlap, through a crash" {
    enter ann
    cli ann create apikey ci -t research --user ann --for 1h -q >"$home/old"
    cli ann rotate apikey ci -t research --user ann --overlap 1h -q >"$home/new"
    killed
    for key in old new; do
        BULKHEAD_TOKEN=$(cat "$home/$key") cli "$key" whoami
    done
    enter ann
    cli ann rotate apikey ci -t research --user ann --overlap 0s -q >"$home/newest"
    for key in old new; do
        BULKHEAD_TOKEN=$(cat "$home/$key") refused 4 "$key" whoami
    done
    BULKHEAD_TOKEN=$(cat "$home/newest") cli newest whoami
}

@test "who may not use a verb makes no key that can, whatever the account gets later" {
    enter ann
    cli ann create serviceaccount spy -t research -p work -q
    cli ann create grant -t research -p work --level project subject=spy role=developer -q
    refused 3 ann create apikey k -t research -p work --serviceaccount spy verbs=workload.logs
    says workload.logs
    cli ann create apikey k -t research -p work --serviceaccount spy -q >"$home/spy"
    BULKHEAD_TOKEN=$(cat "$home/spy") cli spy get workloads -t research -p work
    BULKHEAD_TOKEN=$(cat "$home/spy") refused 3 spy submit x -t research -p work -i demo -c any -- /bin/true
}

@test "a password of somebody else's choice is changed first, and a session taken away ends" {
    operator
    join tom research /tenants/research/projects/work developer
    cli root passwd tom -t research --password-file "$home/password" -q
    enter tom
    refused 4 tom get workloads -t research -p work
    says passwd
    printf 'a sentence of my own\n' >"$home/own"
    cli tom passwd tom -t research --password-file "$home/own" -q
    cli tom get workloads -t research -p work
    id=$(cli root get sessions -t research --user tom -o json | jq -r '.items[0].id')
    cli root delete session "$id" -t research --user tom -q
    refused 4 tom whoami
}

@test "a locked account is seen and opened by the security admin" {
    operator
    join lou research /tenants/research/projects/work developer
    must root POST /users '{"name":"sec"}' 201
    id=$(field .id)
    must root POST "/users/$id/password" "{\"password\":\"$password\",\"temporary\":false}" 204
    must root POST /grants "{\"subject\":\"$id\",\"role\":\"security-admin\"}" 201
    cli sec login sec --operator --password-file "$home/password" -q
    for _ in $(seq 12); do
        as nobody POST /login '{"name":"lou","tenant":"research","password":"wrong"}'
        [ "$status" = 401 ]
    done
    killed
    refused 4 lou login lou -t research --password-file "$home/password"
    run cli sec lockouts
    says lou
    refused 3 lou unlock lou -t research || refused 4 lou unlock lou -t research
    cli sec unlock lou -t research -q
    enter lou
}
