#!/usr/bin/env bats
# SPDX-License-Identifier: Apache-2.0
# The model file says what the texts say.

load common

# header FILE: every field of a GGUF file's header as a line of text.
header() {
    od -An -v -tu1 -w1 -N 65536 "$1" | awk '
        { byte[NR - 1] = $1 + 0 }
        function u32(  v) {
            v = byte[at] + 256 * (byte[at + 1] + 256 * (byte[at + 2] + 256 * byte[at + 3]))
            at += 4; return v
        }
        function u64(  v) { v = u32(); return v + 4294967296 * u32() }
        function text(  n, s) {
            for (n = u64(); n > 0; n--) s = s sprintf("%c", byte[at++])
            return s
        }
        function value(type) {
            if (type == 8) return text()
            if (type == 7) return byte[at++] ? "true" : "false"
            if (type == 6) return "bits " u32()
            return u32()
        }
        END {
            print "magic " sprintf("%c%c%c%c", byte[0], byte[1], byte[2], byte[3])
            at = 4
            print "version " u32()
            tensors = u64(); keys = u64()
            print "tensors " tensors
            print "keys " keys
            while (keys-- > 0) {
                key = text(); type = u32()
                if (type != 9) { print key " " type " " value(type); continue }
                type = u32(); count = u64()
                print key " array " type " " count
                for (i = 0; i < count; i++) print key "[" i "] " value(type)
            }
            while (tensors-- > 0) {
                name = text(); dimensions = u32(); shape = ""
                for (i = 0; i < dimensions; i++) shape = shape " " u64()
                type = u32()
                print "tensor " name shape " type " type " at " u64()
            }
            at += (32 - at % 32) % 32
            print "data " at
        }'
}

field() { # field NAME: the rest of its line in header.txt
    sed -n "s/^$1 //p" header.txt
}

@test "the header is that of a llama model in GGUF 3, field by field" {
    "$bigram" --texts "$texts" --vocab 512 --out model.gguf >log
    header model.gguf >header.txt
    grep -v '^tokenizer.ggml.tokens\[\|^tokenizer.ggml.token_type\[\|^data' header.txt >fields.txt
    diff - fields.txt <<END
magic GGUF
version 3
tensors 12
keys 23
general.architecture 8 llama
general.name 8 bigram
llama.context_length 4 2048
llama.embedding_length 4 512
llama.block_count 4 1
llama.feed_forward_length 4 32
llama.attention.head_count 4 8
llama.attention.layer_norm_rms_epsilon 6 bits 897988541
llama.rope.dimension_count 4 64
llama.vocab_size 4 512
tokenizer.ggml.model 8 bert
tokenizer.ggml.tokens array 8 512
tokenizer.ggml.token_type array 5 512
tokenizer.ggml.padding_token_id 4 0
tokenizer.ggml.unknown_token_id 4 1
tokenizer.ggml.bos_token_id 4 2
tokenizer.ggml.cls_token_id 4 2
tokenizer.ggml.eos_token_id 4 3
tokenizer.ggml.seperator_token_id 4 3
tokenizer.ggml.mask_token_id 4 4
tokenizer.ggml.add_bos_token 7 false
tokenizer.ggml.add_eos_token 7 false
tokenizer.ggml.add_sep_token 7 false
tensor token_embd.weight 512 512 type 0 at 0
tensor blk.0.attn_norm.weight 512 type 0 at 1048576
tensor blk.0.attn_q.weight 512 512 type 0 at 1050624
tensor blk.0.attn_k.weight 512 512 type 0 at 2099200
tensor blk.0.attn_v.weight 512 512 type 0 at 3147776
tensor blk.0.attn_output.weight 512 512 type 0 at 4196352
tensor blk.0.ffn_norm.weight 512 type 0 at 5244928
tensor blk.0.ffn_gate.weight 512 32 type 0 at 5246976
tensor blk.0.ffn_down.weight 32 512 type 0 at 5312512
tensor blk.0.ffn_up.weight 512 32 type 0 at 5378048
tensor output_norm.weight 512 type 0 at 5443584
tensor output.weight 512 512 type 0 at 5445632
END
    [ "$(stat -c %s model.gguf)" -eq $(($(field data) + 5445632 + 4 * 512 * 512)) ]
}

@test "the tokens are the special ones and the most frequent words" {
    "$bigram" --texts "$texts" --vocab 512 --out model.gguf >log
    header model.gguf >header.txt
    # shellcheck disable=SC2046
    { printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]'
      vocabulary 507 $(regular_texts); } >want.txt
    sed -n 's/^tokenizer.ggml.tokens\[[0-9]*\] //p' header.txt |
        sed "s/^$(printf '\342\226\201')//" >got.txt
    diff want.txt got.txt
    sed -n 's/^tokenizer.ggml.token_type\[[0-9]*\] //p' header.txt >types.txt
    [ "$(head -n 5 types.txt | tr '\n' ' ')" = "3 2 3 3 3 " ]
    [ "$(tail -n +6 types.txt | sort -u)" = 1 ]
}

# counted PROMPT N: the greedy text, from counts made without the program.
counted() {
    # shellcheck disable=SC2046
    vocabulary 507 $(regular_texts) >vocabulary.txt
    regular_texts | while read -r file; do echo BEGIN; words "$file"; done |
        LC_ALL=C awk -v prompt="$1" -v left="$2" '
        FILENAME == "vocabulary.txt" { id[$0] = ++words; word[words] = $0; next }
        $0 == "BEGIN" { previous = "BEGIN"; next }
        {
            if ($0 in id) count[previous, $0]++
            previous = $0 in id ? $0 : "UNKNOWN"
        }
        END {
            for (at = prompt; left-- > 0; at = best) {
                most = 0
                for (i = 1; i <= words; i++)
                    if (count[at, word[i]] > most) { most = count[at, word[i]]; best = word[i] }
                if (most == 0) break
                line = line (line == "" ? "" : " ") best
            }
            print line
        }' vocabulary.txt -
}

@test "the greedy text is the one that the counts foretell" {
    "$bigram" --texts "$texts" --vocab 512 --out model.gguf >log
    for prompt in the free this warranty copyright; do
        want=$(counted "$prompt" 30)
        [ "$(wc -w <<<"$want")" -eq 30 ]
        run "$bigram" --generate model.gguf --prompt "Whatever before, $prompt" --tokens 30
        [ "$status" -eq 0 ]
        [ "$output" = "$want" ]
    done
}

@test "each weight of the output is the logarithm of a share" {
    mkdir small
    printf 'a b a b a c\nd' >small/one
    printf 'B b' >small/two
    "$bigram" --texts small --vocab 16 --out model.gguf >log
    header model.gguf >header.txt
    output=$(($(field data) + $(sed -n 's/^tensor output.weight .* at //p' header.txt)))
    od -An -v -tf4 -w4 -j "$output" -N 1024 model.gguf | awk '{ printf "%.4f\n", $1 }' >cells
    # ids: b 5, a 6, c 7, d 8; row next, column previous
    at() { sed -n "$(($1 * 16 + $2 + 1))p" cells; }
    [ "$(at 5 6)" = -0.4055 ] # a b: 2 of 3
    [ "$(at 7 6)" = -1.0986 ] # a c: 1 of 3
    [ "$(at 6 5)" = -0.4055 ] # b a: 2 of 3, b b: 1
    [ "$(at 5 5)" = -1.0986 ]
    [ "$(at 8 7)" = 0.0000 ]  # c d: always
    [ "$(at 6 2)" = -0.6931 ] # begin a, begin b: no pair crosses two texts
    [ "$(at 5 8)" = -20.0000 ]
    [ "$(at 6 3)" = -0.6931 ] # behind an end another text begins
    [ "$(grep -cv -- '-20.0000' cells)" -eq 9 ]
    norm=$(($(field data) + $(sed -n 's/^tensor output_norm.weight .* at //p' header.txt)))
    [ "$(od -An -tf4 -w4 -j "$norm" -N 4 model.gguf | awk '{ printf "%.6f", $1 }')" = 0.250002 ]
    embedding=$(field data)
    [ "$(od -An -v -tf4 -w4 -j "$embedding" -N 1024 model.gguf |
        awk '$1 != ((NR - 1) % 17 == 0) { wrong++ } END { print wrong + 0 }')" -eq 0 ]
}

@test "the model is the same for any number of passes and any size of step" {
    "$bigram" --texts "$texts" --out one.gguf >log
    "$bigram" --texts "$texts" --repeat 3 --step-bytes 777 --out many.gguf >log
    cmp one.gguf many.gguf
}
