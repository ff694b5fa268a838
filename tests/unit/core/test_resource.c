/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource.h"

#include "tests/unit/core/edits.h"

static void
a_tenant_gets_people_projects_and_rights_from_nothing(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref tenant, boss, project;
    struct actor admin;

    (void)state;
    tenant = create(&root, KIND_TENANT, p.platform,
                    "{\"name\":\"green\",\"display\":\"Green\"}");
    assert_made(tenant);
    boss = create(&root, KIND_USER, tenant, "{\"name\":\"gina\"}");
    assert_made(boss);
    assert_made(give(&root, boss, tenant, ROLE_TENANT_ADMIN, ""));
    admin = people_login(&p, boss);
    project = create(&admin, KIND_PROJECT, tenant,
                     "{\"name\":\"web\",\"class\":\"research\"}");
    assert_made(project);
    assert_made(create(&admin, KIND_UNIT, tenant, "{\"name\":\"lab\"}"));
    assert_made(give(&admin, create(&admin, KIND_USER, tenant,
                                    "{\"name\":\"dora\"}"),
                     project, ROLE_DEVELOPER, ""));
    assert_true(people_can(&p, &admin, VERB_PROJECT_GET, project));
}

static void
a_name_is_taken_once_below_a_parent(void **state)
{
    struct actor rita = people_login(&p, p.rita);

    (void)state;
    assert_refused(create(&rita, KIND_PROJECT, p.red,
                          "{\"name\":\"alpha\"}"),
                   ERROR_CONFLICT);
    assert_made(create(&rita, KIND_PROJECT, p.unit, "{\"name\":\"alpha\"}"));
    assert_refused(create(&rita, KIND_PROJECT, p.red, "{}"), ERROR_INVALID);
    assert_string_equal(err.field, "/name");
    assert_refused(create(&rita, KIND_PROJECT, p.red, "{\"name\":\"A b\"}"),
                   ERROR_INVALID);
}

/* [A1] [A36] */
static void
a_reference_to_what_is_hidden_reads_like_a_random_id(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct error first;

    (void)state;
    assert_refused(create(&rita, KIND_QUOTA, p.alpha,
                          "{\"dimension\":\"cards\",\"limit\":1000,"
                          "\"pool\":\"po_aaaaaaaaaaaaaaaaaaaaaaaaaa\"}"),
                   ERROR_INVALID);
    first = err;
    assert_refused(create(&rita, KIND_QUOTA, p.alpha,
                          BODY("{\"dimension\":\"cards\",\"limit\":1000,"
                               "\"pool\":\"%s\"}",
                               id(p.reserved))),
                   ERROR_INVALID);
    assert_int_equal(err.code, first.code);
    assert_string_equal(err.field, first.field);
    assert_memory_equal(err.text, first.text, 35); /* up to the id asked */
    /* by name it is not there either */
    assert_refused(create(&rita, KIND_QUOTA, p.alpha,
                          "{\"dimension\":\"cards\",\"limit\":1000,"
                          "\"pool\":\"reserved\"}"),
                   ERROR_INVALID);
    assert_refused(give(&rita, p.bob, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/subject");
    assert_refused(give(&rita, p.root, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_INVALID);
}

/* [A2] [A6] [A13] */
static void
what_is_anothers_is_neither_changed_nor_deleted(void **state)
{
    struct actor bea = people_login(&p, p.bea);
    struct actor pat = people_login(&p, p.pat);
    struct ref key = people_key(&p, p.bot, verbs_all(), none).credential;
    struct ref beta_bot = people_put(&p, KIND_SERVICEACCOUNT, p.beta, "bot");

    (void)state;
    assert_int_equal(change(&bea, p.bot, "{\"state\":\"suspended\"}"), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(delete (&bea, key), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(change(&pat, beta_bot, "{\"display\":\"x\"}"), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(change(&pat, p.bot, "{\"display\":\"x\"}"), 0);
}

/* [A8] */
static void
what_nobody_owns_is_not_free_to_take(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor bea = people_login(&p, p.bea);
    struct changes *changes = people_begin(&p);

    (void)state;
    ((struct serviceaccount *)change_update(changes, p.bot))->creator = none;
    world_apply(p.world, changes);
    assert_int_equal(change(&bea, p.bot, "{\"display\":\"mine\"}"), -1);
    assert_int_equal(err.code, ERROR_NOT_FOUND);
    assert_int_equal(
        change(&pat, p.bot, BODY("{\"creator\":\"%s\"}", id(p.pat))), -1);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_int_equal(
        change(&pat, p.bot, BODY("{\"parent\":\"%s\"}", id(p.beta))), -1);
    assert_int_equal(err.code, ERROR_INVALID);
}

/* [A27] A set that is empty says nothing at all, not everything. */
static void
an_empty_set_is_a_value(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct actor pat = people_login(&p, p.pat);
    struct ref role, key, nobody = people_put(&p, KIND_USER, p.red, "new");
    struct actor fresh = people_login(&p, nobody);

    (void)state;
    key = create(&pat, KIND_APIKEY, p.bot, "{\"verbs\":[]}");
    assert_made(key);
    assert_true(verbs_empty(world_apikey(p.world, key)->verbs));
    assert_made(give(&rita, nobody, p.alpha, ROLE_DEVELOPER,
                     ",\"use\":[],\"give\":[]"));
    assert_false(people_can(&p, &fresh, VERB_WORKLOAD_GET, p.alpha_job));
    role = create(&rita, KIND_ROLE, p.red,
                  "{\"name\":\"peek\",\"verbs\":[\"workload.get\"]}");
    assert_made(create(&rita, KIND_GRANT, p.alpha,
                       BODY("{\"subject\":\"%s\",\"role\":\"peek\"}",
                            id(nobody))));
    assert_true(people_can(&p, &fresh, VERB_WORKLOAD_GET, p.alpha_job));
    assert_int_equal(change(&rita, role, "{\"verbs\":[]}"), 0);
    assert_false(people_can(&p, &fresh, VERB_WORKLOAD_GET, p.alpha_job));
    assert_int_equal(change(&root, p.red, "{\"pools\":[],\"classes\":[]}"),
                     0);
    assert_string_equal(world_tenant(p.world, p.red)->pools->bytes, "[]");
    assert_string_equal(world_tenant(p.world, p.red)->classes->bytes, "[]");
    assert_made(create(&root, KIND_CEILING, p.red, "{\"verbs\":[]}"));
    assert_false(people_can(&p, &pat, VERB_WORKLOAD_GET, p.alpha_job));
}

/* [A36] Another fault in the body does not tell that a hidden target is
 * there. */
static void
a_second_fault_tells_nothing_of_a_hidden_target(void **state)
{
    static const char *const faults[] = {
        "", ",\"limit\":-7", ",\"dimension\":\"no\"", ",\"x\":1",
    };
    struct actor rita = people_login(&p, p.rita);

    (void)state;
    for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
        struct error hidden;

        assert_refused(create(&rita, KIND_QUOTA, p.alpha,
                              BODY("{\"pool\":\"reserved\"%s}", faults[i])),
                       ERROR_INVALID);
        hidden = err;
        assert_refused(create(&rita, KIND_QUOTA, p.alpha,
                              BODY("{\"pool\":\"neverwas\"%s}", faults[i])),
                       ERROR_INVALID);
        assert_string_equal(hidden.field, err.field);
        assert_int_equal(strlen(hidden.text), strlen(err.text));
    }
}

static void
what_the_platform_makes_is_not_made_by_clients(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct changes *changes = people_begin(&p);
    struct granted granted;
    struct ref out;
    json_t *body = body_of("{}");

    (void)state;
    assert_int_equal(access_decide(p.world, &root, VERB_PLATFORM_GET,
                                   p.platform, p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_create(&granted, changes, KIND_NODE, p.shared,
                                     body, &out, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNSUPPORTED);
    json_decref(body);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_tenant_gets_people_projects_and_rights_from_nothing),
        CASE(a_name_is_taken_once_below_a_parent),
        CASE(a_reference_to_what_is_hidden_reads_like_a_random_id),
        CASE(what_is_anothers_is_neither_changed_nor_deleted),
        CASE(what_nobody_owns_is_not_free_to_take),
        CASE(an_empty_set_is_a_value),
        CASE(a_second_fault_tells_nothing_of_a_hidden_target),
        CASE(what_the_platform_makes_is_not_made_by_clients),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
