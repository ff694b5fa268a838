/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/play.h"

/*
 * Decisions do not depend on where the scheduler's slices end: one history
 * with slices of different sizes gives the same sets, byte for byte.  What
 * happens between two slices of one look loses nothing.
 */

#define STEPS 300

static const struct hash_key any_key = { 3, 4 };

static uint64_t
mixed(uint64_t digest, const void *bytes, size_t size)
{
    return (digest ^ hash_bytes(&any_key, bytes, size)) *
           UINT64_C(0x100000001b3);
}

/* All that is stored of an object. */
static uint64_t
digest_image(uint64_t digest, enum kind kind, const void *image)
{
    const struct schema *schema = schema_get(kind);

    for (size_t i = 0; i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        const void *value = field_at(field, image);

        if (field->type == FIELD_DOC) {
            const struct blob *blob = *(struct blob *const *)value;

            digest = blob != NULL ? mixed(digest, blob->bytes, blob->size)
                                  : mixed(digest, "", 1);
        } else {
            digest = mixed(digest, value, field->size);
        }
    }
    return digest;
}

static void
listen(struct scene *scene, const struct changes *changes)
{
    struct schedule_decision last = schedule_last(scene->scheduler);

    scene->digest = mixed(scene->digest, &last.what, sizeof(last.what));
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];

        scene->digest = mixed(scene->digest, &change->ref, sizeof(change->ref));
        if (change->op == CHANGE_PUT)
            scene->digest =
                digest_image(scene->digest, (enum kind)change->ref.kind,
                             change->image);
    }
}

static void
begin(struct play *play, uint64_t seed, int64_t slice)
{
    struct changes *changes;
    struct platform *platform;

    build(play, seed);
    play->scene.slice = slice;
    play->scene.on_decision = listen;
    changes = scene_begin(&play->scene);
    platform = change_update(changes, play->scene.platform);
    platform->bypass_max = 3; /* bookings too */
    scene_apply(&play->scene, changes);
}

static void
one_step(struct play *play, uint64_t seed, int step)
{
    play->random = ((seed + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                    (uint64_t)step * UINT64_C(0xbf58476d1ce4e5b9)) |
                   1;
    for (int i = 0; i < 4; i++)
        (void)next(play);
    something(play);
}

struct outcome {
    uint64_t digest, states;
    int64_t slices, assigned, booked;
};

static struct outcome
act(uint64_t seed, int64_t slice)
{
    struct play *play = memory_new(1, sizeof(*play));
    struct outcome outcome = { 0 };

    begin(play, seed, slice);
    for (int step = 1; step <= STEPS; step++) {
        one_step(play, seed, step);
        if (chance(play, 60))
            schedule(play);
        outcome.slices += play->scene.slices;
        outcome.booked += (int64_t)world_count(play->scene.world,
                                               KIND_BOOKING);
    }
    outcome.digest = play->scene.digest;
    outcome.states = play->digest;
    outcome.assigned = play->hits.assigned;
    scene_teardown(&play->scene);
    free(play);
    return outcome;
}

static void
decisions_do_not_depend_on_where_slices_end(void **state)
{
    int64_t booked = 0;

    (void)state;
    for (uint64_t seed = 2; seed < 5; seed++) {
        struct outcome all = act(seed, BUDGET_ALL);
        struct outcome one = act(seed, 1), few = act(seed, 17);

        print_message("slices %" PRId64 " %" PRId64 " %" PRId64
                      ", %" PRId64 " starts, %" PRId64 " booked\n",
                      all.slices, few.slices, one.slices, all.assigned,
                      all.booked);
        assert_int_equal(all.digest, one.digest);
        assert_int_equal(all.digest, few.digest);
        assert_int_equal(all.states, one.states);
        assert_true(all.assigned > 20);
        assert_true(one.slices > few.slices && few.slices > all.slices);
        booked += all.booked;
    }
    assert_true(booked > 0);
}

/* Whoever waits has a reason after each set (scene.h); at rest nobody is
 * forgotten, whatever happened between the slices. */
static void
what_happens_between_slices_is_not_lost(void **state)
{
    struct play *play = memory_new(1, sizeof(*play));
    int64_t left = 0;

    (void)state;
    for (uint64_t seed = 5; seed < 9; seed++) {
        begin(play, seed, 1 + (int64_t)seed % 3 * 20);
        for (int step = 1; step <= STEPS; step++) {
            one_step(play, seed, step);
            play->scene.slices_max = step % 20 == 0 ? 0 : 1 + below(play, 9);
            schedule(play);
            left += schedule_has_more(play->scene.scheduler);
        }
        scene_teardown(&play->scene);
    }
    assert_true(left > 500);
    free(play);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decisions_do_not_depend_on_where_slices_end),
        cmocka_unit_test(what_happens_between_slices_is_not_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
