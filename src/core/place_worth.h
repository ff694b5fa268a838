/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_WORTH_H
#define CORE_PLACE_WORTH_H

#include "core/place.h"

/*
 * What does a node lose for the work that is still to come, when instances are
 * put there?  The difference of its value (value.h) before and after.  Shares
 * go onto cards that their tenant uses in part already, as long as they fit
 * there: a new one would be lost for all others.
 */

struct place_worth {
    int64_t opened; /* shares: cards that were free of work before */
    double loss;
};

/* Is there an expect that says so?  Slices have rules of their own. */
bool place_worth_is_known(const struct estate *estate,
                          const struct place_request *request);

/* parts: those of one site that passed the filters; the instances fit there.
 * taken_out (NULL: not needed): for shares, the index in parts of the card of
 * each instance. */
void place_worth_of(const struct estate *estate,
                    const struct place_request *request, enum place_when when,
                    uint32_t site, const uint32_t *parts, size_t count,
                    int64_t instances, struct place_worth *out,
                    uint32_t *taken_out);

/* First fit among places this little worse. */
double place_worth_slack(const struct estate *estate);

#endif
