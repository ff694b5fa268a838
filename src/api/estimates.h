/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_ESTIMATES_H
#define API_ESTIMATES_H

#include "api/exchange.h"
#include "core/estimate.h"

/*
 * Who computes start estimates (core/estimate.h), and when?
 *
 * Only while somebody reads them: each second, for those of the next minutes.
 * The copy is made on the world thread, the steps are taken by a worker, a few
 * milliseconds at a time; then there is a rest, many times as long as both
 * took, so that estimates never cost more than a small part of the machine.
 * What a tenant is shown does not tell whether others read or change
 * something.  Nothing of it is stored: after
 * a restart they are computed anew.  All functions: world thread.
 */

struct estimator;

struct estimator *estimates_new(struct api *api);
void estimates_free(struct estimator *estimator); /* when no task runs */

/* The last ones that were begun since the tenant of the subject reads them, or
 * NULL. */
const struct estimates *estimates_read(struct estimator *estimator,
                                       struct ref subject);
/* Puts "estimate" of a waiting workload before the end of its JSON text. */
void estimates_add(struct estimator *estimator, struct ref subject,
                   const struct workload *workload, struct buffer *out);

#endif
