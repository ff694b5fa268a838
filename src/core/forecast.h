/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_FORECAST_H
#define CORE_FORECAST_H

#include "base/json.h"
#include "core/change.h"
#include "core/schedule.h"

/*
 * What happens next in this world, if nothing new comes from outside?
 *
 * A forecast owns a world (a clone, or one that was made by hand) and moves
 * its clock by hand: the same scheduler decides, and the nodes do as they are
 * told.  What is assigned starts after start_ms; what runs ends after its
 * known duration, else after its longest run time, else never; what is told
 * to stop is gone after its grace (or stop_ms); a card has passed its
 * handover after scrub_ms.  Nodes whose lease is over at the beginning stay
 * away, all others stay at their posts, nothing fails.
 *
 * Same world, same options: same forecast, byte for byte.
 */

struct forecast_options {
    int64_t start_ms; /* from assignment to running, >= 0 */
    int64_t scrub_ms; /* handover of a card after a release, >= 0 */
    int64_t stop_ms;  /* from notice to gone; < 0: the whole grace */
};

enum forecast_what {
    FORECAST_START,   /* a workload got its cards */
    FORECAST_PREEMPT, /* it got notice to make room */
    FORECAST_END,     /* it is over: succeeded, failed, cancelled */
};
struct forecast_event {
    enum forecast_what what;
    int64_t at_ms;
    struct ref workload;
    int state; /* enum workload_state after it */
};
typedef void forecast_sink(void *context, const struct world *world,
                           const struct forecast_event *event);

/* What every forecast assumes, with a sentence about how long work runs; a new
 * reference. */
json_t *forecast_assumptions(const char *length);

struct forecast;

/* Takes the world over and frees it in the end. */
struct forecast *forecast_new(struct world *world, int64_t now_ms,
                              const struct forecast_options *options);
void forecast_free(struct forecast *forecast);
const struct world *forecast_world(const struct forecast *forecast);
int64_t forecast_now_ms(const struct forecast *forecast);

/* A set of the caller's own, at the forecast's time: a submission, a changed
 * quota, another node.  Then forecast_apply or forecast_drop. */
struct changes *forecast_begin(struct forecast *forecast);
void forecast_apply(struct forecast *forecast, struct changes *changes);
void forecast_drop(struct forecast *forecast, struct changes *changes);
/* A node's agent is at its post. */
void forecast_node(struct forecast *forecast, struct ref node);
/* How long the workload runs in all, ms, and how often it writes a
 * checkpoint (0: never, a preempted run is lost). */
void forecast_duration(struct forecast *forecast, struct ref ref,
                       int64_t run_ms, int64_t checkpoint_ms);

/* Each event goes to the sink (may be NULL) once it is applied. */
void forecast_listen(struct forecast *forecast, forecast_sink *sink,
                     void *context);

/* Each set that is applied goes here too, before its arena is freed: facts
 * and whatever else an auditor wants to see. */
typedef void forecast_audit(void *context, const struct world *world,
                            const struct changes *changes);
void forecast_inspect(struct forecast *forecast, forecast_audit *audit,
                      void *context);

enum forecast_end {
    FORECAST_REACHED, /* until_ms */
    FORECAST_QUIET,   /* nothing will happen any more by itself */
    FORECAST_BUDGET,  /* that many decisions were made */
};
/* Goes on until until_ms (inclusive), or until nothing more can happen
 * before it, or until `decisions` were made. */
enum forecast_end forecast_run(struct forecast *forecast, int64_t until_ms,
                               int64_t decisions);

#endif
