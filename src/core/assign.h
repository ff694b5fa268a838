/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ASSIGN_H
#define CORE_ASSIGN_H

#include "core/reclaim.h"

/*
 * What does a decision of the scheduler change?  Fills the change set and
 * brings the estate up to it.  Nothing here decides.
 */

/* The workload gets these parts: instances, bindings, numbers; its holds end.
 * The estate does not count them as own any more. */
void assign_start(struct estate *estate, struct changes *changes,
                  const struct workload *present,
                  const struct place_request *request,
                  const struct placement *placement);

/* The victims (none: everything it needs is being released already) get
 * notice with the proof; the parts of the placement are held for the
 * workload. */
void assign_nominate(struct estate *estate, struct changes *changes,
                     const struct workload *present,
                     const struct demand *demand,
                     const struct place_request *request,
                     const struct reclaim_plan *plan);

/* The nomination ends; its parts are free for everybody. */
void assign_drop(struct estate *estate, struct changes *changes,
                 struct ref workload);

#endif
