/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_USAGE_PRIVATE_H
#define API_USAGE_PRIVATE_H

#include "api/handlers.h"
#include "api/history.h"

/* The inside of usage reports, for usage*.c. */

#define GROUPS_MAX 5

enum group {
    GROUP_TENANT,
    GROUP_PROJECT,
    GROUP_USER,
    GROUP_WORKLOAD,
    GROUP_CLASS,
    GROUP_POOL,
    GROUP_MODEL,
    GROUP_FORM,
    GROUP_NODE,
    GROUP_CARD,
    GROUP_COUNT
};
extern const char *const usage_groups[];

struct use {
    const char *keys[GROUPS_MAX]; /* "": none */
    const char *usage;            /* class of the time */
    const char *meter;
    int64_t price_nano;
    int64_t quantity;
};

struct report {
    struct arena *arena;
    struct history_scope scope;
    char tenant[ID_TEXT_MAX]; /* "": not only one */
    enum group groups[GROUPS_MAX];
    size_t group_count;
    int64_t from_ms, to_ms, now_ms;
    struct use *uses;
    size_t count, room;
    json_t *names;
    char currency[8];
    bool overflow;
    struct usage_terms *terms; /* usage_terms.c */
};

void usage_add(struct report *report, const struct use *use);
/* The key of a group that a binding belongs to; "": none. */
const char *usage_key(const struct world *world, struct arena *arena,
                      enum group group, const struct binding *binding);
/* A value that a reader took, as a key. */
const char *usage_text(struct arena *arena, const struct value *value);

/*
 * Commitments: what they cost, and what they cover of the use
 * (core/commitment.h).  Rows of usage "committed" have the price of the
 * commitment, those of "covered" take the price of the use back.
 */
/* World thread. */
void usage_terms_read(const struct granted *granted, struct report *report);
/* Reader thread: adds the rows. */
int usage_terms_add(struct store_reader *reader, struct report *report,
                    struct error *err);
void usage_terms_free(struct report *report);

#endif
