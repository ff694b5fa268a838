/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_SPACE_H
#define CONTROL_SPACE_H

#include "control/loop.h"

/*
 * Is there room for the records of what is about to happen?  When the disk
 * is nearly full, commands that change something are refused before they
 * begin (loop_full), readiness says why, and a reserve that was allocated at
 * the start is given free, so that the record of it fits.
 */

#define SPACE_VERB_FULL "audit.full"
#define SPACE_VERB_ROOM "audit.room"
#define SPACE_RESERVE ((int64_t)8 * 1024 * 1024)

struct space;

struct space_options {
    const char *directory;
    int64_t low; /* bytes; below it is full, from twice as much it is not */
    int64_t (*free_bytes)(const char *directory); /* NULL: statvfs; tests */
};

/* Allocates the reserve, or as much of it as there is. */
struct space *space_new(struct loop *loop,
                        const struct space_options *options);
void space_free(struct space *space); /* behind loop_stop */
/* Looks, every second or so.  One thread. */
void space_look(struct space *space);

#endif
