# SPDX-License-Identifier: Apache-2.0
# What the stories about the bigram trainer share.

setup() {
    bigram=$BATS_TEST_DIRNAME/../../../build/${BUILD:-debug}/examples/bigram/bigram
    texts=/usr/share/common-licenses
    cd "$BATS_TEST_TMPDIR" || return 1
    mkdir checkpoint
    export BULKHEAD_NOTICE_FILE=$BATS_TEST_TMPDIR/notice.json
    unset BULKHEAD_CHECKPOINT_DIR
}

# train_with_checkpoints ARGS...: a run that may be stopped.
train_with_checkpoints() {
    BULKHEAD_CHECKPOINT_DIR=$BATS_TEST_TMPDIR/checkpoint \
        "$bigram" --texts "$texts" --out model.gguf "$@"
}

# start_training FILE ARGS...: the same behind the story's back; sets pid.
start_training() {
    local file=$1
    shift
    BULKHEAD_CHECKPOINT_DIR=$BATS_TEST_TMPDIR/checkpoint \
        "$bigram" --texts "$texts" --out model.gguf "$@" >"$file" 3>&- &
    pid=$!
}

# end_of_training: waits for it; sets status.
end_of_training() {
    status=0
    wait "$pid" || status=$?
}

# wait_for_step N FILE: until the run that prints into FILE has done step N.
wait_for_step() {
    local tries=0
    until grep -q "^step $1 of " "$2" 2>/dev/null; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || return 1
        sleep 0.05
    done
}

now_ms() {
    date +%s%3N
}

# words FILE: one word a line, split by other means than the program's.
words() {
    LC_ALL=C tr 'A-Z\000-\040\177' 'a-z[\n*]' <"$1" |
        LC_ALL=C sed 's/[!-/:-@[-`{-~]/\n&\n/g' | LC_ALL=C sed '/^$/d'
}

# vocabulary N FILES: the N most frequent words, ties in byte order.
vocabulary() {
    local most=$1 file
    shift
    for file; do words "$file"; done | LC_ALL=C sort | LC_ALL=C uniq -c |
        LC_ALL=C sort -k1,1nr -k2,2 | head -n "$most" | awk '{ print $2 }'
}

# regular_texts: the files that count, links left out.
regular_texts() {
    find "$texts" -type f | LC_ALL=C sort
}
