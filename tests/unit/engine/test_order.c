/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"
#include "engine/gang.h"
#include "engine/order.h"

#define ID "in_aaaaaaaaaaaaaaaaaaaaaaaaaa"
#define NODE "nd_aaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *const scrubs[] = { "GPU-1" };
static const struct order_volume volume = {
    "vo_aaaaaaaaaaaaaaaaaaaaaaaaaa", 7, 64, true
};
static const struct order_log log_read = { 5, ID, 1, 0, 65536, 100 };

static struct order
full(struct order_instance *instance, json_t *start)
{
    *instance = (struct order_instance){ ID,          1, 7, ORDER_NOTICE,
                                         "preempted", 9, scrubs, 1, NULL, start,
                                         { 500, 2048, 256 } };
    return (struct order){ NODE, 1000, 3, "00", false, instance, 1,
                           &volume, 1, scrubs, 1, &log_read, 1 };
}

static void
an_order_is_read_as_it_was_written(void **state)
{
    struct arena *arena = arena_new();
    json_t *start = json_pack("{s:[s]}", "cards", "GPU-1");
    json_t *document = NULL;
    struct order_instance instance;
    struct order order = full(&instance, start), out;
    struct buffer bytes = { 0 };
    struct error err;

    (void)state;
    order_write(&bytes, &order);
    assert_int_equal(order_parse(arena, bytes.bytes, bytes.size, &document,
                                 &out, &err),
                     0);
    assert_int_equal(out.instances[0].want, ORDER_NOTICE);
    assert_true(json_equal(out.instances[0].start, start));
    assert_true(out.volumes[0].remove);
    assert_string_equal(out.scrubs[0], "GPU-1");
    assert_int_equal(out.logs[0].max, 65536);
    assert_int_equal(out.serial, 3);
    json_decref(document);
    json_decref(start);
    buffer_release(&bytes);
    arena_free(arena);
}

static void
a_cap_is_ordered_whole_or_not_at_all(void **state)
{
    struct arena *arena = arena_new();
    json_t *start = json_object(), *document = NULL;
    struct order_instance instance;
    struct order order = full(&instance, start), out;
    struct buffer bytes = { 0 };
    char capped[ORDER_REVISION_MAX], free_again[ORDER_REVISION_MAX];
    struct error err;

    (void)state;
    order_write(&bytes, &order);
    assert_int_equal(order_parse(arena, bytes.bytes, bytes.size, &document,
                                 &out, &err),
                     0);
    assert_int_equal(out.instances[0].cap.cpu_milli, 500);
    assert_int_equal(out.instances[0].cap.io_kib, 2048);
    assert_int_equal(out.instances[0].cap.network_kib, 256);
    json_decref(document);
    /* An agent has to see that it is another order. */
    order_revision(&order, capped);
    instance.cap = (struct report_cap){ 0 };
    order_revision(&order, free_again);
    assert_string_not_equal(capped, free_again);
    bytes.size = 0;
    order_write(&bytes, &order);
    assert_null(strstr(bytes.bytes, "\"cap\""));
    instance.cap.io_kib = INT64_C(1) << 50;
    bytes.size = 0;
    order_write(&bytes, &order);
    assert_int_equal(order_parse(arena, bytes.bytes, bytes.size, &document,
                                 &out, &err),
                     -1);
    json_decref(start);
    buffer_release(&bytes);
    arena_free(arena);
}

static void
a_gang_is_told_strictly(void **state)
{
    struct arena *arena = arena_new();
    json_t *start = json_object(), *document = NULL;
    struct gang told = { 1, 4, 2, 6 }, read;
    json_t *gang = gang_write(&told);
    struct order_instance instance;
    struct order order = full(&instance, start), out;
    struct buffer bytes = { 0 };
    struct error err;

    (void)state;
    instance.gang = gang;
    order_write(&bytes, &order);
    assert_int_equal(order_parse(arena, bytes.bytes, bytes.size, &document,
                                 &out, &err),
                     0);
    assert_int_equal(gang_read(out.instances[0].gang, &read, &err), 0);
    assert_int_equal(read.instances, 4);
    assert_int_equal(read.most, 6);
    json_decref(document);
    (void)json_object_set_new(gang, "instances", json_integer(4097));
    bytes.size = 0;
    order_write(&bytes, &order);
    assert_int_equal(order_parse(arena, bytes.bytes, bytes.size, &document,
                                 &out, &err),
                     -1);
    json_decref(gang);
    json_decref(start);
    buffer_release(&bytes);
    arena_free(arena);
}

static void
the_revision_is_of_what_is_desired_alone(void **state)
{
    json_t *start = json_object();
    struct order_instance instance;
    struct order order = full(&instance, start);
    char first[ORDER_REVISION_MAX], second[ORDER_REVISION_MAX];

    (void)state;
    order_revision(&order, first);
    order.now_ms++;
    order.serial++;
    order.log_count = 0;
    order_revision(&order, second);
    assert_string_equal(first, second);
    instance.deadline_ms++;
    order_revision(&order, second);
    assert_string_not_equal(first, second);
    json_decref(start);
}

static int
read_order(const char *text)
{
    struct arena *arena = arena_new();
    json_t *document = NULL;
    struct order out;
    struct error err;
    int result = order_parse(arena, text, strlen(text), &document, &out,
                             &err);

    json_decref(document);
    arena_free(arena);
    return result;
}

#define HEAD                                                                  \
    "{\"protocol\":1,\"node\":\"" NODE "\",\"now_ms\":1,\"serial\":1,"        \
    "\"revision\":\"00\","

static void
hostile_orders_are_refused(void **state)
{
    (void)state;
    assert_int_equal(read_order(HEAD "\"same\":true}"), 0);
    assert_int_equal(read_order(HEAD "\"same\":false}"), 0);
    assert_int_equal(read_order(HEAD "\"same\":1}"), -1);
    assert_int_equal(read_order(HEAD "\"same\":true,\"more\":1}"), -1);
    assert_int_equal(read_order(HEAD "\"same\":true,\"scrubs\":[\"G\"]}"),
                     -1);
    assert_int_equal(read_order(HEAD "\"same\":false,\"scrubs\":[\"/x\"]}"),
                     -1);
    assert_int_equal(
        read_order(HEAD "\"same\":false,\"volumes\":[{\"volume\":\"v\","
                        "\"tenant\":4096,\"size_mib\":1,\"remove\":false}]}"),
        -1);
    assert_int_equal(
        read_order(HEAD "\"same\":false,\"instances\":[{\"instance\":\"i\","
                        "\"incarnation\":1,\"tenant\":1,\"want\":\"run\","
                        "\"reason\":\"\",\"deadline_ms\":0}]}"),
        -1);
    assert_int_equal(
        read_order(HEAD "\"same\":false,\"instances\":[{\"instance\":\"i\","
                        "\"incarnation\":1,\"tenant\":1,\"want\":\"run\","
                        "\"reason\":\"\",\"deadline_ms\":0,"
                        "\"cards\":[],\"start\":{}}]}"),
        0);
    assert_int_equal(
        read_order(HEAD "\"same\":false,\"instances\":[{\"instance\":\"i\","
                        "\"incarnation\":1,\"tenant\":1,\"want\":\"run\","
                        "\"reason\":\"\",\"deadline_ms\":0,"
                        "\"cards\":[\"/dev/x\"],\"start\":null}]}"),
        -1);
}

static void
a_refusal_is_read_as_it_was_written(void **state)
{
    struct arena *arena = arena_new();
    struct order_refusal refusal = { ERROR_CONFLICT, "used before", 42,
                                     "c0ffee" };
    struct order_refusal out;
    struct buffer bytes = { 0 };
    struct error err;

    (void)state;
    order_refusal_write(&bytes, &refusal);
    assert_int_equal(order_refusal_parse(arena, bytes.bytes, bytes.size, &out,
                                         &err),
                     0);
    assert_int_equal(out.code, ERROR_CONFLICT);
    assert_int_equal(out.floor, 42);
    assert_string_equal(out.challenge, "c0ffee");
    buffer_release(&bytes);
    arena_free(arena);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_is_read_as_it_was_written),
        cmocka_unit_test(a_cap_is_ordered_whole_or_not_at_all),
        cmocka_unit_test(a_gang_is_told_strictly),
        cmocka_unit_test(the_revision_is_of_what_is_desired_alone),
        cmocka_unit_test(hostile_orders_are_refused),
        cmocka_unit_test(a_refusal_is_read_as_it_was_written),
    };

    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
