/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/explain.h"
#include "core/want.h"

/*
 * Work that says how much accelerator memory it needs.  Node n1 has two cards
 * of 40 GiB, node n2 two of 80 GiB, n3 in a pool of blue's own one of 140.
 */

struct stage {
    struct scene scene;
    struct ref pool, own, tenant, project, small, large, pair, huge, half;
};

static void
set_memory(struct scene *scene, struct ref node, int64_t mib)
{
    world_each_child(scene->world, KIND_CARD, node, ref) {
        scene_edit(scene, changes, card, ref);

        card->memory_mib = mib;
        scene_apply(scene, changes);
    }
}

static void
price(struct scene *scene, const char *model, int64_t nano)
{
    struct changes *changes = scene_begin(scene);
    struct price *row =
        change_create(changes, KIND_PRICE, scene->platform, "");

    (void)snprintf(row->model, sizeof(row->model), "%s", model);
    row->nano = nano;
    row->from_ms = SCENE_NOW;
    scene_apply(scene, changes);
}

static void
stage_setup(struct stage *s)
{
    struct ref node;

    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    node = scene_node(&s->scene, s->pool, "n1", 2, "a100");
    set_memory(&s->scene, node, 40960);
    (void)scene_node(&s->scene, s->pool, "n2", 2, "h100");
    s->tenant = scene_tenant(&s->scene, "blue");
    s->project = scene_project(&s->scene, s->tenant, "p");
    s->large = scene_class(&s->scene, "h100.1", "h100", 1);
    s->small = scene_class(&s->scene, "a100.1", "a100", 1);
    s->pair = scene_class(&s->scene, "h100.2", "h100", 2);
    s->huge = scene_class(&s->scene, "b200.1", "b200", 1);
    s->half = scene_share(&s->scene, "any.half", 500, 0);
    price(&s->scene, "a100", 1000);
    price(&s->scene, "h100", 3000);
}

static const struct want *
find(const struct want *list, size_t count, struct ref class)
{
    for (size_t i = 0; i < count; i++)
        if (ref_equal(list[i].class, class))
            return &list[i];
    fail();
    return NULL;
}

static struct want *
wants(struct stage *s, int64_t mib, size_t *count)
{
    struct workload work = { .object.parent = s->project,
                             .object.scope = s->tenant,
                             .preemptible = true };

    return want_list(s->scene.world, &work, mib, SCENE_NOW, s->scene.arena,
                     count);
}

static void
each_class_fits_or_lacks_something(void **state)
{
    struct stage s;
    const struct want *list;
    size_t count;

    (void)state;
    stage_setup(&s);
    (void)scene_begin(&s.scene);
    list = wants(&s, 20480, &count);
    assert_int_equal(count, 5);
    /* Half of the smallest card is 20 GiB and costs half of the dearest card
     * that it could be: 1500 an hour; a whole a100 costs 1000. */
    assert_true(ref_equal(list[0].class, s.small));
    assert_int_equal(list[0].cost_nano, 1000);
    assert_true(ref_equal(list[1].class, s.half));
    assert_int_equal(list[1].memory_mib, 20480);
    assert_int_equal(list[1].cost_nano, 1500);
    assert_true(ref_equal(list[2].class, s.large));
    assert_int_equal(list[2].cost_nano, 3000);
    assert_int_equal(find(list, count, s.pair)->why, WANT_SEVERAL);
    assert_int_equal(find(list, count, s.huge)->why, WANT_NO_CARD);
    list = wants(&s, 20481, &count);
    assert_int_equal(find(list, count, s.half)->why, WANT_TOO_SMALL);
    list = wants(&s, 40961, &count);
    assert_true(ref_equal(list[0].class, s.large));
    assert_int_equal(find(list, count, s.small)->why, WANT_TOO_SMALL);
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

static void
a_class_that_the_tenant_may_not_use_falls_out(void **state)
{
    struct stage s;
    const struct want *list;
    char list_text[80], id[ID_TEXT_MAX];
    size_t count;

    (void)state;
    stage_setup(&s);
    {
        scene_edit(&s.scene, changes, tenant, s.tenant);

        object_id_text(s.scene.world, s.small, id);
        (void)snprintf(list_text, sizeof(list_text), "[\"%s\"]", id);
        change_doc(changes, &tenant->classes, list_text);
        scene_apply(&s.scene, changes);
    }
    (void)scene_begin(&s.scene);
    list = wants(&s, 1, &count);
    assert_true(ref_equal(list[0].class, s.small));
    assert_int_equal(list[0].why, WANT_FITS);
    assert_int_equal(find(list, count, s.large)->why, WANT_NOT_ALLOWED);
    assert_int_equal(find(list, count, s.half)->why, WANT_NOT_ALLOWED);
    arena_free(s.scene.arena);
    s.scene.arena = NULL;
    scene_teardown(&s.scene);
}

static void
nothing_that_fits_is_refused_with_what_each_lacks(void **state)
{
    struct stage s;
    struct workload work = { .preemptible = true };
    scoped_json ids = json_array();
    struct error err;

    (void)state;
    stage_setup(&s);
    work.object.parent = s.project;
    work.object.scope = s.tenant;
    assert_int_equal(want_classes(s.scene.world, &work, 81921, SCENE_NOW, ids,
                                  &err),
                     -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_non_null(strstr(err.text, "h100.1: 81920 MiB, 81921 needed"));
    assert_non_null(strstr(err.text, "a100.1: 40960 MiB"));
    assert_non_null(strstr(err.text, "h100.2: several cards"));
    assert_non_null(strstr(err.text, "b200.1: no card"));
    assert_non_null(strstr(err.help, "request class"));
    assert_int_equal(want_classes(s.scene.world, &work, 81920, SCENE_NOW, ids,
                                  &err),
                     0);
    assert_int_equal(json_array_size(ids), 1);
    scene_teardown(&s.scene);
}

/* In a pool of its own a class is only as large as the cards there. */
static void
only_pools_where_it_may_run_count(void **state)
{
    struct stage s;
    struct workload work = { .preemptible = true };
    scoped_json ids = json_array();
    struct ref other;
    struct error err;

    (void)state;
    stage_setup(&s);
    other = scene_pool(&s.scene, "b");
    (void)scene_node(&s.scene, other, "n3", 1, "b200");
    work.object.parent = s.project;
    work.object.scope = s.tenant;
    work.pool = s.pool;
    assert_int_equal(want_classes(s.scene.world, &work, 61440, SCENE_NOW, ids,
                                  &err),
                     0);
    assert_int_equal(json_array_size(ids), 1); /* h100.1 */
    work.pool = other;
    json_array_clear(ids);
    assert_int_equal(want_classes(s.scene.world, &work, 61440, SCENE_NOW, ids,
                                  &err),
                     0);
    assert_int_equal(json_array_size(ids), 1); /* b200.1 */
    scene_teardown(&s.scene);
}

/* It waits with all classes that would do, and says what became of each. */
static void
explain_names_every_class_considered(void **state)
{
    struct stage s;
    struct ref work;
    scoped_json json = NULL;
    scoped_arena arena = arena_new();
    json_t *item;
    size_t i;
    int fits = 0;

    (void)state;
    stage_setup(&s);
    work = scene_submit(&s.scene, (struct job){ .project = s.project,
                                                .class = s.large });
    {
        scene_edit(&s.scene, changes, workload, work);

        workload->min_accel_memory_mib = 61440;
        scene_apply(&s.scene, changes);
    }
    json = explain_workload(s.scene.world, work, SCENE_NOW, arena);
    json_array_foreach(json_object_get(json, "considered"), i, item)
        fits += json_is_true(json_object_get(item, "fits"));
    assert_int_equal(i, 5);
    assert_int_equal(fits, 1);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_class_fits_or_lacks_something),
        cmocka_unit_test(a_class_that_the_tenant_may_not_use_falls_out),
        cmocka_unit_test(nothing_that_fits_is_refused_with_what_each_lacks),
        cmocka_unit_test(only_pools_where_it_may_run_count),
        cmocka_unit_test(explain_names_every_class_considered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
