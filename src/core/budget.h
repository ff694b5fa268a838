/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_BUDGET_H
#define CORE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * May this slice of work go on?
 *
 * A unit is about 100 ns.  What is left undone goes on in the next slice;
 * caches alone are made piece by piece, and nothing is decided before they are
 * whole, so that decisions do not depend on where slices end.  The first piece
 * of a slice is always granted, however large: whoever comes back gets on.
 */

struct budget {
    int64_t left;
    bool late; /* something that was asked for is not whole: what was found out
                  since means nothing and has to be asked again */
};
#define BUDGET_ALL INT64_MAX

/* Takes what the next piece costs; false when the slice is over.  Without a
 * budget (NULL) it never is. */
static inline bool
budget_take(struct budget *budget, int64_t units)
{
    if (budget == NULL)
        return true;
    if (budget->left <= 0)
        return false;
    budget->left -= units;
    return true;
}

static inline void
budget_set_late(struct budget *budget)
{
    if (budget != NULL)
        budget->late = true;
}

static inline bool
budget_is_late(const struct budget *budget)
{
    return budget != NULL && budget->late;
}

#endif
