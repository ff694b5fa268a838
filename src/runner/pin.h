/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_PIN_H
#define RUNNER_PIN_H

#include "accel/topology.h"
#include "base/error.h"
#include "engine/runner_request.h"

/*
 * Which CPUs and which memory may an instance use?
 *
 * near   the CPUs of the NUMA nodes that its cards are beside, all of them when
 *        that is not known; what others have for themselves is left out
 * cores  whole cores that nobody else uses, as many as its CPUs need: beside
 *        its cards first, then where most are free
 * none   all CPUs that nobody has for himself
 *
 * Memory comes from the nodes beside its cards as long as they have as much as
 * was promised there, else from all: a node that is full would end the
 * instance while others are empty.
 */

struct pin {
    struct topology_set cpus, mems;
    bool own; /* the cores are its own */
};

struct pin_ask {
    enum runner_pin pin;
    int64_t cpu_milli, memory_mib;
    struct topology_set beside; /* NUMA nodes of its cards; none: not known */
    struct topology_set taken;  /* CPUs that others have for themselves */
    bool others;       /* somebody is there who shares CPUs */
    int64_t bound_mib; /* promised to others in the nodes beside its cards */
};

/* ERROR_BUSY when there are not enough. */
int pin_choose(const struct topology *topology, const struct pin_ask *ask,
               struct pin *pin_out, struct error *err);

/* The networks beside the cards: behind one of their switches, else beside
 * one of their NUMA nodes; names with a space between two. */
#define PIN_NICS_MAX 256
void pin_nics(const struct topology *topology,
              const struct topology_place *cards, size_t count,
              char text[PIN_NICS_MAX]);

#endif
