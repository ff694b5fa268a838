/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "core/alarm.h"
#include "core/lifecycle.h"
#include "core/observe.h"
#include "core/usage.h"

/* Two nodes; the first has a card on which an instance is assigned. */
struct scene {
    struct arena *arena;
    struct world *world;
    struct id_source ids;
    int64_t now_ms;
    struct ref platform, node, other, card, workload, instance, binding;
    char id[ID_TEXT_MAX]; /* of the instance */
};

#define CARD "SIM-GPU-1"

static struct changes *
begin(struct scene *scene)
{
    return change_begin(scene->arena, scene->world,
                        (struct context){ scene->now_ms, &scene->ids });
}

static void
fill(struct scene *scene, struct changes *changes, struct ref pool,
     struct ref project)
{
    struct node *node = change_update(changes, scene->node);
    struct card *card = change_create(changes, KIND_CARD, scene->node,
                                      "card0");
    struct workload *workload = change_create(changes, KIND_WORKLOAD,
                                              project, "job");
    struct instance *instance = change_create(
        changes, KIND_INSTANCE, workload->object.self, "0");
    struct binding *binding = change_create(
        changes, KIND_BINDING, instance->object.self, "");

    node->cpu_milli = 4000;
    (void)snprintf(card->uuid, sizeof(card->uuid), CARD);
    (void)snprintf(card->vendor, sizeof(card->vendor), "nvidia");
    (void)snprintf(card->model, sizeof(card->model), "H100-80GB");
    card->memory_mib = 81559;
    card->health = HEALTH_HEALTHY;
    usage_start(changes, card);
    workload->state = WORKLOAD_ASSIGNED;
    workload->instances = 1;
    workload->attempt = instance->attempt = 1;
    instance->incarnation = 1;
    instance->node = scene->node;
    instance->assigned_ms = scene->now_ms;
    instance->project = project;
    instance->pool = pool;
    binding->card = card->object.self;
    binding->milli = 1000;
    binding->from_ms = binding->cut_ms = scene->now_ms;
    binding->project = project;
    binding->pool = pool;
    scene->card = card->object.self;
    scene->workload = workload->object.self;
    scene->instance = instance->object.self;
    scene->binding = binding->object.self;
    id_format(schema_get(KIND_INSTANCE)->prefix, instance->object.id,
              scene->id);
}

static int
scene_open(void **state)
{
    static const struct hash_key key = { 3, 4 };
    struct scene *scene = memory_new(1, sizeof(*scene));
    struct changes *changes;
    struct object *platform, *pool, *tenant, *project;

    scene->arena = arena_new();
    scene->world = world_new(&key);
    scene->ids.key = key;
    scene->now_ms = INT64_C(1798761600000);
    changes = begin(scene);
    platform = change_create(changes, KIND_PLATFORM, (struct ref){ 0 },
                             "platform");
    ((struct platform *)(void *)platform)->grace_batch_ms = 120000;
    pool = change_create(changes, KIND_POOL, platform->self, "main");
    scene->platform = platform->self;
    scene->node =
        ((struct object *)change_create(changes, KIND_NODE, pool->self,
                                        "n1"))
            ->self;
    scene->other =
        ((struct object *)change_create(changes, KIND_NODE, pool->self,
                                        "n2"))
            ->self;
    tenant = change_create(changes, KIND_TENANT, platform->self, "research");
    project = change_create(changes, KIND_PROJECT, tenant->self, "train");
    fill(scene, changes, pool->self, project->self);
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

/* A second later the node says just that; returns the number of refused
 * facts. */
static size_t
say_as_it_is(struct scene *scene, struct ref node,
             const struct report *report)
{
    struct changes *changes;
    size_t refused;

    scene->now_ms += 1000;
    changes = begin(scene);
    refused = observe_report(changes, node, report);
    world_apply(scene->world, changes);
    return refused;
}

/* The same of an agent that has read what there is. */
static size_t
say(struct scene *scene, struct ref node, const struct report *report)
{
    struct report ready = *report;

    ready.ready = true;
    return say_as_it_is(scene, node, &ready);
}

static struct report_instance
fact(const struct scene *scene, enum report_state state)
{
    return (struct report_instance){ .instance = scene->id,
                                     .incarnation = 1,
                                     .state = state,
                                     .failure = "",
                                     .checkpoint_step = -1 };
}

static size_t
say_instance(struct scene *scene, struct ref node,
             struct report_instance instance)
{
    struct report report = { .instances = &instance,
                             .instance_count = 1,
                             .instances_known = true };

    return say(scene, node, &report);
}

static size_t
say_state(struct scene *scene, enum report_state state)
{
    return say_instance(scene, scene->node, fact(scene, state));
}

static size_t
say_release(struct scene *scene, struct ref node, int64_t incarnation,
            const char *card)
{
    const char *cards[] = { card };
    struct report_release release = { .instance = scene->id,
                                      .incarnation = incarnation,
                                      .cards = cards,
                                      .card_count = card != NULL };
    struct report report = { .releases = &release, .release_count = 1 };

    return say(scene, node, &report);
}

static int
instance_state(const struct scene *scene)
{
    return world_instance(scene->world, scene->instance)->state;
}

static int
workload_state(const struct scene *scene)
{
    return world_workload(scene->world, scene->workload)->state;
}

static bool
stands(struct scene *scene, struct ref about, const char *code)
{
    return alarm_stands(begin(scene), about, code);
}

static struct report_card
card_fact(void)
{
    return (struct report_card){ .uuid = CARD,
                                 .vendor = "nvidia",
                                 .model = "H100-80GB",
                                 .pci = "0000:10:00.0",
                                 .driver = "sim",
                                 .firmware = "96.00.74",
                                 .arch = "hopper sm_90",
                                 .serial = "13200",
                                 .domain = "ab/7",
                                 .island = "0",
                                 .memory_mib = 81559,
                                 .compute_units = 132,
                                 .health = REPORT_HEALTHY,
                                 .health_reason = "",
                                 .foreign_name = "",
                                 .layout = "",
                                 .foreign_slices = "",
                                 .change = "",
                                 .change_failure = "" };
}

static size_t
say_cards(struct scene *scene, struct ref node,
          const struct report_card *cards, size_t count)
{
    struct report_inventory inventory = { .simulated = true,
                                          .cpu_milli = 4000,
                                          .memory_mib = 16000,
                                          .facts = "{}",
                                          .cards = cards,
                                          .card_count = count };
    struct report report = { .inventory = &inventory };

    return say(scene, node, &report);
}

static const struct card *
the_card(const struct scene *scene)
{
    return world_card(scene->world, scene->card);
}

/* --- instances --- */

static void
an_instance_that_runs_and_ends_is_followed(void **state)
{
    struct scene *scene = *state;
    struct report_instance end = fact(scene, REPORT_EXITED);

    end.exit_code = 3;
    end.oom = true;
    assert_int_equal(say_state(scene, REPORT_STARTING), 0);
    assert_int_equal(instance_state(scene), INSTANCE_STARTING);
    assert_int_equal(say_state(scene, REPORT_RUNNING), 0);
    assert_int_equal(instance_state(scene), INSTANCE_RUNNING);
    assert_int_equal(workload_state(scene), WORKLOAD_RUNNING);
    assert_int_equal(say_instance(scene, scene->node, end), 0);
    assert_int_equal(instance_state(scene), INSTANCE_EXITED);
    assert_int_equal(
        world_instance(scene->world, scene->instance)->exit_code, 3);
    assert_true(world_instance(scene->world, scene->instance)->oom);
}

/* [N32] */
static void
why_its_node_stopped_it_is_kept(void **state)
{
    struct scene *scene = *state;
    struct report_instance end = fact(scene, REPORT_EXITED);

    (void)say_state(scene, REPORT_RUNNING);
    end.exit_code = 137;
    end.failure = "stopped: it uses 900 MiB of the card";
    assert_int_equal(say_instance(scene, scene->node, end), 0);
    assert_string_equal(
        world_instance(scene->world, scene->instance)->failure,
        "stopped: it uses 900 MiB of the card");
    assert_int_equal(
        world_instance(scene->world, scene->instance)->exit_code, 137);
}

static void
an_end_that_nobody_saw_running_still_counts_as_a_run(void **state)
{
    struct scene *scene = *state;

    (void)say_state(scene, REPORT_EXITED);
    assert_int_not_equal(
        world_instance(scene->world, scene->instance)->started_ms, 0);
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 0);
    assert_int_equal(workload_state(scene), WORKLOAD_SUCCEEDED);
}

static void
a_node_is_not_believed_about_anothers_instance(void **state)
{
    struct scene *scene = *state;

    assert_int_equal(
        say_instance(scene, scene->other, fact(scene, REPORT_EXITED)), 1);
    assert_int_equal(instance_state(scene), INSTANCE_ASSIGNED);
    assert_true(stands(scene, scene->other, "report.instance"));
    assert_false(stands(scene, scene->node, "report.instance"));
}

static void
an_instance_that_nobody_knows_raises_an_alarm(void **state)
{
    struct scene *scene = *state;
    struct report_instance ghost = fact(scene, REPORT_RUNNING);

    ghost.instance = "in_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    assert_int_equal(say_instance(scene, scene->node, ghost), 1);
    assert_true(stands(scene, scene->node, "report.instance"));
    ghost.instance = "not-an-id";
    assert_int_equal(say_instance(scene, scene->node, ghost), 1);
}

static void
the_alarm_about_instances_ends_with_its_cause(void **state)
{
    struct scene *scene = *state;
    struct report_instance ghost = fact(scene, REPORT_RUNNING);

    ghost.instance = "in_aaaaaaaaaaaaaaaaaaaaaaaaaa";
    (void)say_instance(scene, scene->node, ghost);
    (void)say_state(scene, REPORT_RUNNING);
    assert_false(stands(scene, scene->node, "report.instance"));
}

static void
an_incarnation_that_was_never_ordered_is_refused(void **state)
{
    struct scene *scene = *state;
    struct report_instance later = fact(scene, REPORT_EXITED);

    later.incarnation = 2;
    assert_int_equal(say_instance(scene, scene->node, later), 1);
    assert_int_equal(instance_state(scene), INSTANCE_ASSIGNED);
    assert_true(stands(scene, scene->node, "report.incarnation"));
}

static void
cpu_time_beyond_the_wall_time_is_refused(void **state)
{
    struct scene *scene = *state;
    struct report_instance busy = fact(scene, REPORT_RUNNING);

    busy.cpu_us = INT64_C(60) * 1000000; /* within the slack of a minute */
    assert_int_equal(say_instance(scene, scene->node, busy), 0);
    busy.cpu_us = INT64_C(3600) * 1000000 * 4;
    assert_int_equal(say_instance(scene, scene->node, busy), 1);
    assert_true(stands(scene, scene->node, "report.inflated"));
}

static void
a_checkpoint_of_the_future_counts_as_now(void **state)
{
    struct scene *scene = *state;
    struct report_instance saved = fact(scene, REPORT_RUNNING);
    const struct workload *workload;

    (void)say_state(scene, REPORT_RUNNING);
    saved.checkpoint_step = 40;
    saved.checkpoint_ms = scene->now_ms + 86400000;
    (void)say_instance(scene, scene->node, saved);
    workload = world_workload(scene->world, scene->workload);
    assert_int_equal(workload->checkpoint_step, 40);
    assert_int_equal(workload->checkpoint_ms, scene->now_ms);
}

static void
a_running_instance_that_vanishes_has_ended(void **state)
{
    struct scene *scene = *state;
    struct report nothing = { .instances_known = true };

    (void)say_state(scene, REPORT_RUNNING);
    (void)say(scene, scene->node, &nothing);
    assert_int_equal(instance_state(scene), INSTANCE_EXITED);
    assert_true(stands(scene, scene->node, "instance.vanished"));
}

static void
an_ordered_instance_that_is_not_there_yet_has_not_vanished(void **state)
{
    struct scene *scene = *state;
    struct report nothing = { .instances_known = true };

    (void)say(scene, scene->node, &nothing);
    assert_int_equal(instance_state(scene), INSTANCE_ASSIGNED);
}

static void
an_agent_that_cannot_see_says_nothing_about_instances(void **state)
{
    struct scene *scene = *state;
    struct report blind = { .instances_known = false };

    (void)say_state(scene, REPORT_RUNNING);
    (void)say(scene, scene->node, &blind);
    assert_int_equal(instance_state(scene), INSTANCE_RUNNING);
}

/* --- releases --- */

static void
cards_come_back_only_by_a_confirmed_release(void **state)
{
    struct scene *scene = *state;

    (void)say_state(scene, REPORT_EXITED);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 0);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms,
                     scene->now_ms);
    assert_int_equal(the_card(scene)->handover, HANDOVER_PENDING);
}

static void
a_release_of_a_running_instance_is_refused(void **state)
{
    struct scene *scene = *state;

    (void)say_state(scene, REPORT_RUNNING);
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 1);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
    assert_true(stands(scene, scene->node, "report.release"));
}

static void
a_release_by_another_node_is_refused(void **state)
{
    struct scene *scene = *state;

    (void)say_state(scene, REPORT_EXITED);
    assert_int_equal(say_release(scene, scene->other, 1, CARD), 1);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
}

static void
a_release_that_leaves_out_a_card_or_names_another_is_refused(void **state)
{
    struct scene *scene = *state;

    (void)say_state(scene, REPORT_EXITED);
    assert_int_equal(say_release(scene, scene->node, 1, NULL), 1);
    assert_int_equal(say_release(scene, scene->node, 1, "SIM-GPU-9"), 1);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
    assert_true(stands(scene, scene->node, "report.release"));
}

/* [S12b] */
static void
a_repeated_release_changes_nothing(void **state)
{
    struct scene *scene = *state;
    int64_t first;

    (void)say_state(scene, REPORT_EXITED);
    (void)say_release(scene, scene->node, 1, CARD);
    first = world_binding(scene->world, scene->binding)->to_ms;
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 0);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms,
                     first);
}

static void
what_never_began_is_released_once_it_was_told_to_stop(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    lifecycle_stop(changes, scene->workload, WORKLOAD_CANCELLING, "cancelled",
                   NULL);
    world_apply(scene->world, changes);
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 0);
    assert_int_equal(workload_state(scene), WORKLOAD_CANCELLED);
}

/* --- cards --- */

static void
free_card(struct scene *scene)
{
    (void)say_state(scene, REPORT_EXITED);
    (void)say_release(scene, scene->node, 1, CARD);
}

static size_t
say_scrub(struct scene *scene, struct ref node, bool verified)
{
    struct report_scrub scrub = { CARD, verified, "patterns", NULL, 0 };
    struct report report = { .scrubs = &scrub, .scrub_count = 1 };

    return say(scene, node, &report);
}

static void
a_clean_scrub_frees_the_card(void **state)
{
    struct scene *scene = *state;

    free_card(scene);
    assert_int_equal(say_scrub(scene, scene->node, true), 0);
    assert_int_equal(the_card(scene)->handover, HANDOVER_CLEAN);
}

static void
a_failed_scrub_quarantines_the_card(void **state)
{
    struct scene *scene = *state;

    free_card(scene);
    (void)say_scrub(scene, scene->node, false);
    assert_int_equal(the_card(scene)->handover, HANDOVER_FAILED);
    assert_true(stands(scene, scene->card, "card.quarantined"));
    (void)say_scrub(scene, scene->node, true);
    assert_int_equal(the_card(scene)->handover, HANDOVER_FAILED);
}

/* [N25] The saved card is not in the machine any more: the start cannot
 * succeed, which is not the work's fault, and is not tried again there. */
static void
a_start_on_a_card_that_is_gone_goes_elsewhere_and_costs_nothing(void **state)
{
    struct scene *scene = *state;

    (void)say_cards(scene, scene->node, NULL, 0);
    assert_int_equal(say_state(scene, REPORT_START_FAILED), 0);
    assert_int_equal(say_release(scene, scene->node, 1, CARD), 0);
    assert_int_not_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
    assert_true(workload_state(scene) == WORKLOAD_QUEUED ||
                workload_state(scene) == WORKLOAD_GATED);
    assert_true(the_card(scene)->missing);
}

/* The card's own record says all; the tenant's has no text but how it was
 * cleaned, since another may name what else was on the card. */
static void
each_step_of_a_handover_is_kept_with_the_binding_before_it(void **state)
{
    static const struct report_step steps[] = {
        { "wait", 5000, 5400, true, "nobody is on it" },
        { "scrub", 5400, 9400, true, "A5, 00" },
        { "probe", 9400, 9500, false, "the process \"miner\" is on it" },
    };
    const struct report_scrub scrub = { CARD, false, "probe: it failed", steps,
                                        3 };
    struct report report = { .scrubs = &scrub, .scrub_count = 1 };
    struct scene *scene = *state;
    const char *theirs, *ours;

    free_card(scene);
    assert_null(world_binding(scene->world, scene->binding)->cleaning);
    (void)say(scene, scene->node, &report);
    theirs = world_binding(scene->world, scene->binding)->cleaning->bytes;
    ours = the_card(scene)->cleaning->bytes;
    assert_non_null(strstr(ours, "\"step\":\"wait\""));
    assert_non_null(strstr(ours, "miner"));
    assert_non_null(strstr(ours, "\"text\":\"probe: it failed\""));
    assert_null(strstr(theirs, "miner"));
    assert_null(strstr(theirs, "it failed"));
    assert_non_null(strstr(theirs, "\"step\":\"release\""));
    assert_non_null(strstr(theirs, "\"from_ms\":5400,\"good\":true,\"step\":"
                                   "\"scrub\",\"text\":\"A5, 00\","
                                   "\"to_ms\":9400"));
    assert_non_null(strstr(theirs, "\"verified\":false"));
}

static void
a_scrub_of_a_card_in_use_counts_for_nothing(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);

    ((struct card *)change_update(changes, scene->card))->handover =
        HANDOVER_PENDING;
    world_apply(scene->world, changes);
    (void)say_scrub(scene, scene->node, true);
    assert_int_equal(the_card(scene)->handover, HANDOVER_PENDING);
}

static void
a_scrub_of_another_nodes_card_is_refused(void **state)
{
    struct scene *scene = *state;

    free_card(scene);
    assert_int_equal(say_scrub(scene, scene->other, true), 1);
    assert_int_equal(the_card(scene)->handover, HANDOVER_PENDING);
}

static const char *
alarm_text(const struct scene *scene, struct ref about, const char *code)
{
    world_each_child(scene->world, KIND_ALARM, about, ref)
        if (strcmp(world_alarm(scene->world, ref)->code, code) == 0)
            return world_alarm(scene->world, ref)->text;
    return "";
}

static void
a_foreign_process_makes_the_card_not_free_until_it_is_gone(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    card.foreign = 2;
    card.foreign_name = "miner";
    card.foreign_pid = 4711;
    card.foreign_uid = 1000;
    (void)say_cards(scene, scene->node, &card, 1);
    assert_true(the_card(scene)->foreign);
    assert_true(stands(scene, scene->card, "card.foreign"));
    assert_string_equal(alarm_text(scene, scene->card, "card.foreign"),
                        "2 processes that the platform did not start are on "
                        "the card, the first is pid 4711 \"miner\" of uid "
                        "1000");
    /* The next of them is named when the first is gone. */
    card.foreign = 1;
    card.foreign_pid = 4712;
    card.foreign_uid = -1;
    (void)say_cards(scene, scene->node, &card, 1);
    assert_string_equal(alarm_text(scene, scene->card, "card.foreign"),
                        "1 processes that the platform did not start are on "
                        "the card, the first is pid 4712 \"miner\" of an "
                        "unknown user");
    card.foreign = 0;
    (void)say_cards(scene, scene->node, &card, 1);
    assert_false(the_card(scene)->foreign);
    assert_false(stands(scene, scene->card, "card.foreign"));
}

/* A scrub of a part of the card: "sliced", "cleared". */
static size_t
say_part(struct scene *scene, const char *part, bool verified)
{
    struct report_scrub scrub = { .verified = verified, .text = "patterns" };
    struct report report = { .scrubs = &scrub, .scrub_count = 1 };
    char name[128];

    (void)snprintf(name, sizeof(name), "%s/%s", CARD, part);
    scrub.uuid = name;
    return say(scene, scene->node, &report);
}

static void
set_clear(struct scene *scene)
{
    struct changes *changes = begin(scene);

    ((struct card *)change_update(changes, scene->card))->clear_foreign = true;
    world_apply(scene->world, changes);
}

/* [N38] Nothing is bound on such a card or scrubbed away before an operator
 * says so; then all of it is. */
static void
foreign_slices_keep_a_card_until_an_operator_says_so(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    free_card(scene);
    card.sliced = true;
    card.layout = "1g.10gb@0 3g.40gb@4";
    card.foreign_slices = "3g.40gb@4";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_true(the_card(scene)->foreign);
    assert_string_equal(the_card(scene)->layout, "1g.10gb@0 3g.40gb@4");
    assert_true(stands(scene, scene->card, "card.slices"));
    assert_false(stands(scene, scene->card, "card.foreign"));
    (void)say_part(scene, "cleared", true);
    assert_int_equal(the_card(scene)->handover, HANDOVER_PENDING);
    set_clear(scene);
    (void)say_part(scene, "cleared", true);
    assert_int_equal(the_card(scene)->handover, HANDOVER_CLEAN);
    assert_false(the_card(scene)->clear_foreign);
    card.sliced = false;
    card.layout = card.foreign_slices = "";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_false(the_card(scene)->foreign);
    assert_false(stands(scene, scene->card, "card.slices"));
}

static void
a_change_of_the_layout_that_is_stuck_is_told(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    card.change_failure = "remove 1g.5gb@0: 1 processes are on it";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_false(stands(scene, scene->card, "card.layout"));
    card.change = "remove 1g.5gb@0";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_true(stands(scene, scene->card, "card.layout"));
    assert_string_equal(the_card(scene)->layout_change, "remove 1g.5gb@0");
    card.change = card.change_failure = "";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_false(stands(scene, scene->card, "card.layout"));
    assert_string_equal(the_card(scene)->layout_failure, "");
}

static void
a_card_that_is_not_listed_is_missing_until_it_is_back(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    (void)say_cards(scene, scene->node, NULL, 0);
    assert_true(the_card(scene)->missing);
    assert_true(stands(scene, scene->card, "card.missing"));
    (void)say_cards(scene, scene->node, &card, 1);
    assert_false(the_card(scene)->missing);
    assert_false(stands(scene, scene->card, "card.missing"));
    /* A new firmware is the same card. */
    card.firmware = "96.00.99";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_string_equal(the_card(scene)->firmware, "96.00.99");
    assert_string_equal(the_card(scene)->arch, "hopper sm_90");
    assert_string_equal(the_card(scene)->serial, "13200");
    assert_string_equal(the_card(scene)->domain, "ab/7");
}

static void
health_is_kept_with_its_reason(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    card.health = REPORT_FAILED;
    card.health_reason = "Xid 79";
    (void)say_cards(scene, scene->node, &card, 1);
    assert_int_equal(the_card(scene)->health, HEALTH_FAILED);
    assert_string_equal(the_card(scene)->health_reason, "Xid 79");
    assert_true(stands(scene, scene->card, "card.health"));
}

static void
a_card_that_another_node_has_is_refused(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    assert_int_equal(say_cards(scene, scene->other, &card, 1), 1);
    assert_true(stands(scene, scene->other, "report.card"));
    assert_true(ref_is_none(
        world_first_child(scene->world, KIND_CARD, scene->other)));
}

static void
a_card_does_not_turn_into_another_make(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();

    card.memory_mib = 163840;
    assert_int_equal(say_cards(scene, scene->node, &card, 1), 1);
    assert_int_equal(the_card(scene)->memory_mib, 81559);
}

static void
new_cards_wait_for_a_scrub_and_bring_their_classes(void **state)
{
    struct scene *scene = *state;
    struct report_card cards[] = { card_fact(), card_fact(), card_fact() };
    struct ref half, two, four;
    size_t count = 0;

    for (int i = 0; i < 3; i++)
        cards[i].model = "H100-NVL";
    cards[0].uuid = "SIM-GPU-4";
    cards[1].uuid = "SIM-GPU-2";
    cards[2].uuid = "SIM-GPU-3";
    assert_int_equal(say_cards(scene, scene->node, cards, 3), 0);
    world_each_child(scene->world, KIND_CARD, scene->node, ref)
        count++;
    assert_int_equal(count, 4); /* one was there */
    assert_int_equal(
        world_card(scene->world,
                   world_find_name(scene->world, KIND_CARD, scene->node,
                                   "card2"))
            ->handover,
        HANDOVER_PENDING);
    half = world_find_name(scene->world, KIND_CLASS, scene->platform,
                           "h100-nvl.half");
    two = world_find_name(scene->world, KIND_CLASS, scene->platform,
                          "h100-nvl.2");
    four = world_find_name(scene->world, KIND_CLASS, scene->platform,
                           "h100-nvl.4");
    assert_int_equal(world_class(scene->world, half)->milli, 500);
    assert_int_equal(world_class(scene->world, half)->memory_mib, 40779);
    assert_int_equal(world_class(scene->world, two)->count, 2);
    assert_true(ref_is_none(four));
}

static size_t
count_below(const struct scene *scene, enum kind kind, struct ref parent)
{
    size_t count = 0;

    world_each_child(scene->world, kind, parent, ref)
        count++;
    return count;
}

/* Cards and models that a node makes up, new ones with each report. */
static void
what_a_node_makes_up_comes_to_an_end(void **state)
{
    struct scene *scene = *state;
    static struct report_card cards[REPORT_CARDS_MAX];
    static char texts[REPORT_CARDS_MAX][2][32];
    size_t classes = count_below(scene, KIND_CLASS, scene->platform);

    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < REPORT_CARDS_MAX; i++) {
            (void)snprintf(texts[i][0], 32, "fake-%d-%d", round, i);
            (void)snprintf(texts[i][1], 32, "Fake %d %d", round, i);
            cards[i] = card_fact();
            cards[i].uuid = texts[i][0];
            cards[i].model = texts[i][round < 2];
        }
        assert_true(say_cards(scene, scene->other, cards, REPORT_CARDS_MAX) >
                    0);
    }
    assert_true(count_below(scene, KIND_CARD, scene->other) <=
                REPORT_CARDS_MAX);
    assert_true(count_below(scene, KIND_CLASS, scene->platform) <=
                classes + 40);
    assert_true(stands(scene, scene->other, "report.card"));
    cards[0] = card_fact();
    cards[0].uuid = "SIM-GPU-2";
    assert_int_equal(say_cards(scene, scene->node, cards, 1), 0);
}

static void
the_same_report_twice_changes_nothing_the_second_time(void **state)
{
    struct scene *scene = *state;
    struct report_card card = card_fact();
    struct report_inventory inventory = { .cpu_milli = 4000,
                                          .memory_mib = 16000,
                                          .facts = "{}",
                                          .cards = &card,
                                          .card_count = 1 };
    struct report_instance running = fact(scene, REPORT_RUNNING);
    struct report report = { .inventory = &inventory,
                             .instances_known = true,
                             .instances = &running,
                             .instance_count = 1 };
    struct changes *changes;

    (void)say(scene, scene->node, &report);
    changes = begin(scene);
    assert_int_equal(observe_report(changes, scene->node, &report), 0);
    assert_true(change_is_empty(changes));
}

/* --- leases --- */

/* [S46] */
static void
a_lost_instance_that_is_alive_is_running_again(void **state)
{
    struct scene *scene = *state;
    struct changes *changes;

    (void)say_state(scene, REPORT_RUNNING);
    changes = begin(scene);
    observe_lost(changes, scene->node);
    world_apply(scene->world, changes);
    assert_int_equal(instance_state(scene), INSTANCE_LOST);
    assert_int_equal(world_node(scene->world, scene->node)->state, NODE_LOST);
    assert_int_equal(world_binding(scene->world, scene->binding)->to_ms, 0);
    assert_true(stands(scene, scene->node, "node.lost"));
    (void)say_state(scene, REPORT_RUNNING);
    assert_int_equal(instance_state(scene), INSTANCE_RUNNING);
    assert_int_equal(workload_state(scene), WORKLOAD_RUNNING);
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_SCHEDULABLE);
    assert_false(stands(scene, scene->node, "node.lost"));
}

static void
a_cordoned_node_comes_back_cordoned(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct report nothing = { .instances_known = true };

    ((struct node *)change_update(changes, scene->node))->state =
        NODE_CORDONED;
    world_apply(scene->world, changes);
    changes = begin(scene);
    observe_lost(changes, scene->node);
    world_apply(scene->world, changes);
    (void)say(scene, scene->node, &nothing);
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_CORDONED);
}

/* [N26] What a node has is read after its start: until its agent says so it is
 * as lost as before, whatever else it says. */
static void
a_node_is_back_when_its_agent_knows_what_it_has(void **state)
{
    struct scene *scene = *state;
    struct changes *changes = begin(scene);
    struct report report = { 0 };

    observe_lost(changes, scene->node);
    world_apply(scene->world, changes);
    (void)say_as_it_is(scene, scene->node, &report);
    assert_int_equal(world_node(scene->world, scene->node)->state, NODE_LOST);
    report.instances_known = true;
    (void)say_as_it_is(scene, scene->node, &report);
    assert_int_equal(world_node(scene->world, scene->node)->state, NODE_LOST);
    report.instances_known = false;
    report.ready = true;
    (void)say_as_it_is(scene, scene->node, &report);
    assert_int_equal(world_node(scene->world, scene->node)->state, NODE_LOST);
    report.instances_known = true;
    (void)say_as_it_is(scene, scene->node, &report);
    assert_int_equal(world_node(scene->world, scene->node)->state,
                     NODE_SCHEDULABLE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_instance_that_runs_and_ends_is_followed),
        TEST(why_its_node_stopped_it_is_kept),
        TEST(an_end_that_nobody_saw_running_still_counts_as_a_run),
        TEST(a_node_is_not_believed_about_anothers_instance),
        TEST(an_instance_that_nobody_knows_raises_an_alarm),
        TEST(the_alarm_about_instances_ends_with_its_cause),
        TEST(an_incarnation_that_was_never_ordered_is_refused),
        TEST(cpu_time_beyond_the_wall_time_is_refused),
        TEST(a_checkpoint_of_the_future_counts_as_now),
        TEST(a_running_instance_that_vanishes_has_ended),
        TEST(an_ordered_instance_that_is_not_there_yet_has_not_vanished),
        TEST(an_agent_that_cannot_see_says_nothing_about_instances),
        TEST(cards_come_back_only_by_a_confirmed_release),
        TEST(a_release_of_a_running_instance_is_refused),
        TEST(a_release_by_another_node_is_refused),
        TEST(a_release_that_leaves_out_a_card_or_names_another_is_refused),
        TEST(a_repeated_release_changes_nothing),
        TEST(what_never_began_is_released_once_it_was_told_to_stop),
        TEST(a_clean_scrub_frees_the_card),
        TEST(a_failed_scrub_quarantines_the_card),
        TEST(a_scrub_of_a_card_in_use_counts_for_nothing),
        TEST(a_scrub_of_another_nodes_card_is_refused),
        TEST(a_foreign_process_makes_the_card_not_free_until_it_is_gone),
        TEST(a_start_on_a_card_that_is_gone_goes_elsewhere_and_costs_nothing),
        TEST(each_step_of_a_handover_is_kept_with_the_binding_before_it),
        TEST(foreign_slices_keep_a_card_until_an_operator_says_so),
        TEST(a_change_of_the_layout_that_is_stuck_is_told),
        TEST(a_card_that_is_not_listed_is_missing_until_it_is_back),
        TEST(health_is_kept_with_its_reason),
        TEST(a_card_that_another_node_has_is_refused),
        TEST(a_card_does_not_turn_into_another_make),
        TEST(new_cards_wait_for_a_scrub_and_bring_their_classes),
        TEST(what_a_node_makes_up_comes_to_an_end),
        TEST(the_same_report_twice_changes_nothing_the_second_time),
        TEST(a_lost_instance_that_is_alive_is_running_again),
        TEST(a_cordoned_node_comes_back_cordoned),
        TEST(a_node_is_back_when_its_agent_knows_what_it_has),
    };

    return cmocka_run_group_tests_name("observe", tests, NULL, NULL);
}
