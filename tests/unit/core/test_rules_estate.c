/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include "tests/unit/core/edits.h"

static void
a_class_is_one_of_three_forms(void **state)
{
    struct actor root = people_login(&p, p.root);

    (void)state;
    assert_made(create(&root, KIND_CLASS, p.platform,
                       "{\"name\":\"h.4\",\"count\":4}"));
    assert_made(create(&root, KIND_CLASS, p.platform,
                       "{\"name\":\"q\",\"form\":\"soft\",\"milli\":250,"
                       "\"memory_mib\":8192}"));
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"a\",\"form\":\"soft\","
                          "\"milli\":1000,\"memory_mib\":1}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"b\",\"milli\":500}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"c\",\"form\":\"hard\"}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"d\",\"form\":\"hard\",\"count\":2,"
                          "\"profile\":\"1g.10gb\"}"),
                   ERROR_INVALID);
}

static void
a_class_of_slices_is_charged_what_its_profile_is(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref ref;

    (void)state;
    ref = create(&root, KIND_CLASS, p.platform,
                 "{\"name\":\"e\",\"form\":\"hard\",\"model\":\"A30\","
                 "\"profile\":\"2g.12gb\"}");
    assert_made(ref);
    /* 28 of 56 multiprocessors, half of 24 GiB. */
    assert_int_equal(world_class(p.world, ref)->milli, 500);
    assert_int_equal(world_class(p.world, ref)->memory_mib, 12288);
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"f\",\"form\":\"hard\","
                          "\"profile\":\"9g.1gb\"}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"g\",\"form\":\"hard\",\"milli\":1,"
                          "\"profile\":\"2g.12gb\"}"),
                   ERROR_INVALID);
}

static void
what_a_class_asks_of_its_cards_is_checked(void **state)
{
    struct actor root = people_login(&p, p.root);

    (void)state;
    assert_made(create(&root, KIND_CLASS, p.platform,
                       "{\"name\":\"n1\",\"count\":2,"
                       "\"interconnect\":\"island\","
                       "\"min_driver\":\"550.54\","
                       "\"min_runtime\":\"ROCm 6.2\","
                       "\"min_capability\":\"9.0\","
                       "\"arch\":\"gfx942\",\"features\":\"fp8\"}"));
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"n2\",\"min_driver\":\"new\"}"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/min_driver");
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"n3\",\"min_runtime\":\"12.4\"}"),
                   ERROR_INVALID);
    assert_non_null(strstr(err.text, "CUDA"));
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"n4\",\"interconnect\":\"numa\"}"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/interconnect");
    assert_refused(create(&root, KIND_CLASS, p.platform,
                          "{\"name\":\"n5\",\"origin\":\"derived\"}"),
                   ERROR_INVALID);
}

/* Work keeps what it was promised; when it is over the class is free again. */
static void
a_class_changes_while_nothing_uses_it(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct changes *changes = people_begin(&p);
    struct ref class = p.class, other;

    (void)state;
    ((struct workload *)change_update(changes, p.alpha_job))->class = class;
    ((struct workload *)change_update(changes, p.alpha_job))->state =
        WORKLOAD_RUNNING;
    ((struct class *)change_update(changes, class))->origin = CLASS_DERIVED;
    world_apply(p.world, changes);
    assert_int_equal(change(&root, class, "{\"min_memory_mib\":5}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.help, "make another class"));
    assert_int_equal(world_class(p.world, class)->origin, CLASS_DERIVED);
    changes = people_begin(&p);
    world_each(p.world, KIND_WORKLOAD, ref)
        ((struct workload *)change_update(changes, ref))->state =
            WORKLOAD_SUCCEEDED;
    world_apply(p.world, changes);
    assert_int_equal(change(&root, class, "{\"min_memory_mib\":5}"), 0);
    assert_int_equal(world_class(p.world, class)->min_memory_mib, 5);
    assert_int_equal(world_class(p.world, class)->origin, CLASS_EDITED);
    /* Its name stays: work and lists know it by that. */
    assert_int_equal(change(&root, class, "{\"name\":\"other\"}"), -1);
    /* A slice follows its profile. */
    other = create(&root, KIND_CLASS, p.platform,
                   "{\"name\":\"s\",\"form\":\"hard\",\"model\":\"A30\","
                   "\"profile\":\"2g.12gb\"}");
    assert_made(other);
    assert_int_equal(change(&root, other, "{\"profile\":\"1g.6gb\"}"), 0);
    assert_int_equal(world_class(p.world, other)->memory_mib, 5949);
    assert_int_equal(world_class(p.world, other)->origin, CLASS_MADE);
    assert_int_equal(change(&root, other, "{\"form\":\"whole\"}"), 0);
    assert_int_equal(world_class(p.world, other)->milli, 0);
}

static void
a_class_that_a_tenant_is_limited_to_stays(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref class = create(&root, KIND_CLASS, p.platform,
                              "{\"name\":\"lonely\"}");
    struct changes *changes = people_begin(&p);

    (void)state;
    change_doc(changes,
               &((struct tenant *)change_update(changes, p.red))->classes,
               BODY("[\"%s\"]", id(class)));
    world_apply(p.world, changes);
    assert_int_equal(delete (&root, class), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    changes = people_begin(&p);
    change_doc(changes,
               &((struct tenant *)change_update(changes, p.red))->classes,
               NULL);
    world_apply(p.world, changes);
    assert_int_equal(delete (&root, class), 0);
}

static void
a_price_begins_later_and_never_overlaps(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref price;

    (void)state;
    price = create(&root, KIND_PRICE, p.platform,
                   "{\"meter\":\"card_hour\",\"nano\":5}");
    assert_made(price);
    assert_refused(create(&root, KIND_PRICE, p.platform,
                          "{\"meter\":\"card_hour\",\"nano\":6}"),
                   ERROR_CONFLICT);
    assert_made(create(&root, KIND_PRICE, p.platform,
                       "{\"meter\":\"card_hour\",\"nano\":6,"
                       "\"model\":\"H100\"}"));
    assert_refused(create(&root, KIND_PRICE, p.platform,
                          "{\"meter\":\"request\",\"nano\":6,"
                          "\"from_ms\":\"2026-01-01T00:00:00Z\"}"),
                   ERROR_INVALID);
    assert_int_equal(change(&root, price, "{\"nano\":7}"), -1);
    assert_int_equal(
        change(&root, price, "{\"to_ms\":\"2027-02-01T00:00:00Z\"}"), 0);
    assert_made(create(&root, KIND_PRICE, p.platform,
                       "{\"meter\":\"card_hour\",\"nano\":7,"
                       "\"from_ms\":\"2027-02-01T00:00:00Z\"}"));
    assert_int_equal(
        change(&root, price, "{\"to_ms\":\"2027-02-02T00:00:00Z\"}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(delete (&root, price), -1);
}

static void
preempting_across_tenants_is_a_right_of_its_own(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor ops = people_login(&p, p.ops);

    (void)state;
    assert_refused(create(&root, KIND_PRIORITY, p.platform,
                          "{\"name\":\"incident\",\"value\":100,"
                          "\"preempt_across\":true}"),
                   ERROR_APPROVAL);
    (void)people_alone(&p, p.root);
    assert_made(create(&root, KIND_PRIORITY, p.platform,
                       "{\"name\":\"incident\",\"value\":100,"
                       "\"preempt_across\":true}"));
    root.proved_ms = 0;
    assert_refused(create(&root, KIND_PRIORITY, p.platform,
                          "{\"name\":\"other\",\"value\":100,"
                          "\"preempt_across\":true}"),
                   ERROR_STEP_UP);
    assert_made(create(&root, KIND_PRIORITY, p.platform,
                       "{\"name\":\"other\",\"value\":100}"));
    assert_refused(create(&ops, KIND_PRIORITY, p.platform,
                          "{\"name\":\"more\",\"value\":1}"),
                   ERROR_DENIED);
}

/* [A6] Its tenant bounds a priority that comes by a patch as well as one that
 * comes with the submission; what is over is not changed at all. */
static void
a_patched_priority_is_bounded_like_a_submitted_one(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct ref incident = people_put(&p, KIND_PRIORITY, p.platform, "incident");
    struct changes *changes = people_begin(&p);

    (void)state;
    ((struct priority *)change_update(changes, incident))->preempt_across =
        true;
    ((struct workload *)change_update(changes, p.alpha_job))->state =
        WORKLOAD_RUNNING;
    world_apply(p.world, changes);
    assert_int_equal(
        change(&dev, p.alpha_job, "{\"priority\":\"incident\"}"), -1);
    assert_string_equal(err.field, "/priority");
    assert_int_equal(
        change(&dev, p.alpha_job, "{\"priority\":\"research\"}"), 0);
    changes = people_begin(&p);
    change_doc(changes,
               &((struct tenant *)change_update(changes, p.red))->priorities,
               BODY("[\"%s\"]", id(incident)));
    world_apply(p.world, changes);
    assert_int_equal(
        change(&dev, p.alpha_job, "{\"priority\":\"incident\"}"), 0);
    assert_int_equal(
        change(&dev, p.alpha_job, "{\"priority\":\"research\"}"), -1);
    changes = people_begin(&p);
    ((struct workload *)change_update(changes, p.alpha_job))->state =
        WORKLOAD_SUCCEEDED;
    world_apply(p.world, changes);
    assert_int_equal(
        change(&dev, p.alpha_job, "{\"priority\":\"incident\"}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void
a_volume_fits_the_storage_quotas_above_it(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct ref volume;

    (void)state;
    assert_made(create(&root, KIND_QUOTA, p.red,
                       "{\"dimension\":\"storage\",\"limit\":100}"));
    volume = create(&dev, KIND_VOLUME, p.alpha,
                    "{\"name\":\"a\",\"size_mib\":60}");
    assert_made(volume);
    assert_refused(create(&dev, KIND_VOLUME, p.alpha,
                          "{\"name\":\"b\",\"size_mib\":41}"),
                   ERROR_QUOTA);
    /* the tenant's numbers are not for a developer of one project */
    assert_null(strstr(err.text, "100"));
    assert_made(create(&dev, KIND_VOLUME, p.alpha,
                       "{\"name\":\"b\",\"size_mib\":40}"));
    assert_int_equal(delete (&dev, volume), 0);
    assert_null(world_get(p.world, volume));
    assert_refused(create(&rita, KIND_VOLUME, p.alpha,
                          "{\"name\":\"c\",\"size_mib\":1}"),
                   ERROR_DENIED);
}

static void
a_node_is_not_lost_by_decree(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct ref node, card;

    (void)state;
    add_cards(1);
    node = world_first(p.world, KIND_NODE);
    card = world_first(p.world, KIND_CARD);
    assert_int_equal(change(&ops, node, "{\"state\":\"draining\"}"), 0);
    assert_int_equal(change(&ops, node, "{\"state\":\"lost\"}"), -1);
    assert_int_equal(change(&ops, card, "{\"health\":\"failed\"}"), -1);
    assert_string_equal(err.field, "/health_reason");
    assert_int_equal(change(&ops, card,
                            "{\"health\":\"failed\","
                            "\"health_reason\":\"smells\"}"),
                     0);
    assert_int_equal(change(&ops, card, "{\"handover\":\"failed\"}"), -1);
    assert_int_equal(change(&ops, card, "{\"handover\":\"pending\"}"), 0);
    assert_int_equal(delete (&ops, node), 0);
    assert_true(ref_is_none(world_first(p.world, KIND_CARD)));
}

static void
move_job(int state)
{
    struct changes *changes = people_begin(&p);
    struct workload *workload = change_update(changes, p.alpha_job);

    workload->state = state;
    workload->attempt = 1;
    world_apply(p.world, changes);
}

/* A member of the gang has ended there, the others run elsewhere: how the gang
 * ends is not known without it. */
static void
a_node_stays_while_a_gang_that_was_there_runs(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct ref node, member;

    (void)state;
    node = people_put(&p, KIND_NODE, p.shared, "n8");
    member = people_put(&p, KIND_INSTANCE, p.alpha_job, "");
    {
        struct changes *changes = people_begin(&p);
        struct instance *instance = change_update(changes, member);

        instance->node = node;
        instance->attempt = 1;
        instance->state = INSTANCE_RELEASED;
        world_apply(p.world, changes);
    }
    move_job(WORKLOAD_RUNNING);
    assert_int_equal(delete (&ops, node), -1);
    move_job(WORKLOAD_SUCCEEDED);
    assert_int_equal(delete (&ops, node), 0);
    assert_null(world_get(p.world, member));
}

static void
a_join_token_is_short_lived(void **state)
{
    struct actor ops = people_login(&p, p.ops);
    struct changes *changes;
    const uint8_t digest[32] = { 1, 2 };
    struct granted granted;
    struct ref token;
    json_t *body = body_of("{\"node\":\"n1\"}");

    (void)state;
    changes = people_begin(&p);
    assert_int_equal(access_decide(p.world, &ops, VERB_NODE_ENROL, p.shared,
                                   p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_create(&granted, changes, KIND_JOINTOKEN,
                                     p.shared, body, &token, &err),
                     0);
    resource_set_digest(changes, token, digest);
    world_apply(p.world, changes);
    assert_true(ref_equal(
        world_find_digest(p.world, KIND_JOINTOKEN, digest), token));
    assert_int_equal(world_jointoken(p.world, token)->expires_ms,
                     p.now_ms + PEOPLE_HOUR);
    assert_refused(create(&ops, KIND_JOINTOKEN, p.shared,
                          "{\"node\":\"n1\","
                          "\"expires_ms\":\"2027-01-17T00:00:00Z\"}"),
                   ERROR_INVALID);
    json_decref(body);
}

/* What was planned for a node or a pool goes with it. */
static void
a_maintenance_goes_with_its_node(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref node = people_put(&p, KIND_NODE, p.shared, "n9");

    (void)state;
    assert_refused(create(&rita, KIND_MAINTENANCE, node,
                          "{\"name\":\"m\","
                          "\"to_ms\":\"2033-01-01T00:00:00Z\"}"),
                   ERROR_NOT_FOUND);
    assert_refused(create(&root, KIND_MAINTENANCE, node,
                          "{\"name\":\"m\","
                          "\"to_ms\":\"2003-01-01T00:00:00Z\"}"),
                   ERROR_INVALID);
    assert_made(create(&root, KIND_MAINTENANCE, node,
                       "{\"name\":\"m\","
                       "\"to_ms\":\"2033-01-01T00:00:00Z\"}"));
    assert_int_equal(delete (&root, node), 0);
    assert_int_equal(world_count(p.world, KIND_MAINTENANCE), 0);
}

static void
a_pool_that_moves_work_says_how_much(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref pool = p.shared;

    (void)state;
    assert_int_equal(change(&root, pool, "{\"defrag\":\"advise\"}"), 0);
    assert_int_equal(change(&root, pool, "{\"defrag\":\"auto\"}"), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_non_null(strstr(err.text, "how many workloads"));
    assert_int_equal(change(&root, pool, "{\"defrag\":\"always\"}"), -1);
    assert_int_equal(
        change(&root, pool, "{\"defrag\":\"auto\",\"defrag_from\":1441}"),
        -1);
    assert_int_equal(
        change(&rita, pool, "{\"defrag\":\"auto\",\"defrag_moves\":1}"),
        -1);
    assert_int_equal(
        change(&root, pool, "{\"defrag\":\"auto\",\"defrag_moves\":1}"), 0);
    assert_int_equal(change(&root, pool, "{\"defrag_moves\":0}"), -1);
    assert_int_equal(change(&root, pool, "{\"defrag_moved\":0}"), -1);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_class_is_one_of_three_forms),
        CASE(a_class_of_slices_is_charged_what_its_profile_is),
        CASE(what_a_class_asks_of_its_cards_is_checked),
        CASE(a_class_changes_while_nothing_uses_it),
        CASE(a_class_that_a_tenant_is_limited_to_stays),
        CASE(a_price_begins_later_and_never_overlaps),
        CASE(preempting_across_tenants_is_a_right_of_its_own),
        CASE(a_patched_priority_is_bounded_like_a_submitted_one),
        CASE(a_volume_fits_the_storage_quotas_above_it),
        CASE(a_node_is_not_lost_by_decree),
        CASE(a_node_stays_while_a_gang_that_was_there_runs),
        CASE(a_join_token_is_short_lived),
        CASE(a_maintenance_goes_with_its_node),
        CASE(a_pool_that_moves_work_says_how_much),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
