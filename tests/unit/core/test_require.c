/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include "core/explain.h"
#include "core/require.h"

/* What nodes and cards must be: node n1 has driver 535.1, node n2 550.54. */

struct stage {
    struct scene scene;
    struct ref pool, n1, n2, one, two, tenant, project;
};

static void
set_facts(struct scene *scene, struct ref ref, const char *driver,
          const char *facts)
{
    struct changes *changes = scene_begin(scene);
    struct node *node = change_update(changes, ref);

    change_doc(changes, &node->facts, facts);
    world_each_child(scene->world, KIND_CARD, ref, at) {
        struct card *card = change_update(changes, at);

        (void)snprintf(card->driver, sizeof(card->driver), "%s", driver);
    }
    scene_apply(scene, changes);
}

static void
setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "p");
    s->n1 = scene_node(&s->scene, s->pool, "n1", 2, "h100");
    s->n2 = scene_node(&s->scene, s->pool, "n2", 2, "h100");
    set_facts(&s->scene, s->n1, "535.1", "{\"runtime\":\"crun 1.8.1\"}");
    set_facts(&s->scene, s->n2, "550.54", "{\"runtime\":\"crun 1.14\"}");
    s->one = scene_class(&s->scene, "x1", "h100", 1);
    s->two = scene_class(&s->scene, "x2", "h100", 2);
    s->tenant = scene_tenant(&s->scene, "a");
    s->project = scene_project(&s->scene, s->tenant, "pa");
    (void)scene_quota(&s->scene, s->tenant, DIMENSION_CARDS, 0, CARDS(8));
}

static struct ref
rule(struct stage *s, struct ref class, const char *image, const char *fact,
     const char *at_least, const char *below)
{
    struct changes *changes = scene_begin(&s->scene);
    struct requirement *made = change_create(changes, KIND_REQUIREMENT,
                                             s->scene.platform, "cuda-12");
    struct ref ref = made->object.self;

    made->class = class;
    (void)snprintf(made->image, sizeof(made->image), "%s", image);
    (void)snprintf(made->fact, sizeof(made->fact), "%s", fact);
    (void)snprintf(made->at_least, sizeof(made->at_least), "%s", at_least);
    (void)snprintf(made->below, sizeof(made->below), "%s", below);
    scene_apply(&s->scene, changes);
    return ref;
}

static struct ref
submit(struct stage *s, struct ref class, const char *image,
       const char *spec)
{
    struct changes *changes = scene_begin(&s->scene);
    struct job job = { .project = s->project, .class = class, .spec = spec };
    struct workload *workload = scene_image(changes, &job);
    struct ref ref = workload->object.self;
    struct verdict verdict;

    (void)snprintf(workload->image, sizeof(workload->image), "%s", image);
    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "submitted; not yet evaluated");
    reason_put(workload, &verdict, s->scene.now_ms);
    workload->submitted_ms = s->scene.now_ms;
    scene_apply(&s->scene, changes);
    return ref;
}

static struct ref
node_of(const struct stage *s, struct ref work)
{
    return world_instance(s->scene.world, scene_instance(&s->scene, work))
        ->node;
}

static void
versions_are_compared_number_by_number(void **state)
{
    static const struct {
        const char *a, *b;
        int order;
    } list[] = {
        { "1.8.1", "1.14", -1 },   { "crun 1.8.1", "1.8.1", 0 },
        { "550.54.14", "550", 1 }, { "550", "550.0", 0 },
        { "10", "9", 1 },          { "none", "0", -1 },
        { "v2-rc1", "2", 0 },      { "535.9", "535.161", -1 },
        { "535.161.08", "535.161", 1 }, { "535.161.8", "535.161.08", 0 },
        { "12.10", "12.9", 1 },   { "550.54", "550.54.14", -1 },
             { "6.1.0-25-amd64", "6.1", 0 },
        { "", "", 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        assert_int_equal(require_compare(list[i].a, list[i].b),
                         list[i].order);
        assert_int_equal(require_compare(list[i].b, list[i].a),
                         -list[i].order);
    }
}

static void
what_is_not_said_is_not_fulfilled(void **state)
{
    struct need least = { .at_least = "1" }, most = { .below = "9" },
                same = { .equals = "nvidia" };

    (void)state;
    assert_false(require_fact(&least, ""));
    assert_false(require_fact(&most, ""));
    assert_false(require_fact(&most, "unknown"));
    (void)snprintf(same.fact, sizeof(same.fact), "vendor");
    assert_false(require_fact(&same, NULL));
    assert_true(require_fact(&least, "1.0"));
    assert_false(require_fact(&most, "9.0"));
    assert_true(require_fact(&most, "8.9"));
    assert_false(require_fact(&same, "nvidia2"));
    assert_true(require_fact(&same, "nvidia"));
}

/* Two cards of four have the driver: that is where the work goes, and the
 * third waits for them although others are free. */
static void
work_goes_to_cards_that_are_what_its_class_needs(void **state)
{
    struct stage s;
    struct ref first, second, third, other;

    (void)state;
    setup(&s);
    (void)rule(&s, s.one, "", "driver", "550", "");
    first = submit(&s, s.one, "base", NULL);
    second = submit(&s, s.one, "base", NULL);
    third = submit(&s, s.one, "base", NULL);
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, first), s.n2));
    assert_true(ref_equal(node_of(&s, second), s.n2));
    assert_int_equal(scene_state(&s.scene, third), WORKLOAD_QUEUED);
    assert_int_equal(scene_workload(&s.scene, third)->reason,
                     REASON_COMPATIBILITY);
    /* Another class is not concerned. */
    other = submit(&s, s.two, "base", NULL);
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, other), s.n1));
    scene_teardown(&s.scene);
}

static void
an_image_needs_a_fact_of_the_node(void **state)
{
    struct stage s;
    struct ref cuda, base;

    (void)state;
    setup(&s);
    (void)rule(&s, (struct ref){ 0 }, "cuda12", "runtime", "1.14", "");
    base = submit(&s, s.two, "base", NULL);
    scene_run(&s.scene);
    cuda = submit(&s, s.two, "cuda12-torch", NULL);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, base), WORKLOAD_ASSIGNED);
    if (ref_equal(node_of(&s, base), s.n1))
        assert_true(ref_equal(node_of(&s, cuda), s.n2));
    else
        assert_int_equal(scene_workload(&s.scene, cuda)->reason,
                         REASON_COMPATIBILITY);
    scene_teardown(&s.scene);
}

/* "Never" while no card is what it needs, and the words name the rule; once a
 * driver is new enough it starts. */
static void
what_no_card_is_makes_it_never_and_an_upgrade_ends_that(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref work;

    (void)state;
    setup(&s);
    work = submit(&s, s.one, "base", NULL);
    (void)rule(&s, s.one, "", "driver", "560", "");
    verdict = scene_try(&s.scene, (struct job){ .project = s.project,
                                                .class = s.one });
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.reason, REASON_COMPATIBILITY);
    assert_non_null(strstr(verdict.text, "driver at least 560"));
    assert_non_null(strstr(verdict.text, "requirement cuda-12"));
    assert_non_null(strstr(verdict.text, "4 of the 4 cards"));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_GATED);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_COMPATIBILITY);
    set_facts(&s.scene, s.n1, "565.57", "{}");
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, work), s.n1));
    scene_teardown(&s.scene);
}

/* The facts of a node alone end it too: its cards are as they were. */
static void
a_new_runtime_ends_never_as_well(void **state)
{
    struct stage s;
    struct ref work;

    (void)state;
    setup(&s);
    (void)rule(&s, s.one, "", "runtime", "2", "");
    work = submit(&s, s.one, "base", NULL);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_GATED);
    set_facts(&s.scene, s.n1, "535.1", "{\"runtime\":\"crun 2.0\"}");
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, work), s.n1));
    scene_teardown(&s.scene);
}

/* Without any rule it is the shape that is impossible. */
static void
a_shape_that_is_too_large_is_not_blamed_on_rules(void **state)
{
    struct stage s;
    struct verdict verdict;

    (void)state;
    setup(&s);
    (void)rule(&s, s.two, "", "driver", "550", "");
    verdict = scene_try(&s.scene, (struct job){ .project = s.project,
                                                .class = s.two,
                                                .instances = 5 });
    assert_int_equal(verdict.reason, REASON_SHAPE);
    verdict = scene_try(&s.scene, (struct job){ .project = s.project,
                                                .class = s.two,
                                                .instances = 2 });
    assert_int_equal(verdict.reason, REASON_COMPATIBILITY);
    scene_teardown(&s.scene);
}

/* The manifest's own: two workloads that differ in it alone. */
static void
a_manifest_may_require_a_version_itself(void **state)
{
    struct stage s;
    struct ref plain, picky;

    (void)state;
    setup(&s);
    (void)submit(&s, s.two, "base", "{\"requires\":{\"driver\":\"550\"}}");
    scene_run(&s.scene);
    picky = submit(&s, s.one, "base", "{\"requires\":{\"driver\":\"550\"}}");
    plain = submit(&s, s.one, "base", "{}");
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, picky), WORKLOAD_QUEUED);
    assert_true(ref_equal(node_of(&s, plain), s.n1));
    scene_teardown(&s.scene);
}

/* A rule that is made, changed or taken away concerns what waits. */
static void
a_rule_that_changes_is_followed(void **state)
{
    struct stage s;
    struct ref ref, work;

    (void)state;
    setup(&s);
    ref = rule(&s, s.two, "", "driver", "600", "");
    work = submit(&s, s.two, "base", NULL);
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, work), WORKLOAD_GATED);
    {
        scene_edit(&s.scene, changes, requirement, ref);

        (void)snprintf(requirement->at_least, sizeof(requirement->at_least),
                       "540");
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, work), s.n2));
    scene_teardown(&s.scene);
}

/* The change that explain names has cards that are what is needed. */
static void
explain_counts_what_falls_out_and_verifies_the_way_out(void **state)
{
    struct stage s;
    scoped_arena arena = arena_new();
    scoped_json json = NULL;
    const json_t *pool;
    struct ref third;
    json_t *filter;
    size_t i;
    int64_t cards = 0;

    (void)state;
    setup(&s);
    (void)rule(&s, s.one, "", "driver", "550", "");
    (void)rule(&s, s.one, "", "runtime", "1.10", "2");
    (void)rule(&s, s.one, "", "capability", "9.0", "");
    (void)rule(&s, s.one, "", "cuda", "12.4", "");
    for (int at = 0; at < 2; at++) {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, s.n2, at));

        (void)snprintf(card->arch, sizeof(card->arch), "hopper sm_90");
        (void)snprintf(card->runtime, sizeof(card->runtime), "CUDA 12.8");
        (void)snprintf(card->features, sizeof(card->features), "fp8");
        scene_apply(&s.scene, changes);
    }
    (void)submit(&s, s.one, "base", NULL);
    (void)submit(&s, s.one, "base", NULL);
    third = submit(&s, s.one, "base",
                   "{\"command\":[\"x\"],\"requires\":{\"arch\":\"hopper\","
                   "\"features\":\"fp8\"}}");
    scene_run(&s.scene);
    json = explain_workload(s.scene.world, third, s.scene.now_ms, arena);
    assert_true(json_is_true(json_object_get(
        json_object_get(json, "nearest"), "verified")));
    pool = json_array_get(json_object_get(json, "pools"), 0);
    json_array_foreach(json_object_get(pool, "filters"), i, filter)
        if (strcmp(json_string_value(json_object_get(filter, "filter")),
                   "compatibility") == 0)
            cards = json_integer_value(json_object_get(filter, "cards"));
    assert_int_equal(cards, 2);
    scene_teardown(&s.scene);
}

/* --- what cards say beside the driver --- */

static void
set_card(struct stage *s, struct ref node, int at, const char *arch,
         const char *runtime, const char *features)
{
    scene_edit(&s->scene, changes, card,
               scene_card_of(&s->scene, node, at));

    (void)snprintf(card->arch, sizeof(card->arch), "%s", arch);
    (void)snprintf(card->runtime, sizeof(card->runtime), "%s", runtime);
    (void)snprintf(card->features, sizeof(card->features), "%s", features);
    scene_apply(&s->scene, changes);
}

static struct verdict
verdict_of(struct stage *s, const char *spec)
{
    return scene_try(&s->scene, (struct job){ .project = s->project,
                                              .class = s->one,
                                              .spec = spec });
}

#define REQUIRES(what) "{\"command\":[\"x\"],\"requires\":{" what "}}"

/* n1: one hopper, one ampere; n2: two that say nothing. */
static void
runtime_capability_arch_and_features_are_required(void **state)
{
    static const struct {
        const char *spec;
        int state;
    } list[] = {
        { REQUIRES("\"cuda\":\"12.4\""), WORKLOAD_QUEUED },
        { REQUIRES("\"cuda\":\"12.9\""), WORKLOAD_REJECTED },
        { REQUIRES("\"rocm\":\"1\""), WORKLOAD_REJECTED },
        { REQUIRES("\"capability\":\"9.0\""), WORKLOAD_QUEUED },
        { REQUIRES("\"capability\":\"9.1\""), WORKLOAD_REJECTED },
        { REQUIRES("\"capability\":{\"below\":\"9\"}"),
          WORKLOAD_QUEUED },
        { REQUIRES("\"capability\":{\"at_least\":\"8.1\","
                   "\"below\":\"9\"}"),
          WORKLOAD_REJECTED },
        { REQUIRES("\"arch\":\"hopper\""), WORKLOAD_QUEUED },
        { REQUIRES("\"arch\":\"sm_80\""), WORKLOAD_QUEUED },
        { REQUIRES("\"arch\":\"hop\""), WORKLOAD_REJECTED },
        { REQUIRES("\"features\":\"fp8,nvlink\""), WORKLOAD_QUEUED },
        { REQUIRES("\"features\":\"fp8 mig\""), WORKLOAD_REJECTED },
        { REQUIRES("\"vendor\":\"nvidia\""), WORKLOAD_QUEUED },
        { REQUIRES("\"vendor\":\"amd\""), WORKLOAD_REJECTED },
    };
    struct stage s;

    (void)state;
    setup(&s);
    set_card(&s, s.n1, 0, "hopper sm_90", "CUDA 12.8", "bf16 fp8 nvlink");
    set_card(&s, s.n1, 1, "ampere sm_80", "CUDA 12.8", "bf16 mig");
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct verdict verdict = verdict_of(&s, list[i].spec);

        if (verdict.state != list[i].state)
            print_message("%s: %s\n", list[i].spec, verdict.text);
        assert_int_equal(verdict.state, list[i].state);
    }
    scene_teardown(&s.scene);
}

/* Of four cards two have 550.54, one has 535.161, one says nothing. */
static void
the_reason_says_how_many_cards_and_what_they_have(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref work;

    (void)state;
    setup(&s);
    for (int i = 0; i < 2; i++) {
        scene_edit(&s.scene, changes, card,
                   scene_card_of(&s.scene, s.n1, i));

        (void)snprintf(card->driver, sizeof(card->driver), "%s",
                       i == 0 ? "535.161" : "");
        scene_apply(&s.scene, changes);
    }
    verdict = verdict_of(&s, REQUIRES("\"driver\":\"560\""));
    assert_string_equal(
        verdict.text, "it needs driver at least 560 (its manifest): 4 of the 4 "
                      "cards of class x1 in pool p do not have it: 2 have "
                      "550.54, 1 have others, 1 does not say");
    (void)submit(&s, s.two, "base", REQUIRES("\"driver\":\"550\""));
    scene_run(&s.scene);
    work = submit(&s, s.one, "base", REQUIRES("\"driver\":\"550.54\""));
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, work)->reason,
                     REASON_COMPATIBILITY);
    assert_non_null(strstr(scene_workload(&s.scene, work)->reason_text,
                           "it needs driver at least 550.54 (its manifest): 1 "
                           "has 535.161, 1 does not say"));
    scene_teardown(&s.scene);
}

/* The class itself asks: no rule, no manifest. */
static void
a_class_may_ask_for_what_its_cards_say(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref work;

    (void)state;
    setup(&s);
    set_card(&s, s.n1, 1, "hopper sm_90", "CUDA 12.8", "fp8 nvlink");
    {
        scene_edit(&s.scene, changes, class, s.one);

        (void)snprintf(class->min_driver, sizeof(class->min_driver), "535");
        (void)snprintf(class->min_runtime, sizeof(class->min_runtime),
                       "CUDA 12.4");
        (void)snprintf(class->min_capability, sizeof(class->min_capability),
                       "9.0");
        (void)snprintf(class->arch, sizeof(class->arch), "hopper");
        (void)snprintf(class->features, sizeof(class->features), "fp8");
        scene_apply(&s.scene, changes);
    }
    work = submit(&s, s.one, "base", NULL);
    scene_run(&s.scene);
    assert_true(ref_equal(node_of(&s, work), s.n1));
    assert_int_equal(
        world_card(s.scene.world, scene_card_of(&s.scene, s.n1, 1))
            ->used_milli,
        1000);
    {
        scene_edit(&s.scene, changes, class, s.one);

        (void)snprintf(class->min_runtime, sizeof(class->min_runtime),
                       "CUDA 13.0");
        scene_apply(&s.scene, changes);
    }
    verdict = verdict_of(&s, "{\"command\":[\"x\"]}");
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_non_null(strstr(verdict.text, "cuda at least 13.0 (class x1)"));
    assert_non_null(strstr(verdict.text, "1 has 12.8, 3 do not say"));
    scene_teardown(&s.scene);
}

static void
refused(const char *requires, const char *words)
{
    struct error err = { 0 };
    scoped_json json = json_read(requires, strlen(requires), &err);

    assert_non_null(json);
    assert_int_equal(require_check_manifest(json, "/spec/requires", &err), -1);
    if (strstr(err.text, words) == NULL)
        print_message("%s\n", err.text);
    assert_non_null(strstr(err.text, words));
    assert_memory_equal(err.field, "/spec/requires", 14);
}

static void
what_makes_no_sense_is_refused_with_its_field(void **state)
{
    (void)state;
    refused("{\"mood\":\"1\"}", "no fact that can be required");
    refused("{\"driver\":\"new\"}", "a version has numbers");
    refused("{\"driver\":5}", "must be text, or an object of bounds");
    refused("{\"driver\":{\"most\":\"5\"}}", "takes at_least, below");
    refused("{\"driver\":{}}", "say what driver must be");
    refused("{\"driver\":{\"at_least\":\"535.161\",\"below\":\"535.9\"}}",
            "nothing is at least 535.161 and below 535.9");
    refused("{\"arch\":{\"at_least\":\"8\"}}", "arch is no version");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_are_compared_number_by_number),
        cmocka_unit_test(what_is_not_said_is_not_fulfilled),
        cmocka_unit_test(work_goes_to_cards_that_are_what_its_class_needs),
        cmocka_unit_test(an_image_needs_a_fact_of_the_node),
        cmocka_unit_test(
            what_no_card_is_makes_it_never_and_an_upgrade_ends_that),
        cmocka_unit_test(a_new_runtime_ends_never_as_well),
        cmocka_unit_test(a_shape_that_is_too_large_is_not_blamed_on_rules),
        cmocka_unit_test(a_manifest_may_require_a_version_itself),
        cmocka_unit_test(a_rule_that_changes_is_followed),
        cmocka_unit_test(
            explain_counts_what_falls_out_and_verifies_the_way_out),
        cmocka_unit_test(runtime_capability_arch_and_features_are_required),
        cmocka_unit_test(the_reason_says_how_many_cards_and_what_they_have),
        cmocka_unit_test(a_class_may_ask_for_what_its_cards_say),
        cmocka_unit_test(what_makes_no_sense_is_refused_with_its_field),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
