/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdbool.h>

#define SITES 300
#define CLASSES 70 /* more than one word of a set */

struct park {
    float scores[CLASSES][SITES];
    int scored, looked;
};

/* Some that have no place are said to fit: they may. */
static void
fit(void *data, uint32_t site, uint64_t *fits)
{
    struct park *park = data;

    park->looked++;
    fits[0] = fits[1] = 0;
    for (uint32_t c = 0; c < CLASSES; c++)
        if (park->scores[c][site] > INDEX_NO || c % 7 == 3)
            fits[c / 64] |= (uint64_t)1 << c % 64;
}

static void
score(void *data, uint32_t class, const uint32_t *sites, size_t count,
      float *scores)
{
    struct park *park = data;

    for (size_t i = 0; i < count; i++)
        scores[i] = park->scores[class][sites[i]];
    park->scored += (int)count;
}

/* Of every third class it is known, more or less, how good its sites are. */
static float
most(void *data, uint32_t class)
{
    (void)data;
    return class % 3 != 0 ? INDEX_NO : class % 2 == 0 ? 0 : 9;
}

static const struct index_view view = { .fit = fit, .most = most, .score = score };

/* What the header promises, by looking at every site. */
static uint32_t
scan(const struct park *park, uint32_t class, double slack)
{
    float best = INDEX_NO;

    for (uint32_t s = 0; s < SITES; s++)
        if (park->scores[class][s] > best)
            best = park->scores[class][s];
    for (uint32_t s = 0; s < SITES && best > INDEX_NO; s++)
        if (park->scores[class][s] > INDEX_NO &&
            (double)park->scores[class][s] >= (double)best - slack)
            return s;
    return INDEX_NONE;
}

static uint32_t
next(uint64_t *state)
{
    *state = *state * 6364136223846793005 + 1442695040888963407;
    return (uint32_t)(*state >> 33);
}

static void
change(struct park *park, struct index *index, uint64_t *random)
{
    uint32_t site = next(random) % SITES;

    for (int c = 0; c < CLASSES; c++)
        park->scores[c][site] = next(random) % 4 != 0
                                    ? INDEX_NO
                                    : -(float)(next(random) % 50);
    index_touch(index, site);
}

static void
it_finds_what_a_scan_finds(void **state)
{
    static struct park park;
    struct index *index;
    uint64_t random = 1;

    (void)state;
    park = (struct park){ 0 };
    index = index_new(SITES, CLASSES, &view, &park);
    for (int step = 0; step < 20000; step++) {
        uint32_t class = next(&random) % CLASSES;
        double slack = next(&random) % 12;
        uint32_t changes = next(&random) % 100 == 0 ? 300 : next(&random) % 3;

        for (uint32_t i = 0; i < changes; i++)
            change(&park, index, &random);
        assert_int_equal(index_find(index, class, slack),
                         scan(&park, class, slack));
    }
    index_free(index);
}

/* From one site to more than three levels take. */
static void
any_number_of_sites_will_do(void **state)
{
    static const uint32_t counts[] = { 0, 1, 15, 16, 17, 255, 256, 257, 300 };

    (void)state;
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
        static struct park park;
        struct index *index;

        for (uint32_t s = 0; s < SITES; s++)
            park.scores[1][s] = s + 1 == counts[i] ? 9 : -(float)s;
        index = index_new(counts[i], CLASSES, &view, &park);
        assert_int_equal(index_find(index, 1, 0),
                         counts[i] == 0 ? INDEX_NONE : counts[i] - 1);
        assert_int_equal(index_find(index, 1, 1000),
                         counts[i] == 0 ? INDEX_NONE : 0);
        index_free(index);
    }
}

static void
only_changed_sites_are_scored_again(void **state)
{
    static struct park park;
    struct index *index;

    (void)state;
    park = (struct park){ 0 };
    index = index_new(SITES, CLASSES, &view, &park);
    assert_int_equal(park.looked, SITES);
    assert_int_equal(index_find(index, 1, 0), 0);
    assert_int_equal(park.scored, SITES);
    park.scores[1][0] = -1;
    index_touch(index, 0);
    index_touch(index, 0);
    assert_int_equal(index_find(index, 1, 0), 1);
    assert_int_equal(park.scored, SITES + 1);
    assert_int_equal(index_find(index, 1, 1), 0);
    assert_int_equal(park.scored, SITES + 1);
    assert_int_equal(park.looked, SITES + 2);
    index_free(index);
}

static void
a_site_without_room_is_not_scored(void **state)
{
    static struct park park;
    struct index *index;

    (void)state;
    park = (struct park){ 0 };
    for (uint32_t s = 0; s < SITES; s++)
        park.scores[1][s] = INDEX_NO;
    index = index_new(SITES, CLASSES, &view, &park);
    assert_int_equal(index_find(index, 1, 8), INDEX_NONE);
    index_touch(index, 7);
    assert_int_equal(index_find(index, 1, 8), INDEX_NONE);
    assert_int_equal(park.scored, 0);
    index_free(index);
}

/* Class 6 has no score above 0: the first site that has it will do. */
static void
a_site_that_would_not_be_taken_is_not_scored(void **state)
{
    static struct park park;
    struct index *index;

    (void)state;
    park = (struct park){ 0 };
    park.scores[6][0] = -20;
    park.scores[6][1] = -5;
    index = index_new(SITES, CLASSES, &view, &park);
    assert_int_equal(index_find(index, 6, 8), 1);
    assert_int_equal(park.scored, 3); /* sites 0 and 1, and 2 is 0 */
    index_touch(index, 9);
    assert_int_equal(index_find(index, 6, 8), 1);
    assert_int_equal(park.scored, 3);
    park.scores[6][1] = INDEX_NO;
    index_touch(index, 1);
    assert_int_equal(index_find(index, 6, 8), 2);
    assert_int_equal(index_find(index, 6, 30), 0);
    assert_int_equal(park.scored, 3);
    index_free(index);
}

static void
a_site_that_was_full_counts_again_when_it_is_given_back(void **state)
{
    static struct park park;
    struct index *index;

    (void)state;
    park = (struct park){ 0 };
    index = index_new(SITES, CLASSES, &view, &park);
    assert_int_equal(index_find(index, 1, 8), 0);
    for (uint32_t s = 0; s < SITES; s++) {
        park.scores[1][s] = INDEX_NO;
        index_touch(index, s);
    }
    assert_int_equal(index_find(index, 1, 8), INDEX_NONE);
    park.scores[1][20] = -5;
    index_touch(index, 20);
    assert_int_equal(index_find(index, 1, 8), 20);
    index_free(index);
}

static void
new_prices_are_followed(void **state)
{
    static struct park park;
    struct index *index;

    (void)state;
    park = (struct park){ 0 };
    index = index_new(SITES, CLASSES, &view, &park);
    assert_int_equal(index_find(index, 2, 0), 0);
    index_touch(index, 5);
    park.scores[2][30] = 7;
    index_restart(index);
    assert_int_equal(index_find(index, 2, 0), 30);
    assert_int_equal(park.scored, 2 * SITES);
    park.scores[2][5] = 9;
    index_touch(index, 5);
    assert_int_equal(index_find(index, 2, 0), 5);
    assert_int_equal(park.scored, 2 * SITES + 1);
    index_free(index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_a_scan_finds),
        cmocka_unit_test(any_number_of_sites_will_do),
        cmocka_unit_test(only_changed_sites_are_scored_again),
        cmocka_unit_test(a_site_without_room_is_not_scored),
        cmocka_unit_test(a_site_that_would_not_be_taken_is_not_scored),
        cmocka_unit_test(
            a_site_that_was_full_counts_again_when_it_is_given_back),
        cmocka_unit_test(new_prices_are_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
