/* SPDX-License-Identifier: Apache-2.0 */
#include "core/federation.h"

#include "tests/unit/core/edits.h"

#define MINUTE (60 * INT64_C(1000))
#define CORP "\"issuer\":\"https://sso.example.org\",\"client_id\":\"bulkhead\""

static struct federation_login in; /* the last one */

/* A provider of red: "ml" in groups makes a developer of alpha, "boss" a
 * tenant admin. */
static struct ref
corp(const struct actor *by, const char *more)
{
    return create(by, KIND_IDENTITYPROVIDER, p.red,
                  BODY("{\"name\":\"corp\"," CORP ",\"mapping\":["
                       "{\"claim\":\"groups\",\"value\":\"ml\","
                       "\"role\":\"developer\",\"node\":\"%s\"},"
                       "{\"claim\":\"groups\",\"value\":\"boss\","
                       "\"role\":\"tenant-admin\"}]%s}",
                       id(p.alpha), more));
}

static int
log_in_as(struct ref provider, struct federation_person person,
          const char *claims)
{
    struct changes *changes = people_begin(&p);
    scoped_json value = body_of(claims);
    uint8_t digest[32];
    int rc;

    people_digest(&p, digest);
    person.claims = value;
    err.code = ERROR_NONE;
    rc = federation_log_in(changes, provider, &person, digest, &in, &err);
    if (rc == 0)
        world_apply(p.world, changes);
    return rc;
}

static int
log_in(struct ref provider, const char *subject, const char *claims)
{
    return log_in_as(provider,
                     (struct federation_person){ .subject = subject,
                                                 .name = "Ada.L",
                                                 .display = "Ada" },
                     claims);
}

static struct actor
actor_of(const struct federation_login *login)
{
    return (struct actor){ .kind = ACTOR_USER,
                           .subject = login->user,
                           .credential = login->session,
                           .proved_ms =
                               world_session(p.world, login->session)
                                   ->proved_ms };
}

static bool
may(const struct federation_login *login, enum verb verb, struct ref object)
{
    struct actor actor = actor_of(login);

    return access_can(p.world, &actor, verb, object, p.now_ms);
}

static unsigned
grants_of(struct ref user)
{
    unsigned count = 0;

    world_each_index(p.world, KIND_GRANT, 0, user, ref)
        count++;
    return count;
}

/* --- logging in --- */

static void
the_first_login_makes_a_user_with_what_the_mapping_says(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_made(provider);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":[\"ml\",\"x\"]}"),
                     0);
    assert_true(in.created);
    assert_string_equal(world_user(p.world, in.user)->object.name, "ada.l");
    assert_string_equal(world_user(p.world, in.user)->display, "Ada");
    assert_true(ref_equal(world_parent(p.world, in.user), p.red));
    assert_true(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
    assert_false(may(&in, VERB_PROJECT_CREATE, p.red));
    assert_int_equal(grants_of(in.user), 1);
    assert_true(world_user(p.world, in.user)->password[0] == '\0');
}

static void
a_person_is_provider_and_subject_whatever_else_is_said(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ""), first;

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"email\":\"a@x\"}"), 0);
    first = in.user;
    /* The same name and e-mail address: another person. */
    assert_int_equal(log_in(provider, "s-2", "{\"email\":\"a@x\"}"), 0);
    assert_true(in.created);
    assert_false(ref_equal(in.user, first));
    assert_string_equal(world_user(p.world, in.user)->object.name, "ada.l-2");
    assert_int_equal(log_in(provider, "s-1", "{\"email\":\"b@y\"}"), 0);
    assert_false(in.created);
    assert_true(ref_equal(in.user, first));
    /* Nobody becomes rita by being called so. */
    assert_int_equal(
        log_in_as(provider,
                  (struct federation_person){ .subject = "s-3",
                                              .name = "rita" },
                  "{}"),
        0);
    assert_false(ref_equal(in.user, p.rita));
}

/* The same issuer and subject, asserted by another tenant's provider. */
static void
a_tenants_provider_asserts_its_own_people_alone(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor bea = people_login(&p, p.bea);
    struct actor root = people_login(&p, p.root);
    struct ref ours = corp(&rita, "");
    struct ref theirs = create(&bea, KIND_IDENTITYPROVIDER, p.blue,
                               "{\"name\":\"corp\"," CORP "}");
    struct ref user;

    (void)state;
    assert_made(theirs);
    assert_int_equal(log_in(ours, "s-1", "{\"groups\":\"boss\"}"), 0);
    user = in.user;
    assert_true(may(&in, VERB_PROJECT_CREATE, p.red));
    assert_int_equal(log_in(theirs, "s-1", "{\"groups\":\"boss\"}"), 0);
    assert_false(ref_equal(in.user, user));
    assert_true(ref_equal(world_parent(p.world, in.user), p.blue));
    assert_int_equal(grants_of(in.user), 0);
    assert_false(may(&in, VERB_TENANT_GET, p.red));
    /* Nor can it be linked to somebody else's user, by whoever sees both. */
    assert_refused(create(&root, KIND_IDENTITY, p.bob,
                          BODY("{\"provider\":\"%s\",\"subject\":\"s\"}",
                               id(ours))),
                   ERROR_INVALID);
}

static void
only_linked_people_get_in_when_the_provider_says_so(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ",\"people\":\"linked\""), link;

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    link = create(&rita, KIND_IDENTITY, p.dev,
                  BODY("{\"provider\":\"%s\",\"subject\":\"s-1\"}",
                       id(provider)));
    assert_made(link);
    assert_refused(create(&rita, KIND_IDENTITY, p.eve,
                          BODY("{\"provider\":\"%s\",\"subject\":\"s-1\"}",
                               id(provider))),
                   ERROR_CONFLICT);
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    assert_true(ref_equal(in.user, p.dev));
    /* What was given by hand is not the provider's to take. */
    assert_int_equal(grants_of(p.dev), 1);
    assert_int_equal(delete(&rita, link), 0);
    assert_null(world_session(p.world, in.session));
    assert_int_equal(log_in(provider, "s-1", "{}"), -1);
}

static void
whoever_is_suspended_or_whose_tenant_is_does_not_get_in(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    people_state(&p, in.user, STATE_SUSPENDED);
    assert_int_equal(log_in(provider, "s-1", "{}"), -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    people_state(&p, in.user, STATE_ACTIVE);
    people_state(&p, p.red, STATE_SUSPENDED);
    assert_int_equal(log_in(provider, "s-1", "{}"), -1);
    assert_int_equal(log_in(provider, "s-9", "{}"), -1);
}

/* [A24] An account that was deleted is not found again by its person. */
static void
a_deleted_user_comes_back_as_somebody_new(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ""), first;

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    first = in.user;
    assert_made(give(&rita, first, p.alpha, ROLE_PROJECT_ADMIN, ""));
    assert_int_equal(delete(&rita, first), 0);
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    assert_true(in.created);
    assert_false(ref_equal(in.user, first));
    assert_int_equal(grants_of(in.user), 0);
}

/* --- groups --- */

/* [A27] An empty set is a value, and so is one that is missing. */
static void
being_in_no_group_any_more_takes_all_away(void **state)
{
    static const char *const nothing[] = { "{\"groups\":[]}", "{}",
                                           "{\"groups\":null}",
                                           "{\"groups\":{\"ml\":true}}",
                                           "{\"groups\":[\"m\",\"mlx\"]}" };
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    for (size_t i = 0; i < sizeof(nothing) / sizeof(*nothing); i++) {
        struct federation_login old;

        assert_int_equal(
            log_in(provider, "s-1", "{\"groups\":[\"ml\",\"boss\"]}"), 0);
        assert_int_equal(grants_of(in.user), 2);
        old = in;
        assert_int_equal(log_in(provider, "s-1", nothing[i]), 0);
        assert_int_equal(grants_of(in.user), 0);
        /* The older session has no more than the newer one. */
        assert_false(may(&old, VERB_WORKLOAD_CREATE, p.alpha));
        assert_false(may(&old, VERB_PROJECT_GET, p.alpha));
    }
}

/* [A23] What an entry gave ends with the entry. */
static void
what_the_mapping_gives_no_more_is_gone_at_once(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(
        log_in(provider, "s-1", "{\"groups\":[\"ml\",\"boss\"]}"), 0);
    assert_int_equal(
        change(&rita, provider,
               "{\"mapping\":[{\"claim\":\"groups\",\"value\":\"boss\","
               "\"role\":\"tenant-admin\"}]}"),
        0);
    assert_int_equal(grants_of(in.user), 1);
    assert_false(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
    assert_true(may(&in, VERB_PROJECT_CREATE, p.red));
    assert_int_equal(change(&rita, provider, "{\"mapping\":null}"), 0);
    assert_int_equal(grants_of(in.user), 0);
    assert_non_null(world_session(p.world, in.session));
}

static void
closing_or_deleting_a_provider_ends_sessions_and_grants(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_int_equal(change(&rita, provider, "{\"state\":\"suspended\"}"), 0);
    assert_null(world_session(p.world, in.session));
    assert_int_equal(grants_of(in.user), 0);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), -1);
    assert_int_equal(change(&rita, provider, "{\"state\":\"active\"}"), 0);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_int_equal(delete(&rita, provider), 0);
    assert_null(world_session(p.world, in.session));
    assert_int_equal(grants_of(in.user), 0);
    assert_true(ref_is_none(world_first_child(p.world, KIND_IDENTITY,
                                              in.user)));
    assert_non_null(world_user(p.world, in.user));
}

/* 10 min for both: of the provider here, of the ceiling below. */
static void
what_a_login_gave_ends_without_another_login(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ",\"fresh_ms\":600000"), grant;

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    p.now_ms += 10 * MINUTE - 1;
    assert_true(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
    p.now_ms += 1;
    assert_false(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_int_equal(grants_of(in.user), 1);
    grant = world_first_index(p.world, KIND_GRANT, 0, in.user);
    assert_int_equal(world_grant(p.world, grant)->to_ms,
                     p.now_ms + 10 * MINUTE);
    assert_true(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
}

static void
a_mapped_grant_is_bounded_by_ceilings_like_every_other(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ""), ceiling;
    struct verbs verbs = verbs_all();

    (void)state;
    ceiling = people_ceiling(&p, p.alpha,
                             verbs_minus(verbs, people_verbs(
                                                    VERB_WORKLOAD_CREATE)));
    {
        struct changes *changes = people_begin(&p);

        ((struct ceiling *)change_update(changes, ceiling))->grant_life_ms =
            7 * MINUTE;
        world_apply(p.world, changes);
    }
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"ml\"}"), 0);
    assert_false(may(&in, VERB_WORKLOAD_CREATE, p.alpha));
    assert_true(may(&in, VERB_PROJECT_GET, p.alpha));
    assert_int_equal(
        world_grant(p.world,
                    world_first_index(p.world, KIND_GRANT, 0, in.user))
            ->to_ms,
        p.now_ms + 7 * MINUTE);
}

/* --- who may write a mapping --- */

static void
a_mapping_hands_out_no_more_than_its_author_may(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider;

    (void)state;
    provider = create(&rita, KIND_IDENTITYPROVIDER, p.red,
                      "{\"name\":\"corp\"," CORP "}");
    assert_made(provider);
    (void)people_ceiling(&p, p.alpha, people_verbs(VERB_PROJECT_GET));
    assert_int_equal(
        change(&rita, provider,
               BODY("{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
                    "\"role\":\"developer\",\"node\":\"%s\"}]}",
                    id(p.alpha))),
        -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(
        change(&rita, provider,
               BODY("{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
                    "\"role\":\"developer\",\"node\":\"%s\"}]}",
                    id(p.gamma))),
        -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_string_equal(err.field, "/mapping/0");
    assert_int_equal(
        change(&rita, provider,
               "{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
               "\"role\":\"vendor\"}]}"),
        -1);
    /* A project admin has no say over providers at all. */
    struct actor pat = people_login(&p, p.pat);
    assert_int_equal(change(&pat, provider, "{\"display\":\"x\"}"), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_refused(corp(&pat, ""), ERROR_DENIED);
}

/* An operator's role cannot come from a tenant's provider. */
static void
a_mapping_names_what_lies_below_the_provider(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref provider = create(&root, KIND_IDENTITYPROVIDER, p.red,
                                 "{\"name\":\"corp\"," CORP "}");

    (void)state;
    assert_int_equal(
        change(&root, provider,
               BODY("{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
                    "\"role\":\"platform-admin\",\"node\":\"%s\"}]}",
                    id(p.platform))),
        -1);
    assert_string_equal(err.field, "/mapping/0");
    assert_int_equal(
        change(&root, provider,
               "{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
               "\"role\":\"tenant-admin\",\"more\":1}]}"),
        -1);
    assert_int_equal(
        change(&root, provider,
               "{\"mapping\":[{\"claim\":\"g\",\"value\":\"v\","
               "\"role\":\"developer\",\"node\":\"alpha\"}]}"),
        0);
}

static void
nobody_gains_by_a_mapping_that_they_wrote_last(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_made(create(&rita, KIND_IDENTITY, p.rita,
                       BODY("{\"provider\":\"%s\",\"subject\":\"s-r\"}",
                            id(provider))));
    assert_int_equal(grants_of(p.rita), 1);
    assert_int_equal(log_in(provider, "s-r", "{\"groups\":[\"ml\"]}"), 0);
    assert_true(ref_equal(in.user, p.rita));
    assert_int_equal(grants_of(p.rita), 1);
    assert_false(may(&in, VERB_WORKLOAD_SPEC, p.alpha));
}

/* [A18] Linking a person to somebody stronger would be becoming them. */
static void
linking_somebody_takes_control_over_them(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");
    struct ref strong = people_put(&p, KIND_USER, p.red, "strong");
    struct changes *changes = people_begin(&p);
    struct role *role = change_create(changes, KIND_ROLE, p.red, "odd");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");

    (void)state;
    /* A verb that a tenant admin has not to hand out. */
    role->verbs = people_verbs(VERB_DENY_CREATE);
    grant->subject = strong;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(p.world, changes);
    assert_refused(create(&rita, KIND_IDENTITY, strong,
                          BODY("{\"provider\":\"%s\",\"subject\":\"me\"}",
                               id(provider))),
                   ERROR_DENIED);
}

static void
an_issuer_is_a_plain_https_url_and_there_once(void **state)
{
    static const char *const wrong[] = {
        "ldap://x",           "https://",           "https:///x",
        "https://a@b",        "https://a/?q=1",     "https://a/#f",
        "https://a b",        "sso.example.org",    "https://a\\\\b",
        "https://\xc3\xa4.de"
    };
    struct actor rita = people_login(&p, p.rita);

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
        assert_refused(create(&rita, KIND_IDENTITYPROVIDER, p.red,
                              BODY("{\"name\":\"w\",\"issuer\":\"%s\","
                                   "\"client_id\":\"c\"}",
                                   wrong[i])),
                       ERROR_INVALID);
    assert_made(corp(&rita, ""));
    assert_refused(create(&rita, KIND_IDENTITYPROVIDER, p.red,
                          "{\"name\":\"other\"," CORP "}"),
                   ERROR_CONFLICT);
}

/* --- step-up --- */

static int
prove(struct ref session, struct ref provider, const char *subject,
      const char *acr, int64_t auth_ms)
{
    struct changes *changes = people_begin(&p);
    struct federation_person person = { .subject = subject,
                                        .acr = acr,
                                        .auth_ms = auth_ms };
    int rc;

    err.code = ERROR_NONE;
    rc = federation_prove(changes, session, provider, &person, &err);
    if (rc == 0)
        world_apply(p.world, changes);
    return rc;
}

static void
a_proof_counts_by_its_acr_and_its_time(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ",\"acr\":[\"mfa\"]");
    struct federation_person person = { .subject = "s-1",
                                        .acr = "mfa",
                                        .auth_ms = p.now_ms - 1000 };

    (void)state;
    assert_int_equal(log_in_as(provider, person, "{\"groups\":\"boss\"}"), 0);
    assert_int_equal(world_session(p.world, in.session)->proved_ms,
                     p.now_ms - 1000);
    assert_true(may(&in, VERB_GRANT_CREATE, p.red));
    /* By password, without a word about the time, or from the future. */
    person.acr = "pwd";
    assert_int_equal(log_in_as(provider, person, "{\"groups\":\"boss\"}"), 0);
    assert_int_equal(world_session(p.world, in.session)->proved_ms, 0);
    assert_false(may(&in, VERB_GRANT_CREATE, p.red));
    person.acr = "mfa";
    person.auth_ms = 0;
    assert_int_equal(log_in_as(provider, person, "{\"groups\":\"boss\"}"), 0);
    assert_int_equal(world_session(p.world, in.session)->proved_ms, 0);
    person.auth_ms = p.now_ms + 100000;
    assert_int_equal(log_in_as(provider, person, "{\"groups\":\"boss\"}"), 0);
    assert_int_equal(world_session(p.world, in.session)->proved_ms, p.now_ms);
}

static void
a_step_up_takes_the_same_person_now(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, ",\"acr\":[\"mfa\"]");

    (void)state;
    assert_int_equal(log_in(provider, "s-2", "{}"), 0);
    assert_int_equal(log_in(provider, "s-1", "{\"groups\":\"boss\"}"), 0);
    assert_int_equal(prove(in.session, provider, "s-2", "mfa", p.now_ms), -1);
    assert_int_equal(prove(in.session, provider, "s-9", "mfa", p.now_ms), -1);
    assert_int_equal(prove(in.session, provider, "s-1", "pwd", p.now_ms), -1);
    assert_int_equal(prove(in.session, provider, "s-1", NULL, p.now_ms), -1);
    assert_int_equal(prove(in.session, provider, "s-1", "mfa", 0), -1);
    assert_int_equal(prove(in.session, provider, "s-1", "mfa",
                           p.now_ms - 5 * MINUTE - 1),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    assert_false(may(&in, VERB_GRANT_CREATE, p.red));
    assert_int_equal(prove(in.session, provider, "s-1", "mfa",
                           p.now_ms - MINUTE),
                     0);
    assert_true(may(&in, VERB_GRANT_CREATE, p.red));
}

/* Without a list no acr counts: then this provider proves nothing. */
static void
without_a_list_of_acr_values_nothing_is_a_proof(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");

    (void)state;
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    assert_int_equal(prove(in.session, provider, "s-1", "mfa", p.now_ms), -1);
}

/* --- logging out --- */

static size_t
log_out(struct ref provider, const char *subject, const char *sid)
{
    struct changes *changes = people_begin(&p);
    size_t count = federation_log_out(changes, provider, subject, sid,
                                      p.now_ms);

    world_apply(p.world, changes);
    return count;
}

static void
a_log_out_ends_the_sessions_that_it_means(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");
    struct federation_person person = { .subject = "s-1", .sid = "A" };
    struct federation_login a, b, other;

    (void)state;
    assert_int_equal(log_in_as(provider, person, "{}"), 0);
    a = in;
    person.sid = "B";
    assert_int_equal(log_in_as(provider, person, "{}"), 0);
    b = in;
    assert_int_equal(log_in(provider, "s-2", "{}"), 0);
    other = in;
    assert_int_equal(log_out(provider, NULL, "C"), 0);
    assert_int_equal(log_out(provider, "s-2", "A"), 0);
    assert_int_equal(log_out(provider, "s-9", NULL), 0);
    assert_int_equal(log_out(provider, NULL, "A"), 1);
    assert_null(world_session(p.world, a.session));
    assert_non_null(world_session(p.world, b.session));
    assert_int_equal(log_out(provider, "s-1", NULL), 1);
    assert_null(world_session(p.world, b.session));
    assert_non_null(world_session(p.world, other.session));
    /* Sessions by password are not the provider's to end. */
    assert_non_null(world_session(p.world, rita.credential));
}

static void
a_log_out_ends_no_session_that_began_later(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref provider = corp(&rita, "");
    struct changes *changes;

    (void)state;
    p.now_ms += MINUTE;
    assert_int_equal(log_in(provider, "s-1", "{}"), 0);
    changes = people_begin(&p);
    assert_int_equal(federation_log_out(changes, provider, "s-1", NULL,
                                        p.now_ms - 1),
                     0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(the_first_login_makes_a_user_with_what_the_mapping_says),
        CASE(a_person_is_provider_and_subject_whatever_else_is_said),
        CASE(a_tenants_provider_asserts_its_own_people_alone),
        CASE(only_linked_people_get_in_when_the_provider_says_so),
        CASE(whoever_is_suspended_or_whose_tenant_is_does_not_get_in),
        CASE(a_deleted_user_comes_back_as_somebody_new),
        CASE(being_in_no_group_any_more_takes_all_away),
        CASE(what_the_mapping_gives_no_more_is_gone_at_once),
        CASE(closing_or_deleting_a_provider_ends_sessions_and_grants),
        CASE(what_a_login_gave_ends_without_another_login),
        CASE(a_mapped_grant_is_bounded_by_ceilings_like_every_other),
        CASE(a_mapping_hands_out_no_more_than_its_author_may),
        CASE(a_mapping_names_what_lies_below_the_provider),
        CASE(nobody_gains_by_a_mapping_that_they_wrote_last),
        CASE(linking_somebody_takes_control_over_them),
        CASE(an_issuer_is_a_plain_https_url_and_there_once),
        CASE(a_proof_counts_by_its_acr_and_its_time),
        CASE(a_step_up_takes_the_same_person_now),
        CASE(without_a_list_of_acr_values_nothing_is_a_proof),
        CASE(a_log_out_ends_the_sessions_that_it_means),
        CASE(a_log_out_ends_no_session_that_began_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
