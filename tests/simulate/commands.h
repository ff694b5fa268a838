/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_COMMANDS_H
#define TESTS_COMMANDS_H

#include "tests/simulate/play.h"

#include "base/clock.h"
#include "core/request.h"
#include "core/resource.h"
#include "core/role.h"
#include "core/submit.h"
#include "core/usage.h"

/*
 * What people ask of the platform: bodies are drawn from the schema's tables,
 * good values and bad ones, and go the way of every command: access, rules,
 * decision.  What is refused changes nothing; what is allowed must leave the
 * invariants whole.
 */

#define COMMAND_YEAR (INT64_C(366) * 24 * 3600000)

/* --- people --- */

static inline void
command_grant(struct changes *changes, struct ref user, struct ref node,
              enum role_builtin role)
{
    struct grant *grant = change_create(changes, KIND_GRANT, node, "");

    grant->subject = user;
    grant->role = role_find(changes->world, role);
    grant->use = grant->give = verbs_for((enum kind)node.kind);
}

static inline struct actor
command_person(struct play *play, struct ref node, enum role_builtin role)
{
    struct scene *scene = &play->scene;
    struct ref user = scene_put(scene, KIND_USER, node, "chief");
    struct changes *changes = scene_begin(scene);
    struct session *session = change_create(changes, KIND_SESSION, user, "");
    struct actor actor = { .kind = ACTOR_USER,
                           .subject = user,
                           .credential = session->object.self };

    command_grant(changes, user, node, role);
    if (node.kind == KIND_TENANT)
        command_grant(changes, user, node, ROLE_DEVELOPER);
    if (node.kind == KIND_PLATFORM) {
        struct breakglass *glass =
            change_create(changes, KIND_BREAKGLASS, user, "");

        glass->to_ms = scene->now_ms + 10 * COMMAND_YEAR;
    }
    session->digest[0] = (uint8_t)(1 + play->people_count);
    session->expires_ms = scene->now_ms + 10 * COMMAND_YEAR;
    scene_apply(scene, changes);
    return actor;
}

/* One of the platform, and one of each tenant. */
static inline void
command_setup(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    role_install(changes, play->scene.platform);
    scene_apply(&play->scene, changes);
    play->people_count = 0;
    play->people[play->people_count++] =
        command_person(play, play->scene.platform, ROLE_PLATFORM_ADMIN);
    for (int i = 0; i < TENANTS; i++)
        play->people[play->people_count++] =
            command_person(play, play->tenants[i], ROLE_TENANT_ADMIN);
}

/* --- bodies --- */

static inline struct ref
command_any(struct play *play, enum kind kind)
{
    size_t count = world_count(play->scene.world, kind);
    int skip = count > 0 ? below(play, (int)count) : 0;

    world_each(play->scene.world, kind, ref)
        if (skip-- == 0)
            return ref;
    return (struct ref){ 0 };
}

static inline json_t *
command_id(struct play *play, enum kind kind)
{
    char text[ID_TEXT_MAX] = "wl_mfrggzdfmztwq2lkmfrggzdfmu";
    struct ref ref = command_any(play, kind);

    if (!ref_is_none(ref) && chance(play, 95))
        object_id_text(play->scene.world, ref, text);
    return json_string(text);
}

static inline int64_t
command_number(struct play *play, const struct field *field)
{
    static const int64_t numbers[] = { 0,    1,    2,     3,     4,     500,
                                       1000, 2000, 4000,  6000,  8000,  12000,
                                       16000, -1,  60000, 3600000 };
    int draw = below(play, 20);

    if (draw == 16)
        return field->min;
    if (draw == 17)
        return field->max;
    if (draw == 18)
        return field->max / 2;
    if (draw == 19)
        return INT64_MAX;
    return numbers[draw];
}

static inline json_t *
command_at(const struct play *play, int64_t minutes)
{
    char text[CLOCK_TEXT_MAX];

    clock_format(play->scene.now_ms + 60000 * minutes, text);
    return json_string(text);
}

static inline json_t *
command_time(struct play *play)
{
    static const int64_t minutes[] = { -60, -1, 0,  1,    2,    10,
                                       15,  60, 90, 1440, 2880, 43200 };

    return command_at(play, minutes[below(play, 12)]);
}

/* A document: by its field, a list of ids or of words, or what work runs. */
static inline json_t *
command_doc(struct play *play, enum kind of, const struct field *field)
{
    static const char *const classes[] = { "production", "research", "sandbox" };
    static const char *const kinds[] = { "batch", "service", "interactive" };
    enum kind kind = schema_find(field->name);
    json_t *list = json_array();

    if (strcmp(field->name, "spec") == 0) {
        json_decref(list);
        return json_pack("{s:[s], s:{s:s}}", "command", "/bin/work",
                         "topology", "level",
                         chance(play, 50) ? "node" : "leaf");
    }
    for (int i = below(play, 3); i >= 0; i--)
        (void)json_array_append_new(
            list, strcmp(field->name, "kinds") == 0
                      ? json_string(kinds[below(play, 3)])
                  : strcmp(field->name, "project_classes") == 0
                      ? json_string(classes[below(play, 3)])
                  : of == KIND_PRIORITY
                      ? json_string(
                            role_name((enum role_builtin)below(play, 9)))
                      : command_id(play, kind));
    return list;
}

static inline json_t *
command_verbs(struct play *play)
{
    json_t *list = json_array();

    for (int i = below(play, 4); i >= 0; i--)
        (void)json_array_append_new(
            list, json_string(verb_name((enum verb)below(play, VERB_COUNT))));
    return list;
}

static inline json_t *
command_value(struct play *play, enum kind of, const struct field *field)
{
    static const char *const texts[] = { "", "h100", "a100", "nvidia", "amd" };
    int count = 0;

    switch (field->type) {
    case FIELD_NAME:
    case FIELD_TEXT:
        return json_string(texts[below(play, 5)]);
    case FIELD_INT:
        if (of == KIND_WORKLOAD && chance(play, 80))
            return json_integer(1 + below(play, 4));
        return json_integer((json_int_t)command_number(play, field));
    case FIELD_BOOL:
        return json_boolean(chance(play, 50));
    case FIELD_ENUM:
        /* Most things are sound and go on. */
        if ((strcmp(field->name, "state") == 0 ||
             strcmp(field->name, "health") == 0) &&
            chance(play, 70))
            return json_string(field->names[of == KIND_CARD]);
        while (field->names[count] != NULL)
            count++;
        return json_string(field->names[below(play, count)]);
    case FIELD_TIME:
        return command_time(play);
    case FIELD_REF:
        return command_id(play,
                          field->kind != KIND_NONE ? field->kind : KIND_USER);
    case FIELD_DOC:
        return command_doc(play, of, field);
    case FIELD_BYTES:
        return json_string("00");
    case FIELD_VERBS:
        return command_verbs(play);
    }
    return json_null();
}

/* What makes sense, so that much of it is allowed. */
static inline json_t *
command_quota(struct play *play, bool create)
{
    int guaranteed = below(play, 8), more = below(play, 8);
    json_t *body = json_pack("{s:I, s:I}", "guaranteed",
                             (json_int_t)1000 * guaranteed, "limit",
                             more == 0 ? (json_int_t)AMOUNT_NONE
                                       : (json_int_t)1000 *
                                             (guaranteed + more));

    if (create)
        (void)json_object_set_new(body, "dimension", json_string("cards"));
    if (create && chance(play, 40))
        (void)json_object_set_new(body, "pool", command_id(play, KIND_POOL));
    return body;
}

static inline json_t *
command_reservation(struct play *play)
{
    int64_t from = below(play, 200), to = from + 1 + below(play, 200);
    json_t *body = json_pack(
        "{s:s, s:o, s:i, s:o, s:o, s:b}", "name", "window", "pool",
        command_id(play, KIND_POOL), "cards", 1 + below(play, 4), "from_ms",
        command_at(play, from), "to_ms", command_at(play, to), "lend",
        chance(play, 50));

    if (chance(play, 30)) {
        (void)json_object_set_new(body, "every", json_string("day"));
        (void)json_object_set_new(body, "until_ms",
                                  command_at(play, 1440 * 5));
    }
    return body;
}

static inline json_t *
command_wish(struct play *play)
{
    return json_pack("{s:o, s:s, s:s, s:s, s:i, s:i}", "name",
                     json_sprintf("wish%d", play->number++), "sort", "quota",
                     "reason", "more", "dimension", "cards", "guaranteed", -1,
                     "limit", 1000 * (1 + below(play, 12)));
}

static inline json_t *
command_body(struct play *play, enum kind kind, bool create)
{
    const struct schema *schema = schema_get(kind);
    json_t *body = json_object();
    char name[16];

    if (kind == KIND_QUOTA && chance(play, 70)) {
        json_decref(body);
        return command_quota(play, create);
    }
    if (kind == KIND_RESERVATION && create && chance(play, 70)) {
        json_decref(body);
        return command_reservation(play);
    }
    if (kind == KIND_PRIORITY && !create && chance(play, 30)) {
        (void)json_object_set_new(body, "approval", json_true());
        return body;
    }
    if (kind == KIND_REQUEST && chance(play, 70)) {
        json_decref(body);
        return command_wish(play);
    }
    (void)snprintf(name, sizeof(name), "%c%d", 'a' + (int)kind % 26,
                   below(play, 12));
    if (create && kind != KIND_QUOTA && kind != KIND_GRANT &&
        kind != KIND_CEILING && kind != KIND_DENY)
        (void)json_object_set_new(body, "name", json_string(name));
    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];

        if ((field->flags & (create ? FIELD_CREATE : FIELD_UPDATE)) == 0)
            continue;
        if ((create && (field->flags & FIELD_REQUIRED) != 0) ||
            chance(play, kind == KIND_WORKLOAD ? 15 : create ? 25 : 40))
            (void)json_object_set_new(body, field->name,
                                      command_value(play, kind, field));
    }
    if (kind == KIND_WORKLOAD && create && play->class_count > CLASSES &&
        chance(play, 80)) /* the nodes say what they have */
        (void)json_object_set_new(
            body, "image", json_string(chance(play, 70) ? "base" : "demo"));
    return body;
}

/* --- what is asked --- */

enum command_sort {
    COMMAND_CREATE,
    COMMAND_UPDATE,
    COMMAND_DELETE,
    COMMAND_SUBMIT,
    COMMAND_CANCEL,
    COMMAND_HOLD,
    COMMAND_RELEASE,
    COMMAND_REMOVE,
    COMMAND_TAKE_OFF,
    COMMAND_DECIDE,
    COMMAND_WITHDRAW,
    COMMAND_RAISE,
    COMMAND_COUNT
};

static const char *const command_names[COMMAND_COUNT] = {
    "create", "update",   "delete", "submit",   "cancel", "hold",
    "release", "remove",  "take-off", "decide", "withdraw", "raise",
};

static inline enum kind
command_kind(struct play *play)
{
    static const enum kind kinds[] = {
        KIND_QUOTA,    KIND_QUOTA,    KIND_QUOTA,   KIND_QUOTA,
        KIND_QUOTA,    KIND_RESERVATION, KIND_RESERVATION, KIND_RESERVATION,
        KIND_REQUEST,  KIND_REQUEST,  KIND_PRIORITY, KIND_PRIORITY,
        KIND_TENANT,   KIND_TENANT,   KIND_PROJECT, KIND_UNIT,
        KIND_POOL,     KIND_CLASS,    KIND_VOLUME,  KIND_CEILING,
        KIND_PRICE,    KIND_NODE,     KIND_CARD,    KIND_WORKLOAD,
        KIND_PLATFORM, KIND_ALARM,    KIND_SERVICEACCOUNT,
        KIND_MAINTENANCE, KIND_MAINTENANCE, KIND_REQUIREMENT,
        KIND_COMMITMENT,
    };

    return kinds[below(play, (int)(sizeof(kinds) / sizeof(kinds[0])))];
}

/* Somewhere in the tree. */
static inline struct ref
command_place(struct play *play, enum kind kind)
{
    static const enum kind levels[] = { KIND_TENANT, KIND_TENANT, KIND_PROJECT,
                                        KIND_PROJECT, KIND_UNIT,
                                        KIND_PLATFORM };

    if (kind == KIND_POOL || kind == KIND_CLASS || kind == KIND_PRIORITY ||
        kind == KIND_TENANT || kind == KIND_PRICE ||
        kind == KIND_REQUIREMENT)
        return play->scene.platform;
    if (kind == KIND_RESERVATION || kind == KIND_COMMITMENT)
        return command_any(play, KIND_TENANT);
    if (kind == KIND_MAINTENANCE)
        return command_any(play, chance(play, 70) ? KIND_NODE : KIND_POOL);
    if (kind == KIND_WORKLOAD || kind == KIND_VOLUME)
        return command_any(play, KIND_PROJECT);
    return command_any(play, levels[below(play, 6)]);
}

/* The newest that is open, else any. */
static inline struct ref
command_request(struct play *play)
{
    struct ref open = command_any(play, KIND_REQUEST);

    world_each(play->scene.world, KIND_REQUEST, ref)
        if (world_wish(play->scene.world, ref)->state == REQUEST_OPEN)
            open = ref;
    return open;
}

struct command_ask {
    enum command_sort sort;
    int verb; /* -1: there is none */
    enum kind kind;
    struct ref object; /* or the parent */
};

static inline struct command_ask
command_ask(struct play *play)
{
    static const int verbs[COMMAND_COUNT] = {
        [COMMAND_SUBMIT] = VERB_WORKLOAD_CREATE,
        [COMMAND_CANCEL] = VERB_WORKLOAD_CANCEL,
        [COMMAND_HOLD] = VERB_WORKLOAD_UPDATE,
        [COMMAND_RELEASE] = VERB_WORKLOAD_UPDATE,
        [COMMAND_REMOVE] = VERB_WORKLOAD_DELETE,
        [COMMAND_TAKE_OFF] = VERB_INSTANCE_RELEASE,
        [COMMAND_DECIDE] = VERB_REQUEST_DECIDE,
        [COMMAND_WITHDRAW] = VERB_REQUEST_WITHDRAW,
        [COMMAND_RAISE] = VERB_QUOTA_RAISE,
    };
    struct command_ask ask = { .kind = command_kind(play) };
    int draw = below(play, 100);

    ask.sort = draw < 30   ? COMMAND_CREATE
               : draw < 50 ? COMMAND_UPDATE
               : draw < 56 ? COMMAND_DELETE
               : draw < 74 ? COMMAND_SUBMIT
                           : (enum command_sort)(COMMAND_CANCEL +
                                                 below(play, 8));
    switch (ask.sort) {
    case COMMAND_CREATE:
        ask.verb = verb_of(ask.kind, VERB_OP_CREATE);
        ask.object = command_place(play, ask.kind);
        return ask;
    case COMMAND_UPDATE:
    case COMMAND_DELETE:
        ask.verb = verb_of(ask.kind, ask.sort == COMMAND_UPDATE
                                         ? VERB_OP_UPDATE
                                         : VERB_OP_DELETE);
        ask.object = command_any(play, ask.kind);
        return ask;
    case COMMAND_DECIDE:
    case COMMAND_WITHDRAW:
        ask.object = command_request(play);
        break;
    case COMMAND_RAISE:
        ask.object = command_any(play, KIND_QUOTA);
        break;
    case COMMAND_SUBMIT:
        ask.kind = KIND_WORKLOAD;
        ask.object = command_any(play, KIND_PROJECT);
        break;
    case COMMAND_CANCEL:
    case COMMAND_HOLD:
    case COMMAND_RELEASE:
    case COMMAND_REMOVE:
    case COMMAND_TAKE_OFF:
    case COMMAND_COUNT:
        ask.object = command_any(play, KIND_WORKLOAD);
        break;
    }
    ask.verb = verbs[ask.sort];
    return ask;
}

static inline int
command_decide(struct play *play, const struct command_ask *ask,
               const struct granted *granted, struct changes *changes,
               struct error *err)
{
    scoped_json body =
        ask->sort == COMMAND_CREATE || ask->sort == COMMAND_SUBMIT
            ? command_body(play, ask->kind, true)
        : ask->sort == COMMAND_UPDATE ? command_body(play, ask->kind, false)
                                      : NULL;
    struct ref ref;

    switch (ask->sort) {
    case COMMAND_CREATE:
        return resource_create(granted, changes, ask->kind, ask->object, body,
                               &ref, err);
    case COMMAND_UPDATE:
        return resource_update(granted, changes, ask->object, body, err);
    case COMMAND_DELETE: /* as the API's routes do */
        if (ask->object.kind == KIND_WORKLOAD)
            return submit_delete(granted, changes, ask->object, err);
        return resource_delete(granted, changes, ask->object, err);
    case COMMAND_SUBMIT:
        return submit_workload(granted, changes, ask->object, body, &ref, err);
    case COMMAND_CANCEL:
        return submit_cancel(granted, changes, ask->object, err);
    case COMMAND_HOLD:
        return submit_hold(granted, changes, ask->object, err);
    case COMMAND_RELEASE:
        return submit_release(granted, changes, ask->object, err);
    case COMMAND_REMOVE:
        return submit_delete(granted, changes, ask->object, err);
    case COMMAND_TAKE_OFF:
        return submit_take_off(granted, changes, ask->object, "a reason", err);
    case COMMAND_DECIDE:
        return request_decide(granted, changes, ask->object, chance(play, 70),
                              "a note", err);
    case COMMAND_WITHDRAW:
        return request_withdraw(granted, changes, ask->object, err);
    case COMMAND_RAISE:
        return quota_raise(granted, changes, 1000 * below(play, 20),
                           60000 * below(play, 90), "a reason", err);
    case COMMAND_COUNT:
        break;
    }
    return -1;
}

/* --- what was promised can be kept (5) --- */

static inline bool
command_is_plain(const struct quota *quota, struct ref pool)
{
    return quota->dimension == DIMENSION_CARDS && ref_is_none(quota->class) &&
           ref_is_none(quota->user) && quota->vendor[0] == '\0' &&
           quota->model[0] == '\0' && ref_equal(quota->pool, pool);
}

/* What a node may claim of a pool (none: of all) by plain quotas of cards. */
static inline int64_t
command_claim(const struct world *world, struct ref node, struct ref pool)
{
    world_each_child(world, KIND_QUOTA, node, ref)
        if (command_is_plain(world_quota(world, ref), pool))
            return world_quota(world, ref)->guaranteed;
    return -1;
}

/* The sum below a node is at most its own, all the way down. */
static inline int64_t
command_sum(const struct world *world, struct ref node, struct ref pool)
{
    int64_t own = command_claim(world, node, pool), sum = 0;

    world_each_child(world, KIND_UNIT, node, unit)
        sum += command_sum(world, unit, pool);
    world_each_child(world, KIND_PROJECT, node, project)
        sum += command_sum(world, project, pool);
    if (own >= 0)
        assert_true(sum <= own);
    return own >= 0 ? own : sum;
}

/* Milli-cards that a reservation keeps at this instant. */
static inline int64_t
command_keeps(const struct reservation *r, int64_t at_ms)
{
    int64_t period = r->every == RESERVATION_WEEK ? 7 * 86400000 : 86400000;
    int64_t since_ms = at_ms - r->from_ms;

    if (r->every != RESERVATION_ONCE && since_ms >= 0) {
        if (r->from_ms + since_ms / period * period >= r->until_ms)
            return 0;
        since_ms %= period;
    }
    return since_ms >= 0 && since_ms < r->to_ms - r->from_ms ? 1000 * r->cards
                                                             : 0;
}

static inline int64_t
command_reserved(const struct world *world, struct ref pool, int64_t at_ms)
{
    int64_t sum = 0;

    world_each(world, KIND_RESERVATION, ref) {
        const struct reservation *r = world_reservation(world, ref);

        if (ref_is_none(pool) || ref_equal(pool, r->pool))
            sum += command_keeps(r, at_ms);
    }
    return sum;
}

/* The most that is reserved at an instant, of those when `self` is (none: at
 * any): now, or where a window begins, of those that come again in the first
 * weeks. */
static inline int64_t
command_peak(const struct world *world, struct ref pool, struct ref self,
             int64_t now_ms)
{
    const struct reservation *own = world_reservation(world, self);
    int64_t peak = own == NULL || command_keeps(own, now_ms) > 0
                       ? command_reserved(world, pool, now_ms)
                       : 0;

    world_each(world, KIND_RESERVATION, ref) {
        const struct reservation *r = world_reservation(world, ref);
        int64_t period = r->every == RESERVATION_WEEK ? 7 : 1;
        int64_t most = r->every == RESERVATION_ONCE ? 1 : 15;

        for (int64_t i = 0; i < most; i++) {
            int64_t at_ms = r->from_ms + i * period * 86400000;
            int64_t sum = command_reserved(world, pool, at_ms);

            if (at_ms >= now_ms && sum > peak &&
                (own == NULL || command_keeps(own, at_ms) > 0))
                peak = sum;
        }
    }
    return peak;
}

/* self: the reservation that was made; none: a guarantee was raised. */
static inline void
command_check_pool(struct play *play, struct ref pool, struct ref self)
{
    const struct world *world = play->scene.world;
    int64_t healthy = 0, promised = 0;

    world_each(world, KIND_CARD, ref)
        if (world_card(world, ref)->health == HEALTH_HEALTHY &&
            !world_card(world, ref)->missing &&
            (ref_is_none(pool) ||
             ref_equal(pool, world_ancestor(world, KIND_POOL, ref))))
            healthy += 1000;
    world_each(world, KIND_TENANT, tenant) {
        int64_t own = command_claim(world, tenant, pool);

        promised += own > 0 ? own : 0;
    }
    promised += command_peak(world, pool, self, play->scene.now_ms);
    assert_true(promised <= healthy);
}

static inline void
command_check_sums(const struct play *play)
{
    const struct world *world = play->scene.world;
    struct ref none = { 0 };

    world_each(world, KIND_TENANT, tenant) {
        (void)command_sum(world, tenant, none);
        world_each(world, KIND_POOL, pool)
            (void)command_sum(world, tenant, pool);
    }
}

/* Does the change promise cards: a guarantee that is new or larger, a
 * reservation?  Health may have broken what was promised before. */
static inline bool
command_promises(const struct changes *changes, const struct change *change,
                 struct ref *pool_out)
{
    const struct quota *quota = change->image, *before;

    if (change->op != CHANGE_PUT)
        return false;
    if (change->ref.kind == KIND_RESERVATION && change->created) {
        *pool_out = ((const struct reservation *)change->image)->pool;
        return true;
    }
    if (change->ref.kind != KIND_QUOTA)
        return false;
    before = world_quota(changes->world, change->ref);
    *pool_out = quota->pool;
    return quota->object.parent.kind == KIND_TENANT &&
           command_is_plain(quota, quota->pool) &&
           quota->guaranteed > (before != NULL && !change->created
                                    ? before->guaranteed
                                    : 0);
}

/* Applies what was allowed. */
static inline void
command_apply(struct play *play, struct changes *changes)
{
    struct ref pools[8], made[8], none = { 0 };
    size_t count = 0;

    for (size_t i = 0; i < changes->count && count < 8; i++) {
        made[count] = changes->list[i].ref.kind == KIND_RESERVATION
                          ? changes->list[i].ref
                          : none;
        count += command_promises(changes, &changes->list[i], &pools[count]);
    }
    scene_apply(&play->scene, changes);
    command_check_sums(play);
    for (size_t i = 0; i < count; i++) {
        command_check_pool(play, pools[i], made[i]);
        command_check_pool(play, none, made[i]);
    }
    play->hits.promised += (int64_t)count;
}

/* --- the policy as it was, so that work goes on --- */

static inline void
command_mend_tenant(struct play *play, struct changes *changes,
                    struct ref ref)
{
    struct tenant *tenant = change_update(changes, ref);

    if (chance(play, 50))
        tenant->isolation = ISOLATION_NAMESPACE;
    if (tenant->state == STATE_SUSPENDED)
        tenant->state = STATE_ACTIVE;
    tenant->second_factor = FACTOR_OFF; /* its people have none */
    change_doc(changes, &tenant->pools, NULL);
    change_doc(changes, &tenant->classes, NULL);
    play_allow(play, changes, tenant);
}

static inline void
command_mend_priority(struct changes *changes, struct ref ref)
{
    struct priority *priority = change_update(changes, ref);

    change_doc(changes, &priority->roles, NULL);
    change_doc(changes, &priority->project_classes, NULL);
    change_doc(changes, &priority->kinds, NULL);
    priority->approval = false;
    priority->share_permille = priority->card_time = 0;
}

static inline void
command_mend(struct play *play)
{
    const struct world *world = play->scene.world;
    struct changes *changes = scene_begin(&play->scene);
    struct platform *platform =
        change_update(changes, play->scene.platform);

    play_platform(platform);
    platform->second_factor = FACTOR_OFF;
    platform->session_idle_ms = 0;
    world_each(world, KIND_TENANT, ref)
        command_mend_tenant(play, changes, ref);
    world_each(world, KIND_PRIORITY, ref)
        command_mend_priority(changes, ref);
    world_each(world, KIND_PROJECT, ref)
        if (world_project(world, ref)->state == STATE_SUSPENDED)
            ((struct project *)change_update(changes, ref))->state =
                STATE_ACTIVE;
    world_each(world, KIND_UNIT, ref)
        if (world_unit(world, ref)->state == STATE_SUSPENDED)
            ((struct unit *)change_update(changes, ref))->state =
                STATE_ACTIVE;
    world_each(world, KIND_CEILING, ref)
        change_delete(changes, ref);
    scene_apply(&play->scene, changes);
}

/* --- one command --- */

static inline bool
command_has_enough(const struct play *play, enum kind kind)
{
    size_t most = kind == KIND_WORKLOAD                      ? WORK_MAX
                  : kind == KIND_TENANT || kind == KIND_POOL ? 4
                  : kind == KIND_REQUEST                     ? 200
                                                             : 24;

    return world_count(play->scene.world, kind) >= most;
}

/* Work is mostly its tenant's people's, the rest the platform's; and at times
 * somebody asks who has no business there. */
static inline struct actor
command_actor(struct play *play, const struct command_ask *ask)
{
    bool work = ask->sort >= COMMAND_SUBMIT && ask->sort <= COMMAND_REMOVE;
    struct ref tenant = world_scope(play->scene.world, ask->object);
    int draw = below(play, 100), who = 0;
    struct actor actor;

    for (int i = 0; i < TENANTS; i++)
        if (draw < (work ? 90 : 30) && ref_equal(play->tenants[i], tenant))
            who = 1 + i;
    if (draw >= 95)
        who = below(play, play->people_count);
    actor = play->people[who];
    actor.proved_ms = play->scene.now_ms;
    return actor;
}

static inline void
command(struct play *play)
{
    struct command_ask ask = command_ask(play);
    struct actor actor = command_actor(play, &ask);
    struct changes *changes;
    struct granted granted;
    struct error err;

    if (ask.verb < 0 || ref_is_none(ask.object) ||
        ((ask.sort == COMMAND_CREATE || ask.sort == COMMAND_SUBMIT) &&
         command_has_enough(play, ask.kind)))
        return;
    changes = scene_begin(&play->scene);
    if (access_decide(play->scene.world, &actor, (enum verb)ask.verb,
                      ask.object, play->scene.now_ms, &granted, &err) != 0 ||
        command_decide(play, &ask, &granted, changes, &err) != 0) {
        assert_true(strlen(err.text) > 10);
        if (getenv("SIMULATE_TELL") != NULL)
            print_message("%s refused: %s: %s\n", command_names[ask.sort],
                          schema_get(ask.kind)->name, err.text);
        play->hits.refused[ask.sort]++;
        arena_free(play->scene.arena);
        play->scene.arena = NULL;
        return;
    }
    play->hits.allowed[ask.sort]++;
    if (getenv("SIMULATE_TELL") != NULL)
        print_message("%s allowed: %s\n", command_names[ask.sort],
                      schema_get(ask.kind)->name);
    command_apply(play, changes);
}

#endif
