/* SPDX-License-Identifier: Apache-2.0 */
#include "core/quota.h"
#include "core/rules.h"

#include "tests/unit/core/edits.h"

static void
a_tenants_number_is_never_used_again(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref first, second;

    (void)state;
    (void)people_alone(&p, p.root);
    first = create(&root, KIND_TENANT, p.platform, "{\"name\":\"one\"}");
    assert_int_equal(world_tenant(p.world, first)->number, 1);
    assert_int_equal(delete (&root, first), 0);
    second = create(&root, KIND_TENANT, p.platform, "{\"name\":\"one\"}");
    assert_made(second); /* the name is free again */
    assert_int_equal(world_tenant(p.world, second)->number, 2);
}

static void
a_deletion_names_what_is_in_the_way(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct changes *changes;

    (void)state;
    (void)people_alone(&p, p.root);
    assert_int_equal(delete (&root, p.red), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_non_null(strstr(err.text, "project alpha"));
    assert_non_null(strstr(err.text, "unit unit"));
    changes = people_begin(&p);
    ((struct workload *)change_update(changes, p.alpha_job))->state =
        WORKLOAD_RUNNING;
    world_apply(p.world, changes);
    assert_int_equal(delete (&rita, p.alpha), -1);
    assert_non_null(strstr(err.text, "2 objects"));
    assert_non_null(strstr(err.text, "workload job"));
    assert_non_null(strstr(err.text, "volume data"));
    changes = people_begin(&p);
    ((struct workload *)change_update(changes, p.alpha_job))->state =
        WORKLOAD_SUCCEEDED;
    change_delete(changes, p.alpha_data);
    world_apply(p.world, changes);
    assert_int_equal(delete (&rita, p.alpha), 0);
    assert_int_equal(world_project(p.world, p.alpha)->state, STATE_DELETED);
    assert_int_equal(world_serviceaccount(p.world, p.bot)->state,
                     STATE_DELETED);
    assert_made(create(&rita, KIND_PROJECT, p.red, "{\"name\":\"alpha\"}"));
    assert_int_equal(delete (&rita, p.beta), 0);
    assert_int_equal(delete (&rita, p.unit), 0);
}

static void
deleting_is_the_only_way_to_be_deleted(void **state)
{
    struct actor rita = people_login(&p, p.rita);

    (void)state;
    assert_int_equal(change(&rita, p.beta, "{\"state\":\"deleted\"}"), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(change(&rita, p.beta, "{\"state\":\"suspended\"}"), 0);
    assert_int_equal(change(&rita, p.beta, "{\"state\":\"active\"}"), 0);
}

static void
units_nest_three_deep(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref second, third;

    (void)state;
    second = create(&rita, KIND_UNIT, p.unit, "{\"name\":\"u\"}");
    third = create(&rita, KIND_UNIT, second, "{\"name\":\"u\"}");
    assert_made(third);
    assert_refused(create(&rita, KIND_UNIT, third, "{\"name\":\"u\"}"),
                   ERROR_INVALID);
    assert_made(create(&rita, KIND_PROJECT, third, "{\"name\":\"p\"}"));
}

static void
a_tenants_pools_are_pools(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref tenant;

    (void)state;
    tenant = create(&root, KIND_TENANT, p.platform,
                    "{\"name\":\"green\",\"pools\":[\"shared\"],"
                    "\"classes\":[]}");
    assert_made(tenant);
    assert_string_equal(world_tenant(p.world, tenant)->pools->bytes,
                        BODY("[\"%s\"]", id(p.shared)));
    assert_string_equal(world_tenant(p.world, tenant)->classes->bytes, "[]");
    assert_int_equal(change(&root, tenant, "{\"pools\":[\"h100.1\"]}"), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(change(&root, tenant, "{\"pools\":null}"), 0);
    assert_null(world_tenant(p.world, tenant)->pools);
}

static struct ref
quota(const struct actor *actor, struct ref node, int guaranteed, int limit)
{
    return create(actor, KIND_QUOTA, node,
                  BODY("{\"dimension\":\"cards\",\"pool\":\"shared\","
                       "\"guaranteed\":%d,\"limit\":%d}",
                       guaranteed, limit));
}

static void
quota_numbers_fit_the_tree_and_the_refusal_says_which_do_not(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref red, alpha;

    (void)state;
    add_cards(4);
    red = quota(&root, p.red, 3000, 4000);
    assert_made(red);
    assert_refused(quota(&root, p.blue, 2000, 4000), ERROR_QUOTA);
    assert_made(quota(&root, p.blue, 1000, 4000));
    assert_refused(quota(&root, p.red, 0, 1000), ERROR_CONFLICT);
    assert_refused(quota(&rita, p.alpha, 2000, 5000), ERROR_QUOTA);
    alpha = quota(&rita, p.alpha, 2000, 3000);
    assert_made(alpha);
    assert_refused(quota(&rita, p.beta, 2000, 2000), ERROR_QUOTA);
    assert_non_null(strstr(err.text, "4"));
    assert_made(quota(&rita, p.beta, 1000, 2000));
    assert_int_equal(change(&root, red, "{\"guaranteed\":2000}"), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_int_equal(change(&root, red, "{\"limit\":2500}"), -1);
    assert_int_equal(change(&rita, red, "{\"limit\":4000}"), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(delete (&root, red), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_refused(quota(&rita, p.unit, -5, 5), ERROR_INVALID);
    assert_int_equal(delete (&rita, alpha), 0);
}

/* Three cards for the tenant, two for its project: limits and guarantees at
 * and below, and what has no limit. */
static void
quotas_keep_to_every_ceiling_above(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref made;

    (void)state;
    add_cards(4);
    {
        struct changes *changes = people_begin(&p);
        struct ceiling *red = change_create(changes, KIND_CEILING, p.red, "");
        struct ceiling *alpha =
            change_create(changes, KIND_CEILING, p.alpha, "");

        red->verbs = alpha->verbs = verbs_all();
        red->cards_milli = 3000;
        alpha->cards_milli = 2000;
        world_apply(p.world, changes);
    }
    assert_refused(quota(&root, p.red, 0, 3001), ERROR_QUOTA);
    assert_non_null(strstr(err.text, "ceiling"));
    made = quota(&root, p.red, 2000, 3000);
    assert_made(made);
    assert_int_equal(change(&root, made, "{\"limit\":4000}"), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_refused(quota(&rita, p.alpha, 1000, 2001), ERROR_QUOTA);
    assert_made(quota(&rita, p.alpha, 1000, 2000));
    assert_made(quota(&rita, p.beta, 1000, 3000));
    assert_made(quota(&root, p.blue, 0, 4000)); /* nobody's ceiling */
}

/* --- what a new tenant is given --- */

static void
shipped(int64_t milli)
{
    struct changes *changes = people_begin(&p);

    ((struct platform *)change_update(changes, p.platform))
        ->tenant_guarantee_milli = milli;
    world_apply(p.world, changes);
}

static const struct quota *
quota_of(struct ref node)
{
    return world_quota(p.world, world_first_child(p.world, KIND_QUOTA, node));
}

static struct ref
tenant(const struct actor *actor, const char *name)
{
    return create(actor, KIND_TENANT, p.platform,
                  BODY("{\"name\":\"%s\"}", name));
}

#define SET(g, l)                                                             \
    "{\"dimension\":\"cards\",\"guaranteed\":" #g ",\"limit\":" #l "}"

/* Two cards: two tenants get one each, the third nothing, and it is said. */
static void
a_new_tenant_is_given_what_nobody_was_promised(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref one, two, three;

    (void)state;
    add_cards(2);
    assert_made(tenant(&root, "none-is-given"));
    shipped(1000);
    one = tenant(&root, "one");
    two = tenant(&root, "two");
    three = tenant(&root, "three");
    assert_int_equal(quota_of(one)->guaranteed, 1000);
    assert_true(quota_of(one)->given);
    assert_int_equal(quota_of(two)->guaranteed, 1000);
    assert_int_equal(quota_of(three)->guaranteed, 0);
    assert_true(quota_of(three)->given);
    assert_int_equal(quota_limit(p.world, quota_of(three)), 1000);
}

/* On an estate of one card a client makes a tenant and sets its quota. */
static void
what_was_given_is_replaced_by_what_is_set(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref one;

    (void)state;
    add_cards(1);
    shipped(1000);
    one = tenant(&root, "one");
    assert_made(create(&root, KIND_QUOTA, one, SET(1000, 1000)));
    assert_false(quota_of(one)->given);
    assert_int_equal(quota_of(one)->limit, 1000);
    assert_refused(create(&root, KIND_QUOTA, one, SET(0, 1000)),
                   ERROR_CONFLICT);
}

/* Three cards: the newest of what was given goes first, and no more than it
 * takes. */
static void
what_was_given_gives_way_to_what_is_set_elsewhere(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref one, two, red;

    (void)state;
    add_cards(3);
    shipped(1000);
    one = tenant(&root, "one");
    two = tenant(&root, "two");
    red = create(&root, KIND_QUOTA, p.red, SET(2000, 3000));
    assert_made(red);
    assert_int_equal(quota_of(one)->guaranteed, 1000);
    assert_int_equal(quota_of(two)->guaranteed, 0);
    assert_int_equal(change(&root, red, "{\"guaranteed\":3000}"), 0);
    assert_int_equal(quota_of(one)->guaranteed, 0);
    assert_refused(create(&root, KIND_QUOTA, p.blue, SET(1000, 3000)),
                   ERROR_QUOTA);
    /* Whoever changes what was given has set it. */
    assert_int_equal(change(&root, red, "{\"guaranteed\":2000}"), 0);
    assert_int_equal(change(&root, quota_of(one)->object.self,
                            "{\"guaranteed\":1000}"),
                     0);
    assert_false(quota_of(one)->given);
    assert_int_equal(change(&root, red, "{\"guaranteed\":3000}"), -1);
    assert_int_equal(err.code, ERROR_QUOTA);
}

static void
what_others_lean_on_does_not_give_way(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref one, project;

    (void)state;
    add_cards(2);
    shipped(1000);
    one = tenant(&root, "one");
    project = create(&root, KIND_PROJECT, one, "{\"name\":\"x\"}");
    assert_made(create(&root, KIND_QUOTA, project, SET(1000, 1000)));
    assert_refused(create(&root, KIND_QUOTA, p.red, SET(2000, 2000)),
                   ERROR_QUOTA);
    assert_int_equal(quota_of(one)->guaranteed, 1000);
    assert_refused(create(&root, KIND_RESERVATION, p.red,
                          "{\"name\":\"r\",\"pool\":\"shared\",\"cards\":2,"
                          "\"to_ms\":\"2033-01-01T00:00:00Z\"}"),
                   ERROR_QUOTA);
    assert_made(create(&root, KIND_QUOTA, p.red, SET(1000, 2000)));
}

static void
what_was_given_gives_way_to_a_reservation(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref one;

    (void)state;
    add_cards(2);
    shipped(1000);
    one = tenant(&root, "one");
    assert_made(create(&root, KIND_RESERVATION, p.red,
                       "{\"name\":\"r\",\"pool\":\"shared\",\"cards\":1,"
                       "\"to_ms\":\"2033-01-01T00:00:00Z\"}"));
    assert_int_equal(quota_of(one)->guaranteed, 1000);
    assert_made(create(&root, KIND_RESERVATION, p.blue,
                       "{\"name\":\"r\",\"pool\":\"shared\",\"cards\":1,"
                       "\"to_ms\":\"2033-01-01T00:00:00Z\"}"));
    assert_int_equal(quota_of(one)->guaranteed, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_tenants_number_is_never_used_again),
        CASE(a_deletion_names_what_is_in_the_way),
        CASE(deleting_is_the_only_way_to_be_deleted),
        CASE(units_nest_three_deep),
        CASE(a_tenants_pools_are_pools),
        CASE(a_new_tenant_is_given_what_nobody_was_promised),
        CASE(what_was_given_is_replaced_by_what_is_set),
        CASE(what_was_given_gives_way_to_what_is_set_elsewhere),
        CASE(what_others_lean_on_does_not_give_way),
        CASE(what_was_given_gives_way_to_a_reservation),
        CASE(quota_numbers_fit_the_tree_and_the_refusal_says_which_do_not),
        CASE(quotas_keep_to_every_ceiling_above),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
