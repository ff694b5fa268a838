/* SPDX-License-Identifier: Apache-2.0 */
#include "attacks.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BROKEN(name, text) { name, ATTACK_BROKEN, text, NULL, 0, "" }
#define VALUE(name, type, text) { name, ATTACK_##type, text, NULL, 0, "" }

const struct attack attack_values[] = {
    VALUE("null", NULL, "null"),
    VALUE("true", BOOLEAN, "true"),
    VALUE("zero", INTEGER, "0"),
    VALUE("minus one", INTEGER, "-1"),
    VALUE("least", INTEGER, "-9223372036854775808"),
    VALUE("most", INTEGER, "9223372036854775807"),
    VALUE("empty text", STRING, "\"\""),
    VALUE("blank", STRING, "\" \""),
    VALUE("dots", STRING, "\"../../../../etc/passwd\""),
    VALUE("markup", STRING, "\"<img src=x onerror=alert(1)>'\\\";--\""),
    VALUE("control", STRING, "\"a\\u0001\\u001b[2Jb\""),
    VALUE("delete", STRING, "\"a\\u007fb\""),
    VALUE("turned around", STRING, "\"a\\u202eb\\u2066c\""),
    VALUE("lines", STRING, "\"a\\r\\nSet-Cookie: a=b\""),
    VALUE("format", STRING, "\"%n%s%s%s%s%99999d\""),
    VALUE("number as text", STRING, "\"1\""),
    VALUE("strange id", STRING, "\"tn_aaaaaaaaaaaaaaaaaaaaaaaaaa\""),
    { "long text", ATTACK_STRING, "\"", "a", 70000, "\"" },
    { "wide text", ATTACK_STRING, "\"", "\xF0\x9F\x92\xA5", 17000, "\"" },
    VALUE("empty list", ARRAY, "[]"),
    VALUE("list of null", ARRAY, "[null]"),
    VALUE("mixed list", ARRAY, "[1, \"a\", {\"b\": []}]"),
    { "long list", ATTACK_ARRAY, "[0", ",0", 20000, "]" },
    { "long list of texts", ATTACK_ARRAY, "[\"a\"", ",\"a\"", 20000, "]" },
    VALUE("empty object", OBJECT, "{}"),
    VALUE("object", OBJECT, "{\"id\": 1, \"\": 2}"),
    VALUE("prototype", OBJECT, "{\"__proto__\": {\"admin\": true}}"),
    BROKEN("two to the 63", "9223372036854775808"),
    BROKEN("below the least", "-9223372036854775809"),
    BROKEN("1e400", "1e400"),
    BROKEN("1e2", "1e2"),
    BROKEN("fraction", "1.5"),
    BROKEN("minus nothing", "-"),
    BROKEN("leading zero", "007"),
    BROKEN("plus", "+1"),
    BROKEN("hexadecimal", "0x10"),
    BROKEN("NaN", "NaN"),
    BROKEN("Infinity", "-Infinity"),
    BROKEN("word", "nul"),
    BROKEN("nothing", ""),
    BROKEN("NUL escape", "\"a\\u0000b\""),
    BROKEN("lone surrogate", "\"\\ud800\""),
    BROKEN("wrong pair", "\"\\udc00\\ud800\""),
    BROKEN("not UTF-8", "\"\xff\xfe\""),
    BROKEN("overlong UTF-8", "\"\xc0\xaf\""),
    BROKEN("surrogate in UTF-8", "\"\xed\xa0\x80\""),
    BROKEN("cut UTF-8", "\"\xe2\x82\""),
    BROKEN("raw control", "\"a\x01z\""),
    BROKEN("raw line", "\"a\nb\""),
    BROKEN("bad escape", "\"\\x41\""),
    BROKEN("open text", "\"a"),
    BROKEN("single quotes", "'a'"),
    BROKEN("comment", "1 /* a */"),
    { "deep list", ATTACK_BROKEN, "", "[", 50000, "" },
    { "deep object", ATTACK_BROKEN, "", "{\"a\":", 20000, "1" },
    { "seventeen levels", ATTACK_BROKEN, "", "[", 16, "]]]]]]]]]]]]]]]]" },
};
const size_t attack_value_count = COUNT(attack_values);

const struct attack attack_bodies[] = {
    BROKEN("null", "null"),
    BROKEN("list", "[]"),
    BROKEN("text", "\"a\""),
    BROKEN("number", "1"),
    BROKEN("open", "{"),
    BROKEN("more behind", "{} x"),
    BROKEN("two objects", "{}{}"),
    BROKEN("same key twice", "{\"name\":\"a\",\"name\":\"b\"}"),
    BROKEN("same key in two spellings", "{\"name\":\"a\",\"n\\u0061me\":\"b\"}"),
    BROKEN("comma", "{\"name\":\"a\",}"),
    BROKEN("no quotes", "{name:1}"),
    BROKEN("NUL in a key", "{\"a\\u0000b\":1}"),
    BROKEN("key not UTF-8", "{\"\xff\":1}"),
    BROKEN("byte order mark", "\xEF\xBB\xBF{}"),
    BROKEN("blanks", " \t\r\n"),
    BROKEN("form", "name=a&password=b"),
    BROKEN("XML", "<?xml version=\"1.0\"?><a/>"),
    BROKEN("unknown field", "{\"zz\":1}"),
    BROKEN("empty key", "{\"\":1}"),
    BROKEN("what the platform sets", "{\"version\":1,\"used\":0}"),
    { "long key", ATTACK_BROKEN, "{\"", "k", 70000, "\":1}" },
    { "many keys", ATTACK_BROKEN, "{\"a\":1", ",\"a\":1", 9000, "}" },
    { "deep", ATTACK_BROKEN, "", "[", 100000, "" },
    { "too large", ATTACK_BROKEN, "{\"name\":\"", "a", 1100000, "\"}" },
};
const size_t attack_body_count = COUNT(attack_bodies);

const struct attack attack_segments[] = {
    BROKEN("dot", "."),
    BROKEN("dots", ".."),
    BROKEN("dots, encoded", "%2e%2e"),
    BROKEN("slash, encoded", "a%2fb"),
    BROKEN("slash, twice", "a%252fb"),
    BROKEN("NUL", "a%00"),
    BROKEN("line", "a%0d%0aX-A:%20b"),
    BROKEN("not UTF-8", "%ff%fe"),
    BROKEN("raw, not UTF-8", "\xff\xfe"),
    BROKEN("percent", "%"),
    BROKEN("half", "%4"),
    BROKEN("no digits", "%zz"),
    BROKEN("empty", ""),
    BROKEN("upper case", "TN_AAAAAAAAAAAAAAAAAAAAAAAAAA"),
    BROKEN("unknown id", "tn_aaaaaaaaaaaaaaaaaaaaaaaaaa"),
    BROKEN("short id", "tn_a"),
    BROKEN("number", "-1"),
    BROKEN("braces", "{id}"),
    BROKEN("star", "*"),
    BROKEN("semicolon", "a;b=c"),
    { "long", ATTACK_BROKEN, "", "a", 3000, "" },
    { "too long", ATTACK_BROKEN, "", "a", 12000, "" },
    { "many", ATTACK_BROKEN, "a", "/a", 200, "" },
};
const size_t attack_segment_count = COUNT(attack_segments);

const struct attack attack_queries[] = {
    BROKEN("empty", ""),
    BROKEN("blank", "%20"),
    BROKEN("minus", "-1"),
    BROKEN("most", "9223372036854775808"),
    BROKEN("huge", "99999999999999999999999999999999"),
    BROKEN("1e400", "1e400"),
    BROKEN("fraction", "1.5"),
    BROKEN("number and more", "1x"),
    BROKEN("null", "null"),
    BROKEN("list", "[]"),
    BROKEN("NUL", "1%00"),
    BROKEN("line", "1%0a"),
    BROKEN("not UTF-8", "%ff"),
    BROKEN("percent", "%"),
    BROKEN("no digits", "%zz"),
    BROKEN("markup", "%3Cscript%3E"),
    BROKEN("a late day", "9999-99-99T99:99:99Z"),
    BROKEN("a far day", "99999-01-01T00:00:00Z"),
    { "long", ATTACK_BROKEN, "", "a", 3000, "" },
    { "too long", ATTACK_BROKEN, "", "1", 12000, "" },
};
const size_t attack_query_count = COUNT(attack_queries);

void
attack_write(struct buffer *out, const struct attack *attack)
{
    buffer_add_text(out, attack->text);
    for (size_t i = 0; attack->repeat != NULL && i < attack->times; i++)
        buffer_add_text(out, attack->repeat);
    buffer_add_text(out, attack->tail);
}

const char *
attack_type_name(enum attack_type type)
{
    static const char *const names[] = { "", "null", "boolean", "integer",
                                         "string", "array", "object" };

    return names[type];
}
