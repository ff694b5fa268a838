/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_MANIFEST_H
#define CORE_MANIFEST_H

#include "base/json.h"
#include "core/change.h"

/*
 * What does the workload run?  The `spec` document of a workload:
 *
 *   {"command": ["/bin/train", "--steps", "9"],     1..256 strings
 *    "env": {"NAME": "value"},                      at most 256
 *    "volumes": [{"volume": id or name, "path": "/data", "read_only": false}],
 *    "ports": [{"name": "http", "port": 8080}],     at most 16
 *    "checkpoint": "/data/checkpoints",             in a writable volume;
 *                                   left out: the first writable volume
 *    "requires": {"driver": "550"},                 core/require.h; at most 8
 *    "pinning": "near",             or "cores", whole ones; "none"
 *    "workdir": "/data",
 *    "topology": {"level": "node", "mode": "required"},
 *    "spread": {"level": "node", "most": 1, "mode": "required"}}
 *
 * Every key is optional but command, no other key is taken.  Volumes belong
 * to the same project; paths are absolute, without "..", and do not nest.
 */

/* Checks the document and gives its canonical form with volumes as ids (a new
 * reference).  pointer is the JSON pointer of the document in the body. */
int manifest_check(const struct world *world, struct ref project,
                   const json_t *spec, const char *pointer,
                   json_t **canonical_out, struct error *err);

/* The volumes that a stored spec names, at most max; returns how many. */
#define MANIFEST_VOLUMES_MAX 16
/* How close together all cards of a workload have to be. */
enum topology {
    TOPOLOGY_POOL,   /* anywhere in the pool */
    TOPOLOGY_LEAF,   /* on nodes behind one leaf switch */
    TOPOLOGY_NODE,   /* on one node */
    TOPOLOGY_NUMA,   /* beside one part of its CPUs and memory */
    TOPOLOGY_SWITCH, /* behind one PCIe switch */
    TOPOLOGY_ISLAND, /* on cards that are linked directly */
};
struct closeness {
    enum topology level; /* POOL: nothing is said */
    bool required;
};
struct closeness manifest_closeness(const struct blob *spec);
/* The level that the spec requires; for what it only prefers TOPOLOGY_POOL. */
enum topology manifest_topology(const struct blob *spec);

/* Which CPUs an instance may use. */
enum pinning {
    PINNING_NEAR,  /* those beside its cards */
    PINNING_CORES, /* whole cores, which nobody else uses */
    PINNING_NONE,  /* any */
};
enum pinning manifest_pinning(const struct blob *spec);
const char *manifest_pinning_text(enum pinning pinning);

/* At most so many instances on one node, or behind one leaf switch. */
struct spread {
    enum topology level; /* NODE or LEAF; POOL: none is asked for */
    int64_t most;        /* 1.. */
    bool required;       /* else as far as there is room */
};
struct spread manifest_spread(const struct blob *spec);

size_t manifest_volumes(const struct world *world, const struct blob *spec,
                        struct ref *volumes_out, size_t max);

#endif
