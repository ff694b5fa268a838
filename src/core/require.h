/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REQUIRE_H
#define CORE_REQUIRE_H

#include "base/json.h"
#include "core/world.h"

/*
 * What must a node or a card say of itself, so that this work can run there?
 *
 * The platform's requirements for the work's class and image, what the class
 * itself asks for, and what the work's own manifest requires, all hold.  A fact
 * is a trait (trait.h) of the card or of its node.  Versions are compared number
 * by number, whatever stands before the first digit: "535.9" is below "535.161",
 * "crun 1.8.1" below "1.14".  What is not reported is not fulfilled.
 *
 * In a manifest: {"requires": {"driver": "550.54", "features": "fp8 nvlink",
 * "cuda": {"at_least": "12.4", "below": "13"}}}; a text alone is the least
 * version of a fact that is one, else what it has to be.
 *
 * The work's image is needed as well, the last of the list: a node has it, or
 * says nothing of its images (image.h).
 */

#define REQUIRE_MAX 16 /* of one workload */
#define REQUIRE_RULES_MAX 64 /* of the platform */

struct need {
    struct ref rule; /* requirement or class; none: the manifest's own */
    bool card;       /* a fact of the card, else of the node */
    char fact[NAME_MAX_SIZE];
    char at_least[VERSION_TEXT_MAX];
    char below[VERSION_TEXT_MAX];
    char equals[VERSION_TEXT_MAX];
};

/* What applies to the workload with the class that it has; digest_out: equal
 * for equal needs, 0 for none.  image: its image too (where all nodes have it
 * that makes no difference, and should be left out). */
size_t require_list(const struct world *world,
                    const struct workload *workload, bool image,
                    struct need needs_out[REQUIRE_MAX],
                    uint64_t *digest_out);
bool require_is_image(const struct need *need);
/* The same of its image and manifest alone, with rules of any class: whether
 * two workloads of equal classes need the same. */
uint64_t require_digest(const struct world *world,
                        const struct workload *workload);

/* Does the node, does the card fulfil its part of them? */
bool require_node(const struct need *needs, size_t count,
                  const struct node *node);
/* The first that the node does not fulfil, or NULL. */
const struct need *require_node_misses(const struct need *needs, size_t count,
                                       const struct node *node);
bool require_card(const struct need *needs, size_t count,
                  const struct card *card);
/* Does one fact? */
bool require_fact(const struct need *need, const char *text);

/* -1, 0, 1: number by number; a text without a number is below all others. */
int require_compare(const char *a, const char *b);

/* "driver at least 550 (requirement cuda-12: why)" */
#define REQUIRE_TEXT_MAX 200
const char *require_text(char text[REQUIRE_TEXT_MAX],
                         const struct world *world, const struct need *need);
/* Of the pool's cards that are of the class: how many miss this need, and what
 * they have instead. */
struct require_lack {
    int64_t cards, missing;
    int64_t silent;              /* of missing: they do not say */
    char have[VERSION_TEXT_MAX]; /* what most of the others have, "": none */
    int64_t have_count;
};
void require_lack(const struct world *world, struct ref pool,
                  const struct class *class, const struct need *need,
                  struct require_lack *lack_out);
/* The need that most cards of the class miss, the first of equals.  cards:
 * only needs of cards and nodes, the image left out. */
size_t require_hardest(const struct world *world, struct ref pool,
                       const struct class *class, const struct need *needs,
                       size_t count, bool cards,
                       struct require_lack *lack_out);
/* "10 have 535.161, 2 do not say" */
#define REQUIRE_LACK_MAX 140
const char *require_lack_text(char text[REQUIRE_LACK_MAX],
                              const struct require_lack *lack);

/* Makes a node and its card say what is needed: for trials. */
void require_fulfil(const struct need *needs, size_t count,
                    struct buffer *facts, struct card *card);

/* Can the fact be asked for in this way?  field: which it is in the error. */
int require_check(const struct need *need, const char *field,
                  struct error *err);
/* The same of a manifest's "requires", at most REQUIRE_MANIFEST_MAX facts. */
#define REQUIRE_MANIFEST_MAX 8
int require_check_manifest(const json_t *requires, const char *pointer,
                           struct error *err);
/* And of what a class asks for. */
int require_check_class(const struct class *class, struct error *err);

#endif
