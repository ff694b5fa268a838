/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_LIFECYCLE_PRIVATE_H
#define CORE_LIFECYCLE_PRIVATE_H

#include "core/lifecycle.h"

/* The inside of the life of workloads, for lifecycle*.c. */

/* Could the instance still run? */
bool lifecycle_is_up(const struct instance *instance);
/* Did it end without being told to, other than well? */
bool lifecycle_failed(const struct instance *instance);
const struct instance *lifecycle_instance(const struct changes *changes,
                                          struct ref ref);
const struct workload *lifecycle_workload(const struct changes *changes,
                                          const struct instance *instance);
struct workload *lifecycle_move(struct changes *changes, struct ref ref,
                                int state);
/* Moves a workload on once its attempt is over. */
void lifecycle_settle(struct changes *changes, struct ref ref);

/* Was any of it, in this attempt, on a card that failed? */
bool lifecycle_attempt_was_bad(const struct changes *changes,
                               const struct workload *workload);
/* Its last failure is not counted: a card was it. */
void lifecycle_forgive(struct changes *changes, struct ref ref);

#endif
