/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TRACE_OPENB_H
#define TRACE_OPENB_H

#include "base/arena.h"
#include "base/error.h"
#include "core/value.h"

/*
 * What do the openb traces hold?  Reads the node list and the pod lists of
 * Alibaba's GPU trace of 2023 (data/openb/README.md), as published or with
 * columns left out and equal lines made one with a count.
 */

#define OPENB_MODEL_MAX 16

/* What the original simulator takes for requests of 0. */
#define OPENB_CPU_MILLI 100
#define OPENB_MEMORY_MIB 200

struct openb_pod {
    uint32_t class;      /* index of its shape */
    int64_t created_s, deleted_s; /* -1: not known */
};

struct openb_cluster {
    struct value_supply supply; /* cards of equal nodes are a kind */
    char models[VALUE_KINDS][OPENB_MODEL_MAX];
    struct value_node *nodes; /* empty ones, in the order of kinds */
    size_t count;
    int64_t milli; /* of all cards */
};

/* One pod list. */
struct openb_trace {
    const char *name;
    struct shape *classes; /* in the order of shapes */
    uint32_t *counts;      /* pods of each */
    size_t class_count;
    struct openb_pod *pods; /* in the order of classes, then of times */
    size_t count;
    bool has_times;
};

/* openb_node_list_gpu_node.csv of the directory. */
int openb_read_cluster(const char *directory, struct arena *arena,
                       struct openb_cluster *out, struct error *err);
/* openb_pod_list_NAME.csv of the directory. */
int openb_read_trace(const char *directory, const char *name,
                     const struct openb_cluster *cluster, struct arena *arena,
                     struct openb_trace *out, struct error *err);
/* Allocation of FGD after that many percent arrived, from
 * published_allocation.csv; -1 where it is not known. */
int openb_read_published(const char *directory, const char *name,
                         double *at_100_out, double *at_130_out,
                         struct error *err);
/* The names of the pod lists of the directory, sorted. */
int openb_list(const char *directory, struct arena *arena,
               const char ***names_out, size_t *count_out, struct error *err);

#endif
