/* SPDX-License-Identifier: Apache-2.0 */
#include "core/share.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/object.h"
#include "core/recent.h"

/* --- powers of two --- */

#define POWER_BITS 48

uint64_t
share_power(int64_t part, int64_t whole)
{
    /* 2^(2^-i) x 2^63, i = 1 .. 48, rounded down. */
    static const uint64_t roots[POWER_BITS] = {
        UINT64_C(0xB504F333F9DE6484), UINT64_C(0x9837F0518DB8A96F),
        UINT64_C(0x8B95C1E3EA8BD6E6), UINT64_C(0x85AAC367CC487B14),
        UINT64_C(0x82CD8698AC2BA1D7), UINT64_C(0x8164D1F3BC030773),
        UINT64_C(0x80B1ED4FD999AB6C), UINT64_C(0x8058D7D2D5E5F6B0),
        UINT64_C(0x802C6436D0E04F50), UINT64_C(0x8016302F17467628),
        UINT64_C(0x800B179C82028FD0), UINT64_C(0x80058BAF7FEE3B5D),
        UINT64_C(0x8002C5D00FDCFCB6), UINT64_C(0x800162E61BED4A48),
        UINT64_C(0x8000B17292F702A3), UINT64_C(0x800058B92ABBAE02),
        UINT64_C(0x80002C5C8DADE4D7), UINT64_C(0x8000162E44EAF636),
        UINT64_C(0x80000B1721FA7C18), UINT64_C(0x8000058B90DE7E4C),
        UINT64_C(0x800002C5C8678F36), UINT64_C(0x80000162E431DB9F),
        UINT64_C(0x800000B1721872D0), UINT64_C(0x80000058B90C1AA8),
        UINT64_C(0x8000002C5C8605A4), UINT64_C(0x800000162E4300E6),
        UINT64_C(0x8000000B17217FF8), UINT64_C(0x800000058B90BFDD),
        UINT64_C(0x80000002C5C85FE6), UINT64_C(0x8000000162E42FF1),
        UINT64_C(0x80000000B17217F8), UINT64_C(0x8000000058B90BFC),
        UINT64_C(0x800000002C5C85FD), UINT64_C(0x80000000162E42FE),
        UINT64_C(0x800000000B17217F), UINT64_C(0x80000000058B90BF),
        UINT64_C(0x8000000002C5C85F), UINT64_C(0x800000000162E42F),
        UINT64_C(0x8000000000B17217), UINT64_C(0x800000000058B90B),
        UINT64_C(0x80000000002C5C85), UINT64_C(0x8000000000162E42),
        UINT64_C(0x80000000000B1721), UINT64_C(0x8000000000058B90),
        UINT64_C(0x800000000002C5C8), UINT64_C(0x80000000000162E4),
        UINT64_C(0x800000000000B172), UINT64_C(0x80000000000058B9),
    };
    uint64_t bits, power = UINT64_C(1) << 63;

    assert(part >= 0 && part < whole);
    bits = (uint64_t)(((share_product)part << POWER_BITS) /
                      (share_product)whole);
    for (int i = 0; i < POWER_BITS; i++)
        if ((bits >> (POWER_BITS - 1 - i) & 1) != 0)
            power = (uint64_t)((share_product)power * roots[i] >> 63);
    return power;
}

int64_t
share_fade(int64_t amount, int64_t past_ms, int64_t half_life_ms)
{
    int64_t halves = past_ms / half_life_ms, part = past_ms % half_life_ms;

    if (halves >= 62)
        return 0;
    if (part == 0)
        return amount >> halves;
    /* 2^-x is 2^(1 - x) / 2. */
    return (int64_t)((share_product)amount *
                         share_power(half_life_ms - part, half_life_ms) >>
                     (64 + halves));
}

share_sum
share_steady(share_sum rate, int64_t half_life_ms)
{
    /* 1 / ln 2, x 10^15 */
    return rate * half_life_ms * INT64_C(1442695040888963) /
           INT64_C(1000000000000000);
}

/* --- the rows --- */

/* ms of a capacity in one of an amount. */
static const int64_t units[SHARE_AMOUNTS] = { 1, 1000 };

static bool
is_row(const struct object *object, const struct binding *binding)
{
    return object->self.kind == KIND_RECENT &&
           ref_equal(object->parent, binding->project) &&
           ref_equal(((const struct recent *)(const void *)object)->user,
                     binding->user);
}

/* The row of this set or of the world; a new one when there is none. */
static struct recent *
row_of(struct changes *changes, const struct binding *binding)
{
    char name[ID_TEXT_MAX] = "none";
    struct recent *recent;
    struct ref ref;

    if (!ref_is_none(binding->user))
        object_id_text(changes->world, binding->user, name);
    ref = world_find_name(changes->world, KIND_RECENT, binding->project, name);
    if (!ref_is_none(ref))
        return change_unsaid(changes, ref);
    for (size_t i = 0; i < changes->count; i++)
        if (changes->list[i].op == CHANGE_PUT &&
            is_row(changes->list[i].image, binding))
            return changes->list[i].image;
    recent = change_create(changes, KIND_RECENT, binding->project, name);
    recent->user = binding->user;
    recent->at_ms = changes->context.now_ms;
    return recent;
}

/* The amount faded to now, and what came to it since then. */
static int64_t
grown(int64_t amount, int64_t past_ms, int64_t steady, int64_t since_ms,
      int64_t half_life_ms)
{
    int64_t sum = share_fade(amount, past_ms, half_life_ms) + steady -
                  share_fade(steady, since_ms, half_life_ms);

    return sum < USAGE_MAX ? sum : USAGE_MAX;
}

void
share_cut(struct changes *changes, const struct binding *binding)
{
    const struct platform *platform =
        change_get(changes, world_platform_ref(changes->world));
    int64_t now_ms = changes->context.now_ms;
    int64_t since_ms = now_ms - binding->cut_ms, half_life_ms, past_ms;
    struct recent *recent;

    if (platform == NULL || platform->share_half_life_ms == 0 ||
        change_get(changes, binding->project) == NULL)
        return;
    half_life_ms = platform->share_half_life_ms;
    recent = row_of(changes, binding);
    past_ms = now_ms - recent->at_ms;
    if (past_ms < 0)
        past_ms = 0;
    recent->cards = grown(recent->cards, past_ms,
                          (int64_t)share_steady(binding->milli, half_life_ms),
                          since_ms, half_life_ms);
    recent->memory =
        grown(recent->memory, past_ms,
              (int64_t)(share_steady(binding->memory_mib, half_life_ms) /
                        units[SHARE_MEMORY]),
              since_ms, half_life_ms);
    recent->at_ms = now_ms;
}

/* --- shares --- */

int64_t
share_weight(const struct world *world, struct ref node)
{
    int64_t weight = 0;

    if (node.kind == KIND_TENANT && world_tenant(world, node) != NULL)
        weight = world_tenant(world, node)->weight;
    else if (node.kind == KIND_UNIT && world_unit(world, node) != NULL)
        weight = world_unit(world, node)->weight;
    else if (node.kind == KIND_PROJECT && world_project(world, node) != NULL)
        weight = world_project(world, node)->weight;
    return weight > 0 ? weight : SHARE_WEIGHT;
}

#define KEY_BITS 16

/* 2^exponent x value as an order-preserving integer; 0 for nothing. */
static int64_t
key_of(int64_t exponent, share_product value)
{
    int top = 0;

    if (value == 0)
        return 0;
    while (value >> 1 >> top != 0)
        top++;
    value = top > KEY_BITS ? value >> (top - KEY_BITS)
                           : value << (KEY_BITS - top);
    return ((exponent + top) << KEY_BITS) +
           (int64_t)(value & ((1u << KEY_BITS) - 1));
}

static int64_t
node_key(const struct world *world, struct ref node, struct ref user,
         const struct recent_clock *clock)
{
    share_product weight = (share_product)share_weight(world, node), most = 0;
    share_sum sums[SHARE_AMOUNTS];

    recent_read(world, node, user, clock, true, sums);
    for (int i = 0; i < SHARE_AMOUNTS; i++) {
        share_product part;

        if (world->capacity[i] <= 0)
            continue;
        part = ((share_product)sums[i] << 20) * SHARE_WEIGHT *
               (share_product)units[i] /
               ((share_product)world->capacity[i] *
                (ref_is_none(user) ? weight : SHARE_WEIGHT));
        if (part > most)
            most = part;
    }
    return key_of(clock->epoch, most);
}

struct share_basis
share_basis(const struct world *world)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    return (struct share_basis){
        { world->capacity[SHARE_CARDS], world->capacity[SHARE_MEMORY] },
        platform != NULL ? platform->share_half_life_ms : 0
    };
}

void
share_path(const struct world *world, struct ref project, struct ref user,
           int64_t now_ms, struct share_path *path)
{
    struct ref nodes[SHARE_LEVELS], none = { 0 };
    struct recent_clock clock;
    int depth = 0, level = 0;

    memset(path, 0, sizeof(*path));
    if (!recent_clock_set(world, now_ms, &clock))
        return;
    for (struct ref at = project;
         at.kind != KIND_PLATFORM && !ref_is_none(at) &&
         depth < SHARE_LEVELS - 1;
         at = world_parent(world, at))
        nodes[depth++] = at;
    while (depth > 0)
        path->keys[level++] = node_key(world, nodes[--depth], none, &clock);
    /* Work without a user: the project and its nobody are one. */
    path->keys[level] = ref_is_none(user) && level > 0
                            ? path->keys[level - 1]
                            : node_key(world, project, user, &clock);
}

int
share_compare(const struct share_path *a, const struct share_path *b)
{
    for (int i = 0; i < SHARE_LEVELS; i++)
        if (a->keys[i] != b->keys[i])
            return a->keys[i] < b->keys[i] ? -1 : 1;
    return 0;
}

int64_t
share_permille(const struct world *world, struct ref node, struct ref user,
               int64_t now_ms)
{
    share_sum sums[SHARE_AMOUNTS], most = 0;
    struct recent_clock clock;

    if (!recent_clock_set(world, now_ms, &clock))
        return 0;
    recent_read(world, node, user, &clock, false, sums);
    for (int i = 0; i < SHARE_AMOUNTS; i++) {
        share_sum steady =
            share_steady(world->capacity[i], clock.half_life_ms) / units[i];
        share_sum part;

        if (steady <= 0)
            continue;
        part = sums[i] * 1000 / steady;
        part = (part << 31) / (share_sum)(clock.power >> 32);
        if (part > most)
            most = part;
    }
    return (int64_t)most;
}
