/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_CHECK_H
#define CONTROL_CHECK_H

#include "base/json.h"
#include "core/world.h"
#include "store/store.h"

/*
 * Is what must always hold true now?
 *
 *   counters   each derived counter (quotas, cards, nodes) is the sum over
 *              live objects, counted again from nothing
 *   exclusive  a card's bindings and holds never exceed it, now or at any
 *              past instant; shares of one card belong to one tenant
 *   guarantee  children's guarantees sum to at most their parent's
 *   life       bindings, instances and workloads agree on what is live
 *   usage      each card's facts add up to 1000 x wall time, without gap
 *   record     each stored object is as its last audit record says, and the
 *              records are those that the logs' leaves commit to
 */

enum check_rule {
    CHECK_COUNTERS,
    CHECK_EXCLUSIVE,
    CHECK_GUARANTEE,
    CHECK_LIFE,
    CHECK_USAGE,
    CHECK_RECORD,
    CHECK_RULE_COUNT
};

#define CHECK_FINDINGS 100 /* more are counted, not described */

struct check_finding {
    enum check_rule rule;
    char object[ID_TEXT_MAX]; /* whose rule is broken; a log: its scope */
    char text[256];
};

struct check_card;

struct check {
    struct arena *arena; /* the caller's; lives as long as this */
    struct check_finding findings[CHECK_FINDINGS];
    size_t broken;                    /* findings in all */
    uint64_t looked[CHECK_RULE_COUNT]; /* objects, cards, rows looked at */
    int64_t from_ms;                  /* history from then on */
    /* private */
    struct check_card *cards; /* as of check_world */
    size_t card_count;
};

/* from_ms: how far back history is looked at, 0: all of it. */
void check_begin(struct check *check, struct arena *arena, int64_t from_ms);
/* What is in memory.  World thread; pure. */
void check_world(struct check *check, const struct world *world);
/* What is stored, after check_world became durable.  Any thread.  -1 when it
 * cannot be read. */
int check_history(struct check *check, struct store_reader *reader,
                  struct error *err);
/* {"clean", "broken", "items": [{"rule", "object", "text"}], "looked"}; a new
 * reference. */
json_t *check_json(const struct check *check);
const char *check_rule_text(enum check_rule rule);

/* For the parts of the check. */
void check_fail(struct check *check, enum check_rule rule,
                const char *object, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

#endif
