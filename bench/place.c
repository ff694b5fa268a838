/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many placements a second does the policy make in a full cluster where
 * work comes and goes, and does that depend on the number of nodes?
 *
 * The cluster of the openb traces (1,213 nodes), and one ten times as large,
 * is filled with pods of the trace; then, over and over, a random pod leaves
 * and pods of the trace come until one has found a place.  Placements that
 * found one are counted, per second of one core, beside fragmentation gradient
 * descent over the same index.  Of several rounds the fastest counts, as what
 * else runs on the machine only slows them.  Ends with 1 when a goal is
 * missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/farm.h"

#define DATA "data/openb"
#define TRACE "default"
#define ROUNDS 5
#define PLACEMENTS 100000 /* of a round */
#define GOAL 100000.0
#define FLAT 2.0

struct pods {
    struct farm_place *places;
    uint32_t *classes;
    size_t count;
};

static double
now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Each node that often; equal ones stay side by side. */
static void
enlarge(const struct openb_cluster *small, size_t times, struct arena *arena,
        struct openb_cluster *out)
{
    *out = *small;
    out->count = small->count * times;
    out->milli = small->milli * (int64_t)times;
    out->nodes = arena_alloc(arena, out->count * sizeof(*out->nodes));
    for (size_t i = 0; i < out->count; i++)
        out->nodes[i] = small->nodes[i / times];
    for (size_t k = 0; k < small->supply.kinds; k++)
        out->supply.cards[k] *= (int64_t)times;
}

static uint32_t
draw(const struct openb_trace *trace, uint64_t *random)
{
    return trace->pods[sequence_below(random, trace->count)].class;
}

static void
fill(struct farm *farm, const struct openb_trace *trace, uint64_t *random,
     struct pods *pods)
{
    for (size_t failed = 0; failed < 1000;) {
        uint32_t class = draw(trace, random);
        struct farm_place place = farm_put(farm, class);

        if (place.site == INDEX_NONE) {
            failed++;
            continue;
        }
        pods->classes[pods->count] = class;
        pods->places[pods->count++] = place;
    }
}

/* One round: placements that found a place, a second. */
static double
churn(struct farm *farm, const struct openb_trace *trace, uint64_t *random,
      struct pods *pods)
{
    double started = now();

    for (size_t done = 0; done < PLACEMENTS; done++) {
        size_t i = sequence_below(random, pods->count);

        farm_remove(farm, pods->classes[i], pods->places[i]);
        do {
            pods->classes[i] = draw(trace, random);
            pods->places[i] = farm_put(farm, pods->classes[i]);
        } while (pods->places[i].site == INDEX_NONE);
    }
    return PLACEMENTS / (now() - started);
}

static double
measure(const struct openb_cluster *cluster, const struct openb_trace *trace,
        struct mix *mix, enum run_policy policy)
{
    scoped_arena arena = arena_new();
    struct run_settings settings = { .policy = policy,
                                     .profile = &value_turnover,
                                     .mix = mix };
    struct pods pods = { 0 };
    struct sequence sequence;
    uint64_t random = 1;
    struct farm farm;
    double rate, best = 0;

    /* No pod is smaller than a hundredth of a node. */
    pods.places = arena_alloc(arena, 100 * cluster->count * sizeof(*pods.places));
    pods.classes =
        arena_alloc(arena, 100 * cluster->count * sizeof(*pods.classes));
    sequence_make(cluster, trace, 1, 1.0, arena, &sequence);
    farm_init(&farm, cluster, trace, sequence.order, &settings);
    fill(&farm, trace, &random, &pods);
    for (int i = 0; i < ROUNDS; i++) {
        rate = churn(&farm, trace, &random, &pods);
        best = rate > best ? rate : best;
    }
    farm_release(&farm);
    return best;
}

static bool
judge(const char *what, bool good)
{
    printf("%-4s  %s\n", good ? "PASS" : "FAIL", what);
    return good;
}

int
main(void)
{
    scoped_arena arena = arena_new();
    struct openb_cluster cluster[2];
    struct openb_trace trace;
    struct mix mix = { 0 };
    struct error err;
    double rate[2];
    bool good = true;

    if (openb_read_cluster(DATA, arena, &cluster[0], &err) != 0 ||
        openb_read_trace(DATA, TRACE, &cluster[0], arena, &trace, &err) != 0) {
        fprintf(stderr, "bench-place: %s\n", err.text);
        return 1;
    }
    enlarge(&cluster[0], 10, arena, &cluster[1]);
    run_known_mix(&trace, &mix);
    printf("placements a second with departures, trace " TRACE "\n");
    for (int i = 0; i < 2; i++) {
        rate[i] = measure(&cluster[i], &trace, &mix, RUN_VALUE);
        printf("%6zu nodes  policy %9.0f  fgd %9.0f\n", cluster[i].count,
               rate[i], measure(&cluster[i], &trace, &mix, RUN_FGD));
    }
    mix_release(&mix);
    good &= judge("1,213 nodes: at least 100,000 a second", rate[0] >= GOAL);
    good &= judge("12,130 nodes: at least 100,000 a second", rate[1] >= GOAL);
    good &= judge("ten times the nodes: at most half as fast",
                  rate[0] / rate[1] <= FLAT);
    return good ? 0 : 1;
}
