#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# What people want and when they get it: memory instead of a class, rules about
# drivers, planned maintenance, reservations that are asked for, commitments.

load ../lib

setup_file() { install_bulkhead bsn; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

@test "alice asks for memory and gets the class that gives it" {
    runs alice large --accel-memory 60GiB -- "${stay[@]}"
    becomes alice large running
    class=$(of alice large class)
    [ "$(admin get class "$class" -o json | jq -r .name)" = $h100 ]
    run alice explain large
    says "class $h100 would do" "$a100 does not: 40960 MiB, 61440 needed"
    refused 8 runs alice huge --accel-memory 200GiB -- /bin/true
    says "no class gives 204800 MiB" "$h100: 81559 MiB, 204800 needed"
    refused 2 runs alice both --accel-memory 1g -c $h100 -- /bin/true
    says "in place of a class"
}

@test "a requirement keeps work from cards with an old driver and says which" {
    admin create requirement new-driver fact=driver at_least=2 class=$a100 reason="CUDA 12" -q
    refused 2 admin create requirement odd fact=mood at_least=2
    says "is no fact"
    refused 8 runs alice late -c $a100 -- /bin/true
    says "driver at least 2" "requirement new-driver: CUDA 12" "4 of the 4 cards"
    runs alice other -c $h100 -- /bin/true
    becomes alice other succeeded
    admin set requirement new-driver at_least=1.0 -q
    runs alice now -c $a100 -- /bin/true
    becomes alice now succeeded
    admin delete requirement new-driver -q
}

@test "work keeps clear of a planned maintenance, which sets the node aside" {
    node=$(admin get nodes -o json | jq -r '.items[0].name')
    refused 2 admin create maintenance nowhere --to +1h
    says "--node or --pool"
    admin create maintenance firmware --node "$node" --from +1h --to +2h --reason "new firmware" -q
    runs alice long -c $h100 --max-run 2h -- "${stay[@]}"
    soon is of alice long reason maintenance
    run alice explain long
    says "planned maintenance"
    runs alice short -c $h100 --max-run 10m -- /bin/true
    becomes alice short succeeded
    admin delete maintenance firmware --node "$node" -q
    becomes alice long running
    admin create maintenance now --node "$node" --to +1h --policy finish -q
    soon is node_state "$node" maintenance
    [ "$(state alice long)" = running ]
    kill_and_start_again
    [ "$(node_state "$node")" = maintenance ]
    admin delete maintenance now --node "$node" -q
    soon is node_state "$node" schedulable
    check_is_clean
}
node_state() { admin get node "$1" -o json | jq -r .state; }
kill_and_start_again() {
    { installation_stop && installation_start; } 3>&- >>"$data/started" 2>&1
    soon admin get nodes -q
}

@test "a reservation is asked for, tried, granted and there" {
    run alice request reservation 2 --level tenant --in-pool default --to +2d --reason exam -o json
    [ "$status" = 0 ]
    id=$(jq -r .id <<<"$output")
    run admin what-if --request "$id"
    [ "$status" = 0 ]
    says "until"
    refused 3 alice approve request "$id"
    admin approve request "$id" -q
    run admin get reservations -t research -o json
    [ "$(jq -r '[.items[] | .cards] | add' <<<"$output")" = 2 ]
    name=$(jq -r '.items[0].name' <<<"$output")
    admin delete reservation "$name" -t research -q
}

@test "a commitment is on the bill of its tenant" {
    admin create commitment -t research cards=2 price=1.5 to_ms=+30d -q
    soon is committed research 1
    [ "$(committed vision)" = 0 ]
}
# Rows of a tenant's bill that are a commitment with its price.
committed() {
    admin cost -t "$1" --level tenant --by tenant -o json |
        jq '[.items[] | select(.usage == "committed" and .cost_nano > 0)] | length'
}

@test "moves are planned by operators, and none where nothing is fragmented" {
    run admin advise defragment default
    [ "$status" = 0 ]
    says "nothing is to be moved"
    refused 8 admin advise defragment default --apply
    says "nothing is to be moved"
    refused 3 alice advise defragment default
}

@test "a pool says whether moves are made by themselves, and within what" {
    refused 2 admin set pool default defrag=auto
    says "how many workloads may be moved in an hour"
    refused 3 alice set pool default defrag=auto defrag_moves=1
    admin set pool default defrag=auto defrag_moves=4 defrag_gain=2 defrag_from=60 defrag_to=300
    run admin get pools default -o json
    [ "$(jq -c '[.. | objects | select(.defrag) | [.defrag, .defrag_moves]][0]' <<<"$output")" = '["auto",4]' ]
    admin set pool default defrag=never
}

@test "a new tenant is given a card, which gives way to what is set" {
    admin create tenant fresh -q
    run admin get quotas -t fresh --level tenant -o json
    [ "$(jq -c '[.items[] | [.guaranteed, .given]]' <<<"$output")" = "[[1000,true]]" ]
    quota cards -t vision -g 4 -l 4
    quota cards -t research -g 4 -l 4
    run admin get quotas -t fresh --level tenant -o json
    [ "$(jq -c '[.items[] | [.guaranteed, .given]]' <<<"$output")" = "[[0,true]]" ]
}
