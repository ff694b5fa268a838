/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource.h"

#include "core/usage.h"
#include "tests/unit/core/people.h"

static struct people p;
static struct error err;
static const struct ref none = { 0 };

static int
setup(void **state)
{
    (void)state;
    people_setup(&p);
    memset(&err, 0, sizeof(err));
    return 0;
}

static int
teardown(void **state)
{
    (void)state;
    people_release(&p);
    return 0;
}

/* Replaces ids: a name in angle brackets in a body is the object's id. */
static json_t *
body_of(const char *text)
{
    json_t *body;

    body = json_loads(text, 0, NULL);
    assert_non_null(body);
    return body;
}

static const char *
id(struct ref ref)
{
    char *text = arena_alloc(p.arena, ID_TEXT_MAX);

    id_format(schema_get((enum kind)ref.kind)->prefix,
              world_object(p.world, ref)->id, text);
    return text;
}

#define BODY(...) arena_printf(p.arena, __VA_ARGS__)

/* Decides and creates; none when refused, with err. */
static struct ref
create(const struct actor *actor, enum kind kind, struct ref parent,
       const char *text)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of(kind, VERB_OP_CREATE);
    struct granted granted;
    struct ref ref = none;
    json_t *body = body_of(text);
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, parent, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_create(&granted, changes, kind, parent, body, &ref,
                                 &err);
    if (result == 0)
        world_apply(p.world, changes);
    json_decref(body);
    return result == 0 ? ref : none;
}

static int
change(const struct actor *actor, struct ref ref, const char *text)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of((enum kind)ref.kind, VERB_OP_UPDATE);
    struct granted granted;
    json_t *body = body_of(text);
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, ref, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_update(&granted, changes, ref, body, &err);
    if (result == 0)
        world_apply(p.world, changes);
    json_decref(body);
    return result;
}

static int
delete(const struct actor *actor, struct ref ref)
{
    struct changes *changes = people_begin(&p);
    int verb = verb_of((enum kind)ref.kind, VERB_OP_DELETE);
    struct granted granted;
    int result;

    err.code = ERROR_NONE;
    result = access_decide(p.world, actor, (enum verb)verb, ref, p.now_ms,
                           &granted, &err);
    if (result == 0)
        result = resource_delete(&granted, changes, ref, &err);
    if (result == 0)
        world_apply(p.world, changes);
    return result;
}

static struct ref
give(const struct actor *actor, struct ref subject, struct ref node,
     enum role_builtin role, const char *more)
{
    return create(actor, KIND_GRANT, node,
                  BODY("{\"subject\":\"%s\",\"role\":\"%s\"%s}", id(subject),
                       role_name(role), more));
}

#define assert_made(ref) assert_false(ref_is_none(ref))
#define assert_refused(ref, expected)                                         \
    do {                                                                      \
        assert_true(ref_is_none(ref));                                        \
        assert_int_equal(err.code, expected);                                 \
    } while (0)

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
a_tenants_number_is_never_used_again(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref first, second;

    (void)state;
    first = create(&root, KIND_TENANT, p.platform, "{\"name\":\"one\"}");
    assert_int_equal(world_tenant(p.world, first)->number, 1);
    assert_int_equal(delete (&root, first), 0);
    second = create(&root, KIND_TENANT, p.platform, "{\"name\":\"one\"}");
    assert_made(second); /* the name is free again */
    assert_int_equal(world_tenant(p.world, second)->number, 2);
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

static void
a_grant_hands_out_what_its_giver_may_and_no_more(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor rita = people_login(&p, p.rita);
    struct actor dev;

    (void)state;
    assert_made(give(&pat, p.eve, p.alpha, ROLE_DEVELOPER, ""));
    assert_made(give(&pat, p.eve, p.alpha, ROLE_PROJECT_ADMIN, ""));
    assert_refused(give(&pat, p.eve, p.alpha, ROLE_TENANT_ADMIN, ""),
                   ERROR_DENIED);
    assert_refused(give(&pat, p.eve, p.red, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    dev = people_login(&p, p.dev);
    assert_refused(give(&dev, p.eve, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    assert_made(give(&rita, p.dev, p.red, ROLE_TENANT_ADMIN, ""));
    /* as much of it as counts on a tenant, and that is hers to give */
    assert_made(give(&rita, p.dev, p.red, ROLE_PLATFORM_ADMIN, ""));
    dev = people_login(&p, p.dev);
    assert_false(people_can(&p, &dev, VERB_TENANT_UPDATE, p.red));
    assert_false(people_can(&p, &dev, VERB_NODE_UPDATE, p.shared));
}

/* [A17] */
static void
a_role_does_not_lift_its_holder_above_the_node(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref grant;

    (void)state;
    grant = give(&root, p.dev, p.red, ROLE_AUDITOR, "");
    assert_made(grant);
    assert_true(verbs_within(world_grant(p.world, grant)->use,
                             verbs_for(KIND_TENANT)));
    assert_refused(give(&root, p.dev, p.red, ROLE_PLATFORM_ADMIN,
                        ",\"use\":[\"tenant.update\"]"),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/use");
    assert_refused(create(&rita, KIND_ROLE, p.red,
                          "{\"name\":\"king\","
                          "\"verbs\":[\"tenant.update\"]}"),
                   ERROR_INVALID);
    assert_refused(create(&rita, KIND_ROLE, p.red,
                          "{\"name\":\"developer\","
                          "\"verbs\":[\"workload.get\"]}"),
                   ERROR_CONFLICT);
    assert_refused(give(&root, p.dev, p.platform, ROLE_AUDITOR, ""),
                   ERROR_INVALID);
    assert_string_equal(err.field, "/subject");
}

static void
nobody_gives_themselves_what_they_do_not_have(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct ref role;

    (void)state;
    assert_refused(give(&rita, p.rita, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_DENIED);
    role = create(&rita, KIND_ROLE, p.red,
                  "{\"name\":\"peek\",\"verbs\":[\"workload.get\"]}");
    assert_made(role);
    assert_made(create(&rita, KIND_GRANT, p.alpha,
                       BODY("{\"subject\":\"%s\",\"role\":\"peek\"}",
                            id(p.rita))));
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.get\","
                            "\"workload.logs\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_false(people_can(&p, &rita, VERB_WORKLOAD_LOGS, p.alpha_job));
}

/* [A21] */
static void
a_role_edit_is_a_way_to_hand_out_and_asks_the_same(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct actor rita = people_login(&p, p.rita);
    struct ref role = create(&rita, KIND_ROLE, p.red,
                             "{\"name\":\"peek\","
                             "\"verbs\":[\"workload.get\"]}");
    struct ref grant;

    (void)state;
    grant = create(&rita, KIND_GRANT, p.alpha,
                   BODY("{\"subject\":\"%s\",\"role\":\"peek\"}", id(p.eve)));
    assert_made(grant);
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.logs\"]}"),
                     0);
    assert_int_equal(change(&rita, role, "{\"give\":[\"workload.logs\"]}"),
                     0);
    (void)people_ceiling(&p, p.red, role_use(ROLE_TENANT_ADMIN));
    assert_int_equal(change(&rita, role,
                            "{\"verbs\":[\"workload.logs\","
                            "\"instance.exec\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(change(&root, role_find(p.world, ROLE_AUDITOR),
                            "{\"verbs\":[\"audit.purge\"]}"),
                     -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    assert_int_equal(delete (&rita, role), -1);
    assert_non_null(strstr(err.text, id(grant)));
    assert_int_equal(delete (&rita, grant), 0);
    assert_int_equal(delete (&rita, role), 0);
}

static void
a_grant_keeps_to_windows_of_giver_and_ceiling(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct ref ceiling;

    (void)state;
    ceiling = people_ceiling(&p, p.red, verbs_all());
    assert_int_equal(change(&root, ceiling, "{\"grant_life_ms\":3600000}"),
                     0);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER, ""),
                   ERROR_QUOTA);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"to_ms\":\"2027-01-15T09:00:00.001Z\""),
                   ERROR_QUOTA);
    assert_made(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                     ",\"to_ms\":\"2027-01-15T09:00:00Z\""));
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"to_ms\":\"2027-01-15T08:00:00Z\""),
                   ERROR_INVALID);
    assert_refused(give(&rita, p.eve, p.alpha, ROLE_DEVELOPER,
                        ",\"sources\":\"10.0.0.1/8\","
                        "\"to_ms\":\"2027-01-15T09:00:00Z\""),
                   ERROR_INVALID);
}

static void
a_vendor_has_no_standing_rights(void **state)
{
    struct actor root = people_login(&p, p.root);
    struct ref fixer = people_put(&p, KIND_USER, p.platform, "fixer");

    (void)state;
    assert_refused(give(&root, fixer, p.platform, ROLE_VENDOR, ""),
                   ERROR_QUOTA);
    assert_refused(give(&root, fixer, p.platform, ROLE_VENDOR,
                        ",\"to_ms\":\"2027-01-15T12:00:00.001Z\""),
                   ERROR_QUOTA);
    assert_made(give(&root, fixer, p.platform, ROLE_VENDOR,
                     ",\"to_ms\":\"2027-01-15T12:00:00Z\""));
}

/* [A18] */
static void
a_password_is_reset_by_those_who_are_stronger(void **state)
{
    struct actor pat = people_login(&p, p.pat);
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct actor dev = people_login(&p, p.dev);
    struct changes *changes = people_begin(&p);
    struct granted granted;

    (void)state;
    assert_int_equal(access_decide(p.world, &pat, VERB_USER_PASSWORD, p.rita,
                                   p.now_ms, &granted, &err),
                     -1);
    /* a tenant admin who also works for the platform is out of reach */
    assert_int_equal(access_decide(p.world, &rita, VERB_USER_PASSWORD, p.dev,
                                   p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_set_password(&granted, changes, "$argon2id$x",
                                           &err),
                     0);
    world_apply(p.world, changes);
    assert_string_equal(world_user(p.world, p.dev)->password, "$argon2id$x");
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    (void)people_grant(&p, p.pat, p.red, ROLE_TENANT_ADMIN);
    (void)people_put(&p, KIND_ROLE, p.red, "odd");
    changes = people_begin(&p);
    ((struct role *)change_update(
         changes, world_find_name(p.world, KIND_ROLE, p.red, "odd")))
        ->verbs = people_verbs(VERB_AUDIT_PERSONAL);
    world_apply(p.world, changes);
    assert_made(create(&root, KIND_USER, p.red, "{\"name\":\"strong\"}"));
    changes = people_begin(&p);
    struct ref strong = world_find_name(p.world, KIND_USER, p.red, "strong");
    struct grant *grant = change_create(changes, KIND_GRANT, p.red, "");
    grant->subject = strong;
    grant->role = world_find_name(p.world, KIND_ROLE, p.red, "odd");
    grant->use = verbs_all();
    world_apply(p.world, changes);
    changes = people_begin(&p);
    assert_int_equal(access_decide(p.world, &rita, VERB_USER_PASSWORD, strong,
                                   p.now_ms, &granted, &err),
                     0);
    assert_int_equal(resource_set_password(&granted, changes, "$argon2id$x",
                                           &err),
                     -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(change(&rita, strong, "{\"state\":\"suspended\"}"), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_int_equal(delete (&rita, strong), -1);
    assert_int_equal(err.code, ERROR_DENIED);
    assert_refused(create(&rita, KIND_APIKEY, strong, "{\"name\":\"mine\"}"),
                   ERROR_DENIED);
}

static void
a_key_is_a_narrowing_with_an_end(void **state)
{
    struct actor dev = people_login(&p, p.dev);
    struct actor root = people_login(&p, p.root);
    struct changes *changes;
    struct ref key, ceiling;
    struct actor narrow;
    struct verbs verbs;

    (void)state;
    key = create(&dev, KIND_APIKEY, p.dev,
                 BODY("{\"name\":\"ci\",\"verbs\":[\"workload.get\"],"
                      "\"subtree\":\"%s\"}",
                      id(p.alpha)));
    assert_made(key);
    assert_true(world_apikey(p.world, key)->expires_ms > p.now_ms);
    verbs = world_apikey(p.world, key)->verbs;
    assert_true(verbs_within(verbs, people_verbs(VERB_WORKLOAD_GET)));
    assert_refused(create(&dev, KIND_APIKEY, p.dev,
                          "{\"expires_ms\":\"2030-01-01T00:00:00Z\"}"),
                   ERROR_QUOTA);
    assert_refused(create(&dev, KIND_APIKEY, p.dev,
                          BODY("{\"subtree\":\"%s\"}", id(p.gamma))),
                   ERROR_INVALID);
    assert_refused(create(&dev, KIND_APIKEY, p.eve, "{}"), ERROR_NOT_FOUND);
    ceiling = people_ceiling(&p, p.red, verbs_all());
    assert_int_equal(change(&root, ceiling, "{\"key_life_ms\":60000}"), 0);
    key = create(&dev, KIND_APIKEY, p.dev, "{}");
    assert_int_equal(world_apikey(p.world, key)->expires_ms,
                     p.now_ms + 60000);
    /* a key that proved itself just now makes no wider key */
    verbs_add(&verbs, VERB_APIKEY_CREATE);
    narrow = people_key(&p, p.dev, verbs, none);
    narrow.proved_ms = p.now_ms;
    assert_refused(create(&narrow, KIND_APIKEY, p.dev, "{}"), ERROR_DENIED);
    changes = people_begin(&p);
    assert_true(change_is_empty(changes));
}

/* [A23] */
static void
a_deleted_person_leaves_no_right_and_no_credential(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor dev = people_login(&p, p.dev);
    struct actor key = people_key(&p, p.dev, verbs_all(), none);
    struct ref again;

    (void)state;
    assert_int_equal(delete (&rita, p.dev), 0);
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    assert_false(people_can(&p, &key, VERB_PROJECT_GET, p.alpha));
    assert_true(ref_is_none(
        world_first_index(p.world, KIND_GRANT, 0, p.dev)));
    assert_null(world_get(p.world, key.credential));
    again = create(&rita, KIND_USER, p.red, "{\"name\":\"dev\"}");
    assert_made(again);
    dev = people_login(&p, again);
    assert_false(people_can(&p, &dev, VERB_PROJECT_GET, p.alpha));
    assert_int_equal(delete (&rita, p.rita), -1);
    assert_int_equal(change(&rita, p.rita, "{\"state\":\"suspended\"}"), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
}

static void
a_deletion_names_what_is_in_the_way(void **state)
{
    struct actor rita = people_login(&p, p.rita);
    struct actor root = people_login(&p, p.root);
    struct changes *changes;

    (void)state;
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

static void
add_cards(unsigned count)
{
    struct ref node = people_put(&p, KIND_NODE, p.shared, "n1");
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        struct changes *changes = people_begin(&p);
        struct card *card;

        (void)snprintf(name, sizeof(name), "card%u", i);
        card = change_create(changes, KIND_CARD, node, name);
        card->health = HEALTH_HEALTHY;
        usage_start(changes, card);
        world_apply(p.world, changes);
    }
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
a_deny_cannot_shut_in_its_own_key(void **state)
{
    struct actor sec = people_login(&p, p.sec);
    struct actor root = people_login(&p, p.root);
    struct ref deny;

    (void)state;
    assert_refused(create(&sec, KIND_DENY, p.platform,
                          "{\"verbs\":[\"deny.delete\"]}"),
                   ERROR_INVALID);
    assert_refused(create(&sec, KIND_DENY, p.red, "{\"verbs\":[]}"),
                   ERROR_INVALID);
    assert_refused(create(&root, KIND_DENY, p.red,
                          "{\"verbs\":[\"grant.create\"]}"),
                   ERROR_DENIED);
    deny = create(&sec, KIND_DENY, p.red, "{\"verbs\":[\"grant.create\"]}");
    assert_made(deny);
    assert_int_equal(delete (&sec, deny), 0);
    assert_made(create(&root, KIND_CEILING, p.red, "{\"verbs\":[]}"));
    assert_refused(create(&root, KIND_CEILING, p.red, "{\"verbs\":[]}"),
                   ERROR_CONFLICT);
}

/* [A25] */
static void
wrong_passwords_lock_for_a_while_that_grows(void **state)
{
    const uint8_t digest[32] = { 7 };
    struct changes *changes;
    struct ref session;

    (void)state;
    for (int i = 0; i < 4; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms, 0);
    for (int i = 0; i < 2; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms, p.now_ms + 2000);
    changes = people_begin(&p);
    assert_int_equal(resource_log_in(changes, p.dev, digest, &session, &err),
                     -1);
    assert_int_equal(err.code, ERROR_UNAUTHENTICATED);
    p.now_ms += 2000;
    changes = people_begin(&p);
    assert_int_equal(resource_log_in(changes, p.dev, digest, &session, &err),
                     0);
    world_apply(p.world, changes);
    assert_int_equal(world_user(p.world, p.dev)->failures, 0);
    for (int i = 0; i < 40; i++) {
        changes = people_begin(&p);
        resource_log_in_failed(changes, p.dev);
        world_apply(p.world, changes);
    }
    assert_int_equal(world_user(p.world, p.dev)->locked_ms,
                     p.now_ms + 15 * 60 * 1000);
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

#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_tenant_gets_people_projects_and_rights_from_nothing),
        CASE(a_tenants_number_is_never_used_again),
        CASE(a_name_is_taken_once_below_a_parent),
        CASE(a_reference_to_what_is_hidden_reads_like_a_random_id),
        CASE(what_is_anothers_is_neither_changed_nor_deleted),
        CASE(what_nobody_owns_is_not_free_to_take),
        CASE(a_grant_hands_out_what_its_giver_may_and_no_more),
        CASE(a_role_does_not_lift_its_holder_above_the_node),
        CASE(nobody_gives_themselves_what_they_do_not_have),
        CASE(a_role_edit_is_a_way_to_hand_out_and_asks_the_same),
        CASE(a_grant_keeps_to_windows_of_giver_and_ceiling),
        CASE(a_vendor_has_no_standing_rights),
        CASE(a_password_is_reset_by_those_who_are_stronger),
        CASE(a_key_is_a_narrowing_with_an_end),
        CASE(a_deleted_person_leaves_no_right_and_no_credential),
        CASE(a_deletion_names_what_is_in_the_way),
        CASE(deleting_is_the_only_way_to_be_deleted),
        CASE(units_nest_three_deep),
        CASE(a_class_is_one_of_three_forms),
        CASE(a_price_begins_later_and_never_overlaps),
        CASE(preempting_across_tenants_is_a_right_of_its_own),
        CASE(a_patched_priority_is_bounded_like_a_submitted_one),
        CASE(an_empty_set_is_a_value),
        CASE(a_second_fault_tells_nothing_of_a_hidden_target),
        CASE(a_tenants_pools_are_pools),
        CASE(quota_numbers_fit_the_tree_and_the_refusal_says_which_do_not),
        CASE(a_volume_fits_the_storage_quotas_above_it),
        CASE(what_the_platform_makes_is_not_made_by_clients),
        CASE(a_node_is_not_lost_by_decree),
        CASE(a_deny_cannot_shut_in_its_own_key),
        CASE(wrong_passwords_lock_for_a_while_that_grows),
        CASE(a_join_token_is_short_lived),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
