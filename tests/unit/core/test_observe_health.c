/* SPDX-License-Identifier: Apache-2.0 */
#include "core/observe_health.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/alarm.h"
#include "core/card_health.h"
#include "core/health_policy.h"
#include "core/observe.h"
#include "core/usage.h"

/* A node with two cards; a workload of a tenant runs on the first. */
struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform, pool, node, card[2], workload, instance, binding;
    struct report_look looks[2];
};

static const char *const uuids[] = { "SIM-0", "SIM-1" };

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

static struct ref
make(struct changes *changes, enum kind kind, struct ref parent,
     const char *name)
{
    return ((struct object *)change_create(changes, kind, parent, name))->self;
}

static void
make_cards(struct scene *scene, struct changes *changes)
{
    for (size_t i = 0; i < 2; i++) {
        struct card *card = change_create(changes, KIND_CARD, scene->node,
                                          i == 0 ? "card0" : "card1");

        (void)snprintf(card->uuid, sizeof(card->uuid), "%s", uuids[i]);
        card->health = HEALTH_HEALTHY;
        usage_start(changes, card);
        scene->card[i] = card->object.self;
        scene->looks[i] = (struct report_look){ .uuid = uuids[i],
                                                .health = REPORT_HEALTHY,
                                                .health_reason = "",
                                                .asks_nothing = true,
                                                .has_rows = true,
                                                .clean = 10 };
    }
}

static void
make_work(struct scene *scene, struct changes *changes, struct ref project)
{
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, project, "job");
    struct instance *instance =
        change_create(changes, KIND_INSTANCE, workload->object.self, "0");
    struct binding *binding =
        change_create(changes, KIND_BINDING, instance->object.self, "");

    workload->state = WORKLOAD_RUNNING;
    workload->instances = workload->instances_now = 1;
    workload->attempt = instance->attempt = 1;
    instance->incarnation = 1;
    instance->state = INSTANCE_RUNNING;
    instance->node = scene->node;
    instance->project = project;
    instance->pool = scene->pool;
    binding->card = scene->card[0];
    binding->workload = workload->object.self;
    binding->milli = 1000;
    binding->from_ms = binding->cut_ms = scene->now_ms;
    binding->project = project;
    binding->pool = scene->pool;
    scene->workload = workload->object.self;
    scene->instance = instance->object.self;
    scene->binding = binding->object.self;
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 3, 4 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;
    struct ref tenant;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    scene->now_ms = INT64_C(1798761600000);
    changes = begin(scene);
    scene->platform =
        make(changes, KIND_PLATFORM, (struct ref){ 0 }, "platform");
    scene->pool = make(changes, KIND_POOL, scene->platform, "main");
    scene->node = make(changes, KIND_NODE, scene->pool, "n1");
    tenant = make(changes, KIND_TENANT, scene->platform, "research");
    make_cards(scene, changes);
    make_work(scene, changes, make(changes, KIND_PROJECT, tenant, "train"));
    world_apply(scene->world, changes);
    *state = scene;
    return 0;
}

static int
scene_close(void **state)
{
    struct scene *scene = *state;

    world_free(scene->world);
    arena_free(scene->arena);
    free(scene);
    return 0;
}

/* A second later the node tells of both cards; did that change anything? */
static bool
look(struct scene *scene)
{
    struct report report = { .looks = scene->looks, .look_count = 2 };
    struct changes *changes;
    bool any;

    scene->now_ms += 1000;
    changes = begin(scene);
    (void)observe_report(changes, scene->node, &report);
    any = !change_is_empty(changes);
    world_apply(scene->world, changes);
    return any;
}

/* The first card has been well for so many looks. */
static void
look_clean(struct scene *scene, int64_t clean)
{
    scene->looks[0].health = REPORT_HEALTHY;
    scene->looks[0].health_reason = "";
    scene->looks[0].clean = clean;
    (void)look(scene);
}

static void
look_ill(struct scene *scene, enum report_health health, const char *reason)
{
    scene->looks[0].health = health;
    scene->looks[0].health_reason = reason;
    scene->looks[0].clean = 0;
    (void)look(scene);
}

static struct report_event
error_of(const struct scene *scene, int64_t xid)
{
    return (struct report_event){ .xid = xid,
                                  .pid = -1,
                                  .instance = -1,
                                  .slice = "",
                                  .first_ms = scene->now_ms,
                                  .last_ms = scene->now_ms,
                                  .count = 1 };
}

static const struct card *
card(const struct scene *scene, size_t number)
{
    return world_card(scene->world, scene->card[number]);
}

static bool
stands(struct scene *scene, struct ref about, const char *code)
{
    return alarm_stands(begin(scene), about, code);
}

static void
set_policy(struct scene *scene, const char *text)
{
    struct changes *changes = begin(scene);
    struct pool *pool = change_update(changes, scene->pool);

    change_doc(changes, &pool->health, text);
    observe_health_policy(changes, scene->pool);
    world_apply(scene->world, changes);
}

/* [N1] [N2]: an error condemns, is kept, and clean looks lead back. */
static void
an_error_is_kept_until_clean_looks(void **state)
{
    struct scene *scene = *state;
    struct report_event event;

    (void)look(scene);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    event = error_of(scene, 119);
    scene->looks[0].asks_nothing = false;
    scene->looks[0].events = &event;
    scene->looks[0].event_count = 1;
    look_clean(scene, 0);
    assert_int_equal(card(scene, 0)->health, HEALTH_FAILED);
    assert_int_equal(card(scene, 0)->health_ms, scene->now_ms);
    assert_false(card_health_is_fit(card(scene, 0)));
    assert_true(stands(scene, scene->card[0], "card.health"));
    assert_true(stands(scene, scene->card[0], "card.workorder"));
    assert_true(stands(scene, scene->workload, "workload.card"));
    assert_int_equal(card(scene, 1)->health, HEALTH_HEALTHY);
    /* The agent is a new one that has heard of nothing. */
    scene->looks[0].event_count = 0;
    look_clean(scene, 1);
    look_clean(scene, 2);
    assert_int_equal(card(scene, 0)->health, HEALTH_FAILED);
    look_clean(scene, 3);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_string_equal(card(scene, 0)->health_reason, "");
    assert_false(stands(scene, scene->card[0], "card.health"));
    assert_false(stands(scene, scene->card[0], "card.workorder"));
    assert_false(stands(scene, scene->workload, "workload.card"));
    /* The log of before is told again: it is settled. */
    scene->looks[0].event_count = 1;
    look_clean(scene, 4);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
}

/* What is the same costs nothing. */
static void
a_look_without_news_changes_nothing(void **state)
{
    struct scene *scene = *state;
    struct report_event event = error_of(scene, 31);

    scene->looks[0].events = &event;
    scene->looks[0].event_count = 1;
    assert_true(look(scene));
    assert_false(look(scene));
    scene->looks[0].clean = 4;
    scene->looks[0].temperature_c = 70;
    assert_false(look(scene));
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_false(stands(scene, scene->workload, "workload.card"));
}

/* What the node cannot see of all its cards is its own fault; of one of them
 * it is that one's. */
static void
a_node_that_sees_no_card_condemns_none(void **state)
{
    struct scene *scene = *state;

    (void)look(scene);
    for (size_t i = 0; i < 2; i++) {
        scene->looks[i].health = REPORT_UNKNOWN;
        scene->looks[i].health_reason = "the library does not answer";
    }
    (void)look(scene);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_int_equal(card(scene, 1)->health, HEALTH_HEALTHY);
    assert_true(stands(scene, scene->node, "node.blind"));
    scene->looks[1].health = REPORT_HEALTHY;
    scene->looks[1].health_reason = "";
    (void)look(scene);
    assert_int_equal(card(scene, 0)->health, HEALTH_UNKNOWN);
    assert_false(stands(scene, scene->node, "node.blind"));
    look_clean(scene, 1);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
}

/* The same for a list that is empty all at once. */
static void
a_node_that_lists_no_card_has_lost_none(void **state)
{
    struct scene *scene = *state;
    struct report_inventory inventory = { .cpu_milli = 4000,
                                          .memory_mib = 16000,
                                          .facts = "{}" };
    struct report report = { .inventory = &inventory };
    struct changes *changes = begin(scene);

    (void)observe_report(changes, scene->node, &report);
    world_apply(scene->world, changes);
    for (size_t i = 0; i < 2; i++) {
        assert_false(card(scene, i)->missing);
        assert_true(card(scene, i)->stale);
        assert_false(card_health_is_fit(card(scene, i)));
    }
    assert_true(stands(scene, scene->node, "node.blind"));
    (void)look(scene);
    assert_false(card(scene, 0)->stale);
    assert_false(stands(scene, scene->node, "node.blind"));
}

/* A card that nobody has heard of takes no work; an old look is none. */
static void
a_card_is_stale_until_a_fresh_look(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    observe_health_stale(changes, scene->card[0]);
    world_apply(scene->world, changes);
    assert_false(card_health_is_fit(card(scene, 0)));
    assert_true(stands(scene, scene->card[0], "card.stale"));
    assert_int_equal(usage_remainder(begin(scene), scene->card[0]),
                     USAGE_UNKNOWN);
    scene->looks[0].age_ms = 600000;
    (void)look(scene);
    assert_true(card(scene, 0)->stale);
    scene->looks[0].age_ms = 2000;
    (void)look(scene);
    assert_false(card(scene, 0)->stale);
    assert_true(card_health_is_fit(card(scene, 0)));
    assert_false(stands(scene, scene->card[0], "card.stale"));
}

static void
the_pool_s_policy_says_what_is_done(void **state)
{
    struct scene *scene = *state;

    set_policy(scene, "{\"probes\":1,\"suspect\":{\"takes_work\":true,"
                      "\"notify\":true,\"reset\":false},\"degraded\":"
                      "{\"running\":\"drain\",\"workorder\":true}}");
    (void)look(scene);
    look_ill(scene, REPORT_SUSPECT, "it is worn");
    assert_int_equal(card(scene, 0)->health, HEALTH_SUSPECT);
    assert_true(card(scene, 0)->tolerated);
    assert_true(card_health_is_fit(card(scene, 0)));
    assert_true(stands(scene, scene->workload, "workload.card"));
    assert_int_equal(world_workload(scene->world, scene->workload)->state,
                     WORKLOAD_RUNNING);
    look_ill(scene, REPORT_DEGRADED, "it is bad");
    assert_false(card_health_is_fit(card(scene, 0)));
    assert_int_equal(world_workload(scene->world, scene->workload)->state,
                     WORKLOAD_PREEMPTING);
    assert_true(stands(scene, scene->card[0], "card.workorder"));
    look_clean(scene, 1);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_false(card(scene, 0)->tolerated);
    /* Another policy counts for what is so already. */
    look_ill(scene, REPORT_SUSPECT, "it is worn");
    set_policy(scene, NULL);
    assert_false(card_health_is_fit(card(scene, 0)));
}

/* What has left the card is told of no more, however the card is. */
static void
an_owner_is_told_as_long_as_it_matters(void **state)
{
    struct scene *scene = *state;
    struct changes *changes;
    char id[ID_TEXT_MAX];
    const char *cards[] = { uuids[0] };
    struct report_release release = { .instance = id,
                                      .incarnation = 1,
                                      .cards = cards,
                                      .card_count = 1 };
    struct report report = { .releases = &release, .release_count = 1 };

    set_policy(scene, "{\"failed\":{\"running\":\"drain\"}}");
    (void)look(scene);
    look_ill(scene, REPORT_FAILED, "the card asks for a reset");
    assert_true(stands(scene, scene->workload, "workload.card"));
    id_format(schema_get(KIND_INSTANCE)->prefix,
              world_instance(scene->world, scene->instance)->object.id, id);
    changes = begin(scene);
    assert_int_equal(observe_report(changes, scene->node, &report), 0);
    world_apply(scene->world, changes);
    assert_false(stands(scene, scene->workload, "workload.card"));
    assert_int_equal(card(scene, 0)->health, HEALTH_FAILED);
    assert_int_equal(card(scene, 0)->used_milli, 0);
}

/* [N48]: a card that falls ill while it is held is neither free nor less than
 * nothing. */
static void
what_is_held_of_an_ill_card_is_no_debt(void **state)
{
    struct scene *scene = *state;
    const struct card *ill;

    (void)look(scene);
    look_ill(scene, REPORT_FAILED, "rows");
    ill = card(scene, 0);
    assert_int_equal(ill->used_milli, 1000);
    assert_int_equal(world_pool(scene->world, scene->pool)->cards, 2);
    assert_false(card_health_is_fit(ill));
    assert_int_equal(usage_remainder(begin(scene), scene->card[0]),
                     USAGE_UNHEALTHY);
}

/* A free card that is to be reset waits for its scrub; one in use is left. */
static void
a_reset_waits_until_nobody_has_the_card(void **state)
{
    struct scene *scene = *state;

    (void)look(scene);
    scene->looks[1].health = REPORT_SUSPECT;
    scene->looks[1].health_reason = "a memory repair waits for a reset";
    scene->looks[1].clean = 0;
    look_ill(scene, REPORT_SUSPECT, "a memory repair waits for a reset");
    assert_int_equal(card(scene, 0)->handover, HANDOVER_CLEAN);
    assert_int_equal(card(scene, 1)->handover, HANDOVER_PENDING);
}

static void
a_bad_policy_is_refused(void **state)
{
    static const char *const texts[] = {
        "[]",
        "{\"probes\":0}",
        "{\"probes\":11}",
        "{\"healthy\":{}}",
        "{\"suspect\":1}",
        "{\"suspect\":{\"running\":\"kill\"}}",
        "{\"suspect\":{\"what\":true}}",
        "{\"failed\":{\"takes_work\":true}}",
        "{\"unknown\":{\"takes_work\":true}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct blob *blob = blob_new(texts[i], strlen(texts[i]));
        struct error err = { 0 };

        if (health_policy_check(blob, &err) == 0)
            fail_msg("taken: %s", texts[i]);
        blob_drop(blob);
    }
}

static int
say(struct scene *scene, int health, const char *reason)
{
    struct changes *changes = begin(scene);
    struct error err = { 0 };
    int result =
        observe_health_set(changes, scene->card[0], health, reason, &err);

    if (result == 0)
        world_apply(scene->world, changes);
    else
        assert_true(err.text[0] != '\0');
    return result;
}

/* The node's next word does not take it back. */
static void
a_person_s_word_outlives_looks(void **state)
{
    struct scene *scene = *state;

    (void)look(scene);
    assert_int_equal(say(scene, HEALTH_DEGRADED, "noisy fan"), 0);
    (void)look(scene);
    assert_int_equal(card(scene, 0)->health, HEALTH_DEGRADED);
    assert_string_equal(card(scene, 0)->health_reason, "noisy fan");
    assert_int_equal(say(scene, HEALTH_UNKNOWN, "?"), -1);
    assert_int_equal(say(scene, HEALTH_HEALTHY, "replaced"), 0);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    look_ill(scene, REPORT_FAILED, "memory rows could not be replaced");
    assert_int_equal(say(scene, HEALTH_HEALTHY, "looks good"), -1);
    assert_int_equal(card(scene, 0)->health, HEALTH_FAILED);
}

/* [N40]: of two slices in use the one that it is about is told of; an error of
 * the whole card tells both. */
static void
a_slice_s_error_hurts_its_holder_alone(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct binding *binding = change_update(changes, scene->binding);
    struct report_event event = error_of(scene, 48);
    struct card other = { .health = HEALTH_HEALTHY };
    struct binding next = { .slice = "1g.10gb@4" };

    memcpy(binding->slice, "1g.10gb@2", 10);
    ((struct card *)change_update(changes, scene->card[0]))->sliced = true;
    world_apply(scene->world, changes);
    scene->looks[0].asks_nothing = false;
    scene->looks[0].events = &event;
    scene->looks[0].event_count = 1;
    event.instance = 9;
    event.slice = "1g.10gb@4";
    look_clean(scene, 0);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_string_equal(card(scene, 0)->ill, "1g.10gb@4");
    assert_false(stands(scene, scene->workload, "workload.card"));
    assert_true(observe_health_hurts(card(scene, 0), &next));
    assert_false(observe_health_hurts(&other, &next));
    event.instance = 3;
    event.slice = "1g.10gb@2";
    look_clean(scene, 0);
    assert_string_equal(card(scene, 0)->ill, "1g.10gb@4 1g.10gb@2");
    assert_true(stands(scene, scene->workload, "workload.card"));
    assert_true(stands(scene, scene->card[0], "card.slices"));
    look_clean(scene, 3);
    assert_string_equal(card(scene, 0)->ill, "");
    assert_false(stands(scene, scene->workload, "workload.card"));
    assert_false(stands(scene, scene->card[0], "card.slices"));
    event = error_of(scene, 79);
    look_clean(scene, 0);
    assert_int_equal(card(scene, 0)->health, HEALTH_FAILED);
    assert_true(stands(scene, scene->workload, "workload.card"));
    assert_true(observe_health_hurts(card(scene, 0), &next));
}

/* A link that is down hurts work on several cards only. */
static void
a_bad_link_marks_the_card(void **state)
{
    struct scene *scene = *state;
    struct report_event event = error_of(scene, 74);

    scene->looks[0].events = &event;
    scene->looks[0].event_count = 1;
    look_clean(scene, 0);
    assert_int_equal(card(scene, 0)->health, HEALTH_HEALTHY);
    assert_true(card(scene, 0)->links_bad);
    assert_true(stands(scene, scene->card[0], "card.links"));
    look_clean(scene, 3);
    assert_false(card(scene, 0)->links_bad);
    assert_false(stands(scene, scene->card[0], "card.links"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_error_is_kept_until_clean_looks),
        TEST(a_look_without_news_changes_nothing),
        TEST(a_node_that_sees_no_card_condemns_none),
        TEST(a_node_that_lists_no_card_has_lost_none),
        TEST(a_card_is_stale_until_a_fresh_look),
        TEST(the_pool_s_policy_says_what_is_done),
        TEST(an_owner_is_told_as_long_as_it_matters),
        TEST(what_is_held_of_an_ill_card_is_no_debt),
        TEST(a_reset_waits_until_nobody_has_the_card),
        TEST(a_bad_policy_is_refused),
        TEST(a_person_s_word_outlives_looks),
        TEST(a_slice_s_error_hurts_its_holder_alone),
        TEST(a_bad_link_marks_the_card),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
