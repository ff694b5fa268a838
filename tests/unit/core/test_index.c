/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdbool.h>

#define SITES 37
#define CLASSES 3

struct park {
    float scores[CLASSES][SITES];
    bool refused[SITES];
    int asked;
};

static float
score(void *data, uint32_t class, uint32_t site)
{
    struct park *park = data;

    park->asked++;
    return park->scores[class][site];
}

/* What the header promises, by looking at every site. */
static uint32_t
scan(const struct park *park, uint32_t class, double slack)
{
    float best = INDEX_NO;

    for (uint32_t s = 0; s < SITES; s++)
        if (!park->refused[s] && park->scores[class][s] > best)
            best = park->scores[class][s];
    for (uint32_t s = 0; s < SITES && best > INDEX_NO; s++)
        if (!park->refused[s] && park->scores[class][s] > INDEX_NO &&
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
        park->scores[c][site] = next(random) % 4 == 0
                                    ? INDEX_NO
                                    : -(float)(next(random) % 50);
    index_touch(index, site);
}

static void
it_finds_what_a_scan_finds(void **state)
{
    struct park park = { 0 };
    struct index *index = index_new(SITES, score, &park);
    uint64_t random = 1;

    (void)state;
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

static void
refused_sites_are_passed_over_once(void **state)
{
    struct park park = { 0 };
    struct index *index = index_new(SITES, score, &park);
    uint64_t random = 2;

    (void)state;
    for (int step = 0; step < 2000; step++) {
        uint32_t class = next(&random) % CLASSES;
        uint32_t found;

        change(&park, index, &random);
        found = index_find(index, class, 8);
        assert_int_equal(found, scan(&park, class, 8));
        for (int i = 0; i < 40 && found != INDEX_NONE; i++) {
            park.refused[found] = true;
            found = index_next(index, class, found, 8);
            assert_int_equal(found, scan(&park, class, 8));
        }
        for (int s = 0; s < SITES; s++)
            park.refused[s] = false;
    }
    index_free(index);
}

static void
only_changed_sites_are_scored_again(void **state)
{
    struct park park = { 0 };
    struct index *index = index_new(SITES, score, &park);

    (void)state;
    assert_int_equal(index_find(index, 0, 0), 0);
    assert_int_equal(park.asked, SITES);
    park.scores[0][0] = -1;
    index_touch(index, 0);
    index_touch(index, 0);
    assert_int_equal(index_find(index, 0, 0), 1);
    assert_int_equal(park.asked, SITES + 1);
    assert_int_equal(index_find(index, 0, 1), 0);
    assert_int_equal(park.asked, SITES + 1);
    index_free(index);
}

static void
a_site_that_was_full_counts_again_when_it_is_given_back(void **state)
{
    struct park park = { 0 };
    struct index *index = index_new(SITES, score, &park);

    (void)state;
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
    struct park park = { 0 };
    struct index *index = index_new(SITES, score, &park);

    (void)state;
    assert_int_equal(index_find(index, 2, 0), 0);
    park.scores[2][30] = 7;
    index_restart(index);
    assert_int_equal(index_find(index, 2, 0), 30);
    index_free(index);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_finds_what_a_scan_finds),
        cmocka_unit_test(refused_sites_are_passed_over_once),
        cmocka_unit_test(only_changed_sites_are_scored_again),
        cmocka_unit_test(
            a_site_that_was_full_counts_again_when_it_is_given_back),
        cmocka_unit_test(new_prices_are_followed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
