/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/history.h"
#include "store/row.h"

/*
 * The timeline of cards and instances, both ways, at an instant or in a
 * window.  The decision is for the node of the path; rows of other nodes are
 * left out.
 */

#define BINDINGS_MAX 5000

struct timeline {
    struct history_scope scope;
    bool platform;
    int64_t from_ms, to_ms;
    const char *card;     /* id texts; NULL: any */
    const char *instance;
    char workload[ID_TEXT_MAX]; /* "": any */
    json_t *items;
    json_t *names; /* of what the rows refer to */
    int64_t count;
};

/* An id of the query that the asker may use: it must be one of that kind. */
static int
read_id(const struct exchange *exchange, const char *name, enum kind kind,
        const char **out, struct error *err)
{
    struct id id;
    const char *text = url_get(&exchange->url, name);
    if (text != NULL && id_parse(schema_get(kind)->prefix, text, &id) != 0)
        return error_field(err, name, "%s is the id of a %s", name,
                           schema_get(kind)->name);
    *out = text;
    return 0;
}

int
bindings_read(const struct granted *granted, struct exchange *exchange,
              struct error *err)
{
    struct timeline *line = arena_alloc(exchange->arena, sizeof *line);
    struct ref node = granted_object(granted);
    int64_t now_ms = granted_now_ms(granted);
    exchange->data = line;
    line->platform = granted_is_platform(granted);
    if (node.kind == KIND_WORKLOAD)
        object_id_text(granted_world(granted), node, line->workload);
    history_scope(granted_world(granted), node, exchange->arena,
                  &line->scope);
    /* To others cards have a name in each binding only. */
    if (!line->platform && url_get(&exchange->url, "card") != NULL)
        return error_field(err, "card",
                           "only the platform's people can ask by card");
    if (history_window(exchange, now_ms, &line->from_ms, &line->to_ms, err) !=
            0 ||
        read_id(exchange, "card", KIND_CARD, &line->card, err) != 0 ||
        read_id(exchange, "instance", KIND_INSTANCE, &line->instance, err) !=
            0)
        return -1;
    line->names = json_object();
    history_add_names(granted, KIND_CARD, line->names);
    history_add_names(granted, KIND_WORKLOAD, line->names);
    history_add_names(granted, KIND_PROJECT, line->names);
    return 0;
}

static bool
is_text(const struct value *values, const char *column, const char *text)
{
    const char *have = row_text(KIND_BINDING, values, column);
    return have != NULL && strcmp(have, text) == 0;
}

static int
take_binding(void *context, const struct value *values, struct error *err)
{
    struct timeline *line = context;
    const char *project = row_text(KIND_BINDING, values, "project");
    int64_t to_ms = row_int(KIND_BINDING, values, "to_ms");
    (void)err;
    if ((to_ms != 0 && to_ms <= line->from_ms) ||
        !history_covers(&line->scope, project) ||
        (line->workload[0] != '\0' &&
         !is_text(values, "workload", line->workload)) ||
        (line->card != NULL && !is_text(values, "card", line->card)) ||
        (line->instance != NULL &&
         !is_text(values, "parent", line->instance)))
        return 0;
    json_array_append_new(line->items,
                          row_json(KIND_BINDING, values, line->platform));
    return ++line->count == BINDINGS_MAX;
}

static int
select_column(struct store_reader *reader, const char *column,
              const char *text, struct timeline *line, struct error *err)
{
    struct store_query query = {.kind = KIND_BINDING};
    query.order[0] = "from_ms";
    query.order[1] = "seq";
    if (text != NULL)
        store_where_text(&query, column, STORE_EQUAL, text);
    store_where_int(&query, "from_ms", STORE_LESS, line->to_ms);
    return store_select(reader, &query, take_binding, line, err);
}

static int
select_timeline(struct store_reader *reader, struct timeline *line,
                struct error *err)
{
    if (line->card != NULL)
        return store_bindings(reader, "card", line->card, line->from_ms,
                              line->to_ms, take_binding, line, err);
    if (line->instance != NULL)
        return store_bindings(reader, "parent", line->instance,
                              line->from_ms, line->to_ms, take_binding, line,
                              err);
    if (line->workload[0] != '\0')
        return select_column(reader, "workload", line->workload, line, err);
    if (line->scope.all)
        return select_column(reader, "project", NULL, line, err);
    for (size_t i = 0; i < line->scope.count; i++)
        if (select_column(reader, "project", line->scope.projects[i], line,
                          err) != 0)
            return -1;
    return 0;
}

int
bindings_history(struct exchange *exchange, struct store_reader *reader,
                 struct error *err)
{
    struct timeline *line = exchange->data;
    line->items = json_array();
    if (select_timeline(reader, line, err) != 0) {
        json_decref(line->items);
        json_decref(line->names);
        return -1;
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:o, s:b}", "items", line->items, "names",
                          line->names, "complete",
                          line->count < BINDINGS_MAX));
    return 0;
}
