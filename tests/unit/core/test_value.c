/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <math.h>

/* Slots weigh 200 together, so one class alone weighs 200. */
static struct value_profile
plain(void)
{
    struct value_profile profile = value_default;

    profile.slots = 0.2;
    profile.scarcity = 0;
    profile.spec = 0;
    return profile;
}

static struct value_node
node(int64_t cpu_milli, int64_t memory_mib, int cards)
{
    struct value_node node = { .cpu_milli = cpu_milli,
                               .memory_mib = memory_mib,
                               .cards = cards };

    for (int i = 0; i < cards; i++)
        node.free[i] = 1000;
    return node;
}

static struct value *
of_one_class(struct arena *arena, const struct shape *shape, struct mix *mix)
{
    struct value_supply supply = { 1, { 100 } };
    struct value_profile profile = plain();

    mix_count(mix, shape, 100);
    return value_new(arena, mix, &supply, &profile);
}

static const struct shape whole = { 12000, 24000, 1, 1000, 1 };
static const struct shape cpu_only = { 12000, 1000, 0, 0, 0 };

static void
assert_near(double a, double b)
{
    if (fabs(a - b) > 1e-6)
        fail_msg("%.9f is not %.9f", a, b);
}

static void
an_exact_fit_is_one_slot(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct value *value = of_one_class(arena, &whole, &mix);
    struct value_node fits = node(12000, 24000, 1);
    struct value_node no_cpu = node(11999, 24000, 1);
    struct value_node no_memory = node(12000, 23999, 1);

    (void)state;
    assert_near(value_of(value, &fits) - value_of(value, &no_cpu), 200);
    assert_near(value_of(value, &fits) - value_of(value, &no_memory), 200);
    mix_release(&mix);
}

/* Three free cards serve one request for two: multi x 200, once. */
static void
requests_for_two_cards_are_counted_in_twos(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct shape two = { 1000, 1000, 2, 1000, 1 };
    struct value *value = of_one_class(arena, &two, &mix);
    struct value_node three = node(96000, 96000, 3);
    struct value_node none = node(0, 0, 3);

    (void)state;
    assert_near(value_of(value, &three) - value_of(value, &none),
                200 * value_default.multi);
    mix_release(&mix);
}

/* For every need up to 2000 milli: nothing is lost by rounding. */
static void
no_exact_fit_is_lost_by_rounding(void **state)
{
    scoped_arena arena = arena_new();
    (void)state;
    for (int64_t need = 1; need <= 2000; need += 7) {
        struct mix mix = { 0 };
        struct shape shape = { need, need, 1, 1000, 1 };
        struct value *value = of_one_class(arena, &shape, &mix);

        for (int64_t slots = 1; slots <= 8; slots++) {
            struct value_node exact = node(slots * need, slots * need, 8);
            struct value_node none = node(0, 0, 8);

            assert_near(value_of(value, &exact) - value_of(value, &none),
                        200 * sqrt((double)slots));
        }
        mix_release(&mix);
    }
}

static void
work_without_cards_goes_where_it_costs_no_slot(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct value *value = of_one_class(arena, &whole, &mix);
    struct value_node tight = node(24000, 96000, 2);
    struct value_node ample = node(36000, 96000, 2);
    int card;

    (void)state;
    assert_near(value_gain(value, &tight, value_of(value, &tight), &cpu_only,
                           &card),
                200 * (1 - sqrt(2)));
    assert_near(value_gain(value, &ample, value_of(value, &ample), &cpu_only,
                           &card),
                0);
    mix_release(&mix);
}

static void
what_does_not_fit_has_no_value(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct value *value = of_one_class(arena, &whole, &mix);
    struct value_node used = node(12000, 24000, 1);
    struct value_node other = node(12000, 24000, 1);
    struct shape two = { 1000, 1000, 2, 1000, 1 };
    int card;

    (void)state;
    used.free[0] = 999;
    other.kind = 1;
    assert_true(value_gain(value, &used, 0, &whole, &card) == VALUE_NONE);
    assert_true(value_gain(value, &used, 0, &two, &card) == VALUE_NONE);
    assert_false(value_fits(&other, &whole));
    assert_true(value_fits(&used, &cpu_only));
    mix_release(&mix);
}

/* Halves and whole cards: 30 hundredths serve nobody, 50 and 99 one half. */
static void
prices_are_what_a_rest_can_still_serve(void **state)
{
    struct mix mix = { 0 };
    struct value_supply supply = { 1, { 100 } };
    struct value_profile profile = plain();
    struct shape half = { 1000, 1000, 1, 500, 1 };
    double price[VALUE_KINDS][101];

    (void)state;
    mix_count(&mix, &half, 60);
    mix_count(&mix, &whole, 60);
    value_prices(&mix, &supply, &profile, price);
    assert_near(price[0][0], 0);
    assert_near(price[0][30], 0);
    assert_near(price[0][49], 0);
    assert_near(price[0][99], price[0][50]);
    assert_in_range((uint64_t)price[0][50], 450, 520);
    assert_in_range((uint64_t)price[0][100], 950, 1040);
    mix_release(&mix);
}

/* 190 free take the small share; 810 free are kept for the large one. */
static void
a_share_goes_to_the_rest_that_it_fills(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct value_supply supply = { 1, { 100 } };
    struct value_profile profile = plain();
    struct shape large = { 1000, 1000, 1, 810, 1 };
    struct shape small = { 1000, 1000, 1, 190, 1 };
    struct value_node n = node(96000, 96000, 2);
    struct value *value;
    int card = -1;

    (void)state;
    mix_count(&mix, &large, 60);
    mix_count(&mix, &small, 60);
    value = value_new(arena, &mix, &supply, &profile);
    n.free[0] = 810;
    n.free[1] = 190;
    (void)value_gain(value, &n, value_of(value, &n), &small, &card);
    assert_int_equal(card, 1);
    mix_release(&mix);
}

static void
cards_that_picky_work_wants_are_dearer(void **state)
{
    struct mix mix = { 0 };
    struct value_supply supply = { 2, { 50, 50 } };
    struct value_profile profile = plain();
    struct shape anywhere = { 1000, 1000, 1, 1000, 3 };
    struct shape picky = { 1000, 1000, 1, 1000, 2 };
    double price[VALUE_KINDS][101];

    (void)state;
    mix_count(&mix, &anywhere, 60);
    mix_count(&mix, &picky, 40);
    value_prices(&mix, &supply, &profile, price);
    assert_true(fabs(price[1][100] - price[0][100]) < 50);
    profile.spec = 1000;
    value_prices(&mix, &supply, &profile, price);
    assert_true(price[1][100] > price[0][100] + 100);
    mix_release(&mix);
}

static void
without_a_mix_every_place_is_as_good(void **state)
{
    scoped_arena arena = arena_new();
    struct mix mix = { 0 };
    struct value_supply supply = { 1, { 100 } };
    struct value_node empty = node(96000, 96000, 8);
    struct value_node part = node(96000, 96000, 8);
    struct value *value;
    int card;

    (void)state;
    mix_count(&mix, &whole, MIX_FIRST - 1);
    value = value_new(arena, &mix, &supply, &value_default);
    part.free[0] = 0;
    assert_near(value_of(value, &empty), 8000);
    assert_near(value_gain(value, &empty, 8000, &whole, &card), -1000);
    assert_near(value_gain(value, &part, 7000, &whole, &card), -1000);
    mix_release(&mix);
}

static void
what_is_given_back_is_there_again(void **state)
{
    struct value_node n = node(96000, 96000, 4), was;
    struct shape two = { 1000, 2000, 2, 1000, 1 };
    struct shape half = { 3000, 4000, 1, 500, 1 };
    uint32_t cards, card;

    (void)state;
    n.free[0] = 700;
    was = n;
    cards = value_cards(&n, &two, 0);
    assert_int_equal(cards, 6); /* the first two whole ones */
    value_take(&n, &two, cards, 1);
    assert_int_equal(n.free[1], 0);
    assert_int_equal(n.free[2], 0);
    card = value_cards(&n, &half, 0);
    assert_int_equal(card, 1);
    value_take(&n, &half, card, 1);
    assert_int_equal(n.free[0], 200);
    assert_int_equal(n.cpu_milli, 92000);
    assert_int_equal(n.memory_mib, 90000);
    value_take(&n, &two, cards, -1);
    value_take(&n, &half, card, -1);
    assert_memory_equal(&n, &was, sizeof(n));
}

/* One card of a whole node, or the last one of another: requests for eight
 * are rare, so where nothing ends the whole node is no loss. */
static void
where_work_ends_whole_nodes_are_kept(void **state)
{
    scoped_arena arena = arena_new();
    struct value_supply supply = { 1, { 100 } };
    struct mix mix = { 0 };
    struct shape one = { 1000, 1000, 1, 1000, 1 };
    struct shape two = { 1000, 1000, 2, 1000, 1 };
    struct shape eight = { 1000, 1000, 8, 1000, 1 };
    struct value_node full = node(96000, 96000, 8);
    struct value_node last = node(96000, 96000, 1);
    struct value *stays, *ends;
    int card;

    (void)state;
    mix_count(&mix, &one, 1000);
    mix_count(&mix, &two, 1000);
    mix_count(&mix, &eight, 5);
    stays = value_new(arena, &mix, &supply, &value_default);
    ends = value_new(arena, &mix, &supply, &value_turnover);
    assert_true(value_gain(stays, &full, value_of(stays, &full), &one, &card) >
                value_gain(stays, &last, value_of(stays, &last), &one, &card));
    assert_true(value_gain(ends, &full, value_of(ends, &full), &one, &card) <
                value_gain(ends, &last, value_of(ends, &last), &one, &card));
    mix_release(&mix);
}

/* --- the formula of the header, class by class --- */

#define SHAPES 150 /* more than two words of a set */

static uint64_t
below(uint64_t *random, uint64_t bound)
{
    *random = *random * UINT64_C(6364136223846793005) +
              UINT64_C(1442695040888963407);
    return (*random >> 33) % bound;
}

static void
fill_mix(struct mix *mix, uint64_t *random)
{
    static const int64_t millis[] = { 20, 110, 190, 330, 500, 810, 1000 };

    for (int i = 0; i < SHAPES; i++) {
        struct shape shape = { 500 + 100 * i, 1000 + 300 * i,
                               i % 3 == 0 ? 1 + (int64_t)below(random, 4) : 1,
                               1000, 1 + below(random, 7) };

        if (shape.cards == 1)
            shape.milli = millis[below(random, 7)];
        mix_count(mix, &shape, 1 + (int64_t)below(random, 9));
    }
}

static double
frequency(const struct mix_entry *entry)
{
    double mass = pow((double)entry->count, value_default.often);

    return entry->shape.cards > 1
               ? mass * pow((double)entry->shape.cards, value_default.power)
               : mass;
}

static double
slots_of(const struct shape *shape, const struct value_node *n)
{
    double cpu = (double)n->cpu_milli / (double)shape->cpu_milli;
    double memory = (double)n->memory_mib / (double)shape->memory_mib;
    int64_t shares = 0, full = 0;
    double least;

    for (int i = 0; i < n->cards; i++) {
        shares += n->free[i] / 10 / ((shape->milli + 9) / 10);
        full += n->free[i] == 1000;
    }
    least = (double)(shape->cards > 1 ? full / shape->cards : shares);
    least = cpu < least ? cpu : least;
    least = memory < least ? memory : least;
    return least < 1 ? 0 : least;
}

static double
formula(const struct mix *mix, double (*price)[101],
        const struct value_node *n)
{
    double worth = 0, single = 0, multi = 0;

    for (int i = 0; i < n->cards; i++)
        worth += price[n->kind][n->free[i] / 10];
    for (size_t i = 0; i < mix->count; i++)
        *(mix->entries[i].shape.cards > 1 ? &multi : &single) +=
            frequency(&mix->entries[i]);
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_entry *entry = &mix->entries[i];
        double weight = 200 * frequency(entry);

        if (entry->shape.kinds >> n->kind & 1)
            worth += (entry->shape.cards > 1
                          ? value_default.multi * weight / multi
                          : weight / single) *
                     sqrt(slots_of(&entry->shape, n));
    }
    return worth;
}

static struct value_node
some_node(uint64_t *random)
{
    static const int16_t frees[] = { 0, 15, 90, 190, 500, 810, 1000, 1000 };
    struct value_node n = { .cpu_milli = 500 * (int64_t)below(random, 80),
                            .memory_mib = 1000 * (int64_t)below(random, 120),
                            .kind = (int32_t)below(random, 3),
                            .cards = (int32_t)below(random, VALUE_CARDS + 1) };

    for (int i = 0; i < n.cards; i++)
        n.free[i] = frees[below(random, below(random, 2) == 0 ? 3 : 8)];
    return n;
}

/* The best of all cards that the shape could have, put there one by one. */
static double
best_after(const struct mix *mix, double (*price)[101],
           const struct value_node *n, const struct shape *shape)
{
    double best = VALUE_NONE;

    for (int i = 0; i < n->cards; i++) {
        struct value_node then = *n;
        double worth;

        if (n->free[i] < shape->milli)
            continue;
        value_take(&then, shape, (uint32_t)1 << i, 1);
        worth = formula(mix, price, &then);
        best = worth > best ? worth : best;
    }
    return best;
}

static void
the_value_is_what_the_formula_says(void **state)
{
    scoped_arena arena = arena_new();
    struct value_supply supply = { 3, { 40, 30, 30 } };
    struct value_profile profile = value_default;
    double price[VALUE_KINDS][101];
    struct mix mix = { 0 };
    struct value *value;
    uint64_t random = 5;
    int placed = 0;

    (void)state;
    profile.cover = 1.0;
    fill_mix(&mix, &random);
    value_prices(&mix, &supply, &profile, price);
    value = value_new(arena, &mix, &supply, &profile);
    for (int step = 0; step < 3000; step++) {
        struct value_node n = some_node(&random);
        const struct shape *shape =
            &mix.entries[below(&random, mix.count)].shape;
        double before = value_of(value, &n), gain;
        int card;

        assert_near(before, formula(&mix, price, &n));
        gain = value_gain(value, &n, before, shape, &card);
        assert_true((gain > VALUE_NONE) == value_fits(&n, shape));
        if (gain <= VALUE_NONE || !shape_is_share(shape))
            continue;
        placed++;
        assert_near(before + gain, best_after(&mix, price, &n, shape));
        value_take(&n, shape, value_cards(&n, shape, card), 1);
        assert_near(before + gain, value_of(value, &n));
    }
    assert_in_range(placed, 300, 3000);
    mix_release(&mix);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_exact_fit_is_one_slot),
        cmocka_unit_test(requests_for_two_cards_are_counted_in_twos),
        cmocka_unit_test(no_exact_fit_is_lost_by_rounding),
        cmocka_unit_test(work_without_cards_goes_where_it_costs_no_slot),
        cmocka_unit_test(what_does_not_fit_has_no_value),
        cmocka_unit_test(prices_are_what_a_rest_can_still_serve),
        cmocka_unit_test(a_share_goes_to_the_rest_that_it_fills),
        cmocka_unit_test(cards_that_picky_work_wants_are_dearer),
        cmocka_unit_test(without_a_mix_every_place_is_as_good),
        cmocka_unit_test(what_is_given_back_is_there_again),
        cmocka_unit_test(where_work_ends_whole_nodes_are_kept),
        cmocka_unit_test(the_value_is_what_the_formula_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
