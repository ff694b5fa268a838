/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ALTERNATIVE_H
#define CORE_ALTERNATIVE_H

#include "core/reason.h"

/*
 * Which classes may this workload have?
 *
 * A request can name several in `classes`, best first.  `class` is the one
 * that it has, is kept for or was last: what is charged and shown.  Whoever
 * asks about one alternative asks about a copy of the workload that has it.
 */

#define ALTERNATIVE_MAX 8

/* The classes, best first: those of the list, else the one it has. */
size_t alternative_list(const struct world *world,
                        const struct workload *workload,
                        struct ref classes_out[ALTERNATIVE_MAX]);

/* The copies, each with its one class; in the arena unless there is one
 * alternative only. */
const struct workload *alternative_copies(const struct world *world,
                                          const struct workload *workload,
                                          struct arena *arena,
                                          size_t *count_out);

/* Which of these verdicts comes closest to a start, the first of equals. */
size_t alternative_nearest(const struct verdict *verdicts, size_t count);

/* One verdict for them all: each with the bound that binds it.  It is never
 * only when it is for each of them; reason, quota and numbers are those of the
 * nearest. */
void alternative_say(const struct world *world,
                     const struct workload *copies,
                     const struct verdict *verdicts, size_t count,
                     struct verdict *verdict_out);

#endif
