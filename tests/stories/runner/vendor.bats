#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A runner whose cards are those that a vendor's library knows.

load common

G0=GPU-00000000-aaaa-bbbb-cccc-0123456789ab
G1=GPU-00000001-aaaa-bbbb-cccc-0123456789ab

setup_file() {
    local out=$repo/build/${BUILD:-debug}

    [ -e "$out/tests/stub/nvml_world" ] || skip "the stub of the library is not built: make test-stories does"
    make_home brvendor
    cp "$out/bulkhead-cards" "$HOME_DIR/"
    export STUB=$out/tests/stub STUB_NVML=$HOME_DIR/world
    "$STUB/nvml_world" "$STUB_NVML" 2
    jq -c --arg l "$STUB/nvml" 'del(.estate) | .accel = "vendor" | .libraries = $l' \
        "$HOME_DIR/policy.json" >"$HOME_DIR/policy.new"
    mv "$HOME_DIR/policy.new" "$HOME_DIR/policy.json"
    start_runner
}

teardown_file() {
    [ -z "${HOME_DIR:-}" ] || remove_home
}

card() {
    ask '{"op":"cards"}' | jq -c ".cards[] | select(.uuid == \"$1\") | $2"
}

@test "the library's cards are listed with what they are" {
    [ "$(ask '{"op":"cards"}' | jq -c '[.accel, .simulated, (.cards | length)]')" = '["vendor",false,2]' ]
    [ "$(card $G0 '[.vendor, .model, .memory_mib, .compute_units, .arch, .firmware, .serial, .health]')" = \
        '["nvidia","NVIDIA A100-SXM4-40GB",40960,98,"ampere sm_80","92.00.45.00.05 G506.0210.00.04","1320021000000","healthy"]' ]
}

@test "[N5] a card that is lost hides no other" {
    "$STUB/nvml_world" "$STUB_NVML" 0 nvmlDeviceGetPowerUsage 1 15
    [ "$(card $G1 '[.health, .health_reason]')" = '["failed","the card is lost"]' ]
    [ "$(card $G0 .health)" = '"healthy"' ]
    "$STUB/nvml_world" "$STUB_NVML" 0
    [ "$(card $G1 .health)" = '"healthy"' ]
}

@test "a call that does not come back makes one card unknown, and nobody waits twice" {
    "$STUB/nvml_world" "$STUB_NVML" 0 nvmlDeviceGetEccMode 1 hang
    SECONDS=0
    [ "$(card $G1 '[.health, .health_reason]')" = \
        "[\"unknown\",\"$G1: nvmlDeviceGetEccMode did not come back within 3000 ms\"]" ]
    [ $SECONDS -le 8 ]
    SECONDS=0
    [ "$(card $G1 .health)" = '"unknown"' ]
    [ "$(card $G0 .health)" = '"healthy"' ]
    [ $SECONDS -le 2 ]
    # A release of what is on it is not confirmed meanwhile.
    [ "$(ask "{\"op\":\"card_scrub\",\"uuid\":\"$G1\"}" | jq .verified)" = false ]
}

@test "the worker ends with the runner, also while it hangs" {
    pids=$(pgrep -f "^$HOME_DIR/bulkhead-cards --serve" || true)
    [ -n "$pids" ]
    stop_runner KILL
    for _ in $(seq 100); do
        pgrep -f "^$HOME_DIR/bulkhead-cards --serve" >/dev/null || break
        sleep 0.05
    done
    run pgrep -f "^$HOME_DIR/bulkhead-cards --serve"
    [ "$status" -eq 1 ]
}

@test "[N47] no program needs a vendor's library, nor one of its functions, to start" {
    unrecorded
    for program in bulkhead-runner bulkhead-cards bulkhead-agent bulkheadd bulkhead; do
        run nm -D --undefined-only "$repo/build/${BUILD:-debug}/$program"
        [ "$status" = 0 ]
        if grep -E ' U (nvml|rsmi_|zes|ze[A-Z]|hip|cu[A-Z])' <<<"$output"; then return 1; fi
        if ldd "$repo/build/${BUILD:-debug}/$program" | grep -E 'nvidia|rocm|libze|cuda'; then return 1; fi
    done
    # A library that has none of them, and one that can only name its card.
    mkdir -p "$BATS_TEST_TMPDIR/none" "$BATS_TEST_TMPDIR/few"
    echo 'int nothing;' | cc -shared -fPIC -x c -o "$BATS_TEST_TMPDIR/none/libnvidia-ml.so.1" -
    cc -shared -fPIC -x c -o "$BATS_TEST_TMPDIR/few/libnvidia-ml.so.1" - <<'END'
#include <string.h>
int nvmlInit_v2(void) { return 0; }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 1; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out) { static int card; (void)index; *out = &card; return 0; }
int nvmlDeviceGetUUID(void *card, char *out, unsigned room) {
    (void)card; (void)room; strcpy(out, "GPU-00000009-aaaa-bbbb-cccc-0123456789ab"); return 0; }
struct pci { char legacy[16]; unsigned number[5]; char address[32]; };
int nvmlDeviceGetPciInfo_v3(void *card, struct pci *out) {
    (void)card; memset(out, 0, sizeof(*out)); strcpy(out->address, "00000000:3B:00.0"); return 0; }
END
    run "$HOME_DIR/bulkhead-cards" --libraries "$BATS_TEST_TMPDIR/none"
    echo "$output"
    [ "$status" = 0 ]
    [[ $output == *nvmlInit_v2* ]]
    run "$HOME_DIR/bulkhead-cards" --libraries "$BATS_TEST_TMPDIR/few" --output json
    echo "$output"
    [ "$status" = 0 ]
    [ "$(jq -r '.[0].uuid' <<<"$output")" = GPU-00000009-aaaa-bbbb-cccc-0123456789ab ]
    [ "$(jq -c '.[0].readings' <<<"$output")" = '{}' ]
}
