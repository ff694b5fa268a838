#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# From one tenant to the next: what a container gets of a vendor's card, and
# what is done before another tenant gets the card.  The libraries are stubs of
# the tests; the device nodes have the numbers of a driver that this machine
# does not have, so that nothing answers behind them.

load common

G0=GPU-00000000-aaaa-bbbb-cccc-0123456789ab
G1=GPU-00000001-aaaa-bbbb-cccc-0123456789ab

setup_file() {
    local out=$repo/build/${BUILD:-debug}

    [ -e "$out/tests/stub/nvml/nvidia-smi" ] || skip "the stubs are not built: make test-stories does"
    make_home brhandov
    cp "$out/bulkhead-cards" "$HOME_DIR/"
    export STUB=$out/tests/stub STUB_NVML=$HOME_DIR/world LIBS=$HOME_DIR/libs
    mkdir -p "$LIBS/proc"
    ln -s "$STUB"/nvml/* "$LIBS/"
    printf '%s\n' 'Character devices:' '195 nvidia' '235 nvidia-caps' '509 nvidia-uvm' >"$LIBS/proc/devices"
    "$STUB/nvml_world" "$STUB_NVML" 2
    jq -c --arg l "$LIBS" --arg c "$HOME_DIR/cdi" \
        'del(.estate) | .accel = "vendor" | .libraries = $l | .cdi_dir = $c' \
        "$HOME_DIR/policy.json" >"$HOME_DIR/policy.new"
    mv "$HOME_DIR/policy.new" "$HOME_DIR/policy.json"
    start_runner
}

teardown_file() {
    [ -z "${HOME_DIR:-}" ] || remove_home
}

setup() {
    "$STUB/nvml_world" "$STUB_NVML" 2
    ask '{"op":"cards"}' >/dev/null
    scrub $G0 >/dev/null
    scrub $G1 >/dev/null
}

teardown() {
    "$STUB/nvml_world" "$STUB_NVML" 2
    forget_all
}

world() { "$STUB/nvml_world" "$STUB_NVML" 0 "$@"; }
scrub() { ask "{\"op\":\"card_scrub\",\"uuid\":\"$1\"}"; }
# shown CARD: "MIB RESETS PROCESSES" as the stub has it
shown() { "$STUB/nvml_world" "$STUB_NVML" show | awk -v u="$1" '$1 == u {print $2, $3, $4}'; }
steps() { jq -r '[.steps[] | .step + (if .good then "" else "!" end)] | join(" ")'; }
# plant UUID TEXT: into the memory of the card
plant() { printf '%s' "$2" | dd of="$STUB_NVML.$1" bs=1 seek=4096 conv=notrunc status=none; }
left_in() { tr -d '\000' <"$STUB_NVML.$1" | wc -c; }

# group INSTANCE: the directory of its device rules; fails with v2
group() {
    local path
    path=$(awk -F: '$2 == "devices" {print $3}' "/proc/$(record "$1" | jq .pid)/cgroup")
    [ -n "$path" ] && echo "/sys/fs/cgroup/devices$path"
}

NODES='cd /dev; stat -c "%n %t:%T %a" nvidia*; ls bulkhead 2>&1; ls /usr/local/nvidia/lib64'

@test "[N21] a container has the nodes of its own card, the driver's two, and no other" {
    start one 1 1 "$NODES"'; cat nvidia0; cat nvidia-uvm; mknod /tmp/other c 195 1; cat /tmp/other
        echo $LD_LIBRARY_PATH $NVIDIA_VISIBLE_DEVICES; find / -xdev -name "nvidia1*"' "{\"cards\": [\"$G0\"]}"
    start two 1 2 'stat -c "%n %t:%T %a" /dev/nvidia?; sleep 100' "{\"cards\": [\"$G1\"]}"
    [ "$(ended one)" != running ]
    log_of one 1 >"$BATS_TEST_TMPDIR/one"
    [ "$(sed -n 1,3p "$BATS_TEST_TMPDIR/one")" = "$(printf '%s\n' 'nvidia-uvm 1fd:0 666' 'nvidia0 c3:0 666' 'nvidiactl c3:ff 666')" ]
    grep -q "bulkhead: No such file" "$BATS_TEST_TMPDIR/one"
    [ "$(grep -c '^lib.*so' "$BATS_TEST_TMPDIR/one")" = 2 ]
    # Nothing is behind the numbers, but the rules let it through as far.
    [ "$(grep -c 'No such device or address' "$BATS_TEST_TMPDIR/one")" = 2 ]
    not grep -q nvidia1 "$BATS_TEST_TMPDIR/one"
    grep -qx "/usr/local/nvidia/lib64 $G0" "$BATS_TEST_TMPDIR/one"
    says two 1 'nvidia1 c3:1 666'
    [ "$(ask '{"op":"cards"}' | jq -c .devices)" = '{"checked":1,"mended":0,"stopped":0}' ]
    group two || skip "device rules of v2 cannot be read back"
    [ "$(grep -vcE '^(c \*:\* m|b \*:\* m|c 1:[35789] rwm|c 5:[012] rwm|c 136:\* rwm)$' "$(group two)/devices.list")" = 3 ]
    [ "$(grep -c '^c \(195:1\|195:255\|509:0\) rw$' "$(group two)/devices.list")" = 3 ]
}

@test "[N20] what an image says about cards is not heard" {
    IMAGE_ENV='["NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=all", "CUDA_VISIBLE_DEVICES=0,1"]' \
        "$repo/tools/make-image" "$HOME_DIR/images/greedy" "$HOME_DIR/rootfs" -- /bin/sh >"$BATS_TEST_TMPDIR/digest"
    say='ls /dev | grep -c nvidia; echo "[$NVIDIA_VISIBLE_DEVICES][$NVIDIA_DRIVER_CAPABILITIES][$CUDA_VISIBLE_DEVICES]"'
    start none 1 1 "$say" '{"image": {"name": "greedy", "digest": "'"$(cat "$BATS_TEST_TMPDIR/digest")"'"}}'
    [ "$(ended none)" != running ]
    [ "$(log_of none 1)" = "$(printf '%s\n' 0 '[void][][]')" ]
    start one 1 1 "$say" '{"cards": ["'$G1'"], "image": {"name": "greedy", "digest": "'"$(cat "$BATS_TEST_TMPDIR/digest")"'"}}'
    [ "$(ended one)" != running ]
    [ "$(log_of one 1)" = "$(printf '%s\n' 3 "[$G1][][]")" ]
    # Whoever starts it may narrow what its own libraries see, no more.
    start two 1 1 "$say" '{"cards": ["'$G0'"], "env": {"NVIDIA_VISIBLE_DEVICES": "all", "CUDA_VISIBLE_DEVICES": "0"}}'
    [ "$(ended two)" != running ]
    [ "$(log_of two 1)" = "$(printf '%s\n' 3 "[$G0][][0]")" ]
}

@test "[N24] a card is what its UUID says, whatever number it has now" {
    plant $G0 ours
    plant $G1 theirs
    # As after a reset or a new driver: the library is asked anew.
    world swap 0 1
    kill "$(pgrep -f "^$HOME_DIR/bulkhead-cards --serve nvml")"
    start one 1 1 'ls /dev | grep "nvidia[0-9]"' "{\"cards\": [\"$G0\"]}"
    [ "$(ended one)" = 0 ]
    [ "$(log_of one 1)" = nvidia1 ]
    op remove one 1
    [ "$(scrub $G0 | jq .verified)" = true ]
    [ "$(left_in $G0)" = 0 ]
    [ "$(left_in $G1)" = 6 ]
}

@test "[N25] a card that the machine does not have any more starts nothing" {
    run start one 1 1 true '{"cards": ["GPU-0badf00d-aaaa-bbbb-cccc-0123456789ab"]}'
    [ "$status" -ne 0 ]
    [[ $output == *"there is no card GPU-0badf00d"* ]]
    [ "$(ask '{"op":"list"}' | jq '.instances | length')" = 0 ]
}

@test "[N25] what had a card that is gone since is released all the same" {
    start one 1 1 'sleep 100' "{\"cards\": [\"$G1\"]}"
    "$STUB/nvml_world" "$STUB_NVML" 1
    stop_runner
    start_runner
    [ "$(op release_check one 1 | jq .released)" = false ]
    op remove one 1
    [ "$(op release_check one 1 | jq -c '[.released, .cards[0].uuid]')" = "[true,\"$G1\"]" ]
}

@test "[N35] who has a soft share gets no library that shows the rest of the card" {
    start one 1 1 "ls /usr/local/nvidia/lib64; ls /dev | grep nvidia; sleep 100" "{\"cards\": [\"$G0\"], \"card_memory_mib\": 1000}"
    says one 1 nvidia0
    [ "$(log_of one 1 | sort | tr '\n' ' ')" = "libcuda.so.1 nvidia-uvm nvidia0 nvidiactl " ]
    # Nobody else's work is ever on that card with it.
    run start two 1 2 'sleep 100' "{\"cards\": [\"$G0\"], \"card_memory_mib\": 1000}"
    [ "$status" = 7 ]
}

@test "[N18] a rule that was taken away is put back, and one too many ends the instance" {
    start one 1 1 'while :; do new=$(cat /dev/nvidia0 2>&1); [ "$new" = "$old" ] || echo "$new"; old=$new; sleep 0.2; done' "{\"cards\": [\"$G0\"]}"
    group=$(group one) || skip "device rules of v2 cannot be read back"
    says one 1 'No such device or address'
    # As a manager does that loads its units anew: all away, then its own.
    echo a >"$group/devices.deny"
    echo 'c 1:3 rwm' >"$group/devices.allow"
    says one 1 'Operation not permitted'
    [ "$(ask '{"op":"cards"}' | jq -c .devices)" = '{"checked":1,"mended":1,"stopped":0}' ]
    grep -qx 'c 195:0 rw' "$group/devices.list"
    [ "$(ask '{"op":"cards"}' | jq -c .devices)" = '{"checked":1,"mended":0,"stopped":0}' ]
    echo 'c 195:1 rw' >"$group/devices.allow"
    [ "$(ask '{"op":"cards"}' | jq -c .devices)" = '{"checked":1,"mended":0,"stopped":1}' ]
    [ "$(record one | jq -c '[.state, .exit_code]')" = '["exited",137]' ]
    [[ $(record one | jq -r .reason) == *"there is the rule c 195:1 rw" ]]
}

@test "[N18] the rules outlive a restart of the runner" {
    start one 1 1 'sleep 100' "{\"cards\": [\"$G0\"]}"
    stop_runner KILL
    start_runner
    [ "$(ask '{"op":"cards"}' | jq -c .devices)" = '{"checked":1,"mended":0,"stopped":0}' ]
    [ "$(record one | jq -r .state)" = running ]
}

@test "a card is handed over step by step, and nothing is left in its memory" {
    start one 1 1 true "{\"cards\": [\"$G0\"]}"
    [ "$(ended one)" = 0 ]
    plant $G0 secret
    run start two 1 2 true "{\"cards\": [\"$G0\"]}"
    [ "$status" = 7 ]
    op remove one 1
    # Whoever had it last may have it again, nobody else.
    run start two 1 2 true "{\"cards\": [\"$G0\"]}"
    [ "$status" = 7 ]
    [[ $output == *"was not cleaned after another tenant"* ]]
    start one 2 1 true "{\"cards\": [\"$G0\"]}"
    [ "$(ended one)" = 0 ]
    op remove one 2
    scrub $G0 >"$BATS_TEST_TMPDIR/done"
    [ "$(steps <"$BATS_TEST_TMPDIR/done")" = "wait whole idle settle scrub probe" ]
    [ "$(jq -c '[.verified, .text, .scrubbed_bytes, .simulated]' "$BATS_TEST_TMPDIR/done")" = \
        '[true,"overwritten through CUDA and read back: A5, 00",32505856,false]' ]
    [ "$(jq '[.steps[] | select(.from_ms <= .to_ms and .from_ms > 1700000000000)] | length' "$BATS_TEST_TMPDIR/done")" = 6 ]
    [ "$(left_in $G0)" = 0 ]
    [ "$(shown $G0)" = "12 0 0" ]
    start two 1 2 true "{\"cards\": [\"$G0\"]}"
    [ "$(ended two)" = 0 ]
}

@test "[N43] memory that stays in use quarantines the card, and the way back is a repair" {
    start one 1 1 true "{\"cards\": [\"$G0\"]}"
    [ "$(ended one)" = 0 ]
    op remove one 1
    world used 0 22528 fixed 0 1
    scrub $G0 >"$BATS_TEST_TMPDIR/done"
    [ "$(steps <"$BATS_TEST_TMPDIR/done")" = "wait whole idle reset!" ]
    [ "$(jq -c .verified "$BATS_TEST_TMPDIR/done")" = false ]
    [[ $(jq -r .text "$BATS_TEST_TMPDIR/done") == "reset: "*"its memory does not become free"* ]]
    run start two 1 2 true "{\"cards\": [\"$G0\"]}"
    [ "$status" = 7 ]
    world fixed 0 0
    scrub $G0 >"$BATS_TEST_TMPDIR/done"
    [ "$(steps <"$BATS_TEST_TMPDIR/done")" = "wait whole idle reset settle scrub probe" ]
    [ "$(jq -c .verified "$BATS_TEST_TMPDIR/done")" = true ]
    start two 1 2 true "{\"cards\": [\"$G0\"]}"
}

@test "[N45] what each tenant leaves behind does not become the measure: a reset takes it" {
    [ "$(jq -c '[.base_mib, .base_how]' "$HOME_DIR/state/handover/$G1.json")" = '[12,"at first sight"]' ]
    # 16 MiB more than the base line is still idle; then comes the reset.
    world used 1 28
    [ "$(scrub $G1 | steps)" = "wait whole idle settle scrub probe" ]
    [ "$(jq .base_mib "$HOME_DIR/state/handover/$G1.json")" = 12 ]
    world used 1 29
    [ "$(scrub $G1 | steps)" = "wait whole idle reset settle scrub probe" ]
    [ "$(shown $G1)" = "12 1 0" ]
    [ "$(jq -c '[.base_mib, .base_how]' "$HOME_DIR/state/handover/$G1.json")" = '[12,"after a reset"]' ]
}

@test "a card that is not idle when it is first seen gives no base line" {
    rm -f "$HOME_DIR/state/handover/$G0.json"
    # 40,960 MiB / 16 + 16
    world used 0 2577 fixed 0 1
    [ "$(scrub $G0 | steps)" = "wait whole idle reset!" ]
    [ "$(jq .base_mib "$HOME_DIR/state/handover/$G0.json")" = null ]
    world fixed 0 0
    [ "$(scrub $G0 | jq .verified)" = true ]
    [ "$(jq .base_mib "$HOME_DIR/state/handover/$G0.json")" = 12 ]
}

@test "memory that does not hold what is written is not clean" {
    plant $G0 x
    world stuck 0 1
    printf secret | dd of="$STUB_NVML.$G0" bs=1 conv=notrunc status=none
    [ "$(scrub $G0 | steps)" = "wait whole idle settle scrub!" ]
    run start two 1 2 true "{\"cards\": [\"$G0\"]}"
    [ "$status" = 7 ]
    [[ $output == *"$G0 was not cleaned" ]]
    world stuck 0 0
    [ "$(scrub $G0 | jq .verified)" = true ]
    start two 1 2 true "{\"cards\": [\"$G0\"]}"
}

# patience MS: what a released card may take to be idle; a new runner
patience() {
    stop_runner
    jq -c ".release_wait_ms = $1" "$HOME_DIR/policy.json" >"$HOME_DIR/policy.new"
    mv "$HOME_DIR/policy.new" "$HOME_DIR/policy.json"
    start_runner
}

# in_step NAME: brings the handover of the first card to that step and holds it
# there; let_go: the world is as before.
in_step() {
    case $1 in
    wait) world process 0 1 ;;
    settle) world nvmlDeviceClearAccountingPids 0 hang ;;
    reset) world used 0 5000 fixed 0 2 ;;
    *) world hang 0 1 ;;
    esac
    scrub $G0 >/dev/null 2>&1 &
    asks=$!
    case $1 in
    wait | settle) sleep 0.5 ;;
    reset) soon pgrep -f "^$LIBS/nvidia-smi" ;;
    scrub) soon pgrep -f "^$HOME_DIR/bulkhead-cards --serve cuda" ;;
    probe)
        soon pgrep -f "^$HOME_DIR/bulkhead-cards --serve cuda"
        world hang 0 0 used 0 5000
        soon not pgrep -f "^$HOME_DIR/bulkhead-cards --serve cuda"
        ;;
    esac
}

@test "a runner that is killed at any step of a handover lends nobody the card" {
    local step n=0
    patience 5000
    for step in wait reset settle scrub probe; do
        n=$((n + 1))
        echo "# $step"
        start one $n 1 true "{\"cards\": [\"$G0\"]}" >/dev/null
        [ "$(ended one)" = 0 ]
        plant $G0 secret
        op remove one $n >/dev/null
        in_step $step
        run start two $n 2 true "{\"cards\": [\"$G0\"]}"
        [[ $output == *"is being scrubbed"* ]]
        stop_runner KILL
        wait $asks || true
        "$STUB/nvml_world" "$STUB_NVML" 2
        start_runner
        # What cleaned or reset the card ends with the runner.
        soon not pgrep -f "^($HOME_DIR/bulkhead-cards --serve cuda|$LIBS/nvidia-smi)"
        run start two $n 2 true "{\"cards\": [\"$G0\"]}"
        [ "$status" = 7 ]
        [[ $output == *"was not cleaned after another tenant"* ]]
        scrub $G0 >"$BATS_TEST_TMPDIR/done"
        [ "$(steps <"$BATS_TEST_TMPDIR/done")" = "wait whole idle settle scrub probe" ]
        [ "$(left_in $G0)" = 0 ]
        start two $n 2 true "{\"cards\": [\"$G0\"]}" >/dev/null
        [ "$(ended two)" = 0 ]
        op remove two $n >/dev/null
        scrub $G0 >/dev/null
    done
    patience 1000
}

@test "several cards are handed over side by side" {
    world hang 0 1
    scrub $G0 >/dev/null 2>&1 &
    asks=$!
    soon pgrep -f "^$HOME_DIR/bulkhead-cards --serve cuda"
    [ "$(scrub $G1 | jq .verified)" = true ]
    # Who cleans is on the card, and no stranger there.
    [ "$(ask '{"op":"cards"}' | jq -c --arg u $G0 '[.cards[] | select(.uuid == $u) | .processes[].owner]')" = '["platform"]' ]
    run scrub $G0
    [[ $output == *"the card is being scrubbed"* ]]
    kill $asks
    stop_runner KILL
    world hang 0 0
    start_runner
}

@test "the node's cards are described for other engines by the rules of CDI" {
    file=$(echo "$HOME_DIR"/cdi/*.json)
    [ "$(basename "$file")" = bulkhead.card-gpu_brhandov.json ]
    [ "$(jq -r '.cdiVersion + " " + .kind' "$file")" = "0.6.0 bulkhead.card/gpu" ]
    [ "$(jq -c 'keys' "$file")" = '["cdiVersion","devices","kind"]' ]
    # Names: what CDI takes, and what Kubernetes takes for a DRA device.
    [ "$(jq '[.devices[].name | select(test("^[a-z0-9]([-a-z0-9]*[a-z0-9])?$") and length <= 63)] | length' "$file")" = 2 ]
    [ "$(jq '[.devices[] | keys - ["annotations","containerEdits","name"] | length] | add' "$file")" = 0 ]
    [ "$(jq '[.devices[].containerEdits | keys - ["deviceNodes","env","mounts"] | length] | add' "$file")" = 0 ]
    [ "$(jq '[.devices[].containerEdits.deviceNodes[] | select((.path | startswith("/dev/")) and .type == "c" and (.major | type) == "number" and .permissions == "rw")] | length' "$file")" = 6 ]
    [ "$(jq -c --arg u $G1 '[.devices[] | select(.annotations["bulkhead.card/uuid"] == $u) | .containerEdits.deviceNodes[].path]' "$file")" = \
        '["/dev/nvidia1","/dev/nvidiactl","/dev/nvidia-uvm"]' ]
    [ "$(jq '[.devices[].containerEdits.mounts[] | select(.hostPath and (.containerPath | startswith("/usr/local/nvidia/lib64/")) and (.options | index("ro")))] | length' "$file")" = 4 ]
}
