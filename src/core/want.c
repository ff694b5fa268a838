/* SPDX-License-Identifier: Apache-2.0 */
#include "core/want.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/alternative.h"
#include "core/cut.h"
#include "core/gate.h"
#include "core/object.h"
#include "core/price.h"

/* What one looks for, and where. */
struct hunt {
    const struct world *world;
    const struct tenant *tenant;
    struct ref pools[GATE_POOLS_MAX];
    size_t pool_count;
    int64_t mib, now_ms;
};

/* What an instance gets of this card; 0: it is none for the class. */
static int64_t
memory_on(const struct class *class, const struct card *card)
{
    if (!place_matches(class, card))
        return 0;
    if (class->form == FORM_WHOLE)
        return card->memory_mib;
    if (class->form == FORM_HARD)
        return cut_empty_room(class, card) > 0 ? class->memory_mib : 0;
    return class->memory_mib > 0 ? class->memory_mib
                                 : card->memory_mib * class->milli / 1000;
}

/* The least that any card of those pools gives, and the price of the dearest
 * of them. */
static void
look_at_cards(const struct hunt *hunt, const struct class *class,
              struct want *want)
{
    const struct world *world = hunt->world;
    int64_t dearest = 0;

    for (size_t i = 0; i < hunt->pool_count; i++)
        world_each_child(world, KIND_NODE, hunt->pools[i], node)
            world_each_child(world, KIND_CARD, node, ref) {
                const struct card *card = world_card(world, ref);
                int64_t memory = memory_on(class, card), price;

                if (memory == 0)
                    continue;
                if (want->memory_mib == 0 || memory < want->memory_mib)
                    want->memory_mib = memory;
                price = price_at(world, METER_CARD_HOUR, card->model,
                                 hunt->tenant->object.self, hunt->now_ms);
                if (price > dearest)
                    dearest = price;
            }
    (void)price_of_card_time(dearest, want->milli * 3600000,
                             &want->cost_nano);
}

static void
look_at(const struct hunt *hunt, const struct class *class,
        struct want *want)
{
    *want = (struct want){
        .class = class->object.self,
        .seq = class->object.seq,
        .milli = class->form == FORM_WHOLE ? class->count * 1000
                                           : class->milli,
    };
    if (class->form == FORM_WHOLE && class->count != 1) {
        want->why = WANT_SEVERAL;
        return;
    }
    look_at_cards(hunt, class, want);
    if (hunt->tenant->classes != NULL &&
        !gate_lists(hunt->world, hunt->tenant->classes, class->object.self))
        want->why = WANT_NOT_ALLOWED;
    else if (want->memory_mib == 0)
        want->why = WANT_NO_CARD;
    else
        want->why = want->memory_mib < hunt->mib ? WANT_TOO_SMALL : WANT_FITS;
}

static int
by(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int
want_order(const void *left, const void *right)
{
    const struct want *a = left, *b = right;
    int order;

    if ((order = by(a->why != WANT_FITS, b->why != WANT_FITS)) != 0)
        return order;
    if (a->why == WANT_FITS &&
        ((order = by(a->cost_nano, b->cost_nano)) != 0 ||
         (order = by(a->milli, b->milli)) != 0 ||
         (order = by(a->memory_mib, b->memory_mib)) != 0))
        return order;
    return (a->seq > b->seq) - (a->seq < b->seq);
}

struct want *
want_list(const struct world *world, const struct workload *workload,
          int64_t mib, int64_t now_ms, struct arena *arena, size_t *count_out)
{
    struct hunt hunt = {
        .world = world,
        .tenant = world_tenant(world,
                               world_scope(world, workload->object.parent)),
        .mib = mib,
        .now_ms = now_ms,
    };
    struct want *list =
        arena_alloc(arena, (world_count(world, KIND_CLASS) + 1) *
                               sizeof(*list));
    size_t count = 0;

    hunt.pool_count =
        gate_pools(world, workload, hunt.pools, GATE_POOLS_MAX);
    world_each(world, KIND_CLASS, ref)
        look_at(&hunt, world_class(world, ref), &list[count++]);
    if (count > 1)
        qsort(list, count, sizeof(*list), want_order);
    *count_out = count;
    return list;
}

const char *
want_text(char text[WANT_TEXT_MAX], const struct want *want, int64_t mib)
{
    switch (want->why) {
    case WANT_FITS:
        (void)snprintf(text, WANT_TEXT_MAX, "%" PRId64 " MiB",
                       want->memory_mib);
        break;
    case WANT_NOT_ALLOWED:
        (void)snprintf(text, WANT_TEXT_MAX,
                       "not among those that the tenant may use");
        break;
    case WANT_SEVERAL:
        (void)snprintf(text, WANT_TEXT_MAX,
                       want->milli > 0 ? "several cards: their memory is not "
                                         "in one piece"
                                       : "no card");
        break;
    case WANT_NO_CARD:
        (void)snprintf(text, WANT_TEXT_MAX,
                       "no card of it in the pools where it may run");
        break;
    case WANT_TOO_SMALL:
        (void)snprintf(text, WANT_TEXT_MAX,
                       "%" PRId64 " MiB, %" PRId64 " needed",
                       want->memory_mib, mib);
        break;
    }
    return text;
}

/* Each with what it lacks, as many as there is room for. */
static int
refuse(const struct world *world, const struct want *list, size_t count,
       int64_t mib, struct error *err)
{
    scoped_buffer text = { 0 };
    size_t shown = 0;

    for (; shown < count && text.size < ERROR_TEXT_MAX / 2; shown++) {
        char why[WANT_TEXT_MAX];

        buffer_printf(&text, "%s%s: %s", shown > 0 ? "; " : "",
                      world_class(world, list[shown].class)->object.name,
                      want_text(why, &list[shown], mib));
    }
    if (shown < count)
        buffer_printf(&text, "; %zu more", count - shown);
    (void)error_set(err, ERROR_QUOTA,
                    "no class gives %" PRId64 " MiB of accelerator memory on "
                    "one card%s%s",
                    mib, count > 0 ? ": " : "", buffer_text(&text));
    return error_help(err, "ask for less, or for a class that the tenant may "
                           "not use yet: `bulkhead request class`");
}

int
want_classes(const struct world *world, const struct workload *workload,
             int64_t mib, int64_t now_ms, json_t *ids, struct error *err)
{
    scoped_arena arena = arena_new();
    size_t count;
    const struct want *list =
        want_list(world, workload, mib, now_ms, arena, &count);

    for (size_t i = 0; i < count && i < ALTERNATIVE_MAX; i++)
        if (list[i].why == WANT_FITS)
            (void)json_array_append_new(ids,
                                        object_id_json(world, list[i].class));
    return json_array_size(ids) > 0 ? 0
                                    : refuse(world, list, count, mib, err);
}

json_t *
want_json(const struct world *world, const struct workload *workload,
          int64_t now_ms, struct arena *arena)
{
    int64_t mib = workload->min_accel_memory_mib;
    size_t count;
    const struct want *list =
        want_list(world, workload, mib, now_ms, arena, &count);
    json_t *json = json_array();

    for (size_t i = 0; i < count; i++) {
        char text[WANT_TEXT_MAX];

        (void)json_array_append_new(
            json,
            json_pack("{s:s, s:b, s:I, s:I, s:s}", "class",
                      world_class(world, list[i].class)->object.name, "fits",
                      list[i].why == WANT_FITS, "memory_mib",
                      (json_int_t)list[i].memory_mib, "cost_nano",
                      (json_int_t)list[i].cost_nano, "text",
                      want_text(text, &list[i], mib)));
    }
    return json;
}
