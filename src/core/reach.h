/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REACH_H
#define CORE_REACH_H

#include "core/world.h"

/*
 * Which grants does a subject have, and by what?  Its own, then those of each
 * group that it is a member of.  A group's grants are never copied: they are
 * found through the membership at each question, so they end with it.
 * Groups hold no groups, and a subject is in at most REACH_GROUPS_MAX.
 */

#define REACH_EVER INT64_MIN /* as if no membership had ended */

#define REACH_GROUPS_MAX 32
#define REACH_MEMBERS_MAX 5000 /* of one group */

struct reach {
    const struct world *world;
    struct ref subject;
    int64_t now_ms;
    struct ref member; /* the membership it comes by; none: its own */
    struct ref grant;  /* none: there are no more */
    struct ref node, role; /* of the grant */
    bool whole;            /* the grant takes nothing from its role and has no
                              condition, see holdings.h */
    struct ref holder;     /* the subject, or the group that it comes by */
    const struct holdings_list *list; /* of the holder */
    uint32_t at;
};

/* The first grant of a user, service account or group.  Memberships that are
 * over by now_ms count no more. */
struct reach reach_first(const struct world *world, struct ref subject,
                         int64_t now_ms);
void reach_next(struct reach *reach);
/* The group that the grant comes by; none: the subject's own. */
struct ref reach_group(const struct reach *reach);

/* When the grant ends for the subject, with the membership at the latest; 0:
 * never. */
int64_t reach_end(const struct reach *reach);

#define reach_each(world, subject, now_ms, each)                              \
    for (struct reach each = reach_first(world, subject, now_ms);             \
         !ref_is_none((each).grant); reach_next(&(each)))

/* Is the subject the group itself, or a member of it, be it over? */
bool reach_is_in(const struct world *world, struct ref subject,
                 struct ref group);

#endif
