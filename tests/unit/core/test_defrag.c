/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/defrag.h"
#include "core/role.h"

/* Two nodes of four cards; the largest class needs four. */

#define HOUR INT64_C(3600000)

struct stage {
    struct scene scene;
    struct ref pool, n1, n2, one, two, four, tenant, project;
    struct actor root;
};

static void
add_root(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);
    struct ref user;
    struct session *session;
    struct grant *grant;

    role_install(changes, s->scene.platform);
    scene_apply(&s->scene, changes);
    changes = scene_begin(&s->scene);
    user = ((struct object *)change_create(changes, KIND_USER,
                                           s->scene.platform, "root"))
               ->self;
    grant = change_create(changes, KIND_GRANT, s->scene.platform, "");
    grant->subject = user;
    grant->role = role_find(s->scene.world, ROLE_PLATFORM_ADMIN);
    grant->use = verbs_for(KIND_PLATFORM);
    session = change_create(changes, KIND_SESSION, user, "");
    session->digest[0] = 1;
    session->expires_ms = s->scene.now_ms + 1000 * HOUR;
    session->proved_ms = s->scene.now_ms;
    s->root = (struct actor){ .kind = ACTOR_USER,
                              .subject = user,
                              .credential = session->object.self,
                              .proved_ms = s->scene.now_ms };
    scene_apply(&s->scene, changes);
}

static void
setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "p");
    s->n1 = scene_node(&s->scene, s->pool, "n1", 4, "h100");
    s->n2 = scene_node(&s->scene, s->pool, "n2", 4, "h100");
    s->one = scene_class(&s->scene, "x1", "h100", 1);
    s->two = scene_class(&s->scene, "x2", "h100", 2);
    s->four = scene_class(&s->scene, "x4", "h100", 4);
    s->tenant = scene_tenant(&s->scene, "a");
    s->project = scene_project(&s->scene, s->tenant, "pa");
    (void)scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, CARDS(8),
                      CARDS(8));
    add_root(s);
}

/* Running work on that node: the others are full while it starts. */
static struct ref
on(struct stage *s, struct ref there, struct ref class, bool fixed)
{
    struct ref ref = { 0 };
    struct ref other = ref_equal(there, s->n1) ? s->n2 : s->n1;

    for (int i = 0; i < 2; i++) {
        scene_edit(&s->scene, changes, node, other);

        node->state = i == 0 ? NODE_CORDONED : NODE_SCHEDULABLE;
        scene_apply(&s->scene, changes);
        if (i == 0)
            ref = scene_running(&s->scene,
                                (struct job){ .project = s->project,
                                              .class = class,
                                              .fixed = fixed });
    }
    return ref;
}

static json_t *
plan(struct stage *s)
{
    struct granted granted;
    struct defrag *defrag;
    struct error err;
    json_t *json;

    s->root.proved_ms = s->scene.now_ms;
    assert_int_equal(access_decide(s->scene.world, &s->root,
                                   VERB_WORKLOAD_WHATIF, s->pool,
                                   s->scene.now_ms, &granted, &err),
                     0);
    defrag = defrag_new(&granted);
    json = defrag_answer(defrag);
    defrag_free(defrag);
    return json;
}

static int
apply(struct stage *s, const json_t *moves, struct error *err)
{
    struct changes *changes = scene_begin(&s->scene);
    scoped_json ids = json_array();
    struct granted granted;
    json_t *move;
    size_t i;
    int rc;

    json_array_foreach(moves, i, move)
        (void)json_array_append(ids, json_object_get(move, "workload"));
    assert_int_equal(access_decide(s->scene.world, &s->root,
                                   VERB_INSTANCE_RELEASE, s->pool,
                                   s->scene.now_ms, &granted, err),
                     0);
    rc = defrag_apply(&granted, changes, ids, err);
    if (rc == 0) {
        scene_apply(&s->scene, changes);
    } else {
        arena_free(s->scene.arena);
        s->scene.arena = NULL;
    }
    return rc;
}

static int64_t
number(const json_t *json, const char *object, const char *member)
{
    return json_integer_value(
        json_object_get(json_object_get(json, object), member));
}

/* n1 has work of one card, n2 of two: four of five free cards are one short on
 * each.  Moving the single card loses an hour of it, the pair two. */
static void
the_move_that_loses_least_is_found_and_proven(void **state)
{
    struct stage s;
    struct ref small;
    scoped_json json = NULL;
    const json_t *moves;
    struct error err;

    (void)state;
    setup(&s);
    small = on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    json = plan(&s);
    moves = json_object_get(json, "moves");
    assert_int_equal(json_array_size(moves), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json, "lost_milli_card_ms")),
        1000 * HOUR);
    assert_int_equal(number(json, "before", "free"), 5);
    assert_int_equal(number(json, "before", "largest"), 3);
    assert_int_equal(number(json, "after", "largest"), 4);
    /* Nothing has moved by itself. */
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_RUNNING);
    assert_int_equal(apply(&s, moves, &err), 0);
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_PREEMPTING);
    assert_non_null(strstr(scene_workload(&s.scene, small)->proof->bytes,
                           "\"rule\":\"defragment\""));
    assert_int_equal(apply(&s, moves, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    scene_exit(&s.scene, small, 75);
    scene_release(&s.scene, small);
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    scene_start(&s.scene, small);
    assert_true(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, small))->node,
        s.n2));
    scene_teardown(&s.scene);
}

/* The card may not be preempted: the pair is moved, although it costs more. */
static void
work_that_may_not_be_preempted_stays(void **state)
{
    struct stage s;
    struct ref fixed, pair;
    scoped_json json = NULL;
    scoped_json ids = NULL;
    char id[ID_TEXT_MAX];
    struct error err;

    (void)state;
    setup(&s);
    fixed = on(&s, s.n1, s.one, true);
    pair = on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    json = plan(&s);
    assert_int_equal(json_array_size(json_object_get(json, "moves")), 1);
    object_id_text(s.scene.world, pair, id);
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(json, "moves"), 0), "workload")),
        id);
    object_id_text(s.scene.world, fixed, id);
    ids = json_pack("[{s:s}]", "workload", id);
    assert_int_equal(apply(&s, ids, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "may not be preempted"));
    scene_teardown(&s.scene);
}

/* Both nodes have work that stays: there is no plan, and it is said. */
static void
no_plan_is_better_than_one_that_does_not_help(void **state)
{
    struct stage s;
    scoped_json json = NULL;
    scoped_json whole = NULL;

    (void)state;
    setup(&s);
    whole = plan(&s);
    assert_int_equal(json_array_size(json_object_get(whole, "moves")), 0);
    assert_non_null(strstr(json_string_value(json_object_get(whole, "text")),
                           "nothing is to be moved"));
    (void)on(&s, s.n1, s.one, true);
    (void)on(&s, s.n2, s.one, true);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    json = plan(&s);
    assert_int_equal(json_array_size(json_object_get(json, "moves")), 0);
    assert_non_null(strstr(json_string_value(json_object_get(json, "text")),
                           "no preemptible work could be moved"));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_move_that_loses_least_is_found_and_proven),
        cmocka_unit_test(work_that_may_not_be_preempted_stays),
        cmocka_unit_test(no_plan_is_better_than_one_that_does_not_help),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
