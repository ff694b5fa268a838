#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# CPUs and memory beside the cards, and cores of one's own: what an instance
# reads of itself.  The machine is described as two NUMA nodes of one core.

load common

A=SIM-GPU-5b1c0000-1000
B=SIM-GPU-5b1c0001-1001

setup_file() {
    make_home brpin
    jq '.topology = {numa: [{node: 0, cpus: "0", memory_mib: 4096}, {node: 1, cpus: "1", memory_mib: 4096}],
            nics: [{name: "mlx5_0", pci: "0000:16:00.0", numa: 0, bus: "0000:15"}, {name: "mlx5_1", numa: 1}]}
        | .cards[0] += {numa: 0, bus: "0000:15", arch: "hopper sm_90", runtime: "CUDA 12.8"} | .cards[1].numa = 1' \
        "$HOME_DIR/estate.json" >"$HOME_DIR/estate.new"
    mv "$HOME_DIR/estate.new" "$HOME_DIR/estate.json"
    start_runner
}
teardown_file() { remove_home; }
setup() {
    [ "$(nproc --all)" -ge 2 ] || skip "one CPU cannot be shared out"
    grep -qs . /sys/fs/cgroup/cpuset/cpuset.cpus || grep -qsw cpuset /sys/fs/cgroup/cgroup.controllers ||
        skip "the kernel has no cpuset groups"
}
teardown() { forget_all; }

allowed='grep Cpus_allowed_list /proc/self/status'
# The CPUs of a running instance, by the kernel's word about its first process.
cpus_of() { sed -n 's/^Cpus_allowed_list:\t//p' "/proc/$(record "$1" | jq .pid)/status"; }
has() { [ "$(cpus_of "$1")" = "$2" ] && [ "$(record "$1" | jq -r .cpus)" = "$2" ]; }

@test "cards and node say where they are and what they can" {
    [ "$(ask '{"op":"cards"}' | jq -c ".cards[] | select(.uuid == \"$A\") | [.numa, .bus, .runtime, .features]")" = \
        '[0,"0000:15","CUDA 12.8","bf16 fp8 mig nvlink p2p"]' ]
    [ "$(ask '{"op":"node"}' | jq -c '.topology | [.packages, .cores, .cpus, .numa[1].cpus, .nics[0].name]')" = '[2,2,"0-1","1","mlx5_0"]' ]
}

@test "an instance reads that it may use the CPUs beside its card" {
    start one 1 1 "$allowed; echo nics \$BULKHEAD_NICS" "{\"cards\": [\"$A\"]}"
    start two 1 1 "$allowed" "{\"cards\": [\"$B\"]}"
    start free 1 1 "$allowed"
    for name in one two free; do [ "$(ended $name)" = 0 ]; done
    log_of one 1 | grep -qx 'Cpus_allowed_list:	0'
    log_of one 1 | grep -qx 'nics mlx5_0'
    log_of two 1 | grep -qx 'Cpus_allowed_list:	1'
    log_of free 1 | grep -qx 'Cpus_allowed_list:	0-1'
    [ "$(record one | jq -c '[.cpus, .nics, .pinned]')" = '["0","mlx5_0",false]' ]
}

@test "cores of one's own are taken from who shares, and go back" {
    start share 1 1 'sleep 100'
    has share 0-1
    start own 1 2 "$allowed; sleep 100" "{\"cards\": [\"$B\"], \"pin\": \"cores\"}"
    soon has own 1
    soon has share 0
    says own 1 'Cpus_allowed_list:	1'
    [ "$(record own | jq .pinned)" = true ]
    # One stays for who shares.
    run start more 1 2 true '{"pin": "cores"}'
    [ "$status" != 0 ]
    [[ $output == *"1 of 2 cores are free, and one stays for those who share"* ]]
    op remove own 1
    soon has share 0-1
}

@test "two that have their own cores never meet, also after the runner began anew" {
    start one 1 1 'sleep 100' "{\"cards\": [\"$A\"], \"pin\": \"cores\"}"
    stop_runner KILL
    start_runner
    start two 1 2 'sleep 100' '{"pin": "cores"}'
    soon has one 0
    soon has two 1
    run start three 1 1 true
    [ "$status" != 0 ]
    [[ $output == *"every core of the node is somebody's own"* ]]
    op remove one 1
    start three 1 1 "$allowed"
    [ "$(ended three)" = 0 ]
    log_of three 1 | grep -qx 'Cpus_allowed_list:	0'
}

@test "what makes no sense is refused" {
    run start odd 1 1 true '{"pin": "tight"}'
    [[ $output == *"no way to pin: near, cores or none"* ]]
    run start half 1 1 true '{"pin": "cores", "cpu_milli": 500}'
    [[ $output == *"in whole CPUs"* ]]
}
