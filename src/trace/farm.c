/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/farm.h"

#include <stdlib.h>
#include <string.h>

#define TOUCHED UINT16_MAX
#define AHEAD 4 /* nodes that are fetched ahead */

static void
fit(void *data, uint32_t site, uint64_t *fits)
{
    const struct farm *farm = data;

    room_of(farm->room, &farm->nodes[site], fits);
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
score_one(struct farm *farm, uint32_t class, uint32_t site)
{
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
score(void *data, uint32_t class, const uint32_t *sites, size_t count,
      float *scores)
{
    struct farm *farm = data;

    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            __builtin_prefetch(&farm->nodes[sites[i + AHEAD]]);
            __builtin_prefetch(&farm->worth[sites[i + AHEAD]]);
        }
        scores[i] = score_one(farm, class, sites[i]);
    }
}

/* Work without cards leaves a node worth what it was, at most. */
static float
most(void *data, uint32_t class)
{
    const struct farm *farm = data;

    return farm->settings->policy == RUN_VALUE &&
                   farm->trace->classes[class].cards == 0
               ? 0
               : INDEX_NO;
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
    const struct index_view view = { .fit = fit, .most = most, .score = score };
    size_t count = cluster->count;

    *farm = (struct farm){ .settings = settings,
                           .trace = trace,
                           .supply = cluster->supply,
                           .count = count,
                           .arena = arena_new(),
                           .value = settings->value };
    farm->nodes = arena_alloc(farm->arena, count * sizeof(*farm->nodes));
    farm->worth = arena_alloc(farm->arena, count * sizeof(*farm->worth));
    farm->has_worth =
        arena_alloc(farm->arena, count * sizeof(*farm->has_worth));
    farm->form = arena_alloc(farm->arena, count * sizeof(*farm->form));
    farm->fresh = arena_alloc(farm->arena, count * sizeof(*farm->fresh));
    set_form(farm, cluster, order);
    farm->room = room_new(farm->arena, trace->classes, trace->class_count);
    farm->index = index_new(count, trace->class_count, &view, farm);
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
