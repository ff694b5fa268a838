/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ASSIGN_H
#define CORE_ASSIGN_H

#include "core/reclaim.h"

/*
 * What does a decision of the scheduler change?  Fills the change set; the
 * estate learns of it when it was applied.  Nothing here decides.
 */

/* The workload gets these parts: instances, bindings, numbers; its holds end. */
void assign_start(const struct estate *estate, struct changes *changes,
                  const struct workload *present,
                  const struct place_request *request,
                  const struct placement *placement);

/* One more instance of an elastic gang that runs. */
void assign_grow(const struct estate *estate, struct changes *changes,
                 const struct workload *present,
                 const struct place_request *request, const struct seat *seat,
                 int64_t number);

/* The victims (none: everything it needs is being released already) get
 * notice with the proof; the parts of the placement are held for the
 * workload. */
void assign_nominate(const struct estate *estate, struct changes *changes,
                     const struct workload *present,
                     const struct demand *demand,
                     const struct place_request *request,
                     const struct reclaim_plan *plan);

/* Cards that are held for the workload, and that nobody has any more, are put
 * into the mode that it needs: cut into slices, or whole. */
void assign_cut(struct changes *changes, struct ref workload);

#endif
