#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The tables of docs/ name what the program knows: nothing is left out when
# the source gains a word.

setup() {
    cd "$BATS_TEST_DIRNAME/../../.." || return 1
}

# words_of ARRAY: the texts of a name table in the schema.
words_of() {
    awk -v a="$1" '$0 ~ a "\\[.*\\] *=" { on = 1 } on { print } on && /;/ { exit }' src/core/schema_*.c |
        sed 's/.*= *{//' | grep -oE '"[a-z_-]+"' | tr -d '"'
}

# named FILE WORD...: each stands in a table of the page.
named() {
    local page=$1 word missing=
    shift
    [ $# -gt 2 ]
    for word; do
        grep -E '^\|' "$page" | grep -qE "(^|[^a-z_.-])$word([^a-z_.-]|\$)" || missing+=" $word"
    done
    [ -z "$missing" ] || { echo "$page does not explain:$missing"; return 1; }
}

@test "each reason for waiting is explained" {
    # shellcheck disable=SC2046
    named docs/concepts.md $(words_of reason_names | grep -v '^none$')
}

@test "each state of a workload and of a node is explained" {
    # shellcheck disable=SC2046
    named docs/concepts.md $(words_of workload_state_names | grep -v '^rejected$') $(words_of node_state_names)
}

@test "each dimension of a quota has its unit" {
    # shellcheck disable=SC2046
    named docs/concepts.md $(words_of dimension_names)
}

@test "each error code stands at its exit code" {
    local code exit
    while read -r code exit; do
        [ "$code" != ok ] && [ "$code" != interrupted ] || continue
        grep -qE "^\| $exit \|.*[ ,]$code[ ,|]" docs/concepts.md ||
            { echo "$code is not at exit code $exit"; return 1; }
    done < <(sed -nE 's/^ERROR\([A-Z_]+, *"([a-z_]+)",.*, ([0-9]+)\)$/\1 \2/p' src/base/error.def)
}

@test "each check of the doctor is explained" {
    # shellcheck disable=SC2046
    named docs/operate.md $(grep -hoE 'doctor_find\(findings, "[a-z]+"' src/cli/doctor*.c | grep -oE '"[a-z]+"' | tr -d '"' | sort -u)
}

@test "each alarm is explained" {
    # shellcheck disable=SC2046
    named docs/operate.md $(grep -rhoE 'alarm_raise\([^;"]*"[a-z.]+"' src/core src/control | grep -oE '"[a-z.]+"' | tr -d '"' | sort -u)
}

@test "each field that a workload is made with stands in the page about manifests" {
    local field
    # shellcheck disable=SC2046
    set -- $(sed -n '/workload_fields\[\]/,/^};/p' src/core/schema_tenant.c | tr -d '\n' |
        grep -oE '\(workload, [a-z_]+, C' | sed -E 's/.*, ([a-z_]+), C/\1/; s/^min_//; s/_(ms|mib|milli|max)$//' | sort -u)
    for field; do
        case $field in classes | spec) continue ;; esac
        grep -qE "^\| \`$field\` \|" docs/manifest.md || { echo "$field is not explained"; return 1; }
    done
    [ $# -gt 12 ]
}
