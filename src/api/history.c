/* SPDX-License-Identifier: Apache-2.0 */
#include "api/history.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS (24 * 3600 * INT64_C(1000))
#define NAMES_MAX 2000

static int
compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void
history_scope(const struct world *world, struct ref node,
              struct arena *arena, struct history_scope *out)
{
    struct ref project = world_ancestor(world, KIND_PROJECT, node);
    char text[ID_TEXT_MAX];
    *out = (struct history_scope){.all = node.kind == KIND_PLATFORM};
    if (out->all)
        return;
    out->projects = arena_alloc(
        arena, (world_count(world, KIND_PROJECT) + 1) * sizeof(char *));
    if (!ref_is_none(project)) {
        object_id_text(world, project, text);
        out->projects[out->count++] = arena_strdup(arena, text);
        return;
    }
    world_each(world, KIND_PROJECT, ref) {
        if (!world_is_below(world, ref, node))
            continue;
        object_id_text(world, ref, text);
        out->projects[out->count++] = arena_strdup(arena, text);
    }
    qsort(out->projects, out->count, sizeof *out->projects, compare_texts);
}

bool
history_covers(const struct history_scope *scope, const char *project)
{
    if (scope->all)
        return true;
    return project != NULL &&
           bsearch(&project, scope->projects, scope->count,
                   sizeof *scope->projects, compare_texts) != NULL;
}

int
history_window(const struct exchange *exchange, int64_t now_ms,
               int64_t *from_ms_out, int64_t *to_ms_out, struct error *err)
{
    int64_t from_ms, to_ms, at_ms;
    if (exchange_time(exchange, "at", 0, &at_ms, err) != 0 ||
        exchange_time(exchange, "to", now_ms + 1, &to_ms, err) != 0 ||
        exchange_time(exchange, "from",
                      to_ms > DAY_MS ? to_ms - DAY_MS : 0, &from_ms, err) != 0)
        return -1;
    if (url_get(&exchange->url, "at") != NULL) {
        from_ms = at_ms;
        to_ms = at_ms + 1;
    }
    if (from_ms >= to_ms)
        return error_field(err, "from", "from lies before to");
    *from_ms_out = from_ms;
    *to_ms_out = to_ms;
    return 0;
}

void
history_add_names(const struct granted *granted, enum kind kind,
                  json_t *names)
{
    const struct world *world = granted_world(granted);
    int left = NAMES_MAX;
    world_each(world, kind, ref) {
        char id[ID_TEXT_MAX];
        if (!access_visible(granted, ref))
            continue;
        if (left-- == 0)
            return;
        object_id_text(world, ref, id);
        json_object_set_new(names, id,
                            json_string(world_object(world, ref)->name));
    }
}
