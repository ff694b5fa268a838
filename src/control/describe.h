/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_DESCRIBE_H
#define CONTROL_DESCRIBE_H

#include "control/commit.h"
#include "core/access.h"
#include "core/record.h"

/*
 * How do actor, object and changes look in an audit record?  Fills the
 * record's texts; the arena owns them.
 */

void describe_actor(struct record *record, struct arena *arena,
                    const struct world *world, const struct actor *actor);
/* The object as it is resolved; ref none leaves it out. */
void describe_object(struct record *record, struct arena *arena,
                     const struct world *world, struct ref ref);

/* One line for each touched object of the scope, from touches[*next] on, at
 * most what fits in one record: "ID VERSION SHA256" as stored, or "ID gone".
 * Moves *next behind them. */
const char *describe_touches(struct arena *arena, const struct touch *touches,
                             size_t count, struct ref scope, size_t *next);
/* Reads such a line at *facts and moves behind it: 1, 0 at the end, -1 when
 * it is none.  version -1: gone. */
int describe_next_touch(const char **facts, char id[ID_TEXT_MAX],
                        int64_t *version_out, struct digest *digest_out);

#endif
