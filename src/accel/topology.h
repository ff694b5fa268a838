/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_TOPOLOGY_H
#define ACCEL_TOPOLOGY_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/*
 * Which CPUs, memory and networks does a machine have, and what is beside what?
 *
 * Read from the machine by hwloc (topology_machine), or from a description of
 * simulated cards.  NUMA nodes and CPUs have the numbers of the kernel.
 */

#define TOPOLOGY_CPUS_MAX 1024
#define TOPOLOGY_NODES_MAX 64
#define TOPOLOGY_NICS_MAX 64
#define TOPOLOGY_LIST_MAX 256 /* "0-3,8-11" */

/* Numbers from 0; of CPUs or of NUMA nodes. */
struct topology_set {
    uint64_t words[TOPOLOGY_CPUS_MAX / 64];
};

struct topology_node {
    int32_t number;
    int64_t memory_mib;
    struct topology_set cpus;
};

/* The CPUs of one core share it: one, or one for each of its threads. */
struct topology_core {
    struct topology_set cpus;
    int32_t node; /* number of its NUMA node */
};

struct topology_nic {
    char name[32]; /* eth0, mlx5_0 */
    char pci[24];
    char bus[24];  /* the PCIe switch above it, "": none */
    int32_t node;  /* -1: not known */
};

/* Where a card is. */
struct topology_place {
    int32_t node; /* -1: not known */
    char bus[24]; /* "": behind no switch */
};

struct topology {
    int32_t packages;
    struct topology_set cpus; /* all that may be used */
    size_t node_count;
    struct topology_node nodes[TOPOLOGY_NODES_MAX];
    size_t core_count;
    struct topology_core cores[TOPOLOGY_CPUS_MAX];
    size_t nic_count;
    struct topology_nic nics[TOPOLOGY_NICS_MAX];
    void *machine; /* hwloc's; NULL: a description */
    void (*release)(void *machine);
};

/* --- sets --- */

bool topology_set_has(const struct topology_set *set, unsigned number);
void topology_set_add(struct topology_set *set, unsigned number);
unsigned topology_set_count(const struct topology_set *set);
bool topology_set_meets(const struct topology_set *a,
                        const struct topology_set *b);
void topology_set_join(struct topology_set *set,
                       const struct topology_set *other);
void topology_set_take(struct topology_set *set,
                       const struct topology_set *other);
/* "0-3,8", "" for none; the end of a list that has no room is left out. */
void topology_set_format(const struct topology_set *set,
                         char text[TOPOLOGY_LIST_MAX]);
/* false when the text is no such list. */
bool topology_set_parse(const char *text, struct topology_set *set_out);

/* --- the machine --- */

/* This machine, or the one of the XML text of hwloc (NULL: this one); the
 * environment of hwloc (HWLOC_XMLFILE, HWLOC_SYNTHETIC) counts as well. */
int topology_machine(const char *xml, struct topology **topology_out,
                     struct error *err);
void topology_free(struct topology *topology);
/* Where the PCI device with that address is; nothing known: -1 and "". */
void topology_locate(const struct topology *topology, const char *address,
                     struct topology_place *place_out);

/* --- a description --- */

/* {"numa": [{"node", "cpus": "0-3", "memory_mib", "threads": 2}],
 *  "nics": [{"name", "pci", "numa", "bus"}]}; threads: CPUs that follow each
 * other of one core, 1 when absent; nics, pci and bus may be absent. */
int topology_describe(const json_t *object, struct topology **topology_out,
                      struct error *err);

/* {"packages", "cores", "cpus": "0-7", "numa": [{"node", "cpus",
 *  "memory_mib"}], "nics": [{"name", "pci", "numa", "bus"}]} */
json_t *topology_json(const struct topology *topology);

#endif
