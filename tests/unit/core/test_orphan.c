/* SPDX-License-Identifier: Apache-2.0 */
#include "core/orphan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/alarm.h"
#include "core/observe.h"
#include "core/usage.h"
#include "tests/unit/core/small.h"

#define CARD "GPU-1"
#define STRANGER "in_aaaaaaaaaaaaaaaaaaaaaaaaaa"

static const char *const cards[] = { CARD };
static const struct report_instance running = {
    .instance = STRANGER, .incarnation = 1, .state = REPORT_RUNNING,
    .failure = "", .checkpoint_step = -1, .cards = cards, .card_count = 1,
};

/* A platform that was put back and observes, with a clean card. */
static int
setup(void **state)
{
    int rc = small_open(state);
    struct small *small = *state;
    struct changes *changes = small_begin(small);
    struct platform *platform = change_update(changes, small->platform);
    struct card *card = change_update(changes, small->card);
    struct instance *instance = change_update(changes, small->instance);

    platform->restored_ms = small->now_ms;
    platform->observing = true;
    (void)snprintf(card->uuid, sizeof(card->uuid), CARD);
    instance->node = small->node;
    instance->incarnation = 1;
    world_apply(small->world, changes);
    return rc;
}

static void
report(struct small *small, const struct report_instance *list, size_t count,
       const struct report_release *release)
{
    const struct report report = { .instances_known = true,
                                   .instances = list,
                                   .instance_count = count,
                                   .releases = release,
                                   .release_count = release != NULL };
    struct changes *changes = small_begin(small);

    (void)observe_report(changes, small->node, &report);
    world_apply(small->world, changes);
}

static size_t
count(const struct small *small)
{
    scoped_json list = orphan_list(world_node(small->world, small->node));

    return json_array_size(list);
}

static int
handover(const struct small *small)
{
    return world_card(small->world, small->card)->handover;
}

static bool
stands(struct small *small, struct ref about, const char *code)
{
    return alarm_stands(small_begin(small), about, code);
}

static int
stop(struct small *small, struct error *err)
{
    struct changes *changes = small_begin(small);
    int rc = orphan_stop(changes, small->node, STRANGER, err);

    if (rc == 0)
        world_apply(small->world, changes);
    return rc;
}

static void
confirm(struct small *small)
{
    struct changes *changes = small_begin(small);

    ((struct platform *)change_update(changes, small->platform))->observing =
        false;
    world_apply(small->world, changes);
}

static void
what_a_restored_platform_does_not_know_is_kept_apart(void **state)
{
    struct small *small = *state;

    report(small, &running, 1, NULL);
    assert_int_equal(count(small), 1);
    assert_int_equal(handover(small), HANDOVER_FAILED);
    assert_true(stands(small, small->node, "node.orphans"));
    assert_true(stands(small, small->card, "card.quarantined"));
    assert_false(stands(small, small->node, "report.instance"));
}

static void
without_a_restore_it_is_a_lie(void **state)
{
    struct small *small = *state;
    struct changes *changes = small_begin(small);

    ((struct platform *)change_update(changes, small->platform))
        ->restored_ms = 0;
    world_apply(small->world, changes);
    report(small, &running, 1, NULL);
    assert_int_equal(count(small), 0);
    assert_int_equal(handover(small), HANDOVER_CLEAN);
    assert_true(stands(small, small->node, "report.instance"));
}

static void
an_incarnation_behind_the_backup_is_unknown_too(void **state)
{
    struct small *small = *state;
    struct report_instance later = running;
    char text[ID_TEXT_MAX];

    id_format("in", world_instance(small->world, small->instance)->object.id,
              text);
    later.instance = text;
    report(small, &later, 1, NULL);
    assert_int_equal(count(small), 0);
    later.incarnation = 2;
    report(small, &later, 1, NULL);
    assert_int_equal(count(small), 1);
}

static void
nothing_is_stopped_while_the_platform_observes(void **state)
{
    struct small *small = *state;
    struct error err;

    report(small, &running, 1, NULL);
    assert_int_equal(stop(small, &err), -1);
    assert_int_equal(err.code, ERROR_CONFLICT);
    confirm(small);
    assert_int_equal(stop(small, &err), 0);
}

static void
a_card_is_scrubbed_when_its_orphan_is_gone(void **state)
{
    const struct report_release release = { STRANGER, 1, cards, 1 };
    struct report_instance ended = running;
    struct small *small = *state;
    struct error err;

    report(small, &running, 1, NULL);
    confirm(small);
    assert_int_equal(stop(small, &err), 0);
    /* At its end it names no card any more; it still had one. */
    ended.state = REPORT_EXITED;
    ended.card_count = 0;
    report(small, &ended, 1, NULL);
    assert_int_equal(handover(small), HANDOVER_FAILED);
    report(small, &ended, 1, &release);
    assert_int_equal(count(small), 0);
    assert_int_equal(handover(small), HANDOVER_PENDING);
    assert_false(stands(small, small->node, "node.orphans"));
    assert_false(stands(small, small->card, "card.quarantined"));
    assert_null(world_node(small->world, small->node)->orphans);
}

static void
the_same_report_twice_changes_nothing(void **state)
{
    struct small *small = *state;
    struct changes *changes;
    const struct report again = { .instances_known = true,
                                  .instances = &running,
                                  .instance_count = 1 };

    report(small, &running, 1, NULL);
    changes = small_begin(small);
    (void)observe_report(changes, small->node, &again);
    assert_true(change_is_empty(changes));
}

static void
more_than_a_node_can_have_is_bounded(void **state)
{
    static struct report_instance many[ORPHANS_MAX + 10];
    static char names[ORPHANS_MAX + 10][ID_TEXT_MAX];
    struct small *small = *state;

    for (size_t i = 0; i < ORPHANS_MAX + 10; i++) {
        many[i] = running;
        (void)snprintf(names[i], sizeof(names[i]), "in_%026zu", i);
        many[i].instance = names[i];
    }
    report(small, many, ORPHANS_MAX + 10, NULL);
    assert_int_equal(count(small), ORPHANS_MAX);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, small_close)
    const struct CMUnitTest tests[] = {
        TEST(what_a_restored_platform_does_not_know_is_kept_apart),
        TEST(without_a_restore_it_is_a_lie),
        TEST(an_incarnation_behind_the_backup_is_unknown_too),
        TEST(nothing_is_stopped_while_the_platform_observes),
        TEST(a_card_is_scrubbed_when_its_orphan_is_gone),
        TEST(the_same_report_twice_changes_nothing),
        TEST(more_than_a_node_can_have_is_bounded),
    };

    return cmocka_run_group_tests_name("orphan", tests, NULL, NULL);
}
