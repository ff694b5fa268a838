/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct column columns[] = {
    { "NAME", "name", 's', false },  { "TEXT", "deep.text", 's', false },
    { "SHARE", "milli", 'm', false }, { "WHOLE", "count", 's', false },
    { "YES", "flag", 'b', false },   { "ID", "id", 's', true },
    { 0 }
};

/* --- what is printed --- */

struct capture {
    FILE *file;
    int saved;
};

static void
capture_start(struct capture *capture)
{
    (void)fflush(stdout);
    capture->file = tmpfile();
    assert_non_null(capture->file);
    capture->saved = dup(STDOUT_FILENO);
    assert_true(dup2(fileno(capture->file), STDOUT_FILENO) >= 0);
}

static void
capture_end(struct capture *capture, char *text, size_t room)
{
    size_t size;

    (void)fflush(stdout);
    (void)dup2(capture->saved, STDOUT_FILENO);
    (void)close(capture->saved);
    rewind(capture->file);
    size = fread(text, 1, room - 1, capture->file);
    text[size] = '\0';
    (void)fclose(capture->file);
}

static void
printed(enum output_form form, bool headers, const char *json,
        const char *expected)
{
    struct cli cli = { .form = form, .headers = headers };
    struct error err = { 0 };
    scoped_json value = json_read(json, strlen(json), &err);
    struct capture capture;
    char text[4096];

    assert_non_null(value);
    cli.arena = arena_new();
    capture_start(&capture);
    output_print(&cli, columns, value);
    capture_end(&capture, text, sizeof(text));
    arena_free(cli.arena);
    assert_string_equal(text, expected);
}

#define TWO                                                                   \
    "{\"items\":[{\"type\":\"class\",\"name\":\"a\",\"id\":\"cl_1\","         \
    "\"deep\":{\"text\":\"x y\"},\"milli\":500,\"count\":-3,\"flag\":true},"  \
    "{\"type\":\"class\",\"name\":\"longer\",\"id\":\"cl_2\","                \
    "\"deep\":{\"text\":\"\"},\"milli\":2000,\"count\":12,\"flag\":false}]}"

static void
a_table_has_aligned_columns_and_wide_has_more(void **state)
{
    (void)state;
    printed(OUTPUT_TABLE, true, TWO,
            "NAME    TEXT  SHARE  WHOLE  YES\n"
            "a       x y   0.5    -3     yes\n"
            "longer  -     2      12     -\n");
    printed(OUTPUT_TABLE, false, TWO,
            "a       x y  0.5  -3  yes\n"
            "longer  -    2    12  -\n");
    printed(OUTPUT_WIDE, true, TWO,
            "NAME    TEXT  SHARE  WHOLE  YES  ID\n"
            "a       x y   0.5    -3     yes  cl_1\n"
            "longer  -     2      12     -    cl_2\n");
}

static void
letters_of_two_bytes_take_one_column(void **state)
{
    (void)state;
    printed(OUTPUT_TABLE, false,
            "{\"items\":[{\"name\":\"\xc3\xa4\xc3\xb6\",\"count\":1},"
            "{\"name\":\"ab\",\"count\":2}]}",
            "\xc3\xa4\xc3\xb6  -  -  1  -\nab  -  -  2  -\n");
}

static void
one_object_is_a_table_of_one(void **state)
{
    (void)state;
    printed(OUTPUT_NAME, true, "{\"type\":\"pool\",\"name\":\"p\"}",
            "pool/p\n");
    printed(OUTPUT_NAME, true, "{\"type\":\"grant\",\"id\":\"gr_1\"}",
            "grant/gr_1\n");
    printed(OUTPUT_TABLE, false, "{\"name\":\"p\"}", "p  -  -  -  -\n");
}

static void
csv_has_field_names_exact_numbers_and_quoted_cells(void **state)
{
    (void)state;
    printed(OUTPUT_CSV, true, TWO,
            "name,deep.text,milli,count,flag,id\r\n"
            "a,x y,500,-3,true,cl_1\r\n"
            "longer,,2000,12,false,cl_2\r\n");
    printed(OUTPUT_CSV, false,
            "{\"name\":\"a,b\",\"deep\":{\"text\":\"say \\\"x\\\"\"}}",
            "\"a,b\",\"say \"\"x\"\"\",,,,\r\n");
}

static void
a_text_that_a_spreadsheet_would_run_is_disarmed(void **state)
{
    static const char *const starts[] = { "=", "+", "-1", "@", "  =",
                                          "\\t=" };
    static const char *const shown[] = { "=", "+", "-1", "@", "  =", " =" };

    (void)state;
    for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
        char json[64], csv[64];

        (void)snprintf(json, sizeof(json), "{\"name\":\"%scmd\"}", starts[i]);
        (void)snprintf(csv, sizeof(csv), "\"'%scmd\",,,,,\r\n", shown[i]);
        printed(OUTPUT_CSV, false, json, csv);
    }
    printed(OUTPUT_CSV, false, "{\"name\":\"-\",\"id\":\"a=b\"}",
            "-,,,,,a=b\r\n");
}

static void
json_and_yaml_are_the_value_with_nothing_that_drives_a_terminal(void **state)
{
    (void)state;
    printed(OUTPUT_JSON, true, "{\"a\":\"\\u009b\\u202e\xc3\xa4\"}",
            "{\n  \"a\": \"\\u009b\\u202e\xc3\xa4\"\n}\n");
    printed(OUTPUT_YAML, true,
            "{\"a\":[1,null,true],\"b\":{\"c\":\"yes: \\u202e\"}}",
            "a:\n- 1\n- null\n- true\nb:\n  c: \"yes: \\u202e\"\n");
    printed(OUTPUT_TABLE, false, "{\"name\":\"\\u001b[2J\\u009b\"}",
            "?[2J?  -  -  -  -\n");
    printed(OUTPUT_CSV, false, "{\"name\":\"\\u001b[2J\\n\"}",
            "?[2J ,,,,,\r\n");
}

static void
nothing_found_is_a_header_alone(void **state)
{
    (void)state;
    printed(OUTPUT_TABLE, true, "{\"items\":[]}",
            "NAME  TEXT  SHARE  WHOLE  YES\n");
    printed(OUTPUT_TABLE, false, "{\"items\":[]}", "");
    printed(OUTPUT_NAME, true, "{\"items\":[]}", "");
}

/* --- amounts --- */

static void
amounts_are_shown_without_zeros_at_their_end(void **state)
{
    static const struct {
        int64_t value;
        const char *milli, *nano;
    } table[] = {
        { 0, "0", "0" },
        { 1, "0.001", "0.000000001" },
        { -1, "-0.001", "-0.000000001" },
        { 1500, "1.5", "0.0000015" },
        { 10000, "10", "0.00001" },
        { -2500, "-2.5", "-0.0000025" },
        { 1234500000, "1234500", "1.2345" },
        { INT64_MAX, "9223372036854775.807", "9223372036.854775807" },
        { INT64_MIN, "-9223372036854775.808", "-9223372036.854775808" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        char text[40];

        output_milli(table[i].value, text, sizeof(text));
        assert_string_equal(text, table[i].milli);
        output_nano(table[i].value, text, sizeof(text));
        assert_string_equal(text, table[i].nano);
    }
}

static void
every_kind_has_columns_and_the_first_names_it(void **state)
{
    static const char *const kinds[] = { "pool",     "node",    "card",
                                         "tenant",   "grant",   "quota",
                                         "workload", "binding", "nosuch" };

    (void)state;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct column *list = output_columns(kinds[i]);

        assert_string_equal(list[0].title, "NAME");
        assert_false(list[0].wide);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_has_aligned_columns_and_wide_has_more),
        cmocka_unit_test(letters_of_two_bytes_take_one_column),
        cmocka_unit_test(one_object_is_a_table_of_one),
        cmocka_unit_test(csv_has_field_names_exact_numbers_and_quoted_cells),
        cmocka_unit_test(a_text_that_a_spreadsheet_would_run_is_disarmed),
        cmocka_unit_test(
            json_and_yaml_are_the_value_with_nothing_that_drives_a_terminal),
        cmocka_unit_test(nothing_found_is_a_header_alone),
        cmocka_unit_test(amounts_are_shown_without_zeros_at_their_end),
        cmocka_unit_test(every_kind_has_columns_and_the_first_names_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
