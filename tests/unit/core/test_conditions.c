/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/edits.h"

/* Grants for sessions that showed a second factor, memberships that end. */

static enum error_code
tried(const struct actor *actor, enum verb verb, struct ref object)
{
    struct granted granted;

    err.code = ERROR_NONE;
    (void)access_decide(p.world, actor, verb, object, p.now_ms, &granted,
                        &err);
    return err.code;
}

static void
show_factor(const struct actor *actor)
{
    struct changes *changes = people_begin(&p);

    ((struct session *)change_update(changes, actor->credential))->factor_ms =
        p.now_ms;
    world_apply(p.world, changes);
}

static void
enrol(struct ref user)
{
    struct changes *changes = people_begin(&p);

    ((struct user *)change_update(changes, user))->factor_ms = p.now_ms;
    world_apply(p.world, changes);
}

static void
a_grant_for_second_factors_counts_in_a_session_that_showed_one(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor eve = people_login(&p, p.eve);
    struct actor other;

    (void)state;
    assert_made(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                     ",\"factor\":true"));
    assert_int_equal(tried(&eve, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_STEP_UP);
    assert_non_null(strstr(err.text, "workload.cancel"));
    assert_non_null(strstr(err.help, "enrol factor"));
    enrol(p.eve);
    assert_int_equal(tried(&eve, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_STEP_UP);
    assert_null(strstr(err.help, "enrol"));
    assert_non_null(strstr(err.help, "bulkhead stepup"));
    show_factor(&eve);
    assert_int_equal(tried(&eve, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_NONE);
    p.now_ms += PEOPLE_HOUR; /* that it was shown holds for the session */
    assert_int_equal(tried(&eve, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_NONE);
    other = people_login(&p, p.eve); /* but not for another one */
    assert_int_equal(tried(&other, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_STEP_UP);
    /* what the old grant has goes on as before */
    assert_int_equal(tried(&other, VERB_INFERENCE_INVOKE, p.alpha),
                     ERROR_NONE);
}

static void
a_key_shows_no_second_factor(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor key = people_key(&p, p.bot, verbs_all(), none);

    (void)state;
    assert_int_equal(tried(&key, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_NONE);
    assert_int_equal(delete (&rita, world_first_index(p.world, KIND_GRANT, 0,
                                                      p.bot)),
                     0);
    assert_made(give(&rita, p.bot, p.alpha, ROLE_DEVELOPER,
                     ",\"factor\":true"));
    assert_int_equal(tried(&key, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_NOT_FOUND); /* it has no right here at all */
}

/* Another grant that asks for nothing goes first, wherever it stands. */
static void
a_grant_that_asks_for_less_counts_first(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor dev = people_login(&p, p.dev);

    (void)state;
    assert_made(give(&rita, p.dev, p.red, ROLE_DEVELOPER,
                     ",\"factor\":true"));
    assert_int_equal(tried(&dev, VERB_WORKLOAD_CANCEL, p.alpha_job),
                     ERROR_NONE);
    assert_int_equal(tried(&dev, VERB_WORKLOAD_CREATE, p.beta),
                     ERROR_STEP_UP);
}

static struct ref
join_until(const struct actor *actor, struct ref group, struct ref subject,
           int64_t to_ms)
{
    char text[ID_TEXT_MAX + 8];
    scoped_json time = json_time(to_ms);

    (void)snprintf(text, sizeof(text), "%s", json_string_value(time));
    return create(actor, KIND_MEMBER, group,
                  BODY("{\"subject\":\"%s\",\"to_ms\":\"%s\"}", id(subject),
                       text));
}

/* [A28] To the millisecond, without anybody who sweeps. */
static void
a_membership_ends_when_it_says(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor eve = people_login(&p, p.eve);
    struct ref group =
        create(&rita, KIND_GROUP, p.red, "{\"name\":\"devs\"}");

    (void)state;
    assert_made(give(&rita, group, p.beta, ROLE_DEVELOPER, ""));
    assert_refused(join_until(&rita, group, p.eve, p.now_ms), ERROR_INVALID);
    assert_made(join_until(&rita, group, p.eve, p.now_ms + PEOPLE_HOUR));
    p.now_ms += PEOPLE_HOUR - 1;
    assert_true(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    assert_false(verbs_empty(access_use(p.world, &eve, p.beta, p.now_ms)));
    p.now_ms += 1;
    assert_false(people_can(&p, &eve, VERB_WORKLOAD_CREATE, p.beta));
    assert_true(verbs_empty(access_use(p.world, &eve, p.beta, p.now_ms)));
    assert_false(people_can(&p, &eve, VERB_PROJECT_GET, p.beta));
}

/* pat may hand out for an hour more; so he lets in for no longer. */
static void
who_lets_in_for_a_time_could_give_for_that_time(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct changes *changes;
    struct ref group =
        create(&rita, KIND_GROUP, p.red, "{\"name\":\"devs\"}");
    struct ref members, newcomer = people_put(&p, KIND_USER, p.red, "nina");

    (void)state;
    assert_made(give(&rita, group, p.alpha, ROLE_DEVELOPER, ""));
    changes = people_begin(&p);
    ((struct grant *)change_update(
         changes, world_first_index(p.world, KIND_GRANT, 0, p.pat)))
        ->to_ms = p.now_ms + PEOPLE_HOUR;
    world_apply(p.world, changes);
    members = create(&rita, KIND_ROLE, p.red,
                     "{\"name\":\"host\",\"verbs\":[\"member.create\","
                     "\"group.get\",\"user.get\"]}");
    assert_made(members);
    assert_made(create(&rita, KIND_GRANT, p.red,
                       BODY("{\"subject\":\"%s\",\"role\":\"%s\"}", id(p.pat),
                            id(members))));
    assert_refused(join_until(&pat, group, newcomer,
                              p.now_ms + PEOPLE_HOUR + 1),
                   ERROR_DENIED);
    assert_made(join_until(&pat, group, newcomer, p.now_ms + PEOPLE_HOUR));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_grant_for_second_factors_counts_in_a_session_that_showed_one),
        CASE(a_key_shows_no_second_factor),
        CASE(a_grant_that_asks_for_less_counts_first),
        CASE(a_membership_ends_when_it_says),
        CASE(who_lets_in_for_a_time_could_give_for_that_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
