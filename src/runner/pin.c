/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/pin.h"

#include <stdio.h>
#include <string.h>

static bool
is_empty(const struct topology_set *set)
{
    return topology_set_count(set) == 0;
}

/* CPUs and memory of the nodes beside the cards; all when none is known. */
static void
look_beside(const struct topology *topology, const struct topology_set *beside,
            struct topology_set *cpus_out, int64_t *memory_mib_out)
{
    *cpus_out = (struct topology_set){ { 0 } };
    *memory_mib_out = 0;
    for (size_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *node = &topology->nodes[i];

        if (!topology_set_has(beside, (unsigned)node->number))
            continue;
        topology_set_join(cpus_out, &node->cpus);
        *memory_mib_out += node->memory_mib;
    }
    if (is_empty(cpus_out))
        *cpus_out = topology->cpus;
}

static void
choose_memory(const struct topology *topology, const struct pin_ask *ask,
              int64_t memory_mib, struct pin *pin)
{
    if (!is_empty(&ask->beside) && ask->pin != RUNNER_PIN_NONE &&
        ask->bound_mib + ask->memory_mib <= memory_mib) {
        pin->mems = ask->beside;
        return;
    }
    for (size_t i = 0; i < topology->node_count; i++)
        topology_set_add(&pin->mems, (unsigned)topology->nodes[i].number);
}

/* --- shared CPUs --- */

static int
choose_shared(const struct topology *topology, const struct pin_ask *ask,
              const struct topology_set *near, struct pin *pin,
              struct error *err)
{
    pin->cpus = ask->pin == RUNNER_PIN_NEAR ? *near : topology->cpus;
    topology_set_take(&pin->cpus, &ask->taken);
    if (!is_empty(&pin->cpus))
        return 0;
    pin->cpus = topology->cpus;
    topology_set_take(&pin->cpus, &ask->taken);
    if (!is_empty(&pin->cpus))
        return 0;
    return error_set(err, ERROR_BUSY,
                     "every core of the node is somebody's own");
}

/* --- whole cores --- */

static bool
is_free(const struct topology *topology, const struct topology_core *core,
        const struct topology_set *taken)
{
    return topology_set_meets(&core->cpus, &topology->cpus) &&
           !topology_set_meets(&core->cpus, taken);
}

/* Free cores of a NUMA node; -1: of all. */
static unsigned
count_free(const struct topology *topology, int32_t node,
           const struct topology_set *taken)
{
    unsigned count = 0;

    for (size_t i = 0; i < topology->core_count; i++)
        count += (node == -1 || topology->cores[i].node == node) &&
                 is_free(topology, &topology->cores[i], taken);
    return count;
}

/* The next node to take cores of: beside the cards, then the one with most
 * that are free. */
static const struct topology_core *
next_core(const struct topology *topology, const struct topology_set *near,
          const struct topology_set *taken)
{
    const struct topology_core *best = NULL;
    unsigned most = 0;

    for (size_t i = 0; i < topology->core_count; i++) {
        const struct topology_core *core = &topology->cores[i];
        unsigned weight;

        if (!is_free(topology, core, taken))
            continue;
        weight = count_free(topology, core->node, taken) +
                 (topology_set_meets(&core->cpus, near) ? TOPOLOGY_CPUS_MAX
                                                        : 0);
        if (best == NULL || weight > most) {
            best = core;
            most = weight;
        }
    }
    return best;
}

/* All cores of one node one after the other, so that threads that work
 * together have one memory. */
static void
take_of_node(const struct topology *topology, int32_t node, unsigned cpus,
             struct topology_set *taken, struct pin *pin)
{
    for (size_t i = 0; i < topology->core_count; i++) {
        const struct topology_core *core = &topology->cores[i];

        if (topology_set_count(&pin->cpus) >= cpus)
            return;
        if (core->node != node || !is_free(topology, core, taken))
            continue;
        topology_set_join(&pin->cpus, &core->cpus);
        topology_set_join(taken, &core->cpus);
    }
}

/* Does anything stay for those who share? */
static bool
leaves_some(const struct topology *topology, const struct pin_ask *ask,
            const struct topology_set *taken)
{
    struct topology_set rest = topology->cpus;

    topology_set_take(&rest, taken);
    return !ask->others || !is_empty(&rest);
}

static int
choose_cores(const struct topology *topology, const struct pin_ask *ask,
             const struct topology_set *near, struct pin *pin,
             struct error *err)
{
    unsigned cpus = (unsigned)(ask->cpu_milli / 1000);
    struct topology_set taken = ask->taken;
    const struct topology_core *core;

    while (topology_set_count(&pin->cpus) < cpus &&
           (core = next_core(topology, near, &taken)) != NULL)
        take_of_node(topology, core->node, cpus, &taken, pin);
    pin->own = true;
    if (topology_set_count(&pin->cpus) >= cpus &&
        leaves_some(topology, ask, &taken))
        return 0;
    return error_set(err, ERROR_BUSY,
                     "%u CPUs in whole cores are asked for: %u of %zu cores "
                     "are free%s",
                     cpus, count_free(topology, -1, &ask->taken),
                     topology->core_count,
                     ask->others ? ", and one stays for those who share" : "");
}

int
pin_choose(const struct topology *topology, const struct pin_ask *ask,
           struct pin *pin_out, struct error *err)
{
    struct pin pin = { .own = false };
    struct topology_set near;
    int64_t memory_mib;
    int result;

    look_beside(topology, &ask->beside, &near, &memory_mib);
    result = ask->pin == RUNNER_PIN_CORES
                 ? choose_cores(topology, ask, &near, &pin, err)
                 : choose_shared(topology, ask, &near, &pin, err);
    if (result != 0)
        return -1;
    choose_memory(topology, ask, memory_mib, &pin);
    *pin_out = pin;
    return 0;
}

/* --- networks --- */

static bool
is_behind(const struct topology_nic *nic, const struct topology_place *cards,
          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nic->bus[0] != '\0' && strcmp(nic->bus, cards[i].bus) == 0)
            return true;
    return false;
}

static bool
is_beside(const struct topology_nic *nic, const struct topology_place *cards,
          size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (nic->node >= 0 && nic->node == cards[i].node)
            return true;
    return false;
}

static void
list_nics(const struct topology *topology, const struct topology_place *cards,
          size_t count, bool behind, char text[PIN_NICS_MAX])
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < topology->nic_count; i++) {
        const struct topology_nic *nic = &topology->nics[i];
        size_t size = strlen(nic->name);

        if (!(behind ? is_behind(nic, cards, count)
                     : is_beside(nic, cards, count)) ||
            used + size + 2 > PIN_NICS_MAX)
            continue;
        if (used > 0)
            text[used++] = ' ';
        memcpy(text + used, nic->name, size + 1);
        used += size;
    }
}

void
pin_nics(const struct topology *topology, const struct topology_place *cards,
         size_t count, char text[PIN_NICS_MAX])
{
    list_nics(topology, cards, count, true, text);
    if (text[0] == '\0')
        list_nics(topology, cards, count, false, text);
}
