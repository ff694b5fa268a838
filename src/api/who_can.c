/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "core/object.h"
#include "core/resource.h"

/*
 * Who can do this, and what can somebody do here?  The decision itself is
 * asked, for a person as if they were there with a fresh proof of identity.
 * Who may look at the rights on an object may ask; told is what they see.
 */

#define ITEMS_MAX 500

static int
find_verb(const struct exchange *exchange, enum verb *out, struct error *err)
{
    const char *name = url_get(&exchange->url, "verb");
    int verb = name == NULL ? -1 : verb_parse(name);
    if (verb < 0)
        return error_field(err, "verb", "\"%.60s\" is no verb; verbs are a "
                                       "kind and an action: workload.create",
                           name == NULL ? "" : name);
    *out = (enum verb)verb;
    return 0;
}

/* The object that is asked about, which the asker has to see; the asker's
 * tenant or the platform when none is named. */
static int
find_object(const struct granted *granted, const struct exchange *exchange,
            struct ref *out, struct error *err)
{
    const struct world *world = granted_world(granted);
    const char *text = url_get(&exchange->url, "object");
    struct ref ref =
        text == NULL ? world_scope(world, granted_actor(granted)->subject)
                     : object_find_text(world, text);
    if (ref_is_none(ref) || (text != NULL && !access_visible(granted, ref)))
        return access_not_found(err);
    *out = ref;
    return 0;
}

/* Rights on an object are for those who may look at grants there. */
static int
check_looks(const struct granted *granted, struct ref object,
            struct error *err)
{
    const struct world *world = granted_world(granted);
    struct granted inner;
    if (access_decide(world, granted_actor(granted), VERB_GRANT_GET, object,
                      granted_now_ms(granted), &inner, err) == 0)
        return 0;
    error_set(err, ERROR_DENIED,
              "who may do what here is told to those with grant.get");
    return error_help(err, "`bulkhead can-i VERB` tells about yourself");
}

static void
put_visible(json_t *item, const char *member, const struct granted *granted,
            struct ref ref)
{
    bool shown = !ref_is_none(ref) && access_visible(granted, ref);
    json_object_set_new(item, member,
                        shown ? object_id_json(granted_world(granted), ref)
                              : json_null());
}

/* What would be missing at most: a second person. */
static bool
is_in_reach(enum access_outcome outcome)
{
    return outcome == ACCESS_ALLOWED || outcome == ACCESS_APPROVAL;
}

struct list {
    const struct granted *granted;
    enum verb verb;
    struct ref object;
    json_t *items;
    bool more;
};

static void
add_subject(struct list *list, struct ref subject)
{
    const struct world *world = granted_world(list->granted);
    int64_t now_ms = granted_now_ms(list->granted);
    struct actor actor = access_suppose(subject, now_ms);
    struct access_verdict verdict;
    access_judge(world, &actor, list->verb, list->object, now_ms, NULL, NULL,
                 &verdict);
    if (!is_in_reach(verdict.outcome) ||
        !access_visible(list->granted, subject))
        return;
    list->more = json_array_size(list->items) == ITEMS_MAX;
    if (list->more)
        return;
    json_t *item = json_object();
    json_object_set_new(item, "subject", object_id_json(world, subject));
    json_object_set_new(item, "kind",
                        json_string(schema_get((enum kind)subject.kind)
                                        ->name));
    json_object_set_new(item, "name",
                        json_string(world_object(world, subject)->name));
    json_object_set_new(item, "outcome",
                        json_string(access_outcome_text(verdict.outcome)));
    put_visible(item, "grant", list->granted, verdict.grant);
    json_array_append_new(list->items, item);
}

int
who_can_read(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    static const enum kind kinds[] = {KIND_USER, KIND_SERVICEACCOUNT};
    const struct world *world = granted_world(granted);
    struct list list = {.granted = granted};
    if (find_verb(exchange, &list.verb, err) != 0 ||
        find_object(granted, exchange, &list.object, err) != 0 ||
        check_looks(granted, list.object, err) != 0)
        return -1;
    list.items = json_array();
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        world_each(world, kinds[i], ref)
            if (!list.more)
                add_subject(&list, ref);
    answer_json(&exchange->answer, 200,
                json_pack("{s:s, s:o, s:b}", "verb", verb_name(list.verb),
                          "items", list.items, "more", list.more));
    return 0;
}

/* Does the verb mean something on an object of the kind? */
static bool
fits(enum verb verb, enum kind kind)
{
    enum verb_op op = verb_op(verb);
    if (verb_is(verb, VERB_AGENT) || op == VERB_OP_LIST)
        return false;
    return op == VERB_OP_CREATE ? resource_lies_below(verb_kind(verb), kind)
                                : verb_kind(verb) == kind;
}

/* The asker as it is, or somebody else as if they were there. */
static int
find_subject(const struct granted *granted, const struct exchange *exchange,
             struct ref object, struct actor *out, struct error *err)
{
    const struct world *world = granted_world(granted);
    const char *text = url_get(&exchange->url, "subject");
    *out = *granted_actor(granted);
    if (text == NULL)
        return 0;
    struct ref subject = object_find_text(world, text);
    if ((subject.kind != KIND_USER && subject.kind != KIND_SERVICEACCOUNT) ||
        ref_is_none(subject) || !access_visible(granted, subject))
        return access_not_found(err);
    if (ref_equal(subject, out->subject))
        return 0;
    *out = access_suppose(subject, granted_now_ms(granted));
    return check_looks(granted, object, err);
}

int
who_can_what(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    const struct world *world = granted_world(granted);
    struct access_verdict verdict;
    struct actor actor;
    struct ref object = {0};
    if (find_object(granted, exchange, &object, err) != 0 ||
        find_subject(granted, exchange, object, &actor, err) != 0)
        return -1;
    json_t *items = json_array();
    for (int i = 0; i < VERB_COUNT; i++) {
        if (!fits((enum verb)i, (enum kind)object.kind))
            continue;
        access_judge(world, &actor, (enum verb)i, object,
                     granted_now_ms(granted), NULL, NULL, &verdict);
        if (!is_in_reach(verdict.outcome) &&
            verdict.outcome != ACCESS_STEP_UP)
            continue;
        json_t *item = json_pack("{s:s, s:s}", "verb",
                                 verb_name((enum verb)i), "outcome",
                                 access_outcome_text(verdict.outcome));
        put_visible(item, "grant", granted, verdict.grant);
        json_array_append_new(items, item);
    }
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:o, s:o}", "subject",
                          object_id_json(world, actor.subject), "object",
                          object_id_json(world, object), "items", items));
    return 0;
}
