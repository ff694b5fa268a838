/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/core/scene.h"

#include "core/month.h"
#include "core/scope.h"
#include "core/usage.h"

/*
 * Quota arithmetic over random trees: after each step every counter is what a
 * recount from nothing says, no admission took a limit, and what is promised
 * of the month is what each live binding has left.  Steps make and drop
 * quotas of every scope, start and end work, move time, and meter.
 */

#define TREES 40
#define STEPS 520 /* 40 x 520 = 20,800 */
#define CARDS_ALL 12

struct lab {
    struct scene scene;
    uint64_t random;
    struct ref pools[2], classes[3], nodes[16], projects[6], users[3];
    size_t node_count, project_count;
    struct ref works[64];
    size_t work_count;
    int64_t checked;
};

static uint64_t
draw(struct lab *lab, uint64_t below)
{
    lab->random ^= lab->random << 13;
    lab->random ^= lab->random >> 7;
    lab->random ^= lab->random << 17;
    return lab->random % below;
}

static struct ref
add_node(struct lab *lab, enum kind kind, struct ref parent, const char *name)
{
    struct ref ref = scene_put(&lab->scene, kind, parent, name);

    lab->nodes[lab->node_count++] = ref;
    if (kind == KIND_PROJECT)
        lab->projects[lab->project_count++] = ref;
    return ref;
}

static void
lab_open(struct lab *lab, uint64_t seed)
{
    struct scene *scene = &lab->scene;
    char name[16];

    memset(lab, 0, sizeof(*lab));
    lab->random = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    scene_setup(scene);
    lab->nodes[lab->node_count++] = scene->platform;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(name, sizeof(name), "pool%d", i);
        lab->pools[i] = scene_pool(scene, name);
        (void)snprintf(name, sizeof(name), "n%d", i);
        (void)scene_node(scene, lab->pools[i], name, CARDS_ALL / 2,
                         i == 0 ? "h100" : "a100");
    }
    lab->classes[0] = scene_class(scene, "h100.1", "h100", 1);
    lab->classes[1] = scene_class(scene, "a100.1", "a100", 1);
    lab->classes[2] = scene_class(scene, "any.1", "", 1);
    for (int t = 0; t < 2; t++) {
        struct ref tenant, unit;

        (void)snprintf(name, sizeof(name), "t%d", t);
        tenant = add_node(lab, KIND_TENANT, scene->platform, name);
        unit = add_node(lab, KIND_UNIT, tenant, "u");
        (void)add_node(lab, KIND_PROJECT, tenant, "p");
        if (draw(lab, 2) == 0)
            unit = add_node(lab, KIND_UNIT, unit, "v");
        (void)add_node(lab, KIND_PROJECT, unit, "q");
        lab->users[t] = scene_put(scene, KIND_USER, tenant, "ada");
        (void)scene_quota(scene, tenant, DIMENSION_CARDS, 0,
                          CARDS(CARDS_ALL));
    }
}

/* --- the recount --- */

static bool
is_counted(const struct quota *quota, const struct binding *binding)
{
    return (ref_is_none(quota->pool) ||
            ref_equal(quota->pool, binding->pool)) &&
           (ref_is_none(quota->class) ||
            ref_equal(quota->class, binding->class)) &&
           (ref_is_none(quota->user) ||
            ref_equal(quota->user, binding->user)) &&
           (quota->model[0] == '\0' ||
            strcmp(quota->model, binding->model) == 0);
}

/* Milli-card-ms of this month that a live binding has left or has used since
 * it was metered. */
static int64_t
left_of(const struct binding *binding, int64_t now_ms)
{
    int64_t month = month_start(now_ms), next = month_next(now_ms);
    int64_t from = binding->cut_ms > month ? binding->cut_ms : month;
    int64_t to = binding->until_ms > 0 ? binding->until_ms : now_ms;

    if (to > next)
        to = next;
    return to > from ? binding->milli * (to - from) : 0;
}

static void
recount(struct lab *lab, const struct quota *quota)
{
    const struct world *world = lab->scene.world;
    int64_t cards = 0, left = 0;

    world_each(world, KIND_BINDING, ref) {
        const struct binding *binding = world_binding(world, ref);

        if (binding->to_ms != 0 || !is_counted(quota, binding) ||
            !world_is_below(world, binding->project, quota->object.parent))
            continue;
        cards += binding->milli;
        left += left_of(binding, lab->scene.now_ms);
    }
    if (quota->dimension == DIMENSION_CARDS)
        assert_int_equal(quota->used, cards);
    if (quota->dimension == DIMENSION_CARD_TIME)
        assert_int_equal(world_committed(world, quota, lab->scene.now_ms) -
                             world_spent(world, quota, lab->scene.now_ms) >=
                             0,
                         1);
    if (quota->dimension == DIMENSION_CARD_TIME) {
        int64_t metered =
            quota->used_month_ms == month_start(lab->scene.now_ms)
                ? quota->used
                : 0;

        assert_int_equal(world_committed(world, quota, lab->scene.now_ms),
                         metered + left);
    }
    lab->checked++;
}

static void
recount_all(struct lab *lab)
{
    const struct world *world = lab->scene.world;

    world_each(world, KIND_QUOTA, ref)
        recount(lab, world_quota(world, ref));
    world_each(world, KIND_TENANT, tenant) {
        int64_t used = 0;

        world_each(world, KIND_BINDING, ref) {
            const struct binding *binding = world_binding(world, ref);

            if (binding->to_ms == 0 &&
                ref_equal(binding->object.scope, tenant))
                used += binding->milli;
        }
        assert_int_equal(world_tenant(world, tenant)->used_milli, used);
    }
}

/* --- steps --- */

static void
make_quota(struct lab *lab)
{
    struct ref node = lab->nodes[draw(lab, lab->node_count)];
    struct changes *changes;
    struct quota *quota;

    if (world_count(lab->scene.world, KIND_QUOTA) > 40)
        return;
    changes = scene_begin(&lab->scene);
    quota = change_create(changes, KIND_QUOTA, node, "");
    quota->dimension =
        draw(lab, 3) == 0 ? DIMENSION_CARD_TIME : DIMENSION_CARDS;
    if (draw(lab, 3) == 0)
        quota->pool = lab->pools[draw(lab, 2)];
    if (draw(lab, 4) == 0)
        quota->class = lab->classes[draw(lab, 3)];
    if (draw(lab, 3) == 0)
        (void)snprintf(quota->model, sizeof(quota->model), "%s",
                       draw(lab, 2) == 0 ? "h100" : "a100");
    if (node.kind == KIND_PROJECT && draw(lab, 2) == 0)
        quota->user = lab->users[draw(lab, 2)];
    quota->limit = quota->dimension == DIMENSION_CARD_TIME
                       ? (int64_t)draw(lab, 200) * 1000 * HOUR_MS
                       : CARDS((int64_t)draw(lab, CARDS_ALL));
    if (draw(lab, 5) == 0)
        quota->limit = USAGE_MAX;
    if (quota->dimension == DIMENSION_CARDS)
        quota->guaranteed = CARDS((int64_t)draw(lab, 3));
    scene_apply(&lab->scene, changes);
}

static void
drop_quota(struct lab *lab)
{
    size_t count = world_count(lab->scene.world, KIND_QUOTA);
    size_t number = draw(lab, count);
    struct changes *changes;

    world_each(lab->scene.world, KIND_QUOTA, ref)
        if (number-- == 0) {
            if (world_quota(lab->scene.world, ref)->object.parent.kind ==
                KIND_TENANT)
                return;
            changes = scene_begin(&lab->scene);
            world_each(lab->scene.world, KIND_WORKLOAD, at)
                if (ref_equal(
                        world_workload(lab->scene.world, at)->reason_quota,
                        ref))
                    ((struct workload *)change_update(changes, at))
                        ->reason_quota = (struct ref){ 0 };
            change_delete(changes, ref);
            scene_apply(&lab->scene, changes);
            return;
        }
}

static void
submit(struct lab *lab)
{
    static const int64_t runs[] = { 0, HOUR_MS, 30 * HOUR_MS, 40 * DAY_MS };
    size_t at = draw(lab, lab->project_count);
    struct ref tenant =
        world_scope(lab->scene.world, lab->projects[at]);
    struct job job = { .project = lab->projects[at],
                       .class = lab->classes[draw(lab, 3)],
                       .user = lab->users[0],
                       .instances = 1 + (int64_t)draw(lab, 3),
                       .max_run_ms = runs[draw(lab, 4)] };

    if (!world_is_below(lab->scene.world, job.user, tenant))
        job.user = lab->users[1];
    if (lab->work_count == 64 ||
        scene_try(&lab->scene, job).state == WORKLOAD_REJECTED)
        return;
    lab->works[lab->work_count++] = scene_submit(&lab->scene, job);
    scene_run(&lab->scene);
}

static void
finish(struct lab *lab)
{
    size_t at;

    if (lab->work_count == 0)
        return;
    at = draw(lab, lab->work_count);
    if (lifecycle_is_live(scene_state(&lab->scene, lab->works[at]))) {
        scene_finish(&lab->scene, lab->works[at], 0);
    } else {
        scene_edit(&lab->scene, changes, workload, lab->works[at]);
        reason_clear(workload);
        workload->state = WORKLOAD_CANCELLED;
        lifecycle_drop_holds(changes, lab->works[at]);
        scene_apply(&lab->scene, changes);
    }
    lab->works[at] = lab->works[--lab->work_count];
}

static void
meter(struct lab *lab)
{
    struct changes *changes;

    scene_wait(&lab->scene, (int64_t)draw(lab, 12) * HOUR_MS + 1);
    changes = scene_begin(&lab->scene);
    world_each(lab->scene.world, KIND_CARD, card)
        usage_cut(changes, card);
    scene_apply(&lab->scene, changes);
}

static void
step(struct lab *lab)
{
    switch (draw(lab, 8)) {
    case 0:
    case 1:
        make_quota(lab);
        break;
    case 2:
        drop_quota(lab);
        break;
    case 3:
    case 4:
        submit(lab);
        break;
    case 5:
        finish(lab);
        break;
    case 6:
        meter(lab);
        break;
    default:
        scene_wait(&lab->scene, (int64_t)draw(lab, HOUR_MS));
        break;
    }
}

/* [S2] [S3] [S4] [S12] */
static void
every_counter_is_what_a_recount_says(void **state)
{
    int64_t checked = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= TREES; seed++) {
        struct lab lab;

        lab_open(&lab, seed);
        for (int i = 0; i < STEPS; i++) {
            step(&lab);
            recount_all(&lab);
        }
        checked += lab.checked;
        scene_teardown(&lab.scene);
    }
    assert_true(checked > 20000);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_counter_is_what_a_recount_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
