/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reach.h"
#include "tests/unit/core/people.h"

/* What reach tells of a subject's grants is what the grants say. */

static size_t
count_true(const struct world *world, struct ref subject)
{
    uint64_t before = 0;
    size_t count = 0;

    reach_each(world, subject, PEOPLE_NOW, reach) {
        const struct grant *grant = world_grant(world, reach.grant);

        assert_non_null(grant);
        assert_true(ref_equal(reach.holder, grant->subject));
        assert_true(ref_equal(reach.node, grant->object.parent));
        assert_true(ref_equal(reach.role, grant->role));
        assert_true(ref_is_none(reach.member) ||
                    ref_equal(reach_group(&reach), reach.holder));
        if (ref_is_none(reach.member)) {
            assert_true(grant->object.seq > before);
            before = grant->object.seq;
        }
        count++;
    }
    return count;
}

static void
take(struct people *p, struct ref ref)
{
    struct changes *changes = people_begin(p);

    change_delete(changes, ref);
    world_apply(p->world, changes);
}

static void
grants_are_told_in_order_and_go_one_by_one(void **state)
{
    struct people p;
    struct ref first, made[9];

    (void)state;
    people_setup(&p);
    first = world_first_index(p.world, KIND_GRANT, 0, p.dev);
    for (size_t i = 0; i < 9; i++)
        made[i] = people_grant(&p, p.dev, i % 2 == 0 ? p.beta : p.red,
                               ROLE_END_USER);
    assert_int_equal(count_true(p.world, p.dev), 10);
    assert_int_equal(count_true(p.world, p.bot), 1);
    assert_int_equal(count_true(p.world, p.alpha), 0); /* no subject */
    take(&p, made[4]);
    take(&p, first);
    assert_int_equal(count_true(p.world, p.dev), 8);
    /* their slots are used again, by later ones */
    (void)people_grant(&p, p.dev, p.alpha, ROLE_DEVELOPER);
    (void)people_grant(&p, p.eve, p.alpha, ROLE_DEVELOPER);
    assert_int_equal(count_true(p.world, p.dev), 9);
    assert_int_equal(count_true(p.world, p.eve), 2);
    people_release(&p);
}

static void
those_of_a_group_follow_its_members(void **state)
{
    struct people p;
    struct ref group, member;
    struct changes *changes;
    struct membership *made;

    (void)state;
    people_setup(&p);
    group = people_put(&p, KIND_GROUP, p.red, "crew");
    (void)people_grant(&p, group, p.beta, ROLE_DEVELOPER);
    (void)people_grant(&p, group, p.red, ROLE_END_USER);
    assert_int_equal(count_true(p.world, p.dev), 1);
    changes = people_begin(&p);
    made = change_create(changes, KIND_MEMBER, group, "");
    made->subject = p.dev;
    member = made->object.self;
    world_apply(p.world, changes);
    assert_int_equal(count_true(p.world, p.dev), 3);
    take(&p, member);
    assert_int_equal(count_true(p.world, p.dev), 1);
    assert_int_equal(count_true(p.world, group), 2);
    people_release(&p);
}

static bool
is_whole(const struct world *world, struct ref subject)
{
    return reach_first(world, subject, PEOPLE_NOW).whole;
}

/* Each kind of condition alone, given to a grant that had none. */
static void
change_grant(struct people *p, struct ref ref, unsigned what)
{
    struct changes *changes = people_begin(p);
    struct grant *grant = change_update(changes, ref);

    switch (what) {
    case 0:
        grant->from_ms = p->now_ms + 1;
        break;
    case 1:
        grant->to_ms = p->now_ms;
        break;
    case 2:
        (void)snprintf(grant->sources, sizeof(grant->sources), "10.0.0.0/8");
        break;
    case 3:
        change_doc(changes, &grant->devices, "[]");
        break;
    case 4:
        grant->workorder = (struct ref){ KIND_WORKORDER, 9 };
        break;
    case 5:
        grant->proof_ms = 1;
        break;
    case 6:
        grant->approval = true;
        break;
    case 7:
        grant->factor = true;
        break;
    default:
        grant->use = verbs_minus(grant->use,
                                 people_verbs(VERB_WORKLOAD_CANCEL));
        break;
    }
    world_apply(p->world, changes);
}

/* Whatever it is, it counts at once; a line that still said "whole" would let
 * the decision pass it by. */
static void
a_condition_that_a_grant_is_given_counts_at_once(void **state)
{
    (void)state;
    for (unsigned what = 0; what <= 8; what++) {
        struct people p;
        struct actor dev;
        struct ref grant;

        people_setup(&p);
        grant = world_first_index(p.world, KIND_GRANT, 0, p.dev);
        dev = people_login(&p, p.dev);
        dev.proved_ms = 0;
        assert_true(is_whole(p.world, p.dev));
        assert_true(people_can(&p, &dev, VERB_WORKLOAD_CANCEL, p.alpha_job));
        change_grant(&p, grant, what);
        assert_false(is_whole(p.world, p.dev));
        assert_false(people_can(&p, &dev, VERB_WORKLOAD_CANCEL, p.alpha_job));
        people_release(&p);
    }
}

static void
a_clone_keeps_its_own(void **state)
{
    struct people p;
    struct world *copy;

    (void)state;
    people_setup(&p);
    copy = world_clone(p.world);
    (void)people_grant(&p, p.dev, p.beta, ROLE_DEVELOPER);
    take(&p, world_first_index(p.world, KIND_GRANT, 0, p.eve));
    assert_int_equal(count_true(copy, p.dev), 1);
    assert_int_equal(count_true(copy, p.eve), 1);
    assert_int_equal(count_true(p.world, p.dev), 2);
    assert_int_equal(count_true(p.world, p.eve), 0);
    world_free(copy);
    people_release(&p);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grants_are_told_in_order_and_go_one_by_one),
        cmocka_unit_test(those_of_a_group_follow_its_members),
        cmocka_unit_test(a_condition_that_a_grant_is_given_counts_at_once),
        cmocka_unit_test(a_clone_keeps_its_own),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
