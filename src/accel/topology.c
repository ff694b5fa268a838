/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/json.h"

#define WORDS (TOPOLOGY_CPUS_MAX / 64)

/* --- sets --- */

bool
topology_set_has(const struct topology_set *set, unsigned number)
{
    return number < TOPOLOGY_CPUS_MAX &&
           (set->words[number / 64] >> (number % 64) & 1) != 0;
}

void
topology_set_add(struct topology_set *set, unsigned number)
{
    if (number < TOPOLOGY_CPUS_MAX)
        set->words[number / 64] |= UINT64_C(1) << (number % 64);
}

unsigned
topology_set_count(const struct topology_set *set)
{
    unsigned count = 0;

    for (size_t i = 0; i < WORDS; i++)
        count += (unsigned)__builtin_popcountll(set->words[i]);
    return count;
}

bool
topology_set_meets(const struct topology_set *a, const struct topology_set *b)
{
    for (size_t i = 0; i < WORDS; i++)
        if ((a->words[i] & b->words[i]) != 0)
            return true;
    return false;
}

void
topology_set_join(struct topology_set *set, const struct topology_set *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] |= other->words[i];
}

void
topology_set_take(struct topology_set *set, const struct topology_set *other)
{
    for (size_t i = 0; i < WORDS; i++)
        set->words[i] &= ~other->words[i];
}

void
topology_set_format(const struct topology_set *set,
                    char text[TOPOLOGY_LIST_MAX])
{
    size_t used = 0;

    text[0] = '\0';
    for (unsigned from = 0; from < TOPOLOGY_CPUS_MAX; from++) {
        unsigned to = from;
        int size;

        if (!topology_set_has(set, from))
            continue;
        while (topology_set_has(set, to + 1))
            to++;
        size = from == to ? snprintf(text + used, TOPOLOGY_LIST_MAX - used,
                                     "%s%u", used > 0 ? "," : "", from)
                          : snprintf(text + used, TOPOLOGY_LIST_MAX - used,
                                     "%s%u-%u", used > 0 ? "," : "", from, to);
        if (size < 0 || used + (size_t)size >= TOPOLOGY_LIST_MAX) {
            text[used] = '\0';
            return;
        }
        used += (size_t)size;
        from = to;
    }
}

/* A number below TOPOLOGY_CPUS_MAX; false when there is none. */
static bool
take_number(const char **text, unsigned *number_out)
{
    unsigned number = 0;
    const char *at = *text;

    for (; *at >= '0' && *at <= '9' && number < TOPOLOGY_CPUS_MAX; at++)
        number = number * 10 + (unsigned)(*at - '0');
    if (at == *text || number >= TOPOLOGY_CPUS_MAX)
        return false;
    *text = at;
    *number_out = number;
    return true;
}

bool
topology_set_parse(const char *text, struct topology_set *set_out)
{
    struct topology_set set = { { 0 } };

    while (*text != '\0') {
        unsigned from, to;

        if (!take_number(&text, &from))
            return false;
        to = from;
        if (*text == '-') {
            text++;
            if (!take_number(&text, &to) || to < from)
                return false;
        }
        for (unsigned i = from; i <= to; i++)
            topology_set_add(&set, i);
        if (*text == ',' && text[1] != '\0')
            text++;
        else if (*text != '\0')
            return false;
    }
    *set_out = set;
    return true;
}

void
topology_free(struct topology *topology)
{
    if (topology == NULL)
        return;
    if (topology->machine != NULL)
        topology->release(topology->machine);
    free(topology);
}

/* --- a description --- */

static int
read_text(const json_t *object, const char *key, bool required, char *out,
          size_t room, struct error *err)
{
    const char *text = NULL;

    if (json_text(object, key, required, room - 1, &text, err) != 0)
        return -1;
    (void)snprintf(out, room, "%s", text != NULL ? text : "");
    return 0;
}

/* CPUs that follow each other share a core. */
static void
add_cores(struct topology *topology, const struct topology_node *node,
          int64_t threads)
{
    int64_t filled = threads;

    for (unsigned cpu = 0; cpu < TOPOLOGY_CPUS_MAX; cpu++) {
        struct topology_core *core;

        if (!topology_set_has(&node->cpus, cpu))
            continue;
        if (filled == threads) {
            core = &topology->cores[topology->core_count++];
            core->node = node->number;
            filled = 0;
        }
        topology_set_add(
            &topology->cores[topology->core_count - 1].cpus, cpu);
        filled++;
    }
}

static int
read_node(struct topology *topology, const json_t *item, struct error *err)
{
    static const char *const keys[] = { "node", "cpus", "memory_mib",
                                        "threads", NULL };
    struct topology_node *node = &topology->nodes[topology->node_count];
    int64_t number = 0, threads = 1;
    char cpus[TOPOLOGY_LIST_MAX];

    if (json_only(item, keys, err) != 0 ||
        json_int(item, "node", true, 0, TOPOLOGY_CPUS_MAX - 1, &number, err) !=
            0 ||
        json_int(item, "memory_mib", true, 1, INT64_C(1) << 40,
                 &node->memory_mib, err) != 0 ||
        json_int(item, "threads", false, 1, 8, &threads, err) != 0 ||
        read_text(item, "cpus", true, cpus, sizeof(cpus), err) != 0)
        return -1;
    node->number = (int32_t)number;
    if (!topology_set_parse(cpus, &node->cpus))
        return error_field(err, "/cpus", "\"%.60s\" is no list of CPUs: 0-3,8",
                           cpus);
    if (topology_set_meets(&topology->cpus, &node->cpus))
        return error_field(err, "/cpus", "a CPU is in two NUMA nodes");
    topology_set_join(&topology->cpus, &node->cpus);
    add_cores(topology, node, threads);
    topology->node_count++;
    return 0;
}

static int
read_nic(struct topology *topology, const json_t *item, struct error *err)
{
    static const char *const keys[] = { "name", "pci", "numa", "bus", NULL };
    struct topology_nic *nic = &topology->nics[topology->nic_count];
    int64_t number = -1;

    if (json_only(item, keys, err) != 0 ||
        read_text(item, "name", true, nic->name, sizeof(nic->name), err) !=
            0 ||
        read_text(item, "pci", false, nic->pci, sizeof(nic->pci), err) != 0 ||
        read_text(item, "bus", false, nic->bus, sizeof(nic->bus), err) != 0 ||
        json_int(item, "numa", false, -1, TOPOLOGY_CPUS_MAX - 1, &number,
                 err) != 0)
        return -1;
    nic->node = (int32_t)number;
    topology->nic_count++;
    return 0;
}

static int
read_list(struct topology *topology, const json_t *object, const char *key,
          size_t max,
          int (*read)(struct topology *, const json_t *, struct error *),
          struct error *err)
{
    const json_t *list = json_object_get(object, key);
    json_t *item;
    size_t i;

    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > max)
        return error_set(err, ERROR_INVALID, "%s is a list of at most %zu",
                         key, max);
    json_array_foreach(list, i, item)
        if (!json_is_object(item) || read(topology, item, err) != 0)
            return error_prefix(err, "%s %zu", key, i);
    return 0;
}

int
topology_describe(const json_t *object, struct topology **topology_out,
                  struct error *err)
{
    static const char *const keys[] = { "numa", "nics", NULL };
    struct topology *topology;

    if (!json_is_object(object) || json_only(object, keys, err) != 0)
        return error_field(err, "/topology",
                           "topology is an object of numa and nics");
    topology = memory_new(1, sizeof(*topology));
    topology->packages = 1;
    if (read_list(topology, object, "numa", TOPOLOGY_NODES_MAX, read_node,
                  err) != 0 ||
        read_list(topology, object, "nics", TOPOLOGY_NICS_MAX, read_nic,
                  err) != 0) {
        topology_free(topology);
        return error_prefix(err, "topology");
    }
    topology->packages =
        topology->node_count > 0 ? (int32_t)topology->node_count : 1;
    *topology_out = topology;
    return 0;
}

/* --- as JSON --- */

static json_t *
nodes_json(const struct topology *topology)
{
    json_t *list = json_array();

    for (size_t i = 0; i < topology->node_count; i++) {
        const struct topology_node *node = &topology->nodes[i];
        char cpus[TOPOLOGY_LIST_MAX];

        topology_set_format(&node->cpus, cpus);
        (void)json_array_append_new(
            list, json_pack("{s:i, s:s, s:I}", "node", (int)node->number,
                            "cpus", cpus, "memory_mib",
                            (json_int_t)node->memory_mib));
    }
    return list;
}

json_t *
topology_json(const struct topology *topology)
{
    json_t *nics = json_array();
    char cpus[TOPOLOGY_LIST_MAX];

    for (size_t i = 0; i < topology->nic_count; i++) {
        const struct topology_nic *nic = &topology->nics[i];

        (void)json_array_append_new(
            nics, json_pack("{s:s, s:s, s:i, s:s}", "name", nic->name, "pci",
                            nic->pci, "numa", (int)nic->node, "bus",
                            nic->bus));
    }
    topology_set_format(&topology->cpus, cpus);
    return json_pack("{s:i, s:I, s:s, s:o, s:o}", "packages",
                     (int)topology->packages, "cores",
                     (json_int_t)topology->core_count, "cpus", cpus, "numa",
                     nodes_json(topology), "nics", nics);
}
