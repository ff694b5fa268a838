/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_STUDY_H
#define TRACE_STUDY_H

#include "trace/run.h"

/*
 * How does the policy compare with FGD, trace by trace?  Each seed gives both
 * the same arrivals and the same order of nodes.
 */

enum study_mix {
    STUDY_KNOWN,  /* the frequencies of the trace itself, as FGD gets them */
    STUDY_LEARNT, /* counted on another seed's arrivals, and on */
    STUDY_COLD,   /* counted from nothing */
};

struct study_options {
    const char *directory;
    const char *const *names; /* of the traces */
    size_t name_count;
    int64_t first_seed, last_seed;
    double load; /* demand that arrives, over capacity */
    enum study_mix mix;
    bool replay;     /* the pods' own times */
    int64_t copies;  /* of each pod, in a replay */
    int threads;
    const struct value_profile *profile;
};

/* Means over the seeds; percent. */
struct study_policy {
    double alloc_100, alloc_130;
    double accepted[RUN_SIZES]; /* of those that arrived; 100 when none */
    double first_refusal[RUN_SIZES]; /* medians */
    double placed, peak; /* of a replay: milli-card-seconds, cards */
    double decisions_per_s;
    uint64_t digest; /* of all decisions */
};
struct study_row {
    const char *trace;
    double published_100, published_130; /* -1: not known */
    struct study_policy value, fgd;
};

/* One row a trace, in the arena. */
int study_run(const struct study_options *options, struct arena *arena,
              struct study_row **rows_out, struct error *err);
/* Of n rows; published values only when all are known. */
struct study_row study_mean(const struct study_row *rows, size_t count);

#endif
