/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_EDITS_H
#define TESTS_EDITS_H

#include "core/resource.h"
#include "core/usage.h"
#include "tests/unit/core/people.h"

/*
 * Words for tests of what clients may make, change and delete: each decides,
 * and applies what was allowed.  err holds the last refusal.
 */

static struct people p;
static struct error err;
static const struct ref none = { 0 };

static inline int
setup(void **state)
{
    (void)state;
    people_setup(&p);
    memset(&err, 0, sizeof(err));
    return 0;
}

static inline int
teardown(void **state)
{
    (void)state;
    people_release(&p);
    return 0;
}

/* Replaces ids: a name in angle brackets in a body is the object's id. */
static inline json_t *
body_of(const char *text)
{
    json_t *body;

    body = json_loads(text, 0, NULL);
    assert_non_null(body);
    return body;
}

static inline const char *
id(struct ref ref)
{
    char *text = arena_alloc(p.arena, ID_TEXT_MAX);

    id_format(schema_get((enum kind)ref.kind)->prefix,
              world_object(p.world, ref)->id, text);
    return text;
}

#define BODY(...) arena_printf(p.arena, __VA_ARGS__)

/* Decides and creates; none when refused, with err. */
static inline struct ref
create(const struct actor *actor, enum kind kind, struct ref parent,
       const char *text)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of(kind, VERB_OP_CREATE);
    struct granted granted;
    struct ref ref = none;
    json_t *body = body_of(text);
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, parent, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_create(&granted, changes, kind, parent, body, &ref,
                                 &err);
    if (result == 0)
        world_apply(p.world, changes);
    json_decref(body);
    return result == 0 ? ref : none;
}

static inline int
change(const struct actor *actor, struct ref ref, const char *text)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of((enum kind)ref.kind, VERB_OP_UPDATE);
    struct granted granted;
    json_t *body = body_of(text);
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, ref, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_update(&granted, changes, ref, body, &err);
    if (result == 0)
        world_apply(p.world, changes);
    json_decref(body);
    return result;
}

static inline int
delete(const struct actor *actor, struct ref ref)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of((enum kind)ref.kind, VERB_OP_DELETE);
    struct granted granted;
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, ref, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_delete(&granted, changes, ref, &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static inline struct ref
give(const struct actor *actor, struct ref subject, struct ref node,
     enum role_builtin role, const char *more)
{
    return create(actor, KIND_GRANT, node,
                  BODY("{\"subject\":\"%s\",\"role\":\"%s\"%s}", id(subject),
                       role_name(role), more));
}

#define assert_made(ref) assert_false(ref_is_none(ref))
#define assert_refused(ref, expected)                                         \
    do {                                                                      \
        assert_true(ref_is_none(ref));                                        \
        assert_int_equal(err.code, expected);                                 \
    } while (0)

static inline void
add_cards(unsigned count)
{
    struct ref node = people_put(&p, KIND_NODE, p.shared, "n1");
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        struct changes *changes = people_begin(&p);
        struct card *card;

        (void)snprintf(name, sizeof(name), "card%u", i);
        card = change_create(changes, KIND_CARD, node, name);
        card->health = HEALTH_HEALTHY;
        usage_start(changes, card);
        world_apply(p.world, changes);
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
