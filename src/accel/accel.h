/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ACCEL_H
#define ACCEL_ACCEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"

/*
 * Which accelerators does this machine have, how are they, who is on them,
 * and what makes one clean for the next tenant?
 *
 * One ops table per vendor library (accel_sim here; NVML, ROCm, Level Zero and
 * DCMI fill the same table).  A backend that cannot do a thing leaves its
 * pointer NULL: accel_can names it, and the call fails with ERROR_UNSUPPORTED
 * instead of crashing.  Keys are UUID and PCI address, never an index.
 * Calls may take long when hardware is ill: callers that must not hang run
 * them in a process that they can kill.
 */

#define ACCEL_ID_MAX 64
#define ACCEL_PART_MAX 128 /* "UUID" or "UUID/3g.40gb@4" */
#define ACCEL_TEXT_MAX 128
#define ACCEL_CARDS_MAX 256
#define ACCEL_LINKS_MAX 32
#define ACCEL_NODES_MAX 8
#define ACCEL_PROCESSES_MAX 256

enum accel_health {
    ACCEL_HEALTHY,
    ACCEL_SUSPECT,
    ACCEL_DEGRADED,
    ACCEL_FAILED
};

struct accel_link {
    char uuid[ACCEL_ID_MAX + 1]; /* the card at the other end */
    char kind[16];               /* nvlink, xgmi, xelink, hccs, pcie */
    int32_t lanes;
};

/* What a card is; does not change while it is in the machine. */
struct accel_card {
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];    /* 0000:41:00.0 */
    char vendor[32]; /* nvidia, amd, intel, huawei */
    char model[ACCEL_TEXT_MAX];
    char driver[ACCEL_TEXT_MAX]; /* version of the driver */
    int64_t memory_mib;
    int32_t compute_units; /* SMs, CUs, Xe cores, AI cores */
    int32_t numa;          /* -1: not known */
    int32_t island;        /* cards of one island are fully linked; -1 none */
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

/* One process that has the card open. */
struct accel_process {
    pid_t pid;        /* as the host sees it */
    char name[32];    /* its comm */
    int64_t used_mib; /* -1: not known */
};

enum accel_node_kind {
    ACCEL_DEVICE, /* a character device */
    ACCEL_FILE    /* a file or directory that is bind-mounted */
};

/* What a container needs to use a card.  host_path never leaves the
 * runner. */
struct accel_node {
    enum accel_node_kind kind;
    char name[64]; /* below /dev/bulkhead inside; %u stands for the alias */
    char host_path[256];   /* ACCEL_FILE */
    unsigned major, minor; /* ACCEL_DEVICE */
    bool shared;           /* a control node that every container may have */
};

struct accel_scrub {
    int64_t bytes;   /* overwritten and verified */
    char method[64]; /* how, for the record */
};

struct accel;

struct accel_ops {
    const char *name; /* sim, nvml, rocm, zes, dcmi */
    bool simulated;
    /* Opens the backend.  source: the estate description of accel_sim, NULL
     * for libraries; state_dir: where it may keep files, root's own. */
    int (*open)(struct accel *accel, const char *source,
                const char *state_dir, struct error *err);
    void (*close)(struct accel *accel);
    /* Text of the node: its name when the backend knows one, else "". */
    const char *(*node_name)(const struct accel *accel);
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
};

struct accel {
    const struct accel_ops *ops;
    void *state; /* the backend's own */
};

extern const struct accel_ops accel_sim_ops;

/* Opens the backend with that name ("sim").  Returns 0 or -1. */
int accel_open(struct accel *accel_out, const char *name, const char *source,
               const char *state_dir, struct error *err);
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

const char *accel_health_text(enum accel_health health);
/* -1 when text names no state. */
int accel_health_parse(const char *text, enum accel_health *health_out);

#endif
