/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/kin.h"

/*
 * What users of other schedulers met: who takes from whom.  Each number is
 * counted by hand.  A node of cards, tenants a, b and c.
 */

/* --- gangs --- */

/* A gang of two takes four cards on each of two nodes; one is idle, on the
 * other lower work of its project runs. */
static void
a_gang_takes_idle_nodes_beside_those_that_it_frees(void **state)
{
    struct stage s;
    struct ref low, high;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    (void)cards_of(&s, s.a, 0, CARDS(8));
    job = job_in(&s, s.pa, 1);
    job.class = s.four;
    low = scene_running(&s.scene, job);
    (void)scene_node(&s.scene, s.pool, "n2", 4, "h100");
    job.priority = s.high;
    job.instances = 2;
    high = scene_submit(&s.scene, job);
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 1);
    give_way(&s, low);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, high), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* A gang of four burst cards is in the way of two claims of one card each: it
 * goes as a whole, once, for both. */
static void
a_gang_is_stopped_as_a_whole_and_counts_once(void **state)
{
    struct stage s;
    struct ref gang, claims[2];

    (void)state;
    stage_setup(&s, 4);
    (void)cards_of(&s, s.a, CARDS(2), CARDS(4));
    (void)cards_of(&s, s.b, 0, CARDS(4));
    gang = scene_running(&s.scene, job_in(&s, s.pb, 4));
    for (int i = 0; i < 2; i++)
        claims[i] = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 1);
    give_way(&s, gang);
    scene_run(&s.scene);
    for (int i = 0; i < 2; i++)
        assert_int_equal(state_of(&s, claims[i]), WORKLOAD_ASSIGNED);
    /* Two cards are free: too few for the gang, so it holds none of them. */
    assert_int_equal(state_of(&s, gang), WORKLOAD_QUEUED);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 0);
    scene_teardown(&s.scene);
}

/* Two elastic gangs of 2 to 5 times two cards on eleven, each tenant is
 * guaranteed five cards: the second gets its two by surplus of the first, and
 * neither takes anything back afterwards. */
static void
two_elastic_gangs_do_not_take_from_each_other_for_ever(void **state)
{
    struct stage s;
    struct ref gangs[2];
    struct job job;
    int victims = 0;

    (void)state;
    stage_setup(&s, 11);
    (void)cards_of(&s, s.a, CARDS(5), CARDS(10));
    (void)cards_of(&s, s.b, CARDS(5), CARDS(10));
    job = job_in(&s, s.pa, 2);
    job.class = s.two;
    job.instances_max = 5;
    gangs[0] = scene_running(&s.scene, job);
    scene_run(&s.scene);
    scene_start(&s.scene, gangs[0]);
    scene_run(&s.scene);
    assert_int_equal(scene_workload(&s.scene, gangs[0])->instances_now, 5);
    job.project = s.pb;
    gangs[1] = scene_submit(&s.scene, job);
    for (int round = 0; round < 8; round++) {
        struct changes *changes;

        scene_run(&s.scene);
        victims += s.scene.victims;
        changes = scene_begin(&s.scene);
        world_each(s.scene.world, KIND_INSTANCE, ref) {
            const struct instance *instance =
                world_instance(s.scene.world, ref);

            if (instance->state == INSTANCE_ASSIGNED)
                lifecycle_started(changes, ref);
            else if (instance->state != INSTANCE_RELEASED &&
                     instance->want != WANT_RUN) {
                lifecycle_exited(changes, ref, 143, false);
                lifecycle_released(changes, ref);
            }
        }
        scene_apply(&s.scene, changes);
        scene_scrub(&s.scene);
        scene_wait(&s.scene, 60000);
    }
    /* 11 = 6 + 4 and one that fits nobody. */
    assert_int_equal(scene_workload(&s.scene, gangs[0])->instances_now, 3);
    assert_int_equal(scene_workload(&s.scene, gangs[1])->instances_now, 2);
    assert_int_equal(victims, 2);
    scene_teardown(&s.scene);
}

/* Surplus is told to go; until its cards are confirmed free nobody starts on
 * them, and the tenant never has more than its limit of four. */
static void
surplus_keeps_its_cards_until_it_is_confirmed_gone(void **state)
{
    struct stage s;
    struct ref gang, urgent;
    struct job job;

    (void)state;
    stage_setup(&s, 4);
    (void)cards_of(&s, s.a, 0, CARDS(4));
    job = job_in(&s, s.pa, 2);
    job.instances_max = 4;
    gang = scene_running(&s.scene, job);
    scene_run(&s.scene);
    scene_start(&s.scene, gang);
    job = job_in(&s, s.pa, 2);
    job.priority = s.high;
    urgent = scene_submit(&s.scene, job);
    for (int i = 0; i < 5; i++) {
        scene_run(&s.scene);
        assert_int_equal(state_of(&s, urgent), WORKLOAD_QUEUED);
        assert_int_equal(reason_of(&s, urgent), REASON_RECLAIMING);
        scene_wait(&s.scene, 1000);
    }
    assert_int_equal(state_of(&s, gang), WORKLOAD_RUNNING);
    {
        struct changes *changes = scene_begin(&s.scene);

        world_each_child(s.scene.world, KIND_INSTANCE, gang, ref)
            if (world_instance(s.scene.world, ref)->want != WANT_RUN) {
                lifecycle_exited(changes, ref, 143, false);
                lifecycle_released(changes, ref);
            }
        scene_apply(&s.scene, changes);
    }
    scene_scrub(&s.scene);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, urgent), WORKLOAD_ASSIGNED);
    assert_int_equal(scene_workload(&s.scene, gang)->instances_now, 2);
    scene_teardown(&s.scene);
}

/* --- rights --- */

/* a uses its guarantee of 4; its next 4 were submitted first and are smaller
 * than the guarantee, but burst.  b's 4 are within its own. */
static void
a_request_is_within_a_guarantee_only_with_what_runs_already(void **state)
{
    struct stage s;
    struct ref burst, within;

    (void)state;
    stage_setup(&s, 8);
    (void)cards_of(&s, s.a, CARDS(4), CARDS(8));
    (void)cards_of(&s, s.b, CARDS(4), CARDS(8));
    (void)scene_running(&s.scene, job_in(&s, s.pa, 4));
    burst = scene_submit(&s.scene, job_in(&s, s.pa, 4));
    scene_wait(&s.scene, 60000);
    within = scene_submit(&s.scene, job_in(&s, s.pb, 4));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, within), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, burst), WORKLOAD_QUEUED);
    assert_int_equal(s.scene.victims, 0);
    scene_teardown(&s.scene);
}

/* a runs four gangs of two, half of them burst.  Of b's gangs of 6, 5, 4 and 3
 * only that of four is within its guarantee of four: two gangs go for it, and
 * never again. */
static void
only_what_fits_the_guarantee_takes_anything_back(void **state)
{
    struct stage s;
    struct ref runs[4], asks[4];
    int victims = 0;

    (void)state;
    stage_setup(&s, 8);
    (void)cards_of(&s, s.a, CARDS(4), CARDS(8));
    (void)cards_of(&s, s.b, CARDS(4), CARDS(8));
    for (int i = 0; i < 4; i++)
        runs[i] = scene_running(&s.scene, job_in(&s, s.pa, 2));
    for (int i = 0; i < 4; i++) {
        asks[i] = scene_submit(&s.scene, job_in(&s, s.pb, 6 - i));
        scene_run(&s.scene);
        victims += s.scene.victims;
        assert_int_equal(victims, i < 2 ? 0 : 2);
    }
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < 4; i++)
            if (state_of(&s, runs[i]) == WORKLOAD_PREEMPTING)
                give_way(&s, runs[i]);
        scene_run(&s.scene);
        victims += s.scene.victims;
        scene_wait(&s.scene, 60000);
    }
    assert_int_equal(victims, 2);
    assert_int_equal(state_of(&s, asks[2]), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, asks[3]), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

static void
set_weight(struct stage *s, struct ref ref, int64_t weight)
{
    scene_edit(&s->scene, changes, tenant, ref);

    tenant->weight = weight;
    scene_apply(&s->scene, changes);
}

/* Weights of nothing and of very much are no reason to take what is running,
 * nor to lose what is guaranteed. */
static void
a_weight_takes_nothing_from_who_runs(void **state)
{
    struct stage s;
    struct ref own, burst, claim;

    (void)state;
    stage_setup(&s, 2);
    {
        scene_edit(&s.scene, changes, platform, s.scene.platform);
        platform->share_half_life_ms = 3600000;
        scene_apply(&s.scene, changes);
    }
    (void)cards_of(&s, s.a, CARDS(2), CARDS(2));
    (void)cards_of(&s, s.b, 0, CARDS(2));
    set_weight(&s, s.a, 0);
    set_weight(&s, s.b, 1000000);
    own = scene_running(&s.scene, job_in(&s, s.pa, 1));
    burst = scene_running(&s.scene, job_in(&s, s.pb, 1));
    (void)scene_submit(&s.scene, job_in(&s, s.pb, 1));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    claim = scene_submit(&s.scene, job_in(&s, s.pa, 1));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 1);
    assert_int_equal(state_of(&s, own), WORKLOAD_RUNNING);
    give_way(&s, burst);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, claim), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* Whom cards were being freed for is cancelled: nothing stays held, and who
 * was stopped gets its place back. */
static void
a_cancelled_claim_leaves_nothing_behind(void **state)
{
    struct stage s;
    struct ref burst, claim, quota;
    struct changes *changes;

    (void)state;
    stage_setup(&s, 2);
    (void)cards_of(&s, s.a, CARDS(2), CARDS(2));
    quota = cards_of(&s, s.b, 0, CARDS(2));
    burst = scene_running(&s.scene, job_in(&s, s.pb, 2));
    claim = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 2);
    changes = scene_begin(&s.scene);
    {
        struct workload *workload = change_update(changes, claim);

        reason_clear(workload);
        workload->state = WORKLOAD_CANCELLED;
        workload->ended_ms = s.scene.now_ms;
        lifecycle_drop_holds(changes, claim);
    }
    scene_apply(&s.scene, changes);
    scene_run(&s.scene);
    assert_int_equal(world_count(s.scene.world, KIND_HOLD), 0);
    give_way(&s, burst);
    assert_int_equal(world_quota(s.scene.world, quota)->used, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, burst), WORKLOAD_ASSIGNED);
    assert_int_equal(world_quota(s.scene.world, quota)->used, CARDS(2));
    scene_teardown(&s.scene);
}

/* Work without cards of b, which is guaranteed nothing, has all CPU of the node
 * whose cards are idle: a's guarantee takes it back.  What is within a
 * guarantee of CPU stays. */
static void
cpu_beside_idle_cards_is_taken_back_for_a_guarantee(void **state)
{
    for (int guaranteed = 0; guaranteed <= 1; guaranteed++) {
        struct stage s;
        struct ref hog, claim;
        struct job job;

        (void)state;
        stage_setup(&s, 2);
        (void)cards_of(&s, s.a, CARDS(2), CARDS(2));
        (void)cards_of(&s, s.b, 0, CARDS(2));
        if (guaranteed)
            (void)scene_quota(&s.scene, s.b, DIMENSION_CPU, 128000, 128000);
        job = job_in(&s, s.pb, 1);
        job.class = scene_class(&s.scene, "cpu", "", 0);
        job.cpu_milli = 128000;
        hog = scene_running(&s.scene, job);
        claim = scene_submit(&s.scene, job_in(&s, s.pa, 1));
        scene_run(&s.scene);
        assert_int_equal(s.scene.victims, !guaranteed);
        if (guaranteed) {
            assert_int_equal(reason_of(&s, claim), REASON_NODE);
        } else {
            give_way(&s, hog);
            scene_run(&s.scene);
            assert_int_equal(state_of(&s, claim), WORKLOAD_ASSIGNED);
        }
        scene_teardown(&s.scene);
    }
}

/* While a is suspended its guarantee is lent and claims nothing; afterwards it
 * takes back four of the eight. */
static void
a_suspended_tenant_lends_its_guarantee_and_takes_it_back(void **state)
{
    struct stage s;
    struct ref claim;

    (void)state;
    stage_setup(&s, 8);
    (void)cards_of(&s, s.a, CARDS(4), CARDS(8));
    (void)cards_of(&s, s.b, 0, CARDS(8));
    {
        scene_edit(&s.scene, changes, tenant, s.a);
        tenant->state = STATE_SUSPENDED;
        scene_apply(&s.scene, changes);
    }
    for (int i = 0; i < 8; i++)
        (void)scene_running(&s.scene, job_in(&s, s.pb, 1));
    claim = scene_submit(&s.scene, job_in(&s, s.pa, 4));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    assert_int_equal(reason_of(&s, claim), REASON_SUSPENDED);
    {
        scene_edit(&s.scene, changes, tenant, s.a);
        tenant->state = STATE_ACTIVE;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 4);
    assert_int_equal(count_in(&s, WORKLOAD_RUNNING), 4);
    scene_teardown(&s.scene);
}

/* --- pools of somebody's own --- */

/* A pool of two cards for one tenant. */
static struct ref
own_pool(struct stage *s, struct ref tenant, bool lend)
{
    struct ref ref = scene_pool(&s->scene, "own");
    char text[ID_TEXT_MAX + 8], id[ID_TEXT_MAX];
    struct changes *changes = scene_begin(&s->scene);
    struct pool *pool = change_update(changes, ref);

    object_id_text(s->scene.world, tenant, id);
    (void)snprintf(text, sizeof(text), "[\"%s\"]", id);
    pool->kind = POOL_DEDICATED;
    pool->lend = lend;
    change_doc(changes, &pool->tenants, text);
    scene_apply(&s->scene, changes);
    (void)scene_node(&s->scene, ref, "o1", 2, "h100");
    return ref;
}

/* Two cards of a's own are lent, one to work that is within b's guarantee: a
 * has no guarantee and gets both back. */
static void
what_a_tenants_own_pool_lends_comes_back_to_it(void **state)
{
    struct stage s;
    struct ref pool, guests[2], back;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    pool = own_pool(&s, s.a, true);
    (void)cards_of(&s, s.a, 0, CARDS(2));
    (void)cards_of(&s, s.b, CARDS(1), CARDS(4));
    (void)cards_of(&s, s.c, 0, CARDS(4));
    job = job_in(&s, s.pb, 1);
    job.pool = pool;
    guests[0] = scene_running(&s.scene, job);
    job.project = s.pc;
    guests[1] = scene_running(&s.scene, job);
    back = scene_submit(&s.scene, job_in(&s, s.pa, 2));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 2);
    assert_non_null(
        strstr(scene_workload(&s.scene, guests[0])->proof->bytes,
               "\"rule\":\"owner\""));
    for (int i = 0; i < 2; i++)
        give_way(&s, guests[i]);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, back), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* b's guarantee is met anywhere else but not by what runs in a's own pool,
 * where a has no guarantee. */
static void
guests_take_nothing_from_the_owner_of_a_pool(void **state)
{
    struct stage s;
    struct ref pool, mine, guest;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    pool = own_pool(&s, s.a, true);
    (void)cards_of(&s, s.a, 0, CARDS(4));
    (void)cards_of(&s, s.b, CARDS(3), CARDS(4));
    job = job_in(&s, s.pa, 2);
    job.pool = pool;
    mine = scene_running(&s.scene, job);
    guest = scene_submit(&s.scene, job_in(&s, s.pb, 2));
    scene_run(&s.scene);
    assert_int_equal(s.scene.victims, 0);
    assert_int_equal(state_of(&s, mine), WORKLOAD_RUNNING);
    assert_int_equal(state_of(&s, guest), WORKLOAD_QUEUED);
    scene_finish(&s.scene, mine, 0);
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, guest), WORKLOAD_ASSIGNED);
    scene_teardown(&s.scene);
}

/* It is idle, and nobody else gets in; nor does work that cannot be stopped
 * when it lends. */
static void
an_own_pool_that_does_not_lend_stays_idle(void **state)
{
    struct stage s;
    struct ref pool, other, fixed;
    struct job job;

    (void)state;
    stage_setup(&s, 1);
    pool = own_pool(&s, s.a, false);
    (void)cards_of(&s, s.b, CARDS(3), CARDS(4));
    (void)scene_running(&s.scene, job_in(&s, s.pb, 1));
    other = scene_submit(&s.scene, job_in(&s, s.pb, 1));
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, other), WORKLOAD_QUEUED);
    job = job_in(&s, s.pb, 1);
    job.fixed = true;
    fixed = scene_submit(&s.scene, job);
    {
        struct changes *changes = scene_begin(&s.scene);

        ((struct pool *)change_update(changes, pool))->lend = true;
        scene_apply(&s.scene, changes);
    }
    scene_run(&s.scene);
    assert_int_equal(state_of(&s, other), WORKLOAD_ASSIGNED);
    assert_int_equal(state_of(&s, fixed), WORKLOAD_QUEUED);
    scene_teardown(&s.scene);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_gang_takes_idle_nodes_beside_those_that_it_frees),
        cmocka_unit_test(a_gang_is_stopped_as_a_whole_and_counts_once),
        cmocka_unit_test(
            two_elastic_gangs_do_not_take_from_each_other_for_ever),
        cmocka_unit_test(surplus_keeps_its_cards_until_it_is_confirmed_gone),
        cmocka_unit_test(
            a_request_is_within_a_guarantee_only_with_what_runs_already),
        cmocka_unit_test(only_what_fits_the_guarantee_takes_anything_back),
        cmocka_unit_test(a_weight_takes_nothing_from_who_runs),
        cmocka_unit_test(a_cancelled_claim_leaves_nothing_behind),
        cmocka_unit_test(
            a_suspended_tenant_lends_its_guarantee_and_takes_it_back),
        cmocka_unit_test(cpu_beside_idle_cards_is_taken_back_for_a_guarantee),
        cmocka_unit_test(what_a_tenants_own_pool_lends_comes_back_to_it),
        cmocka_unit_test(guests_take_nothing_from_the_owner_of_a_pool),
        cmocka_unit_test(an_own_pool_that_does_not_lend_stays_idle),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
