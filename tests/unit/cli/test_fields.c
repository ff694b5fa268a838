/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

struct example {
    const char *text;
    int64_t value;
};

static void
all_are(int (*read)(const char *, int64_t *, struct error *),
        const struct example *examples, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = { 0 };
        int64_t value = -1;

        if (read(examples[i].text, &value, &err) != 0)
            fail_msg("\"%s\": %s", examples[i].text, err.text);
        if (value != examples[i].value)
            fail_msg("\"%s\" is %lld", examples[i].text, (long long)value);
    }
}

static void
none_is(int (*read)(const char *, int64_t *, struct error *),
        const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct error err = { 0 };
        int64_t value = -1;

        if (read(texts[i], &value, &err) == 0)
            fail_msg("\"%s\" was taken as %lld", texts[i], (long long)value);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_equal(value, -1);
    }
}

static void
amounts_have_at_most_three_digits_behind_the_point(void **state)
{
    static const struct example good[] = {
        { "0", 0 },        { "2", 2000 },     { "0.5", 500 },
        { "1.25", 1250 },  { "0.001", 1 },    { ".5", 500 },
        { "007", 7000 },   { "999999999", 999999999000 },
    };
    static const char *const bad[] = { "",     ".",    "-1",   "+1",
                                       "1.2.3", "0.0001", "1,5", "one",
                                       " 1",   "1 ",   "1e3",  "0x10",
                                       "1000000000001",
                                       "99999999999999999999999999" };

    (void)state;
    all_are(fields_milli, good, COUNT(good));
    none_is(fields_milli, bad, COUNT(bad));
}

static void
durations_have_a_unit_or_are_seconds(void **state)
{
    static const struct example good[] = {
        { "0", 0 },          { "90", 90000 },      { "90s", 90000 },
        { "10m", 600000 },   { "2h", 7200000 },    { "7d", 604800000 },
    };
    static const char *const bad[] = {
        "",   "s",  "-5s", "+5s", " 5",  "5 s", "5ms",
        "5w", "1h30m", "1.5h", "99999999999d", "9223372036854775808",
    };

    (void)state;
    all_are(fields_duration, good, COUNT(good));
    none_is(fields_duration, bad, COUNT(bad));
}

static void
memory_is_mib_unless_said(void **state)
{
    static const struct example good[] = {
        { "512", 512 }, { "512m", 512 }, { "4g", 4096 }, { "1t", 1048576 },
    };
    static const char *const bad[] = { "",    "4gb",  "4G", "-4g", "0.5g",
                                       "4 g", "9999999999t" };

    (void)state;
    all_are(fields_mib, good, COUNT(good));
    none_is(fields_mib, bad, COUNT(bad));
}

/* Words as a command gets them. */
struct given {
    struct cli cli;
    json_t *body;
};

static int
given(struct given *given, enum kind kind, struct error *err, const char *a,
      const char *b)
{
    memset(given, 0, sizeof(*given));
    given->cli.arena = arena_new();
    given->body = json_object();
    given->cli.words[0] = a;
    given->cli.words[1] = b;
    given->cli.word_count = b != NULL ? 2 : 1;
    return fields_read(&given->cli, kind, 0, given->body, err);
}

static void
over(struct given *given)
{
    json_decref(given->body);
    arena_free(given->cli.arena);
}

static void
words_take_their_type_from_the_schema(void **state)
{
    struct error err = { 0 };
    struct given it;

    (void)state;
    assert_int_equal(
        given(&it, KIND_CLASS, &err, "milli=500", "model=007"), 0);
    assert_int_equal(json_integer_value(json_object_get(it.body, "milli")),
                     500);
    assert_string_equal(json_string_value(json_object_get(it.body, "model")),
                        "007");
    over(&it);
    assert_int_equal(given(&it, KIND_POOL, &err, "lend=true",
                           "tenants=[\"tn_a\"]"),
                     0);
    assert_true(json_is_true(json_object_get(it.body, "lend")));
    assert_int_equal(json_array_size(json_object_get(it.body, "tenants")), 1);
    over(&it);
    assert_int_equal(given(&it, KIND_ROLE, &err,
                           "verbs=workload.get,workload.list", "give="),
                     0);
    assert_int_equal(json_array_size(json_object_get(it.body, "verbs")), 2);
    assert_int_equal(json_array_size(json_object_get(it.body, "give")), 0);
    over(&it);
}

static void
a_value_may_hold_anything_and_null_is_null(void **state)
{
    struct error err = { 0 };
    struct given it;

    (void)state;
    assert_int_equal(given(&it, KIND_TENANT, &err, "display=a=b,c d",
                           "pools=null"),
                     0);
    assert_string_equal(
        json_string_value(json_object_get(it.body, "display")), "a=b,c d");
    assert_true(json_is_null(json_object_get(it.body, "pools")));
    over(&it);
}

static void
what_is_no_field_and_value_is_refused(void **state)
{
    static const char *const words[][2] = {
        { "milli", NULL },           { "=5", NULL },
        { "milli=5", "milli=6" },    { "milli=", NULL },
        { "milli=five", NULL },      { "milli=5x", NULL },
        { "milli= 5", NULL },        { "milli=-", NULL },
        { "milli=9223372036854775808", NULL }, { "display=\xff", NULL },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(words); i++) {
        struct error err = { 0 };
        struct given it;

        if (given(&it, KIND_CLASS, &err, words[i][0], words[i][1]) == 0)
            fail_msg("\"%s\" was taken", words[i][0]);
        assert_int_equal(err.code, ERROR_INVALID);
        over(&it);
    }
}

static void
a_price_has_at_most_nine_digits_behind_the_point(void **state)
{
    static const struct example good[] = {
        { "3.5", 3500000000 }, { "0.000000001", 1 }, { "1000", 1000000000000 },
    };
    static const char *const bad[] = { "", ".", "-1", "0.0000000001", "3,5",
                                       "99999999999", "1e3" };

    (void)state;
    all_are(fields_nano, good, COUNT(good));
    none_is(fields_nano, bad, COUNT(bad));
}

static void
amounts_are_said_with_their_unit(void **state)
{
    static const struct {
        const char *dimension;
        int64_t amount;
        const char *said;
    } examples[] = {
        { "cards", 1500, "1.5 cards" },
        { "memory", 4096, "4096 MiB" },
        { "cpu", 1000, "1 CPU" },
        { "card_time", 36000000000, "10 card-hours" },
        { "unheard-of", 7, "7" },
    };
    char text[48];

    (void)state;
    for (size_t i = 0; i < COUNT(examples); i++) {
        fields_amount(examples[i].dimension, examples[i].amount, text,
                      sizeof(text));
        assert_string_equal(text, examples[i].said);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_have_at_most_three_digits_behind_the_point),
        cmocka_unit_test(a_price_has_at_most_nine_digits_behind_the_point),
        cmocka_unit_test(amounts_are_said_with_their_unit),
        cmocka_unit_test(durations_have_a_unit_or_are_seconds),
        cmocka_unit_test(memory_is_mib_unless_said),
        cmocka_unit_test(words_take_their_type_from_the_schema),
        cmocka_unit_test(a_value_may_hold_anything_and_null_is_null),
        cmocka_unit_test(what_is_no_field_and_value_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
