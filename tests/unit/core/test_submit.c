/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/object.h"
#include "core/role.h"

/* What clients may ask for, and what is refused at once. */

struct stage {
    struct scene scene;
    struct ref pool, node, one, tenant, project, other, quota, user;
    struct actor actor;
    struct error err;
    struct ref made;
};

static void
add_user(struct stage *s)
{
    struct changes *changes = scene_begin(&s->scene);
    struct session *session;
    struct grant *grant;
    struct user *user;

    role_install(changes, s->scene.platform);
    scene_apply(&s->scene, changes);
    changes = scene_begin(&s->scene);
    user = change_create(changes, KIND_USER, s->tenant, "dev");
    s->user = user->object.self;
    grant = change_create(changes, KIND_GRANT, s->project, "");
    grant->subject = s->user;
    grant->role = role_find(s->scene.world, ROLE_DEVELOPER);
    grant->use = verbs_for(KIND_PROJECT);
    session = change_create(changes, KIND_SESSION, s->user, "");
    session->digest[0] = 1;
    session->expires_ms = s->scene.now_ms + 3600000;
    session->proved_ms = s->scene.now_ms;
    s->actor = (struct actor){ .kind = ACTOR_USER,
                               .subject = s->user,
                               .credential = session->object.self,
                               .proved_ms = s->scene.now_ms };
    scene_apply(&s->scene, changes);
}

static void
stage_setup(struct stage *s, int cards)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", cards, "h100");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    (void)scene_priority(&s->scene, "production", 30);
    s->tenant = scene_tenant(&s->scene, "vision");
    s->other = scene_tenant(&s->scene, "research");
    s->project = scene_project(&s->scene, s->tenant, "p1");
    s->quota = scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, CARDS(1),
                           CARDS(cards));
    add_user(s);
}

/* Submits a body as the developer; 0 and s->made, or -1 and s->err. */
static int
submit(struct stage *s, const char *body)
{
    struct changes *changes = scene_begin(&s->scene);
    struct granted granted;
    scoped_json json = json_read(body, strlen(body), &s->err);
    int result;

    assert_non_null(json);
    assert_int_equal(access_decide(s->scene.world, &s->actor,
                                   VERB_WORKLOAD_CREATE, s->project,
                                   s->scene.now_ms, &granted, &s->err),
                     0);
    memset(&s->err, 0, sizeof(s->err));
    result = submit_workload(&granted, changes, s->project, json, &s->made,
                             &s->err);
    if (result == 0) {
        scene_apply(&s->scene, changes);
    } else {
        arena_free(s->scene.arena);
        s->scene.arena = NULL;
    }
    return result;
}

#define REST "\"class\":\"h100.1\",\"image\":\"base\","                        \
             "\"spec\":{\"command\":[\"/bin/true\"]}"

static void
good_work_is_stored_with_defaults_and_a_reason(void **state)
{
    struct stage s;
    const struct workload *workload;

    (void)state;
    stage_setup(&s, 4);
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), 0);
    workload = scene_workload(&s.scene, s.made);
    assert_int_equal(workload->state, WORKLOAD_QUEUED);
    assert_int_equal(workload->reason, REASON_NOT_EVALUATED);
    assert_int_equal(workload->instances, 1);
    assert_true(workload->preemptible);
    assert_true(ref_equal(workload->user, s.user));
    assert_false(ref_is_none(workload->priority));
    assert_string_equal(workload->spec->bytes,
                        "{\"command\":[\"/bin/true\"]}");
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, s.made), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
an_image_that_no_node_has_is_refused_with_a_way_out(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 4);
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), 0);
    {
        scene_edit(&s.scene, changes, node, s.node);
        change_doc(changes, &node->facts, "{\"images\":[\"demo\"]}");
        scene_apply(&s.scene, changes);
    }
    assert_int_equal(submit(&s, "{\"name\":\"v\"," REST "}"), -1);
    assert_string_equal(s.err.field, "/image");
    assert_string_equal(s.err.text, "no node has the image \"base\"");
    assert_non_null(strstr(s.err.help, "image directory"));
    assert_int_equal(world_count(s.scene.world, KIND_WORKLOAD), 1);
    scene_teardown(&s.scene);
}

/* What could never start leaves no object, and the numbers say why. */
static void
impossible_work_is_refused_with_numbers(void **state)
{
    struct stage s;
    size_t before;

    (void)state;
    stage_setup(&s, 4);
    before = world_count(s.scene.world, KIND_WORKLOAD);
    assert_int_equal(
        submit(&s, "{\"name\":\"w\",\"instances\":5," REST "}"), -1);
    assert_int_equal(s.err.code, ERROR_QUOTA);
    assert_non_null(strstr(s.err.text, "5"));
    assert_non_null(strstr(s.err.text, "4"));
    scene_change_quota(&s.scene, s.quota, CARDS(1), CARDS(2));
    assert_int_equal(
        submit(&s, "{\"name\":\"w\",\"instances\":3," REST "}"), -1);
    assert_int_equal(s.err.code, ERROR_QUOTA);
    assert_non_null(strstr(s.err.text, "3 cards"));
    assert_non_null(strstr(s.err.text, "2 cards"));
    assert_int_equal(
        submit(&s, "{\"name\":\"w\",\"preemptible\":false,\"instances\":2,"
                   REST "}"),
        -1);
    assert_non_null(strstr(s.err.text, "guarantee"));
    assert_int_equal(world_count(s.scene.world, KIND_WORKLOAD), before);
    scene_teardown(&s.scene);
}

/* Memory in place of a class becomes the classes that give it. */
static void
memory_stands_in_the_place_of_a_class(void **state)
{
    struct stage s;
    const struct workload *workload;
    char id[ID_TEXT_MAX];

    (void)state;
    stage_setup(&s, 4);
    (void)scene_share(&s.scene, "half", 500, 40960);
    assert_int_equal(submit(&s, "{\"name\":\"w\","
                                "\"min_accel_memory_mib\":40961,"
                                "\"image\":\"base\",\"spec\":{"
                                "\"command\":[\"/bin/true\"]}}"),
                     0);
    workload = scene_workload(&s.scene, s.made);
    object_id_text(s.scene.world, s.one, id);
    assert_true(ref_equal(workload->class, s.one));
    assert_non_null(strstr(workload->classes->bytes, id));
    assert_null(strchr(workload->classes->bytes, ','));
    assert_int_equal(workload->min_accel_memory_mib, 40961);
    assert_int_equal(submit(&s, "{\"name\":\"v\","
                                "\"min_accel_memory_mib\":81921,"
                                "\"image\":\"base\",\"spec\":{"
                                "\"command\":[\"/bin/true\"]}}"),
                     -1);
    assert_int_equal(s.err.code, ERROR_QUOTA);
    assert_int_equal(
        submit(&s, "{\"name\":\"v\",\"min_accel_memory_mib\":1," REST "}"),
        -1);
    assert_string_equal(s.err.field, "/min_accel_memory_mib");
    assert_int_equal(submit(&s, "{\"name\":\"v\","
                                "\"min_accel_memory_mib\":\"40g\","
                                "\"image\":\"base\",\"spec\":{"
                                "\"command\":[\"/bin/true\"]}}"),
                     -1);
    assert_string_equal(s.err.field, "/min_accel_memory_mib");
    scene_teardown(&s.scene);
}

/* [S7] Numbers that are negative, zero or too large are refused by field. */
static void
numbers_are_bounded_at_the_edge_S7(void **state)
{
    static const char *const bad[] = {
        "\"instances\":0",
        "\"instances\":-1",
        "\"instances\":9223372036854775807",
        "\"cpu_milli\":-5",
        "\"cpu_milli\":0",
        "\"memory_mib\":-1",
        "\"memory_mib\":9223372036854775807",
        "\"max_run_ms\":-1",
        "\"grace_ms\":999999999",
        "\"restarts\":1000000",
        "\"restarts\":11",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct stage s;
        char body[256];

        stage_setup(&s, 4);
        (void)snprintf(body, sizeof(body), "{\"name\":\"w\",%s," REST "}",
                       bad[i]);
        assert_int_equal(submit(&s, body), -1);
        assert_int_equal(s.err.code, ERROR_INVALID);
        assert_int_equal(s.err.field[0], '/');
        scene_teardown(&s.scene);
    }
}

/* [S7] Products of allowed numbers do not wrap into a small amount. */
static void
products_do_not_wrap_S7(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 4);
    assert_int_equal(submit(&s, "{\"name\":\"w\",\"instances\":4096,"
                                "\"memory_mib\":1000000000000000," REST "}"),
                     -1);
    assert_int_equal(s.err.code, ERROR_QUOTA);
    scene_teardown(&s.scene);
}

/* [S8] State, owner, labels and other authority cannot be claimed; the name
 * of another workload adopts nothing. */
static void
authority_cannot_be_claimed_S8(void **state)
{
    static const char *const claims[] = {
        "\"state\":\"running\"",  "\"user\":\"us_x\"",
        "\"attempt\":3",          "\"card_time\":0",
        "\"labels\":{\"g\":\"x\"}", "\"reason\":\"none\"",
        "\"submitted_ms\":\"1970-01-01T00:00:00Z\"",
        "\"checkpoint_step\":9",  "\"proof\":{}",
    };
    struct stage s;
    struct ref first;

    (void)state;
    stage_setup(&s, 4);
    for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
        char body[256];

        (void)snprintf(body, sizeof(body), "{\"name\":\"w\",%s," REST "}",
                       claims[i]);
        assert_int_equal(submit(&s, body), -1);
        assert_int_equal(s.err.code, ERROR_INVALID);
    }
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), 0);
    first = s.made;
    scene_run(&s.scene);
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), -1);
    assert_int_equal(s.err.code, ERROR_CONFLICT);
    assert_int_equal(scene_state(&s.scene, first), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

static void
policy_is_asked(void **state)
{
    struct stage s;
    struct ref urgent, closed;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 4);
    urgent = scene_priority(&s.scene, "incident", 100);
    closed = scene_pool(&s.scene, "closed");
    (void)scene_node(&s.scene, closed, "n9", 1, "h100");
    changes = scene_begin(&s.scene);
    ((struct priority *)change_update(changes, urgent))->preempt_across =
        true;
    ((struct pool *)change_update(changes, closed))->kind = POOL_DEDICATED;
    change_doc(changes,
               &((struct tenant *)change_update(changes, s.tenant))->classes,
               "[]");
    scene_apply(&s.scene, changes);
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), -1);
    assert_int_equal(s.err.code, ERROR_DENIED);
    changes = scene_begin(&s.scene);
    change_doc(changes,
               &((struct tenant *)change_update(changes, s.tenant))->classes,
               NULL);
    scene_apply(&s.scene, changes);
    assert_int_equal(
        submit(&s, "{\"name\":\"w\",\"priority\":\"incident\"," REST "}"),
        -1);
    assert_int_equal(s.err.code, ERROR_DENIED);
    /* A pool that is not its tenant's reads like one that never was. */
    assert_int_equal(submit(&s, "{\"name\":\"w\",\"pool\":\"closed\"," REST
                                "}"),
                     -1);
    assert_int_not_equal(s.err.code, ERROR_QUOTA);
    assert_int_equal(submit(&s, "{\"name\":\"w\",\"pool\":\"a\"," REST "}"),
                     0);
    scene_teardown(&s.scene);
}

/* --- later --- */

typedef int submit_verb(const struct granted *granted,
                        struct changes *changes, struct ref workload,
                        struct error *err);

static int
later(struct stage *s, submit_verb *verb, const char *name)
{
    struct changes *changes = scene_begin(&s->scene);
    struct granted granted;
    int result;

    assert_int_equal(access_decide(s->scene.world, &s->actor,
                                   (enum verb)verb_parse(name), s->made,
                                   s->scene.now_ms, &granted, &s->err),
                     0);
    result = verb(&granted, changes, s->made, &s->err);
    if (result == 0) {
        scene_apply(&s->scene, changes);
    } else {
        arena_free(s->scene.arena);
        s->scene.arena = NULL;
    }
    return result;
}

static void
waiting_work_can_be_held_released_and_cancelled(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 1);
    assert_int_equal(submit(&s, "{\"name\":\"w\"," REST "}"), 0);
    assert_int_equal(later(&s, submit_hold, "workload.update"), 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, s.made), WORKLOAD_HELD);
    assert_int_equal(later(&s, submit_release, "workload.update"), 0);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, s.made), WORKLOAD_ASSIGNED);
    assert_int_equal(later(&s, submit_hold, "workload.update"), -1);
    assert_int_equal(s.err.code, ERROR_CONFLICT);
    assert_int_equal(later(&s, submit_delete, "workload.delete"), -1);
    assert_int_equal(later(&s, submit_cancel, "workload.cancel"), 0);
    assert_int_equal(scene_state(&s.scene, s.made), WORKLOAD_CANCELLING);
    assert_int_equal(later(&s, submit_cancel, "workload.cancel"), 0);
    scene_release(&s.scene, s.made);
    assert_int_equal(scene_state(&s.scene, s.made), WORKLOAD_CANCELLED);
    assert_int_equal(later(&s, submit_cancel, "workload.cancel"), 0);
    assert_int_equal(later(&s, submit_release, "workload.update"), -1);
    assert_int_equal(later(&s, submit_delete, "workload.delete"), 0);
    assert_int_equal(world_count(s.scene.world, KIND_WORKLOAD), 0);
    assert_int_equal(world_count(s.scene.world, KIND_INSTANCE), 0);
    assert_int_equal(world_count(s.scene.world, KIND_BINDING), 0);
    scene_teardown(&s.scene);
}

/* --- manifest --- */

static void
spec_is_refused_by_field(void **state)
{
    static const struct {
        const char *spec, *field;
    } bad[] = {
        { "{}", "/spec/command" },
        { "{\"command\":[]}", "/spec/command" },
        { "{\"command\":\"sh\"}", "/spec/command" },
        { "{\"command\":[\"a\",1]}", "/spec/command/1" },
        { "{\"command\":[\"\"]}", "/spec/command/0" },
        { "{\"command\":[\"a\"],\"hooks\":[]}", "/spec/hooks" },
        { "{\"command\":[\"a\"],\"env\":[]}", "/spec/env" },
        { "{\"command\":[\"a\"],\"env\":{\"1A\":\"x\"}}", "/spec/env/1A" },
        { "{\"command\":[\"a\"],\"env\":{\"A=B\":\"x\"}}", "/spec/env/A=B" },
        { "{\"command\":[\"a\"],\"env\":{\"A\":1}}", "/spec/env/A" },
        { "{\"command\":[\"a\"],\"env\":{\"BULKHEAD_X\":\"x\"}}",
          "/spec/env/BULKHEAD_X" },
        { "{\"command\":[\"a\"],\"workdir\":\"x\"}", "/spec/workdir" },
        { "{\"command\":[\"a\"],\"ports\":[{\"name\":\"h\",\"port\":0}]}",
          "/spec/ports/0/port" },
        { "{\"command\":[\"a\"],\"ports\":[{\"name\":\"h\",\"port\":1},"
          "{\"name\":\"h\",\"port\":2}]}",
          "/spec/ports/1" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"none\","
          "\"path\":\"/d\"}]}",
          "/spec/volumes/0/volume" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"foreign\","
          "\"path\":\"/d\"}]}",
          "/spec/volumes/0/volume" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\"}]}",
          "/spec/volumes/0/path" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/d/../etc\"}]}",
          "/spec/volumes/0/path" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/proc\"}]}",
          "/spec/volumes/0/path" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/\"}]}",
          "/spec/volumes/0/path" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/d\",\"read_only\":1}]}",
          "/spec/volumes/0/read_only" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/d\",\"host\":\"/etc\"}]}",
          "/spec/volumes/0/host" },
        { "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"data\","
          "\"path\":\"/d/e\"},{\"volume\":\"data\",\"path\":\"/d\"}]}",
          "/spec/volumes/0" },
        { "{\"command\":[\"a\"],\"checkpoint\":\"/d\"}", "/spec/checkpoint" },
    };
    struct stage s;
    struct ref foreign;

    (void)state;
    stage_setup(&s, 4);
    (void)scene_put(&s.scene, KIND_VOLUME, s.project, "data");
    foreign = scene_project(&s.scene, s.other, "q");
    (void)scene_put(&s.scene, KIND_VOLUME, foreign, "foreign");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char body[512];

        (void)snprintf(body, sizeof(body),
                       "{\"name\":\"w\",\"class\":\"h100.1\","
                       "\"image\":\"base\",\"spec\":%s}",
                       bad[i].spec);
        assert_int_equal(submit(&s, body), -1);
        assert_int_equal(s.err.code, ERROR_INVALID);
        assert_string_equal(s.err.field, bad[i].field);
    }
    scene_teardown(&s.scene);
}

/* A volume of another project is told apart from none in no way, by id too. */
static void
foreign_volume_reads_like_none(void **state)
{
    struct stage s;
    struct ref volume;
    char body[512], id[ID_TEXT_MAX], text[ERROR_TEXT_MAX];
    static const char *const format =
        "{\"name\":\"w\",\"class\":\"h100.1\",\"image\":\"base\",\"spec\":"
        "{\"command\":[\"a\"],\"volumes\":[{\"volume\":\"%s\","
        "\"path\":\"/d\"}]}}";

    (void)state;
    stage_setup(&s, 4);
    volume = scene_put(&s.scene, KIND_VOLUME,
                       scene_project(&s.scene, s.other, "q"), "secret");
    object_id_text(s.scene.world, volume, id);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(body, sizeof(body), format, id);
    assert_int_equal(submit(&s, body), -1);
    (void)snprintf(text, sizeof(text), "%s", s.err.text);
    (void)snprintf(body, sizeof(body), format,
                   "vo_aaaaaaaaaaaaaaaaaaaaaaaaaa");
#pragma GCC diagnostic pop
    assert_int_equal(submit(&s, body), -1);
    assert_string_equal(text, s.err.text);
    scene_teardown(&s.scene);
}

static void
spec_is_stored_with_volumes_as_ids(void **state)
{
    struct stage s;
    struct ref volume, found;
    char id[ID_TEXT_MAX];

    (void)state;
    stage_setup(&s, 4);
    volume = scene_put(&s.scene, KIND_VOLUME, s.project, "data");
    object_id_text(s.scene.world, volume, id);
    assert_int_equal(
        submit(&s, "{\"name\":\"w\",\"class\":\"h100.1\",\"image\":\"base\","
                   "\"spec\":{\"volumes\":[{\"volume\":\"data\","
                   "\"path\":\"/d\"}],\"checkpoint\":\"/d/c\",\"command\":"
                   "[\"a\"],\"env\":{\"B\":\"2\",\"A\":\"1\"}}}"),
        0);
    assert_non_null(
        strstr(scene_workload(&s.scene, s.made)->spec->bytes, id));
    assert_int_equal(
        manifest_volumes(s.scene.world,
                         scene_workload(&s.scene, s.made)->spec, &found, 1),
        1);
    assert_true(ref_equal(found, volume));
    scene_teardown(&s.scene);
}

/* Alternatives: names or ids of classes, best first. */
static void
alternatives_are_stored_as_ids_and_the_first_is_the_class(void **state)
{
    struct stage s;
    const struct workload *workload;
    struct ref two;

    (void)state;
    stage_setup(&s, 4);
    two = scene_class(&s.scene, "h100.2", "h100", 2);
    assert_int_equal(submit(&s, "{\"name\":\"w\",\"classes\":[\"h100.2\","
                                "\"h100.1\"],\"image\":\"base\",\"spec\":{"
                                "\"command\":[\"/bin/true\"]}}"),
                     0);
    workload = scene_workload(&s.scene, s.made);
    assert_true(ref_equal(workload->class, two));
    assert_null(strstr(workload->classes->bytes, "h100"));
    scene_run(&s.scene);
    assert_true(ref_equal(scene_workload(&s.scene, s.made)->class, two));
    scene_teardown(&s.scene);
}

#define WITH_CLASSES(list)                                                    \
    "{\"name\":\"w\",\"classes\":" list ",\"image\":\"base\",\"spec\":{"        \
    "\"command\":[\"/bin/true\"]}}"

static void
lists_of_classes_that_mean_nothing_are_refused(void **state)
{
    static const char *const bodies[] = {
        WITH_CLASSES("[]"),
        WITH_CLASSES("\"h100.1\""),
        WITH_CLASSES("[3]"),
        WITH_CLASSES("[\"h100.1\",\"h100.1\"]"),
        WITH_CLASSES("[\"h100.1\",\"none\"]"),
        WITH_CLASSES("[\"h100.1\",\"production\"]"),
        WITH_CLASSES("[\"h100.2\"],\"class\":\"h100.1\""),
        WITH_CLASSES("[1,2,3,4,5,6,7,8,9]"),
    };
    struct stage s;

    (void)state;
    stage_setup(&s, 4);
    (void)scene_class(&s.scene, "h100.2", "h100", 2);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        assert_int_equal(submit(&s, bodies[i]), -1);
        assert_int_equal(s.err.code, ERROR_INVALID);
        assert_non_null(strstr(s.err.field, "/class"));
    }
    scene_teardown(&s.scene);
}

static struct ref
ceiling(struct stage *s, struct ref node, int64_t max_run_ms)
{
    struct changes *changes = scene_begin(&s->scene);
    struct ceiling *ceiling = change_create(changes, KIND_CEILING, node, "");
    struct ref ref = ceiling->object.self;

    ceiling->verbs = verbs_all();
    ceiling->max_run_ms = max_run_ms;
    scene_apply(&s->scene, changes);
    return ref;
}

/* An hour at most in the tenant, half an hour in the project. */
static void
the_longest_run_is_bounded_by_every_ceiling_above(void **state)
{
    struct stage s;

    (void)state;
    stage_setup(&s, 4);
    (void)ceiling(&s, s.tenant, 3600000);
    assert_int_equal(submit(&s, "{\"name\":\"a\",\"max_run_ms\":3600001," REST
                                "}"),
                     -1);
    assert_int_equal(s.err.code, ERROR_INVALID);
    assert_string_equal(s.err.field, "/max_run_ms");
    assert_non_null(strstr(s.err.text, "3600000"));
    assert_int_equal(submit(&s, "{\"name\":\"a\",\"max_run_ms\":3600000," REST
                                "}"),
                     0);
    (void)ceiling(&s, s.project, 1800000);
    assert_int_equal(submit(&s, "{\"name\":\"b\",\"max_run_ms\":3600000," REST
                                "}"),
                     -1);
    /* What asks for none gets the lowest. */
    assert_int_equal(submit(&s, "{\"name\":\"b\"," REST "}"), 0);
    assert_int_equal(scene_workload(&s.scene, s.made)->max_run_ms, 1800000);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_work_is_stored_with_defaults_and_a_reason),
        cmocka_unit_test(
            alternatives_are_stored_as_ids_and_the_first_is_the_class),
        cmocka_unit_test(lists_of_classes_that_mean_nothing_are_refused),
        cmocka_unit_test(impossible_work_is_refused_with_numbers),
        cmocka_unit_test(memory_stands_in_the_place_of_a_class),
        cmocka_unit_test(an_image_that_no_node_has_is_refused_with_a_way_out),
        cmocka_unit_test(numbers_are_bounded_at_the_edge_S7),
        cmocka_unit_test(products_do_not_wrap_S7),
        cmocka_unit_test(authority_cannot_be_claimed_S8),
        cmocka_unit_test(policy_is_asked),
        cmocka_unit_test(waiting_work_can_be_held_released_and_cancelled),
        cmocka_unit_test(spec_is_refused_by_field),
        cmocka_unit_test(foreign_volume_reads_like_none),
        cmocka_unit_test(spec_is_stored_with_volumes_as_ids),
        cmocka_unit_test(the_longest_run_is_bounded_by_every_ceiling_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
