#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# start.sh [PAIRS]: a runner of its own and an image of busybox for
# bench/start.c, which says what is measured.  Needs root, conmon and crun.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=release}"
export BUILD
. tests/stories/runner/common.bash
make_home bhm
trap remove_home EXIT
start_runner
bundle=$HOME_DIR/bundle
mkdir -p "$bundle/exits"
cp -a "$HOME_DIR/rootfs" "$bundle/rootfs"
(cd "$bundle" && crun spec &&
    jq '.process.args = ["/bin/true"] | .process.terminal = false' \
        config.json >new && mv new config.json)
"build/$BUILD/bench/start" "$HOME_DIR/run/runner.sock" "$AGENT_UID" tiny \
    "$IMAGE" "$bundle" "${1:-100}"
