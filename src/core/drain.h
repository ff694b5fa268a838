/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_DRAIN_H
#define CORE_DRAIN_H

#include "core/access.h"
#include "core/change.h"

/*
 * How does all work below a tenant or project leave its cards?  With notice
 * and grace like any other stop; where it goes from there depends on why.
 * One call touches so many at most, and says how many it left: it is repeated.
 */

#define DRAIN_MAX 500 /* workloads of one request */

enum drain {
    DRAIN_WAIT, /* running work goes back to waiting: the node is suspended */
    DRAIN_END,  /* all work is cancelled, waiting work too */
};

struct drained {
    size_t stopped; /* by this call */
    size_t left;    /* still to be touched */
    size_t leaving; /* being stopped: they hold cards until that is confirmed */
};

/* Touches at most `most`.  granted: any decision in this world.  reason: 1 to 200 characters, for the
 * owners of the work. */
int drain_node(const struct granted *granted, struct changes *changes,
               struct ref node, enum drain how, const char *reason,
               size_t most,
               struct drained *out, struct error *err);

enum drain_policy {
    DRAIN_FINISH,  /* what runs ends by itself */
    DRAIN_PREEMPT, /* what is preemptible gets notice */
    DRAIN_MOVE,    /* all gets notice, and begins elsewhere */
};

/* The node takes no more work, and what runs there leaves by the policy, back
 * through the gate.  Repeated with a stricter policy it tells those that were
 * left.  ERROR_CONFLICT for a node that is lost or in its maintenance. */
int drain_machine(const struct granted *granted, struct changes *changes,
                  struct ref ref, enum drain_policy policy,
                  const char *reason, struct error *err);

#endif
