/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_DEVICES_H
#define RUNNER_DEVICES_H

#include <jansson.h>
#include <stddef.h>

#include "base/error.h"
#include "runner/grant.h"

struct instance;
struct node;

/*
 * Can an instance reach the devices that it was given, and no others?  Looked
 * at from outside: the device nodes below its /dev, and the rules of its
 * control group as the kernel has them.
 *
 * The group lies below the runner's own, which no service manager knows: its
 * rules are not built anew when that loads its units.  Whoever changes them
 * all the same is found by the audit: a rule that is missing is put back, and
 * an instance that can reach more than it was given is ended.
 *
 * With control groups v2 the rules are a program that the kernel does not
 * show; there it is only seen whether there is one.
 */

struct devices {
    size_t missing, extra; /* nodes and rules */
    char text[160];        /* the first of them */
};

int devices_look(struct node *node, const struct instance *instance,
                 const struct grant *grant, struct devices *out,
                 struct error *err);
/* The same for an instance that does not run yet; any difference fails with
 * ERROR_VERIFY. */
int devices_verify(struct node *node, const struct instance *instance,
                   struct error *err);

/* Looks at all that run: {"checked", "mended", "stopped"}. */
json_t *devices_audit(struct node *node);

#endif
