/* SPDX-License-Identifier: Apache-2.0 */
#include "api/estimates.h"
#include "api/handlers.h"
#include "api/objects.h"
#include "api/state.h"
#include "base/sign.h"
#include "core/explain.h"
#include "core/lifecycle.h"
#include "core/submit.h"
#include "core/whatif.h"
#include "store/row.h"

int
work_submit(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    return submit_workload(granted, changes, granted_object(granted),
                           exchange->body, &exchange->created, err);
}

int
work_delete(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return submit_delete(granted, changes, granted_object(granted), err);
}

int
work_cancel(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return submit_cancel(granted, changes, granted_object(granted), err);
}

int
work_hold(const struct granted *granted, struct changes *changes,
          struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return submit_hold(granted, changes, granted_object(granted), err);
}

int
work_release(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    (void)exchange;
    return submit_release(granted, changes, granted_object(granted), err);
}

int
work_take_off(const struct granted *granted, struct changes *changes,
              struct exchange *exchange, struct error *err)
{
    const char *reason =
        json_string_value(json_object_get(exchange->body, "reason"));

    return submit_take_off(granted, changes, granted_object(granted), reason,
                           err);
}

int
work_explain(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    const struct workload *workload =
        world_workload(granted_world(granted), granted_object(granted));
    json_t *json =
        explain_workload(granted_world(granted), granted_object(granted),
                         granted_now_ms(granted), exchange->arena);
    json_t *estimate = estimate_json(
        estimates_read(exchange->api->estimator, exchange->actor.subject),
        workload);

    (void)err;
    if (estimate != NULL) {
        (void)json_object_set_new(estimate, "assumptions",
                                  estimate_assumptions());
        (void)json_object_set_new(json, "estimate", estimate);
    }
    answer_json(&exchange->answer, 200, json);
    return 0;
}

/* The copy is made here; it runs on a reader's thread. */
int
work_whatif_read(const struct granted *granted, struct exchange *exchange,
                 struct error *err)
{
    exchange->data = whatif_new(granted, exchange->body, err);
    return exchange->data != NULL ? 0 : -1;
}

int
work_whatif(struct exchange *exchange, struct store_reader *reader,
            struct error *err)
{
    struct whatif *whatif = exchange->data;
    (void)reader;
    (void)err;
    answer_json(&exchange->answer, 200, whatif_answer(whatif));
    whatif_free(whatif);
    return 0;
}

/* --- the queue --- */

static int
list_waiting(const struct granted *granted, struct exchange *exchange,
             struct ref below, struct error *err)
{
    const struct world *world = granted_world(granted);
    struct page page;
    if (page_begin(&page, granted, exchange, err) != 0)
        return -1;
    for (struct ref ref = page_first(&page, KIND_WORKLOAD, (struct ref){0});
         !ref_is_none(ref); ref = world_next(world, ref)) {
        const struct workload *workload = world_workload(world, ref);
        if (!lifecycle_is_waiting(workload->state) ||
            !world_is_below(world, ref, below))
            continue;
        if (page_takes(&page, ref))
            page_add(&page, ref);
        if (page.more)
            break;
    }
    page_end(&page, below);
    return 0;
}

int
work_queue(const struct granted *granted, struct exchange *exchange,
           struct error *err)
{
    return list_waiting(granted, exchange, granted_object(granted), err);
}

int
work_queue_all(const struct granted *granted, struct exchange *exchange,
               struct error *err)
{
    return list_waiting(granted, exchange,
                        world_platform_ref(granted_world(granted)), err);
}

/* --- ended workloads --- */

struct past {
    char project[ID_TEXT_MAX];
    int64_t limit;
    struct cursor_place before; /* seq 0: from the newest */
    struct cursor_place last;
    bool content;
    bool visible;
    json_t *items;
    bool platform;
};

int
work_history_read(const struct granted *granted, struct exchange *exchange,
                  struct error *err)
{
    struct past *past = arena_alloc(exchange->arena, sizeof *past);
    const struct world *world = granted_world(granted);
    past->platform = granted_is_platform(granted);
    past->visible =
        access_can(world, granted_actor(granted), VERB_WORKLOAD_GET,
                   granted_object(granted), granted_now_ms(granted));
    past->content =
        access_can(world, granted_actor(granted), VERB_WORKLOAD_SPEC,
                   granted_object(granted), granted_now_ms(granted));
    object_id_text(world, granted_object(granted), past->project);
    exchange->data = past;
    const char *cursor = url_get(&exchange->url, "cursor");
    if (cursor != NULL && cursor_parse(&exchange->api->cursor_key, cursor,
                                       &past->before, err) != 0)
        return -1;
    return exchange_int(exchange, "limit", 1, PAGE_LIMIT_MAX,
                        PAGE_LIMIT_DEFAULT, &past->limit, err);
}

static int
take_past(void *context, const struct value *values, struct error *err)
{
    struct past *past = context;
    (void)err;
    json_t *item = row_json(KIND_WORKLOAD, values, past->platform);
    if (!past->content)
        (void)json_object_del(item, "spec");
    json_array_append_new(past->items, item);
    past->last.seq = (uint64_t)row_int(KIND_WORKLOAD, values, "seq");
    return 0;
}

/* A full page may be the last; then the next one is empty. */
static json_t *
past_next(const struct exchange *exchange, const struct past *past)
{
    char text[CURSOR_TEXT_MAX];
    uint64_t nonce;
    if ((int64_t)json_array_size(past->items) < past->limit)
        return json_null();
    random_bytes(&nonce, sizeof nonce);
    cursor_format(&exchange->api->cursor_key, nonce, &past->last, text);
    return json_string(text);
}

int
work_history(struct exchange *exchange, struct store_reader *reader,
             struct error *err)
{
    struct past *past = exchange->data;
    past->items = json_array();
    if (past->visible &&
        store_workloads(reader, past->project, (int64_t)past->before.seq,
                        past->limit, take_past, past, err) != 0) {
        json_decref(past->items);
        return -1;
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:o}", "items", past->items, "next",
                          past_next(exchange, past)));
    return 0;
}
