#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What becomes of running work: reclaimed, shared, ganged, ended.

load ../lib

setup_file() { install_bulkhead bsw; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

# A trainer: counts on from its checkpoint; on notice it saves and leaves.
trainer='n=0; [ ! -e /data/checkpoint.json ] || n=$(sed "s/[^0-9]//g" /data/checkpoint.json)
echo "begins at $n"
save() { echo "{\"step\": $n}" >/data/new; mv /data/new /data/checkpoint.json; echo "saved $n"; sleep 2; exit 75; }
trap save USR1
while [ $n -lt 40 ]; do n=$((n + 1)); sleep 0.1; done; echo "done at $n"'
has_steps() { [ "$(of alice train checkpoint_step)" -gt 0 ]; }
# The card that an instance of the workload holds or held first.
# card_of TENANT PROJECT WORKLOAD: as the platform names it
card_of() { admin bindings -t "$1" -p "$2" -w "$3" -o json | jq -r '.items[0].card'; }
from() { "$1" bindings -w "$2" -o json | jq -r ".items[$3].from_ms"; }
to() { "$1" bindings -w "$2" -o json | jq -r ".items[$3].to_ms"; }

@test "a guarantee reclaims burst: notice, checkpoint, confirmed release, resume [S45]" {
    quota cards -t research -g 0 -l 3
    quota cards -t vision -g 4 -l 4
    alice create volume corpus size_mib=16 -q
    runs alice train -c $h100 -v corpus:/data --grace 20s -- /bin/sh -c "$trainer"
    becomes alice train running
    runs vera claim -c h100-80g.4 -- /bin/sleep 2
    # Nothing of the claim starts while the trainer saves.
    becomes alice train preempting
    [ "$(state vera claim)" = queued ]
    [ "$(of vera claim reason)" = reclaiming ]
    becomes vera claim running
    [[ ! $(from vera claim 0) < $(to alice train 0) ]]
    soon has_steps
    step=$(of alice train checkpoint_step)
    # Back through the gate, and on from where it was.
    becomes alice train succeeded
    [ "$(of alice train preemptions)" = 1 ]
    [ "$(of alice train attempt)" = 2 ]
    run alice logs train
    says "begins at $step" "done at 40"
    [[ ! $(from alice train 1) < $(to vera claim 0) ]]
    run alice get workload train -o json
    says guarantee
}

@test "what a guarantee took back waits at the gate when its limit is full" {
    quota cards -t research -g 0 -l 1
    quota cards -t vision -g 4 -l 4
    runs alice burst -c $h100 -- "${stay[@]}"
    becomes alice burst running
    runs vera claim -c h100-80g.4 -- "${stay[@]}"
    becomes vera claim running
    # Its place in the limit is free again, so others of the tenant may go.
    admin create priority urgent value=900 -q
    runs alice quick -c $a100 --priority urgent -- "${stay[@]}"
    becomes alice quick running
    soon is state alice burst gated
    [ "$(of alice burst reason)" = limit ]
    alice cancel quick -q
    vera cancel claim -q
    becomes alice burst running
    [ "$(of alice burst attempt)" = 2 ]
}

@test "two halves of one tenant share a card, two tenants never" {
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 0 -l 4
    runs alice half1 -c h100-80g.half -- "${stay[@]}"
    becomes alice half1 running
    runs alice half2 -c h100-80g.half -- "${stay[@]}"
    runs vera other -c h100-80g.half -- "${stay[@]}"
    becomes alice half2 running
    becomes vera other running
    [ "$(card_of research language half1)" = "$(card_of research language half2)" ]
    [ "$(card_of research language half1)" != "$(card_of vision detection other)" ]
    [ "$(admin get cards -o json | jq -c '[.items[].used_milli | select(. > 0)] | sort')" = '[500,1000]' ]
    check_is_clean
}

@test "a gang starts whole or not at all" {
    quota cards -t research -g 0 -l 4
    quota cards -t vision -g 0 -l 4
    runs vera two -c $h100 -n 2 -- "${stay[@]}"
    becomes vera two running
    runs alice gang -c $h100 -n 3 -- /bin/sh -c 'sleep 1'
    sleep 1
    [ "$(state alice gang)" = queued ]
    [ "$(alice get instances -w gang -o json | jq '.items | length')" = 0 ]
    run alice get workload gang -o wide
    says capacity "3 x h100-80g.1" "2 free now"
    vera cancel two -q
    becomes alice gang succeeded
    [ "$(alice get instances -w gang -o json | jq -c '[.items[] | [.number, .exit_code]]')" = '[[0,0],[1,0],[2,0]]' ]
}

@test "work ends at its longest run time, and restarts are counted" {
    quota cards -t research -g 0 -l 4
    runs alice endless -c $h100 --max-run 2s -- "${stay[@]}"
    runs alice failing -c $a100 --restarts 1 -- /bin/sh -c 'echo again; exit 3'
    becomes alice endless failed
    run alice get workload endless -o wide
    says "longest run time"
    becomes alice failing failed
    [ "$(of alice failing attempt)" = 2 ]
    [ "$(of alice failing exit_code)" = 3 ]
    [ "$(of alice failing oom)" = false ]
    refused 8 alice wait failing --for running
    says "exit code 3"
}

@test "a volume's limit holds from inside, and what is kept is there for the next" {
    quota cards -t research -g 0 -l 4
    alice create volume store size_mib=16 -q
    runs alice fill -c $h100 -v store:/data -- /bin/sh -c \
        'echo kept >/data/kept; cat /dev/zero >/data/big; echo "status $?"; rm /data/big'
    becomes alice fill succeeded
    run alice logs fill
    says "No space left" "status 1"
    runs alice next -c $h100 -v store:/data:ro -- /bin/sh -c 'cat /data/kept; echo x >/data/kept || echo refused'
    becomes alice next succeeded
    run alice logs next
    says kept refused
}
