# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Words for the stories about a whole installation: control plane, signer,
# runner and agent on eight simulated cards, and two tenants, research with
# alice and vision with vera.
#
#   admin | alice | vera COMMAND...    bulkhead, as that person
#   refused CODE PERSON COMMAND...     ends with that exit code and an error;
#                                      the sentence is in $output
#   says TEXT                          $output holds the text
#   runs PERSON NAME [OPTION...] -- COMMAND...  submits quietly
#   of PERSON WORKLOAD FIELD           one field, as JSON has it
#   becomes PERSON WORKLOAD STATE      within 30 s
# and those of words.bash.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export BUILD=${BUILD:-debug}
# shellcheck source=../../tools/installation.sh
. "$repo/tools/installation.sh"
. "$repo/tests/stories/words.bash"

h100=h100-80g.1 a100=a100-40g.1
# What a container is given when nothing else is said.
small=(-i demo --cpu 0.2 -m 64 --grace 1s -q)
# A command that stays until it is told to go.
stay=(/bin/sh -c 'trap "exit 75" USR1 TERM; sleep 60 & wait')

admin() { bulkhead_as admin "$@"; }
alice() { bulkhead_as alice -t research -p language "$@"; }
vera() { bulkhead_as vera -t vision -p detection "$@"; }

refused() {
    local wanted=$1
    shift
    run "$@"
    [ "$status" = "$wanted" ] && [ -n "$output" ] && return 0
    echo "wanted exit code $wanted, not $status: $*: $output"
    return 1
}

says() {
    local text
    for text; do
        [[ $output == *"$text"* ]] && continue
        echo "\"$text\" is not said in: $output"
        return 1
    done
}

runs() {
    local who=$1 name=$2 options=()
    shift 2
    while [ "$1" != -- ]; do
        options+=("$1")
        shift
    done
    "$who" submit "$name" "${small[@]}" "${options[@]}" "$@"
}

of() { "$1" get workload "$2" -o json | jq -r ".$3"; }
state() { of "$1" "$2" state; }
is() { [ "$("${@:1:$#-1}")" = "${*: -1}" ]; }

becomes() {
    soon is state "$1" "$2" "$3" && return 0
    "$1" get workload "$2" -o wide
    return 1
}

# count PERSON STATE [PREFIX]: workloads in that state.
count() {
    "$1" get workloads -o json |
        jq "[.items[] | select(.state == \"$2\" and (.name | startswith(\"${3:-}\")))] | length"
}
quota() { admin set quota "$@" -q; }
# no_quota PLACE...: takes all of them away that sit there.
no_quota() {
    local id
    for id in $(admin get quotas "$@" -o json | jq -r '.items[].id'); do
        admin delete quota "$id" "$@" -q
    done
}
api() { echo "$run/control/api.sock"; }
token() { jq -r .token "$data/people/$1.json"; }
clean_cards() {
    [ "$(admin get cards -o json | jq '[.items[] | select(.handover == "clean" and .health == "healthy" and .used_milli == 0 and .held_milli == 0)] | length')" = 8 ]
}
# Each story leaves the cards free; what it leaves running is stopped.
everything_ends() {
    local who name
    for who in alice vera; do
        for name in $("$who" get workloads -o json |
            jq -r '.items[] | select(.ended_ms == null) | .name'); do
            "$who" cancel "$name" -q || true
        done
        soon all_over "$who" || return 1
        for name in $("$who" get workloads -o json | jq -r '.items[].name'); do
            soon "$who" delete workload "$name" -q || return 1
        done
    done
    soon clean_cards
}
all_over() {
    [ "$("$1" get workloads -o json | jq '[.items[] | select(.ended_ms == null)] | length')" = 0 ]
}
check_is_clean() { admin check; }

# --- the installation ---

make_person() {
    local tenant=$1 project=$2 user=$3 id
    admin create tenant "$tenant" -q
    admin create project "$project" -t "$tenant" class=research -q
    id=$(admin create user "$user" -t "$tenant" -o json | jq -r .id)
    (umask 077 && head -c 18 /dev/urandom | base64 >"$data/people/$user.password")
    admin passwd "$user" -t "$tenant" --lasting --password-file "$data/people/$user.password" -q
    admin create grant -t "$tenant" --level tenant "subject=$id" role=tenant-admin -q
    admin create grant -t "$tenant" -p "$project" --level project "subject=$id" role=developer -q
    bulkhead_as "$user" login "$user" -t "$tenant" -p "$project" \
        --password-file "$data/people/$user.password" -q
}

# install_bulkhead PREFIX: everything runs, all cards are clean.
install_bulkhead() {
    [ "$(id -u)" = 0 ] || skip "needs root"
    cd "$repo" || return 1
    data=$(mktemp -d /var/lib/bulkhead-stories.XXXXXX) run=$data/run
    export data run port=0 prefix=$1 estate=${2:-data/estates/demo.json}
    # What runs on must not hold the harness's own pipe open.
    { installation_prepare && installation_start; } 3>&- >"$data/started" 2>&1 ||
        { cat "$data/started" "$data"/log/*.log; return 1; }
    make_person research language alice
    make_person vision detection vera
    soon clean_cards
}

remove_bulkhead() {
    [ -n "${data:-}" ] || return 0
    cd "$repo" || return 1
    installation_stop >/dev/null 2>&1 || true
    # Whatever did not stop: its mounts go, so that the directory can.
    awk -v "below=$data/" 'index($2, below) == 1 { print $2 }' /proc/mounts |
        sort -r | xargs -r umount -l
    installation_clean
}

# What the daemons said, when a story fails.
tell_why() {
    [ "${BATS_TEST_COMPLETED:-}" = 1 ] || tail -n 12 "$data"/log/*.log
}
