#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# One instance from start to removal.

load common

setup_file() {
    make_home brlife
    start_runner
}

teardown_file() {
    remove_home
}

teardown() {
    forget_all
}

@test "an instance runs, ends with its exit code, and all it said is kept" {
    start one 1 1 'echo second >&2; sleep 0.2; echo first; printf third; exit 7'
    [ "$(ended one)" = 7 ]
    # Two pipes: only the order within one stream is kept.
    [ "$(log_of one 1 | grep -v second)" = "$(printf 'first\nthird')" ]
    [[ $(log_of one 1) == *second* ]]
    [ "$(op log one 1 '{"offset":0,"max":65536}' | jq .complete)" = true ]
    [ "$(record one | jq -c '[.state, .oom]')" = '["exited",false]' ]
}

@test "the image's own command and environment are used when none is given" {
    start one 1 1 '' '{"argv": [], "env": {"COLOUR": "blue"}}'
    [ "$(ended one)" = 0 ]
    [ "$(log_of one 1)" = 'from the image' ]
}

@test "an instance that used more memory than it may is told apart" {
    start big 1 1 'exec dd if=/dev/zero of=/tmp/x bs=1M count=100' \
        '{"memory_mib": 32, "scratch_mib": 200}'
    [ "$(ended big)" = 137 ]
    [ "$(record big | jq .oom)" = true ]
    start killed 1 1 'exec sleep 100'
    op signal killed 1 '{"signal": "KILL"}'
    [ "$(ended killed)" = 137 ]
    [ "$(record killed | jq .oom)" = false ]
    [ "$(op remove big 1 | jq .record.oom)" = true ]
}

@test "a start that is repeated has no further effect" {
    first=$(start one 1 1 'sleep 100' | jq .pid)
    [ "$(start one 1 1 'sleep 100' | jq .pid)" = "$first" ]
    [ "$(ask '{"op":"list"}' | jq '.instances | length')" = 1 ]
    run start one 1 1 'sleep 200'
    [ "$status" = 7 ]
    [[ $output == *"another content"* ]]
}

@test "two starts at once of the same incarnation make one container" {
    for i in 1 2 3 4; do
        start one 1 1 'sleep 100' >"$BATS_TEST_TMPDIR/$i" &
    done
    wait $(jobs -p)
    [ "$(cat "$BATS_TEST_TMPDIR"/[1-4] | jq .pid | sort -u | wc -l)" = 1 ]
}

@test "[S10] [S12b] what names an old incarnation never touches the newer one" {
    start one 1 1 'sleep 100'
    run start one 2 1 'sleep 100'
    [ "$status" = 7 ]
    op remove one 1
    op remove one 1
    run start one 1 1 'sleep 100'
    [ "$status" = 8 ]
    pid=$(start one 2 1 'sleep 100' | jq .pid)
    for what in kill signal notice; do
        run op $what one 1 "$(case $what in
            signal) echo '{"signal":"KILL"}' ;;
            notice) echo '{"reason":"x","deadline_ms":1}' ;;
            *) echo '{}' ;;
            esac)"
        [ "$status" = 8 ]
    done
    op remove one 1
    [ "$(record one | jq -c '[.incarnation, .state, .pid]')" = "[2,\"running\",$pid]" ]
}

@test "a notice is written whole, the process is signalled, a second is one" {
    start one 1 1 'trap "cat /run/bulkhead/notice.json; exit 5" USR1
        echo ready; while :; do sleep 0.1; done'
    says one 1 ready
    op notice one 1 '{"reason": "reclaim", "deadline_ms": 1800000000000}'
    [ "$(ended one)" = 5 ]
    [ "$(log_of one 1 | tail -1)" = '{"deadline":"2027-01-15T08:00:00.000Z","deadline_ms":1800000000000,"reason":"reclaim"}' ]
    [ "$(record one | jq -c .notice)" = '{"deadline_ms":1800000000000,"reason":"reclaim"}' ]
}

@test "kill reaches processes that ignore signals and those they started" {
    start one 1 1 'trap "" TERM INT; sleep 300 & sleep 301 & echo up; wait'
    says one 1 up
    [ "$(op kill one 1 | jq -c '[.state, .processes]')" = '["exited",0]' ]
    not grep -q . /sys/fs/cgroup/pids/brlife/*/cgroup.procs 2>/dev/null
}

@test "limits of processors, processes and files hold" {
    start one 1 1 'i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done' \
        '{"pids_max": 10}'
    [ "$(ended one)" != 0 ]
    log_of one 1 | grep -q "can't fork"
    start slow 1 1 'while :; do :; done' '{"cpu_milli": 200}'
    sleep 1
    used=$(record slow | jq .cpu_us)
    [ "$used" -gt 50000 ]
    [ "$used" -lt 500000 ]
}

@test "nothing of the machine is writable, no right can be had" {
    start one 1 1 'id -u; grep -E "CapEff|CapBnd|NoNewPrivs|Seccomp:" /proc/self/status
        echo x >/bin/x; echo x >/sys/x; echo x >/run/bulkhead/x; mkdir /new
        echo x >/proc/sys/kernel/hostname
        mknod /tmp/n c 1 3; mount -t tmpfs x /tmp; unshare -U true; unshare -n true
        cat /proc/kcore /proc/keys; ls /sys | wc -l; chmod 000 /dev/zero
        hostname evil; echo done'
    [ "$(ended one)" = 0 ]
    said=$(log_of one 1)
    [[ $said == *"CapEff:	0000000000000000"* ]]
    [[ $said == *"CapBnd:	0000000000000000"* ]]
    [[ $said == *"NoNewPrivs:	1"* ]]
    [[ $said == *"Seccomp:	2"* ]]
    [[ $said == *"/bin/x: Read-only file system"* ]]
    [[ $said == *"/sys/x: Read-only file system"* ]]
    [[ $said == *"/run/bulkhead/x: Read-only file system"* ]]
    [[ $said == *"'/new': Read-only file system"* ]]
    [[ $said == *"/proc/sys/kernel/hostname: Read-only file system"* ]]
    [[ $said == *"/tmp/n: Operation not permitted"* ]]
    [[ $said == *"mount: permission denied"* ]]
    [ "$(echo "$said" | grep -c "unshare.*Operation not permitted")" = 2 ]
    [[ $said == *"chmod: /dev/zero: Operation not permitted"* ]]
    [[ $said == *"hostname: sethostname: Operation not permitted"* ]]
    [[ $said != *kcore:*ELF* ]]
}

@test "a container cannot close the machine's own null device" {
    start one 1 1 'chmod 000 /dev/null; chmod 000 /proc/self/fd/0; echo done'
    [ "$(ended one)" = 0 ]
    [ "$(stat -c '%u %a' /dev/null)" = '0 666' ]
    start two 1 1 'echo x >/dev/null && echo fine'
    [ "$(ended two)" = 0 ]
    [ "$(log_of two 1)" = fine ]
}

@test "each instance has ids of its own on the machine" {
    a=$(start one 1 1 'sleep 100')
    b=$(start two 1 1 'sleep 100')
    [ "$(echo "$a" | jq .uid_base)" != "$(echo "$b" | jq .uid_base)" ]
    for r in "$a" "$b"; do
        [ "$(stat -c %u "/proc/$(echo "$r" | jq .pid)")" = "$(echo "$r" | jq .uid_base)" ]
    done
    run start three 1 1 true "{\"uid_base\": $(echo "$a" | jq .uid_base)}"
    [ "$status" = 7 ]
}

@test "a log is cut at its size and says so, and the machine's disk is safe" {
    start one 1 1 'i=0; while [ $i -lt 30000 ]; do
        echo "line $i ...................................................."
        i=$((i+1)); done; exit 3' '{"log_mib": 1}'
    [ "$(ended one)" = 3 ]
    [ "$(stat -c %s "$HOME_DIR"/state/instances/*/log)" -le 1056768 ]
    [ "$(op log one 1 '{"offset":0,"max":1000}' | jq .truncated)" = true ]
    [ "$(log_of one 1 | head -1 | cut -c1-6)" = 'line 0' ]
}

@test "after removal nothing of the instance is left on the machine" {
    before=$(grep -c "$HOME_DIR" /proc/self/mountinfo)
    start one 1 1 'sleep 100' '{"network": {}, "cards": ["SIM-GPU-5b1c0000-1000"]}'
    op remove one 1
    [ "$(grep -c "$HOME_DIR" /proc/self/mountinfo)" = "$before" ]
    [ -z "$(ls "$HOME_DIR/state/instances")" ]
    [ -z "$(ls "$HOME_DIR/state/crun" "$HOME_DIR/state/exits" | grep -v :)" ]
    not ls -d /sys/fs/cgroup/*/brlife/brlife-* 2>/dev/null
    not pgrep -f "conmon.*brlife" >/dev/null
}

@test "a start that fails leaves nothing behind and can be repeated" {
    run start one 1 1 true '{"argv": ["/no/such/program"]}'
    [ "$status" != 0 ]
    [ -z "$(ls "$HOME_DIR/state/instances")" ]
    start one 1 1 true
    [ "$(ended one)" = 0 ]
}

@test "wait answers when an instance ends, not before" {
    now=$(ask '{"op":"wait","revision":0,"timeout_ms":0}' | jq .revision)
    start one 1 1 'sleep 0.5; exit 4'
    now=$(ask "{\"op\":\"wait\",\"revision\":$now,\"timeout_ms\":0}" | jq .revision)
    begin=$(date +%s%N)
    answer=$(ask "{\"op\":\"wait\",\"revision\":$now,\"timeout_ms\":10000}")
    [ "$(echo "$answer" | jq '.instances[0].exit_code')" = 4 ]
    [ $(($(date +%s%N) - begin)) -lt 5000000000 ]
}
