/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_CDI_H
#define RUNNER_CDI_H

#include <jansson.h>

#include "base/error.h"

struct node;

/*
 * How are this node's cards described to container engines that are not ours?
 *
 * A file of the Container Device Interface, version 0.6.0, kind
 * "bulkhead.card/gpu": one device for each card, named by its UUID in small
 * letters, which is also a name that Kubernetes takes for a device of dynamic
 * resource allocation.  It holds what grant.h gives, and no hooks.  There is
 * no device "all".  Cards that are cut or simulated files have none.
 */

#define CDI_KIND "bulkhead.card/gpu"

/* The caller owns it. */
json_t *cdi_new(struct node *node);
/* Writes it into the policy's directory when it says something new; with no
 * device there is no file. */
int cdi_write(struct node *node, struct error *err);

#endif
