/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "api/handlers.h"
#include "core/advice.h"
#include "core/defrag.h"
#include "core/object.h"
#include "core/quota.h"
#include "store/row.h"

/*
 * Advice from measured use.  What is asked about is collected on the world
 * thread; the ledger is summed on a reader thread, which makes the answer.
 */

#define CANDIDATES_MAX 1000

struct candidate {
    const char *node;   /* id text of the tenant or project */
    const char *column; /* of the ledger */
    const char *name;
    const char *quota; /* id text */
    const char *path;
    struct quota image;
    int64_t limit;
    int64_t window_ms;
    int64_t card_time;
};

struct advising {
    struct arena *arena;
    int64_t now_ms;
    struct candidate *list;
    size_t count;
    json_t *items;
};

/* --- the world thread --- */

static void
add_candidate(struct advising *advising, const struct granted *granted,
              const struct quota *quota)
{
    const struct world *world = granted_world(granted);
    struct ref node = quota->object.parent;
    struct candidate *candidate = &advising->list[advising->count];
    int64_t window_ms = advice_window(quota, advising->now_ms);
    bool tenant = node.kind == KIND_TENANT;
    const char *scope;

    if (advising->count == CANDIDATES_MAX || window_ms == 0 ||
        quota->dimension != DIMENSION_CARDS || !ref_is_none(quota->pool) ||
        !ref_is_none(quota->class) ||
        (!tenant && node.kind != KIND_PROJECT) ||
        !access_visible(granted, quota->object.self))
        return;
    scope = object_id_copy(world, quota->object.scope, advising->arena);
    *candidate = (struct candidate){
        .node = object_id_copy(world, node, advising->arena),
        .column = tenant ? "tenant" : "project",
        .name = arena_strdup(advising->arena,
                             world_object(world, node)->name),
        .quota =
            object_id_copy(world, quota->object.self, advising->arena),
        .image = *quota,
        .limit = quota_limit(world, quota),
        .window_ms = window_ms,
    };
    candidate->path =
        tenant ? arena_printf(advising->arena, "/api/v1/tenants/%s/quotas/%s",
                              scope, candidate->quota)
               : arena_printf(advising->arena,
                              "/api/v1/tenants/%s/projects/%s/quotas/%s",
                              scope, candidate->node, candidate->quota);
    advising->count++;
}

static void
add_fragmented(struct advising *advising, const struct world *world,
               struct ref pool)
{
    const char *name = world_pool(world, pool)->object.name;
    struct advice_room room;
    char text[TEXT_MAX_SIZE];

    if (!advice_fragmented(world, pool, &room))
        return;
    (void)snprintf(text, sizeof text,
                   "pool %s: %" PRId64 " cards are free, at most %" PRId64
                   " of them on one node; its largest class needs %" PRId64
                   ". `bulkhead advise defragment %s` plans moves",
                   name, room.free, room.largest, room.wanted, name);
    json_array_append_new(
        advising->items,
        json_pack("{s:s, s:s, s:o, s:s, s:I, s:I, s:n}", "id",
                  arena_printf(advising->arena, "fragmented-%s", name),
                  "kind", advice_kind_text(ADVICE_FRAGMENTED), "object",
                  object_id_json(world, pool), "text", text, "free",
                  (json_int_t)room.free, "largest", (json_int_t)room.largest,
                  "apply"));
}

int
advice_read(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    const struct world *world = granted_world(granted);
    struct advising *advising =
        arena_alloc(exchange->arena, sizeof *advising);

    (void)err;
    exchange->data = advising;
    advising->arena = exchange->arena;
    advising->now_ms = granted_now_ms(granted);
    advising->list = arena_alloc(exchange->arena, CANDIDATES_MAX *
                                                      sizeof(struct candidate));
    advising->items = json_array();
    world_each(world, KIND_QUOTA, ref)
        if (world_is_below(world, ref, granted_object(granted)))
            add_candidate(advising, granted, world_quota(world, ref));
    if (granted_is_platform(granted) &&
        granted_object(granted).kind == KIND_PLATFORM)
        world_each(world, KIND_POOL, pool)
            add_fragmented(advising, world, pool);
    return 0;
}

/* --- a reader thread --- */

static int
take_sum(void *context, const struct value *values, struct error *err)
{
    (void)err;
    ((struct candidate *)context)->card_time = values[0].integer;
    return 0;
}

static int
measure(struct store_reader *reader, const struct advising *advising,
        struct candidate *candidate, struct error *err)
{
    struct store_sum sum = { .where = { .kind = KIND_FACT },
                             .sum = "quantity" };

    store_where_text(&sum.where, candidate->column, STORE_EQUAL,
                     candidate->node);
    store_where_text(&sum.where, "usage", STORE_EQUAL, "bound");
    store_where_text(&sum.where, "meter", STORE_EQUAL, "card_hour");
    store_where_int(&sum.where, "from_ms", STORE_AT_LEAST,
                    advising->now_ms - candidate->window_ms);
    return store_sum(reader, &sum, take_sum, candidate, err);
}

static void
tell(struct advising *advising, const struct candidate *candidate)
{
    struct advice advice;
    char text[TEXT_MAX_SIZE];

    if (!advice_guarantee(&candidate->image, candidate->limit,
                          candidate->card_time, candidate->window_ms,
                          &advice))
        return;
    (void)snprintf(text, sizeof text,
                   "%s %s is guaranteed %" PRId64 ".%03" PRId64
                   " cards and used %" PRId64 ".%03" PRId64
                   " on average in the last %" PRId64
                   " days; a guarantee of %" PRId64 ".%03" PRId64
                   " would do",
                   candidate->column, candidate->name,
                   advice.guaranteed / 1000, advice.guaranteed % 1000,
                   advice.used / 1000, advice.used % 1000,
                   advice.window_ms / (24 * INT64_C(3600000)),
                   advice.recommended / 1000, advice.recommended % 1000);
    json_array_append_new(
        advising->items,
        json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:{s:s, s:s, s:I, "
                  "s:{s:I}}}",
                  "id",
                  arena_printf(advising->arena, "%s-%s",
                               advice_kind_text(advice.kind),
                               candidate->quota),
                  "kind", advice_kind_text(advice.kind), "object",
                  candidate->node, "text", text, "guaranteed",
                  (json_int_t)advice.guaranteed, "used",
                  (json_int_t)advice.used, "recommended",
                  (json_int_t)advice.recommended, "apply", "method", "PATCH",
                  "path", candidate->path, "version",
                  (json_int_t)candidate->image.object.version, "body",
                  "guaranteed", (json_int_t)advice.recommended));
}

int
advice_history(struct exchange *exchange, struct store_reader *reader,
               struct error *err)
{
    struct advising *advising = exchange->data;

    for (size_t i = 0; i < advising->count; i++) {
        if (measure(reader, advising, &advising->list[i], err) != 0) {
            json_decref(advising->items);
            return -1;
        }
        tell(advising, &advising->list[i]);
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o}", "items", advising->items));
    return 0;
}

/* --- moves that would make room; the copy is made on the world thread --- */

const struct body_field defragment_body[] = {
    {"moves", BODY_LIST, true, "ids of the workloads that go"},
    {NULL, BODY_TEXT, false, NULL},
};

int
advice_defrag_read(const struct granted *granted, struct exchange *exchange,
                   struct error *err)
{
    (void)err;
    exchange->data = defrag_new(granted);
    return 0;
}

int
advice_defrag(struct exchange *exchange, struct store_reader *reader,
              struct error *err)
{
    struct defrag *defrag = exchange->data;
    (void)reader;
    (void)err;
    answer_json(&exchange->answer, 200, defrag_answer(defrag));
    defrag_free(defrag);
    return 0;
}

int
advice_defrag_apply(const struct granted *granted, struct changes *changes,
                    struct exchange *exchange, struct error *err)
{
    return defrag_apply(granted, changes,
                        json_object_get(exchange->body, "moves"), err);
}
