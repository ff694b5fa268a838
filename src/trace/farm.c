/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/farm.h"

#include <stdlib.h>
#include <string.h>

#define TOUCHED UINT16_MAX

static void
note_room(struct farm *farm, uint32_t site)
{
    const struct value_node *node = &farm->nodes[site];
    struct farm_room *room = &farm->room[site];

    *room = (struct farm_room){ node->cpu_milli, node->memory_mib,
                                (uint64_t)1 << node->kind, 0, 0 };
    for (int i = 0; i < node->cards; i++) {
        if (node->free[i] > room->most)
            room->most = node->free[i];
        room->full = (int16_t)(room->full + (node->free[i] == 1000));
    }
}

static bool
has_room(const struct farm_room *room, const struct shape *shape)
{
    return room->cpu_milli >= shape->cpu_milli &&
           room->memory_mib >= shape->memory_mib &&
           (shape->cards == 0 ||
            ((room->kind & shape->kinds) != 0 && room->most >= shape->milli &&
             (shape->cards == 1 || room->full >= shape->cards)));
}

static double
worth_of(struct farm *farm, uint32_t site)
{
    if (!farm->has_worth[site]) {
        farm->worth[site] = farm->settings->policy == RUN_VALUE
                                ? value_of(farm->value, &farm->nodes[site])
                                : fgd_of(farm->fgd, &farm->nodes[site]);
        farm->has_worth[site] = true;
    }
    return farm->worth[site];
}

static float
score_site(struct farm *farm, uint32_t class, uint32_t site, int *card_out)
{
    const struct shape *shape = &farm->trace->classes[class];
    const struct value_node *node = &farm->nodes[site];
    int score;

    if (!has_room(&farm->room[site], shape))
        return INDEX_NO;
    if (farm->settings->policy == RUN_VALUE)
        return (float)value_gain(farm->value, node, worth_of(farm, site),
                                 shape, card_out);
    score = farm->settings->policy == RUN_FGD
                ? fgd_score(farm->fgd, node, worth_of(farm, site), shape,
                            card_out)
                : fgd_best_fit(node, shape, card_out);
    return (float)score;
}

static float
score(void *data, uint32_t class, uint32_t site)
{
    struct farm *farm = data;
    uint16_t form = farm->form[site];
    int card;

    if (form == TOUCHED)
        return score_site(farm, class, site, &card);
    if (farm->fresh[form].class != class) {
        farm->fresh[form].class = class;
        farm->fresh[form].score = score_site(farm, class, site, &card);
    }
    return farm->fresh[form].score;
}

static void
forget_scores(struct farm *farm)
{
    memset(farm->has_worth, 0, farm->count * sizeof(*farm->has_worth));
    for (size_t i = 0; i < farm->count; i++)
        farm->fresh[i].class = UINT32_MAX;
    index_restart(farm->index);
}

static void
make_prices(struct farm *farm)
{
    farm->value = value_new(farm->arena, farm->settings->mix, &farm->supply,
                            farm->settings->profile);
    forget_scores(farm);
}

static void
set_form(struct farm *farm, const struct openb_cluster *cluster,
         const uint32_t *order)
{
    uint16_t forms = 0;

    /* Equal nodes stand side by side in the cluster. */
    for (size_t i = 0; i < cluster->count; i++) {
        if (i > 0 && memcmp(&cluster->nodes[i], &cluster->nodes[i - 1],
                            sizeof(*cluster->nodes)) != 0 &&
            forms < TOUCHED - 1)
            forms++;
        farm->form[i] = forms;
    }
    for (size_t i = 0; i < cluster->count; i++)
        farm->nodes[i] = cluster->nodes[order[i]];
    {
        scoped_arena arena = arena_new();
        uint16_t *sorted =
            arena_alloc(arena, cluster->count * sizeof(*sorted));

        memcpy(sorted, farm->form, cluster->count * sizeof(*sorted));
        for (size_t i = 0; i < cluster->count; i++)
            farm->form[i] = sorted[order[i]];
    }
}

void
farm_init(struct farm *farm, const struct openb_cluster *cluster,
          const struct openb_trace *trace, const uint32_t *order,
          const struct run_settings *settings)
{
    size_t count = cluster->count;

    *farm = (struct farm){ .settings = settings,
                           .trace = trace,
                           .supply = cluster->supply,
                           .count = count,
                           .arena = arena_new(),
                           .value = settings->value };
    farm->nodes = arena_alloc(farm->arena, count * sizeof(*farm->nodes));
    farm->room = arena_alloc(farm->arena, count * sizeof(*farm->room));
    farm->worth = arena_alloc(farm->arena, count * sizeof(*farm->worth));
    farm->has_worth =
        arena_alloc(farm->arena, count * sizeof(*farm->has_worth));
    farm->form = arena_alloc(farm->arena, count * sizeof(*farm->form));
    farm->fresh = arena_alloc(farm->arena, count * sizeof(*farm->fresh));
    farm->index = index_new(count, score, farm);
    set_form(farm, cluster, order);
    for (size_t i = 0; i < count; i++)
        note_room(farm, (uint32_t)i);
    forget_scores(farm);
    if (settings->policy == RUN_FGD)
        farm->fgd = fgd_new(settings->mix, farm->arena);
    else if (settings->policy == RUN_VALUE && farm->value == NULL)
        make_prices(farm);
}

void
farm_release(struct farm *farm)
{
    index_free(farm->index);
    arena_free(farm->arena);
}

static void
change(struct farm *farm, uint32_t class, struct farm_place place, int sign)
{
    const struct shape *shape = &farm->trace->classes[class];

    value_take(&farm->nodes[place.site], shape, place.cards, sign);
    note_room(farm, place.site);
    farm->has_worth[place.site] = false;
    farm->form[place.site] = TOUCHED;
    farm->used_milli += sign * shape_demand(shape);
    index_touch(farm->index, place.site);
}

struct farm_place
farm_put(struct farm *farm, uint32_t class)
{
    const struct shape *shape = &farm->trace->classes[class];
    bool valued = farm->settings->policy == RUN_VALUE;
    struct farm_place place = { INDEX_NONE, 0 };
    int card = 0;

    if (farm->settings->learns) {
        mix_count(farm->settings->mix, shape, 1);
        if (mix_due(farm->settings->mix) && valued)
            make_prices(farm);
    }
    place.site = index_find(farm->index, class,
                            valued ? value_slack(farm->value) : 0);
    if (place.site == INDEX_NONE)
        return place;
    (void)score_site(farm, class, place.site, &card);
    place.cards = value_cards(&farm->nodes[place.site], shape, card);
    change(farm, class, place, 1);
    return place;
}

void
farm_remove(struct farm *farm, uint32_t class, struct farm_place place)
{
    change(farm, class, place, -1);
}
