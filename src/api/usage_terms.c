/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "api/usage_private.h"
#include "core/commitment.h"
#include "core/price.h"
#include "store/row.h"

/* One tenant with commitments: its use of whole hours, whoever asks. */
struct term {
    const char *tenant; /* id text */
    struct commitment *list;
    size_t count;
    struct commitment_use *uses;
    struct use *rows; /* of each use: keys and price */
    bool *told;       /* of each use: is it the report's? */
    size_t use_count, room;
    bool charges; /* the report is about the whole tenant */
};

struct usage_terms {
    struct report *report;
    struct term *list;
    size_t count;
    int64_t from_ms, to_ms; /* whole hours around the window */
    struct term *current;
};

static int64_t
hour_of(int64_t at_ms)
{
    return at_ms - at_ms % COMMITMENT_HOUR_MS;
}

static void
add(struct usage_terms *terms, struct term *term, const char *project,
    const struct commitment_use *of, const struct use *row)
{
    const struct report *report = terms->report;
    size_t at = term->use_count++;
    if (at == term->room) {
        term->room = 2 * term->room + 64;
        term->uses = memory_grow(term->uses, term->room, sizeof *term->uses);
        term->rows = memory_grow(term->rows, term->room, sizeof *term->rows);
        term->told = memory_grow(term->told, term->room, sizeof *term->told);
    }
    term->uses[at] = *of;
    term->rows[at] = *row;
    term->told[at] =
        of->from_ms >= report->from_ms && of->from_ms < report->to_ms &&
        (term->charges || history_covers(&report->scope, project));
}

/* --- the world thread --- */

static size_t
list_commitments(const struct world *world, struct ref tenant,
                 const struct usage_terms *terms, struct term *term)
{
    size_t room = world_count(world, KIND_COMMITMENT);
    term->list =
        arena_alloc(terms->report->arena, room * sizeof *term->list);
    world_each_child(world, KIND_COMMITMENT, tenant, ref) {
        const struct commitment *at = world_commitment(world, ref);
        if (commitment_quantity(at, terms->from_ms, terms->to_ms) > 0)
            term->list[term->count++] = *at;
    }
    return term->count;
}

/* What is bound since the last cut, in pieces of an hour. */
static void
add_live(const struct world *world, struct usage_terms *terms,
         struct term *term, const struct binding *binding)
{
    struct report *report = terms->report;
    const struct card *card = world_card(world, binding->card);
    int64_t from_ms = binding->cut_ms != 0 ? binding->cut_ms
                                           : binding->from_ms;
    struct use row = {0};
    if (binding->to_ms != 0)
        return;
    for (size_t i = 0; i < report->group_count; i++)
        row.keys[i] =
            usage_key(world, report->arena, report->groups[i], binding);
    row.price_nano =
        price_at(world, METER_CARD_HOUR, card == NULL ? "" : card->model,
                 binding->object.scope, report->now_ms);
    if (from_ms < terms->from_ms)
        from_ms = terms->from_ms;
    while (from_ms < report->now_ms && from_ms < terms->to_ms) {
        int64_t to_ms = hour_of(from_ms) + COMMITMENT_HOUR_MS;
        if (to_ms > report->now_ms)
            to_ms = report->now_ms;
        add(terms, term, object_id_copy(world, binding->project,
                                        report->arena),
            &(struct commitment_use){
                .from_ms = from_ms,
                .model = card == NULL
                             ? ""
                             : arena_strdup(report->arena, card->model),
                .quantity = binding->milli * (to_ms - from_ms)},
            &row);
        from_ms = to_ms;
    }
}

static void
add_tenant(const struct granted *granted, struct usage_terms *terms,
           struct ref tenant)
{
    const struct world *world = granted_world(granted);
    struct term *term = &terms->list[terms->count];
    enum kind node = (enum kind)granted_object(granted).kind;
    term->charges = node == KIND_PLATFORM || node == KIND_TENANT;
    if (list_commitments(world, tenant, terms, term) == 0)
        return;
    term->tenant = object_id_copy(world, tenant, terms->report->arena);
    terms->count++;
    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);
        if (ref_equal(binding->object.scope, tenant))
            add_live(world, terms, term, binding);
    }
}

void
usage_terms_read(const struct granted *granted, struct report *report)
{
    const struct world *world = granted_world(granted);
    struct ref scope = world_scope(world, granted_object(granted));
    struct usage_terms *terms =
        arena_alloc(report->arena, sizeof *terms);
    report->terms = terms;
    terms->report = report;
    terms->from_ms = hour_of(report->from_ms);
    terms->to_ms = hour_of(report->to_ms + COMMITMENT_HOUR_MS - 1);
    terms->list = arena_alloc(
        report->arena,
        (world_count(world, KIND_TENANT) + 1) * sizeof *terms->list);
    if (world_count(world, KIND_COMMITMENT) == 0)
        return;
    if (scope.kind == KIND_TENANT)
        add_tenant(granted, terms, scope);
    else
        world_each(world, KIND_TENANT, ref)
            add_tenant(granted, terms, ref);
}

/* --- a reader thread --- */

static int
take(void *context, const struct value *values, struct error *err)
{
    struct usage_terms *terms = context;
    struct report *report = terms->report;
    size_t at = report->group_count;
    struct use row = {0};
    (void)err;
    for (size_t i = 0; i < at; i++)
        row.keys[i] = usage_text(report->arena, &values[i]);
    row.price_nano = values[at + 3].integer;
    add(terms, terms->current, usage_text(report->arena, &values[at + 1]),
        &(struct commitment_use){
            .from_ms = values[at + 2].integer,
            .model = usage_text(report->arena, &values[at]),
            .quantity = values[at + 4].integer},
        &row);
    return 0;
}

static int
sum_tenant(struct store_reader *reader, struct usage_terms *terms,
           struct error *err)
{
    static const char *const more[] = {"model", "project", "from_ms",
                                       "price_nano"};
    const struct report *report = terms->report;
    struct store_sum sum = {.where = {.kind = KIND_FACT}, .sum = "quantity"};
    for (size_t i = 0; i < report->group_count; i++)
        sum.groups[sum.group_count++] = usage_groups[report->groups[i]];
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        sum.groups[sum.group_count++] = more[i];
    store_where_text(&sum.where, "tenant", STORE_EQUAL,
                     terms->current->tenant);
    store_where_text(&sum.where, "usage", STORE_EQUAL, "bound");
    store_where_text(&sum.where, "meter", STORE_EQUAL, "card_hour");
    store_where_int(&sum.where, "from_ms", STORE_AT_LEAST, terms->from_ms);
    store_where_int(&sum.where, "from_ms", STORE_LESS, terms->to_ms);
    return store_sum(reader, &sum, take, terms, err);
}

static void
add_covered(struct usage_terms *terms, const struct term *term)
{
    for (size_t i = 0; i < term->use_count; i++) {
        struct use use = term->rows[i];
        use.usage = "covered";
        use.meter = "card_hour";
        use.quantity = term->uses[i].covered;
        if (use.quantity > 0 && term->told[i])
            usage_add(terms->report, &use);
    }
}

/* Of the tenant alone: no project, user or card has made it. */
static void
add_committed(struct usage_terms *terms, const struct term *term)
{
    struct report *report = terms->report;
    int64_t to_ms =
        report->now_ms < report->to_ms ? report->now_ms : report->to_ms;
    for (size_t i = 0; term->charges && i < term->count; i++) {
        const struct commitment *at = &term->list[i];
        struct use use = {.usage = "committed", .meter = "card_hour",
                          .price_nano = at->nano};
        for (size_t k = 0; k < report->group_count; k++)
            use.keys[k] = report->groups[k] == GROUP_TENANT  ? term->tenant
                          : report->groups[k] == GROUP_MODEL ? at->model
                                                             : "";
        use.quantity = commitment_quantity(at, report->from_ms, to_ms);
        if (use.quantity > 0)
            usage_add(report, &use);
    }
}

int
usage_terms_add(struct store_reader *reader, struct report *report,
                struct error *err)
{
    struct usage_terms *terms = report->terms;
    for (size_t i = 0; i < terms->count; i++) {
        struct term *term = &terms->list[i];
        terms->current = term;
        if (sum_tenant(reader, terms, err) != 0)
            return -1;
        commitment_cover(term->list, term->count, term->uses,
                         term->use_count, report->now_ms);
        add_covered(terms, term);
        add_committed(terms, term);
    }
    return 0;
}

void
usage_terms_free(struct report *report)
{
    for (size_t i = 0; i < report->terms->count; i++) {
        free(report->terms->list[i].uses);
        free(report->terms->list[i].rows);
        free(report->terms->list[i].told);
    }
}
