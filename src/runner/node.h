/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_NODE_H
#define RUNNER_NODE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "accel/accel.h"
#include "accel/watch.h"
#include "accel/partition.h"
#include "base/error.h"
#include "runner/idmap.h"
#include "runner/image.h"
#include "runner/instance.h"
#include "runner/network.h"
#include "runner/policy.h"

/*
 * What is on this node: the instances, and everything they share?
 *
 * Locks, in the order in which they are taken: volume_lock, that of the
 * partition's changes, lock, baseline_lock, those inside image_store and
 * network.  An instance that is busy belongs to one
 * thread, which alone changes it; everybody else reads it under `lock`.
 */

/* Cards of one machine that are handed over at a time. */
#define NODE_SCRUBS_MAX 32

struct node {
    struct policy own; /* what `policy` points to */
    const struct policy *policy;
    enum cgroup_mode mode;
    bool counts_swap;
    struct accel accel;
    struct watch *watch; /* of the cards' events */
    struct topology *machine;        /* as it was read; NULL: described */
    const struct topology *topology; /* NULL: not known */
    bool pins; /* the kernel keeps groups to their CPUs */
    struct sharer *sharer; /* watches soft shares */
    struct partition *partition; /* the only way that cards are cut */
    struct image_store images;
    struct network network;
    struct idmaps maps; /* of the policy's disk ids */
    pthread_mutex_t volume_lock;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t revision; /* counts what waiting callers want to know */
    bool stopping;    /* waits end at once */
    int64_t exits_ms; /* when exit codes came last, as far as was looked */
    struct instance *first;
    char scrubbing[NODE_SCRUBS_MAX][ACCEL_PART_MAX]; /* parts, or "" */
    pthread_mutex_t baseline_lock; /* of the files of baseline.h */
    char runtime[64], monitor[64];    /* versions */
    struct buffer filter; /* of system calls, for crun; empty: it makes one */
};

/* Prepares the state directory, adopts what an earlier runner left running,
 * and removes what it left half made. */
int node_open(struct node *node, const struct policy *given,
              struct error *err);
void node_close(struct node *node);

void node_lock(struct node *node);
void node_unlock(struct node *node);

/* Under lock: the instance with that id or container name, or NULL. */
struct instance *node_find(struct node *node, const char *id);
struct instance *node_find_name(struct node *node, const char *name);

/* Takes exclusive hold of exactly that incarnation.  ERROR_GONE for one that
 * is older than known or removed, ERROR_NOT_FOUND for one not known. */
struct instance *node_claim(struct node *node, const char *id,
                            int64_t incarnation, struct error *err);
/* Gives it back. */
void node_release(struct node *node, struct instance *instance);
/* Takes a claimed instance out of the table and frees it. */
void node_drop(struct node *node, struct instance *instance);

/* The highest incarnation that was removed here; 0: none.  *record_out (may
 * be NULL) receives its last record when it is exactly `incarnation`. */
int64_t node_removed(struct node *node, const char *id, int64_t incarnation,
                     json_t **record_out);
int node_remember_removed(struct node *node, const struct instance *instance,
                          struct error *err);

/* Under lock: is the part, or something of it, being scrubbed? */
bool node_is_scrubbing(const struct node *node, const char *part);

/* Under lock: how many instances but this one use the volume. */
size_t node_volume_users(struct node *node, const char *volume,
                         const struct instance *except);

#endif
