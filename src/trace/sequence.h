/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_SEQUENCE_H
#define TRACE_SEQUENCE_H

#include "trace/openb.h"

/*
 * In which order do the pods of a trace arrive, and in which order do nodes
 * stand?  The protocol of the published simulator: shuffle the pods, then
 * append pods drawn with replacement until the demand is `load` times the
 * capacity, or remove pods at random places until it is not more.
 */

struct sequence {
    uint32_t *classes;
    size_t count;
    size_t room;
    uint32_t *order; /* node at each place */
};

/* splitmix64 (Steele, Lea, Flood, 2014). */
uint64_t sequence_random(uint64_t *state);
/* Below bound, without bias. */
uint64_t sequence_below(uint64_t *state, uint64_t bound);

void sequence_make(const struct openb_cluster *cluster,
                   const struct openb_trace *trace, uint64_t seed, double load,
                   struct arena *arena, struct sequence *out);

#endif
