/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/object.h"
#include "core/role.h"
#include "core/whatif.h"

/* One node of four cards; dev works in vision's p1, research has work too. */

#define HOUR_MS INT64_C(3600000)

struct stage {
    struct scene scene;
    struct ref pool, one, priority, tenant, other, p1, p2, quota, foreign_quota, user;
    struct actor actor;
    json_t *answer;
    struct error err;
};

static void
add_user(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);
    struct session *session;
    struct grant *grant;

    role_install(changes, s->scene.platform);
    scene_apply(&s->scene, changes);
    changes = scene_begin(&s->scene);
    s->user = ((struct object *)change_create(changes, KIND_USER, s->tenant,
                                              "dev"))
                  ->self;
    grant = change_create(changes, KIND_GRANT, s->tenant, "");
    grant->subject = s->user;
    grant->role = role_find(s->scene.world, ROLE_TENANT_ADMIN);
    grant->use = verbs_for(KIND_TENANT);
    session = change_create(changes, KIND_SESSION, s->user, "");
    session->digest[0] = 1;
    session->expires_ms = s->scene.now_ms + 1000 * HOUR_MS;
    s->actor = (struct actor){ .kind = ACTOR_USER,
                               .subject = s->user,
                               .credential = session->object.self,
                               .proved_ms = s->scene.now_ms };
    scene_apply(&s->scene, changes);
}

static void
stage_setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    (void)scene_node(&s->scene, s->pool, "n1", 4, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->priority = scene_priority(&s->scene, "production", 30);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->other = scene_tenant(&s->scene, "research");
    s->p1 = scene_project(&s->scene, s->tenant, "p1");
    s->p2 = scene_project(&s->scene, s->other, "p2");
    s->quota = scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(2));
    s->foreign_quota =
        scene_quota(&s->scene, s->other, DIMENSION_CARDS, 0, CARDS(4));
    add_user(s);
}

static void
stage_teardown(struct stage *s)
{
    json_decref(s->answer);
    scene_teardown(&s->scene);
}

static struct ref
run_work(struct stage *s, struct ref project, const char *name,
         int64_t max_run_ms)
{
    return scene_running(&s->scene, (struct job){ .project = project,
                                                  .class = s->one,
                                                  .name = name,
                                                  .priority = s->priority,
                                                  .max_run_ms = max_run_ms });
}

static const char *
id_of(const struct stage *s, struct ref ref)
{
    static char text[4][ID_TEXT_MAX];
    static int next;

    next = (next + 1) % 4;
    object_id_text(s->scene.world, ref, text[next]);
    return text[next];
}

/* Asks on a node; takes over body. */
static int
ask(struct stage *s, struct ref node, json_t *body)
{
    uint64_t generation = world_generation(s->scene.world);
    struct granted granted;
    struct whatif *whatif;

    assert_non_null(body);
    json_decref(s->answer);
    s->answer = NULL;
    assert_int_equal(access_decide(s->scene.world, &s->actor,
                                   VERB_WORKLOAD_WHATIF, node, s->scene.now_ms,
                                   &granted, &s->err),
                     0);
    whatif = whatif_new(&granted, body, &s->err);
    json_decref(body);
    if (whatif == NULL)
        return -1;
    s->answer = whatif_answer(whatif);
    whatif_free(whatif);
    assert_non_null(s->answer);
    /* Nothing happened. */
    assert_true(generation == world_generation(s->scene.world));
    return 0;
}

static size_t
count(const struct stage *s, const char *list)
{
    return json_array_size(json_object_get(s->answer, list));
}

static json_t *
line(const struct stage *s, const char *list, size_t at)
{
    json_t *item = json_array_get(json_object_get(s->answer, list), at);

    assert_non_null(item);
    return item;
}

static void
is_at(const json_t *item, int64_t at_ms)
{
    scoped_json wanted = json_time(at_ms);

    assert_string_equal(json_string_value(json_object_get(item, "at")),
                        json_string_value(wanted));
}

static json_t *
submit_of(const struct stage *s, int count, int64_t run_ms)
{
    return json_pack("{s:[{s:s, s:i, s:I, s:{s:s}}]}", "submit", "project",
                     id_of(s, s->p1), "count", count, "run_ms",
                     (json_int_t)run_ms, "workload", "class", "h100.1");
}

static void
new_work_starts_now_and_then_when_it_has_room(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    assert_int_equal(ask(&s, s.tenant, submit_of(&s, 3, HOUR_MS)), 0);
    assert_int_equal(count(&s, "starts"), 3);
    assert_true(json_is_true(json_object_get(line(&s, "starts", 0),
                                             "tried")));
    is_at(line(&s, "starts", 1), SCENE_NOW);
    /* The limit is two at a time. */
    is_at(line(&s, "starts", 2), SCENE_NOW + HOUR_MS);
    assert_int_equal(json_integer_value(json_object_get(
                         line(&s, "starts", 2), "waits_ms")),
                     HOUR_MS);
    assert_int_equal(count(&s, "ended"), 3);
    assert_string_equal(
        json_string_value(json_object_get(s.answer, "end")), "quiet");
    stage_teardown(&s);
}

static void
a_higher_limit_lets_gated_work_start(void **state)
{
    struct stage s;
    struct ref third;

    (void)state;
    stage_setup(&s);
    (void)run_work(&s, s.p1, "a", 0);
    (void)run_work(&s, s.p1, "b", 0);
    third = scene_submit(&s.scene, (struct job){ .project = s.p1,
                                                 .class = s.one,
                                                 .name = "c" });
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, third), WORKLOAD_GATED);
    assert_int_equal(ask(&s, s.tenant, json_object()), 0);
    assert_int_equal(count(&s, "starts"), 0);
    assert_int_equal(count(&s, "waiting"), 1);
    assert_string_equal(json_string_value(json_object_get(
                            line(&s, "waiting", 0), "state")),
                        "gated");
    assert_int_equal(
        ask(&s, s.tenant,
            json_pack("{s:[{s:s, s:i}]}", "change", "set_quota",
                      id_of(&s, s.quota), "limit", (int)CARDS(3))),
        0);
    assert_int_equal(count(&s, "starts"), 1);
    assert_string_equal(
        json_string_value(json_object_get(line(&s, "starts", 0), "name")),
        "c");
    assert_int_equal(count(&s, "waiting"), 0);
    stage_teardown(&s);
}

static void
more_nodes_and_a_cancelled_workload_make_room(void **state)
{
    struct stage s;
    struct ref running;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 3; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "r%d", i);
        (void)run_work(&s, s.p2, name, 0);
    }
    running = run_work(&s, s.p1, "a", 0);
    assert_int_equal(ask(&s, s.tenant, submit_of(&s, 1, 0)), -1);
    assert_string_equal(s.err.field, "/run_ms");
    assert_int_equal(ask(&s, s.tenant, submit_of(&s, 1, 1000)), 0);
    assert_int_equal(count(&s, "starts"), 0);
    assert_int_equal(
        ask(&s, s.tenant,
            json_pack("{s:[{s:i, s:s, s:s}], s:[{s:s, s:{s:s}}]}", "change",
                      "add_nodes", 1, "pool", "a", "class", "h100.1",
                      "submit", "project", id_of(&s, s.p1), "workload",
                      "class", "h100.1")),
        0);
    assert_int_equal(count(&s, "starts"), 1);
    assert_int_equal(
        ask(&s, s.tenant,
            json_pack("{s:[{s:s}], s:[{s:s, s:{s:s}}]}", "change", "cancel",
                      id_of(&s, running), "submit", "project",
                      id_of(&s, s.p1), "workload", "class", "h100.1")),
        0);
    assert_int_equal(count(&s, "starts"), 1);
    /* It has its grace of 120 s. */
    is_at(line(&s, "starts", 0), SCENE_NOW + 120000);
    stage_teardown(&s);
}

static void
work_of_others_is_neither_shown_nor_touched(void **state)
{
    struct stage s;
    struct ref foreign;

    (void)state;
    stage_setup(&s);
    foreign = run_work(&s, s.p2, "secret", 2 * HOUR_MS);
    for (int i = 0; i < 3; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "r%d", i);
        (void)run_work(&s, s.p2, name, 3 * HOUR_MS);
    }
    assert_int_equal(ask(&s, s.tenant, submit_of(&s, 1, HOUR_MS)), 0);
    assert_int_equal(count(&s, "starts"), 1);
    is_at(line(&s, "starts", 0), SCENE_NOW + 2 * HOUR_MS);
    assert_int_equal(count(&s, "ended"), 1);
    /* Foreign ids read like ids that never were. */
    for (int i = 0; i < 2; i++) {
        struct error first;

        assert_int_equal(ask(&s, s.tenant,
                             json_pack("{s:[{s:s}]}", "change",
                                       i == 0 ? "cancel" : "set_quota",
                                       i == 0 ? id_of(&s, foreign)
                                              : id_of(&s, s.foreign_quota))),
                         -1);
        first = s.err;
        assert_int_equal(
            ask(&s, s.tenant,
                json_pack("{s:[{s:s}]}", "change",
                          i == 0 ? "cancel" : "set_quota", "no-such-id")),
            -1);
        assert_int_equal(first.code, s.err.code);
        assert_string_equal(first.field, s.err.field);
        assert_string_equal(first.field, "/change/0");
        assert_non_null(strstr(first.text, "there is no"));
    }
    /* Nor can the tenant's people set nodes. */
    assert_int_equal(ask(&s, s.tenant,
                         json_pack("{s:[{s:s, s:s}]}", "change", "set_node",
                                   id_of(&s, world_first(s.scene.world,
                                                         KIND_NODE)),
                                   "state", "cordoned")),
                     -1);
    stage_teardown(&s);
}

static void
what_never_fits_is_refused_with_the_numbers(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    assert_int_equal(
        ask(&s, s.tenant,
            json_pack("{s:[{s:s, s:i, s:{s:s, s:i}}]}", "submit", "project",
                      id_of(&s, s.p1), "count", 5, "workload", "class",
                      "h100.1", "instances", 3)),
        0);
    assert_int_equal(count(&s, "refused"), 1);
    assert_int_equal(json_integer_value(json_object_get(
                         line(&s, "refused", 0), "count")),
                     5);
    assert_non_null(strstr(json_string_value(json_object_get(
                               line(&s, "refused", 0), "text")),
                           "3 cards"));
    stage_teardown(&s);
}

static void
bad_questions_name_the_field_and_the_rule(void **state)
{
    static const struct {
        const char *body, *field;
    } list[] = {
        { "{\"horizon_ms\": -1}", "/horizon_ms" },
        { "{\"horizon_ms\": 2592000001}", "/horizon_ms" },
        { "{\"change\": 7}", "/change" },
        { "{\"change\": [7]}", "/change/0" },
        { "{\"change\": [{\"delete\": 1}]}", "/change/0" },
        { "{\"change\": [{\"add_nodes\": 0, \"pool\": \"a\", "
          "\"class\": \"h100.1\"}]}",
          "/add_nodes" },
        { "{\"change\": [{\"add_nodes\": 1, \"pool\": \"zz\", "
          "\"class\": \"h100.1\"}]}",
          "/change/0" },
        { "{\"submit\": [{}]}", "/project" },
        { "{\"submit\": \"x\"}", "/submit" },
        { "{\"watch\": [1]}", "/watch" },
        { "{\"else\": 1}", "/else" },
    };
    struct stage s;

    (void)state;
    stage_setup(&s);
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        assert_int_equal(
            ask(&s, s.tenant, json_loads(list[i].body, 0, NULL)), -1);
        assert_int_equal(s.err.code, ERROR_INVALID);
        assert_string_equal(s.err.field, list[i].field);
    }
    stage_teardown(&s);
}

/* What is made up is called by its number in the project: how much there is
 * elsewhere is not told. */
static void
a_copy_is_named_by_what_is_in_its_project(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s);
    (void)run_work(&s, s.p1, "a", 0);
    (void)run_work(&s, s.p1, "what-if-2", 0);
    for (int more = 0; more < 2; more++) {
        char *text;

        assert_int_equal(
            ask(&s, s.tenant,
                json_pack("{s:[{s:s, s:i, s:{s:s}}]}", "submit", "project",
                          id_of(&s, s.p1), "count", 2, "workload", "class",
                          id_of(&s, s.one))),
            0);
        text = json_dumps(s.answer, JSON_COMPACT);
        assert_non_null(strstr(text, "\"what-if-1\""));
        assert_non_null(strstr(text, "\"what-if-3\""));
        free(text);
        (void)scene_project(&s.scene, s.other, "elsewhere");
    }
    stage_teardown(&s);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(new_work_starts_now_and_then_when_it_has_room),
        cmocka_unit_test(a_higher_limit_lets_gated_work_start),
        cmocka_unit_test(more_nodes_and_a_cancelled_workload_make_room),
        cmocka_unit_test(work_of_others_is_neither_shown_nor_touched),
        cmocka_unit_test(what_never_fits_is_refused_with_the_numbers),
        cmocka_unit_test(a_copy_is_named_by_what_is_in_its_project),
        cmocka_unit_test(bad_questions_name_the_field_and_the_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
