/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi.h"
#include "control/execute.h"
#include "core/alarm.h"
#include "tests/unit/api/document.h"
#include "tests/unit/api/estate.h"

/* Are answers as the OpenAPI document says?  Those that follow from no schema
 * of objects: somebody has described them by hand. */

#define TENANT "/tenants/vision"
#define WORK TENANT "/projects/work"
#define WORKLOADS "/api/v1/tenants/{tenant}/projects/{project}/workloads"
#define MEMORY_MIB 40000

static struct estate estate;
static json_t *document;

/* --- what there is to be said --- */

/* Restored, with an orphan on a node, and held keys and sessions. */
static void
put_restored(struct changes *changes)
{
    const struct world *world = changes->world;
    struct platform *platform =
        change_update(changes, world_platform_ref(world));
    struct node *node = change_update(
        changes, estate_ref(world, &estate.vision, KIND_NODE));
    struct apikey *key = change_update(
        changes, estate_ref(world, &estate.vision, KIND_APIKEY));
    struct session *session = change_update(
        changes, estate_ref(world, &estate.research, KIND_SESSION));
    platform->restored_ms = changes->context.now_ms;
    platform->observing = true;
    key->held_ms = session->held_ms = changes->context.now_ms;
    change_doc(changes, &node->orphans,
               "[{\"cards\":[\"GPU-1\"],\"incarnation\":2,\"instance\":"
               "\"in_aaaaaaaaaaaaaaaaaaaaaaaaaa\",\"state\":\"running\","
               "\"stop\":false}]");
    alarm_raise(changes, node->object.self, "report.instance", "it lies");
}

/* One that runs with fewer instances than it may have. */
static void
put_elastic(struct changes *changes)
{
    struct workload *work = change_update(
        changes,
        estate_ref(changes->world, &estate.vision, KIND_WORKLOAD));
    struct card *card = change_update(
        changes, estate_ref(changes->world, &estate.vision, KIND_CARD));
    memcpy(card->driver, "580", sizeof "580");
    work->instances_max = 3;
    work->instances_now = 1;
    work->min_accel_memory_mib = MEMORY_MIB;
    work->memory_mib = work->cpu_milli = 1;
}

/* One that waits for the only card of its first class, with a second one. */
static void
put_waiting(struct changes *changes)
{
    const struct world *world = changes->world;
    struct workload *work = change_create(
        changes, KIND_WORKLOAD,
        estate_ref(world, &estate.vision, KIND_PROJECT), "waits");
    struct quota *quota = change_create(
        changes, KIND_QUOTA, estate_ref(world, &estate.vision, KIND_TENANT),
        "cards");
    char classes[160];
    work->state = WORKLOAD_QUEUED;
    work->class = estate_ref(world, &estate.vision, KIND_CLASS);
    work->user = estate_ref(world, &estate.vision, KIND_USER);
    work->instances = 1;
    work->memory_mib = work->cpu_milli = 1;
    (void)snprintf(classes, sizeof classes, "[\"%s\",\"%s\"]",
                   estate.vision.ids[KIND_CLASS],
                   estate.research.ids[KIND_CLASS]);
    change_doc(changes, &work->classes, classes);
    quota->dimension = DIMENSION_CARDS;
    quota->limit = 1000;
    quota->raised_limit = 2000;
    quota->raised_until_ms = changes->context.now_ms + 3600000;
}

static int
put_all(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    put_restored(changes);
    put_elastic(changes);
    put_waiting(changes);
    return 0;
}

static void
put_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.put",
                        .component = "test",
                        .decide = put_all,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    harness_run(&estate.place.harness, put_step, NULL);
    document = openapi_document("test");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    json_decref(document);
    estate_close(&estate);
    return 0;
}

/* --- asking --- */

/* The answer, which the document describes below `route`, or fails. */
static json_t *
described_to(const char *token, const char *method, const char *path,
             const char *body, const char *route)
{
    bool get = strcmp(method, "GET") == 0;
    scoped_buffer differences = {0};
    json_t *answer =
        ask(&estate.place, token, method, path, body, 200);
    document_compare(document,
                     document_content(
                         document_operation(document, get ? "get" : "post",
                                            route),
                         "200", "application/json"),
                     answer, "", &differences);
    if (differences.size > 0)
        fail_msg("%s %s: %s", method, path, buffer_text(&differences));
    return answer;
}

static json_t *
described(const char *method, const char *path, const char *body,
          const char *route)
{
    return described_to(estate.place.root, method, path, body, route);
}

static const char *
text_at(const json_t *value, const char *member)
{
    const char *text = json_string_value(json_object_get(value, member));
    return text == NULL ? "" : text;
}

/* --- the tests --- */

static void
a_member_that_is_not_named_is_seen(void **state)
{
    (void)state;
    scoped_json schema = json_loads(
        "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"}}}",
        0, NULL);
    scoped_json value = json_loads("{\"a\":\"1\",\"b\":2}", 0, NULL);
    scoped_buffer out = {0};
    document_compare(document, schema, value, "", &out);
    assert_string_equal(buffer_text(&out),
                        "/a is of another type\n/b is not named\n");
}

static void
why_work_waits_is_described_with_all_its_classes(void **state)
{
    (void)state;
    scoped_json said = described("GET", WORK "/workloads/waits/explain", NULL,
                                 WORKLOADS "/{workload}/explain");
    const json_t *pool =
        json_array_get(json_object_get(said, "pools"), 0);
    assert_int_equal(json_array_size(json_object_get(said, "alternatives")),
                     2);
    assert_non_null(json_object_get(said, "nearest"));
    /* The tenant's first quota was given to it when it was made. */
    scoped_json quota = ask(&estate.place, estate.place.root, "GET",
                            TENANT "/quotas/cards", NULL, 200);
    const json_t *raised =
        json_array_get(json_object_get(pool, "quotas"), 1);
    assert_int_equal(json_array_size(json_object_get(said, "pools")), 2);
    assert_true(json_is_string(json_object_get(raised, "raised_until_ms")));
    assert_string_equal(text_at(raised, "raised_until_ms"),
                        text_at(quota, "raised_until_ms"));
}

static void
why_a_gang_does_not_grow_is_described(void **state)
{
    (void)state;
    scoped_json said =
        described("GET", WORK "/workloads/secret-work/explain", NULL,
                  WORKLOADS "/{workload}/explain");
    const json_t *growth = json_object_get(said, "growth");
    assert_int_equal(json_integer_value(json_object_get(growth, "most")), 3);
    assert_true(json_array_size(json_object_get(said, "considered")) > 0);
}

static void
an_object_with_names_is_described(void **state)
{
    (void)state;
    scoped_json tenant = described("GET", TENANT "?names=1", NULL,
                                   "/api/v1/tenants/{tenant}");
    scoped_json work = described("GET", WORK "/workloads/waits?names=1", NULL,
                                 WORKLOADS "/{workload}");
    assert_true(json_is_object(json_object_get(tenant, "names")));
    assert_string_equal(text_at(json_object_get(work, "names"),
                                estate.vision.ids[KIND_PROJECT]),
                        "work");
}

static void
what_a_restore_left_is_described_with_times_as_everywhere(void **state)
{
    (void)state;
    scoped_json left =
        described("GET", "/restore", NULL, "/api/v1/restore");
    const json_t *orphan =
        json_array_get(json_object_get(left, "orphans"), 0);
    const json_t *key = json_array_get(json_object_get(left, "keys"), 0);
    scoped_json platform =
        ask(&estate.place, estate.place.root, "GET", "/platform", NULL, 200);
    assert_string_equal(text_at(left, "restored_ms"),
                        text_at(platform, "restored_ms"));
    assert_string_equal(text_at(key, "held_ms"),
                        text_at(platform, "restored_ms"));
    assert_string_equal(text_at(orphan, "node"), "vision");
    assert_int_equal(json_array_size(json_object_get(left, "sessions")), 1);
}

/* Reviewed, confirmed, and the alarm cleared. */
static void
what_is_decided_after_a_restore_is_described(void **state)
{
    (void)state;
    scoped_json keys = described("POST", "/restore/review",
                                 "{\"kind\":\"keys\",\"action\":\"release\"}",
                                 "/api/v1/restore/review");
    scoped_json end =
        described("POST", "/restore/confirm", NULL, "/api/v1/restore/confirm");
    assert_int_equal(json_integer_value(json_object_get(keys, "count")), 1);
    assert_true(json_is_false(json_object_get(end, "observing")));
}

static void
an_alarm_that_was_looked_into_is_described(void **state)
{
    (void)state;
    char path[128];
    (void)snprintf(path, sizeof path, "/nodes/%s/alarms/clear",
                   estate.vision.ids[KIND_NODE]);
    scoped_json cleared =
        described("POST", path, "{\"code\":\"report.instance\"}",
                  "/api/v1/nodes/{node}/alarms/clear");
    assert_string_equal(text_at(cleared, "cleared"), "report.instance");
}

static void
moves_and_forecasts_are_described(void **state)
{
    (void)state;
    json_decref(described("GET", "/pools/default/defragment", NULL,
                          "/api/v1/pools/{pool}/defragment"));
    json_decref(described("GET", "/advice", NULL, "/api/v1/advice"));
    json_decref(described("POST", TENANT "/what-if", "{}",
                          "/api/v1/tenants/{tenant}/what-if"));
    tell(&estate.place, estate.vision.admin, "POST", TENANT "/requests",
         "{\"name\":\"more\",\"sort\":\"quota\",\"dimension\":\"storage\","
         "\"limit\":2000,\"reason\":\"it is full\"}",
         201);
    char path[128];
    char *id = ask_text(&estate.place, estate.vision.admin, "GET",
                        TENANT "/requests/more", NULL, 200, "id");
    (void)snprintf(path, sizeof path, "/requests/%s/what-if", id);
    json_decref(described("GET", path, NULL,
                          "/api/v1/requests/{request}/what-if"));
    free(id);
}

static void
a_backup_is_bytes(void **state)
{
    (void)state;
    assert_non_null(document_content(
        document_operation(document, "get", "/api/v1/backup"), "200",
        "application/octet-stream"));
}

#define SPEC "{\"command\":[\"x\"]}"
#define WITH(member)                                                          \
    "{\"class\":\"a\",\"image\":\"x\",\"spec\":{\"command\":[\"x\"]," member "}}"

/* A class may be given in three ways; one is enough, none is not.  What is
 * below spec is described as well. */
static void
a_submission_names_its_class_in_one_of_three_ways(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        bool fits;
    } cases[] = {
        {"{\"class\":\"a\",\"image\":\"x\",\"spec\":" SPEC "}", true},
        {"{\"classes\":[\"a\"],\"image\":\"x\",\"spec\":" SPEC "}", true},
        {"{\"min_accel_memory_mib\":9,\"image\":\"x\",\"spec\":" SPEC "}",
         true},
        {"{\"image\":\"x\",\"spec\":" SPEC "}", false},
        {"{\"class\":\"a\",\"spec\":" SPEC "}", false},
        {"{\"class\":\"a\",\"image\":\"x\",\"spec\":" SPEC ",\"clas\":1}",
         false},
        {"{\"class\":\"a\",\"image\":\"x\",\"spec\":{}}", false},
        {WITH("\"spread\":{\"level\":\"node\",\"most\":2}"), true},
        {WITH("\"spread\":{\"level\":\"island\"}"), false},
        {WITH("\"requires\":{\"driver\":\"550\"}"), true},
        {WITH("\"requires\":{\"driver\":550}"), false},
        {WITH("\"topology\":{\"level\":\"leaf\"}"), true},
        {WITH("\"spred\":{\"level\":\"node\"}"), false},
    };
    const json_t *content = json_object_get(
        json_object_get(document_operation(document, "post", WORKLOADS),
                        "requestBody"),
        "content");
    const json_t *schema = json_object_get(
        json_object_get(content, "application/json"), "schema");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scoped_json body = json_loads(cases[i].body, 0, NULL);
        scoped_buffer out = {0};
        document_compare(document, schema, body, "", &out);
        if ((out.size == 0) != cases[i].fits)
            fail_msg("%s: %s", cases[i].body, buffer_text(&out));
    }
}

static void
a_submission_is_shown_as_it_is_described(void **state)
{
    (void)state;
    char *dev = join(&estate.place, "vision", "dev", WORK, "developer");
    tell(&estate.place, dev, "POST", WORK "/workloads",
         "{\"name\":\"full\",\"class\":\"vision\",\"image\":\"x\","
         "\"memory_mib\":1,\"cpu_milli\":1,\"instances\":1,"
         "\"spec\":{\"command\":[\"x\",\"\"],\"env\":{\"A\":\"\"},"
         "\"workdir\":\"/w\",\"ports\":[{\"name\":\"p\",\"port\":65535}],"
         "\"volumes\":[{\"volume\":\"data\",\"path\":\"/d\"}],"
         "\"checkpoint\":\"/d/c\",\"topology\":{\"level\":\"node\"},"
         "\"spread\":{\"level\":\"leaf\",\"most\":2,\"mode\":\"preferred\"},"
         "\"requires\":{\"driver\":\"5\"}}}",
         201);
    scoped_json work = described_to(dev, "GET", WORK "/workloads/full", NULL,
                                    WORKLOADS "/{workload}");
    assert_int_equal(json_object_size(json_object_get(work, "spec")), 9);
    free(dev);
}

/* What costs much may be refused for a while; the answer says how long. */
static void
a_refusal_for_its_cost_says_when_to_ask_again(void **state)
{
    (void)state;
    size_t heavy = 0;
    for (size_t i = 0; i < route_count; i++) {
        const struct route *route = &route_table[i];
        if ((route->flags & ROUTE_HEAVY) == 0 ||
            strstr(route->path, "/units/") != NULL)
            continue;
        const json_t *operation = document_operation(
            document, strcmp(route->method, "GET") == 0 ? "get" : "post",
            route->path);
        assert_non_null(document_content(operation, "429",
                                         "application/problem+json"));
        const json_t *refused = json_object_get(
            json_object_get(operation, "responses"), "429");
        assert_non_null(json_object_get(json_object_get(refused, "headers"),
                                        "Retry-After"));
        heavy++;
    }
    assert_true(heavy > 5);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_that_is_not_named_is_seen),
        cmocka_unit_test(why_work_waits_is_described_with_all_its_classes),
        cmocka_unit_test(why_a_gang_does_not_grow_is_described),
        cmocka_unit_test(an_object_with_names_is_described),
        cmocka_unit_test(
            what_a_restore_left_is_described_with_times_as_everywhere),
        cmocka_unit_test(an_alarm_that_was_looked_into_is_described),
        cmocka_unit_test(moves_and_forecasts_are_described),
        cmocka_unit_test(a_backup_is_bytes),
        cmocka_unit_test(a_submission_names_its_class_in_one_of_three_ways),
        cmocka_unit_test(a_submission_is_shown_as_it_is_described),
        cmocka_unit_test(a_refusal_for_its_cost_says_when_to_ask_again),
        cmocka_unit_test(what_is_decided_after_a_restore_is_described),
    };
    return cmocka_run_group_tests_name("document", tests, set_up, tear_down);
}
