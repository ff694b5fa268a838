/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_TRAIT_H
#define CORE_TRAIT_H

#include "core/world.h"

/*
 * What can be asked of a node or a card, and what does it say of itself?
 *
 * A trait of a card is its driver, vendor, model, arch, features, its compute
 * capability (the "9.0" of sm_90), or the runtime that its driver serves (cuda,
 * rocm, level-zero, cann).  One of a node is a word of what its agent reports.
 */

enum trait_kind {
    TRAIT_NONE,    /* no such trait */
    TRAIT_VERSION, /* numbers with dots */
    TRAIT_TEXT,    /* one text, as it is */
    TRAIT_WORD,    /* several words, one of which is meant */
    TRAIT_WORDS,   /* several words, all that are named are meant */
};

enum trait_kind trait_kind_of(const char *trait);
bool trait_is_of_card(const char *trait);

/* What it says, "" for nothing. */
#define TRAIT_TEXT_MAX 128
const char *trait_of_card(const struct card *card, const char *trait,
                          char text[TRAIT_TEXT_MAX]);
const char *trait_of_node(const struct node *node, const char *trait,
                          char text[TRAIT_TEXT_MAX]);

/* Makes the card say it: for trials. */
void trait_put(struct card *card, const char *trait, const char *text);

/* Are all words (a space or comma between two) of one text in the other? */
bool trait_has_words(const char *text, const char *words);
/* "CUDA 12.4" -> the trait "cuda" and the version "12.4"; false for what is no
 * runtime and version. */
bool trait_runtime(const char *text, char trait[NAME_MAX_SIZE],
                   const char **version_out);

#endif
