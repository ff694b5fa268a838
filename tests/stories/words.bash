# SPDX-License-Identifier: Apache-2.0
# Words of every theme.
#
#   not COMMAND...    fails when the command succeeds
#   soon COMMAND...   waits until it succeeds, WITHIN (30) seconds at most
#   unrecorded        skips where tests/contract has its recorder before the
#                     control plane: one process more, slower, with the ports

# `! command` in the middle of a story fails nothing, set -e overlooks it.
not() {
    if "$@"; then
        echo "should not succeed: $*"
        return 1
    fi
}

soon() {
    local end=$((SECONDS + ${WITHIN:-30}))
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || { echo "not in time: $*"; return 1; }
        sleep 0.1
    done
}

unrecorded() {
    [ "${BUILD:-}" != contract ] || skip "the recorder stands before the control plane"
}
