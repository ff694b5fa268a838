/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How fast does the scheduler follow a large estate?
 *
 * The world: nodes with eight cards, all in use but for those that are freed;
 * tenants with a quota each and waiting work.  CPU time of the thread; what
 * the world itself needs to take a decision in is not the scheduler's and is
 * told apart.  Each line says value, threshold and PASS or FAIL.
 */
#include <malloc.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "core/change.h"
#include "core/gate.h"
#include "core/schedule.h"
#include "core/shipped.h"

#define NOW INT64_C(1800000000000)
#define NODE_CARDS 8
#define CARD_MIB 81920
#define SET_MAX 1000 /* objects in one set while building */
#define RECLAIMS_MS 60000.0 /* the run of reclaims gives up after that */

struct size {
    int cards, freed, tenants, queued;
};

struct scene {
    struct world *world;
    struct scheduler *scheduler;
    struct id_source ids;
    int64_t now_ms;
    struct size size;
    struct ref platform, pool, one, eight, low, high;
    struct ref *nodes, *projects;
    int node_count;
    struct arena *arena;
    struct changes *changes; /* that is being filled */
};

static int failures;

static void
judge(const char *name, double value, const char *unit, double limit)
{
    bool passes = value < limit;

    failures += !passes;
    (void)printf("%-44s %10.2f %-6s < %-8g %s\n", name, value, unit, limit,
                 passes ? "PASS" : "FAIL");
    (void)fflush(stdout);
}

static void
note(const char *name, double value, const char *unit)
{
    (void)printf("%-44s %10.2f %s\n", name, value, unit);
    (void)fflush(stdout);
}

static double
cpu_ms(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static double
heap_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return (double)info.uordblks + (double)info.hblkhd;
}

/* --- building --- */

static struct changes *
open_set(struct scene *scene)
{
    if (scene->changes != NULL)
        return scene->changes;
    scene->arena = arena_new();
    scene->changes = change_begin(scene->arena, scene->world,
                                  (struct context){ scene->now_ms,
                                                    &scene->ids });
    return scene->changes;
}

static void
close_set(struct scene *scene)
{
    if (scene->changes == NULL)
        return;
    world_apply(scene->world, scene->changes);
    arena_free(scene->arena);
    scene->changes = NULL;
}

/* Puts what was made into the world now and then. */
static void
filled(struct scene *scene)
{
    if (scene->changes->count >= SET_MAX)
        close_set(scene);
}

static struct ref
put(struct scene *scene, enum kind kind, struct ref parent, const char *name)
{
    struct object *object =
        change_create(open_set(scene), kind, parent, name);

    return object->self;
}

static struct ref
add_class(struct scene *scene, const char *name, int64_t count)
{
    struct class *class = change_create(open_set(scene), KIND_CLASS,
                                        scene->platform, name);

    (void)snprintf(class->model, sizeof(class->model), "h100");
    class->form = FORM_WHOLE;
    class->count = count;
    return class->object.self;
}

static struct ref
add_priority(struct scene *scene, const char *name, int64_t value)
{
    struct priority *priority = change_create(open_set(scene), KIND_PRIORITY,
                                              scene->platform, name);

    priority->value = value;
    return priority->object.self;
}

static void
build_platform(struct scene *scene)
{
    struct platform *platform;

    scene->platform = shipped_platform(open_set(scene), NULL);
    platform = change_update(open_set(scene), scene->platform);
    platform->tenant_limit_permille = 1000; /* limits are what quotas say */
    scene->pool = put(scene, KIND_POOL, scene->platform, "main");
    scene->one = add_class(scene, "h100.1", 1);
    scene->eight = add_class(scene, "h100.8", 8);
    scene->low = add_priority(scene, "low", 1);
    scene->high = add_priority(scene, "high", 9);
    close_set(scene);
}

/* All agents are heard of. */
static void
hear(struct scene *scene)
{
    for (int i = 0; i < scene->node_count; i++)
        world_touch_node(scene->world, scene->nodes[i], scene->now_ms);
}

static void
build_nodes(struct scene *scene)
{
    scene->node_count = scene->size.cards / NODE_CARDS;
    scene->nodes = memory_new((size_t)scene->node_count, sizeof(struct ref));
    for (int i = 0; i < scene->node_count; i++) {
        char name[32];
        struct node *node;

        (void)snprintf(name, sizeof(name), "n%d", i);
        node = change_create(open_set(scene), KIND_NODE, scene->pool, name);
        scene->nodes[i] = node->object.self;
        node->cpu_milli = 256000;
        node->memory_mib = 2097152;
        for (int k = 0; k < NODE_CARDS; k++) {
            struct card *card;

            (void)snprintf(name, sizeof(name), "card%d", k);
            card = change_create(open_set(scene), KIND_CARD, scene->nodes[i],
                                 name);
            (void)snprintf(card->vendor, sizeof(card->vendor), "nvidia");
            (void)snprintf(card->model, sizeof(card->model), "h100");
            card->memory_mib = CARD_MIB;
            card->health = HEALTH_HEALTHY;
            card->cut_ms = scene->now_ms;
        }
        filled(scene);
    }
    close_set(scene);
    hear(scene);
}

static void
build_tenants(struct scene *scene, int64_t guaranteed)
{
    scene->projects =
        memory_new((size_t)scene->size.tenants, sizeof(struct ref));
    for (int i = 0; i < scene->size.tenants; i++) {
        char name[32];
        struct quota *quota;
        struct ref tenant;

        (void)snprintf(name, sizeof(name), "t%d", i);
        tenant = put(scene, KIND_TENANT, scene->platform, name);
        scene->projects[i] = put(scene, KIND_PROJECT, tenant, "p");
        quota = change_create(open_set(scene), KIND_QUOTA, tenant, "");
        quota->dimension = DIMENSION_CARDS;
        quota->guaranteed = guaranteed;
        quota->limit = INT64_C(1000) * scene->size.cards;
        filled(scene);
    }
    close_set(scene);
}

static struct workload *
add_work(struct scene *scene, int tenant, struct ref class)
{
    struct workload *workload =
        change_create(open_set(scene), KIND_WORKLOAD, scene->projects[tenant],
                      "");

    workload->class = class;
    workload->priority = scene->low;
    workload->instances = 1;
    workload->cpu_milli = 1000;
    workload->memory_mib = 1024;
    workload->preemptible = true;
    workload->submitted_ms = scene->now_ms;
    workload->limit = AMOUNT_NONE;
    return workload;
}

static int64_t numbers;

/* Work that runs on cards first .. first + count - 1 of a node. */
static void
add_running(struct scene *scene, int tenant, int node, int first, int count)
{
    struct changes *changes = open_set(scene);
    struct workload *workload =
        add_work(scene, tenant, count == 8 ? scene->eight : scene->one);
    struct instance *instance;
    int number = 0;

    workload->state = WORKLOAD_RUNNING;
    workload->attempt = 1;
    workload->started_ms = scene->now_ms;
    instance = change_create(changes, KIND_INSTANCE, workload->object.self,
                             "1-0");
    instance->node = scene->nodes[node];
    instance->state = INSTANCE_RUNNING;
    instance->attempt = 1;
    instance->incarnation = 1;
    instance->uid_base = INT64_C(1000013824) + numbers++ * 65536;
    instance->address = 2 + numbers % 60000;
    instance->project = workload->object.parent;
    instance->pool = scene->pool;
    instance->class = workload->class;
    instance->cpu_milli = 1000;
    instance->memory_mib = 1024;
    world_each_child(scene->world, KIND_CARD, scene->nodes[node], card) {
        struct binding *binding;

        if (number < first || number >= first + count) {
            number++;
            continue;
        }
        number++;
        binding = change_create(changes, KIND_BINDING, instance->object.self,
                                "");
        binding->card = card;
        binding->milli = 1000;
        binding->memory_mib = CARD_MIB;
        binding->from_ms = binding->cut_ms = scene->now_ms;
        binding->workload = workload->object.self;
        binding->project = workload->object.parent;
        binding->pool = scene->pool;
        binding->class = workload->class;
    }
    filled(scene);
}

/* The first nodes run one-card work, the rest eight-card work. */
static void
build_running(struct scene *scene, int single_nodes)
{
    for (int i = 0; i < scene->node_count; i++) {
        if (i >= single_nodes) {
            add_running(scene, i % scene->size.tenants, i, 0, NODE_CARDS);
            continue;
        }
        for (int k = 0; k < NODE_CARDS; k++)
            add_running(scene, (i * NODE_CARDS + k) % scene->size.tenants, i,
                        k, 1);
    }
    close_set(scene);
}

/* Of the tenants from first on; each fourth round asks for a whole node unless
 * it is work that claims. */
static void
build_queue(struct scene *scene, int count, int first, int tenants)
{
    for (int i = 0; i < count; i++) {
        bool whole = first == 0 && i / tenants % 4 == 3;
        struct workload *workload =
            add_work(scene, first + i % tenants,
                     whole ? scene->eight : scene->one);

        workload->state = WORKLOAD_QUEUED;
        workload->reason = REASON_NOT_EVALUATED;
        (void)snprintf(workload->reason_text, sizeof(workload->reason_text),
                       "submitted; not yet evaluated");
        filled(scene);
    }
    close_set(scene);
}

/* single_nodes: nodes with one-card work; negative: no work runs. */
static void
build(struct scene *scene, struct size size, int64_t guaranteed,
      int single_nodes)
{
    const struct hash_key key = { 7, 8 };

    numbers = 0;
    *scene = (struct scene){ .world = world_new(&key),
                             .scheduler = scheduler_new(),
                             .ids = { { 1, 2 }, 0 },
                             .now_ms = NOW,
                             .size = size };
    build_platform(scene);
    build_nodes(scene);
    build_tenants(scene, guaranteed);
    if (single_nodes >= 0)
        build_running(scene, single_nodes);
}

static void
tear_down(struct scene *scene)
{
    scheduler_free(scene->scheduler);
    world_free(scene->world);
    free(scene->nodes);
    free(scene->projects);
}

/* --- steps --- */

struct timing {
    double step_ms, apply_ms;
    double load_ms;    /* until it looked at the first group */
    double longest_ms; /* slice, with the set applied */
    const char *longest; /* what it decided */
    double over;       /* slices longer than 2 ms */
    int slices, decisions, assigned, nominated, victims;
};

/* Runs the scheduler until it has nothing to do, or has had the time. */
static struct timing
run_for(struct scene *scene, double most_ms)
{
    struct timing timing = { .longest = "" };
    uint64_t looks = schedule_looks(scene->scheduler);

    while (timing.step_ms < most_ms) {
        struct arena *arena = arena_new();
        struct changes *changes = change_begin(
            arena, scene->world,
            (struct context){ scene->now_ms, &scene->ids });
        double start = cpu_ms(), middle, end;
        bool made = schedule_step(scene->scheduler, changes);
        struct schedule_decision last = schedule_last(scene->scheduler);

        middle = cpu_ms();
        if (made)
            world_apply(scene->world, changes);
        end = cpu_ms();
        arena_free(arena);
        timing.step_ms += middle - start;
        timing.apply_ms += end - middle;
        if (schedule_looks(scene->scheduler) == looks)
            timing.load_ms = timing.step_ms;
        if (end - start > timing.longest_ms) {
            timing.longest_ms = end - start;
            timing.longest = schedule_what_text(last.what);
        }
        timing.over += end - start > 2;
        timing.slices++;
        timing.decisions += made;
        if (made) {
            timing.assigned += last.what == SCHEDULE_ASSIGN;
            timing.nominated += last.what == SCHEDULE_NOMINATE;
            timing.victims += (int)last.victims;
        } else if (!schedule_has_more(scene->scheduler)) {
            break;
        }
    }
    return timing;
}

static struct timing
run(struct scene *scene)
{
    return run_for(scene, INFINITY);
}

/* All one-card work ends; its cards are clean at once. */
static void
free_cards(struct scene *scene)
{
    int freed = 0;

    world_each(scene->world, KIND_INSTANCE, ref) {
        const struct instance *instance = world_instance(scene->world, ref);
        struct changes *changes;
        struct workload *workload;

        if (!ref_equal(instance->class, scene->one) ||
            instance->state == INSTANCE_RELEASED || freed >= scene->size.freed)
            continue;
        changes = open_set(scene);
        ((struct instance *)change_update(changes, ref))->state =
            INSTANCE_RELEASED;
        world_each_child(scene->world, KIND_BINDING, ref, binding) {
            ((struct binding *)change_update(changes, binding))->to_ms =
                scene->now_ms;
            freed++;
        }
        workload = change_update(changes, instance->object.parent);
        workload->state = WORKLOAD_SUCCEEDED;
        workload->ended_ms = scene->now_ms;
        filled(scene);
    }
    close_set(scene);
}

static double
free_cards_now(const struct scene *scene)
{
    double count = 0;

    world_each(scene->world, KIND_CARD, ref)
        count += world_card(scene->world, ref)->used_milli == 0;
    return count;
}

/* --- what is asked --- */

static void
judge_slices(const char *name, const struct timing *timing)
{
    judge(name, timing->longest_ms, "ms", 2);
    if (timing->longest_ms >= 2)
        (void)printf("    %.0f of %d slices were longer, the longest one's "
                     "decision: %s\n",
                     timing->over, timing->slices, timing->longest);
}

/* Work of a class that nobody has asked for before. */
static struct timing
run_new_class(struct scene *scene)
{
    struct ref class = add_class(scene, "h100.3", 3);

    close_set(scene);
    (void)run(scene);
    for (int i = 0; i < 3; i++) {
        struct workload *workload = add_work(scene, i, class);

        workload->cpu_milli = 1500;
        workload->state = WORKLOAD_QUEUED;
        workload->reason = REASON_NOT_EVALUATED;
    }
    close_set(scene);
    return run(scene);
}

static double
cycle(struct size size, bool judged)
{
    struct scene scene;
    struct timing load, told, busy, new;
    double before, world, cards, queued, left;

    before = heap_bytes();
    build(&scene, size, 0, (size.freed + NODE_CARDS - 1) / NODE_CARDS);
    cards = heap_bytes() - before;
    build_queue(&scene, size.queued, 0, size.tenants);
    world = heap_bytes() - before;
    load = run(&scene);
    queued = heap_bytes() - before;
    free_cards(&scene);
    told = run(&scene);
    scene.now_ms += 1000;
    hear(&scene);
    busy = run(&scene);
    left = free_cards_now(&scene);
    new = run_new_class(&scene);
    if (judged) {
        judge("cold load into the scheduler", load.load_ms, "ms", 2000);
        note("first verdicts for all that waits", load.step_ms - load.load_ms,
             "ms");
        judge_slices("  longest slice of both", &load);
        judge("cycle", told.step_ms, "ms", 100);
        note("  started", told.assigned, "");
        note("  decisions", told.decisions, "");
        note("  slices", told.slices, "");
        note("  the world takes the decisions in", told.apply_ms, "ms");
        judge_slices("  longest slice", &told);
        note("the first work of a new class", new.step_ms, "ms");
        judge_slices("  longest slice", &new);
        note("a second in which nothing happens", busy.step_ms, "ms");
        note("bytes of the scheduler per card or queued",
             (queued - world) / (size.queued + size.cards), "B");
        note("bytes of the world per queued workload",
             (world - cards) / size.queued, "B");
        note("bytes of the world per card", cards / size.cards, "B");
    }
    judge(judged ? "  cards left free" : "cards left free (small)",
          left, "", 1);
    tear_down(&scene);
    return told.step_ms;
}

static void
growth(void)
{
    double small = cycle((struct size){ 8000, 1000, 100, 10000 }, false);
    double large = cycle((struct size){ 80000, 10000, 1000, 100000 }, true);

    judge("growth exponent of the cycle over 10 x", log10(large / small), "",
          1.3);
}

static void
never(void)
{
    struct scene scene;
    double start, all = 0;
    int count = 200;

    build(&scene, (struct size){ 80000, 0, 1000, 0 }, 0, 0);
    for (int i = 0; i < count; i++) {
        struct arena *arena = arena_new();
        struct changes *changes = change_begin(
            arena, scene.world, (struct context){ scene.now_ms, &scene.ids });
        struct workload *workload;
        struct verdict verdict;
        struct gate gate;

        scene.changes = changes;
        workload = add_work(&scene, i % 1000, scene.one);
        scene.changes = NULL;
        workload->instances = 1;
        workload->cpu_milli = 300000 + i;
        start = cpu_ms();
        gate_init(&gate, scene.world, NULL, scene.now_ms, arena);
        if (gate_check(&gate, workload, &verdict) ||
            verdict.state != WORKLOAD_REJECTED)
            judge("the verdict is never", 1, "", 1);
        all += cpu_ms() - start;
        arena_free(arena);
    }
    judge("verdict never", all / count, "ms", 1);
    tear_down(&scene);
}

/* Half the tenants hold all cards as burst and queue for more, the others claim
 * their guarantee with one-card work. */
static double
reclaims(struct size size, int count)
{
    struct scene scene;
    struct timing timing;
    int half = size.tenants / 2;

    build(&scene, size, INT64_C(1000) * size.cards / size.tenants, -1);
    for (int i = 0; i < scene.node_count; i++)
        for (int k = 0; k < NODE_CARDS; k++)
            add_running(&scene, (i * NODE_CARDS + k) % half, i, k, 1);
    close_set(&scene);
    build_queue(&scene, size.queued - count, 0, half);
    (void)run(&scene);
    scene.now_ms += 1000;
    build_queue(&scene, count, half, half);
    timing = run_for(&scene, RECLAIMS_MS);
    note("reclaims: asked", count, "");
    note("  nominated", timing.nominated, "");
    judge("single-card reclaims", timing.step_ms, "ms", 1000);
    judge_slices("  longest slice", &timing);
    note("  the world takes the decisions in", timing.apply_ms, "ms");
    if (timing.victims < count)
        judge("reclaims that named nobody", count - timing.victims, "", 1);
    tear_down(&scene);
    return timing.step_ms;
}

static void
all_reclaims(void)
{
    struct size size = { 80000, 0, 1000, 100000 };
    double few = reclaims(size, 400), many = reclaims(size, 4000);

    judge("growth exponent of reclaims over 10 x", log10(many / few), "",
          1.3);
}

int
main(int argc, char **argv)
{
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "cycle") == 0) {
        growth();
        never();
        return failures > 0;
    }
    if (argc > 1 && strcmp(argv[1], "small") == 0) {
        (void)cycle((struct size){ 8000, 1000, 100, 10000 }, true);
        (void)reclaims((struct size){ 8000, 0, 200, 10000 }, 400);
        return failures > 0;
    }
    if (argc > 1 && strcmp(argv[1], "reclaims") == 0) {
        all_reclaims();
        return failures > 0;
    }
    growth();
    never();
    all_reclaims();
    return failures > 0;
}
