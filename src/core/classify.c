/* SPDX-License-Identifier: Apache-2.0 */
#include "core/classify.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Room for ".half" behind the model. */
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

    if (snprintf(name, sizeof(name), "%s.%s", stem, suffix) >=
        (int)sizeof(name))
        return NULL;
    /* Another model may shorten to the same name; the first keeps it. */
    if (!ref_is_none(world_find_name(changes->world, KIND_CLASS, platform,
                                     name)))
        return NULL;
    class = change_create(changes, KIND_CLASS, platform, name);
    (void)snprintf(class->vendor, sizeof(class->vendor), "%s", vendor);
    (void)snprintf(class->model, sizeof(class->model), "%s", model);
    class->count = 1;
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

void
classify_model(struct changes *changes, const char *vendor,
               const char *model, int64_t memory_mib, int64_t count)
{
    char stem[NAME_MAX_SIZE];

    if (model[0] == '\0' || is_named(changes, model))
        return;
    classify_name(model, stem);
    for (int64_t size = 1; size <= count && size <= 8; size *= 2) {
        char suffix[8];
        struct class *class;

        (void)snprintf(suffix, sizeof(suffix), "%d", (int)size);
        class = add(changes, stem, suffix, vendor, model);
        if (class != NULL)
            class->count = size;
    }
    add_half(changes, stem, vendor, model, memory_mib);
    add_slices(changes, stem, vendor, model, memory_mib);
}
