#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# Whatever lies among the texts, the trainer ends with a model or a sentence.

load common

@test "binary files, broken UTF-8 and endless words are read like any text" {
    mkdir -p dirty/deep
    cp "$bigram" dirty/binary
    head -c 300000 /dev/zero | tr '\0' 'x' >dirty/endless
    printf 'caf\303\251 caf\303\251 \303 \377\376 \355\240\200 \302\233 end' >dirty/deep/utf8
    : >dirty/empty
    ln -s /etc/passwd dirty/link
    ln -s . dirty/loop
    mkfifo dirty/pipe
    run "$bigram" --texts dirty --vocab 2048 --step-bytes 5 --step-bytes 4096 --out model.gguf
    [ "$status" -eq 0 ]
    [[ "${lines[-1]}" == "done: vocab 2048, "* ]]
    run "$bigram" --generate model.gguf --prompt "$(printf 'caf\303\251')" --tokens 1
    [ "$output" = "$(printf 'caf\303\251')" ]
    # Only valid text without control characters became a word.
    tr -d '\0' <model.gguf | grep -qa "root:x" && return 1
    head -c 60000 model.gguf | LC_ALL=C grep -qaP '\xe2\x96\x81(\xc3(?![\x80-\xbf])|\xff|\xed\xa0|\xc2\x9b)' && return 1
    true
}

@test "words cut by a step are whole" {
    mkdir cut
    printf 'alphabet soup caf\303\251 alphabet soup' >cut/text
    "$bigram" --texts cut --vocab 16 --step-bytes 1 --out small.gguf >log
    "$bigram" --texts cut --vocab 16 --out large.gguf >log
    cmp small.gguf large.gguf
    [ "$("$bigram" --generate small.gguf --prompt alphabet --tokens 3)" = "soup $(printf 'caf\303\251') alphabet" ]
}

@test "a file that is not a model is refused with a sentence" {
    "$bigram" --texts "$texts" --vocab 64 --out model.gguf >log
    for size in 0 3 20 200 2000 9000; do
        head -c "$size" model.gguf >cut.gguf
        run "$bigram" --generate cut.gguf
        [ "$status" -eq 1 ]
        [[ "$output" == "bigram: cut.gguf: "* ]]
    done
    run "$bigram" --generate /etc/passwd
    [ "$status" -eq 1 ]
}

@test "wrong usage ends with 2 and says what is right" {
    for args in "" "--out" "--out a --vocab 17" "--out a --vocab 8" "--out a --repeat 0" \
        "--out a --pace-ms -1" "--out a --pace-ms 1x" "--out a --generate b" "--out a b" "--nonsense"; do
        # shellcheck disable=SC2086
        run "$bigram" $args
        [ "$status" -eq 2 ]
        [ -n "$output" ]
        [ ! -e a ]
    done
}

@test "missing texts and an output that cannot be written are told" {
    mkdir none
    run "$bigram" --texts none --out model.gguf
    [ "$status" -eq 1 ]
    [ "$output" = "bigram: none: no text there" ]
    run "$bigram" --texts nowhere --out model.gguf
    [ "$status" -eq 1 ]
    [[ "$output" == "bigram: nowhere: "* ]]
    run "$bigram" --texts "$texts" --out nowhere/model.gguf
    [ "$status" -eq 1 ]
    [[ "$output" == *"bigram: nowhere/model.gguf: "* ]]
}
