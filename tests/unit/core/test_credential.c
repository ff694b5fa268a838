/* SPDX-License-Identifier: Apache-2.0 */
#include "core/credential.h"

#include "core/proof.h"
#include "tests/unit/core/edits.h"

#define HOUR PEOPLE_HOUR

/* --- words --- */

static struct granted granted;

/* Decides and begins a set; NULL when refused. */
static struct changes *
begin(const struct actor *actor, enum verb verb, struct ref object)
{
    struct changes *changes = people_begin(&p);

    err.code = ERROR_NONE;
    return access_decide(p.world, actor, verb, object, p.now_ms, &granted,
                         &err) == 0
               ? changes
               : NULL;
}

static int
apply(struct changes *changes, int result)
{
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static int
rotate(const struct actor *actor, struct ref key, int64_t overlap_ms,
       uint8_t fill)
{
    struct changes *changes = begin(actor, VERB_APIKEY_ROTATE, key);
    uint8_t digest[32];

    memset(digest, fill, sizeof(digest));
    return changes == NULL
               ? -1
               : apply(changes, credential_rotate(&granted, changes,
                                                  overlap_ms, digest, &err));
}

static void
set_key_digest(struct ref key, uint8_t fill)
{
    struct changes *changes = people_begin(&p);
    struct apikey *image = change_update(changes, key);

    memset(image->digest, fill, sizeof(image->digest));
    world_apply(p.world, changes);
}

static bool
opens(uint8_t fill)
{
    uint8_t digest[32];
    struct actor actor;
    struct error ignored;

    memset(digest, fill, sizeof(digest));
    return access_authenticate(p.world, digest, "192.0.2.1", p.now_ms,
                               &actor, &ignored) == 0;
}

static void
set_policy(enum second_factor platform, enum second_factor red)
{
    struct changes *changes = people_begin(&p);

    ((struct platform *)change_update(changes, p.platform))->second_factor =
        (int)platform;
    ((struct tenant *)change_update(changes, p.red))->second_factor =
        (int)red;
    world_apply(p.world, changes);
}

/* A login as it goes: by password, with the proofs that count. */
static struct actor
log_in(struct ref user, uint8_t fill)
{
    struct changes *changes = people_begin(&p);
    struct ref session;
    uint8_t digest[32];
    struct actor actor = { 0 };

    memset(digest, fill, sizeof(digest));
    assert_int_equal(resource_log_in(changes, user, digest, &session, &err),
                     0);
    world_apply(p.world, changes);
    assert_int_equal(access_authenticate(p.world, digest, "192.0.2.1",
                                         p.now_ms, &actor, &err),
                     0);
    return actor;
}

static struct actor
again(uint8_t fill)
{
    uint8_t digest[32];
    struct actor actor = { 0 };

    memset(digest, fill, sizeof(digest));
    assert_int_equal(access_authenticate(p.world, digest, "192.0.2.1",
                                         p.now_ms, &actor, &err),
                     0);
    return actor;
}

static int
enrol(const struct actor *actor)
{
    struct changes *changes = begin(actor, VERB_USER_FACTOR, actor->subject);

    return changes == NULL
               ? -1
               : apply(changes,
                       credential_enrol(&granted, changes, "sealed", &err));
}

static int
confirm(const struct actor *actor, int64_t step)
{
    struct changes *changes = begin(actor, VERB_USER_FACTOR, actor->subject);
    uint8_t digests[CREDENTIAL_CODES][CREDENTIAL_CODE_SIZE];

    for (size_t i = 0; i < CREDENTIAL_CODES; i++)
        memset(digests[i], (int)i + 1, CREDENTIAL_CODE_SIZE);
    return changes == NULL
               ? -1
               : apply(changes,
                       credential_confirm(
                           &granted, changes, step,
                           (const uint8_t(*)[CREDENTIAL_CODE_SIZE])digests,
                           &err));
}

static bool
take_step(const struct actor *actor, int64_t step)
{
    struct changes *changes = people_begin(&p);

    if (!credential_take_step(changes, actor->credential, step))
        return false;
    world_apply(p.world, changes);
    return true;
}

static bool
take_code(const struct actor *actor, uint8_t fill)
{
    struct changes *changes = people_begin(&p);
    uint8_t digest[CREDENTIAL_CODE_SIZE];

    memset(digest, fill, sizeof(digest));
    if (!credential_take_recovery(changes, actor->credential, digest))
        return false;
    world_apply(p.world, changes);
    return true;
}

/* --- keys --- */

static void
a_rotated_key_has_both_secrets_for_a_while(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct ref key = create(&dev, KIND_APIKEY, p.dev, "{\"name\":\"ci\"}");

    (void)state;
    set_key_digest(key, 1);
    assert_true(opens(1));
    assert_int_equal(rotate(&dev, key, HOUR, 2), 0);
    assert_true(opens(1) && opens(2));
    p.now_ms += HOUR - 1;
    assert_true(opens(1) && opens(2));
    p.now_ms += 1;
    assert_false(opens(1));
    assert_true(opens(2));
    /* no overlap, and the one before that is gone at once */
    dev = people_login(&p, p.dev);
    assert_int_equal(rotate(&dev, key, HOUR, 3), 0);
    assert_true(opens(2) && opens(3));
    assert_int_equal(rotate(&dev, key, 0, 4), 0);
    assert_false(opens(2) || opens(3));
    assert_true(opens(4));
    assert_int_equal(rotate(&dev, key, -1, 5), -1);
    assert_int_equal(rotate(&dev, key, INT64_MAX, 5), -1);
    assert_int_equal(rotate(&dev, key, CREDENTIAL_OVERLAP_MAX_MS + 1, 5), -1);
    assert_string_equal(err.field, "/overlap_ms");
    assert_int_equal(delete (&dev, key), 0);
    assert_false(opens(4));
}

static void
an_overlap_ends_with_the_key_and_a_dead_key_is_not_rotated(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct ref key = create(&dev, KIND_APIKEY, p.dev,
                            "{\"expires_ms\":\"2027-01-15T08:30:00Z\"}");

    (void)state;
    set_key_digest(key, 1);
    assert_int_equal(rotate(&dev, key, HOUR, 2), 0);
    assert_int_equal(world_apikey(p.world, key)->old_until_ms,
                     world_apikey(p.world, key)->expires_ms);
    p.now_ms += HOUR / 2;
    assert_false(opens(1) || opens(2));
    dev = people_login(&p, p.dev);
    assert_int_equal(rotate(&dev, key, HOUR, 3), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_false(opens(3));
}

/* [A24] [A25] */
static void
a_key_dies_with_its_subject_with_both_secrets(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct actor rita = people_login(&p, p.rita);
    struct ref key = create(&dev, KIND_APIKEY, p.dev, "{}");

    (void)state;
    set_key_digest(key, 1);
    assert_int_equal(rotate(&dev, key, HOUR, 2), 0);
    assert_int_equal(change(&rita, p.dev, "{\"state\":\"suspended\"}"), 0);
    assert_false(opens(1) || opens(2));
    assert_int_equal(change(&rita, p.dev, "{\"state\":\"active\"}"), 0);
    assert_true(opens(1) && opens(2));
    people_state(&p, p.red, STATE_SUSPENDED);
    assert_false(opens(1) || opens(2));
}

static void
an_inference_key_does_one_thing(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct ref key = create(&dev, KIND_APIKEY, p.dev,
                            "{\"sort\":\"inference\"}");
    struct actor actor = { .kind = ACTOR_USER, .subject = p.dev,
                           .credential = key, .source = "192.0.2.1" };

    (void)state;
    assert_made(key);
    assert_true(people_can(&p, &actor, VERB_INFERENCE_INVOKE, p.alpha));
    assert_false(people_can(&p, &actor, VERB_PROJECT_GET, p.alpha));
    assert_false(people_can(&p, &actor, VERB_WORKLOAD_LIST, p.alpha));
    assert_refused(create(&dev, KIND_APIKEY, p.dev,
                          "{\"sort\":\"inference\",\"verbs\":["
                          "\"inference.invoke\",\"workload.get\"]}"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/verbs");
}

/* --- minting --- */

static struct actor
actor_of(struct ref key)
{
    return (struct actor){ .kind = ACTOR_SERVICEACCOUNT,
                           .subject = world_parent(p.world, key),
                           .credential = key,
                           .source = "192.0.2.1" };
}

/* Rita may hand out workload.logs and not use it.  She gives an account the
 * right and makes its key. */
static void
who_mints_a_key_gets_no_verb_that_they_could_not_use(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct ref spy = people_put(&p, KIND_SERVICEACCOUNT, p.alpha, "spy");
    struct ref key, other;
    struct actor holder, held;

    (void)state;
    assert_made(give(&rita, spy, p.alpha, ROLE_DEVELOPER, ""));
    assert_refused(create(&rita, KIND_APIKEY, spy,
                          "{\"verbs\":[\"workload.logs\"]}"),
                   ERROR_DENIED);
    assert_non_null(strstr(err.text, "workload.logs"));
    assert_true(err.help[0] != '\0');
    key = create(&rita, KIND_APIKEY, spy, "{\"name\":\"any\"}");
    assert_made(key);
    holder = actor_of(key);
    assert_true(people_can(&p, &holder, VERB_WORKLOAD_GET, p.alpha_job));
    assert_false(people_can(&p, &holder, VERB_WORKLOAD_LOGS, p.alpha_job));
    /* who may use it may hold it */
    other = create(&pat, KIND_APIKEY, spy, "{\"verbs\":[\"workload.logs\"]}");
    assert_made(other);
    held = actor_of(other);
    assert_true(people_can(&p, &held, VERB_WORKLOAD_LOGS, p.alpha_job));
    /* nor what the account is given later, there or elsewhere */
    assert_made(give(&rita, spy, p.alpha, ROLE_PROJECT_ADMIN, ""));
    assert_made(give(&rita, spy, p.beta, ROLE_DEVELOPER, ""));
    assert_false(people_can(&p, &holder, VERB_INSTANCE_EXEC, p.alpha));
    assert_false(people_can(&p, &holder, VERB_WORKLOAD_CREATE, p.beta));
    assert_false(people_can(&p, &holder, VERB_PROJECT_GET, p.beta));
    set_key_digest(other, 9);
    assert_int_equal(rotate(&rita, other, 0, 10), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_true(opens(9));
}

/* Those who hand out for an hour from one network hold no key beyond it. */
static void
a_minted_key_outlasts_no_right_of_who_minted_it(void **state)
{
    struct actor pat;
    struct changes *changes = people_begin(&p);
    struct grant *grant = change_update(
        changes, world_first_index(p.world, KIND_GRANT, 0, p.pat));

    (void)state;
    grant->to_ms = p.now_ms + HOUR;
    (void)snprintf(grant->sources, sizeof(grant->sources), "192.0.2.0/24");
    world_apply(p.world, changes);
    pat = people_login(&p, p.pat);
    assert_refused(create(&pat, KIND_APIKEY, p.bot,
                          "{\"verbs\":[\"workload.get\"],\"sources\":"
                          "\"192.0.2.0/24\"}"),
                   ERROR_DENIED);
    assert_refused(create(&pat, KIND_APIKEY, p.bot,
                          "{\"verbs\":[\"workload.get\"],\"expires_ms\":"
                          "\"2027-01-15T08:30:00Z\"}"),
                   ERROR_DENIED);
}

/* --- second factors --- */

static void
a_second_factor_counts_once_it_is_confirmed(void **state)
{
    struct actor rita = log_in(p.rita, 1);

    (void)state;
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_int_equal(confirm(&rita, 100), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(enrol(&rita), 0);
    rita = again(1);
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_int_equal(confirm(&rita, 100), 0);
    rita = again(1);
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_int_equal(enrol(&rita), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    /* a login by password alone proves nothing more for guarded verbs */
    rita = log_in(p.rita, 2);
    assert_false(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_true(people_can(&p, &rita, VERB_PROJECT_GET, p.alpha));
    assert_true(take_step(&rita, 101));
    rita = again(2);
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    p.now_ms += ACCESS_STEP_UP_MS + 1;
    assert_false(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
}

static void
a_time_step_is_taken_once(void **state)
{
    struct actor rita = log_in(p.rita, 1);

    (void)state;
    assert_int_equal(enrol(&rita), 0);
    rita = again(1);
    assert_int_equal(confirm(&rita, 100), 0);
    assert_false(take_step(&rita, 100));
    assert_false(take_step(&rita, 99));
    assert_true(take_step(&rita, 101));
    assert_false(take_step(&rita, 101));
    assert_false(take_step(&rita, 100));
}

static void
a_recovery_code_opens_once(void **state)
{
    struct actor rita = log_in(p.rita, 1);

    (void)state;
    assert_int_equal(enrol(&rita), 0);
    rita = again(1);
    assert_int_equal(confirm(&rita, 100), 0);
    assert_int_equal(world_user(p.world, p.rita)->recovery_left, 10);
    assert_true(take_code(&rita, 4));
    assert_false(take_code(&rita, 4));
    assert_false(take_code(&rita, 0));
    assert_false(take_code(&rita, 11));
    assert_int_equal(world_user(p.world, p.rita)->recovery_left, 9);
}

static int
drop_factor(const struct actor *actor)
{
    struct changes *changes = begin(actor, VERB_USER_FACTOR, actor->subject);

    return changes == NULL
               ? -1
               : apply(changes,
                       credential_drop_factor(&granted, changes, &err));
}

static void
a_second_factor_is_taken_off_by_itself_alone(void **state)
{
    struct actor rita = log_in(p.rita, 1);

    (void)state;
    assert_int_equal(enrol(&rita), 0);
    rita = again(1);
    assert_int_equal(confirm(&rita, 100), 0);
    rita = log_in(p.rita, 2);
    assert_int_equal(drop_factor(&rita), -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    assert_true(take_code(&rita, 1));
    rita = again(2);
    assert_int_equal(drop_factor(&rita), 0);
    assert_false(proof_is_enrolled(p.world, p.rita));
    rita = log_in(p.rita, 3);
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_false(take_code(&rita, 2));
}

static int
reset(const struct actor *actor, struct ref user)
{
    struct changes *changes =
        begin(actor, VERB_USER_FACTOR_RESET, user);

    return changes == NULL
               ? -1
               : apply(changes,
                       credential_reset_factor(&granted, changes, &err));
}

/* [A18] */
static void
a_second_factor_is_reset_by_those_who_control_the_user(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = log_in(p.pat, 1);
    struct changes *changes = people_begin(&p);
    struct role *role = change_create(changes, KIND_ROLE, p.red, "odd");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");

    (void)state;
    role->verbs = people_verbs(VERB_AUDIT_ERASE);
    grant->subject = p.eve;
    grant->role = role->object.self;
    grant->use = verbs_all();
    world_apply(p.world, changes);
    assert_int_equal(reset(&rita, p.pat), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(enrol(&pat), 0);
    pat = again(1);
    assert_int_equal(confirm(&pat, 7), 0);
    assert_int_equal(reset(&pat, p.pat), -1);
    assert_int_equal(reset(&rita, p.pat), 0);
    assert_false(proof_is_enrolled(p.world, p.pat));
    assert_false(opens(1));
    assert_int_equal(reset(&rita, p.eve), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(reset(&rita, p.rita), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(reset(&rita, p.bob), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
}

static void
a_policy_asks_for_a_factor_at_once_and_lets_one_mend(void **state)
{
    struct actor rita = log_in(p.rita, 1);
    struct actor root = log_in(p.root, 2);

    (void)state;
    set_policy(FACTOR_OFF, FACTOR_STEP_UP);
    rita = again(1);
    assert_false(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    assert_true(people_can(&p, &rita, VERB_PROJECT_CREATE, p.red));
    assert_true(people_can(&p, &root, VERB_GRANT_CREATE, p.platform));
    assert_int_equal(enrol(&rita), 0);
    assert_int_equal(confirm(&rita, 5), 0);
    rita = again(1);
    assert_true(people_can(&p, &rita, VERB_GRANT_CREATE, p.alpha));
    /* the stricter one counts */
    set_policy(FACTOR_LOGIN, FACTOR_OFF);
    rita = again(1);
    assert_true(people_can(&p, &rita, VERB_PROJECT_CREATE, p.red));
    root = again(2);
    assert_false(people_can(&p, &root, VERB_TENANT_GET, p.red));
    assert_true(people_can(&p, &root, VERB_USER_GET, p.root));
    assert_false(people_can(&p, &root, VERB_USER_GET, p.sec));
    assert_int_equal(access_decide(p.world, &root, VERB_TENANT_GET, p.red,
                                   p.now_ms, &granted, &err),
                     -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    assert_non_null(strstr(err.help, "enrol factor"));
    assert_int_equal(proof_limit(p.world, root.credential, p.now_ms),
                     PROOF_ENROL);
    assert_int_equal(enrol(&root), 0);
    assert_int_equal(confirm(&root, 5), 0);
    root = again(2);
    assert_true(people_can(&p, &root, VERB_TENANT_GET, p.red));
    /* the next login shows the code first */
    root = log_in(p.root, 3);
    assert_int_equal(proof_limit(p.world, root.credential, p.now_ms),
                     PROOF_CODE);
    assert_false(people_can(&p, &root, VERB_TENANT_GET, p.red));
    assert_true(take_step(&root, 6));
    root = again(3);
    assert_true(people_can(&p, &root, VERB_TENANT_GET, p.red));
}

/* --- passwords --- */

static int
set_password(const struct actor *actor, struct ref user)
{
    struct changes *changes = begin(actor, VERB_USER_PASSWORD, user);

    return changes == NULL
               ? -1
               : apply(changes, resource_set_password(&granted, changes,
                                                      "$argon2id$x", &err));
}

static void
a_password_that_somebody_else_set_is_changed_first(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor dev;

    (void)state;
    assert_int_equal(set_password(&rita, p.dev), 0);
    dev = log_in(p.dev, 1);
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    assert_int_equal(access_decide(p.world, &dev, VERB_PROJECT_GET, p.alpha,
                                   p.now_ms, &granted, &err),
                     -1);
    assert_int_equal(err.code, ERROR_STEP_UP);
    assert_non_null(strstr(err.text, "password"));
    /* what is hidden and what never was answer alike here too */
    struct error other;
    assert_int_equal(access_decide(p.world, &dev, VERB_PROJECT_GET, none,
                                   p.now_ms, &granted, &other),
                     -1);
    assert_string_equal(err.text, other.text);
    assert_int_equal(set_password(&dev, p.dev), 0);
    assert_true(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
}

static void
a_password_wears_out_by_policy(void **state)
{
    struct actor dev;
    struct changes *changes = people_begin(&p);

    (void)state;
    ((struct platform *)change_update(changes, p.platform))
        ->password_life_ms = HOUR;
    resource_first_password(changes, p.dev, "$argon2id$x");
    world_apply(p.world, changes);
    dev = log_in(p.dev, 1);
    assert_true(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    p.now_ms += HOUR;
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    dev = log_in(p.dev, 2);
    assert_int_equal(set_password(&dev, p.dev), 0);
    assert_true(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
}

/* --- sessions --- */

static void
an_idle_session_ends_and_a_used_one_at_its_end(void **state)
{
    struct changes *changes = people_begin(&p);
    struct platform *platform = change_update(changes, p.platform);

    (void)state;
    platform->session_idle_ms = HOUR;
    platform->session_ms = 3 * HOUR;
    world_apply(p.world, changes);
    (void)log_in(p.dev, 1);
    struct actor two = log_in(p.dev, 2);
    p.now_ms += HOUR - 1;
    assert_true(opens(1) && opens(2));
    assert_true(world_touch_credential(p.world, two.credential, "192.0.2.7",
                                       p.now_ms, 60000, true));
    assert_false(world_touch_credential(p.world, two.credential,
                                        "192.0.2.7", p.now_ms, 60000, true));
    p.now_ms += 1;
    assert_false(opens(1));
    assert_true(opens(2));
    for (int i = 0; i < 2; i++) {
        p.now_ms += HOUR - 2;
        assert_true(opens(2));
        (void)world_touch_credential(p.world, two.credential, "192.0.2.7",
                                     p.now_ms, 60000, true);
    }
    p.now_ms += 4;
    assert_false(opens(2));
}

/* [A40] */
static void
a_lock_is_taken_off_by_the_security_admin(void **state)
{
    struct actor sec = people_login(&p, p.sec);
    struct actor dev = people_login(&p, p.dev);
    struct changes *changes;

    (void)state;
    for (int i = 0; i < 8; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.bob);
        world_apply(p.world, changes);
    }
    assert_false(access_may_log_in(p.world, p.bob, p.now_ms));
    assert_null(begin(&dev, VERB_USER_UNLOCK, p.eve));
    changes = begin(&sec, VERB_USER_UNLOCK, p.bob);
    assert_non_null(changes);
    credential_unlock(&granted, changes);
    world_apply(p.world, changes);
    assert_true(access_may_log_in(p.world, p.bob, p.now_ms));
    assert_int_equal(world_user(p.world, p.bob)->failures, 0);
}

/* --- invitations --- */

static struct ref
invite(const struct actor *actor, struct ref home, const char *name,
       uint8_t fill)
{
    struct ref ref = create(actor, KIND_INVITATION, home,
                            BODY("{\"name\":\"%s\"}", name));
    struct changes *changes;

    if (ref_is_none(ref))
        return ref;
    changes = people_begin(&p);
    memset(((struct invitation *)change_update(changes, ref))->digest, fill,
           32);
    world_apply(p.world, changes);
    return ref;
}

static struct ref
find_invitation(uint8_t fill)
{
    uint8_t digest[32];

    memset(digest, fill, sizeof(digest));
    return credential_invitation(p.world, digest, p.now_ms);
}

static void
an_invitation_makes_a_user_who_sets_the_first_password_once(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref ref = invite(&rita, p.red, "ines", 1);
    struct ref user = world_find_name(p.world, KIND_USER, p.red, "ines");
    struct changes *changes;

    (void)state;
    assert_made(ref);
    assert_made(user);
    assert_made(give(&rita, user, p.alpha, ROLE_DEVELOPER, ""));
    assert_true(ref_equal(find_invitation(1), ref));
    changes = people_begin(&p);
    assert_int_equal(credential_accept(changes, ref, "$argon2id$x", &err), 0);
    world_apply(p.world, changes);
    assert_true(ref_is_none(find_invitation(1)));
    assert_null(world_get(p.world, ref));
    assert_string_equal(world_user(p.world, user)->password, "$argon2id$x");
    assert_false(world_user(p.world, user)->temporary);
    struct actor ines = log_in(user, 2);
    assert_true(people_can(&p, &ines, VERB_WORKLOAD_CREATE, p.alpha));
}

static void
an_invitation_ends_by_time_withdrawal_suspension_and_deletion(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref one = invite(&rita, p.red, "one", 1);
    struct ref user;

    (void)state;
    assert_made(invite(&rita, p.red, "two", 2));
    assert_made(invite(&rita, p.red, "three", 3));
    assert_int_equal(delete (&rita, one), 0);
    assert_true(ref_is_none(find_invitation(1)));
    user = world_find_name(p.world, KIND_USER, p.red, "two");
    people_state(&p, user, STATE_SUSPENDED);
    assert_true(ref_is_none(find_invitation(2)));
    people_state(&p, user, STATE_ACTIVE);
    assert_false(ref_is_none(find_invitation(2)));
    assert_int_equal(delete (&rita, user), 0);
    assert_true(ref_is_none(find_invitation(2)));
    assert_int_equal(world_count(p.world, KIND_INVITATION), 1);
    p.now_ms += 7 * 24 * HOUR - 1;
    assert_false(ref_is_none(find_invitation(3)));
    p.now_ms += 1;
    assert_true(ref_is_none(find_invitation(3)));
}

static void
an_invitation_is_no_way_to_a_password_that_is_there(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct changes *changes = people_begin(&p);

    (void)state;
    resource_first_password(changes, p.dev, "$argon2id$x");
    world_apply(p.world, changes);
    assert_refused(invite(&rita, p.red, "dev", 1), ERROR_CONFLICT);
    assert_made(invite(&rita, p.red, "eve", 2));
    assert_refused(invite(&rita, p.red, "eve", 3), ERROR_CONFLICT);
    assert_refused(create(&rita, KIND_INVITATION, p.red,
                          "{\"name\":\"late\",\"expires_ms\":"
                          "\"2028-01-01T00:00:00Z\"}"),
                   ERROR_INVALID);
    /* a password that is set meanwhile ends it */
    assert_int_equal(set_password(&rita, p.eve), 0);
    assert_true(ref_is_none(find_invitation(2)));
}

/* [A5] */
static void
an_invitation_belongs_to_its_tenant(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor bea = people_login(&p, p.bea);
    struct ref ref = invite(&rita, p.red, "ines", 1);
    struct error other;

    (void)state;
    assert_int_equal(delete (&bea, ref), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(access_decide(p.world, &bea, VERB_INVITATION_DELETE,
                                   none, p.now_ms, &granted, &other),
                     -1);
    assert_string_equal(err.text, other.text);
    assert_refused(invite(&bea, p.red, "spy", 2), ERROR_NOT_FOUND);
    assert_false(ref_is_none(find_invitation(1)));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_rotated_key_has_both_secrets_for_a_while),
        CASE(an_overlap_ends_with_the_key_and_a_dead_key_is_not_rotated),
        CASE(a_key_dies_with_its_subject_with_both_secrets),
        CASE(an_inference_key_does_one_thing),
        CASE(who_mints_a_key_gets_no_verb_that_they_could_not_use),
        CASE(a_minted_key_outlasts_no_right_of_who_minted_it),
        CASE(a_second_factor_counts_once_it_is_confirmed),
        CASE(a_time_step_is_taken_once),
        CASE(a_recovery_code_opens_once),
        CASE(a_second_factor_is_taken_off_by_itself_alone),
        CASE(a_second_factor_is_reset_by_those_who_control_the_user),
        CASE(a_policy_asks_for_a_factor_at_once_and_lets_one_mend),
        CASE(a_password_that_somebody_else_set_is_changed_first),
        CASE(a_password_wears_out_by_policy),
        CASE(an_idle_session_ends_and_a_used_one_at_its_end),
        CASE(a_lock_is_taken_off_by_the_security_admin),
        CASE(an_invitation_makes_a_user_who_sets_the_first_password_once),
        CASE(an_invitation_ends_by_time_withdrawal_suspension_and_deletion),
        CASE(an_invitation_is_no_way_to_a_password_that_is_there),
        CASE(an_invitation_belongs_to_its_tenant),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
