/* SPDX-License-Identifier: Apache-2.0 */
#include "core/recent.h"

#include <string.h>

/*
 * Sums of recent use in the forward form (share.h), for each tenant, unit,
 * project and user of a project.
 *
 * Time counts in half-lives: an epoch, and a part of it.  What is worth x at a
 * time goes as x times 2 to the part into the sum of its epoch; reading halves
 * once for each epoch since.  What is older than RECENT_EPOCHS is nothing.  A
 * live binding counts rate x K from its last metering on: its steady state now,
 * less its steady state then.
 */

/* Ids are never used again, unlike slots. */
static struct table_hash
hash_of(const struct world *world, struct ref node, struct ref user)
{
    const struct object *object = world_object(world, node);
    const struct object *subject = world_object(world, user);
    struct id none = { 0, 0 };
    struct table_hash hash =
        table_id_hash(&world->key, object != NULL ? object->id : none, 0);

    if (subject != NULL) {
        hash.hi += subject->id.lo;
        hash.lo += subject->id.hi;
    }
    return hash;
}

static struct recent_sum *
put(struct world *world, struct ref node, struct ref user)
{
    struct table_entry *entry =
        table_put_hash(&world->recent_index, hash_of(world, node, user));

    if (entry->number == 0) {
        world->recents = memory_grow(world->recents, world->recent_count + 1,
                                     sizeof(*world->recents));
        world->recents[world->recent_count++] = (struct recent_sum){ 0 };
        entry->number = world->recent_count;
    }
    return &world->recents[entry->number - 1];
}

bool
recent_clock_set(const struct world *world, int64_t now_ms,
                 struct recent_clock *clock)
{
    const struct platform *platform = world_platform(world, world->platform);

    if (platform == NULL || platform->share_half_life_ms <= 0 || now_ms < 0)
        return false;
    clock->half_life_ms = platform->share_half_life_ms;
    clock->epoch = now_ms / clock->half_life_ms;
    clock->power =
        share_power(now_ms % clock->half_life_ms, clock->half_life_ms);
    return true;
}

/* An amount that is true for the time of the clock, in its epoch. */
static share_sum
forward(share_sum amount, const struct recent_clock *clock)
{
    return amount * (share_sum)(clock->power >> 32) >> 31;
}

/* What is known, in an epoch. */
static share_sum
fold(const struct recent_sum *sum, int amount, int64_t epoch)
{
    share_sum past = 0;

    for (int64_t back = 0; back < RECENT_EPOCHS && back <= epoch; back++) {
        int64_t at = epoch - back;

        if (at <= sum->newest && at > sum->newest - RECENT_EPOCHS)
            past += sum->past[amount][at % RECENT_EPOCHS] >> back;
    }
    return past;
}

/* A later epoch begins: what is too old for it is forgotten. */
static void
begin_epoch(struct recent_sum *sum, int64_t epoch)
{
    if (epoch > sum->newest + RECENT_EPOCHS)
        memset(sum->past, 0, sizeof(sum->past));
    else
        for (int64_t i = sum->newest + 1; i <= epoch; i++)
            for (int j = 0; j < SHARE_AMOUNTS; j++)
                sum->past[j][i % RECENT_EPOCHS] = 0;
    sum->newest = epoch;
    for (int j = 0; j < SHARE_AMOUNTS; j++)
        sum->folded[j] = fold(sum, j, epoch);
}

static void
add_past(struct recent_sum *sum, int64_t epoch, int amount, share_sum value)
{
    if (epoch > sum->newest)
        begin_epoch(sum, epoch);
    if (epoch <= sum->newest - RECENT_EPOCHS)
        return;
    sum->past[amount][epoch % RECENT_EPOCHS] += value;
    if (epoch == sum->newest)
        sum->folded[amount] += value;
    else
        sum->folded[amount] = fold(sum, amount, sum->newest);
}

/* What is to be added to one of the sums. */
struct portion {
    share_sum past[SHARE_AMOUNTS]; /* true for the time of the clock */
    int64_t rate[SHARE_AMOUNTS];   /* a live binding */
    int64_t held[SHARE_AMOUNTS];   /* kept for somebody */
};

static void
add_portion(struct world *world, struct ref node, struct ref user,
            const struct recent_clock *clock, const struct portion *portion)
{
    struct recent_sum *sum = put(world, node, user);

    for (int i = 0; i < SHARE_AMOUNTS; i++) {
        add_past(sum, clock->epoch, i, portion->past[i]);
        sum->rate[i] += portion->rate[i];
        sum->held[i] += portion->held[i];
    }
}

static void
add_up(struct world *world, struct ref project, struct ref user, int64_t at_ms,
       struct portion *portion)
{
    struct ref none = { 0 };
    struct recent_clock clock;

    if (world_object(world, project) == NULL ||
        !recent_clock_set(world, at_ms, &clock))
        return;
    for (int i = 0; i < SHARE_AMOUNTS; i++)
        portion->past[i] = forward(portion->past[i], &clock);
    add_portion(world, project, user, &clock, portion);
    /* Work without a user: the project and its nobody are one. */
    for (struct ref at = ref_is_none(user) ? world_parent(world, project)
                                           : project;
         at.kind != KIND_PLATFORM && !ref_is_none(at);
         at = world_parent(world, at))
        add_portion(world, at, none, &clock, portion);
}

static void
tally_binding(struct world *world, const struct binding *binding, int sign)
{
    const struct platform *platform = world_platform(world, world->platform);
    struct portion portion = {
        .rate = { sign * binding->milli, sign * binding->memory_mib }
    };

    if (platform == NULL || platform->share_half_life_ms == 0)
        return;
    portion.past[SHARE_CARDS] =
        -sign * share_steady(binding->milli, platform->share_half_life_ms);
    portion.past[SHARE_MEMORY] =
        -sign * (share_steady(binding->memory_mib,
                              platform->share_half_life_ms) / 1000);
    add_up(world, binding->project, binding->user, binding->cut_ms, &portion);
}

static void
tally_hold(struct world *world, const struct hold *hold, int sign)
{
    const struct workload *workload =
        world_workload(world, hold->object.parent);
    struct portion portion = {
        .held = { sign * hold->milli, sign * hold->memory_mib }
    };

    if (workload != NULL)
        add_up(world, workload->object.parent, workload->user,
               hold->object.created_ms, &portion);
}

void
recent_tally(struct world *world, enum kind kind, const void *object, int sign)
{
    const struct recent *recent = object;
    const struct binding *binding = object;
    struct portion portion = { 0 };

    if (kind == KIND_BINDING && binding->to_ms == 0)
        tally_binding(world, binding, sign);
    if (kind == KIND_HOLD)
        tally_hold(world, object, sign);
    if (kind != KIND_RECENT)
        return;
    portion.past[SHARE_CARDS] = (share_sum)sign * recent->cards;
    portion.past[SHARE_MEMORY] = (share_sum)sign * recent->memory;
    add_up(world, recent->object.parent, recent->user, recent->at_ms,
           &portion);
}

void
recent_rebuild(struct world *world)
{
    static const enum kind kinds[] = { KIND_BINDING, KIND_HOLD, KIND_RECENT };

    table_release(&world->recent_index);
    world->recent_index = (struct table){ 0 };
    world->recent_count = 0;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        world_each(world, kinds[i], ref)
            recent_tally(world, kinds[i], world_slot(world, ref), 1);
}

/* The sum in the epoch of the clock, without what is live. */
static share_sum
past_of(const struct recent_sum *sum, int amount, int64_t epoch)
{
    return epoch == sum->newest ? sum->folded[amount]
                                : fold(sum, amount, epoch);
}

void
recent_read(const struct world *world, struct ref node, struct ref user,
            const struct recent_clock *clock, bool ahead,
            share_sum sums[SHARE_AMOUNTS])
{
    const struct table_entry *entry =
        table_find_hash(&world->recent_index, hash_of(world, node, user));
    int64_t ahead_ms = SHARE_AHEAD_MS < clock->half_life_ms
                           ? SHARE_AHEAD_MS
                           : clock->half_life_ms;

    for (int i = 0; i < SHARE_AMOUNTS; i++) {
        int64_t unit = i == SHARE_MEMORY ? 1000 : 1;
        const struct recent_sum *sum;
        share_sum now;

        sums[i] = 0;
        if (entry == NULL)
            continue;
        sum = &world->recents[entry->number - 1];
        now = share_steady(sum->rate[i], clock->half_life_ms);
        if (ahead)
            now += (share_sum)(sum->rate[i] + sum->held[i]) * ahead_ms;
        now = forward(now / unit, clock) +
              past_of(sum, i, clock->epoch);
        if (now > 0)
            sums[i] = now;
    }
}
