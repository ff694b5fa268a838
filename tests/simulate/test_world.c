/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/commands.h"
#include "tests/simulate/portion.h"
#include "tests/simulate/race.h"

/*
 * A seed makes tenants, work, faults and edits (play.h), and what people ask
 * (commands.h).  The same seed gives the same decisions, also when the
 * scheduler is made anew before each pass.
 */

#define STEPS 5000 /* of each seed */
/* With sanitizers it is memory that is looked at: they take three times as
 * long, and the same steps are recounted one by one without them. */
#ifdef __SANITIZE_ADDRESS__
#define RECOUNTED 5
#else
#define RECOUNTED 0
#endif
#define ASKED 200  /* seeds from then on: people ask for things */
#define WATCH 5    /* steps between two looks at quotas */
#define SAMPLE 50  /* of sets that are recounted in what is played again */

/* Is the step among those that SIMULATE_KEEP lists ("3,17-20")?  Without it
 * all are. */
static bool
is_kept(const char *keep, int step)
{
    while (keep != NULL && *keep != '\0') {
        char *end;
        long first = strtol(keep, &end, 10), last = first;

        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        if (step >= first && step <= last)
            return true;
        keep = *end == ',' ? end + 1 : "";
    }
    return keep == NULL;
}

/* Each step has a sequence of its own, so that leaving one out does not
 * change what the others try. */
static void
seed_step(struct play *play, uint64_t seed, int step)
{
    uint64_t mixed = (seed + 1) * UINT64_C(0x9e3779b97f4a7c15) +
                     (uint64_t)step * UINT64_C(0xbf58476d1ce4e5b9);

    play->random = (mixed ^ (mixed >> 31)) | 1;
    for (int i = 0; i < 4; i++)
        (void)next(play);
}

/* SIMULATE_TELL: what is decided about whom. */
static void
tell(struct scene *scene, const struct changes *changes)
{
    struct schedule_decision last = schedule_last(scene->scheduler);

    portion_check_claim(scene, changes);
    print_message("  %s", schedule_what_text(last.what));
    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];
        const struct object *old = world_object(changes->world, change->ref);
        const struct workload *workload = change->image;

        if (change->ref.kind == KIND_WORKLOAD && change->op == CHANGE_PUT)
            print_message(" | %s %s: %s", workload->object.name,
                          schema_field(KIND_WORKLOAD, "state")
                              ->names[workload->state],
                          workload->reason_text);
        else if (change->ref.kind == KIND_HOLD && change->op == CHANGE_PUT)
            print_message(" | card %u held",
                          ((const struct hold *)change->image)->card.index);
        else if (change->ref.kind == KIND_HOLD && old != NULL)
            print_message(" | hold of card %u ends",
                          ((const struct hold *)(const void *)old)->card.index);
    }
    print_message("\n");
}

static void
act(struct play *play, uint64_t seed, int steps, bool forgetful,
    int64_t sample)
{
    const char *keep = getenv("SIMULATE_KEEP");

    build(play, seed);
    play->scene.on_decision =
        getenv("SIMULATE_TELL") != NULL ? tell : portion_check_claim;
    if (seed >= ASKED)
        command_setup(play);
    play->forgetful = forgetful;
    play->scene.sample = sample;
    for (int step = 1; step <= steps; step++) {
        if (!is_kept(keep, step))
            continue;
        seed_step(play, seed, step);
        if (play->scene.on_decision == tell)
            print_message("step %d\n", step);
        something(play);
        if (seed >= ASKED) {
            command(play);
            if (step % 50 == 0)
                command_mend(play);
        }
        if (seed % 4 == 3 && step % 200 == 110)
            portion_break(play);
        if (step % WATCH == 0)
            portion_watch(play);
        if (chance(play, 60))
            schedule(play);
        if (play->scene.on_decision == tell)
            print_message("digest %" PRIx64 "\n", play->digest);
        if (step % 50 == 0 && !forgetful)
            race(play);
        count_states(play);
        count_shrunk(play);
        if (step % 1000 == 0)
            calm(play);
    }
    scene_check(play->scene.world);
}

static void
show(const struct play *play)
{
    const struct field *reasons = schema_field(KIND_WORKLOAD, "reason");
    const struct field *states = schema_field(KIND_WORKLOAD, "state");

    const struct {
        const char *name;
        int64_t count;
    } counts[] = {
        { "assigned", play->hits.assigned },
        { "nominated", play->hits.nominated },
        { "victims", play->hits.victims },
        { "grown", play->hits.grown },
        { "shrunk", play->hits.shrunk },
        { "expired", play->hits.expired },
        { "stopped", play->hits.stopped },
        { "served", play->hits.served },
        { "edits", play->hits.edits },
        { "refused_edits", play->hits.refused_edits },
        { "lost", play->hits.lost },
        { "back", play->hits.back },
        { "failed_starts", play->hits.failed_starts },
        { "explained", play->hits.explained },
        { "verified", play->hits.verified },
        { "promised", play->hits.promised },
        { "races", play->hits.races },
        { "permuted", play->hits.permuted },
        { "at-risk", play->hits.at_risk },
    };

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        print_message("hit %s %" PRId64 "\n", counts[i].name,
                      counts[i].count);
    for (int i = 0; i < RULES; i++)
        print_message("hit rule-%s %" PRId64 "\n", play_rules[i],
                      play->hits.rule[i]);
    for (int i = 0; i <= WORKLOAD_CANCELLED; i++)
        print_message("hit state-%s %" PRId64 "\n", states->names[i],
                      play->hits.state[i]);
    for (int i = 0; reasons->names[i] != NULL; i++)
        print_message("hit reason-%s %" PRId64 "\n", reasons->names[i],
                      play->hits.reason[i]);
    for (int i = 0; i < COMMAND_COUNT; i++) {
        print_message("hit %s-allowed %" PRId64 "\n", command_names[i],
                      play->hits.allowed[i]);
        print_message("hit %s-refused %" PRId64 "\n", command_names[i],
                      play->hits.refused[i]);
    }
}

/* Rules that never happen prove nothing. */
static void
check_hits(const struct play *play)
{
    assert_true(play->hits.assigned > 100 && play->hits.nominated > 10 &&
                play->hits.victims > 10 && play->hits.expired > 0 &&
                play->hits.grown > 10 &&
                play->hits.stopped > 0 && play->hits.served > 0 &&
                play->hits.refused_edits > 0 && play->hits.edits > play->hits.refused_edits &&
                play->hits.lost > 0 && play->hits.back > 0 && play->hits.failed_starts > 0 &&
                play->hits.verified * 2 > play->hits.explained &&
                play->hits.promised > 0 && play->hits.permuted > 0 &&
                play->hits.at_risk > 0);
    for (int i = 0; i < COMMAND_COUNT; i++)
        assert_true(play->hits.allowed[i] > 0 && play->hits.refused[i] > 0);
    for (int i = 0; i < RULES; i++)
        /* A window or a lender that needs victims is for campaigns, which
         * sum up (tests/simulate/run). */
        if (strcmp(play_rules[i], "reservation") != 0 &&
            strcmp(play_rules[i], "loan") != 0)
            assert_true(play->hits.rule[i] > 0);
    for (int i = 0; i <= WORKLOAD_CANCELLED; i++)
        assert_true(play->hits.state[i] > 0);
    for (int i = REASON_NONE + 1;
         schema_field(KIND_WORKLOAD, "reason")->names[i] != NULL; i++)
        if (i != REASON_APPROVAL) /* it is rare */
            assert_true(play->hits.reason[i] > 0);
}

static void
invariants_hold_through_random_histories(void **state)
{
    /* Some of them have found faults. */
    static const struct {
        uint64_t seed;
        int steps;
    } seeds[] = { { 1, STEPS },   { 100, STEPS }, { 120, STEPS },
                  { 127, STEPS }, { 136, STEPS }, { 200, STEPS },
                  { 201, STEPS }, { 4, 60 },      { 5, 2500 },
                  { 202, 2500 },  { 1015, 500 },  { 2000, 1000 },
                  { 2003, 1200 } };
    struct play *play = memory_new(1, sizeof(*play));
    const char *seed = getenv("SIMULATE_SEED");
    const char *steps = getenv("SIMULATE_STEPS");
    const char *sample = getenv("SIMULATE_SAMPLE");

    (void)state;
    if (seed != NULL) { /* one history of a campaign: tests/simulate/run */
        act(play, strtoull(seed, NULL, 10),
            steps != NULL ? (int)strtol(steps, NULL, 10) : STEPS, false,
            sample != NULL ? strtoll(sample, NULL, 10) : 0);
        scene_teardown(&play->scene);
        show(play);
        free(play);
        return;
    }
    for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
        act(play, seeds[i].seed, seeds[i].steps, false, RECOUNTED);
        scene_teardown(&play->scene);
    }
    show(play);
    check_hits(play);
    free(play);
}

static void
decisions_depend_on_the_world_alone(void **state)
{
    static const uint64_t seeds[] = { 2, 3, 1009 };
    struct play *live = memory_new(1, sizeof(*live));
    struct play *replay = memory_new(1, sizeof(*replay));
    const char *campaign = getenv("SIMULATE_SEED");
    size_t count = campaign != NULL ? 1 : sizeof(seeds) / sizeof(seeds[0]);

    (void)state;
    for (size_t i = 0; i < count; i++) {
        uint64_t seed =
            campaign != NULL ? strtoull(campaign, NULL, 10) : seeds[i];

        if (getenv("SIMULATE_SAMPLE") != NULL && seed % 10 != 0)
            continue; /* a soak plays some again */

        /* In a campaign the same steps were recounted before. */
        act(live, seed, 1500, false, campaign != NULL ? SAMPLE : 0);
        act(replay, seed, 1500, true, SAMPLE);
        assert_int_equal(live->digest, replay->digest);
        assert_int_equal(live->hits.assigned, replay->hits.assigned);
        scene_teardown(&live->scene);
        scene_teardown(&replay->scene);
    }
    free(live);
    free(replay);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(invariants_hold_through_random_histories),
        cmocka_unit_test(decisions_depend_on_the_world_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
