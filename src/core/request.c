/* SPDX-License-Identifier: Apache-2.0 */
#include "core/request.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/object.h"
#include "core/quota.h"
#include "core/reason.h"
#include "core/resource.h"
#include "core/scope.h"

/* One grant under way. */
struct granting {
    const struct granted *granted;
    struct changes *changes;
    const struct world *world;
    const struct wish *request;
    struct ref node;
};

/* The decider's own right to make the change. */
static int
may(const struct granting *granting, enum verb verb, struct ref object,
    struct granted *out, struct error *err)
{
    if (access_decide(granting->world, granted_actor(granting->granted), verb,
                      object, granted_now_ms(granting->granted), out,
                      err) != 0)
        return error_prefix(err, "granting it takes %s", verb_name(verb));
    return 0;
}

static void
put_id(json_t *body, const char *field, const struct world *world,
       struct ref ref)
{
    if (!ref_is_none(ref))
        (void)json_object_set_new(body, field, object_id_json(world, ref));
}

/* --- quota --- */

/* A quota image of what the request names. */
static struct quota
wish_of(const struct wish *request)
{
    struct quota wish = { .dimension = request->dimension,
                          .pool = request->pool,
                          .class = request->class,
                          .user = request->user };

    memcpy(wish.vendor, request->vendor, sizeof(wish.vendor));
    memcpy(wish.model, request->model, sizeof(wish.model));
    return wish;
}

static struct ref
find_quota(const struct world *world, const struct wish *request)
{
    const struct quota wish = wish_of(request);

    world_each_child(world, KIND_QUOTA, request->object.parent, ref)
        if (scope_equal(world_quota(world, ref), &wish))
            return ref;
    return (struct ref){ 0 };
}

static json_t *
amounts_json(const struct wish *request)
{
    json_t *body = json_object();

    if (request->guaranteed != AMOUNT_NONE)
        (void)json_object_set_new(body, "guaranteed",
                                  json_integer(request->guaranteed));
    if (request->limit != AMOUNT_NONE)
        (void)json_object_set_new(body, "limit",
                                  json_integer(request->limit));
    return body;
}

static int
make_quota(const struct granting *granting, json_t *body, struct error *err)
{
    const struct wish *request = granting->request;
    const struct field *field = schema_field(KIND_QUOTA, "dimension");
    struct granted granted;
    struct ref made;

    if (may(granting, VERB_QUOTA_CREATE, granting->node, &granted, err) != 0)
        return -1;
    (void)json_object_set_new(body, "dimension",
                              json_string(field->names[request->dimension]));
    put_id(body, "pool", granting->world, request->pool);
    put_id(body, "class", granting->world, request->class);
    put_id(body, "user", granting->world, request->user);
    if (request->vendor[0] != '\0')
        (void)json_object_set_new(body, "vendor",
                                  json_string(request->vendor));
    if (request->model[0] != '\0')
        (void)json_object_set_new(body, "model", json_string(request->model));
    return resource_create(&granted, granting->changes, KIND_QUOTA,
                           granting->node, body, &made, err);
}

static int
grant_quota(const struct granting *granting, struct error *err)
{
    struct ref quota = find_quota(granting->world, granting->request);
    scoped_json body = amounts_json(granting->request);
    struct granted granted;

    if (ref_is_none(quota))
        return make_quota(granting, body, err);
    if (may(granting, VERB_QUOTA_UPDATE, quota, &granted, err) != 0)
        return -1;
    return resource_update(&granted, granting->changes, quota, body, err);
}

/* --- reservation --- */

/* Named after the request: each is granted once. */
static json_t *
reservation_json(const struct world *world, const struct wish *request,
                 int64_t now_ms)
{
    const struct field *every = schema_field(KIND_RESERVATION, "every");
    int64_t from_ms = request->from_ms > now_ms ? request->from_ms : now_ms;
    char name[NAME_MAX_SIZE];
    json_t *body = json_object();

    (void)snprintf(name, sizeof(name), "request-%" PRIu64,
                   request->object.seq);
    (void)json_object_set_new(body, "name", json_string(name));
    put_id(body, "pool", world, request->pool);
    put_id(body, "class", world, request->class);
    (void)json_object_set_new(body, "cards",
                              json_integer(request->limit / 1000));
    (void)json_object_set_new(body, "from_ms", json_time(from_ms));
    (void)json_object_set_new(body, "to_ms", json_time(request->to_ms));
    (void)json_object_set_new(body, "every",
                              json_string(every->names[request->every]));
    if (request->until_ms != 0)
        (void)json_object_set_new(body, "until_ms",
                                  json_time(request->until_ms));
    (void)json_object_set_new(body, "lend", json_boolean(request->lend));
    return body;
}

static int
grant_reservation(const struct granting *granting, struct error *err)
{
    scoped_json body =
        reservation_json(granting->world, granting->request,
                         granted_now_ms(granting->granted));
    struct granted granted;
    struct ref made;

    if (may(granting, VERB_RESERVATION_CREATE, granting->node, &granted,
            err) != 0)
        return -1;
    return resource_create(&granted, granting->changes, KIND_RESERVATION,
                           granting->node, body, &made, err);
}

/* --- lists of a tenant: classes and priorities --- */

/* The present list, or what its absence stands for, and one more. */
static json_t *
longer_list(const struct world *world, const struct blob *list,
            enum kind kind, struct ref more)
{
    json_t *ids = NULL;
    struct error ignored;

    if (list != NULL)
        ids = json_read(list->bytes, list->size, &ignored);
    if (!json_is_array(ids)) {
        json_decref(ids);
        ids = json_array();
        world_each(world, kind, ref)
            if (kind != KIND_PRIORITY ||
                !world_priority(world, ref)->preempt_across)
                json_array_append_new(ids, object_id_json(world, ref));
    }
    json_array_append_new(ids, object_id_json(world, more));
    return ids;
}

static int
grant_listed(const struct granting *granting, enum kind kind,
             const char *field, struct ref more, struct error *err)
{
    const struct world *world = granting->world;
    struct ref at = world_scope(world, granting->node);
    const struct tenant *tenant = world_tenant(world, at);
    const struct blob *list =
        kind == KIND_CLASS ? tenant->classes : tenant->priorities;
    scoped_json body = json_object();
    struct granted granted;

    if (list == NULL && kind == KIND_CLASS)
        return error_set(err, ERROR_CONFLICT,
                         "the tenant may use every class already");
    if (may(granting, VERB_TENANT_UPDATE, at, &granted, err) != 0)
        return -1;
    (void)json_object_set_new(body, field,
                              longer_list(world, list, kind, more));
    return resource_update(&granted, granting->changes, at, body, err);
}

/* --- priority --- */

static bool
awaits_approval(const struct workload *workload)
{
    return workload != NULL && workload->state == WORKLOAD_HELD &&
           workload->reason == REASON_APPROVAL;
}

static int
grant_priority(const struct granting *granting, struct error *err)
{
    const struct wish *request = granting->request;
    const struct workload *present =
        world_workload(granting->world, request->workload);
    struct workload *workload;
    struct verdict verdict;

    if (ref_is_none(request->workload))
        return grant_listed(granting, KIND_PRIORITY, "priorities",
                            request->priority, err);
    if (!awaits_approval(present))
        return error_set(err, ERROR_CONFLICT,
                         "the workload does not wait for an approval");
    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "its priority was approved; not yet evaluated");
    workload = change_update(granting->changes, request->workload);
    reason_put(workload, &verdict, granted_now_ms(granting->granted));
    return 0;
}

/* Work whose priority is not approved has no use for its wait. */
static void
deny_priority(struct changes *changes, const struct wish *request,
              const char *note)
{
    struct workload *workload;

    if (!awaits_approval(change_get(changes, request->workload)))
        return;
    workload = change_update(changes, request->workload);
    reason_clear(workload);
    workload->state = WORKLOAD_CANCELLED;
    workload->state_ms = changes->context.now_ms;
    workload->ended_ms = changes->context.now_ms;
    (void)snprintf(workload->reason_text, sizeof(workload->reason_text),
                   "its priority was not approved: %.200s", note);
}

void
request_approval(struct changes *changes, const struct workload *workload)
{
    struct wish *request = change_create(changes, KIND_REQUEST,
                                            workload->object.parent, "");

    request->sort = REQUEST_PRIORITY;
    request->priority = workload->priority;
    request->workload = workload->object.self;
    request->requester = workload->user;
    request->guaranteed = AMOUNT_NONE;
    request->limit = AMOUNT_NONE;
    (void)snprintf(request->reason, sizeof(request->reason),
                   "workload %s was submitted with it",
                   workload->object.name);
}

static void
settle(struct changes *changes, struct ref ref, enum request_state state,
       struct ref decider, const char *note)
{
    struct wish *request = change_update(changes, ref);

    request->state = (int)state;
    request->decider = decider;
    request->decided_ms = changes->context.now_ms;
    /* Its slot may be somebody else's one day. */
    request->workload = (struct ref){ 0 };
    (void)snprintf(request->note, sizeof(request->note), "%s", note);
}

void
request_drop(struct changes *changes, struct ref workload)
{
    struct ref none = { 0 };

    world_each_child(changes->world, KIND_REQUEST,
                     world_parent(changes->world, workload), ref) {
        const struct wish *request = change_get(changes, ref);

        if (request != NULL && request->state == REQUEST_OPEN &&
            ref_equal(request->workload, workload))
            settle(changes, ref, REQUEST_WITHDRAWN, none,
                   "the workload does not wait any more");
    }
}

/* --- the decision --- */

static int
make_change(const struct granting *granting, struct error *err)
{
    switch ((enum request_sort)granting->request->sort) {
    case REQUEST_QUOTA:
        return grant_quota(granting, err);
    case REQUEST_CLASS:
        return grant_listed(granting, KIND_CLASS, "classes",
                            granting->request->class, err);
    case REQUEST_PRIORITY:
        return grant_priority(granting, err);
    case REQUEST_RESERVATION:
        return grant_reservation(granting, err);
    }
    return 0;
}

static int
check_open(const struct wish *request, struct error *err)
{
    static const char *const done[] = { "", "granted", "denied",
                                        "withdrawn" };

    if (request == NULL)
        return access_not_found(err);
    if (request->state == REQUEST_OPEN)
        return 0;
    return error_set(err, ERROR_CONFLICT, "the request is %s already",
                     done[request->state]);
}

int
request_decide(const struct granted *granted, struct changes *changes,
               struct ref ref, bool grant, const char *note,
               struct error *err)
{
    const struct world *world = granted_world(granted);
    const struct wish *request = world_wish(world, ref);
    struct ref decider = granted_actor(granted)->subject;

    if (check_open(request, err) != 0 ||
        schema_check_text("/note", note, sizeof(request->note), err) != 0)
        return -1;
    if (!grant && note[0] == '\0')
        return error_field(err, "/note",
                           "/note is empty: who asked has to know why not");
    if (ref_equal(decider, request->requester))
        return error_set(err, ERROR_DENIED,
                         "nobody decides on a request of their own");
    if (grant) {
        const struct granting granting = { granted, changes, world, request,
                                           request->object.parent };

        if (make_change(&granting, err) != 0)
            return -1;
    } else {
        deny_priority(changes, request, note);
    }
    settle(changes, ref, grant ? REQUEST_GRANTED : REQUEST_DENIED, decider,
           note);
    return 0;
}

int
request_withdraw(const struct granted *granted, struct changes *changes,
                 struct ref ref, struct error *err)
{
    const struct wish *request =
        world_wish(granted_world(granted), ref);
    struct ref none = { 0 };

    if (check_open(request, err) != 0)
        return -1;
    deny_priority(changes, request, "the request was withdrawn");
    settle(changes, ref, REQUEST_WITHDRAWN, none, "");
    return 0;
}

json_t *
request_question(const struct world *world, struct ref ref, int64_t now_ms)
{
    const struct wish *request = world_wish(world, ref);
    struct ref quota;
    json_t *change;

    if (request == NULL || request->state != REQUEST_OPEN)
        return NULL;
    if (request->sort == REQUEST_RESERVATION) {
        change = json_pack("{s:o, s:o}", "reserve",
                           object_id_json(world, request->object.parent),
                           "reservation",
                           reservation_json(world, request, now_ms));
        return json_pack("{s:[o]}", "change", change);
    }
    quota = find_quota(world, request);
    if (request->sort != REQUEST_QUOTA || ref_is_none(quota))
        return NULL;
    change = amounts_json(request);
    (void)json_object_set_new(change, "set_quota",
                              object_id_json(world, quota));
    return json_pack("{s:[o]}", "change", change);
}
