/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HOLDINGS_H
#define CORE_HOLDINGS_H

#include "core/model.h"

/*
 * Which grants does a subject have, without a look at the grants themselves?
 *
 * A grant is large and lies anywhere in memory, so to look at each of a
 * subject's is what a decision would wait for.  Most of them do not concern
 * the object that is asked about, and of most nothing counts but node and
 * role.  That much lies here, a subject's lines side by side in the order of
 * the grants, four to a line of the processor's cache.
 *
 * Kept by world_link, world_unlink and world_apply.
 */

struct holding {
    uint32_t node, role, grant; /* slots */
    uint8_t node_kind;
    bool whole; /* the grant has all verbs of its role that can sit on the
                   node, and no condition */
};

struct holdings_list {
    uint32_t count, room;
    struct holding lines[];
};

#define HOLDINGS_PIECE 128 /* lists */
#define HOLDINGS_KINDS 3   /* users, service accounts, groups */

/* By the slot of the subject, in pieces, as heads.h. */
struct holdings {
    struct holdings_of {
        struct holdings_list ***pieces;
        size_t count; /* of pieces, also those that are NULL */
    } of[HOLDINGS_KINDS];
};

void holdings_release(struct holdings *holdings);
void holdings_copy(struct holdings *copy, const struct holdings *holdings);
/* Puts a grant in behind `before` others of its subject. */
void holdings_put(struct holdings *holdings, const struct grant *grant,
                  uint32_t before);
/* The grant was changed, but for its subject. */
void holdings_renew(struct holdings *holdings, const struct grant *grant);
void holdings_drop(struct holdings *holdings, const struct grant *grant);
/* NULL: the subject has none, or is none. */
const struct holdings_list *holdings_find(const struct holdings *holdings,
                                          struct ref subject);

#endif
