/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "core/report.h"
#include "engine/order.h"

/*
 * How does work get onto machines?  One table of operations, one
 * implementation for each kind of place where work runs.
 *
 * An engine reconciles: the order says what should be, observe says what is.
 * Every operation is idempotent and keyed by instance and incarnation; an
 * older incarnation never touches a newer one.  The engine decides nothing
 * about quota, order, place or cards.
 *
 * Errors that all operations share: ERROR_BUSY: the outcome is not known or
 * there is no room just now, repeat it; ERROR_GONE: that incarnation was
 * removed; ERROR_UNSUPPORTED: not with this engine.  Operations may be called
 * from several threads at once.
 */

enum engine_capability {
    ENGINE_CARDS = 1,    /* lists cards, looks after health and processes */
    ENGINE_VOLUMES = 2,  /* volumes with a size limit that holds */
    ENGINE_NETWORKS = 4, /* tenants' networks are kept apart */
    ENGINE_NOTICE = 8,   /* notice before the stop */
    ENGINE_SCRUB = 16,   /* cleans a card's memory between tenants */
    ENGINE_LOGS = 32,
    ENGINE_EXEC = 64,
};

struct engine_view {
    int64_t revision; /* to wait for the next change with */
    const char *boot; /* of the machine */
    const struct report_instance *instances;
    size_t count;
};

/* What an instance has used since it began; rates come of two looks. */
struct engine_sample {
    const char *instance;
    int64_t incarnation;
    int64_t cpu_us;
    int64_t wait_us; /* may fall when a task ends */
    int64_t io_bytes;
    int64_t network_bytes;
    int64_t card_permille; /* now; -1: not known */
};

struct engine_samples {
    int64_t time_ms; /* of a clock that is never set */
    const struct engine_sample *list;
    size_t count;
};

struct engine_log {
    struct buffer bytes; /* the caller releases it */
    int64_t next;
    bool complete;
    bool truncated;
};

struct engine;

/* What was done to hand a card over. */
struct engine_step {
    char step[16];
    int64_t from_ms, to_ms;
    bool good;
    char text[128];
};

struct engine_scrub {
    char text[128];
    size_t count;
    struct engine_step steps[REPORT_STEPS_MAX];
};

struct engine_ops {
    const char *name;
    unsigned capabilities; /* enum engine_capability */

    /* All instances that are there.  Waits up to wait_ms for something newer
     * than revision (0: at once). */
    int (*observe)(struct engine *engine, int64_t revision, int wait_ms,
                   struct arena *arena, struct engine_view *view_out,
                   struct error *err);
    int (*inventory)(struct engine *engine, struct arena *arena,
                     struct report_inventory *inventory_out,
                     struct error *err);
    /* Makes the instance run.  May take as long as its image takes. */
    int (*apply)(struct engine *engine, const struct order_instance *wanted,
                 struct error *err);
    /* deadline in the machine's own time, ms UTC. */
    int (*notice)(struct engine *engine, const char *instance,
                  int64_t incarnation, const char *reason,
                  int64_t deadline_ms, struct error *err);
    /* Tells the instance of its gang's new size (engine/gang.h). */
    int (*gang)(struct engine *engine, const char *instance,
                int64_t incarnation, const json_t *gang, struct error *err);
    /* What it may use at most from now on.  ERROR_QUOTA: not as little. */
    int (*cap)(struct engine *engine, const char *instance,
               int64_t incarnation, const struct report_cap *cap,
               struct error *err);
    /* Of all that runs.  cards: those too, which takes longer.  NULL: the
     * engine does not tell. */
    int (*samples)(struct engine *engine, bool cards, struct arena *arena,
                   struct engine_samples *samples_out, struct error *err);
    /* The polite stop, and the one that returns when nothing is left. */
    int (*terminate)(struct engine *engine, const char *instance,
                     int64_t incarnation, struct error *err);
    int (*kill)(struct engine *engine, const char *instance,
                int64_t incarnation, struct error *err);
    int (*remove)(struct engine *engine, const char *instance,
                  int64_t incarnation, struct error *err);
    /* Is every process of it gone, also from the cards that it had? */
    int (*released)(struct engine *engine, const char *instance,
                    int64_t incarnation, bool *released_out,
                    struct error *err);
    int (*volume)(struct engine *engine, const struct order_volume *wanted,
                  struct error *err);
    /* ERROR_VERIFY: the card is not clean, and the steps say why;
     * ERROR_CONFLICT: an instance holds it. */
    int (*scrub)(struct engine *engine, const char *uuid,
                 struct engine_scrub *scrub_out, struct error *err);
    int (*log)(struct engine *engine, const char *instance,
               int64_t incarnation, int64_t offset, int64_t max,
               struct engine_log *log_out, struct error *err);
    void (*close)(struct engine *engine);
};

/* First member of every implementation's struct. */
struct engine {
    const struct engine_ops *ops;
};

#endif
