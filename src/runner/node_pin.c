/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/node_pin.h"

#include <string.h>

#include "base/log.h"

/* --- the machine --- */

static bool
has_all(const struct topology_set *set, const struct topology_set *wanted)
{
    struct topology_set rest = *wanted;

    topology_set_take(&rest, set);
    return topology_set_count(&rest) == 0;
}

int
node_pin_open(struct node *node, struct error *err)
{
    const struct topology *described =
        node->accel.ops->topology != NULL
            ? node->accel.ops->topology(&node->accel)
            : NULL;

    if (topology_machine(NULL, &node->machine, err) != 0) {
        log_warn("instances are not kept to CPUs: %s", err->text);
        node->topology = described;
        return 0;
    }
    node->topology = described != NULL ? described : node->machine;
    /* CPUs that are only described are not there to be kept to. */
    node->pins = cgroup_can_pin(node->mode) &&
                 has_all(&node->machine->cpus, &node->topology->cpus);
    return 0;
}

void
node_pin_close(struct node *node)
{
    topology_free(node->machine);
    node->machine = NULL;
}

/* The backend's word counts first; what it leaves open the machine tells. */
void
node_pin_locate(struct node *node, const struct accel_card *card,
                struct topology_place *place_out)
{
    struct topology_place place = { .node = -1 };

    if (node->topology != NULL)
        topology_locate(node->topology, card->pci, &place);
    if (card->numa >= 0)
        place.node = card->numa;
    else if (place.node < 0 && node->topology != NULL &&
             node->topology->node_count == 1)
        place.node = node->topology->nodes[0].number;
    if (card->bus[0] != '\0')
        memcpy(place.bus, card->bus, sizeof(place.bus));
    *place_out = place;
}

/* --- one instance --- */

static bool
is_here(const struct instance *instance)
{
    return instance->phase == INSTANCE_STARTING ||
           instance->phase == INSTANCE_RUNNING;
}

/* What the others have, in the eyes of this one. */
static void
look_at_others(const struct node *node, const struct instance *instance,
               struct pin_ask *ask)
{
    for (const struct instance *at = node->first; at != NULL; at = at->next) {
        if (at == instance)
            continue;
        if (at->pin.own)
            topology_set_join(&ask->taken, &at->pin.cpus);
        else if (is_here(at))
            ask->others = true;
        if (is_here(at) && topology_set_meets(&at->pin.mems, &ask->beside))
            ask->bound_mib += at->start.memory_mib;
    }
}

/* Cards do not move: they are asked once. */
static void
locate_cards(struct node *node, struct instance *instance)
{
    struct topology_place places[RUNNER_CARDS_MAX];
    size_t count = 0;

    for (size_t i = 0; !instance->located && i < instance->start.card_count;
         i++) {
        struct error ignored;
        struct accel_card card;

        if (accel_describe(&node->accel, instance->start.cards[i], &card,
                           &ignored) != 0)
            continue;
        node_pin_locate(node, &card, &places[count]);
        if (places[count].node >= 0)
            topology_set_add(&instance->beside, (unsigned)places[count].node);
        count++;
    }
    if (!instance->located)
        pin_nics(node->topology, places, count, instance->nics);
    instance->located = true;
}

/* Memory nodes that are only described are not there to be kept to. */
static void
keep_to_machine(const struct node *node, struct pin *pin)
{
    struct topology_set all = { { 0 } };

    for (size_t i = 0; i < node->machine->node_count; i++)
        topology_set_add(&all, (unsigned)node->machine->nodes[i].number);
    if (!has_all(&all, &pin->mems))
        pin->mems = all;
}

static int
choose(struct node *node, struct instance *instance, struct pin *pin_out,
       struct error *err)
{
    struct pin_ask ask = { .pin = instance->start.pin,
                           .cpu_milli = instance->start.cpu_milli,
                           .memory_mib = instance->start.memory_mib };

    locate_cards(node, instance);
    if (!node->pins)
        return 0;
    ask.beside = instance->beside;
    look_at_others(node, instance, &ask);
    if (pin_choose(node->topology, &ask, pin_out, err) != 0)
        return -1;
    keep_to_machine(node, pin_out);
    return 0;
}

int
node_pin_choose(struct node *node, struct instance *instance,
                struct error *err)
{
    if (instance->start.pin == RUNNER_PIN_CORES && !node->pins)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the node cannot keep instances to cores: its kernel "
                         "has no cpuset groups");
    return node->topology != NULL
               ? choose(node, instance, &instance->pin, err)
               : 0;
}

static void
tell_kernel(struct node *node, const struct instance *instance)
{
    char cpus[TOPOLOGY_LIST_MAX], mems[TOPOLOGY_LIST_MAX];
    struct error err;

    topology_set_format(&instance->pin.cpus, cpus);
    topology_set_format(&instance->pin.mems, mems);
    if (cgroup_pin(node->mode, instance->cgroup, cpus, mems, &err) != 0 &&
        err.code != ERROR_GONE)
        log_warn("%s: %s", instance->id, err.text);
}

/* Memory stays where it is: to move it would stop the instance for long. */
void
node_pin_follow(struct node *node, struct instance *instance)
{
    struct error ignored;
    struct pin pin;

    if (!node->pins || !is_here(instance))
        return;
    if (!instance->pin.own &&
        choose(node, instance, &pin, &ignored) == 0 &&
        memcmp(&pin.cpus, &instance->pin.cpus, sizeof(pin.cpus)) != 0) {
        instance->pin.cpus = pin.cpus;
        node->revision++;
        if (instance->phase == INSTANCE_RUNNING)
            (void)instance_save(instance, &ignored);
    }
    tell_kernel(node, instance);
}

void
node_pin_spread(struct node *node)
{
    for (struct instance *at = node->first; at != NULL; at = at->next)
        if (!at->busy)
            node_pin_follow(node, at);
}
