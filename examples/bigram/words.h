/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BIGRAM_WORDS_H
#define BIGRAM_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Where does a word begin and end?  A word is a run of ASCII letters (made
 * lower-case), digits and bytes above 0x7F; each ASCII punctuation mark is a
 * word; everything else separates.  Any bytes are taken: a word that is longer
 * than WORD_MAX or not UTF-8 is handed over with `bad` set.
 */

#define WORD_MAX 63

struct word {
    char bytes[WORD_MAX + 1];
    size_t size;
    bool bad; /* unusable: too long, or not valid UTF-8 */
};

typedef void word_taker(void *data, const struct word *word);

/* `word` carries a word that began from one piece to the next; it starts
 * zeroed. */
void words_feed(struct word *word, const char *bytes, size_t size,
                word_taker *take, void *data);
/* The text is over: hands the last word over and zeroes `word`. */
void words_end(struct word *word, word_taker *take, void *data);

#endif
