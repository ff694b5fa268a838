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

/* Every extent that self's new guarantee lies in must hold what is claimed of
 * it by all tenants together. */
int quota_claims_check(const struct quota_case *check, struct error *err);
/* What is guaranteed of any scope below a tenant fits each guarantee of cards
 * above it that counts the same use. */
int quota_claims_nested(const struct quota_case *check, struct error *err);
/* An alarm of the pool, and of the platform for all pools, names the tenants
 * that are at risk while health has broken what was guaranteed. */
void quota_claims_watch(struct changes *changes);

#endif
