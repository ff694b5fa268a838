/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/cut.h"
#include "core/estate_private.h"

/* Hard slices in the estate: the texts of cards, bindings and holds as
 * layouts. */

const struct geometry_profile *
estate_cut_slice(const struct part *part, const char *text, int *start_out)
{
    const struct geometry_profile *profile;

    if (text[0] == '\0' || part->cut.card == NULL ||
        !geometry_parse(part->cut.card, text, &profile, start_out))
        return NULL;
    return profile;
}

void
estate_cut_add(const struct part *part, struct layout *layout,
               const char *text, int sign)
{
    int start = 0;
    const struct geometry_profile *profile =
        estate_cut_slice(part, text, &start);

    if (profile != NULL && sign > 0)
        geometry_add(layout, profile, start);
    else if (profile != NULL)
        geometry_remove(layout, profile, start);
}

static bool
has_word(const char *list, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = list; *at != '\0';) {
        size_t here = strcspn(at, " ");

        if (here == size && strncmp(at, word, size) == 0)
            return true;
        at += here + (at[here] == ' ');
    }
    return false;
}

static bool
is_bound(const struct estate *estate, struct ref card, const char *slice)
{
    world_each_index(estate->world, KIND_BINDING, 0, card, ref) {
        const struct binding *binding = world_binding(estate->world, ref);

        if (binding->to_ms == 0 && strcmp(binding->slice, slice) == 0)
            return true;
    }
    return false;
}

/* A slice that is ill is in the way until it is well; one that is bound or
 * dirty is so already. */
static void
add_ill(const struct estate *estate, struct part *part, const struct card *card)
{
    for (const char *at = card->ill; *at != '\0';) {
        char name[GEOMETRY_NAME_MAX];
        size_t size = strcspn(at, " ");

        (void)snprintf(name, sizeof(name), "%.*s", (int)size, at);
        if (!has_word(card->dirty, name) &&
            !is_bound(estate, part->card, name))
            estate_cut_add(part, &part->cut.used, name, 1);
        at += size + (at[size] == ' ');
    }
}

/* What waits for its scrub is in the way, and soon not. */
void
estate_cut_dirty(const struct estate *estate, struct part *part)
{
    const struct card *card = world_card(estate->world, part->card);

    for (const char *at = card->dirty; *at != '\0';) {
        char name[GEOMETRY_NAME_MAX];
        size_t size = strcspn(at, " ");

        (void)snprintf(name, sizeof(name), "%.*s", (int)size, at);
        estate_cut_add(part, &part->cut.used, name, 1);
        if (card->handover != HANDOVER_FAILED)
            estate_cut_add(part, &part->cut.leaving, name, 1);
        at += size + (at[size] == ' ');
    }
    if (card->sliced)
        add_ill(estate, part, card);
}

/* Cards of one make lie side by side: the table is looked up once. */
static const struct geometry_card *
find_geometry(const struct estate *estate, const struct card *card,
              const struct part *like)
{
    const struct card *other =
        like != NULL ? world_card(estate->world, like->card) : NULL;

    if (other != NULL && other->memory_mib == card->memory_mib &&
        other->simulated == card->simulated &&
        strcmp(other->model, card->model) == 0 &&
        strcmp(other->vendor, card->vendor) == 0)
        return like->cut.card;
    return cut_table(card);
}

void
estate_cut_derive(const struct estate *estate, struct part *part,
                  const struct part *like)
{
    const struct card *card = world_card(estate->world, part->card);

    part->cut.card = find_geometry(estate, card, like);
    part->cut.on = card->sliced;
}

/* --- trials --- */

static void
gain_slice(struct layout *layout, const struct use *use, int sign)
{
    if (use->profile != NULL && sign > 0)
        geometry_add(layout, use->profile, use->start);
    else if (use->profile != NULL)
        geometry_remove(layout, use->profile, use->start);
}

void
estate_gain(struct estate *estate, const struct run *run, int sign)
{
    for (size_t i = 0; i < run->count; i++) {
        const struct use *use = &run->uses[i];

        estate_trial(estate, use->site);
        if (use->part == ESTATE_NONE) {
            estate->sites[use->site].gain_cpu += sign * use->cpu_milli;
            estate->sites[use->site].gain_memory += sign * use->memory_mib;
        } else {
            estate->parts[use->part].gain_milli += sign * use->milli;
            estate->parts[use->part].gain_memory_mib += sign * use->memory_mib;
            gain_slice(&estate->parts[use->part].cut.gain, use, sign);
        }
    }
}
