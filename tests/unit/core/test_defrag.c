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

/* --- by policy --- */

static void
set_policy(struct stage *s, int defrag, int64_t moves, int64_t gain,
           int64_t from, int64_t to)
{
    scene_edit(&s->scene, changes, pool, s->pool);

    pool->defrag = defrag;
    pool->defrag_moves = moves;
    pool->defrag_gain = gain;
    pool->defrag_from = from;
    pool->defrag_to = to;
    scene_apply(&s->scene, changes);
}

static bool
by_policy(struct stage *s)
{
    struct defrag *defrag =
        defrag_copy(s->scene.world, s->pool, s->scene.now_ms);
    scoped_json json = defrag_answer(defrag);
    struct changes *changes = scene_begin(&s->scene);
    bool done = defrag_by_policy(changes, s->pool, json);

    scene_apply(&s->scene, changes);
    defrag_free(defrag);
    return done;
}

static void
a_policy_moves_within_its_limits_alone(void **state)
{
    struct stage s;
    struct ref small;
    int64_t minute;

    (void)state;
    setup(&s);
    small = on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    minute = s.scene.now_ms / 60000 % 1440;
    set_policy(&s, DEFRAG_NEVER, 9, 1, 0, 0);
    assert_false(by_policy(&s));
    set_policy(&s, DEFRAG_ADVISE, 9, 1, 0, 0);
    assert_false(by_policy(&s));
    set_policy(&s, DEFRAG_AUTO, 9, 2, 0, 0); /* from 3 to 4 cards: 1 */
    assert_false(by_policy(&s));
    set_policy(&s, DEFRAG_AUTO, 9, 1, (minute + 1) % 1440, minute);
    assert_false(by_policy(&s));
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_RUNNING);
    set_policy(&s, DEFRAG_AUTO, 1, 1, minute, (minute + 1) % 1440);
    assert_true(by_policy(&s));
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_PREEMPTING);
    assert_non_null(strstr(scene_workload(&s.scene, small)->proof->bytes,
                           "\"rule\":\"defragment\""));
    scene_teardown(&s.scene);
}

/* The one card of n1 loses the hour since its start. */
static void
a_policy_bounds_what_a_plan_loses(void **state)
{
    struct stage s;

    (void)state;
    setup(&s);
    (void)on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    set_policy(&s, DEFRAG_AUTO, 9, 1, 0, 0);
    for (int less = 1; less >= 0; less--) {
        scene_edit(&s.scene, changes, pool, s.pool);

        pool->defrag_lost = 1000 * HOUR - less;
        scene_apply(&s.scene, changes);
        assert_int_equal(by_policy(&s), less == 0);
    }
    scene_teardown(&s.scene);
}

/* Between the plan and its turn a card was taken. */
static void
an_old_plan_is_not_carried_out(void **state)
{
    struct stage s;
    scoped_json json = NULL;
    struct changes *changes;

    (void)state;
    setup(&s);
    (void)on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    set_policy(&s, DEFRAG_AUTO, 9, 1, 0, 0);
    json = plan(&s);
    assert_int_equal(json_array_size(json_object_get(json, "moves")), 1);
    (void)on(&s, s.n2, s.one, false);
    changes = scene_begin(&s.scene);
    assert_false(defrag_by_policy(changes, s.pool, json));
    scene_apply(&s.scene, changes);
    scene_teardown(&s.scene);
}

/* What it leaves counts: nothing else goes until it runs again. */
static void
one_plan_after_the_other_moves(void **state)
{
    struct stage s;
    struct ref small;

    (void)state;
    setup(&s);
    small = on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    set_policy(&s, DEFRAG_AUTO, 9, 1, 0, 0);
    assert_false(defrag_is_moving(s.scene.world, s.pool));
    assert_true(by_policy(&s));
    assert_true(defrag_is_moving(s.scene.world, s.pool));
    assert_false(by_policy(&s));
    scene_exit(&s.scene, small, 75);
    scene_release(&s.scene, small);
    assert_true(defrag_is_moving(s.scene.world, s.pool));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, small), WORKLOAD_ASSIGNED);
    assert_true(defrag_is_moving(s.scene.world, s.pool));
    scene_start(&s.scene, small);
    assert_false(defrag_is_moving(s.scene.world, s.pool));
    assert_true(ref_equal(
        world_instance(s.scene.world, scene_instance(&s.scene, small))->node,
        s.n2));
    scene_teardown(&s.scene);
}

/* One move an hour: the second waits for the next hour, over a restart too,
 * since the count is the pool's own. */
static void
moves_of_an_hour_are_counted(void **state)
{
    struct stage s;
    const struct pool *pool;
    uint64_t version, revision;

    (void)state;
    setup(&s);
    (void)on(&s, s.n1, s.one, false);
    (void)on(&s, s.n2, s.two, false);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    set_policy(&s, DEFRAG_AUTO, 1, 1, 0, 0);
    pool = world_pool(s.scene.world, s.pool);
    version = pool->object.version;
    revision = pool->object.revision;
    assert_int_equal(defrag_left(pool, s.scene.now_ms), 1);
    assert_true(by_policy(&s));
    pool = world_pool(s.scene.world, s.pool);
    assert_int_equal(pool->defrag_moved, 1);
    /* All tenants see the pool, and none of them whose work moved. */
    assert_int_equal(pool->object.version, version);
    assert_int_equal(pool->object.revision, revision);
    assert_int_equal(defrag_left(pool, s.scene.now_ms + HOUR - 1), 0);
    assert_int_equal(defrag_left(pool, s.scene.now_ms + HOUR), 1);
    scene_teardown(&s.scene);
}

/* Three nodes; a gang has one card on n1 and one on n2: both nodes are one
 * card short of four, and it fits beside others on n3. */
static void
a_gang_over_two_nodes_is_moved_as_a_whole(void **state)
{
    struct stage s;
    struct ref n3, gang;
    scoped_json json = NULL;
    char id[ID_TEXT_MAX];

    (void)state;
    setup(&s);
    gang = scene_running(
        &s.scene, (struct job){ .project = s.project, .class = s.one,
                                .instances = 2,
                                .spec = "{\"command\":[\"x\"],\"spread\":"
                                        "{\"level\":\"node\",\"most\":1}}" });
    n3 = scene_node(&s.scene, s.pool, "n3", 2, "h100");
    scene_edit(&s.scene, changes, workload, gang);
    change_doc(changes, &workload->spec, "{\"command\":[\"x\"]}");
    scene_apply(&s.scene, changes);
    scene_wait(&s.scene, HOUR);
    scene_run(&s.scene);
    json = plan(&s);
    object_id_text(s.scene.world, gang, id);
    assert_int_equal(json_array_size(json_object_get(json, "moves")), 1);
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(json, "moves"), 0), "workload")),
        id);
    /* All of its cards lose an hour. */
    assert_int_equal(
        json_integer_value(json_object_get(json, "lost_milli_card_ms")),
        2 * 1000 * HOUR);
    assert_int_equal(number(json, "after", "largest"), 4);
    assert_false(ref_is_none(n3));
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_move_that_loses_least_is_found_and_proven),
        cmocka_unit_test(work_that_may_not_be_preempted_stays),
        cmocka_unit_test(no_plan_is_better_than_one_that_does_not_help),
        cmocka_unit_test(a_policy_moves_within_its_limits_alone),
        cmocka_unit_test(a_policy_bounds_what_a_plan_loses),
        cmocka_unit_test(an_old_plan_is_not_carried_out),
        cmocka_unit_test(one_plan_after_the_other_moves),
        cmocka_unit_test(moves_of_an_hour_are_counted),
        cmocka_unit_test(a_gang_over_two_nodes_is_moved_as_a_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
