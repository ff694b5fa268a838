#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# agent.sh [SECONDS]: what a node's own programs cost while nothing happens:
# 8 simulated cards cut into 64 slices, a container on each, samples every
# second.  Processor time is what the kernel counted for the whole process,
# so other work on the machine does not count.  Needs root, conmon and crun.
set -euo pipefail
cd "$(dirname "$0")/.."
: "${BUILD:=release}"
export BUILD
. tests/stories/agent/common.bash
seconds=${1:-60}

# Eight cards of a model that is cut into eight.
eval "$(declare -f make_files | sed '1s/make_files/make_story_files/')"
make_files() {
    make_story_files "$1"
    jq '.cards |= map(.vendor = "amd" | .model = "MI300X" | .memory_mib = 196608
        | .compute_units = 8)' data/estates/demo.json >"$HOME_DIR/estate.json"
}

all_run() {
    [ "$(setpriv --reuid "$AGENT_UID" --clear-groups "$HOME_DIR/bulkhead-runner" \
        --socket "$HOME_DIR/run/runner.sock" \
        --request '{"protocol":1,"op":"list"}' |
        jq '[.instances[] | select(.state == "running")] | length')" = 64 ]
}

# ticks NAME: utime + stime of the process, in hundredths of a second.
ticks() {
    sed 's/.*) //' "/proc/$(cat "$HOME_DIR/$1.pid")/stat" |
        awk '{print $12 + $13}'
}
resident_kib() {
    awk '/^VmRSS/ {print $2}' "/proc/$(cat "$HOME_DIR/$1.pid")/status"
}

failed=0
# line WHAT VALUE UNIT LIMIT
line() {
    awk -v what="$1" -v value="$2" -v unit="$3" -v limit="$4" 'BEGIN {
        good = value <= limit
        printf "%-12s %8.2f %-4s limit %6.2f  ratio %.2f  %s\n", what, value,
            unit, limit, value / limit, good ? "PASS" : "FAIL"
        exit !good
    }' || failed=1
}

trap remove_platform EXIT
make_platform bha
api PATCH /platform '{"tenant_limit_permille":1000}' >/dev/null
admin set quota cards -t research --level tenant -g 8 -l 8 -q
class=$(admin get classes -o json |
    jq -r '[.items[] | select(.profile == "cpx")][0].name')
alice submit crowd -n 64 -i demo -c "$class" --cpu 0.01 -m 16 -q -- \
    /bin/sleep 100000
for _ in $(seq 600); do
    all_run && break
    sleep 0.5
done
all_run || { alice get workloads; tail -n 5 "$HOME_DIR"/*.log; exit 1; }
sleep 15 # what the starts caused is over

agent=$(ticks agent) runner=$(ticks runner) began=$(date +%s%N)
sleep "$seconds"
took=$((($(date +%s%N) - began) / 10000000))
agent=$(($(ticks agent) - agent)) runner=$(($(ticks runner) - runner))
echo "8 cards, 64 slices with a container each, $seconds s"
line "agent CPU" "$(awk "BEGIN {print 100 * $agent / $took}")" % 0.5
line "agent RSS" "$(awk "BEGIN {print $(resident_kib agent) / 1024}")" MiB 20
line "runner RSS" "$(awk "BEGIN {print $(resident_kib runner) / 1024}")" MiB 8
awk "BEGIN {printf \"%-12s %8.2f %%\n\", \"runner CPU\", 100 * $runner / $took}"
exit $failed
