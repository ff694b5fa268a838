/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/document.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static const char *const as_text[] = { "env", "cpu", NULL };

static json_t *
read(const char *text)
{
    struct error err = { 0 };
    json_t *documents = NULL;

    if (document_parse(text, strlen(text), as_text, &documents, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    return documents;
}

/* The one document of the text is this JSON. */
static void
is(const char *text, const char *json)
{
    scoped_json documents = read(text);
    scoped_json right = json_loads(json, JSON_DECODE_ANY, NULL);

    assert_int_equal(json_array_size(documents), 1);
    if (!json_equal(json_array_get(documents, 0), right))
        fail_msg("%s is %s", text,
                 json_dumps(json_array_get(documents, 0), JSON_ENCODE_ANY));
}

static void
refused(const char *text, const char *why)
{
    struct error err = { 0 };
    json_t *documents = NULL;

    if (document_parse(text, strlen(text), as_text, &documents, &err) == 0)
        fail_msg("\"%s\" is taken", text);
    assert_int_equal(err.code, ERROR_INVALID);
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\": %s", text, err.text);
}

static void
plain_words_are_what_they_look_like(void **state)
{
    (void)state;
    is("a: 1\nb: -7\nc: +8\n", "{\"a\":1,\"b\":-7,\"c\":8}");
    is("a: true\nb: false\nc: null\nd: ~\ne:\n",
       "{\"a\":true,\"b\":false,\"c\":null,\"d\":null,\"e\":null}");
    is("a: 9223372036854775807\n", "{\"a\":9223372036854775807}");
    /* The words that other readers take for true and false. */
    is("[yes, no, on, off, True, NULL]",
       "[\"yes\",\"no\",\"on\",\"off\",\"True\",\"NULL\"]");
    is("a: 1.2.3\nb: 2..4\nc: 30s\nd: -x\ne: \"1\"\nf: 'true'\n",
       "{\"a\":\"1.2.3\",\"b\":\"2..4\",\"c\":\"30s\",\"d\":\"-x\","
       "\"e\":\"1\",\"f\":\"true\"}");
}

static void
below_some_keys_everything_is_text_as_it_stands(void **state)
{
    (void)state;
    is("cpu: 1.50\n", "{\"cpu\":\"1.50\"}");
    is("env:\n  A: 1.10\n  B: true\n  C: 0123\n  D: null\n  E:\n",
       "{\"env\":{\"A\":\"1.10\",\"B\":\"true\",\"C\":\"0123\","
       "\"D\":\"null\",\"E\":\"\"}}");
    /* But not beside them. */
    is("env: {A: 1}\nother: {A: 1}\n",
       "{\"env\":{\"A\":\"1\"},\"other\":{\"A\":1}}");
}

static void
structure_and_blocks_are_kept(void **state)
{
    (void)state;
    is("a: [1, [2, {b: c}]]\n", "{\"a\":[1,[2,{\"b\":\"c\"}]]}");
    is("a: |\n  one\n  two\nb: >-\n  three\n  four\n",
       "{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}");
    is("- 1\n-\n  - 2\n", "[1,[2]]");
    is("# only words\n---\nname: x # behind\n...\n", "{\"name\":\"x\"}");
    is(" {\"a\": [1, true, null]}\n", "{\"a\":[1,true,null]}");
}

static void
a_file_holds_several_documents(void **state)
{
    scoped_json documents = NULL;
    scoped_json none = NULL;
    scoped_buffer many = { 0 };

    (void)state;
    documents = read("a: 1\n---\n---\nb: 2\n---\n# nothing\n");
    assert_int_equal(json_array_size(documents), 2);
    none = read("# nothing\n");
    assert_int_equal(json_array_size(none), 0);
    for (int i = 0; i < DOCUMENT_MAX + 1; i++)
        buffer_printf(&many, "---\nname: n%d\n", i);
    refused(buffer_text(&many), "more than 1000 documents");
}

static void
what_two_readers_take_for_two_things_is_refused_with_its_line(void **state)
{
    (void)state;
    refused("a: 1\nb: 2\na: 3\n", "line 3: a is given twice");
    refused("a: {b: 1, b: 2}\n", "line 1: b is given twice");
    refused("a: &x 1\nb: *x\n", "line 1: anchors (&) are not taken");
    refused("a: 1\nb: *x\n", "line 2: aliases (*) are not taken");
    refused("a: &x [1]\n", "line 1: anchors (&) are not taken");
    refused("a: !!python/object:os.system x\n", "line 1: tags (!)");
    refused("a: !x {b: 1}\n", "line 1: tags (!)");
    refused("a: 1\nb: 0123\n", "line 2: 0123 begins with 0");
    refused("a: 1.5\n", "line 1: 1.5 is not an integer; write it in quotes");
    refused("a: 1e3\n", "line 1: 1e3 is not an integer");
    refused("a: 9223372036854775808\n", "is above 2^63 - 1");
    refused("? [a]\n: b\n", "line 1: a key is not text");
    refused("a: \"x\\0y\"\n", "zero byte");
}

static void
broken_text_is_refused_with_its_line(void **state)
{
    scoped_buffer deep = { 0 };

    (void)state;
    refused("a: 1\n\tb: 2\n", "line 2: not YAML");
    refused("a: [1, 2\n", "not YAML");
    refused("a: 'x\n", "not YAML");
    refused("a: \xff\xfe\n", "not YAML");
    refused("{\"a\": 1,}", "");
    refused("{\"a\": 1, \"a\": 2}", "");
    for (int i = 0; i < JSON_DEPTH_MAX + 1; i++)
        buffer_printf(&deep, "- ");
    buffer_printf(&deep, "1\n");
    refused(buffer_text(&deep), "more than 16 levels");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_words_are_what_they_look_like),
        cmocka_unit_test(below_some_keys_everything_is_text_as_it_stands),
        cmocka_unit_test(structure_and_blocks_are_kept),
        cmocka_unit_test(a_file_holds_several_documents),
        cmocka_unit_test(
            what_two_readers_take_for_two_things_is_refused_with_its_line),
        cmocka_unit_test(broken_text_is_refused_with_its_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
