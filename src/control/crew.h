/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_CREW_H
#define CONTROL_CREW_H

#include <stdbool.h>
#include <stddef.h>

#include "control/loop.h"

/*
 * Who does slow work beside the world thread?  A few threads that take jobs
 * from one bounded queue.
 */

struct crew;

struct crew_options {
    unsigned threads;
    size_t jobs_max; /* waiting; 0: no bound */
    /* Each thread's own context: made at its first job, NULL allowed. */
    void *(*open)(void *data);
    void (*close)(void *context);
    void (*work)(void *data, void *context, struct job *job);
    void *data;
};

struct crew *crew_new(const struct crew_options *options);
/* Does what is waiting, then ends the threads. NULL is nothing. */
void crew_free(struct crew *crew);
/* False when the queue is full. */
bool crew_push(struct crew *crew, struct job *job);

#endif
