# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The main job of ./up: two tenants share the machine's cards, for real.
# Sourced by up; needs a running installation (tools/installation.sh).

demonstrate_why=
api="$run/control/api.sock"
big=h100-80g small=a100-40g
# How long the training takes: enough to be preempted in the middle.
pace=${BULKHEAD_DEMO_PACE_MS:-30}

say() { printf '\n== %s\n' "$*"; }
why() {
    demonstrate_why=$*
    return 1
}
admin() { bulkhead_as admin "$@"; }
research() { bulkhead_as alice -t research -p language "$@"; }
vision() { bulkhead_as vera -t vision -p detection "$@"; }
field() { jq -r "$1"; }

# A tenant with a project and a user who administers it.
make_tenant() {
    local tenant=$1 project=$2 user=$3 password=$data/people/$3.password

    if ! admin get tenant "$tenant" -q >/dev/null 2>&1; then
        admin create tenant "$tenant" || return 1
        admin create project "$project" -t "$tenant" class=research || return 1
        admin create user "$user" -t "$tenant" || return 1
        (umask 077 && head -c 18 /dev/urandom | base64 >"$password")
        admin passwd "$user" -t "$tenant" --lasting --password-file "$password" || return 1
        admin create grant -t "$tenant" --level tenant "subject=$(admin get user "$user" -t "$tenant" -o json | field .id)" role=tenant-admin || return 1
        admin create grant -t "$tenant" -p "$project" --level project "subject=$(admin get user "$user" -t "$tenant" -o json | field .id)" role=developer || return 1
    fi
    bulkhead_as "$user" login "$user" -t "$tenant" -p "$project" --password-file "$password" -q
}

prepare() {
    say "two tenants, each with a project, a user and a quota"
    admin stepup --password-file "$data/people/admin.password" -q || return 1
    make_tenant research language alice || return 1
    make_tenant vision detection vera || return 1
    if [ "$(admin get prices -o json | jq '.items | length')" = 0 ]; then
        admin create price meter=card_hour "model=H100-80GB" nano=3500000000 || return 1
        admin create price meter=card_hour "model=A100-40GB" nano=1800000000 || return 1
    fi
    # research may burst up to 3 cards, none of them its own; vision owns 4.
    admin set quota cards -t research --level tenant -g 0 -l 3 || return 1
    admin set quota cards -t vision --level tenant -g 4 -l 4 || return 1
    research get volume corpus -q >/dev/null 2>&1 || research create volume corpus size_mib=48 || return 1
    research get volume plain -q >/dev/null 2>&1 || research create volume plain size_mib=48 || return 1
    admin cards
    echo "The cards are simulated: real containers hold card memory files and device nodes of no driver."
}

# Ended work of an earlier run gives its names back.
forget() {
    local who=$1 name

    shift
    for name in "$@"; do
        "$who" get workload "$name" -q >/dev/null 2>&1 || continue
        "$who" cancel "$name" -q >/dev/null 2>&1
        "$who" wait "$name" --timeout 30s >/dev/null 2>&1
        "$who" delete workload "$name" -q >/dev/null 2>&1
    done
    return 0
}

train() {
    local name=$1 class=$2 volume=$3 ms=$4

    research submit "$name" -i demo -c "$class" --cpu 0.5 -m 256 --preemptible --grace 20s --priority research \
        -v "$volume:/data" -- /bin/sh -c \
        "bigram --out /data/model.gguf --vocab 256 --repeat 2 --pace-ms $ms && sha256sum /data/model.gguf"
}

is_running() { [ "$("$1" get workload "$2" -o json | field .state)" = running ]; }
has_checkpoint() { [ "$(research get workload train -o json | field .checkpoint_step)" -gt 0 ]; }

preempt() {
    say "1. research trains a bigram model on a burst card"
    forget research train plain
    forget vision detect extra probe
    train plain "$small.1" plain 0 || return 1
    train train "$big.1" corpus "$pace" || return 1
    research wait train --for running --timeout 60s || return 1
    research cards --free
    research logs train | head -n 3

    say "2. vision asks for its guarantee of four cards; research has to make room"
    vision submit detect -i demo -c "$big.4" --cpu 0.5 -m 128 -- /bin/sh -c \
        'echo "cards: $BULKHEAD_CARDS"; sleep 5' || return 1
    vision queue
    installation_wait "the preemption" 30 was_preempted || return 1
    echo "research's workload, after notice:"
    research get workload train -o wide
    echo "the proof that came with it:"
    research get workload train -o json | jq -c .proof
    vision wait detect --for running --timeout 60s || return 1
    vision logs detect
    installation_wait "the checkpoint's observation" 10 has_checkpoint || return 1
}
was_preempted() { [ "$(research get workload train -o json | field .preemptions)" -gt 0 ]; }

gate() {
    say "3. a request over the limit waits with its reason; an impossible one is refused at once"
    vision submit extra -i demo -c "$small.1" --cpu 0.2 -m 64 -- /bin/echo "started when capacity came back" || return 1
    [ "$(vision get workload extra -o json | field .state)" = gated ] || why "extra is not gated" || return 1
    vision queue
    vision submit never -i demo -c "$small.1" -n 9 --cpu 0.2 -m 64 -- /bin/true
    case $? in
    8) echo "(exit code 8: outside a quota, ceiling or capacity)" ;;
    *) why "nine cards were not refused as a quota" || return 1 ;;
    esac
}

# hidden METHOD PATH LIKE: research gets the object, vision gets what a random
# id gets, byte for byte but for the request id.
token_of() { jq -r .token "$data/people/$1.json"; }
ask() {
    curl -s -i --unix-socket "$api" -H "Authorization: Bearer $(token_of "$1")" "http://localhost/api/v1$2" |
        sed -E 's/^(X-Request-Id|Date):.*/\1/I; s/"request_id":"[^"]*"/"request_id":""/'
}
hidden() {
    local what=$1 path=$2 random=$3 status

    status=$(ask alice "$path" | head -n 1 | tr -d '\r')
    printf '%-10s research: %-22s vision: %s\n' "$what" "$status" "$(ask vera "$path" | head -n 1 | tr -d '\r')"
    case $status in *' 200 '*) ;; *) why "research itself is refused its $what" || return 1 ;; esac
    [ "$(ask vera "$path")" = "$(ask vera "$random")" ] || why "vision's answer for research's $what differs from that for a random id" || return 1
    case $(ask vera "$path" | head -n 1) in *' 404 '*) ;; *) why "vision is not refused research's $what" || return 1 ;; esac
}

attack() {
    local tenant project workload volume instance random at

    say "4. vision tries to reach what is research's"
    tenant=$(research get project language -o json | field .parent)
    project=$(research get project language -o json | field .id)
    workload=$(research get workload train -o json | field .id)
    volume=$(research get volume corpus -o json | field .id)
    instance=$(research get instances -w train -o json | field '.items[0].id')
    at=/tenants/$tenant/projects/$project
    random=/tenants/tn_aaaaaaaaaaaaaaaaaaaaaaaaaa/projects/pj_aaaaaaaaaaaaaaaaaaaaaaaaaa
    hidden workload "$at/workloads/$workload" "$random/workloads/wl_aaaaaaaaaaaaaaaaaaaaaaaaaa" &&
        hidden volume "$at/volumes/$volume" "$random/volumes/vo_aaaaaaaaaaaaaaaaaaaaaaaaaa" &&
        hidden log "$at/workloads/$workload/log" "$random/workloads/wl_aaaaaaaaaaaaaaaaaaaaaaaaaa/log" &&
        hidden bindings "$at/workloads/$workload/bindings" "$random/workloads/wl_aaaaaaaaaaaaaaaaaaaaaaaaaa/bindings" || return 1
    inside "$workload" "$instance"
}

# From inside a container of vision: processes, devices, network.  The same
# program runs beside it for research, against research's own.
inside() {
    local address marks=(--mark "$1" --mark language --mark corpus)

    forget research listen peer
    research submit listen -i demo -c "$small.1" --cpu 0.2 -m 64 --grace 2s -- /bin/sh -c \
        'echo "address: $BULKHEAD_ADDRESS"; exec /bin/busybox nc -ll -p 7000 -e /bin/echo secret' || return 1
    research wait listen --for running --timeout 60s || return 1
    installation_wait "the listener's address" 20 listener_address || return 1
    address=$(research logs listen | sed -n 's/^address: //p')
    vision wait detect --timeout 60s
    vision wait extra --timeout 60s
    vision submit probe -i demo -c "$small.1" --cpu 0.2 -m 64 -- /bin/probe "${marks[@]}" \
        --connect "$address:7000" --connect 169.254.169.254:80 --open /data/model.gguf --open /dev/bulkhead/card1 || return 1
    research submit peer -i demo -c "$small.1" --cpu 0.2 -m 64 -- /bin/probe --connect "$address:7000" || return 1
    vision wait probe --timeout 60s || return 1
    research wait peer --timeout 60s
    echo "research, about its own:"
    research logs peer | grep -F "$address" || why "research's probe said nothing about its own address" || return 1
    research logs peer | grep -F "$address" | grep -q reached || why "research cannot reach itself" || return 1
    echo "vision, about research's:"
    vision logs probe | grep -E "connect|open|process|device" || why "the probe said nothing" || return 1
    if vision logs probe | grep -q '"reached'; then
        why "vision reached something" || return 1
    fi
    [ "$(vision get workload probe -o json | field .exit_code)" = 0 ] || why "the probe reached something" || return 1
    research cancel listen -q
}
listener_address() { research logs listen | grep -q '^address: 1'; }

resume() {
    local steps plain_sum train_sum line

    say "5. research's training has resumed from its checkpoint"
    research wait plain --timeout 120s || return 1
    research wait train --timeout 180s || return 1
    plain_sum=$(research logs plain | grep model.gguf | tail -n 1)
    train_sum=$(research logs train | grep model.gguf | tail -n 1)
    line=$(research logs train | grep '^done:')
    echo "uninterrupted: $plain_sum"
    echo "resumed:       $train_sum"
    echo "$line"
    [ -n "$train_sum" ] && [ "$train_sum" = "$plain_sum" ] || why "the models differ" || return 1
    steps=$(sed -E 's/.*steps ([0-9]+).*/\1/' <<<"$line")
    [ "$(sed -E 's/.*resumed_at ([0-9]+).*/\1/' <<<"$line")" -gt 0 ] || why "training began anew" || return 1
    [ $(($(sed -E 's/.*work ([0-9]+).*/\1/' <<<"$line") * 10)) -lt $((steps * 12)) ] || why "too much work was done twice" || return 1
    vision get workload extra -o wide
    vision logs extra
    [ "$(vision get workload extra -o json | field .state)" = succeeded ] || why "the gated request did not start by itself" || return 1
}

show() {
    say "6. queue, bindings, card time and cost, audit"
    admin queue
    echo "who held which card when, of research's training and of vision's claim:"
    research bindings -w train
    vision bindings -w detect
    echo "card time and cost by tenant:"
    admin cost --by tenant,model
    admin check || return 1
    "$data/bin/bulkhead-signer" --directory "$data/signer" --public-key bulkhead >"$data/people/audit.key" || return 1
    sleep 1.5 # a checkpoint is signed every second
    "$data/bin/bulkhead" audit verify "$data/control/audit" --key "$data/people/audit.key"
}

demonstrate() {
    prepare || why "${demonstrate_why:-preparing tenants}" || return 1
    preempt || why "${demonstrate_why:-preemption}" || return 1
    gate || why "${demonstrate_why:-the gate}" || return 1
    attack || why "${demonstrate_why:-isolation}" || return 1
    resume || why "${demonstrate_why:-resuming}" || return 1
    show || why "${demonstrate_why:-the reports}" || return 1
}
