/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_PRIVATE_H
#define CORE_QUOTA_PRIVATE_H

#include "core/quota.h"
#include "core/scope.h"

/* Shared by quota*.c only. */

/* Saturates. */
int64_t quota_plus(int64_t a, int64_t b);
/* "project p1 in pool a": the node and what the quota is about there. */
#define QUOTA_WHERE_MAX (NAME_MAX_SIZE + 16 + SCOPE_TEXT_MAX)
const char *quota_where(char text[QUOTA_WHERE_MAX], const struct world *world,
                        const struct quota *quota);

/* One check: the quota as it would be, in a set of changes. */
struct quota_case {
    const struct granted *viewer;
    const struct changes *changes;
    const struct world *world;
    const struct quota *self;
    const struct quota *before; /* NULL: it is new */
    bool given; /* guarantees that were given count too */
};

/* Cards of one pool (none: of all), of a class, vendor and model. */
struct quota_extent {
    struct ref pool, class;
    const char *vendor, *model;
};
/* Milli-cards that guarantees in the extent can be met with. */
int64_t quota_healthy(const struct quota_case *check,
                      const struct quota_extent *extent);
/* Does a quota guarantee cards that can be none but the extent's?  in_pool: of
 * those for one pool alone. */
bool quota_is_claim(const struct quota_case *check, const struct quota *quota,
                    const struct quota_extent *extent, bool in_pool);
/* What one node can claim of the extent's cards at least: its guarantees
 * count the same use when they overlap, but those of two pools do not. */
int64_t quota_claim(const struct quota_case *check, struct ref node,
                    const struct quota_extent *extent);

/* Every extent that self's new guarantee lies in must hold what is claimed of
 * it by all tenants together. */
int quota_claims_check(const struct quota_case *check, struct error *err);
/* What is guaranteed of any scope below a tenant fits each guarantee of cards
 * above it that counts the same use. */
int quota_claims_nested(const struct quota_case *check, struct error *err);
/* An alarm of the pool, and of the platform for all pools, names the tenants
 * that are at risk while health has broken what was guaranteed. */
void quota_claims_watch(struct changes *changes);
/* Shares out what is healthy among the guarantees that it cannot all meet. */
void quota_portions_watch(const struct quota_case *check,
                          struct changes *changes);

#endif
