/* SPDX-License-Identifier: Apache-2.0 */
#include "core/price.h"

#include "tests/unit/core/small.h"

#include "core/month.h"

static void
the_most_particular_price_is_in_force(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct price *price =
        change_create(changes, KIND_PRICE, small->platform, "");
    int64_t cost;

    price->nano = 10;
    price = change_create(changes, KIND_PRICE, small->platform, "");
    price->nano = 20;
    memcpy(price->model, "X1", 3);
    price = change_create(changes, KIND_PRICE, small->platform, "");
    price->nano = 5;
    price->tenant = small->tenant;
    price->to_ms = small->now_ms + 100;
    world_apply(small->world, changes);
    assert_int_equal(price_at(small->world, METER_CARD_HOUR, "X1",
                              small->tenant, small->now_ms),
                     5);
    assert_int_equal(price_at(small->world, METER_CARD_HOUR, "X1",
                              small->tenant, small->now_ms + 100),
                     20);
    assert_int_equal(price_at(small->world, METER_CARD_HOUR, "Y",
                              (struct ref){ 0 }, small->now_ms),
                     10);
    assert_int_equal(price_next_change(small->world, METER_CARD_HOUR,
                                       small->now_ms, small->now_ms + 500),
                     small->now_ms + 100);
    /* Half a card for an hour at 3: 1.5, to even. */
    assert_int_equal(price_of_card_time(3, 500 * HOUR_MS, &cost), 0);
    assert_int_equal(cost, 2);
    assert_int_equal(price_of_card_time(5, 500 * HOUR_MS, &cost), 0);
    assert_int_equal(cost, 2);
    assert_int_equal(price_of_card_time(1, 500 * HOUR_MS + 1, &cost), 0);
    assert_int_equal(cost, 1);
    assert_int_equal(price_of_card_time(1, 500 * HOUR_MS, &cost), 0);
    assert_int_equal(cost, 0);
    assert_int_equal(price_of_card_time(INT64_MAX, INT64_MAX, &cost), -1);
}

int
main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, small_open, small_close)
    static const struct CMUnitTest tests[] = {
        T(the_most_particular_price_is_in_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
