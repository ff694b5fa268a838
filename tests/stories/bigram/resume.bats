#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# A training run gives its cards back when told to and loses nothing.

load common

@test "a run that is stopped in each pass ends with the bytes of one that is not" {
    "$bigram" --texts "$texts" --repeat 2 --out whole.gguf >whole.log
    for step in 20 80 150; do
        start_training stopped.log --repeat 2 --pace-ms 20
        wait_for_step "$step" stopped.log
        kill -USR1 "$pid"
        end_of_training
        [ "$status" -eq 75 ]
        at=$(sed -n 's/^stopped at step \([0-9]*\) of .*/\1/p' stopped.log)
        [ "$at" -ge "$step" ]
        [ "$(cat checkpoint/checkpoint.json)" = "{\"step\": $at}" ]
        [ ! -e model.gguf ]
    done
    run train_with_checkpoints --repeat 2
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "resumed at step $at of 195" ]
    [ "${lines[-1]}" = "done: vocab 512, steps 195, resumed_at $at, work 195" ]
    cmp whole.gguf model.gguf
}

@test "a run that is killed repeats only the steps since its last checkpoint" {
    "$bigram" --texts "$texts" --out whole.gguf >whole.log
    start_training killed.log --pace-ms 20 --checkpoint-steps 10
    wait_for_step 75 killed.log
    kill -KILL "$pid"
    end_of_training
    [ "$status" -eq 137 ]
    [ "$(cat checkpoint/checkpoint.json)" = '{"step": 70}' ]
    done_before=$(grep -c '^step' killed.log)
    run train_with_checkpoints
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "done: vocab 512, steps 130, resumed_at 70, work $((done_before + 60))" ]
    cmp whole.gguf model.gguf
}

@test "a notice stops the run within a second, also in the middle of a long pause" {
    start_training notice.log --pace-ms 60000
    wait_for_step 1 notice.log
    start=$(now_ms)
    echo '{"reason": "reclaim", "deadline": "2026-11-30T10:15:30.000Z"}' >notice.tmp
    mv notice.tmp notice.json
    end_of_training
    took=$(($(now_ms) - start))
    [ "$status" -eq 75 ]
    [ "$took" -lt 1000 ]
    [ "$(cat checkpoint/checkpoint.json)" = '{"step": 1}' ]
}

@test "the checkpoint goes when the model is there" {
    train_with_checkpoints >log
    [ -s model.gguf ]
    [ -z "$(ls checkpoint)" ]
    [ "$(find . -name '*.??????' -not -name '*.bats' | wc -l)" -eq 0 ]
}

# stop_at STEP: leaves a checkpoint of at least that step behind.
stop_at() {
    start_training stop.log --pace-ms 20
    wait_for_step "$1" stop.log
    touch notice.json
    end_of_training
    [ "$status" -eq 75 ]
    rm notice.json
}

@test "a damaged checkpoint is told and the run starts again" {
    "$bigram" --texts "$texts" --out whole.gguf >whole.log
    stop_at 70
    cp -r checkpoint saved
    size=$(stat -c %s saved/state.bin)
    for damage in 0 45 100 $((size / 2)) $((size - 1)) cut empty gone; do
        rm -r checkpoint model.gguf 2>/dev/null || true
        cp -r saved checkpoint
        case $damage in
        cut) truncate -s $((size - 8)) checkpoint/state.bin ;;
        empty) truncate -s 0 checkpoint/state.bin ;;
        gone) rm checkpoint/state.bin ;;
        *) byte=$(od -An -tu1 -j "$damage" -N 1 saved/state.bin)
           # shellcheck disable=SC2059
           printf "\\$(printf %03o $((byte ^ 1)))" |
               dd of=checkpoint/state.bin bs=1 seek="$damage" conv=notrunc status=none ;;
        esac
        run train_with_checkpoints
        [ "$status" -eq 0 ]
        [[ "$output" == *"bigram: the checkpoint is not used: "*"; starting again"* ]]
        [[ "${lines[-1]}" == "done: vocab 512, steps 130, resumed_at 0, work "* ]]
        cmp whole.gguf model.gguf
    done
}

@test "a checkpoint of other texts or options is told and not used" {
    stop_at 30
    run train_with_checkpoints --vocab 256
    [ "$status" -eq 0 ]
    [[ "$output" == *"not used: it belongs to other texts or options"* ]]
    "$bigram" --texts "$texts" --vocab 256 --out other.gguf >log
    cmp other.gguf model.gguf
}
