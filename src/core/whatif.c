/* SPDX-License-Identifier: Apache-2.0 */
#include "core/whatif.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/forecast.h"
#include "core/image.h"
#include "core/lifecycle.h"
#include "core/object.h"
#include "core/reason.h"
#include "core/reservation.h"
#include "core/submit.h"

#define DAY_MS (INT64_C(24) * 3600000)
/* Hardware of a node that is tried, for each of its cards. */
#define CPU_PER_CARD_MILLI 16000
#define MEMORY_PER_CARD_MIB 131072
#define NODES_MAX 1000
#define CARDS_MAX 16

static const struct forecast_options at_once = { 0, 0, -1 };

struct whatif {
    struct forecast *forecast;
    struct actor actor;
    struct ref node; /* of the question */
    bool platform;   /* asked by the platform's own people */
    int64_t until_ms;
    struct ref *tried; /* workloads of the question */
    size_t tried_count;
    struct ref watched[WHATIF_WATCH_MAX];
    size_t watched_count;
    json_t *lists[FORECAST_END + 1]; /* by enum forecast_what */
    json_t *refused;
    bool more;
};

/* What is being read: the question's copy and where the reader is in it. */
struct reading {
    struct whatif *whatif;
    const struct granted *granted;
    char pointer[64];
};

/* --- what the question refers to --- */

static bool
is_own(const struct whatif *whatif, struct ref ref)
{
    const struct world *world = forecast_world(whatif->forecast);

    return world_is_below(world, ref, whatif->node) ||
           (whatif->platform && whatif->node.kind == KIND_PLATFORM);
}

static struct ref
find_named(const struct world *world, enum kind kind, const char *text)
{
    struct ref ref = object_find_text(world, text);

    if (ref_is_none(ref) && (kind == KIND_POOL || kind == KIND_CLASS))
        ref = world_find_name(world, kind, world_platform_ref(world), text);
    return ref;
}

/* An object that the actor sees; own: it lies where the question is asked. */
static int
find(const struct reading *reading, const json_t *entry, const char *key,
     enum kind kind, bool own, struct ref *out, struct error *err)
{
    const struct whatif *whatif = reading->whatif;
    const char *text = NULL;
    struct ref ref;

    if (json_text(entry, key, true, ID_TEXT_MAX + NAME_MAX_SIZE, &text,
                  err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    ref = find_named(granted_world(reading->granted), kind, text);
    if ((enum kind)ref.kind != kind ||
        !access_visible(reading->granted, ref) ||
        (own && !is_own(whatif, ref)))
        return error_field(err, reading->pointer,
                           "%s: there is no %s \"%.64s\" here",
                           reading->pointer, schema_get(kind)->name, text);
    *out = ref;
    return 0;
}

/* The tenant, unit or project that the question lies in. */
static int
find_node(const struct reading *reading, const json_t *entry, const char *key,
          struct ref *out, struct error *err)
{
    static const enum kind kinds[] = { KIND_TENANT, KIND_UNIT, KIND_PROJECT };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (find(reading, entry, key, kinds[i], true, out, err) == 0)
            return 0;
    return -1;
}

/* --- changes --- */

static int
set_quota(struct reading *reading, const json_t *entry, struct error *err)
{
    static const char *const keys[] = { "set_quota", "guaranteed", "limit",
                                        NULL };
    const struct quota *present;
    struct changes *changes;
    struct quota *quota;
    int64_t guaranteed, limit;
    struct ref ref;

    if (json_only(entry, keys, err) != 0 ||
        find(reading, entry, "set_quota", KIND_QUOTA, true, &ref, err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    present = world_quota(granted_world(reading->granted), ref);
    guaranteed = present->guaranteed;
    limit = present->limit;
    if (json_int(entry, "guaranteed", false, 0, INT64_MAX, &guaranteed,
                 err) != 0 ||
        json_int(entry, "limit", false, 0, INT64_MAX, &limit, err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    changes = forecast_begin(reading->whatif->forecast);
    quota = change_update(changes, ref);
    quota->guaranteed = guaranteed;
    quota->limit = limit;
    forecast_apply(reading->whatif->forecast, changes);
    return 0;
}

static struct ref
add_node(struct forecast *forecast, struct ref pool, const struct class *class,
         int64_t cards, int64_t number)
{
    struct changes *changes = forecast_begin(forecast);
    char name[NAME_MAX_SIZE];
    struct node *node;
    struct ref ref;

    (void)snprintf(name, sizeof(name), "what-if-node-%" PRId64, number);
    node = change_create(changes, KIND_NODE, pool, name);
    ref = node->object.self;
    node->cpu_milli = cards * CPU_PER_CARD_MILLI;
    node->memory_mib = cards * MEMORY_PER_CARD_MIB;
    for (int64_t i = 0; i < cards; i++) {
        struct card *card;

        (void)snprintf(name, sizeof(name), "card%" PRId64, i);
        card = change_create(changes, KIND_CARD, ref, name);
        memcpy(card->vendor, class->vendor, sizeof(card->vendor));
        memcpy(card->model, class->model, sizeof(card->model));
        (void)snprintf(card->island, sizeof(card->island), "what-if");
        (void)snprintf(card->bus, sizeof(card->bus), "what-if");
        card->health = HEALTH_HEALTHY;
        card->cut_ms = forecast_now_ms(forecast);
        card->memory_mib = class->min_memory_mib > class->memory_mib
                               ? class->min_memory_mib
                               : class->memory_mib;
    }
    forecast_apply(forecast, changes);
    forecast_node(forecast, ref);
    return ref;
}

static int
add_nodes(struct reading *reading, const json_t *entry, struct error *err)
{
    static const char *const keys[] = { "add_nodes", "pool", "class", "cards",
                                        NULL };
    struct forecast *forecast = reading->whatif->forecast;
    int64_t count = 0, cards = 8;
    struct ref pool, class;
    size_t first = world_count(forecast_world(forecast), KIND_NODE);

    if (json_only(entry, keys, err) != 0 ||
        json_int(entry, "add_nodes", true, 1, NODES_MAX, &count, err) != 0 ||
        json_int(entry, "cards", false, 1, CARDS_MAX, &cards, err) != 0 ||
        find(reading, entry, "pool", KIND_POOL, false, &pool, err) != 0 ||
        find(reading, entry, "class", KIND_CLASS, false, &class, err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    for (int64_t i = 0; i < count; i++)
        (void)add_node(forecast, pool,
                       world_class(forecast_world(forecast), class), cards,
                       (int64_t)first + i);
    return 0;
}

static int
set_node(struct reading *reading, const json_t *entry, struct error *err)
{
    static const char *const keys[] = { "set_node", "state", NULL };
    const struct field *field = schema_field(KIND_NODE, "state");
    struct changes *changes;
    const char *text = NULL;
    struct ref ref;
    int state;

    if (json_only(entry, keys, err) != 0 ||
        find(reading, entry, "set_node", KIND_NODE, true, &ref, err) != 0 ||
        json_text(entry, "state", true, 32, &text, err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    state = schema_enum_parse(field->names, text);
    if (state != NODE_SCHEDULABLE && state != NODE_CORDONED)
        return error_field(err, reading->pointer,
                           "%s/state is \"%.32s\", must be schedulable or "
                           "cordoned",
                           reading->pointer, text);
    changes = forecast_begin(reading->whatif->forecast);
    ((struct node *)change_update(changes, ref))->state = state;
    forecast_apply(reading->whatif->forecast, changes);
    return 0;
}

/* Cards promised to a node of the tree. */
static int
reserve(struct reading *reading, const json_t *entry, struct error *err)
{
    static const char *const keys[] = { "reserve", "reservation", NULL };
    const json_t *fields = json_object_get(entry, "reservation");
    struct forecast *forecast = reading->whatif->forecast;
    struct reservation *image;
    struct changes *changes;
    struct ref node, ignored;

    if (json_only(entry, keys, err) != 0 ||
        find_node(reading, entry, "reserve", &node, err) != 0 ||
        find(reading, fields, "pool", KIND_POOL, false, &ignored, err) != 0 ||
        (!json_is_null(json_object_get(fields, "class")) &&
         json_object_get(fields, "class") != NULL &&
         find(reading, fields, "class", KIND_CLASS, false, &ignored, err) !=
             0))
        return error_prefix(err, "%s", reading->pointer);
    changes = forecast_begin(forecast);
    image = change_create(changes, KIND_RESERVATION, node, "");
    if (object_read_json(changes, KIND_RESERVATION, fields, true, image,
                         err) != 0 ||
        reservation_check(changes, image, forecast_now_ms(forecast), err) !=
            0) {
        forecast_drop(forecast, changes);
        return error_prefix(err, "%s", reading->pointer);
    }
    forecast_apply(forecast, changes);
    return 0;
}

static int
cancel(struct reading *reading, const json_t *entry, struct error *err)
{
    static const char *const keys[] = { "cancel", NULL };
    struct forecast *forecast = reading->whatif->forecast;
    struct changes *changes;
    struct ref ref;

    if (json_only(entry, keys, err) != 0 ||
        find(reading, entry, "cancel", KIND_WORKLOAD, true, &ref, err) != 0)
        return error_prefix(err, "%s", reading->pointer);
    changes = forecast_begin(forecast);
    if (submit_cancel(reading->granted, changes, ref, err) != 0) {
        forecast_drop(forecast, changes);
        return error_prefix(err, "%s", reading->pointer);
    }
    forecast_apply(forecast, changes);
    return 0;
}

static int
read_change(struct reading *reading, const json_t *entry, struct error *err)
{
    static const struct {
        const char *key;
        int (*read)(struct reading *reading, const json_t *entry,
                    struct error *err);
    } list[] = { { "set_quota", set_quota },
                 { "add_nodes", add_nodes },
                 { "reserve", reserve },
                 { "set_node", set_node },
                 { "cancel", cancel } };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (json_object_get(entry, list[i].key) != NULL)
            return list[i].read(reading, entry, err);
    return error_field(err, reading->pointer,
                       "%s must be an object with one of set_quota, "
                       "add_nodes, reserve, set_node, cancel",
                       reading->pointer);
}

/* --- submissions --- */

/* A name that the project has not: it counts nothing but what is in there,
 * since it is shown. */
static void
name_copy(const struct whatif *whatif, struct ref project,
          char name[NAME_MAX_SIZE])
{
    const struct world *world = forecast_world(whatif->forecast);
    size_t number = whatif->tried_count;

    do
        (void)snprintf(name, NAME_MAX_SIZE, "what-if-%zu", ++number);
    while (!ref_is_none(
        world_find_name(world, KIND_WORKLOAD, project, name)));
}

/* The body of the n-th copy: name, image and command need not be given. */
static json_t *
make_body(const struct whatif *whatif, struct ref project,
          const json_t *given)
{
    json_t *body = given != NULL ? json_copy((json_t *)(uintptr_t)given)
                                 : json_object();
    char name[NAME_MAX_SIZE];

    name_copy(whatif, project, name);
    (void)json_object_set_new(body, "name", json_string(name));
    if (json_object_get(body, "image") == NULL)
        (void)json_object_set_new(body, "image", json_string(IMAGE_OPEN));
    if (json_object_get(body, "spec") == NULL)
        (void)json_object_set_new(body, "spec",
                                  json_pack("{s:[s]}", "command", "what-if"));
    return body;
}

/* One copy; -1 when it is refused. */
static int
submit_one(struct reading *reading, struct ref project, const json_t *given,
           int64_t run_ms, struct error *err)
{
    struct whatif *whatif = reading->whatif;
    struct changes *changes = forecast_begin(whatif->forecast);
    scoped_json body = make_body(whatif, project, given);
    struct ref ref;

    if (submit_workload(reading->granted, changes, project, body, &ref,
                        err) != 0) {
        forecast_drop(whatif->forecast, changes);
        return -1;
    }
    forecast_apply(whatif->forecast, changes);
    if (run_ms > 0)
        forecast_duration(whatif->forecast, ref, run_ms, 0);
    whatif->tried[whatif->tried_count++] = ref;
    return 0;
}

static void
add_refused(struct whatif *whatif, size_t index, int64_t count,
            const struct error *why)
{
    json_array_append_new(
        whatif->refused,
        json_pack("{s:I, s:I, s:s, s:s}", "submit", (json_int_t)index, "count",
                  (json_int_t)count, "code", error_code_text(why->code), "text",
                  why->text));
}

static int
read_submit(struct reading *reading, size_t index, const json_t *entry,
            struct error *err)
{
    static const char *const keys[] = { "project", "count", "run_ms",
                                        "workload", NULL };
    const json_t *given = json_object_get(entry, "workload");
    int64_t count = 1, run_ms = 0;
    struct error refused;
    struct ref project;

    if (json_only(entry, keys, err) != 0 ||
        json_int(entry, "count", false, 1,
                 (int64_t)(WHATIF_SUBMIT_MAX - reading->whatif->tried_count),
                 &count, err) != 0 ||
        json_int(entry, "run_ms", false, 1, WHATIF_HORIZON_MS_MAX, &run_ms,
                 err) != 0 ||
        find(reading, entry, "project", KIND_PROJECT, true, &project, err) !=
            0)
        return error_prefix(err, "%s", reading->pointer);
    if (given != NULL && !json_is_object(given))
        return error_field(err, reading->pointer,
                           "%s/workload is no JSON object", reading->pointer);
    for (int64_t i = 0; i < count; i++)
        if (submit_one(reading, project, given, run_ms, &refused) != 0) {
            add_refused(reading->whatif, index, count - i, &refused);
            break;
        }
    return 0;
}

/* --- the question --- */

/* The list below key, at most max long; NULL when it is left out. */
static int
get_list(const json_t *body, const char *key, size_t max, const json_t **out,
         struct error *err)
{
    char pointer[32];

    *out = json_object_get(body, key);
    (void)snprintf(pointer, sizeof(pointer), "/%s", key);
    if (*out == NULL || json_is_null(*out))
        return 0;
    if (!json_is_array(*out) || json_array_size(*out) > max)
        return error_field(err, pointer,
                           "%s must be a list of at most %zu entries", pointer,
                           max);
    return 0;
}

static int
read_lists(struct reading *reading, const json_t *body, struct error *err)
{
    const json_t *change, *submit, *watch;
    struct whatif *whatif = reading->whatif;

    if (get_list(body, "change", WHATIF_CHANGES_MAX, &change, err) != 0 ||
        get_list(body, "submit", WHATIF_SUBMIT_MAX, &submit, err) != 0 ||
        get_list(body, "watch", WHATIF_WATCH_MAX, &watch, err) != 0)
        return -1;
    for (size_t i = 0; i < json_array_size(change); i++) {
        (void)snprintf(reading->pointer, sizeof(reading->pointer),
                       "/change/%zu", i);
        if (read_change(reading, json_array_get(change, i), err) != 0)
            return -1;
    }
    for (size_t i = 0; i < json_array_size(submit); i++) {
        (void)snprintf(reading->pointer, sizeof(reading->pointer),
                       "/submit/%zu", i);
        if (read_submit(reading, i, json_array_get(submit, i), err) != 0)
            return -1;
    }
    for (size_t i = 0; i < json_array_size(watch); i++) {
        scoped_json entry = json_pack("{s:O}", "watch",
                                      json_array_get(watch, i));

        (void)snprintf(reading->pointer, sizeof(reading->pointer),
                       "/watch/%zu", i);
        if (find(reading, entry, "watch", KIND_WORKLOAD, true,
                 &whatif->watched[whatif->watched_count], err) != 0)
            return -1;
        whatif->watched_count++;
    }
    return 0;
}

static int
read_body(struct reading *reading, const json_t *body, struct error *err)
{
    static const char *const keys[] = { "horizon_ms", "change", "submit",
                                        "watch", NULL };
    int64_t horizon_ms = DAY_MS;

    if (json_only(body, keys, err) != 0 ||
        json_int(body, "horizon_ms", false, 1000, WHATIF_HORIZON_MS_MAX,
                 &horizon_ms, err) != 0)
        return -1;
    reading->whatif->until_ms =
        forecast_now_ms(reading->whatif->forecast) + horizon_ms;
    return read_lists(reading, body, err);
}

struct whatif *
whatif_new(const struct granted *granted, const json_t *body,
           struct error *err)
{
    struct whatif *whatif = memory_new(1, sizeof(*whatif));
    struct reading reading = { whatif, granted, "" };

    whatif->forecast =
        forecast_new(world_clone(granted_world(granted)),
                     granted_now_ms(granted), &at_once);
    whatif->actor = *granted_actor(granted);
    whatif->node = granted_object(granted);
    whatif->platform = granted_is_platform(granted);
    whatif->tried = memory_new(WHATIF_SUBMIT_MAX, sizeof(struct ref));
    whatif->refused = json_array();
    for (int i = 0; i <= FORECAST_END; i++)
        whatif->lists[i] = json_array();
    if (read_body(&reading, body, err) != 0) {
        whatif_free(whatif);
        return NULL;
    }
    return whatif;
}

void
whatif_free(struct whatif *whatif)
{
    if (whatif == NULL)
        return;
    forecast_free(whatif->forecast);
    for (int i = 0; i <= FORECAST_END; i++)
        json_decref(whatif->lists[i]);
    json_decref(whatif->refused);
    free(whatif->tried);
    free(whatif);
}

/* --- the answer --- */

static bool
is_in(const struct ref *list, size_t count, struct ref ref)
{
    for (size_t i = 0; i < count; i++)
        if (ref_equal(list[i], ref))
            return true;
    return false;
}

static bool
is_tried(const struct whatif *whatif, struct ref ref)
{
    return is_in(whatif->tried, whatif->tried_count, ref);
}

/* The actor sees it and asked about it; else it is nobody's business. */
static bool
is_told(const struct whatif *whatif, const struct world *world,
        struct ref ref)
{
    return is_tried(whatif, ref) ||
           (is_own(whatif, ref) &&
            access_sees(world, &whatif->actor, ref,
                        forecast_now_ms(whatif->forecast)));
}

static json_t *
describe(const struct whatif *whatif, const struct world *world,
         const struct workload *workload)
{
    struct ref self = workload->object.self;

    return json_pack("{s:o, s:s, s:o, s:b}", "workload",
                     object_id_json(world, self), "name",
                     workload->object.name, "project",
                     object_id_json(world, workload->object.parent), "tried",
                     is_tried(whatif, self));
}

static void
append(struct whatif *whatif, json_t *list, json_t *item)
{
    if (json_array_size(list) < WHATIF_LIST_MAX) {
        json_array_append_new(list, item);
    } else {
        whatif->more = true;
        json_decref(item);
    }
}

static void
take_event(void *context, const struct world *world,
           const struct forecast_event *event)
{
    struct whatif *whatif = context;
    const struct workload *workload = world_workload(world, event->workload);
    json_t *item;

    if (workload == NULL || !is_told(whatif, world, event->workload))
        return;
    item = describe(whatif, world, workload);
    (void)json_object_set_new(item, "at", json_time(event->at_ms));
    if (event->what == FORECAST_START)
        (void)json_object_set_new(
            item, "waits_ms",
            json_integer(event->at_ms - workload->submitted_ms));
    append(whatif, whatif->lists[event->what], item);
}

static json_t *
waiting_json(struct whatif *whatif)
{
    const struct world *world = forecast_world(whatif->forecast);
    const struct field *field = schema_field(KIND_WORKLOAD, "reason");
    json_t *list = json_array();

    world_each(world, KIND_WORKLOAD, ref) {
        const struct workload *workload = world_workload(world, ref);
        json_t *item;

        if ((!lifecycle_is_waiting(workload->state) &&
             !is_in(whatif->watched, whatif->watched_count, ref)) ||
            !is_told(whatif, world, ref))
            continue;
        item = describe(whatif, world, workload);
        (void)json_object_set_new(item, "state",
                                  json_string(reason_state(workload->state)));
        (void)json_object_set_new(item, "reason",
                                  json_string(field->names[workload->reason]));
        (void)json_object_set_new(item, "text",
                                  json_string(workload->reason_text));
        append(whatif, list, item);
    }
    return list;
}

json_t *
whatif_answer(struct whatif *whatif)
{
    static const char *const ends[] = { "reached", "quiet", "budget" };
    int64_t now_ms = forecast_now_ms(whatif->forecast);
    enum forecast_end end;
    json_t *waiting;

    forecast_listen(whatif->forecast, take_event, whatif);
    end = forecast_run(whatif->forecast, whatif->until_ms,
                       WHATIF_DECISIONS_MAX);
    waiting = waiting_json(whatif);
    return json_pack(
        "{s:o, s:o, s:s, s:O, s:O, s:O, s:o, s:O, s:b, s:o}", "now",
        json_time(now_ms), "until", json_time(whatif->until_ms), "end",
        ends[end], "starts", whatif->lists[FORECAST_START], "preempted",
        whatif->lists[FORECAST_PREEMPT], "ended",
        whatif->lists[FORECAST_END], "waiting", waiting, "refused",
        whatif->refused, "more", whatif->more, "assumptions",
        forecast_assumptions("work runs for run_ms where it was given, else for its "
                             "longest run time, else for ever"));
}
