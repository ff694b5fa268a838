#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Classes follow the estate and stay what somebody made of them; work says what
# its cards must be, how close to each other, and which CPUs it wants.

load ../lib

setup_file() { install_bulkhead bsq; }
teardown_file() { remove_bulkhead; }
teardown() { tell_why && everything_ends; }

class_of() { admin get class "$1" -o json | jq -r ".$2"; }
begin_again() {
    { installation_stop && installation_start; } 3>&- >>"$data/started" 2>&1
    soon admin get nodes -q
}
instance_of() { admin get instances -t research -p language --workload "$1" -o json | jq -r ".items[-1].$2"; }

@test "classes are derived from the cards, and stay what the admin made of them" {
    [ "$(class_of h100-80g.4 origin)" = derived ]
    [ "$(class_of h100-80g.4-linked interconnect)" = island ]
    admin set class h100-80g.half memory_mib=20000 -q
    [ "$(class_of h100-80g.half origin)" = edited ]
    admin delete class a100-40g.half -q
    begin_again
    soon is admin_sees_eight yes
    [ "$(class_of h100-80g.half memory_mib)" = 20000 ]
    refused 6 admin get class a100-40g.half
    admin create class any-60g.1 min_memory_mib=60000 min_driver=1.0 -q
    [ "$(class_of any-60g.1 origin)" = made ]
    refused 2 admin create class odd.1 min_runtime=12.4
    says "no runtime and version" "CUDA 12.4"
    refused 2 admin create class odd.1 interconnect=island
    says "several whole cards"
    refused 2 admin set class any-60g.1 name=other
}
admin_sees_eight() { clean_cards && echo yes; }

@test "a class in use is neither changed nor deleted" {
    runs alice busy -c any-60g.1 -- "${stay[@]}"
    becomes alice busy running
    refused 7 admin set class any-60g.1 min_memory_mib=1
    says "in the way" "make another class"
    refused 7 admin delete class any-60g.1
    [ "$(admin get cards -o json | jq -r '[.items[] | select(.used_milli > 0)][0].model')" = H100-80GB ]
}

@test "work that needs what no card says is refused with the numbers" {
    refused 8 runs alice new --requires driver=9.10 -c $h100 -- /bin/true
    says "driver at least 9.10 (its manifest): 4 of the 4 cards" "4 have simulated 1.0"
    refused 8 runs alice cuda --requires cuda=12.4 -c $h100 -- /bin/true
    says "cuda at least 12.4" "4 do not say"
    refused 2 runs alice odd --requires mood=1 -c $h100 -- /bin/true
    says "no fact that can be required"
    refused 2 runs alice odd --requires driver=2..1 -c $h100 -- /bin/true
    says "nothing is at least 2 and below 1"
    runs alice fine --requires driver=1.0..2 --requires features=mig,nvlink -c $h100 -- /bin/true
    becomes alice fine succeeded
}

@test "linked cards of one instance are linked, and five of four are never" {
    runs alice pair -c h100-80g.2-linked --topology island -- "${stay[@]}"
    becomes alice pair running
    [ "$(admin get cards -o json | jq -c '[.items[] | select(.used_milli > 0) | .island] | unique | length')" = 1 ]
    refused 8 runs alice five -n 5 -c $h100 --topology numa -- /bin/true
    says "beside one NUMA node" "could hold 4"
}

@test "a core of its own is what a container reads of itself, and the platform sees it" {
    [ "$(nproc)" -ge 2 ] || skip "one CPU cannot be shared out"
    node=$(admin get nodes -o json | jq -r '.items[0].name')
    [ "$(admin get node "$node" -o json | jq '.topology.cores > 0 and (.topology.numa | length > 0)')" = true ]
    alice submit own -i demo -m 64 --grace 1s --cpu 1 --pin cores -c $h100 -q -- \
        /bin/sh -c 'cat /proc/self/status; sleep 60'
    becomes alice own running
    soon is instance_of own pinned true
    cpus=$(instance_of own cpus)
    [ -n "$cpus" ]
    soon logs_say own "Cpus_allowed_list:	$cpus"
    # Who works there is not told which CPUs of the node they are.
    [ "$(alice get instances --workload own -o json | jq '.items[0] | has("cpus")')" = false ]
    refused 2 alice submit half -i demo -m 64 --cpu 0.5 --pin cores -c $h100 -- /bin/true
    says "whole cores are asked for in whole CPUs"
    check_is_clean
}
logs_say() { alice logs "$1" | grep -qxF "$2"; }
