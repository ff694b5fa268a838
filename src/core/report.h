/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_REPORT_H
#define CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What does a node say about itself?  The facts of one agent's message, as
 * plain data: the codec (engine/message.h) fills them from bytes, the agent
 * from what its runner says, and core/observe.h turns them into changes.
 *
 * Nothing here is trusted: observe.h says what is accepted.  Texts are never
 * NULL ("" when empty) and stay owned by the arena of the reader.  Times are
 * ms UTC.
 */

#define REPORT_CARDS_MAX 256
#define REPORT_INSTANCES_MAX 1024
#define REPORT_VOLUMES_MAX 1024
#define REPORT_LOGS_MAX 4
#define REPORT_EVENTS_MAX 16 /* of one card */
#define REPORT_STEPS_MAX 12
#define REPORT_LOG_BYTES_MAX 65536

/* In the order of enum card_health. */
enum report_health {
    REPORT_UNKNOWN,
    REPORT_HEALTHY,
    REPORT_SUSPECT,
    REPORT_DEGRADED,
    REPORT_FAILED,
};

/* Something that was heard of a card, once or many times. */
struct report_event {
    int64_t xid;
    int64_t pid;      /* -1: none told */
    int64_t instance; /* of a hard slice; -1: the whole card */
    const char *slice; /* its name, "" when it is not known */
    int64_t first_ms, last_ms, count;
    bool has_words; /* of a link's error */
    int64_t word, status;
};

/* A look at a card; -1 where it does not say. */
struct report_look {
    const char *uuid;
    int64_t age_ms; /* since it answered; -1: never */
    enum report_health health;
    const char *health_reason;
    bool asks_nothing; /* it can ask for an action, and asks for none */
    bool has_rows;     /* it tells of its memory rows by flags */
    int64_t clean;     /* looks without fault one after the other */
    int64_t temperature_c, power_mw, busy_permille, memory_used_mib;
    int64_t ecc_corrected, ecc_uncorrected, clock_reasons;
    const struct report_event *events;
    size_t event_count;
};

struct report_card {
    const char *uuid; /* never "" */
    const char *vendor;
    const char *model;
    const char *pci;
    const char *driver;
    const char *firmware;
    const char *arch;
    const char *serial;
    const char *domain;
    const char *runtime;  /* newest that its driver serves: "CUDA 12.8" */
    const char *features; /* words */
    const char *island; /* "": none */
    const char *bus;    /* PCIe switch, "": not known */
    int64_t memory_mib;
    int64_t compute_units;
    int64_t numa; /* -1: unknown */
    enum report_health health;
    const char *health_reason;
    int64_t foreign;          /* processes that the platform did not start */
    const char *foreign_name; /* of the first of them */
    int64_t foreign_pid, foreign_uid; /* its; uid -1: not known */
    bool sliced;              /* cut for hard slices */
    const char *layout;         /* the slices on it: "1g.5gb@2 3g.20gb@4" */
    const char *foreign_slices; /* those that the platform did not make */
    const char *change;         /* of the layout, not yet over; "": none */
    const char *change_failure; /* of the last change, "": it was done */
};

struct report_inventory {
    bool simulated;
    int64_t cpu_milli;
    int64_t memory_mib;
    const char *facts; /* canonical JSON object: versions, kernel, cgroups */
    const char *topology; /* the same: CPUs, memory, networks; "": not known */
    const struct report_card *cards;
    size_t card_count;
    /* Sent apart, with every report: */
    const struct report_look *looks;
    size_t look_count;
};

enum report_state {
    REPORT_PREPARING, /* image or volume on the way */
    REPORT_STARTING,
    REPORT_RUNNING,
    REPORT_EXITED, /* exit_code and oom hold */
    REPORT_START_FAILED,  /* it never ran; failure says why */
    REPORT_GONE,   /* this incarnation was removed, nothing more is known */
};

/* What an instance used in a window that is over. */
struct report_use {
    int64_t ms; /* the window's length; 0: none is over */
    int64_t cpu_us;
    int64_t wait_us;     /* its tasks could run and did not */
    int64_t io_kib;      /* disks, both ways */
    int64_t network_kib; /* both ways */
    int64_t card_permille; /* of compute units; -1: not known */
};

/* What it is held to, a second; 0: as it was started. */
struct report_cap {
    int64_t cpu_milli;
    int64_t io_kib;
    int64_t network_kib;
};

struct report_instance {
    const char *instance; /* id text */
    int64_t incarnation;
    enum report_state state;
    const char *failure; /* one sentence */
    bool retryable;      /* START_FAILED: another try may succeed */
    int64_t exit_code;
    bool oom;
    int64_t cpu_us;          /* used so far by this incarnation */
    int64_t checkpoint_step; /* -1: none seen */
    int64_t checkpoint_ms;
    const char *cpus; /* that it may use; NULL, "": not known */
    const char *mems;
    const char *nics;
    bool pinned; /* its cores are nobody else's */
    const char *const *cards; /* UUIDs that it has, as far as they are known */
    size_t card_count;
    struct report_use use; /* of a window that was not told of yet */
    struct report_cap cap; /* in force */
};

/* No process of that incarnation is left, and none on the cards it had. */
struct report_release {
    const char *instance;
    int64_t incarnation;
    const char *const *cards; /* UUIDs that were looked at */
    size_t card_count;
};

/* One step of a card's handover (runner/handover.h). */
struct report_step {
    const char *step; /* wait, whole, idle, reset, settle, scrub, probe, cut */
    int64_t from_ms, to_ms;
    bool good;
    const char *text;
};

struct report_scrub {
    const char *uuid;
    bool verified;
    const char *text; /* method, or why it failed */
    const struct report_step *steps;
    size_t step_count;
};

enum report_volume_state {
    REPORT_VOLUME_READY,
    REPORT_VOLUME_REMOVED,
    REPORT_VOLUME_FAILED,
};

struct report_volume {
    const char *volume; /* id text */
    enum report_volume_state state;
    const char *failure;
};

struct report_log {
    int64_t request; /* as in the order that asked for it */
    const char *bytes;
    size_t size;
    int64_t next;
    bool complete;
    bool truncated;
    const char *failure; /* "": bytes hold */
};

struct report {
    const struct report_inventory *inventory; /* NULL: as before */
    bool ready; /* cards and instances were read since the agent's start, and
                   the inventory that is known or told here is that one */
    bool instances_known; /* the list is all that the runner has */
    const struct report_instance *instances;
    size_t instance_count;
    const struct report_release *releases;
    size_t release_count;
    const struct report_scrub *scrubs;
    size_t scrub_count;
    const struct report_volume *volumes;
    size_t volume_count;
    const struct report_log *logs;
    size_t log_count;
    const struct report_look *looks;
    size_t look_count;
};

#endif
