/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_RUN_H
#define TRACE_RUN_H

#include "trace/sequence.h"

/*
 * How much of a cluster does a policy fill?  Pods arrive one after the other;
 * each is placed whenever any node has room, else dropped.
 */

enum run_policy { RUN_VALUE, RUN_FGD, RUN_BEST_FIT };

/* Pods by what they ask for. */
enum run_size {
    RUN_CPU,
    RUN_SHARE,
    RUN_ONE,
    RUN_TWO,
    RUN_FOUR,  /* 3 or 4 cards */
    RUN_EIGHT, /* more */
    RUN_SIZES
};

struct run_settings {
    enum run_policy policy;
    const struct value_profile *profile;
    struct mix *mix;  /* what is known before; counted on when learning */
    bool learns;      /* prices are made anew while pods arrive */
    const struct value *value; /* made of the mix already, or NULL */
};

struct run_result {
    double alloc_100, alloc_130; /* percent of all milli-cards; mean over the
                                    arrivals at that percentage */
    int64_t arrived[RUN_SIZES], accepted[RUN_SIZES];
    double first_refusal[RUN_SIZES]; /* percent arrived; of the end when
                                        nothing was refused */
    size_t decisions;
    double seconds;
    uint64_t digest; /* of every decision */
};

/* The mix of a trace, as if it were known. */
void run_known_mix(const struct openb_trace *trace, struct mix *mix);

void run_sequence(const struct openb_cluster *cluster,
                  const struct openb_trace *trace,
                  const struct sequence *sequence,
                  const struct run_settings *settings,
                  struct run_result *out);

/* The trace's own times: pods come and go.  The cluster of the traces stood
 * nearly empty; copies of each pod, spread over the time, fill it. */
struct run_replay {
    int64_t arrived[RUN_SIZES], accepted[RUN_SIZES];
    double demand, placed; /* milli-card-seconds asked for, and given */
    double peak;           /* percent allocated at most */
    size_t decisions;
    double seconds;
    uint64_t digest;
};
void run_replay(const struct openb_cluster *cluster,
                const struct openb_trace *trace,
                const struct sequence *sequence, int64_t copies,
                const struct run_settings *settings, struct run_replay *out);

#endif
