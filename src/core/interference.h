/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INTERFERENCE_H
#define CORE_INTERFERENCE_H

#include <jansson.h>

#include "core/change.h"
#include "core/report.h"

/*
 * Is an instance slowed by its neighbours, by which, and what is done about
 * it?
 *
 * A node reports of each instance what it used in a window.  From that comes
 * its pace in each resource:
 *
 *   cpu      of the time that it could run, the part that it ran, permille
 *   io       KiB a second of disks
 *   network  KiB a second
 *   card     of the compute units, the part that was busy for it, permille
 *
 * Its own pace in windows in which its neighbours were quiet is the base;
 * others never count towards it.  The index is base / pace in thousandths:
 * 1000 is as alone, 2000 twice as slow.  An instance is slowed when its index
 * was at the pool's threshold in every window for as long as the pool says,
 * and no more when it was half as far above 1000 for as long.  What its own
 * workload uses is no disturbance.
 *
 * The cause is the instance that uses most of the resource, and more than the
 * one that is slowed.  The pool says what follows:
 *
 *   observe  alarms alone
 *   cap      the cause is held to a share of what it uses now, again and again
 *            until nobody is slowed by it; lifted after a time that doubles
 *            with every cap of that instance
 *   move     the cause is stopped with notice and runs again elsewhere; one
 *            that may not be preempted is capped
 *   isolate  that, and the node takes no new work meanwhile
 *
 * The owner of either side is told of shared resource contention, without a
 * word about whose; the node's alarm, for the platform's people, names both.
 */

enum interference_resource {
    INTERFERENCE_CPU,
    INTERFERENCE_IO,
    INTERFERENCE_NETWORK,
    INTERFERENCE_CARD,
    INTERFERENCE_RESOURCES
};

/* For a pool that says nothing else. */
#define INTERFERENCE_INDEX_MILLI 1300
#define INTERFERENCE_WINDOW_MS 30000
#define INTERFERENCE_HOLD_MS 300000
#define INTERFERENCE_FAIR_PERMILLE 500
/* Quiet windows before a base counts. */
#define INTERFERENCE_LEARNT 3
/* What everybody is left. */
#define INTERFERENCE_CPU_MILLI_MIN 50
#define INTERFERENCE_IO_KIB_MIN 1024
#define INTERFERENCE_NETWORK_KIB_MIN 128

/* What is known of one instance and one resource. */
struct interference_track {
    int64_t base;        /* its pace alone; 0: none yet */
    int64_t quiet;       /* windows that it was learnt from */
    int64_t pace;        /* in the last window; 0: it wanted nothing */
    int64_t index_milli; /* 0: not known */
    bool slowed;
    int64_t turning_ms; /* the last windows all say otherwise, since; 0: no */
    int64_t since_ms;   /* slowed since */
    int64_t acted_ms;   /* when something was done last; 0: never */
    char cause[ID_TEXT_MAX]; /* "": nobody in particular */
};

const char *interference_text(enum interference_resource resource);
/* The pace that a window shows; -1: it wanted too little to tell. */
int64_t interference_pace(enum interference_resource resource,
                          const struct report_use *use);
/* Takes one window.  pace: -1 for none; quiet: the neighbours were. */
void interference_judge(struct interference_track *track, int64_t pace,
                        bool quiet, int64_t threshold_milli,
                        int64_t window_ms, int64_t now_ms);

/* Reads what the instance keeps; zeros where there is nothing. */
void interference_read(
    const struct instance *instance,
    struct interference_track tracks_out[INTERFERENCE_RESOURCES]);
/* All the node's instances of one report. */
void interference_observe(struct changes *changes, struct ref node,
                          const struct report *report);
/* For answers; NULL: nothing is known.  platform: with the cause. */
json_t *interference_json(const struct instance *instance, bool platform);

#endif
