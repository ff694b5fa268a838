/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/fence.h"
#include "core/observe.h"

/*
 * Machines that run what they were told last, whether anybody hears them or
 * not: cut off, healed, started anew, lost, given up (rightly or not), in any
 * order.  Whatever the platform believes, no card ever has two processes.
 *
 * The agents here are careless: they clean any card that waits for it, also
 * one that a container is on, so that the platform's own order has to hold.
 */

#define NODES 3
#define CARDS_EACH 2
#define STEPS 6000
#define SEEDS 12
#define LEASE_MS INT64_C(30000)

struct box { /* a container, as it is */
    char instance[ID_TEXT_MAX];
    struct ref card;
    bool alive, seen; /* seen: its end was told */
};

struct machine {
    struct ref node;
    bool cut;
    int64_t since_ms; /* heard last */
    int blind;        /* looks until its agent has read what is there */
    struct box boxes[64];
    size_t count;
};

struct play {
    struct scene scene;
    uint64_t random;
    struct machine machines[NODES];
    struct ref project, class;
    size_t started, lost, fenced, wrong, killed, recovered, back;
};

static uint64_t
next(struct play *play)
{
    play->random ^= play->random << 13;
    play->random ^= play->random >> 7;
    play->random ^= play->random << 17;
    return play->random;
}

static bool
chance(struct play *play, unsigned percent)
{
    return next(play) % 100 < percent;
}

static void
setup(struct play *play, uint64_t seed)
{
    struct ref pool, tenant;

    *play = (struct play){ .random = seed * 2654435761U + 1 };
    scene_setup(&play->scene);
    play->scene.keep_stale_nodes = true;
    pool = scene_pool(&play->scene, "p");
    for (int i = 0; i < NODES; i++) {
        char name[16];

        (void)snprintf(name, sizeof(name), "n%d", i);
        play->machines[i].node =
            scene_node(&play->scene, pool, name, CARDS_EACH, "h100");
        play->machines[i].since_ms = play->scene.now_ms;
    }
    play->class = scene_class(&play->scene, "x1", "h100", 1);
    tenant = scene_tenant(&play->scene, "a");
    play->project = scene_project(&play->scene, tenant, "pa");
    (void)scene_quota(&play->scene, tenant, DIMENSION_CARDS, 0, CARDS(6));
}

/* --- the machine --- */

static struct box *
find(struct machine *machine, const char *instance)
{
    for (size_t i = 0; i < machine->count; i++)
        if (strcmp(machine->boxes[i].instance, instance) == 0)
            return &machine->boxes[i];
    return NULL;
}

/* The heart of it: the card is nobody else's. */
static void
begin(struct play *play, struct machine *machine, const char *instance,
      struct ref card)
{
    if (machine->count == 64) { /* ends that were told need no memory */
        size_t kept = 0;

        for (size_t i = 0; i < machine->count; i++)
            if (machine->boxes[i].alive || !machine->boxes[i].seen)
                machine->boxes[kept++] = machine->boxes[i];
        machine->count = kept;
    }
    assert_true(machine->count < 64);
    for (size_t i = 0; i < machine->count; i++)
        assert_false(machine->boxes[i].alive &&
                     ref_equal(machine->boxes[i].card, card));
    machine->boxes[machine->count] =
        (struct box){ .card = card, .alive = true };
    (void)snprintf(machine->boxes[machine->count].instance, ID_TEXT_MAX, "%s",
                   instance);
    machine->count++;
    play->started++;
}

static struct ref
card_of(const struct world *world, struct ref instance)
{
    world_each_child(world, KIND_BINDING, instance, ref)
        return world_binding(world, ref)->card;
    return (struct ref){ 0 };
}

/* It does as it was told, ends take their time: the instances of the order, and those that were
 * given up with the node. */
static void
obey(struct play *play, struct machine *machine)
{
    const struct world *world = play->scene.world;
    scoped_json left = fence_list(world_node(world, machine->node));

    world_each_index(world, KIND_INSTANCE, 0, machine->node, ref) {
        const struct instance *instance = world_instance(world, ref);
        char id[ID_TEXT_MAX];
        struct box *box;

        object_id_text(world, ref, id);
        box = find(machine, id);
        if (instance->state == INSTANCE_RELEASED)
            continue;
        if (instance->want == WANT_RUN && box == NULL &&
            instance->started_ms == 0 && instance->state != INSTANCE_LOST)
            begin(play, machine, id, card_of(world, ref));
        else if (instance->want != WANT_RUN && box != NULL &&
                 chance(play, 50))
            box->alive = false;
    }
    for (size_t i = 0; i < json_array_size(left); i++) {
        struct box *box = find(
            machine, json_string_value(json_object_get(
                         json_array_get(left, i), "instance")));

        if (box != NULL && box->alive && chance(play, 30)) {
            box->alive = false;
            play->killed++;
        }
    }
}

/* --- what it says --- */

static void
fill(struct machine *machine, struct report_instance *facts,
     struct report_release *releases, const char **uuids,
     const struct world *world, struct report *report)
{
    for (size_t i = 0; i < machine->count; i++) {
        struct box *box = &machine->boxes[i];
        const struct card *card = world_card(world, box->card);

        if (box->seen)
            continue;
        facts[report->instance_count++] = (struct report_instance){
            .instance = box->instance,
            .incarnation = 1,
            .state = box->alive ? REPORT_RUNNING : REPORT_EXITED,
            .failure = "",
            .exit_code = box->alive ? 0 : 137,
            .checkpoint_step = -1,
        };
        if (box->alive)
            continue;
        uuids[report->release_count] = card->uuid;
        releases[report->release_count] = (struct report_release){
            box->instance, 1, &uuids[report->release_count], 1
        };
        report->release_count++;
        box->seen = true;
    }
}

static void
speak(struct play *play, struct machine *machine)
{
    struct report_instance facts[64];
    struct report_release releases[64];
    struct report_scrub scrubs[CARDS_EACH];
    const char *uuids[64];
    struct report report = { .instances = facts,
                             .releases = releases,
                             .scrubs = scrubs };
    struct changes *changes;

    machine->since_ms = play->scene.now_ms;
    if (machine->blind > 0) {
        machine->blind--;
    } else {
        report.ready = report.instances_known = true;
        fill(machine, facts, releases, uuids, play->scene.world, &report);
        world_each_child(play->scene.world, KIND_CARD, machine->node, ref) {
            const struct card *card = world_card(play->scene.world, ref);

            if (card->handover == HANDOVER_PENDING && chance(play, 70))
                scrubs[report.scrub_count++] =
                    (struct report_scrub){ .uuid = card->uuid,
                                           .verified = true,
                                           .text = "" };
        }
        world_touch_node(play->scene.world, machine->node,
                         play->scene.now_ms);
    }
    changes = scene_begin(&play->scene);
    play->back += world_node(play->scene.world, machine->node)->state ==
                  NODE_LOST;
    (void)observe_report(changes, machine->node, &report);
    play->back -= ((const struct node *)change_get(changes, machine->node))
                      ->state == NODE_LOST;
    scene_apply(&play->scene, changes);
    if (machine->blind == 0)
        obey(play, machine);
}

/* --- what happens --- */

/* Everything on it is gone, and its agent has read nothing yet. */
static void
start_anew(struct play *play, struct machine *machine)
{
    for (size_t i = 0; i < machine->count; i++)
        machine->boxes[i].alive = false;
    machine->count = 0;
    machine->blind = 1 + (int)(next(play) % 3);
}

static void
lose_silent(struct play *play)
{
    for (int i = 0; i < NODES; i++) {
        struct machine *machine = &play->machines[i];
        struct changes *changes;

        if (play->scene.now_ms - machine->since_ms < LEASE_MS ||
            world_node(play->scene.world, machine->node)->state == NODE_LOST)
            continue;
        changes = scene_begin(&play->scene);
        observe_lost(changes, machine->node);
        scene_apply(&play->scene, changes);
        play->lost++;
    }
}

/* Rightly, it is off; or not, and it runs on. */
static void
give_up(struct play *play, struct machine *machine)
{
    struct changes *changes = scene_begin(&play->scene);
    struct error err;

    if (fence_node(changes, machine->node, "it is off", &err) != 0) {
        arena_free(play->scene.arena);
        play->scene.arena = NULL;
        return;
    }
    scene_apply(&play->scene, changes);
    play->fenced++;
    if (chance(play, 50))
        start_anew(play, machine);
    else
        play->wrong++;
}

static void
open_again(struct play *play, struct machine *machine)
{
    if (world_node(play->scene.world, machine->node)->state == NODE_CORDONED) {
        scene_edit(&play->scene, changes, node, machine->node);

        node->state = NODE_SCHEDULABLE;
        scene_apply(&play->scene, changes);
    }
}

static void
end_some(struct play *play)
{
    struct changes *changes = scene_begin(&play->scene);

    world_each(play->scene.world, KIND_WORKLOAD, ref) {
        const struct workload *workload =
            world_workload(play->scene.world, ref);

        if (lifecycle_is_live(workload->state) && chance(play, 15)) {
            lifecycle_stop(changes, ref, WORKLOAD_CANCELLING, "cancelled",
                           NULL);
        } else if (lifecycle_is_waiting(workload->state) &&
                   chance(play, 40)) {
            lifecycle_drop_holds(changes, ref);
            ((struct workload *)change_update(changes, ref))->state =
                WORKLOAD_CANCELLED;
        }
    }
    scene_apply(&play->scene, changes);
}

static void
step(struct play *play)
{
    struct machine *machine = &play->machines[next(play) % NODES];
    unsigned dice = (unsigned)(next(play) % 100);
    size_t waiting = 0;

    world_each(play->scene.world, KIND_WORKLOAD, ref)
        waiting += lifecycle_is_waiting(scene_state(&play->scene, ref));
    if (dice < 25 && waiting < 4)
        (void)scene_submit(&play->scene,
                           (struct job){ .project = play->project,
                                         .class = play->class,
                                         .recovery = (int)(next(play) % 3) });
    else if (dice < 32)
        machine->cut = !machine->cut;
    else if (dice < 35)
        start_anew(play, machine);
    else if (dice < 45)
        give_up(play, machine);
    else if (dice < 60)
        open_again(play, machine);
    else if (dice < 66)
        end_some(play);
    else
        scene_wait(&play->scene, (int64_t)(next(play) % 8000));
    lose_silent(play);
    for (int i = 0; i < NODES; i++)
        if (!play->machines[i].cut && chance(play, 70))
            speak(play, &play->machines[i]);
    if (chance(play, 60))
        scene_run(&play->scene);
}

static void
no_card_has_two_processes_in_whatever_order_nodes_are_lost(void **state)
{
    struct play sum = { 0 };

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct play play;

        setup(&play, seed);
        play.scene.sample = 20;
        for (int i = 0; i < STEPS; i++)
            step(&play);
        world_each(play.scene.world, KIND_WORKLOAD, ref)
            sum.recovered +=
                (size_t)scene_workload(&play.scene, ref)->recoveries;
        sum.started += play.started;
        sum.lost += play.lost;
        sum.fenced += play.fenced;
        sum.wrong += play.wrong;
        sum.killed += play.killed;
        sum.back += play.back;
        scene_teardown(&play.scene);
    }
    print_message("started %zu, nodes lost %zu, back %zu, fenced %zu, %zu of "
                  "them wrongly, killed %zu, recovered %zu\n",
                  sum.started, sum.lost, sum.back, sum.fenced, sum.wrong,
                  sum.killed, sum.recovered);
    assert_true(sum.started > 100 && sum.lost > 100 && sum.back > 100 &&
                sum.fenced > 50 && sum.wrong > 20 && sum.killed > 10 &&
                sum.recovered > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            no_card_has_two_processes_in_whatever_order_nodes_are_lost),
    };

    return cmocka_run_group_tests_name("loss", tests, NULL, NULL);
}
