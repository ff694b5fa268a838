/* SPDX-License-Identifier: Apache-2.0 */
#include "control/execute.h"
#include "tests/unit/api/estate.h"

/* What the campaign of tests/hostile/fields.c found, kept found. */

#define WORK "/tenants/vision/projects/work"

static struct estate estate;
static char *dev;

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    dev = join(&estate.place, "vision", "dev", WORK, "developer");
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(dev);
    estate_close(&estate);
    return 0;
}

static void
flags_are_0_or_1_and_since_goes_with_a_watch(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "?watch=2",       "?watch=yes",         "?watch=",
        "?since=1",       "?since=x",           "?watch=0&since=1",
        "?watch=-1",      "?watch=1&since=1e9", "?watch=true",
        "?watch=%31%20x",
    };
    struct place *place = &estate.place;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char path[128];
        (void)snprintf(path, sizeof path, WORK "/workloads%s", wrong[i]);
        tell(place, dev, "GET", path, NULL, 400);
        assert_non_null(strstr(buffer_text(&place->last.body), "\"field\":"));
    }
    tell(place, dev, "GET", WORK "/workloads?watch=0", NULL, 200);
}

static int
retire(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    world_each(changes->world, KIND_WORKLOAD, ref)
        if (world_workload(changes->world, ref)->state == WORKLOAD_CANCELLED)
            change_evict(changes, ref);
    return 0;
}

static void
retire_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.retire",
                        .component = "test",
                        .decide = retire,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

static void
submit(struct place *place, const char *name)
{
    char text[300];
    (void)snprintf(text, sizeof text,
                   "{\"name\":\"%s\",\"class\":\"vision\",\"image\":\"x\","
                   "\"memory_mib\":1,\"cpu_milli\":1,"
                   "\"spec\":{\"command\":[\"x\"]}}",
                   name);
    tell(place, dev, "POST", WORK "/workloads", text, 201);
}

static void
cancel(struct place *place, const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, WORK "/workloads/%s/cancel", name);
    tell(place, dev, "POST", path, NULL, 200);
}

/* Two held workloads, cancelled one after the other; only the first is
 * forgotten already, and a third one waits. */
static void
make_past(struct place *place)
{
    tell(place, place->root, "POST", "/tenants/vision/quotas",
         "{\"dimension\":\"workloads\",\"limit\":1}", 201);
    submit(place, "first");
    cancel(place, "first");
    harness_run(&place->harness, retire_step, NULL);
    submit(place, "second");
    cancel(place, "second");
    submit(place, "third");
}

static void
expect_page(struct place *place, const char *path, const char *name,
            char next[80])
{
    scoped_json page = ask(place, dev, "GET", path, NULL, 200);
    json_t *items = json_object_get(page, "items");
    const char *text = json_string_value(json_object_get(page, "next"));
    (void)snprintf(next, 80, "%s", text == NULL ? "" : text);
    assert_int_equal(json_array_size(items), name == NULL ? 0 : 1);
    if (name != NULL)
        assert_string_equal(
            json_string_value(
                json_object_get(json_array_get(items, 0), "name")),
            name);
}

static void
what_is_over_is_turned_over_page_by_page(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    char next[80], path[200];
    make_past(place);
    expect_page(place, WORK "/history?limit=1", "second", next);
    (void)snprintf(path, sizeof path, WORK "/history?limit=1&cursor=%s",
                   next);
    expect_page(place, path, "first", next);
    (void)snprintf(path, sizeof path, WORK "/history?limit=1&cursor=%s",
                   next);
    expect_page(place, path, NULL, next);
    assert_string_equal(next, "");
    tell(place, dev, "GET", WORK "/history?cursor=1e400", NULL, 400);
}

static void
a_workload_without_what_it_should_do_is_refused_by_the_field(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    tell(place, dev, "POST", WORK "/workloads",
         "{\"name\":\"a\",\"class\":\"vision\",\"image\":\"x\"}", 400);
    assert_non_null(
        strstr(buffer_text(&place->last.body), "\"field\":\"/spec\""));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flags_are_0_or_1_and_since_goes_with_a_watch),
        cmocka_unit_test(
            a_workload_without_what_it_should_do_is_refused_by_the_field),
        cmocka_unit_test(what_is_over_is_turned_over_page_by_page),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
