/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIGRAM_MODEL_H
#define BIGRAM_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "examples/bigram/words.h"

/*
 * What does the model file hold?  GGUF version 3, architecture "llama", one
 * block that adds nothing: embeddings are one-hot, the output matrix holds
 * log P(next | previous), NEVER where a pair was not seen.  An engine that
 * runs llama models in GGUF therefore decodes, greedily, the most frequent
 * successor of each word; among equals the one with the lower id.
 *
 * llama.cpp's word-piece tokenizer wraps a prompt that is text in BEGIN and END
 * whatever the file says, so such a prompt is followed by the start of a text;
 * one that is given as token ids is followed by what follows its last word.
 */

#define VOCAB_MAX 2048u
#define NEVER (-20.0F)

/* Ids of the special tokens; words follow, by falling count. */
enum { PADDING, UNKNOWN, BEGIN, END, MASK, FIRST_WORD };

struct entry {
    char word[WORD_MAX + 1];
    uint8_t size;
    uint64_t count;
};

/* words: the vocabulary, at most vocab - FIRST_WORD; the rest is filled with
 * unused tokens.  counts[previous * vocab + next].  vocab: a multiple of 16. */
void model_write(const char *path, uint64_t vocab, const struct entry *words,
                 size_t word_count, const uint64_t *counts);

/* Prints, on one line, at most `tokens` words that follow the last word of
 * prompt.  Ends early behind a word that nothing followed.  Returns the exit
 * status. */
int model_generate(const char *path, const char *prompt, uint64_t tokens);

#endif
