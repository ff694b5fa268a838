/* SPDX-License-Identifier: Apache-2.0 */
#include "core/geometry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

/* --- the same rules once more, by lists of slices --- */

struct slice {
    const struct geometry_profile *profile;
    int start;
};
struct pile {
    struct slice slices[GEOMETRY_SLICES_MAX];
    size_t count;
};

static bool
overlap(const struct slice *a, const struct slice *b)
{
    return a->start < b->start + b->profile->size &&
           b->start < a->start + a->profile->size;
}

static bool
ends_with(const struct slice *slice, const char *end)
{
    size_t size = strlen(slice->profile->name), tail = strlen(end);

    return size >= tail &&
           strcmp(slice->profile->name + size - tail, end) == 0;
}

/* By names and intervals, every pair. */
static bool
is_legal(const struct geometry_card *card, const struct pile *pile)
{
    int compute = 0, media = 0;

    for (size_t i = 0; i < pile->count; i++) {
        const struct slice *a = &pile->slices[i];

        compute += a->profile->compute;
        media += ends_with(a, "+me");
        for (size_t j = 0; j < i; j++) {
            const struct slice *b = &pile->slices[j];

            if (overlap(a, b) || (!card->mixed && a->profile != b->profile))
                return false;
            if ((ends_with(a, "+me.all") && !ends_with(b, "-me")) ||
                (ends_with(b, "+me.all") && !ends_with(a, "-me")))
                return false;
        }
    }
    return compute <= card->compute && media <= 1;
}

static bool
is_plain(const struct geometry_profile *profile)
{
    return strpbrk(profile->name, "+-") == NULL;
}

struct census {
    bool plain;  /* profiles without variants of media engines only */
    bool single; /* and without a double share of memory */
    long legal, maximal;
    int64_t milli_most;
};

/* Every legal pile once: slices in the order of profile and start. */
static void
walk(const struct geometry_card *card, struct pile *pile, size_t from,
     const struct layout *layout, struct census *census)
{
    int64_t milli = 0, memory = 0;
    bool maximal = true;

    for (size_t i = 0; i < pile->count; i++) {
        milli += geometry_milli(card, pile->slices[i].profile);
        memory += geometry_memory(card, pile->slices[i].profile,
                                  card->memory_mib);
    }
    assert_true(milli <= 1000);
    assert_true(memory <= card->memory_mib);
    if (milli > census->milli_most)
        census->milli_most = milli;
    census->legal++;
    for (size_t at = 0; at < card->count * card->units; at++) {
        const struct geometry_profile *profile =
            geometry_profile_at(card, at / card->units);
        int start = (int)(at % card->units);
        bool legal, fits;

        if ((profile->starts >> start & 1) == 0 ||
            (census->plain && !is_plain(profile)) ||
            (census->single && profile->compute == 1 && profile->size == 2))
            continue;
        pile->slices[pile->count++] = (struct slice){ profile, start };
        legal = is_legal(card, pile);
        fits = geometry_fits(card, layout, profile, start);
        assert_int_equal(legal, fits);
        maximal = maximal && !legal;
        if (legal && at >= from) {
            struct layout with = *layout;

            geometry_add(&with, profile, start);
            walk(card, pile, at + 1, &with, census);
            geometry_remove(&with, profile, start);
            assert_memory_equal(&with, layout, sizeof(with));
        }
        pile->count--;
    }
    census->maximal += maximal;
}

static struct census
count_of(const struct geometry_card *card, bool plain, bool single)
{
    struct pile pile = { .count = 0 };
    struct layout empty = { 0 };
    struct census census = { .plain = plain, .single = single };

    walk(card, &pile, 0, &empty, &census);
    return census;
}

static void
every_layout_of_every_card_is_that_of_brute_force(void **state)
{
    size_t count;
    const struct geometry_card *cards = geometry_cards(&count);

    (void)state;
    assert_int_equal(count, 16);
    /* The rich tables of 4 units are walked whole, those of 8 without the
     * variants of media engines, whose rule is tested on 4 units. */
    for (size_t i = 0; i < count; i++)
        (void)count_of(&cards[i], cards[i].units == 8, false);
}

/* Counted by another program from the vendor's lists of profiles and placements
 * of each card: all that is legal, and what nothing fits beside. */
static void
each_card_has_as_many_layouts_as_its_lists_of_placements_give(void **state)
{
    size_t count;
    size_t large = 0;
    size_t small = 0;
    const struct geometry_card *cards = geometry_cards(&count);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        struct census census;

        if (strcmp(cards[i].vendor, "nvidia") != 0)
            continue;
        census = count_of(&cards[i], true, false);
        assert_int_equal(census.legal, cards[i].units == 8 ? 723 : 26);
        assert_int_equal(census.maximal, cards[i].units == 8 ? 78 : 5);
        large += cards[i].units == 8;
        small += cards[i].units == 4;
    }
    assert_int_equal(large, 12);
    assert_int_equal(small, 2);
}

static void
the_layouts_are_as_many_as_the_vendor_lists(void **state)
{
    (void)state;
    assert_int_equal(
        count_of(geometry_card("nvidia", "A100-SXM4-80GB", 81920), true, true)
            .maximal,
        19);
    assert_int_equal(
        count_of(geometry_card("nvidia", "H100 80GB HBM3", 81559), true, false)
            .maximal,
        78);
    assert_int_equal(
        count_of(geometry_card("nvidia", "NVIDIA A30", 24576), true, true)
            .maximal,
        5);
    /* Two halves, four quarters or eight eighths, never mixed. */
    assert_int_equal(
        count_of(geometry_card("amd", "Instinct MI300X", 196608), true, false)
            .maximal,
        3);
}

static void
a_card_is_known_by_its_words_and_its_memory(void **state)
{
    (void)state;
    assert_string_equal(geometry_card("nvidia", "H100-80GB", 81559)->words,
                        "H100|H800");
    assert_int_equal(
        geometry_card("nvidia", "NVIDIA H100 NVL", 95830)->memory_mib, 96256);
    assert_string_equal(
        geometry_card("NVIDIA", "NVIDIA GH200 480GB", 97871)->words, "GH200");
    assert_string_equal(geometry_card("nvidia", "NVIDIA H200", 143771)->words,
                        "H200");
    /* Nearer to the memory of an H200, but no H200. */
    assert_string_equal(
        geometry_card("nvidia", "NVIDIA GH200 144G HBM3e", 145000)->words,
        "GH200");
    assert_null(geometry_card("nvidia", "NVIDIA L40S", 46068));
    assert_null(geometry_card("amd", "H100-80GB", 81559));
    assert_null(geometry_card("nvidia", "A100", 16384));
    /* One name, two geometries. */
    assert_int_equal(
        geometry_profile(geometry_card("nvidia", "H200", 143771), "1g.35gb")
            ->size,
        2);
    assert_int_equal(
        geometry_profile(geometry_card("nvidia", "GB300", 284672), "1g.35gb")
            ->size,
        1);
}

static struct layout
with(const struct geometry_card *card, const char *const *names)
{
    struct layout layout = { 0 };

    for (; *names != NULL; names++) {
        const struct geometry_profile *profile;
        int start;

        assert_true(geometry_parse(card, *names, &profile, &start));
        assert_true(geometry_fits(card, &layout, profile, start));
        geometry_add(&layout, profile, start);
    }
    return layout;
}
#define WITH(card, ...) with(card, (const char *const[]){ __VA_ARGS__, NULL })

static void
slices_in_the_way_leave_enough_but_no_place(void **state)
{
    const struct geometry_card *card =
        geometry_card("nvidia", "A100-40GB", 40960);
    struct layout layout = WITH(card, "1g.5gb@0", "1g.5gb@1", "1g.5gb@5");

    (void)state;
    /* [S40] 4 of 7 compute units and 5 of 8 memory units are free. */
    assert_int_equal(
        geometry_start(card, &layout, geometry_profile(card, "3g.20gb")), -1);
    assert_int_equal(
        geometry_start(card, &layout, geometry_profile(card, "4g.20gb")), -1);
    assert_int_equal(
        geometry_room(card, &layout, geometry_profile(card, "2g.10gb")), 1);
    assert_string_equal(geometry_largest(card, &layout)->name, "2g.10gb");
    layout = WITH(card, "7g.40gb@0");
    assert_null(geometry_largest(card, &layout));
}

static void
small_slices_go_where_large_ones_stay_possible(void **state)
{
    const struct geometry_card *card =
        geometry_card("nvidia", "A100-40GB", 40960);
    struct layout layout = { 0 };
    const int order[] = { 6, 5, 4, 3, 2, 1, 0 };

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        const struct geometry_profile *one =
            geometry_profile(card, "1g.5gb");

        assert_int_equal(geometry_start(card, &layout, one), order[i]);
        geometry_add(&layout, one, order[i]);
        /* Three of them leave 4g possible. */
        if (i == 2)
            assert_string_equal(geometry_largest(card, &layout)->name,
                                "4g.20gb");
    }
    layout = (struct layout){ 0 };
    assert_int_equal(
        geometry_start(card, &layout, geometry_profile(card, "3g.20gb")), 4);
    layout = WITH(card, "3g.20gb@4");
    assert_int_equal(
        geometry_start(card, &layout, geometry_profile(card, "4g.20gb")), 0);
    assert_int_equal(
        geometry_room(card, &layout, geometry_profile(card, "1g.5gb")), 4);
}

static void
a_slice_is_charged_its_share_of_what_is_billed(void **state)
{
    const struct geometry_card *a100 =
        geometry_card("nvidia", "A100-40GB", 40960);
    const struct geometry_card *h100 =
        geometry_card("nvidia", "H100-80GB", 81559);

    (void)state;
    /* 14 of 98, 42 of 98 and all multiprocessors. */
    assert_int_equal(
        geometry_milli(a100, geometry_profile(a100, "1g.5gb")), 142);
    assert_int_equal(
        geometry_milli(a100, geometry_profile(a100, "3g.20gb")), 428);
    assert_int_equal(
        geometry_milli(a100, geometry_profile(a100, "7g.40gb")), 1000);
    /* 16, 26 and 60 of 132: not sevenths. */
    assert_int_equal(
        geometry_milli(h100, geometry_profile(h100, "1g.10gb")), 121);
    assert_int_equal(
        geometry_milli(h100, geometry_profile(h100, "1g.20gb")), 196);
    assert_int_equal(
        geometry_milli(h100, geometry_profile(h100, "3g.40gb")), 454);
    /* As measured, or the card's share where nobody measured. */
    assert_int_equal(geometry_memory(a100, geometry_profile(a100, "1g.5gb"),
                                     40960),
                     4864);
    assert_int_equal(
        geometry_memory(geometry_card("amd", "MI300X", 196608),
                        geometry_profile(
                            geometry_card("amd", "MI300X", 196608), "cpx"),
                        196608),
        24576);
}

static void
a_name_that_is_no_slice_of_the_card_is_refused(void **state)
{
    const struct geometry_card *card =
        geometry_card("nvidia", "A100-40GB", 40960);
    static const char *const bad[] = { "",          "@0",        "3g.20gb",
                                       "3g.20gb@",  "3g.20gb@1", "3g.20gb@8",
                                       "3g.20gb@4x", "9g.90gb@0",
                                       "3g.20gb@-4" };
    const struct geometry_profile *profile;
    char text[GEOMETRY_NAME_MAX];
    int start;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_false(geometry_parse(card, bad[i], &profile, &start));
    assert_true(geometry_parse(card, "3g.20gb@4", &profile, &start));
    assert_string_equal(geometry_format(text, profile->name, start),
                        "3g.20gb@4");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout_of_every_card_is_that_of_brute_force),
        cmocka_unit_test(
            each_card_has_as_many_layouts_as_its_lists_of_placements_give),
        cmocka_unit_test(the_layouts_are_as_many_as_the_vendor_lists),
        cmocka_unit_test(a_card_is_known_by_its_words_and_its_memory),
        cmocka_unit_test(slices_in_the_way_leave_enough_but_no_place),
        cmocka_unit_test(small_slices_go_where_large_ones_stay_possible),
        cmocka_unit_test(a_slice_is_charged_its_share_of_what_is_billed),
        cmocka_unit_test(a_name_that_is_no_slice_of_the_card_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
