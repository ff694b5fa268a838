/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classify.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "core/node_type.h"

/* Room for ".8-linked" behind the model. */
#define STEM_MAX 48

static bool
is_vendor(const char *word, size_t size)
{
    static const char *const vendors[] = { "nvidia", "amd",   "intel",
                                           "huawei", "tesla", "instinct" };

    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
        if (strlen(vendors[i]) == size &&
            memcmp(vendors[i], word, size) == 0)
            return true;
    return false;
}

/* "80gb" is said "80g". */
static size_t
short_size(const char *word, size_t size)
{
    if (size > 2 && word[0] >= '0' && word[0] <= '9' &&
        word[size - 2] == 'g' && word[size - 1] == 'b')
        return size - 1;
    return size;
}

void
classify_name(const char *model, char name[NAME_MAX_SIZE])
{
    char lower[TEXT_MAX_SIZE] = { 0 };
    size_t used = 0;

    for (size_t i = 0; i < sizeof(lower) - 1 && model[i] != '\0'; i++)
        lower[i] = isalnum((unsigned char)model[i])
                       ? (char)tolower((unsigned char)model[i])
                       : ' ';
    for (const char *word = lower; *word != '\0';) {
        size_t size = strcspn(word, " ");
        size_t kept = short_size(word, size);

        if (size > 0 && !is_vendor(word, size) &&
            used + kept + 1 < STEM_MAX) {
            if (used > 0)
                name[used++] = '-';
            memcpy(name + used, word, kept);
            used += kept;
        }
        word += size;
        word += strspn(word, " ");
    }
    name[used] = '\0';
    if (used == 0)
        (void)snprintf(name, NAME_MAX_SIZE, "card");
}

/* Does any class, also a new one of this set, name the model? */
static bool
is_named(const struct changes *changes, const char *model)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct class *class = changes->list[i].image;

        if (changes->list[i].ref.kind == KIND_CLASS && class != NULL &&
            strcmp(class->model, model) == 0)
            return true;
    }
    world_each(changes->world, KIND_CLASS, ref)
        if (strcmp(world_class(changes->world, ref)->model, model) == 0)
            return true;
    return false;
}

static struct class *
add(struct changes *changes, const char *stem, const char *suffix,
    const char *vendor, const char *model)
{
    struct ref platform = world_platform_ref(changes->world);
    char name[NAME_MAX_SIZE];
    struct class *class;
    int size = snprintf(name, sizeof(name), "%s.%s", stem, suffix);

    if (size < 0 || (size_t)size >= sizeof(name))
        return NULL;
    /* Another model may shorten to the same name; the first keeps it. */
    if (!ref_is_none(world_find_name(changes->world, KIND_CLASS, platform,
                                     name)))
        return NULL;
    class = change_create(changes, KIND_CLASS, platform, name);
    (void)snprintf(class->vendor, sizeof(class->vendor), "%s", vendor);
    (void)snprintf(class->model, sizeof(class->model), "%s", model);
    class->count = 1;
    class->origin = CLASS_DERIVED;
    return class;
}

static void
add_half(struct changes *changes, const char *stem, const char *vendor,
         const char *model, int64_t memory_mib)
{
    struct class *class;

    if (memory_mib < 2)
        return;
    class = add(changes, stem, "half", vendor, model);
    if (class == NULL)
        return;
    class->form = FORM_SOFT;
    class->milli = 500;
    class->memory_mib = memory_mib / 2;
}

/* "3g.20gb" -> "3g20gb"; false for one that is the whole card, or a variant
 * that only differs in its media engines. */
static bool
slice_suffix(const struct geometry_card *table,
             const struct geometry_profile *profile, char suffix[40])
{
    size_t used = 0;

    if (profile->size == table->units ||
        strpbrk(profile->name, "+-") != NULL)
        return false;
    for (const char *at = profile->name; *at != '\0' && used < 39; at++)
        if (*at != '.')
            suffix[used++] = *at;
    suffix[used] = '\0';
    return true;
}

/* The profiles that divide the card. */
static void
add_slices(struct changes *changes, const char *stem, const char *vendor,
           const char *model, int64_t memory_mib)
{
    const struct geometry_card *table =
        geometry_card(vendor, model, memory_mib);

    for (size_t i = 0; table != NULL && i < table->count; i++) {
        const struct geometry_profile *profile =
            geometry_profile_at(table, i);
        char suffix[40];
        struct class *class;

        if (!slice_suffix(table, profile, suffix))
            continue;
        class = add(changes, stem, suffix, vendor, model);
        if (class == NULL)
            continue;
        class->form = FORM_HARD;
        (void)snprintf(class->profile, sizeof(class->profile), "%s",
                       profile->name);
        (void)geometry_most(vendor, model, profile->name, &class->milli,
                            &class->memory_mib);
    }
}

/* --- what was there before --- */

static void
count_node(const struct world *world, struct ref node,
           const struct classify *found, struct classify *most)
{
    int64_t count = 0;

    world_each_child(world, KIND_CARD, node, ref) {
        const struct card *card = world_card(world, ref);
        int64_t linked = 0;

        if (strcmp(card->model, found->model) != 0)
            continue;
        count++;
        world_each_child(world, KIND_CARD, node, at)
            linked += card->island[0] != '\0' &&
                      strcmp(world_card(world, at)->model, found->model) ==
                          0 &&
                      strcmp(world_card(world, at)->island, card->island) ==
                          0;
        if (linked > most->linked)
            most->linked = linked;
    }
    if (count > most->count)
        most->count = count;
}

/* The most of it that one node had until now. */
static struct classify
known_of(const struct world *world, const struct classify *found)
{
    struct classify most = { .count = 0 };
    const struct node_type *types;
    size_t count;

    types = node_type_list(world, &count);
    for (size_t i = 0; i < count; i++)
        if (types[i].count > 0)
            count_node(world, types[i].first, found, &most);
    return most;
}

/* --- sizes --- */

/* Powers of two above from, up to to. */
static void
add_sizes(struct changes *changes, const char *stem,
          const struct classify *found, int64_t from, int64_t to, bool linked)
{
    for (int64_t size = linked ? 2 : 1; size <= to && size <= 8; size *= 2) {
        char suffix[16];
        struct class *class;

        if (size <= from)
            continue;
        (void)snprintf(suffix, sizeof(suffix), "%d%s", (int)size,
                       linked ? "-linked" : "");
        class = add(changes, stem, suffix, found->vendor, found->model);
        if (class == NULL)
            continue;
        class->count = size;
        class->interconnect = linked ? INTERCONNECT_ISLAND : INTERCONNECT_ANY;
    }
}

static int64_t
largest_size(int64_t count)
{
    return count >= 8 ? 8 : count >= 4 ? 4 : count >= 2 ? 2 : count;
}

static bool
has_class(const struct changes *changes, const char *stem, int64_t size,
          const char *suffix)
{
    char name[NAME_MAX_SIZE];
    int length = snprintf(name, sizeof(name), "%.47s.%lld%s", stem,
                          (long long)size, suffix);

    return length > 0 && (size_t)length < sizeof(name) &&
           !ref_is_none(world_find_name(changes->world, KIND_CLASS,
                                        world_platform_ref(changes->world),
                                        name));
}

/* Do the names of its largest sizes exist?  Then there is nothing to make, and
 * nodes need not be counted. */
static bool
is_classified(const struct changes *changes, const char *stem,
              const struct classify *found)
{
    int64_t linked = largest_size(found->linked);

    return has_class(changes, stem, largest_size(found->count), "") &&
           (linked < 2 || has_class(changes, stem, linked, "-linked"));
}

void
classify_model(struct changes *changes, const struct classify *found)
{
    struct classify known = { .count = 0 };
    char stem[NAME_MAX_SIZE];

    if (found->model[0] == '\0')
        return;
    classify_name(found->model, stem);
    if (is_classified(changes, stem, found))
        return;
    known = known_of(changes->world, found);
    if (known.count == 0 && is_named(changes, found->model))
        return;
    add_sizes(changes, stem, found, known.count, found->count, false);
    add_sizes(changes, stem, found, known.linked, found->linked, true);
    if (known.count > 0)
        return;
    add_half(changes, stem, found->vendor, found->model, found->memory_mib);
    if (!found->uncut)
        add_slices(changes, stem, found->vendor, found->model,
                   found->memory_mib);
}
