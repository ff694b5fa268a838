# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2154
# Plants faults in a copy of the tree; sourced by mutants and access-mutants
# from the root of the tree.  $only: a word that names must have.
work=$(mktemp -d /tmp/bulkhead-mutants.XXXXXX) || exit 1
trap 'rm -rf "$work"' EXIT
found=0 missed=0

cp -a Makefile src tests tools data "$work/" && mkdir -p "$work/build" || exit 1
[ ! -d build/debug ] || cp -a build/debug "$work/build/"

build() { make -s -C "$work" "build/debug/tests/$1" >"$work/said" 2>&1; }

# mutant NAME FILE SED-SCRIPT [TEST]: a script that changes nothing is a fault
# too.
mutant() {
    local name=$1 file=$work/$2 test=${4:-simulate/test_world} rc
    [[ $name == *"$only"* ]] || return 0
    cp -p "$file" "$work/kept"
    sed -i -E -z "$3" "$file"
    if cmp -s "$file" "$work/kept" || ! build "$test"; then
        echo "missed: $name cannot be planted: $(tail -n 3 "$work/said")"
        missed=$((missed + 1))
        cp "$work/kept" "$file"
        return 0
    fi
    (cd "$work" && timeout 300 "build/debug/tests/$test") >"$work/said" 2>&1
    rc=$?
    if [ "$rc" = 0 ] || [ "$rc" = 124 ]; then
        [ "$rc" = 0 ] || name="$name (it ran out of time)"
        echo "missed: $name"
        missed=$((missed + 1))
    else
        echo "found: $name: $(grep -E 'ERROR|error:|Assertion' "$work/said" | head -n 1)"
        found=$((found + 1))
    fi
    cp "$work/kept" "$file"
}

# Says how many were found; false when one was not.
planted() {
    echo "$found passed, $missed failed"
    [ "$missed" = 0 ]
}
: >"$work/said"
