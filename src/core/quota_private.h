/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_PRIVATE_H
#define CORE_QUOTA_PRIVATE_H

#include "core/quota.h"
#include "core/scope.h"

/* Shared by quota.c, quota_right.c and quota_check.c only. */

/* Saturates. */
int64_t quota_plus(int64_t a, int64_t b);
/* "project p1 in pool a": the node and what the quota is about there. */
#define QUOTA_WHERE_MAX (NAME_MAX_SIZE + 16 + SCOPE_TEXT_MAX)
const char *quota_where(char text[QUOTA_WHERE_MAX], const struct world *world,
                        const struct quota *quota);

#endif
