/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_ARRIVALS_H
#define TRACE_ARRIVALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Which work arrives when?  A CSV file whose first line names its columns, in
 * any order:
 *
 *   at_s        when it is submitted, seconds from the beginning
 *   project     TENANT/PROJECT
 *   class       what one instance gets
 *   run_s       how long it runs, from its start
 * and, where wanted,
 *   name, count (that many of it), instances, priority, kind, preemptible
 *   (true, false), max_run_s, checkpoint_s (how often it saves its work; left
 *   out: a run that is preempted begins anew), cpu_milli, memory_mib
 *
 * An empty cell is a column that is left out.  Seconds have at most three
 * digits behind the point.  Lines of equal times stay in their order.
 */

#define ARRIVALS_MAX 2000000

struct arrival {
    int64_t at_ms, run_ms;
    int64_t checkpoint_ms, max_run_ms; /* 0: none */
    int64_t count, instances;
    int64_t cpu_milli, memory_mib; /* 0: what a submission gets */
    const char *tenant, *project, *class;
    const char *name, *priority, *kind; /* "": left out */
    int preemptible; /* -1: left out */
    size_t line;     /* of the file, from 1 */
};

struct arrivals {
    struct arrival *list; /* by at_ms, then line */
    size_t count;
};

/* Texts stay in the arena.  ERROR_INVALID names line, column and value. */
int arrivals_read(const char *text, struct arena *arena,
                  struct arrivals *out, struct error *err);

#endif
