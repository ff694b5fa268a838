/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "core/card_health.h"

/*
 * Which accelerators does this machine have, how are they, who is on them,
 * and what makes one clean for the next tenant?
 *
 * One ops table per vendor library, and one for simulated cards.  A backend
 * that cannot do a thing leaves its pointer NULL, and the call fails with
 * ERROR_UNSUPPORTED instead of crashing; a library that lacks one symbol
 * lacks what that symbol tells, and nothing else.  Keys are UUID and PCI
 * address, never an index.
 * Calls may take long when hardware is ill: whoever must not hang opens the
 * backend "vendor" (accel_vendor.h), which runs it in a process that it kills.
 *
 * Errors, besides those named below: ERROR_UNSUPPORTED the card or the
 * library cannot; ERROR_NOT_FOUND no such card or slice; ERROR_CONFLICT
 * somebody is on it; ERROR_GONE the card is lost; ERROR_BUSY no answer within
 * the deadline, or the driver is between two versions; ERROR_DENIED the
 * driver wants more rights than this process has.
 */

#define ACCEL_ID_MAX 64
#define ACCEL_PART_MAX 128 /* "UUID" or "UUID/3g.40gb@4" */
#define ACCEL_TEXT_MAX 128
#define ACCEL_CARDS_MAX 256
#define ACCEL_LINKS_MAX 32
#define ACCEL_NODES_MAX 16
#define ACCEL_PROCESSES_MAX 256
#define ACCEL_SLICES_MAX 16
#define ACCEL_EVENTS_MAX 64

enum accel_health {
    ACCEL_HEALTHY,
    ACCEL_SUSPECT,
    ACCEL_DEGRADED,
    ACCEL_FAILED,
    ACCEL_UNKNOWN /* it cannot be told: see the reason */
};

/* What a library measures, as far as the card has it: see reading.def. */
#define ACCEL_ABSENT INT64_MIN
enum accel_item {
#define READING(name, text, unit, min, max, meaning) ACCEL_##name,
#include "accel/reading.def"
#undef READING
    ACCEL_ITEM_COUNT
};

struct accel_reading {
    int64_t value[ACCEL_ITEM_COUNT]; /* ACCEL_ABSENT: not known */
};

struct accel_link {
    char uuid[ACCEL_ID_MAX + 1]; /* the card at the other end; "": a switch */
    char kind[16]; /* nvlink, xgmi, xelink, hccs, pcie, switch */
    int32_t lanes; /* of pcie: none */
    int32_t level; /* of pcie: 0 same board, 10 one switch, 20 several, 30
                      host bridge, 40 NUMA node, 50 further; else -1 */
};

/* What a card is; does not change while it is in the machine. */
struct accel_card {
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];    /* 0000:41:00.0 */
    char vendor[32]; /* nvidia, amd, intel, huawei */
    char model[ACCEL_TEXT_MAX];
    char driver[ACCEL_TEXT_MAX]; /* version of the driver */
    char serial[ACCEL_ID_MAX + 1]; /* of the board; "": not known */
    char firmware[ACCEL_ID_MAX + 1];
    char arch[32];   /* ampere, sm_80; gfx90a; "": not known */
    char domain[ACCEL_ID_MAX + 1]; /* "CLUSTER/CLIQUE" of a fabric, "": none */
    char runtime[32]; /* newest that its driver serves: "CUDA 12.8" */
    char features[128]; /* accel/feature.h; accel_describe fills it */
    char bus[24]; /* PCIe switch that it is behind; "": not known here */
    int64_t memory_mib;
    int32_t compute_units; /* SMs, CUs, Xe cores, AI cores */
    int32_t numa;          /* -1: not known */
    int32_t island; /* cards of one island are fully linked; -1 none, also
                       where only all cards together can tell */
    size_t link_count;
    struct accel_link links[ACCEL_LINKS_MAX];
};

struct accel_state {
    enum accel_health health;
    char reason[ACCEL_TEXT_MAX]; /* "" when healthy */
    bool sliced;                 /* cut for hard slices */
    int64_t memory_used_mib;     /* -1: not known */
    int32_t busy_permille;       /* -1: not known */
    int32_t temperature_c;       /* -1: not known */
    int32_t power_mw;            /* -1: not known */
};

/* The card's own flags. */
void accel_flags(const struct accel_reading *reading, struct card_flags *out);
/* What they say, and the values that a state has (core/card_health.h judges).
 */
void accel_judge(const struct accel_reading *reading,
                 struct accel_state *state_out);

/* One process that has the card open. */
struct accel_process {
    pid_t pid;        /* as the host sees it */
    char name[32];    /* its comm */
    int64_t used_mib; /* -1: not known */
    bool shared;      /* a client of a sharing server (MPS) */
    int32_t instance; /* of the slice that it is on; -1: none */
};

/* All that have one card or slice open. */
struct accel_crew {
    struct accel_process *list; /* room for ACCEL_PROCESSES_MAX */
    size_t count;
};

/* A slice that is there, as the driver lists it. */
struct accel_slice {
    char name[40];                /* "3g.40gb@4" */
    char uuid[ACCEL_ID_MAX + 1];  /* "": not known */
    int32_t instance, compute;    /* the driver's ids; -1: not known */
    int32_t compute_units;        /* -1: not known */
    int64_t memory_mib;           /* -1: not known */
};

/* What was used by one process, also after it has gone. */
struct accel_usage {
    pid_t pid;
    int32_t busy_permille;   /* over its life; -1: not known */
    int64_t memory_peak_mib; /* -1: not known */
    int64_t time_ms;         /* on the card; 0 until it ends */
    bool running;
};

enum accel_event_kind {
    ACCEL_EVENT_XID,      /* number: the vendor's own error number */
    ACCEL_EVENT_ECC,      /* number: 1 corrected, 2 not */
    ACCEL_EVENT_REMAP,    /* number: 1 rows were retired, 2 that failed */
    ACCEL_EVENT_POISON,   /* number: 1 contained, 2 not */
    ACCEL_EVENT_RECOVERY, /* what the card wants done has changed */
    ACCEL_EVENT_SLICES,   /* the layout has changed */
    ACCEL_EVENT_LOST,     /* the card is gone */
    ACCEL_EVENT_THERMAL,
    ACCEL_EVENT_FAULT /* a program touched memory that is not its own */
};

struct accel_event {
    enum accel_event_kind kind;
    char uuid[ACCEL_ID_MAX + 1]; /* "": some card, look at each */
    int64_t number;
    int32_t instance, compute; /* -1: the whole card */
};

enum accel_node_kind {
    ACCEL_DEVICE, /* a character device */
    ACCEL_FILE,   /* the tenant's own file, bind-mounted to be written */
    ACCEL_LIBRARY /* a part of the driver, bind-mounted to be loaded */
};

/* What a container needs to use a card.  host_path never leaves the
 * runner. */
struct accel_node {
    enum accel_node_kind kind;
    char name[64]; /* below /dev/bulkhead inside; %u stands for the alias */
    char host_path[256];   /* ACCEL_FILE, ACCEL_LIBRARY */
    unsigned major, minor; /* ACCEL_DEVICE */
    bool plain;  /* below /dev inside, where the vendor's libraries look */
    bool shared; /* a control node that every container may have */
    bool manage; /* shows more of a card than the work on it needs */
};

struct accel_scrub {
    int64_t bytes;   /* overwritten and verified */
    char method[64]; /* how, for the record */
};

/* What there is beside the cards that are listed. */
struct accel_survey {
    char driver[ACCEL_TEXT_MAX];
    char library[ACCEL_TEXT_MAX];
    char runtime[32]; /* newest that the driver serves: "CUDA 12.8" */
    char branch[64];
    bool confidential;
    size_t listed; /* cards that answered */
    size_t on_bus; /* of the vendor, as the machine counts; 0: not known */
    size_t excluded; /* by the driver's own configuration */
    char excluded_pci[8][24];
};

struct accel;
struct topology; /* accel/topology.h */

struct accel_ops {
    const char *name; /* sim, nvml, rocm, zes, dcmi; vendor: all of these */
    bool simulated;
    /* Opens the backend.  source: the estate description of accel_sim, NULL
     * for libraries; state_dir: where it may keep files, root's own. */
    int (*open)(struct accel *accel, const char *source,
                const char *state_dir, struct error *err);
    void (*close)(struct accel *accel);
    /* Text of the node: its name when the backend knows one, else "". */
    const char *(*node_name)(const struct accel *accel);
    /* Of the machine, where the backend describes it; NULL: look at it. */
    const struct topology *(*topology)(const struct accel *accel);
    int (*survey)(struct accel *accel, struct accel_survey *out,
                  struct error *err);
    /* UUIDs of all cards; *count_out at most ACCEL_CARDS_MAX. */
    int (*list)(struct accel *accel, struct arena *arena,
                const char *const **uuids_out, size_t *count_out,
                struct error *err);
    /* ERROR_NOT_FOUND for an unknown card, here and below.  Where it says
     * part, the UUID may be followed by a hard slice: its profile and start
     * as the vendor names them.  A slice is there from its creation to its
     * destruction. */
    int (*describe)(struct accel *accel, const char *uuid,
                    struct accel_card *card_out, struct error *err);
    int (*health)(struct accel *accel, const char *uuid,
                  struct accel_state *state_out, struct error *err);
    int (*processes)(struct accel *accel, const char *part,
                     struct accel_process list[ACCEL_PROCESSES_MAX],
                     size_t *count_out, struct error *err);
    /* The same for many parts in one look; NULL where that saves nothing. */
    int (*census)(struct accel *accel, const char *const *parts, size_t count,
                  struct accel_crew *crews, struct error *err);
    int (*nodes)(struct accel *accel, const char *part,
                 struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
                 struct error *err);
    /* Accounting, clocks, power limit, compute mode: back to the default. */
    int (*settle)(struct accel *accel, const char *uuid, struct error *err);
    /* The card must be free of processes: ERROR_CONFLICT otherwise. */
    int (*reset)(struct accel *accel, const char *uuid, struct error *err);
    /* A slice that is not there is clean: no bytes. */
    int (*scrub)(struct accel *accel, const char *part,
                 struct accel_scrub *done_out, struct error *err);
    /* Makes a card sliced, or whole: it must be free of processes, and loses
     * all its slices. */
    int (*cut)(struct accel *accel, const char *uuid, bool on,
               struct error *err);
    /* ERROR_CONFLICT when the card is whole or other slices are in the way;
     * one that is there already is cleaned.  The memory of a new one is
     * clean. */
    int (*slice_create)(struct accel *accel, const char *part,
                        struct error *err);
    int (*slice_destroy)(struct accel *accel, const char *part,
                         struct error *err);
    /* What stands on the card, also what somebody else made. */
    int (*slices)(struct accel *accel, const char *uuid,
                  struct accel_slice list[ACCEL_SLICES_MAX],
                  size_t *count_out, struct error *err);
    /* Everything that is measured.  One value that is not to be had is
     * absent; the call fails when the card as such does not answer. */
    int (*read)(struct accel *accel, const char *uuid,
                struct accel_reading *reading_out, struct error *err);
    /* Accounting of processes, those that have ended too. */
    int (*usage)(struct accel *accel, const char *uuid,
                 struct accel_usage list[ACCEL_PROCESSES_MAX],
                 size_t *count_out, struct error *err);
    /* Waits at most wait_ms; none is no error.  What happened before the
     * first call is not told: read the state after it. */
    int (*events)(struct accel *accel, int wait_ms,
                  struct accel_event list[ACCEL_EVENTS_MAX],
                  size_t *count_out, struct error *err);
};

/* What is being asked right now, for whoever waits outside: the worker's
 * shared page (accel_remote.h). */
struct accel_trail {
    char call[64]; /* the vendor's function */
    char card[ACCEL_ID_MAX + 1]; /* its key, "": none in particular */
    bool pair; /* of two cards: which of them is ill is not known */
};

/* Of whoever waits outside. */
struct accel_watch {
    struct accel_trail *trail; /* NULL: nobody waits */
    /* Cards that are not asked: their calls do not come back. */
    const struct accel_trail *mute;
    size_t mute_count;
};

struct accel {
    const struct accel_ops *ops;
    void *state; /* the backend's own */
    struct accel_watch watch;
};

extern const struct accel_ops accel_sim_ops;
extern const struct accel_ops accel_nvml_ops;
extern const struct accel_ops accel_rocm_ops;
extern const struct accel_ops accel_zes_ops;
/* No cards of its own: cleans and resets NVIDIA's, for a worker. */
extern const struct accel_ops accel_cuda_ops;
/* All libraries at once, each in a process of its own: accel_vendor.h. */
extern const struct accel_ops accel_vendor_ops;

/* Opens the backend with that name ("sim").  Returns 0 or -1. */
int accel_open(struct accel *accel_out, const char *name, const char *source,
               const char *state_dir, struct error *err);
/* The same for a worker. */
int accel_open_watched(struct accel *accel_out, const char *name,
                       const char *source, const char *state_dir,
                       const struct accel_watch *watch, struct error *err);
void accel_close(struct accel *accel);

/* The calls of the table, ERROR_UNSUPPORTED where the backend has none. */
int accel_list(struct accel *accel, struct arena *arena,
               const char *const **uuids_out, size_t *count_out,
               struct error *err);
int accel_describe(struct accel *accel, const char *uuid,
                   struct accel_card *card_out, struct error *err);
int accel_health(struct accel *accel, const char *uuid,
                 struct accel_state *state_out, struct error *err);
int accel_processes(struct accel *accel, const char *uuid,
                    struct accel_process list[ACCEL_PROCESSES_MAX],
                    size_t *count_out, struct error *err);
/* crews: one for each part, with room.  ERROR_UNSUPPORTED where each has to be
 * asked alone. */
int accel_census(struct accel *accel, const char *const *parts, size_t count,
                 struct accel_crew *crews, struct error *err);
int accel_nodes(struct accel *accel, const char *uuid,
                struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
                struct error *err);
int accel_cut(struct accel *accel, const char *uuid, bool on,
              struct error *err);
int accel_slice_create(struct accel *accel, const char *part,
                       struct error *err);
int accel_slice_destroy(struct accel *accel, const char *part,
                        struct error *err);
int accel_reset(struct accel *accel, const char *uuid, struct error *err);
int accel_scrub(struct accel *accel, const char *uuid,
                struct accel_scrub *done_out, struct error *err);

int accel_survey(struct accel *accel, struct accel_survey *out,
                 struct error *err);
int accel_settle(struct accel *accel, const char *uuid, struct error *err);
int accel_slices(struct accel *accel, const char *uuid,
                 struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
                 struct error *err);
int accel_read(struct accel *accel, const char *uuid,
               struct accel_reading *reading_out, struct error *err);
int accel_usage(struct accel *accel, const char *uuid,
                struct accel_usage list[ACCEL_PROCESSES_MAX],
                size_t *count_out, struct error *err);
int accel_events(struct accel *accel, int wait_ms,
                 struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
                 struct error *err);

/* Gives cards the same island that are linked to each other directly, or all
 * to the switch of one domain: each to every other one.  Cards that did not
 * answer are simply not among them.  -1: none. */
void accel_islands(struct accel_card *cards, size_t count);

/* Nothing known. */
void accel_reading_clear(struct accel_reading *reading);
const char *accel_item_text(enum accel_item item);
const char *accel_item_unit(enum accel_item item);
/* A value outside what its item can be is absent. */
void accel_reading_set(struct accel_reading *reading, enum accel_item item,
                       int64_t value);
/* Has it a value other than 0? */
bool accel_reading_is(const struct accel_reading *reading,
                      enum accel_item item);

const char *accel_health_text(enum accel_health health);
/* -1 when text names no state. */
int accel_health_parse(const char *text, enum accel_health *health_out);

#endif
