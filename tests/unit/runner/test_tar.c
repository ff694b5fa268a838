/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/tar.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/buffer.h"

struct source {
    const struct buffer *bytes;
    size_t at;
};

static ssize_t
read_source(void *data, void *bytes, size_t size, struct error *err)
{
    struct source *source = data;
    size_t left = source->bytes->size - source->at;

    (void)err;
    if (size > left)
        size = left;
    if (size > 100)
        size = 100; /* short reads are part of life */
    if (size > 0)
        memcpy(bytes, source->bytes->bytes + source->at, size);
    source->at += size;
    return (ssize_t)size;
}

/* Appends a header with a right checksum, then the data, padded. */
static void
put(struct buffer *out, char type, const char *name, const char *size,
    const char *data, size_t data_size)
{
    char head[512] = { 0 };
    unsigned sum = 0;

    (void)snprintf(head, 100, "%s", name);
    (void)snprintf(head + 100, 8, "0000644");
    (void)snprintf(head + 108, 8, "0000001");
    (void)snprintf(head + 116, 8, "0000002");
    (void)snprintf(head + 124, 12, "%s", size);
    head[156] = type;
    memcpy(head + 257,
           "ustar\0"
           "00",
           8);
    memset(head + 148, ' ', 8);
    for (size_t i = 0; i < 512; i++)
        sum += (unsigned char)head[i];
    (void)snprintf(head + 148, 8, "%06o", sum);
    buffer_add(out, head, 512);
    buffer_add(out, data, data_size);
    while (out->size % 512 != 0)
        buffer_add_byte(out, 0);
}

static int
first(const struct buffer *bytes, struct tar_entry *entry, struct error *err)
{
    struct source source = { .bytes = bytes };
    struct tar tar = { .read = read_source, .source = &source };

    return tar_next(&tar, entry, err);
}

static void
entries_and_their_bytes_come_out(void **state)
{
    scoped_buffer bytes = { 0 };
    struct tar_entry *entry = memory_new(1, sizeof(*entry));
    struct source source = { .bytes = &bytes };
    struct tar tar = { .read = read_source, .source = &source };
    struct error err = { 0 };
    char text[16];

    (void)state;
    put(&bytes, '5', "dir/", "0", "", 0);
    put(&bytes, '0', "dir/a", "00000000005", "hello", 5);
    put(&bytes, '0', "dir/b", "00000000003", "abc", 3);
    for (int i = 0; i < 1024; i++)
        buffer_add_byte(&bytes, 0);
    assert_int_equal(tar_next(&tar, entry, &err), 1);
    assert_int_equal(entry->type, '5');
    assert_int_equal(tar_next(&tar, entry, &err), 1);
    assert_string_equal(entry->path, "dir/a");
    assert_int_equal(entry->size, 5);
    assert_int_equal(entry->mode, 0644);
    assert_int_equal(entry->gid, 2);
    assert_int_equal(tar_data(&tar, text, 3, &err), 3);
    assert_memory_equal(text, "hel", 3);
    assert_int_equal(tar_next(&tar, entry, &err), 1);
    assert_string_equal(entry->path, "dir/b");
    assert_int_equal(tar_data(&tar, text, sizeof(text), &err), 3);
    assert_int_equal(tar_data(&tar, text, sizeof(text), &err), 0);
    assert_int_equal(tar_next(&tar, entry, &err), 0);
    free(entry);
}

static void
long_names_and_pax_records_replace_those_of_the_header(void **state)
{
    static const char records[] = "22 path=a/pax/name/ok\n"
                                  "13 uid=60000\n"
                                  "30 SCHILY.xattr.security=evil\n";
    scoped_buffer bytes = { 0 };
    struct tar_entry *entry = memory_new(1, sizeof(*entry));
    struct source source = { .bytes = &bytes };
    struct tar tar = { .read = read_source, .source = &source };
    struct error err = { 0 };
    char size[16];

    (void)state;
    put(&bytes, 'L', "x", "00000000012", "gnu/long/1", 10);
    put(&bytes, '0', "short", "0", "", 0);
    (void)snprintf(size, sizeof(size), "%011o",
                   (unsigned)(sizeof(records) - 1));
    put(&bytes, 'x', "x", size, records, sizeof(records) - 1);
    put(&bytes, '0', "short", "0", "", 0);
    assert_int_equal(tar_next(&tar, entry, &err), 1);
    assert_string_equal(entry->path, "gnu/long/1");
    assert_int_equal(tar_next(&tar, entry, &err), 1);
    assert_string_equal(entry->path, "a/pax/name/ok");
    assert_int_equal(entry->uid, 60000);
    free(entry);
}

static void
malformed_streams_are_refused(void **state)
{
    static const struct {
        char type;
        const char *size;
        const char *data;
        size_t data_size;
    } cases[] = {
        { '0', "99999999999", "", 0 },        /* not octal */
        { '5', "00000000005", "hello", 5 },   /* a directory with bytes */
        { '9', "0", "", 0 },                  /* unknown type */
        { 'S', "0", "", 0 },                  /* sparse */
        { 'x', "00000000005", "9999 ", 5 },   /* a record behind the end */
        { 'x', "00000000006", "6 abc\n", 6 }, /* a record without = */
        { 'x', "77777777777", "", 0 },        /* records of 8 GiB */
        { 'L', "00000020000", "", 0 },        /* a name of 8 KiB */
        { '0', "\xFF\xFF", "", 0 },           /* a number of garbage */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        scoped_buffer bytes = { 0 };
        struct tar_entry *entry = memory_new(1, sizeof(*entry));
        struct error err = { 0 };

        put(&bytes, cases[i].type, "x", cases[i].size, cases[i].data,
            cases[i].data_size);
        put(&bytes, '0', "y", "0", "", 0);
        if (first(&bytes, entry, &err) != -1)
            fail_msg("accepted case %zu", i);
        free(entry);
    }
}

static void
a_wrong_checksum_and_a_cut_stream_are_refused(void **state)
{
    scoped_buffer bytes = { 0 };
    struct tar_entry *entry = memory_new(1, sizeof(*entry));
    struct error err = { 0 };

    (void)state;
    put(&bytes, '0', "a", "0", "", 0);
    bytes.bytes[0] = 'b';
    assert_int_equal(first(&bytes, entry, &err), -1);
    bytes.bytes[0] = 'a';
    assert_int_equal(first(&bytes, entry, &err), 1);
    bytes.size = 300;
    assert_int_equal(first(&bytes, entry, &err), -1);
    free(entry);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_and_their_bytes_come_out),
        cmocka_unit_test(
            long_names_and_pax_records_replace_those_of_the_header),
        cmocka_unit_test(malformed_streams_are_refused),
        cmocka_unit_test(a_wrong_checksum_and_a_cut_stream_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
