/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

/* What tenants of each isolation share: pools, nodes and cards. */

struct stage {
    struct scene scene;
    struct ref pool, node, blue, red, blue_project, red_project, one, half;
};

static void
stage_setup(struct stage *s)
{
    memset(s, 0, sizeof(*s));
    scene_setup(&s->scene);
    s->pool = scene_pool(&s->scene, "a");
    s->node = scene_node(&s->scene, s->pool, "n1", 4, "h100");
    s->blue = scene_tenant(&s->scene, "blue");
    s->red = scene_tenant(&s->scene, "red");
    s->blue_project = scene_project(&s->scene, s->blue, "p");
    s->red_project = scene_project(&s->scene, s->red, "q");
    s->one = scene_class(&s->scene, "h100.1", "h100", 1);
    s->half = scene_share(&s->scene, "half", 500, 0);
    (void)scene_quota(&s->scene, s->blue, DIMENSION_CARDS, 0, CARDS(8));
    (void)scene_quota(&s->scene, s->red, DIMENSION_CARDS, 0, CARDS(8));
}

static void
isolate(struct stage *s, struct ref ref, enum isolation isolation)
{
    scene_edit(&s->scene, changes, tenant, ref);

    tenant->isolation = (int)isolation;
    scene_apply(&s->scene, changes);
}

/* A pool with one node of 2 cards, dedicated to one tenant. */
static struct ref
dedicate(struct stage *s, const char *name, struct ref tenant)
{
    struct ref ref = scene_pool(&s->scene, name);
    char id[ID_TEXT_MAX], list[ID_TEXT_MAX + 8], node[NAME_MAX_SIZE];

    (void)snprintf(node, sizeof(node), "%s-n", name);
    (void)scene_node(&s->scene, ref, node, 2, "h100");
    object_id_text(s->scene.world, tenant, id);
    (void)snprintf(list, sizeof(list), "[\"%s\"]", id);
    {
        scene_edit(&s->scene, changes, pool, ref);

        pool->kind = POOL_DEDICATED;
        change_doc(changes, &pool->tenants, list);
        scene_apply(&s->scene, changes);
    }
    return ref;
}

static void
overflow(struct stage *s)
{
    scene_edit(&s->scene, changes, pool, s->pool);

    pool->overflow = true;
    scene_apply(&s->scene, changes);
}

static struct job
job_of(struct ref project, struct ref class)
{
    return (struct job){ .project = project, .class = class };
}

/* The number of the tenant's live bindings in a pool. */
static int
bound_in(const struct stage *s, struct ref tenant, struct ref pool)
{
    int count = 0;

    world_each(s->scene.world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(s->scene.world, ref);

        count += binding->to_ms == 0 && ref_equal(binding->pool, pool) &&
                 world_is_below(s->scene.world, binding->project, tenant);
    }
    return count;
}

/* Not even a pool that takes the overflow of nodepool tenants. */
static void
a_cluster_tenant_gets_its_own_pools_alone(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct ref own, works[3];

    (void)state;
    stage_setup(&s);
    isolate(&s, s.red, ISOLATION_CLUSTER);
    overflow(&s);
    (void)dedicate(&s, "theirs", s.blue);
    verdict = scene_try(&s.scene, job_of(s.red_project, s.one));
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_int_equal(verdict.reason, REASON_POLICY);
    assert_string_equal(verdict.text,
                        "there is no pool that tenant red, isolated as a "
                        "cluster, may use: a pool dedicated to it would do");
    own = dedicate(&s, "own", s.red);
    for (int i = 0; i < 3; i++)
        works[i] = scene_submit(&s.scene, job_of(s.red_project, s.one));
    scene_run(&s.scene);
    assert_int_equal(bound_in(&s, s.red, own), 2);
    assert_int_equal(bound_in(&s, s.red, s.pool), 0);
    assert_int_equal(scene_state(&s.scene, works[2]), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

static void
a_refused_pool_is_told_with_the_one_that_would_do(void **state)
{
    struct stage s;
    struct verdict verdict;
    struct job job;

    (void)state;
    stage_setup(&s);
    isolate(&s, s.red, ISOLATION_CLUSTER);
    (void)dedicate(&s, "own", s.red);
    job = job_of(s.red_project, s.one);
    job.pool = s.pool;
    verdict = scene_try(&s.scene, job);
    assert_int_equal(verdict.state, WORKLOAD_REJECTED);
    assert_string_equal(verdict.text,
                        "its pool is not among those that tenant red, "
                        "isolated as a cluster, may use: pool own would do");
    scene_teardown(&s.scene);
}

/* Whoever comes first keeps the other from the node. */
static void
a_nodepool_tenant_has_its_node_alone_in_both_directions(void **state)
{
    for (int first = 0; first < 2; first++) {
        struct stage s;
        struct ref mine, theirs;

        (void)state;
        stage_setup(&s);
        isolate(&s, s.red, ISOLATION_NODEPOOL);
        overflow(&s);
        mine = scene_submit(&s.scene,
                            job_of(first == 0 ? s.red_project
                                              : s.blue_project,
                                   s.one));
        scene_run(&s.scene);
        theirs = scene_submit(&s.scene,
                              job_of(first == 0 ? s.blue_project
                                                : s.red_project,
                                     s.one));
        scene_run(&s.scene);
        assert_int_equal(scene_state(&s.scene, mine), WORKLOAD_ASSIGNED);
        assert_int_equal(scene_state(&s.scene, theirs), WORKLOAD_QUEUED);
        scene_finish(&s.scene, mine, 0);
        scene_run(&s.scene);
        assert_int_equal(scene_state(&s.scene, theirs), WORKLOAD_ASSIGNED);
        scene_teardown(&s.scene);
    }
}

/* Three cards are full: the two halves that are free are on one card, of which
 * the other tenant has a part. */
static void
soft_shares_of_two_tenants_are_never_on_one_card(void **state)
{
    struct stage s;
    struct ref mine, theirs, again;

    (void)state;
    stage_setup(&s);
    for (int i = 0; i < 3; i++)
        (void)scene_running(&s.scene, job_of(s.blue_project, s.one));
    mine = scene_submit(&s.scene, job_of(s.blue_project, s.half));
    scene_run(&s.scene);
    theirs = scene_submit(&s.scene, job_of(s.red_project, s.half));
    again = scene_submit(&s.scene, job_of(s.blue_project, s.half));
    scene_run(&s.scene);
    assert_int_equal(scene_state(&s.scene, mine), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_state(&s.scene, theirs), WORKLOAD_QUEUED);
    assert_int_equal(scene_state(&s.scene, again), WORKLOAD_ASSIGNED);
    /* It is shown as what it is, on the work and on what is bound. */
    assert_int_equal(world_workload(s.scene.world, mine)->form, FORM_SOFT);
    world_each(s.scene.world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(s.scene.world, ref);

        if (ref_equal(binding->workload, mine))
            assert_int_equal(binding->form, FORM_SOFT);
        else if (!ref_equal(binding->workload, again))
            assert_int_equal(binding->form, FORM_WHOLE);
    }
    scene_teardown(&s.scene);
}

#define MANY_PORTS                                                            \
    "{\"command\":[\"x\"],\"ports\":[{\"name\":\"a\",\"port\":1},"              \
    "{\"name\":\"b\",\"port\":2},{\"name\":\"c\",\"port\":3}]}"

/* [S37] What runs inside is no consumer of its own: one instance, one share. */
static void
an_instance_is_one_consumer_whatever_runs_in_it_S37(void **state)
{
    struct stage s;
    struct job job;

    (void)state;
    stage_setup(&s);
    job = job_of(s.blue_project, s.half);
    job.spec = MANY_PORTS;
    for (int i = 0; i < 8; i++)
        (void)scene_submit(&s.scene, job);
    scene_run(&s.scene);
    /* 4 cards hold 8 halves. */
    assert_int_equal(s.scene.assigned, 8);
    assert_int_equal(bound_in(&s, s.blue, s.pool), 8);
    scene_teardown(&s.scene);
}

/* [S39] Shares and whole cards draw on one unit: used milli-cards are counted
 * once on the card, in the tenant's quota and in the bindings. */
static void
a_card_is_counted_once_in_whatever_form_it_is_taken_S39(void **state)
{
    struct stage s;
    int64_t cards = 0, bound = 0, used = 0;

    (void)state;
    stage_setup(&s);
    (void)scene_submit(&s.scene, job_of(s.blue_project, s.one));
    for (int i = 0; i < 3; i++)
        (void)scene_submit(&s.scene, job_of(s.blue_project, s.half));
    scene_run(&s.scene);
    world_each(s.scene.world, KIND_CARD, ref)
        cards += world_card(s.scene.world, ref)->used_milli;
    world_each(s.scene.world, KIND_BINDING, ref)
        bound += world_binding(s.scene.world, ref)->milli;
    world_each_child(s.scene.world, KIND_QUOTA, s.blue, ref)
        used += world_quota(s.scene.world, ref)->used;
    assert_int_equal(cards, 2500);
    assert_int_equal(bound, 2500);
    assert_int_equal(used, 2500);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_tenant_gets_its_own_pools_alone),
        cmocka_unit_test(a_refused_pool_is_told_with_the_one_that_would_do),
        cmocka_unit_test(
            a_nodepool_tenant_has_its_node_alone_in_both_directions),
        cmocka_unit_test(soft_shares_of_two_tenants_are_never_on_one_card),
        cmocka_unit_test(an_instance_is_one_consumer_whatever_runs_in_it_S37),
        cmocka_unit_test(
            a_card_is_counted_once_in_whatever_form_it_is_taken_S39),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
