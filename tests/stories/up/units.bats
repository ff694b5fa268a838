#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The systemd units are what systemd accepts, with every path filled in.

load ../words

@test "systemd accepts the units" {
    command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed"
    cd "$BATS_TEST_DIRNAME/../../.."
    data=$BATS_TEST_TMPDIR/data run=/run/bulkhead port=7080 estate=data/estates/demo.json
    . tools/installation.sh
    mkdir -p "$data/bin" "$BATS_TEST_TMPDIR/units"
    cp "$estate" "$data/estate.json"
    for program in bulkheadd bulkhead-signer bulkhead-runner bulkhead-agent; do
        install -m 755 /bin/true "$data/bin/$program"
    done
    for unit in bulkheadd bulkhead-signer bulkhead-runner bulkhead-agent; do
        installation_unit "$unit.service" >"$BATS_TEST_TMPDIR/units/$unit.service"
        not grep @ "$BATS_TEST_TMPDIR/units/$unit.service"
    done
    run systemd-analyze verify "$BATS_TEST_TMPDIR"/units/*.service
    echo "$output"
    [ "$status" = 0 ]
    not grep -i "unknown\|ignoring" <<<"$output"
}
