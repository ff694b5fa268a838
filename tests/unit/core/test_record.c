/* SPDX-License-Identifier: Apache-2.0 */
#include "core/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "base/json.h"
#include "core/merkle.h"

static struct record
sample(void)
{
    return (struct record){
        .log = "example.org/tn_a",
        .seq = 7,
        .id = "au_1",
        .wall_ms = 1700000000123,
        .mono_ms = 5000,
        .boot = "b-1",
        .observer = { "bulkheadd", "1.0", "host-1" },
        .actor = { .id = "us_1",
                   .kind = "user",
                   .name = "Ada",
                   .tenant = "tn_a",
                   .session = "se_1",
                   .credential = "key_1",
                   .credential_kind = "apikey",
                   .auth_level = "password",
                   .auth_ms = 1690000000000,
                   .on_behalf_of = NULL },
        .source = { "192.0.2.7", NULL, "abcd" },
        .action = { "workload.create", "/api/v1/workloads", "POST" },
        .object = { "wl_1", "workload", "tn_a", "pr_1", 0, 1 },
        .params = { "00ff", "{\"image\":\"x\"}" },
        .decision = { true, "granted", "gr_1", NULL, NULL },
        .outcome = { RECORD_SUCCESS, "ok" },
        .links = { "rq_1", NULL },
        .facts = "",
    };
}

static const struct record_salts salts = { { 1, 2, 3 }, { 9, 8, 7 } };

struct parts {
    struct buffer entry;
    struct buffer personal;
};

static struct parts
encode(const struct record *record, const struct record_salts *with)
{
    struct parts parts = { { 0 }, { 0 } };
    struct error err;

    assert_int_equal(
        record_encode(record, with, &parts.entry, &parts.personal, &err), 0);
    return parts;
}

static void
release(struct parts *parts)
{
    buffer_release(&parts->entry);
    buffer_release(&parts->personal);
}

static void
a_record_reads_back_as_written(void **state)
{
    struct record record = sample(), back;
    struct parts parts = encode(&record, &salts), again;
    struct error err;

    (void)state;
    assert_int_equal(record_decode(parts.entry.bytes, parts.entry.size,
                                   parts.personal.bytes, parts.personal.size,
                                   &back, &err),
                     0);
    assert_string_equal(back.actor.name, "Ada");
    assert_string_equal(back.source.ip, "192.0.2.7");
    assert_string_equal(back.params.redacted, "{\"image\":\"x\"}");
    assert_string_equal(back.log, "example.org/tn_a");
    assert_int_equal(back.seq, 7);
    assert_int_equal(back.count, 1);
    assert_true(back.decision.allow);
    assert_null(back.actor.on_behalf_of);
    assert_string_equal(back.facts, "");
    assert_int_equal(back.outcome.status, RECORD_SUCCESS);
    again = encode(&back, &salts);
    assert_int_equal(again.entry.size, parts.entry.size);
    assert_memory_equal(again.entry.bytes, parts.entry.bytes,
                        parts.entry.size);
    assert_memory_equal(again.personal.bytes, parts.personal.bytes,
                        parts.personal.size);
    release(&parts);
    release(&again);
}

/* A text that ends early would read as another one than was hashed. */
static void
a_nul_inside_a_text_of_any_length_is_refused(void **state)
{
    char text[41];

    (void)state;
    for (size_t size = 1; size < sizeof(text); size++) {
        struct record record = sample(), back;
        struct parts parts;
        struct error err;
        char *at;

        memset(text, 'x', size);
        text[size] = '\0';
        record.facts = text;
        parts = encode(&record, &salts);
        at = memmem(parts.entry.bytes, parts.entry.size, text, size + 1);
        assert_non_null(at);
        for (size_t i = 0; i <= size; i++) {
            at[i] = i < size ? '\0' : 'x'; /* at the end none is missing */
            assert_int_equal(record_decode(parts.entry.bytes,
                                           parts.entry.size, NULL, 0, &back,
                                           &err),
                             -1);
            at[i] = i < size ? 'x' : '\0';
        }
        assert_int_equal(record_decode(parts.entry.bytes, parts.entry.size,
                                       NULL, 0, &back, &err),
                         0);
        release(&parts);
    }
}

static void
erasing_the_personal_part_keeps_the_leaf(void **state)
{
    struct record record = sample(), back;
    struct parts parts = encode(&record, &salts);
    struct digest before, after;
    struct error err;

    (void)state;
    record_leaf(parts.entry.bytes, parts.entry.size, &before);
    assert_int_equal(record_decode(parts.entry.bytes, parts.entry.size, NULL,
                                   0, &back, &err),
                     0);
    assert_null(back.actor.name);
    assert_null(back.source.ip);
    assert_null(back.params.redacted);
    assert_string_equal(back.actor.id, "us_1");
    record_leaf(parts.entry.bytes, parts.entry.size, &after);
    assert_int_equal(digest_compare(&before, &after), 0);
    merkle_hash_leaf(parts.entry.bytes, parts.entry.size, &after);
    assert_int_equal(digest_compare(&before, &after), 0);
    assert_null(memmem(parts.entry.bytes, parts.entry.size, "Ada", 3));
    assert_null(memmem(parts.entry.bytes, parts.entry.size, "192.0.2.7", 9));
    release(&parts);
}

static void
the_salt_hides_equal_records_from_each_other(void **state)
{
    struct record record = sample();
    struct record_salts other = salts;
    struct parts first = encode(&record, &salts), second;
    struct digest a, b;

    (void)state;
    other.entry[31] = 1;
    second = encode(&record, &other);
    record_leaf(first.entry.bytes, first.entry.size, &a);
    record_leaf(second.entry.bytes, second.entry.size, &b);
    assert_int_not_equal(digest_compare(&a, &b), 0);
    release(&first);
    release(&second);
}

static void
a_changed_personal_part_is_refused(void **state)
{
    struct record record = sample(), back;
    struct parts parts = encode(&record, &salts);
    struct error err;

    (void)state;
    for (size_t i = 0; i < parts.personal.size; i++) {
        parts.personal.bytes[i] = (char)(parts.personal.bytes[i] ^ 1);
        assert_int_equal(record_decode(parts.entry.bytes, parts.entry.size,
                                       parts.personal.bytes,
                                       parts.personal.size, &back, &err),
                         -1);
        assert_int_equal(err.code, ERROR_VERIFY);
        parts.personal.bytes[i] = (char)(parts.personal.bytes[i] ^ 1);
    }
    release(&parts);
}

/* Every accepted byte string has exactly one meaning: what decodes encodes
 * back to the same bytes. */
static void
a_cut_or_changed_entry_is_refused_or_means_something_else(void **state)
{
    struct record record = sample(), back;
    struct parts parts = encode(&record, &salts);
    struct record_salts same = salts;
    struct error err;

    (void)state;
    for (size_t i = 0; i < parts.entry.size; i++)
        assert_int_equal(
            record_decode(parts.entry.bytes, i, NULL, 0, &back, &err), -1);
    for (size_t i = RECORD_SALT_SIZE; i < parts.entry.size - DIGEST_SIZE;
         i++) {
        const char honest = parts.entry.bytes[i];

        for (int value = 0; value < 256; value++) {
            struct parts again;

            parts.entry.bytes[i] = (char)value;
            if (record_decode(parts.entry.bytes, parts.entry.size, NULL, 0,
                              &back, &err) != 0)
                continue;
            again = encode(&back, &same);
            assert_int_equal(again.entry.size, parts.entry.size);
            assert_memory_equal(again.entry.bytes, parts.entry.bytes,
                                parts.entry.size - DIGEST_SIZE);
            release(&again);
        }
        parts.entry.bytes[i] = honest;
    }
    release(&parts);
}

static void
a_record_over_the_bound_is_refused_and_leaves_nothing(void **state)
{
    static char large[RECORD_SIZE_MAX + 1];
    struct record record = sample();
    struct buffer entry = { 0 }, personal = { 0 };
    struct error err;

    (void)state;
    memset(large, 'x', RECORD_SIZE_MAX);
    buffer_add_text(&entry, "kept");
    record.facts = large;
    assert_int_equal(record_encode(&record, &salts, &entry, &personal, &err),
                     -1);
    assert_int_equal(err.code, ERROR_TOO_LARGE);
    assert_string_equal(buffer_text(&entry), "kept");
    assert_int_equal(personal.size, 0);
    record.facts = NULL;
    record.params.redacted = large;
    assert_int_equal(record_encode(&record, &salts, &entry, &personal, &err),
                     -1);
    buffer_release(&entry);
    buffer_release(&personal);
}

static void
export_is_one_json_line_without_control_characters(void **state)
{
    struct record record = sample();
    scoped_buffer line = { 0 };
    scoped_json json = NULL;
    struct error err;

    (void)state;
    record.actor.name = "eve\n\x1b[31m\",\"actor\":\"root";
    record_add_json(&line, &record);
    assert_ptr_equal(strchr(line.bytes, '\n'), line.bytes + line.size - 1);
    assert_null(strchr(line.bytes, '\x1b'));
    json = json_read(line.bytes, line.size - 1, &err);
    assert_non_null(json);
    assert_string_equal(json_string_value(json_object_get(
                            json_object_get(json, "actor"), "name")),
                        record.actor.name);
    assert_string_equal(json_string_value(json_object_get(json, "time")),
                        "2023-11-14T22:13:20.123Z");
    assert_null(json_object_get(json, "approval"));
    assert_null(json_object_get(json_object_get(json, "links"), "parent"));
}

static json_t *
ocsf_of(const struct record *record)
{
    scoped_buffer line = { 0 };
    struct error err;
    json_t *json;

    record_add_ocsf(&line, record);
    json = json_read(line.bytes, line.size - 1, &err);
    assert_non_null(json);
    return json;
}

static const char *
text_at(const json_t *json, const char *group, const char *name)
{
    return json_string_value(json_object_get(json_object_get(json, group),
                                             name));
}

/* What the schema requires of the class and of its base event
 * (github.com/ocsf/ocsf-schema, events/application/api_activity.json). */
static void
assert_required(const json_t *json)
{
    static const char *const required[] = {
        "activity_id", "actor",        "api",  "category_uid", "class_uid",
        "metadata",    "severity_id",  "time", "type_uid",     "src_endpoint",
    };

    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
        assert_non_null(json_object_get(json, required[i]));
    assert_non_null(text_at(json, "api", "operation"));
    assert_non_null(text_at(json, "metadata", "version"));
    assert_non_null(
        json_object_get(json_object_get(json, "metadata"), "product"));
    assert_true(json_object_size(json_object_get(json, "actor")) > 0);
    assert_true(json_object_size(json_object_get(json, "src_endpoint")) > 0);
    assert_int_equal(json_integer_value(json_object_get(json, "class_uid")),
                     6003);
}

static void
export_as_ocsf_is_api_activity(void **state)
{
    struct record record = sample();
    scoped_json json = ocsf_of(&record);

    (void)state;
    assert_required(json);
    assert_int_equal(json_integer_value(json_object_get(json, "type_uid")),
                     600301);
    assert_int_equal(json_integer_value(json_object_get(json, "status_id")),
                     1);
    assert_int_equal(json_integer_value(json_object_get(json, "time")),
                     record.wall_ms);
    assert_string_equal(text_at(json, "api", "operation"),
                        record.action.verb);
    assert_string_equal(text_at(json, "src_endpoint", "ip"),
                        record.source.ip);
}

static void
the_platforms_own_deeds_are_ocsf_too(void **state)
{
    struct record record = { .log = "e/platform",
                             .id = "ev_1",
                             .observer.component = "scheduler",
                             .actor.kind = "platform",
                             .action.verb = "schedule.assign",
                             .decision.allow = true,
                             .outcome.status = RECORD_PARTIAL };
    scoped_json json = ocsf_of(&record);

    (void)state;
    assert_required(json);
    assert_int_equal(json_integer_value(json_object_get(json, "type_uid")),
                     600399);
    assert_string_equal(json_string_value(
                            json_object_get(json, "activity_name")),
                        "schedule.assign");
    assert_string_equal(text_at(json, "actor", "app_name"), "scheduler");
    assert_null(json_object_get(json, "resources"));
    record.action.verb = "quota.update";
    {
        scoped_json update = ocsf_of(&record);

        assert_int_equal(
            json_integer_value(json_object_get(update, "activity_id")), 3);
    }
}

static void
heads_read_back_in_order(void **state)
{
    struct digest root = { { 1 } }, read;
    scoped_buffer facts = { 0 };
    char origin[RECORD_ORIGIN_MAX];
    const char *at;
    uint64_t size;

    (void)state;
    record_add_head(&facts, "e/tn_a", 0, &root);
    root.bytes[0] = 2;
    record_add_head(&facts, "e/tn_b", 12345678901, &root);
    at = buffer_text(&facts);
    assert_int_equal(record_next_head(&at, origin, &size, &read), 1);
    assert_string_equal(origin, "e/tn_a");
    assert_int_equal(size, 0);
    assert_int_equal(record_next_head(&at, origin, &size, &read), 1);
    assert_string_equal(origin, "e/tn_b");
    assert_true(size == 12345678901);
    assert_int_equal(digest_compare(&read, &root), 0);
    assert_int_equal(record_next_head(&at, origin, &size, &read), 0);
}

static void
malformed_heads_are_refused(void **state)
{
    static const char *const bad[] = {
        "e/tn_a\n",
        "e/tn_a 1\n",
        " 1 AA==\n",
        "e/tn_a 01 AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        "e/tn_a -1 AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n",
        ("e/tn_a 99999999999999999999 "
         "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n"),
        "e/tn_a 1 AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
        "e/tn_a 1 AgAA\n",
    };
    char origin[RECORD_ORIGIN_MAX];
    struct digest root;
    uint64_t size;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const char *at = bad[i];

        assert_int_equal(record_next_head(&at, origin, &size, &root), -1);
    }
}

static void
bundles_give_their_items_back_and_a_cut_shows(void **state)
{
    scoped_buffer bundle = { 0 };
    const uint8_t *at, *item;
    size_t size;

    (void)state;
    record_add_item(&bundle, "abc", 3);
    record_add_item(&bundle, "", 0);
    at = (const uint8_t *)bundle.bytes;
    assert_int_equal(record_next_item(&at, at + bundle.size, &item, &size),
                     1);
    assert_int_equal(size, 3);
    assert_memory_equal(item, "abc", 3);
    assert_int_equal(record_next_item(&at, item + 5, &item, &size), 1);
    assert_int_equal(size, 0);
    assert_int_equal(record_next_item(&at, at, &item, &size), 0);
    for (size_t cut = 1; cut < 5; cut++) {
        at = (const uint8_t *)bundle.bytes;
        assert_int_equal(record_next_item(&at, at + cut, &item, &size), -1);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_reads_back_as_written),
        cmocka_unit_test(a_nul_inside_a_text_of_any_length_is_refused),
        cmocka_unit_test(erasing_the_personal_part_keeps_the_leaf),
        cmocka_unit_test(the_salt_hides_equal_records_from_each_other),
        cmocka_unit_test(a_changed_personal_part_is_refused),
        cmocka_unit_test(
            a_cut_or_changed_entry_is_refused_or_means_something_else),
        cmocka_unit_test(a_record_over_the_bound_is_refused_and_leaves_nothing),
        cmocka_unit_test(export_is_one_json_line_without_control_characters),
        cmocka_unit_test(export_as_ocsf_is_api_activity),
        cmocka_unit_test(the_platforms_own_deeds_are_ocsf_too),
        cmocka_unit_test(bundles_give_their_items_back_and_a_cut_shows),
        cmocka_unit_test(heads_read_back_in_order),
        cmocka_unit_test(malformed_heads_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
