/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"

void *
library_open(const char *directory, const char *name, const char *origin,
             struct error *err)
{
    char path[256];
    void *library;

    (void)snprintf(path, sizeof(path), "%s%s%s",
                   directory != NULL ? directory : "",
                   directory != NULL ? "/" : "", name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND, "%s is not there", name);
        (void)error_help(err, "It comes with %s.", origin);
    }
    return library;
}

void
library_say(const struct accel *accel, const char *key)
{
    struct accel_trail *trail = accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->card, sizeof(trail->card), "%s", key);
}

static const char *
uuid_of(struct library_cards cards, size_t number)
{
    return cards.uuid + number * cards.stride;
}

size_t
library_find(struct library_cards cards, const char *text, size_t size)
{
    size_t i = 0;

    while (i < cards.count && (strlen(uuid_of(cards, i)) != size ||
                               strncmp(uuid_of(cards, i), text, size) != 0))
        i++;
    return i;
}

void
library_list(struct library_cards cards, struct arena *arena,
             const char *const **uuids_out, size_t *count_out)
{
    const char **uuids = arena_alloc(arena, (cards.count + 1) * sizeof(*uuids));

    for (size_t i = 0; i < cards.count; i++)
        uuids[i] = arena_strdup(arena, uuid_of(cards, i));
    *uuids_out = uuids;
    *count_out = cards.count;
}

const char *
library_node_name(const struct accel *accel)
{
    (void)accel;
    return "";
}
