/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/agents_private.h"
#include "control/execute.h"
#include "core/observe_health.h"

/* How long is it since each card's health was told of?  What is measured is
 * kept in memory only; that nobody has told of a card for too long is a
 * change, and has its record. */

/* A card's health outlives its node's lease by as much again. */
#define LEASES 2

/* --- readings --- */

static struct ref
find_card(const struct world *world, struct ref node, const char *uuid)
{
    world_each_child(world, KIND_CARD, node, ref)
        if (strcmp(world_card(world, ref)->uuid, uuid) == 0)
            return ref;
    return (struct ref){ 0 };
}

void
agents_note_looks(struct agents *agents, struct ref node,
                  const struct report *report)
{
    const struct world *world = loop_world(agents->loop);
    int64_t now_ms = loop_context(agents->loop).now_ms;

    for (size_t i = 0; i < report->look_count; i++) {
        const struct report_look *look = &report->looks[i];
        struct ref ref = find_card(world, node, look->uuid);
        bool told = look->age_ms >= 0 && look->health != REPORT_UNKNOWN;

        if (ref_is_none(ref))
            continue;
        loop_touch_card(agents->loop, ref,
                        &(struct card_readings){
                            .looked_ms = told
                                             ? now_ms - look->age_ms
                                             : world_card(world, ref)
                                                   ->read.looked_ms,
                            .temperature_c = look->temperature_c,
                            .power_mw = look->power_mw,
                            .busy_permille = look->busy_permille,
                            .memory_used_mib = look->memory_used_mib,
                            .ecc_corrected = look->ecc_corrected,
                            .ecc_uncorrected = look->ecc_uncorrected,
                            .clock_reasons = look->clock_reasons });
    }
}

/* --- leases --- */

struct ageing {
    struct ref node;
    int64_t before_ms; /* looks from before are too old */
};

static bool
is_due(const struct card *card, int64_t before_ms)
{
    return card->looked && !card->stale && !card->missing &&
           card->read.looked_ms < before_ms;
}

static int
decide_stale(struct changes *changes, void *data, struct error *err)
{
    const struct ageing *ageing = data;

    (void)err;
    world_each_child(changes->world, KIND_CARD, ageing->node, ref)
        if (is_due(world_card(changes->world, ref), ageing->before_ms))
            observe_health_stale(changes, ref);
    return 0;
}

static void
age(struct agents *agents, struct arena *arena, struct ref node,
    int64_t before_ms)
{
    const struct object *object = world_object(loop_world(agents->loop), node);
    struct ageing ageing = { node, before_ms };
    struct deed deed = { .verb = "card.stale",
                         .object = node,
                         .component = "agents",
                         .node = arena_strdup(arena, object->name),
                         .reason = "nothing was told of its health",
                         .decide = decide_stale,
                         .data = &ageing };
    struct error err;

    if (execute_deed(agents->loop, arena, &deed, &err) < 0)
        log_error("node %s: %s", deed.node, err.text);
}

static bool
has_due(const struct world *world, struct ref node, int64_t before_ms)
{
    world_each_child(world, KIND_CARD, node, ref)
        if (is_due(world_card(world, ref), before_ms))
            return true;
    return false;
}

/* A lost node takes no work anyhow.  Nobody could tell of anything before the
 * control plane was there. */
void
agents_check_looks(struct agents *agents, struct arena *arena)
{
    const struct world *world = loop_world(agents->loop);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    int64_t lease_ms = platform != NULL ? platform->lease_ms * LEASES : 0;
    int64_t before_ms = loop_context(agents->loop).now_ms - lease_ms;

    if (lease_ms == 0 || clock_mono_ms() - agents->started_ms < lease_ms)
        return;
    world_each(world, KIND_NODE, ref)
        if (world_node(world, ref)->state != NODE_LOST &&
            has_due(world, ref, before_ms))
            age(agents, arena, ref, before_ms);
}
