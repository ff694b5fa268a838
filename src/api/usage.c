/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "api/usage_private.h"
#include "base/clock.h"
#include "core/price.h"
#include "core/schema.h"
#include "store/row.h"

/*
 * Usage and cost of a window, summed from the ledger's facts by groups.  A
 * fact (one hour at most) belongs to the window that it begins in.  Bound
 * time since the last cut is added from the live bindings, so that a report
 * up to now is complete.
 */

const char *const usage_groups[] = {"tenant", "project", "user",
                                          "workload", "class", "pool",
                                          "model", "form", "node", "card"};

/* --- what is asked --- */

static int
add_group(struct report *report, const char *text, size_t size,
          bool platform, struct error *err)
{
    for (unsigned i = 0; i < GROUP_COUNT; i++) {
        if (strlen(usage_groups[i]) != size ||
            memcmp(usage_groups[i], text, size) != 0)
            continue;
        if (i >= GROUP_NODE && !platform)
            break;
        if (report->group_count == GROUPS_MAX)
            return error_field(err, "group", "at most %d groups",
                               GROUPS_MAX);
        report->groups[report->group_count++] = (enum group)i;
        return 0;
    }
    return error_field(err, "group", "\"%.*s\" is no group; groups are tenant, project, "
                       "user, workload, class, pool, model, form%s",
                       (int)size, text, platform ? ", node, card" : "");
}

static int
read_groups(const struct exchange *exchange, struct report *report,
            bool platform, struct error *err)
{
    const char *text = url_get(&exchange->url, "group");
    if (text == NULL)
        text = "project";
    while (*text != '\0') {
        size_t size = strcspn(text, ",");
        if (add_group(report, text, size, platform, err) != 0)
            return -1;
        text += size;
        text += *text == ',';
    }
    return 0;
}

void
usage_add(struct report *report, const struct use *use)
{
    if (report->count == report->room) {
        report->room = report->room == 0 ? 64 : report->room * 2;
        report->uses =
            memory_grow(report->uses, report->room, sizeof *report->uses);
    }
    report->uses[report->count++] = *use;
}

/* --- the live part; world thread --- */

static const char *
ref_key(const struct world *world, struct arena *arena, struct ref ref)
{
    const char *text = object_id_copy(world, ref, arena);
    return text != NULL ? text : "";
}

const char *
usage_key(const struct world *world, struct arena *arena, enum group group,
            const struct binding *binding)
{
    const struct card *card = world_card(world, binding->card);
    switch (group) {
    case GROUP_TENANT:
        return ref_key(world, arena, binding->object.scope);
    case GROUP_PROJECT:
        return ref_key(world, arena, binding->project);
    case GROUP_USER:
        return ref_key(world, arena, binding->user);
    case GROUP_WORKLOAD:
        return ref_key(world, arena, binding->workload);
    case GROUP_CLASS:
        return ref_key(world, arena, binding->class);
    case GROUP_POOL:
        return ref_key(world, arena, binding->pool);
    case GROUP_MODEL:
        return card == NULL ? "" : arena_strdup(arena, card->model);
    case GROUP_FORM:
        return schema_form_names[binding->form];
    case GROUP_NODE:
        return ref_key(world, arena, world_parent(world, binding->card));
    case GROUP_CARD:
        return ref_key(world, arena, binding->card);
    case GROUP_COUNT:
        break;
    }
    assert(false);
    return "";
}

static void
add_live(const struct world *world, struct report *report,
         const struct binding *binding)
{
    const struct card *card = world_card(world, binding->card);
    int64_t from_ms = binding->cut_ms != 0 ? binding->cut_ms
                                           : binding->from_ms;
    if (from_ms < report->from_ms)
        from_ms = report->from_ms;
    int64_t to_ms =
        report->now_ms < report->to_ms ? report->now_ms : report->to_ms;
    if (binding->to_ms != 0 || from_ms >= to_ms)
        return;
    struct use use = {.usage = "bound", .meter = "card_hour"};
    for (size_t i = 0; i < report->group_count; i++)
        use.keys[i] =
            usage_key(world, report->arena, report->groups[i], binding);
    use.quantity = binding->milli * (to_ms - from_ms);
    use.price_nano =
        price_at(world, METER_CARD_HOUR, card == NULL ? "" : card->model,
                 binding->object.scope, report->now_ms);
    usage_add(report, &use);
}

static void
name_groups(const struct granted *granted, struct report *report)
{
    static const enum kind kinds[GROUP_COUNT] = {
        [GROUP_TENANT] = KIND_TENANT,   [GROUP_PROJECT] = KIND_PROJECT,
        [GROUP_USER] = KIND_USER,       [GROUP_WORKLOAD] = KIND_WORKLOAD,
        [GROUP_CLASS] = KIND_CLASS,     [GROUP_POOL] = KIND_POOL,
        [GROUP_NODE] = KIND_NODE,       [GROUP_CARD] = KIND_CARD,
    };
    report->names = json_object();
    for (size_t i = 0; i < report->group_count; i++)
        if (kinds[report->groups[i]] != KIND_NONE)
            history_add_names(granted, kinds[report->groups[i]],
                              report->names);
    history_add_names(granted, KIND_SERVICEACCOUNT, report->names);
}

int
usage_read(const struct granted *granted, struct exchange *exchange,
           struct error *err)
{
    const struct world *world = granted_world(granted);
    struct ref node = granted_object(granted);
    struct report *report = arena_alloc(exchange->arena, sizeof *report);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    exchange->data = report;
    report->arena = exchange->arena;
    report->now_ms = granted_now_ms(granted);
    memcpy(report->currency, platform->currency, sizeof report->currency);
    if (read_groups(exchange, report, granted_is_platform(granted), err) !=
            0 ||
        history_window(exchange, report->now_ms, &report->from_ms,
                       &report->to_ms, err) != 0)
        return -1;
    history_scope(world, node, exchange->arena, &report->scope);
    if (node.kind == KIND_TENANT)
        object_id_text(world, node, report->tenant);
    name_groups(granted, report);
    usage_terms_read(granted, report);
    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);
        if (world_is_below(world, binding->project, node))
            add_live(world, report, binding);
    }
    return 0;
}

/* --- the ledger; reader thread --- */

const char *
usage_text(struct arena *arena, const struct value *value)
{
    if (value->type != VALUE_TEXT)
        return "";
    return arena_strdup(arena, value->text);
}

static int
take_sum(void *context, const struct value *values, struct error *err)
{
    struct report *report = context;
    struct use use = {0};
    size_t at = report->group_count;
    (void)err;
    for (size_t i = 0; i < at; i++)
        use.keys[i] = usage_text(report->arena, &values[i]);
    use.usage = usage_text(report->arena, &values[at]);
    use.meter = usage_text(report->arena, &values[at + 1]);
    use.price_nano = values[at + 2].integer;
    use.quantity = values[at + 3].integer;
    usage_add(report, &use);
    return 0;
}

static int
sum_facts(struct store_reader *reader, struct report *report,
          const char *column, const char *id, struct error *err)
{
    struct store_sum sum = {.where = {.kind = KIND_FACT}, .sum = "quantity"};
    for (size_t i = 0; i < report->group_count; i++)
        sum.groups[sum.group_count++] = usage_groups[report->groups[i]];
    sum.groups[sum.group_count++] = "usage";
    sum.groups[sum.group_count++] = "meter";
    sum.groups[sum.group_count++] = "price_nano";
    if (column != NULL)
        store_where_text(&sum.where, column, STORE_EQUAL, id);
    store_where_int(&sum.where, "from_ms", STORE_AT_LEAST, report->from_ms);
    store_where_int(&sum.where, "from_ms", STORE_LESS, report->to_ms);
    return store_sum(reader, &sum, take_sum, report, err);
}

static int
sum_scope(struct store_reader *reader, struct report *report,
          struct error *err)
{
    if (report->scope.all)
        return sum_facts(reader, report, NULL, NULL, err);
    if (report->tenant[0] != '\0')
        return sum_facts(reader, report, "tenant", report->tenant, err);
    for (size_t i = 0; i < report->scope.count; i++)
        if (sum_facts(reader, report, "project", report->scope.projects[i],
                      err) != 0)
            return -1;
    return 0;
}

/* --- the answer --- */

static int
compare_groups(const struct use *a, const struct use *b)
{
    int order = 0;
    for (size_t i = 0; order == 0 && i < GROUPS_MAX && a->keys[i] != NULL; i++)
        order = strcmp(a->keys[i], b->keys[i]);
    if (order == 0)
        order = strcmp(a->usage, b->usage);
    return order == 0 ? strcmp(a->meter, b->meter) : order;
}

static int
compare_uses(const void *a, const void *b)
{
    const struct use *left = a, *right = b;
    int order = compare_groups(left, right);
    if (order != 0)
        return order;
    return left->price_nano < right->price_nano
               ? -1
               : left->price_nano > right->price_nano;
}

/* Only bound time has somebody who pays for it, and what is committed; what
 * that covers is taken back. */
static int64_t
cost_of(struct report *report, const struct use *use, int64_t quantity)
{
    int64_t cost = 0;
    bool covered = strcmp(use->usage, "covered") == 0;
    bool fits;
    if (strcmp(use->usage, "bound") != 0 && !covered &&
        strcmp(use->usage, "committed") != 0)
        return 0;
    if (strcmp(use->meter, "card_hour") == 0)
        fits = price_of_card_time(use->price_nano, quantity, &cost) == 0;
    else
        fits = !__builtin_mul_overflow(use->price_nano, quantity, &cost);
    report->overflow |= !fits;
    if (!fits)
        return 0;
    return covered ? -cost : cost;
}

static json_t *
describe_use(const struct report *report, const struct use *use,
             int64_t quantity, int64_t cost)
{
    bool card_time = strcmp(use->meter, "card_hour") == 0;
    json_t *item = json_pack("{s:s, s:s, s:I, s:s, s:I}", "usage", use->usage,
                             "meter", use->meter, "quantity",
                             (json_int_t)quantity, "unit",
                             card_time ? "milli_card_ms" : use->meter,
                             "cost_nano", (json_int_t)cost);
    for (size_t i = 0; i < report->group_count; i++) {
        const char *key = use->keys[i];
        json_object_set_new(item, usage_groups[report->groups[i]],
                            key[0] == '\0' ? json_null() : json_string(key));
    }
    return item;
}

/* One item per group, usage and meter; its prices are summed apart, so that
 * each product is rounded once. */
static json_t *
list_items(struct report *report)
{
    json_t *items = json_array();
    for (size_t i = 0; i < report->count;) {
        const struct use *first = &report->uses[i];
        int64_t quantity = 0, cost = 0;
        while (i < report->count &&
               compare_groups(first, &report->uses[i]) == 0) {
            const struct use *use = &report->uses[i];
            int64_t same = 0;
            for (; i < report->count &&
                   compare_uses(use, &report->uses[i]) == 0;
                 i++)
                report->overflow |= __builtin_add_overflow(
                    same, report->uses[i].quantity, &same);
            report->overflow |=
                __builtin_add_overflow(quantity, same, &quantity) ||
                __builtin_add_overflow(cost, cost_of(report, use, same),
                                       &cost);
        }
        json_array_append_new(items,
                              describe_use(report, first, quantity, cost));
    }
    return items;
}

static int
answer_report(struct exchange *exchange, struct report *report,
              struct error *err)
{
    char from[CLOCK_TEXT_MAX], to[CLOCK_TEXT_MAX];
    if (report->count > 0)
        qsort(report->uses, report->count, sizeof *report->uses,
              compare_uses);
    json_t *items = list_items(report);
    if (report->overflow) {
        json_decref(items);
        return error_set(err, ERROR_TOO_LARGE,
                         "a sum does not fit; ask for a shorter window");
    }
    clock_format(report->from_ms, from);
    clock_format(report->to_ms, to);
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:s, s:s, s:O, s:o}", "from", from, "to",
                          to, "currency", report->currency, "names",
                          report->names, "items", items));
    return 0;
}

int
usage_history(struct exchange *exchange, struct store_reader *reader,
              struct error *err)
{
    struct report *report = exchange->data;
    int result = sum_scope(reader, report, err);
    if (result == 0)
        result = usage_terms_add(reader, report, err);
    if (result == 0)
        result = answer_report(exchange, report, err);
    usage_terms_free(report);
    json_decref(report->names);
    free(report->uses);
    report->uses = NULL;
    return result;
}
