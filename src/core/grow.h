/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GROW_H
#define CORE_GROW_H

#include "core/gate.h"
#include "core/queue.h"

/*
 * Which elastic gang gets one more instance, and where?
 *
 * A gang that runs with fewer instances than its most grows into what is free
 * now: within every limit, in its pool and as close as it asked, beside what
 * is held, booked or reserved.  It takes nothing from anybody: while other
 * work waits that could use the pool, or that waits for a limit of the same
 * tenant, no gang there grows.  One instance at a time: the highest priority
 * first, then the gang with the least surplus, then the oldest.
 */

struct grow;

struct grow *grow_new(struct arena *arena, const struct world *world);
/* Finds the gangs that are there; false when the slice ended before that. */
bool grow_load(struct grow *grow, struct budget *budget);
/* Follows the world. */
void grow_note(struct grow *grow, const struct trail_step *step);

struct growth {
    const struct workload *workload;
    int64_t number; /* of the instance in the gang */
    struct place_request request;
    struct placement placement; /* one seat */
};

/* After no waiting group is ready.  False when no gang can grow now; each is
 * looked at again when something could have changed that. */
bool grow_find(struct grow *grow, struct gate *gate, struct estate *estate,
               struct queue *queue, struct arena *arena,
               struct growth *growth_out);
/* The same for one gang; else verdict_out says why it does not grow.  Without a
 * queue (NULL) those who wait are looked up in the world. */
bool grow_one(struct gate *gate, struct estate *estate, struct queue *queue,
              const struct workload *workload, struct arena *arena,
              struct growth *growth_out, struct verdict *verdict_out);
/* Would nobody grow who was not looked at?  For schedule_is_true. */
bool grow_is_true(struct grow *grow, struct gate *gate, struct estate *estate,
                  struct queue *queue, struct arena *arena);

#endif
