/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_FGD_H
#define TRACE_FGD_H

#include "core/value.h"

/*
 * Policies to compare with.  Fragmentation gradient descent (Weng et al.,
 * USENIX ATC 2023): F(n) is what of a node's free milli-cards the typical
 * pods, weighted by frequency, cannot use; a pod goes where F grows least.
 * Best fit of the same simulator: least CPU and cards left over.
 */

struct fgd;

/* The typical pods are the most frequent classes up to 95% of all. */
struct fgd *fgd_new(const struct mix *mix, struct arena *arena);
double fgd_of(const struct fgd *fgd, const struct value_node *node);
/* 0..100, as the published simulator rounds it; -1: does not fit.  card_out
 * as for value_gain. */
int fgd_score(const struct fgd *fgd, const struct value_node *node,
              double before, const struct shape *shape, int *card_out);
int fgd_best_fit(const struct value_node *node, const struct shape *shape,
                 int *card_out);

#endif
