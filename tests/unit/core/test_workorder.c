/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alarm.h"
#include "core/breakglass.h"
#include "core/workorder.h"
#include "tests/unit/core/edits.h"

/*
 * Vendors: root makes a work order (the glass is broken, so that one person
 * can tell the story) for the card mine of the node left; the card other is
 * next to it, and the node right has a third one.
 */

static struct ref left, right, mine, other, third;

static int
open_estate(void **state)
{
    (void)setup(state);
    (void)people_alone(&p, p.root);
    left = people_put(&p, KIND_NODE, p.shared, "left");
    right = people_put(&p, KIND_NODE, p.shared, "right");
    mine = people_put(&p, KIND_CARD, left, "card0");
    other = people_put(&p, KIND_CARD, left, "card1");
    third = people_put(&p, KIND_CARD, right, "card0");
    return 0;
}

static struct ref
order_for(const char *devices, const char *more)
{
    struct actor root = people_login(&p, p.root);

    return create(&root, KIND_WORKORDER, p.platform,
                  BODY("{\"name\":\"fan\",\"vendor\":\"kim\",\"reason\":"
                       "\"a fan\",\"devices\":[%s],\"to_ms\":"
                       "\"2027-01-15T10:00:00Z\"%s}",
                       devices, more));
}

static struct ref
order_for_mine(void)
{
    struct ref order = order_for(BODY("\"%s\"", id(mine)), "");

    assert_made(order);
    return order;
}

static void
pass(int64_t ms)
{
    struct changes *changes;

    p.now_ms += ms;
    changes = people_begin(&p);
    workorder_step(changes);
    world_apply(p.world, changes);
}

static struct actor
vendor_of(struct ref order)
{
    return people_login(&p, world_workorder(p.world, order)->subject);
}

static int
state_of(struct ref order)
{
    return world_workorder(p.world, order)->state;
}

static bool
sees(const struct actor *actor, struct ref ref)
{
    return access_sees(p.world, actor, ref, p.now_ms);
}

static int
close_it(struct ref order)
{
    struct actor ops = people_login(&p, p.ops);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    if (access_decide(p.world, &ops, VERB_WORKORDER_CLOSE, order, p.now_ms,
                      &granted, &err) != 0 ||
        workorder_close(&granted, changes, &err) != 0)
        return -1;
    world_apply(p.world, changes);
    return 0;
}

/* --- what a vendor is --- */

static void
a_vendor_is_there_while_its_order_is_open_and_not_before(void **state)
{
    struct ref order = order_for_mine();
    struct ref kim = world_workorder(p.world, order)->subject;
    struct actor vendor = vendor_of(order);

    (void)state;
    assert_false(access_may_log_in(p.world, kim, p.now_ms));
    assert_false(sees(&vendor, mine));
    pass(0);
    assert_int_equal(state_of(order), WORKORDER_OPEN);
    assert_true(access_may_log_in(p.world, kim, p.now_ms));
    assert_true(sees(&vendor, mine));
    /* 08:00 to 10:00: to the millisecond, without waiting for a step */
    p.now_ms += 2 * PEOPLE_HOUR - 1;
    assert_true(sees(&vendor, mine));
    p.now_ms++;
    assert_false(sees(&vendor, mine));
    assert_false(access_may_log_in(p.world, kim, p.now_ms));
    pass(0);
    assert_int_equal(state_of(order), WORKORDER_OVER);
    assert_null(world_session(p.world, vendor.credential));
    assert_true(ref_is_none(world_first_index(p.world, KIND_GRANT, 0, kim)));
    p.now_ms -= 2 * PEOPLE_HOUR; /* no clock brings it back */
    assert_false(access_may_log_in(p.world, kim, p.now_ms));
}

static void
to_a_vendor_there_is_nothing_but_its_devices_and_its_order(void **state)
{
    struct ref order = order_for_mine();
    struct actor vendor = vendor_of(order);
    struct ref all[] = { p.platform, p.shared, p.reserved, p.class,
                         p.priority, p.red,    p.blue,     p.alpha,
                         p.root,     p.sec,    p.rita,     p.alpha_job,
                         left,       right,    other,      third };
    struct granted granted;

    (void)state;
    pass(0);
    assert_true(sees(&vendor, mine));
    assert_true(sees(&vendor, order));
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (sees(&vendor, all[i]))
            fail_msg("a vendor sees %s",
                     world_object(p.world, all[i])->name);
    world_each(p.world, KIND_ROLE, role)
        assert_false(sees(&vendor, role));
    /* No list in which one card stands for its siblings. */
    assert_int_equal(access_decide(p.world, &vendor, VERB_CARD_LIST,
                                   p.platform, p.now_ms, &granted, &err),
                     0);
    {
        struct access_view view = access_view(&granted);

        assert_true(access_view_sees(&view, mine));
        assert_false(access_view_sees(&view, other));
        assert_false(access_view_sees(&view, third));
    }
    assert_false(granted_is_platform(&granted));
}

static void
a_node_brings_its_cards_and_verbs_are_those_of_the_order(void **state)
{
    struct ref order = order_for("\"left\"", "");
    struct actor vendor = vendor_of(order);
    struct ref more;

    (void)state;
    assert_made(order);
    pass(0);
    assert_true(sees(&vendor, left));
    assert_true(sees(&vendor, mine));
    assert_true(sees(&vendor, other));
    assert_false(sees(&vendor, third));
    assert_false(people_can(&p, &vendor, VERB_NODE_UPDATE, left));
    assert_int_equal(close_it(order), 0);
    more = order_for("\"left\"", ",\"verbs\":[\"node.get\",\"node.update\"]");
    assert_true(ref_is_none(more)); /* its name is taken by an old one */
}

static void
an_order_says_who_what_and_how_long(void **state)
{
    (void)state;
    assert_refused(order_for("", ""), ERROR_INVALID);
    assert_string_equal(err.field, "/devices");
    assert_refused(order_for("\"nowhere\"", ""), ERROR_INVALID);
    assert_refused(order_for(BODY("\"%s\"", id(p.class)), ""), ERROR_INVALID);
    assert_refused(order_for("\"left\"", ",\"verbs\":[\"tenant.get\"]"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/verbs");
    assert_refused(order_for("\"left\"",
                             ",\"from_ms\":\"2027-01-15T05:00:00Z\""
                             ",\"to_ms\":\"2027-01-15T12:00:00.001Z\""),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/to_ms");
}

static void
an_order_takes_a_second_person(void **state)
{
    struct actor root;

    (void)state;
    p.now_ms += 13 * PEOPLE_HOUR; /* the glass is whole again */
    root = people_login(&p, p.root);
    assert_refused(create(&root, KIND_WORKORDER, p.platform,
                          "{\"name\":\"x\",\"vendor\":\"kim\",\"reason\":"
                          "\"y\",\"devices\":[\"left\"],\"to_ms\":"
                          "\"2027-01-15T22:00:00Z\"}"),
                   ERROR_APPROVAL);
}

/* --- ending --- */

static void
closing_ends_it_at_once_and_for_good(void **state)
{
    struct ref order = order_for_mine();
    struct actor vendor = vendor_of(order);

    (void)state;
    pass(0);
    assert_true(sees(&vendor, mine));
    assert_int_equal(close_it(order), 0);
    assert_int_equal(state_of(order), WORKORDER_CLOSED);
    assert_null(world_session(p.world, vendor.credential));
    assert_false(sees(&vendor, mine));
    pass(0);
    assert_int_equal(state_of(order), WORKORDER_CLOSED);
    assert_int_equal(close_it(order), -1);
}

/* [A31] */
static void
a_dropped_order_is_consumed(void **state)
{
    struct ref order = order_for_mine();

    (void)state;
    assert_int_equal(close_it(order), 0);
    assert_int_equal(state_of(order), WORKORDER_DROPPED);
    pass(PEOPLE_HOUR);
    assert_int_equal(state_of(order), WORKORDER_DROPPED);
    assert_false(access_may_log_in(
        p.world, world_workorder(p.world, order)->subject, p.now_ms));
}

/* --- what is told --- */

static struct ref
bind(struct ref workload, struct ref card)
{
    struct ref instance = people_put(&p, KIND_INSTANCE, workload, "");
    struct changes *changes = people_begin(&p);
    struct binding *binding =
        change_create(changes, KIND_BINDING, instance, "");
    struct ref ref = binding->object.self;

    binding->card = card;
    binding->milli = 1000;
    binding->from_ms = p.now_ms;
    binding->workload = workload;
    binding->project = world_ancestor(p.world, KIND_PROJECT, workload);
    world_apply(p.world, changes);
    return ref;
}

static void
tenants_see_who_is_at_their_cards_and_others_do_not(void **state)
{
    struct ref order = order_for("\"left\"", "");
    struct actor vendor = vendor_of(order), rita = people_login(&p, p.rita);
    struct actor bea = people_login(&p, p.bea);
    struct ref binding = bind(p.alpha_job, mine);
    const struct visit *visit;
    struct changes *changes;
    struct ref ref;

    (void)state;
    (void)bind(p.gamma_job, third); /* of blue, on the other node */
    pass(0);
    ref = world_first_child(p.world, KIND_VISIT, p.red);
    assert_false(ref_is_none(ref));
    visit = world_visit(p.world, ref);
    assert_string_equal(visit->vendor, "kim");
    assert_string_equal(visit->reason, "a fan");
    assert_non_null(strstr(visit->cards->bytes, id(binding)));
    /* Under the name that the tenant knows, never the card's own. */
    assert_null(strstr(visit->cards->bytes, id(mine)));
    assert_true(sees(&rita, ref));
    assert_false(sees(&bea, ref));
    assert_true(
        ref_is_none(world_first_child(p.world, KIND_VISIT, p.blue)));
    changes = people_begin(&p);
    assert_true(alarm_stands(changes, p.red, "vendor.visit"));
    assert_false(alarm_stands(changes, p.blue, "vendor.visit"));
    workorder_note(changes, &vendor, VERB_NODE_UPDATE, left);
    world_apply(p.world, changes);
    assert_int_equal(world_visit(p.world, ref)->count, 1);
    assert_non_null(strstr(world_visit(p.world, ref)->actions->bytes,
                           "node.update"));
    assert_int_equal(world_workorder(p.world, order)->count, 1);
    pass(1000); /* once, however often time passes */
    assert_ptr_equal(visit, world_visit(p.world, ref));
    assert_int_equal(close_it(order), 0);
    assert_int_equal(world_visit(p.world, ref)->ended_ms, p.now_ms);
    changes = people_begin(&p);
    assert_false(alarm_stands(changes, p.red, "vendor.visit"));
}

static void
a_drained_order_opens_when_nothing_runs_on_its_devices(void **state)
{
    struct ref order = order_for("\"left\"", ",\"drain\":true");
    struct ref binding = bind(p.alpha_job, mine);
    struct ref plan = world_first_child(p.world, KIND_MAINTENANCE, left);
    struct changes *changes;

    (void)state;
    assert_made(order);
    assert_false(ref_is_none(plan));
    assert_true(ref_is_none(
        world_first_child(p.world, KIND_MAINTENANCE, right)));
    pass(0);
    assert_int_equal(state_of(order), WORKORDER_DRAINING);
    changes = people_begin(&p);
    ((struct binding *)change_update(changes, binding))->to_ms = p.now_ms;
    world_apply(p.world, changes);
    pass(1000);
    assert_int_equal(state_of(order), WORKORDER_OPEN);
    assert_int_equal(close_it(order), 0);
    assert_true(ref_is_none(
        world_first_child(p.world, KIND_MAINTENANCE, left)));
}

static void
texts_for_operators_are_not_there_for_the_vendor(void **state)
{
    struct ref order = order_for_mine();
    struct actor vendor = vendor_of(order);
    struct actor ops = people_login(&p, p.ops);
    struct ref ours, theirs;

    (void)state;
    ours = create(&ops, KIND_OPDOCUMENT, order,
                  "{\"name\":\"ours\",\"content\":\"the vendor is late\"}");
    theirs = create(&ops, KIND_OPDOCUMENT, order,
                    "{\"name\":\"theirs\",\"content\":\"rack 4\","
                    "\"audience\":\"vendor\"}");
    assert_made(ours);
    assert_made(theirs);
    pass(0);
    assert_false(sees(&vendor, ours));
    assert_true(sees(&vendor, theirs));
    assert_true(sees(&ops, ours));
    assert_refused(create(&ops, KIND_OPDOCUMENT, order,
                          "{\"name\":\"x\",\"content\":{\"a\":1}}"),
                   ERROR_INVALID);
}

static int
report(const struct actor *actor, struct ref order, bool after,
       const char *values)
{
    scoped_json body = body_of(values);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    if (access_decide(p.world, actor, VERB_WORKORDER_REPORT, order, p.now_ms,
                      &granted, &err) != 0 ||
        workorder_report(&granted, changes, after, body, &err) != 0)
        return -1;
    world_apply(p.world, changes);
    return 0;
}

static void
firmware_is_reported_before_and_after(void **state)
{
    struct ref order = order_for_mine();
    struct actor vendor = vendor_of(order);

    (void)state;
    pass(0);
    assert_int_equal(report(&vendor, order, false, "{\"bmc\":\"aa11\"}"), 0);
    assert_string_equal(
        world_workorder(p.world, order)->firmware_before->bytes,
        "{\"bmc\":\"aa11\"}");
    /* What was there before cannot be made up afterwards. */
    assert_int_equal(report(&vendor, order, false, "{\"bmc\":\"bb22\"}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(report(&vendor, order, true, "{\"bmc\":\"bb22\"}"), 0);
    assert_int_equal(report(&vendor, order, true, "{}"), -1);
    assert_int_equal(report(&vendor, order, true, "{\"bmc\":7}"), -1);
}

/* --- conditions of grants --- */

static struct ref
engineer(const char *more)
{
    struct actor root = people_login(&p, p.root);
    struct ref pia = people_put(&p, KIND_USER, p.platform, "pia");

    assert_made(create(&root, KIND_GRANT, p.platform,
                       BODY("{\"subject\":\"%s\",\"role\":"
                            "\"operations-engineer\"%s}",
                            id(pia), more)));
    return pia;
}

static void
a_grant_for_some_devices_is_for_these(void **state)
{
    struct ref pia = engineer(",\"devices\":[\"left\"]");
    struct actor actor = people_login(&p, pia);
    struct actor root = people_login(&p, p.root);

    (void)state;
    assert_true(people_can(&p, &actor, VERB_NODE_UPDATE, left));
    assert_true(people_can(&p, &actor, VERB_CARD_UPDATE, mine));
    assert_false(people_can(&p, &actor, VERB_NODE_UPDATE, right));
    assert_false(people_can(&p, &actor, VERB_PLATFORM_GET, p.platform));
    assert_refused(create(&root, KIND_GRANT, p.red,
                          BODY("{\"subject\":\"%s\",\"role\":"
                               "\"tenant-admin\",\"devices\":[\"left\"]}",
                               id(pia))),
                   ERROR_INVALID);
}

static void
a_grant_may_want_a_recent_proof_or_a_second_person(void **state)
{
    struct ref pia = engineer(",\"proof_ms\":60000,\"approval\":true");
    struct actor actor = people_login(&p, pia);
    struct granted granted;

    (void)state;
    assert_true(people_can(&p, &actor, VERB_NODE_GET, left));
    assert_int_equal(access_decide(p.world, &actor, VERB_NODE_UPDATE, left,
                                   p.now_ms, &granted, &err),
                     -1);
    assert_int_equal(err.code, ERROR_APPROVAL);
    (void)people_alone(&p, pia);
    assert_true(people_can(&p, &actor, VERB_NODE_UPDATE, left));
    p.now_ms += 60001;
    assert_int_equal(access_decide(p.world, &actor, VERB_NODE_GET, left,
                                   p.now_ms, &granted, &err),
                     -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    actor.proved_ms = p.now_ms;
    assert_true(people_can(&p, &actor, VERB_NODE_GET, left));
}

/* Handing out what one has under conditions keeps them. */
static void
a_bound_right_is_handed_out_bound(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref pia = people_put(&p, KIND_USER, p.platform, "pia");
    struct ref joe = people_put(&p, KIND_USER, p.red, "joe");
    struct actor actor;

    (void)state;
    assert_made(create(&root, KIND_GRANT, p.red,
                       BODY("{\"subject\":\"%s\",\"role\":\"tenant-admin\","
                            "\"approval\":true,\"proof_ms\":60000}",
                            id(pia))));
    (void)people_alone(&p, pia);
    actor = people_login(&p, pia);
    assert_refused(create(&actor, KIND_GRANT, p.alpha,
                          BODY("{\"subject\":\"%s\",\"role\":\"developer\"}",
                               id(joe))),
                   ERROR_DENIED);
    assert_refused(create(&actor, KIND_GRANT, p.alpha,
                          BODY("{\"subject\":\"%s\",\"role\":\"developer\","
                               "\"approval\":true,\"proof_ms\":60001}",
                               id(joe))),
                   ERROR_DENIED);
    assert_made(create(&actor, KIND_GRANT, p.alpha,
                       BODY("{\"subject\":\"%s\",\"role\":\"developer\","
                            "\"approval\":true,\"proof_ms\":60000}",
                            id(joe))));
}

#define TOLD(test) cmocka_unit_test_setup_teardown(test, open_estate, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TOLD(a_vendor_is_there_while_its_order_is_open_and_not_before),
        TOLD(to_a_vendor_there_is_nothing_but_its_devices_and_its_order),
        TOLD(a_node_brings_its_cards_and_verbs_are_those_of_the_order),
        TOLD(an_order_says_who_what_and_how_long),
        TOLD(an_order_takes_a_second_person),
        TOLD(closing_ends_it_at_once_and_for_good),
        TOLD(a_dropped_order_is_consumed),
        TOLD(tenants_see_who_is_at_their_cards_and_others_do_not),
        TOLD(a_drained_order_opens_when_nothing_runs_on_its_devices),
        TOLD(texts_for_operators_are_not_there_for_the_vendor),
        TOLD(firmware_is_reported_before_and_after),
        TOLD(a_grant_for_some_devices_is_for_these),
        TOLD(a_grant_may_want_a_recent_proof_or_a_second_person),
        TOLD(a_bound_right_is_handed_out_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
