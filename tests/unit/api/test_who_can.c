/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api/client.h"

/*
 * Who can, what can.  rita is admin of red, dev a developer of its project
 * alpha, eve has no right there; vic is admin of blue.
 */

static struct place place;
static char *rita, *dev, *eve, *vic;
static char project[64], dev_id[64], vic_id[64];

static void
id_of(const char *token, char out[64])
{
    scoped_json who = ask(&place, token, "GET", "/whoami", NULL, 200);
    (void)snprintf(out, 64, "%s",
                   json_string_value(json_object_get(who, "id")));
}

static int
set_up(void **state)
{
    (void)state;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"red\"}", 201);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"blue\"}", 201);
    char *id = ask_text(&place, place.root, "POST", "/tenants/red/projects",
                        "{\"name\":\"alpha\"}", 201, "id");
    (void)snprintf(project, sizeof project, "%s", id);
    free(id);
    rita = join(&place, "red", "rita", "/tenants/red", "tenant-admin");
    dev = join(&place, "red", "dev", "/tenants/red/projects/alpha",
               "developer");
    eve = join(&place, "red", "eve", "", NULL);
    vic = join(&place, "blue", "vic", "/tenants/blue", "tenant-admin");
    id_of(dev, dev_id);
    id_of(vic, vic_id);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    free(rita);
    free(dev);
    free(eve);
    free(vic);
    place_close(&place);
    return 0;
}

static json_t *
asked(const char *token, long status, const char *form, const char *a,
      const char *b)
{
    char path[256];
    /* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the tests */
    (void)snprintf(path, sizeof path, "/%s%s%s", form, a, b);
    return ask(&place, token, "GET", path, NULL, status);
}

/* The item of that name (or verb); NULL: it is not told. */
static const json_t *
item_of(const json_t *body, const char *member, const char *value)
{
    const json_t *items = json_object_get(body, "items"), *item;
    size_t i;
    json_array_foreach(items, i, item)
        if (strcmp(json_string_value(json_object_get(item, member)), value) ==
            0)
            return item;
    return NULL;
}

static const char *
text(const json_t *item, const char *member)
{
    const char *value = json_string_value(json_object_get(item, member));
    return value == NULL ? "" : value;
}

static void
who_can_names_those_for_whom_the_decision_says_yes(void **state)
{
    (void)state;
    scoped_json body = asked(rita, 200, "who-can?verb=workload.create",
                             "&object=", project);
    const json_t *item = item_of(body, "name", "dev");
    assert_non_null(item);
    assert_string_equal(text(item, "subject"), dev_id);
    assert_string_equal(text(item, "kind"), "user");
    assert_string_equal(text(item, "outcome"), "allowed");
    assert_memory_equal(text(item, "grant"), "gr_", 3);
    assert_null(item_of(body, "name", "eve"));
    assert_null(item_of(body, "name", "rita")); /* she only hands it out */
    assert_false(json_is_true(json_object_get(body, "more")));
    place.headers[0] = "If-Match: *";
    tell(&place, rita, "PATCH", "/tenants/red/users/dev",
         "{\"state\":\"suspended\"}", 200);
    scoped_json later = asked(rita, 200, "who-can?verb=workload.create",
                              "&object=", project);
    assert_null(item_of(later, "name", "dev"));
}

/* A second person is what may be missing at most. */
static void
who_can_says_where_a_second_person_is_missing(void **state)
{
    (void)state;
    scoped_json body = asked(place.root, 200, "who-can?verb=tenant.delete",
                             "", "");
    assert_null(item_of(body, "name", "rita"));
    scoped_json item = ask(&place, place.root, "GET", "/tenants/red", NULL,
                           200);
    scoped_json there =
        asked(place.root, 200, "who-can?verb=tenant.delete", "&object=",
              text(item, "id"));
    assert_string_equal(text(item_of(there, "name", "root"), "outcome"),
                        "approval");
}

static void
it_is_told_to_those_with_grant_get_and_they_see_their_own(void **state)
{
    (void)state;
    json_decref(asked(dev, 403, "who-can?verb=workload.create", "&object=",
                      project));
    json_decref(asked(eve, 404, "who-can?verb=workload.create", "&object=",
                      project)); /* not there for her */
    json_decref(asked(vic, 404, "who-can?verb=workload.create", "&object=",
                      project));
    /* rita is not told of the platform's people, who can as well */
    scoped_json body =
        asked(rita, 200, "who-can?verb=project.get", "&object=", project);
    assert_non_null(item_of(body, "name", "rita"));
    assert_null(item_of(body, "name", "root"));
    scoped_json all =
        asked(place.root, 200, "who-can?verb=project.get", "&object=",
              project);
    assert_non_null(item_of(all, "name", "root"));
    assert_non_null(item_of(all, "name", "rita"));
}

static void
what_can_says_each_verb_that_fits_the_object(void **state)
{
    (void)state;
    scoped_json own = asked(dev, 200, "what-can?object=", project, "");
    assert_string_equal(text(own, "subject"), dev_id);
    assert_string_equal(text(item_of(own, "verb", "workload.create"),
                             "outcome"),
                        "allowed");
    assert_null(item_of(own, "verb", "project.update"));
    assert_null(item_of(own, "verb", "tenant.get")); /* of another kind */
    scoped_json hers = asked(rita, 200, "what-can?object=", project, "");
    assert_non_null(item_of(hers, "verb", "project.update"));
    assert_null(item_of(hers, "verb", "workload.create"));
}

static void
what_can_of_somebody_else_takes_grant_get(void **state)
{
    char path[160];
    (void)state;
    (void)snprintf(path, sizeof path, "%s&subject=%s", project, dev_id);
    scoped_json body = asked(rita, 200, "what-can?object=", path, "");
    assert_string_equal(text(body, "subject"), dev_id);
    assert_non_null(item_of(body, "verb", "workload.create"));
    json_decref(asked(vic, 404, "what-can?object=", path, ""));
    json_decref(asked(eve, 404, "what-can?object=", path, ""));
    (void)snprintf(path, sizeof path, "%s&subject=%s", project, vic_id);
    json_decref(asked(rita, 404, "what-can?object=", path, ""));
}

static void
a_word_that_is_no_verb_is_named(void **state)
{
    (void)state;
    scoped_json body = asked(rita, 400, "who-can?verb=", "workload.fly", "");
    assert_non_null(strstr(text(body, "detail"), "workload.fly"));
    json_decref(asked(rita, 404, "who-can?verb=project.get",
                      "&object=pr_0000000000000000000000", ""));
}

int
main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(who_can_names_those_for_whom_the_decision_says_yes),
        CASE(who_can_says_where_a_second_person_is_missing),
        CASE(it_is_told_to_those_with_grant_get_and_they_see_their_own),
        CASE(what_can_says_each_verb_that_fits_the_object),
        CASE(what_can_of_somebody_else_takes_grant_get),
        CASE(a_word_that_is_no_verb_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
