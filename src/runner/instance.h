/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_INSTANCE_H
#define RUNNER_INSTANCE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "engine/runner_request.h"
#include "runner/cgroup.h"
#include "runner/container.h"
#include "runner/grant.h"
#include "runner/network.h"
#include "runner/pin.h"

/*
 * What is known of one incarnation of an instance?  The record that answers
 * show, kept beside the container in PLACE/instance.json so that the next
 * runner finds it, and what can be observed of it now.
 */

#define INSTANCE_NAME_MAX 48
#define INSTANCE_PATH_MAX 200

enum instance_phase {
    INSTANCE_STARTING,
    INSTANCE_RUNNING,
    INSTANCE_EXITED,
    INSTANCE_FAILED
};

struct image;

struct instance_checkpoint {
    uint64_t inode;  /* of the last checkpoint.json seen; 0: none */
    int64_t born_ns; /* its time of creation: a rename brings a new one */
    bool seen;       /* a rename was seen in this incarnation */
    int64_t step;
    int64_t time_ms;
};

struct instance {
    struct instance *next;
    struct arena *arena; /* owns the strings */
    const char *id;
    int64_t incarnation;
    int64_t tenant;
    json_t *request; /* the start as it was asked for */
    struct runner_start start;
    char name[INSTANCE_NAME_MAX];   /* of container, cgroup, network */
    char place[INSTANCE_PATH_MAX];  /* STATE/instances/<name> */
    char cgroup[INSTANCE_PATH_MAX]; /* /<prefix>/<name> */
    int64_t uid_base;
    struct network_port port; /* address 0: no network */
    struct pin pin;           /* no CPUs: they are not told apart here */
    bool located;             /* the two below are known */
    struct topology_set beside; /* NUMA nodes of its cards */
    char nics[PIN_NICS_MAX];
    bool busy;                /* an operation works on it */
    enum instance_phase phase;
    char reason[256];
    pid_t pid;
    int64_t started_ms, exited_ms;
    int exit_code; /* -1: not known */
    struct cgroup_usage usage;
    char notice[RUNNER_LABEL_MAX + 1];
    int64_t notice_deadline_ms; /* 0: none */
    struct gang gang; /* that it was told last */
    struct runner_cap cap;
    bool capped;   /* it was, in this incarnation */
    bool cap_open; /* the last change did not reach the kernel */
    struct instance_checkpoint checkpoint;
    const struct image *image; /* while it is being started */
    struct grant grant;        /* while it is being started */
    int64_t share_used_mib; /* of its card, the last time it was looked at */
    bool share_over;        /* more than its share */
    int64_t lost_ms; /* since when neither process nor monitor is there */
};

/* A new record for a parsed start.  request is shared. */
struct instance *instance_new(const struct policy *policy, const char *id,
                              int64_t incarnation, int64_t tenant,
                              json_t *request, struct error *err);
void instance_free(struct instance *instance);

/* The record of the answers; the caller owns it. */
json_t *instance_record(const struct instance *instance);

/* Writes PLACE/instance.json (replaced by rename). */
int instance_save(const struct instance *instance, struct error *err);
/* Reads it back; NULL with err. */
struct instance *instance_load(const struct policy *policy, const char *place,
                               struct error *err);
/* The boot the record was saved in. */
bool instance_is_of_boot(const char *place);

struct container instance_container(const struct instance *instance,
                                    const struct policy *policy,
                                    enum cgroup_mode mode);

/* Looks at cgroup, exit and checkpoint; true when the record changed in a way
 * that a waiting caller wants to know.  full: usage too. */
bool instance_refresh(struct instance *instance, const struct policy *policy,
                      enum cgroup_mode mode, bool full);
/* Remembers the checkpoint that is there before the start, so that only a
 * rename after it counts. */
void instance_baseline(struct instance *instance, const struct policy *policy);

#endif
