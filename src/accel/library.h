/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the backends of vendors' libraries share.
 */
#ifndef BULKHEAD_ACCEL_LIBRARY_H
#define BULKHEAD_ACCEL_LIBRARY_H

#include "accel/accel.h"

/* Loads the library `name`, from `directory` when there is one, else from
 * where the system has it; `origin` says with what it comes.
 * NULL: ERROR_NOT_FOUND. */
void *library_open(const char *directory, const char *name, const char *origin,
                   struct error *err);
/* The calls that follow are about that card, "": about none. */
void library_say(const struct accel *accel, const char *key);
/* The cards of one look: where the first has its UUID, and how far it is to
 * that of the next. */
struct library_cards {
    const char *uuid;
    size_t stride, count;
};

/* Which of them has the UUID that the text begins with, `size` bytes of it;
 * `count` when none has. */
size_t library_find(struct library_cards cards, const char *text, size_t size);
/* The list of a backend, in the arena. */
void library_list(struct library_cards cards, struct arena *arena,
                  const char *const **uuids_out, size_t *count_out);
/* Cards are on this node, whatever it is called. */
const char *library_node_name(const struct accel *accel);

#endif
