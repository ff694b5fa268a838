/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
static void
an_empty_buffer_reads_as_empty_text(void **state)
{
    scoped_buffer buffer = { 0 };

    (void)state;
    assert_string_equal(buffer_text(&buffer), "");
    buffer_add(&buffer, NULL, 0);
    assert_int_equal(buffer.size, 0);
    assert_string_equal(buffer_text(&buffer), "");
    buffer_clear(&buffer);
    buffer_release(&buffer);
    assert_null(buffer.bytes);
    buffer_clear(&buffer);
    assert_string_equal(buffer_text(&buffer), "");
}

static void
bytes_are_kept_and_a_nul_follows(void **state)
{
    scoped_buffer buffer = { 0 };

    (void)state;
    for (unsigned i = 0; i < 10000; i++) {
        buffer_add_byte(&buffer, (unsigned char)i);
        assert_int_equal(buffer.size, i + 1);
        assert_int_equal(buffer.bytes[i + 1], 0);
    }
    for (unsigned i = 0; i < 10000; i++)
        assert_int_equal((unsigned char)buffer.bytes[i], i % 256);
}

static void
every_size_around_the_room_fits(void **state)
{
    char text[200];

    (void)state;
    memset(text, 'x', sizeof(text));
    for (size_t first = 0; first < 200; first++)
        for (size_t second = 0; second < 200; second += 7) {
            scoped_buffer buffer = { 0 };

            buffer_add(&buffer, text, first);
            buffer_printf(&buffer, "%.*s", (int)second, text);
            assert_int_equal(buffer.size, first + second);
            assert_int_equal(strlen(buffer_text(&buffer)), first + second);
            assert_true(buffer.size < buffer.room || buffer.size == 0);
        }
}

static void
clearing_keeps_the_room_and_drops_the_content(void **state)
{
    scoped_buffer buffer = { 0 };

    (void)state;
    buffer_add_text(&buffer, "old");
    buffer_clear(&buffer);
    assert_string_equal(buffer_text(&buffer), "");
    buffer_printf(&buffer, "%d", 5);
    assert_string_equal(buffer_text(&buffer), "5");
}

static void
integers_are_little_endian(void **state)
{
    scoped_buffer buffer = { 0 };

    (void)state;
    buffer_add_u32(&buffer, 0x01020304);
    buffer_add_u64(&buffer, 0x1112131415161718);
    buffer_add_sized(&buffer, "ab", 2);
    assert_int_equal(buffer.size, 18);
    assert_memory_equal(buffer.bytes,
                        "\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x11"
                        "\x02\0\0\0ab",
                        18);
}

static void
taken_bytes_belong_to_the_taker(void **state)
{
    struct buffer buffer = { 0 };
    char *bytes;

    (void)state;
    buffer_add_text(&buffer, "mine");
    bytes = buffer_take(&buffer);
    assert_string_equal(bytes, "mine");
    free(bytes);
    assert_null(buffer.bytes);
    assert_int_equal(buffer.size, 0);
    bytes = buffer_take(&buffer);
    assert_string_equal(bytes, "");
    free(bytes);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_buffer_reads_as_empty_text),
        cmocka_unit_test(bytes_are_kept_and_a_nul_follows),
        cmocka_unit_test(every_size_around_the_room_fits),
        cmocka_unit_test(clearing_keeps_the_room_and_drops_the_content),
        cmocka_unit_test(integers_are_little_endian),
        cmocka_unit_test(taken_bytes_belong_to_the_taker),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
