/* SPDX-License-Identifier: Apache-2.0 */
#include "control/execute.h"
#include "core/alarm.h"
#include "tests/unit/api/estate.h"

/* Which alarms are listed at which level, and to whom. */

#define WORK "/tenants/vision/projects/work"

static struct estate estate;

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    estate_close(&estate);
    return 0;
}

/* --- raising --- */

struct raising {
    const struct side *side;
    enum kind about;
    const char *code;
};

static int
raise_it(struct changes *changes, void *data, struct error *err)
{
    const struct raising *raising = data;
    const struct world *world = changes->world;
    struct ref about = raising->about == KIND_PLATFORM
                           ? world_platform_ref(world)
                       : raising->about == KIND_POOL
                           ? world_first(world, KIND_POOL)
                           : estate_ref(world, raising->side, raising->about);
    (void)err;
    alarm_raise(changes, about, raising->code, "it is so");
    return 0;
}

static void
raise_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.raise",
                        .component = "test",
                        .decide = raise_it,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

static void
raise_about(const struct side *side, enum kind about, const char *code)
{
    struct raising raising = {side, about, code};
    harness_run(&estate.place.harness, raise_step, &raising);
}

/* --- reading --- */

static json_t *
find(const json_t *list, const char *code)
{
    json_t *item;
    size_t index;
    json_array_foreach (json_object_get(list, "items"), index, item)
        if (strcmp(json_string_value(json_object_get(item, "code")), code) ==
            0)
            return item;
    return NULL;
}

static bool
lists(const char *token, const char *path, const char *code)
{
    scoped_json list = ask(&estate.place, token, "GET", path, NULL, 200);
    return find(list, code) != NULL;
}

static void
the_platforms_list_holds_those_of_nodes_and_cards(void **state)
{
    (void)state;
    const char *root = estate.place.root;
    raise_about(&estate.vision, KIND_NODE, "report.card");
    raise_about(&estate.vision, KIND_CARD, "card.health");
    scoped_json list = ask(&estate.place, root, "GET", "/alarms", NULL, 200);
    json_t *alarm = find(list, "report.card");
    assert_non_null(alarm);
    assert_string_equal(json_string_value(json_object_get(alarm, "parent")),
                        estate.vision.ids[KIND_NODE]);
    assert_non_null(find(list, "card.health"));
    /* Their names come with them. */
    assert_string_equal(
        json_string_value(json_object_get(json_object_get(list, "names"),
                                          estate.vision.ids[KIND_NODE])),
        "vision");
    char path[128];
    (void)snprintf(path, sizeof path, "/alarms/%s",
                   json_string_value(json_object_get(alarm, "id")));
    tell(&estate.place, root, "GET", path, NULL, 200);
}

static void
a_tenants_list_holds_those_below_it_and_no_others(void **state)
{
    (void)state;
    const char *root = estate.place.root;
    raise_about(&estate.vision, KIND_PROJECT, "quota.soft");
    raise_about(&estate.vision, KIND_WORKLOAD, "quota.beyond");
    raise_about(&estate.research, KIND_PROJECT, "quota.other");
    assert_true(lists(estate.vision.admin, "/tenants/vision/alarms",
                      "quota.soft"));
    assert_true(lists(estate.vision.admin, "/tenants/vision/alarms",
                      "quota.beyond"));
    assert_true(lists(estate.vision.admin, WORK "/alarms", "quota.beyond"));
    assert_false(lists(root, "/tenants/vision/alarms", "quota.other"));
    assert_false(lists(root, "/alarms", "quota.soft"));
}

static void
a_tenant_is_told_no_alarm_of_a_node(void **state)
{
    (void)state;
    const char *boss = estate.vision.admin;
    char path[128];
    raise_about(&estate.vision, KIND_NODE, "node.lost");
    (void)client_send(&estate.place, boss, "GET", "/alarms", NULL);
    assert_null(strstr(buffer_text(&estate.place.last.body), "node.lost"));
    assert_false(lists(boss, "/tenants/vision/alarms", "node.lost"));
    scoped_json list =
        ask(&estate.place, estate.place.root, "GET", "/alarms", NULL, 200);
    (void)snprintf(path, sizeof path, "/alarms/%s",
                   json_string_value(
                       json_object_get(find(list, "node.lost"), "id")));
    assert_true(client_send(&estate.place, boss, "GET", path, NULL) >= 403);
}

/* Whose guarantees are at risk, and what lies apart in a pool, is about all
 * tenants. */
static void
a_tenant_is_told_no_alarm_of_a_pool_or_the_platform(void **state)
{
    (void)state;
    const char *boss = estate.vision.admin;
    static const enum kind kinds[] = {KIND_POOL, KIND_PLATFORM};
    static const char *const codes[] = {"pool.fragmented", "quota.at-risk"};
    for (int i = 0; i < 2; i++) {
        char path[128];
        raise_about(&estate.vision, kinds[i], codes[i]);
        (void)client_send(&estate.place, boss, "GET", "/alarms", NULL);
        assert_null(strstr(buffer_text(&estate.place.last.body), codes[i]));
        assert_false(lists(boss, "/tenants/vision/alarms", codes[i]));
        scoped_json list =
            ask(&estate.place, estate.place.root, "GET", "/alarms", NULL, 200);
        (void)snprintf(path, sizeof path, "/alarms/%s",
                       json_string_value(
                           json_object_get(find(list, codes[i]), "id")));
        assert_true(client_send(&estate.place, boss, "GET", path, NULL) >=
                    403);
    }
}

/* --- watching --- */

static bool
until_event(const char *bytes, size_t size, void *data)
{
    struct buffer *text = data;
    buffer_add(text, bytes, size);
    return strstr(buffer_text(text), "\n\n") == NULL ||
           strstr(buffer_text(text), "data: ") == NULL;
}

/* The first event after that revision. */
static void
watch_one(const char *where, json_int_t since, struct buffer *text)
{
    char authorization[128], path[200];
    scoped_answer answer = {0};
    struct error err;
    (void)snprintf(authorization, sizeof authorization,
                   "Authorization: Bearer %s", estate.place.root);
    (void)snprintf(path, sizeof path, "/api/v1%s?watch=1&since=%lld", where,
                   (long long)since);
    struct http_request request = {.method = "GET",
                                   .path = path,
                                   .headers = {authorization},
                                   .timeout_ms = 20000};
    assert_int_equal(http_stream(&estate.place.target, &request, &answer,
                                 until_event, text, &err),
                     0);
    assert_int_equal(answer.status, 200);
}

static void
a_watch_tells_what_the_list_would_hold(void **state)
{
    (void)state;
    scoped_buffer text = {0}, below = {0};
    scoped_json all =
        ask(&estate.place, estate.place.root, "GET", "/alarms", NULL, 200);
    scoped_json vision = ask(&estate.place, estate.place.root, "GET",
                             "/tenants/vision/alarms", NULL, 200);
    raise_about(&estate.research, KIND_CARD, "card.missing");
    raise_about(&estate.vision, KIND_INSTANCE, "quota.late");
    watch_one("/alarms",
              json_integer_value(json_object_get(all, "revision")), &text);
    assert_non_null(strstr(buffer_text(&text), "card.missing"));
    watch_one("/tenants/vision/alarms",
              json_integer_value(json_object_get(vision, "revision")),
              &below);
    assert_non_null(strstr(buffer_text(&below), "quota.late"));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_platforms_list_holds_those_of_nodes_and_cards),
        cmocka_unit_test(a_tenants_list_holds_those_below_it_and_no_others),
        cmocka_unit_test(a_tenant_is_told_no_alarm_of_a_node),
        cmocka_unit_test(a_tenant_is_told_no_alarm_of_a_pool_or_the_platform),
        cmocka_unit_test(a_watch_tells_what_the_list_would_hold),
    };
    return cmocka_run_group_tests_name("alarms", tests, set_up, tear_down);
}
