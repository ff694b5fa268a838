/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/crash/script.h"

#include <string.h>

#include "base/digest.h"
#include "control/execute.h"
#include "core/lifecycle.h"
#include "core/reason.h"
#include "core/role.h"
#include "core/schedule.h"
#include "core/usage.h"

/* --- finding things again after a start --- */

static struct ref
named(const struct world *world, enum kind kind, struct ref parent,
      const char *name)
{
    return world_find_name(world, kind, parent, name);
}

static struct ref
tenant_of(const struct world *world, const char *name)
{
    return named(world, KIND_TENANT, world_platform_ref(world), name);
}

static struct ref
the_work(const struct world *world, const char *tenant)
{
    struct ref project = named(world, KIND_PROJECT,
                               tenant_of(world, tenant), "work");

    return named(world, KIND_WORKLOAD, project, "w");
}

static struct ref
the_instance(const struct world *world, const char *tenant)
{
    struct ref work = the_work(world, tenant);

    return ref_is_none(work) ? work
                             : world_first_child(world, KIND_INSTANCE, work);
}

/* --- the deeds of the script --- */

static void
put_tenant(struct changes *changes, const char *name)
{
    struct ref platform = world_platform_ref(changes->world);
    struct tenant *tenant = change_create(changes, KIND_TENANT, platform,
                                          name);
    struct quota *quota =
        change_create(changes, KIND_QUOTA, tenant->object.self, "");
    struct user *user =
        change_create(changes, KIND_USER, tenant->object.self, "admin");
    struct session *session =
        change_create(changes, KIND_SESSION, user->object.self, "");
    struct grant *grant =
        change_create(changes, KIND_GRANT, tenant->object.self, "");

    (void)change_create(changes, KIND_PROJECT, tenant->object.self, "work");
    quota->dimension = DIMENSION_CARDS;
    quota->limit = 1000;
    session->digest[0] = (uint8_t)name[0];
    session->proved_ms = changes->context.now_ms;
    session->expires_ms = changes->context.now_ms + INT64_C(36000000);
    grant->subject = user->object.self;
    grant->role = role_find(changes->world, ROLE_TENANT_ADMIN);
    grant->use = role_use(ROLE_TENANT_ADMIN);
    grant->give = role_give(ROLE_TENANT_ADMIN);
}

/* One card, two tenants. */
static void
put_estate(struct changes *changes)
{
    struct ref pool = world_first(changes->world, KIND_POOL);
    struct class *class = change_create(
        changes, KIND_CLASS, world_platform_ref(changes->world), "c");
    struct node *node = change_create(changes, KIND_NODE, pool, "n");
    struct card *card;

    class->count = 1;
    (void)snprintf(class->model, sizeof(class->model), "m");
    node->cpu_milli = 8000;
    node->memory_mib = 8192;
    card = change_create(changes, KIND_CARD, node->object.self, "card0");
    (void)snprintf(card->uuid, sizeof(card->uuid), "GPU-0");
    (void)snprintf(card->model, sizeof(card->model), "m");
    card->memory_mib = 81920;
    card->health = HEALTH_HEALTHY;
    usage_start(changes, card);
    put_tenant(changes, "red");
    put_tenant(changes, "blue");
}

static void
put_work(struct changes *changes, const char *tenant)
{
    const struct world *world = changes->world;
    struct ref project =
        named(world, KIND_PROJECT, tenant_of(world, tenant), "work");
    struct workload *workload =
        change_create(changes, KIND_WORKLOAD, project, "w");
    struct verdict verdict;

    workload->class = world_first(world, KIND_CLASS);
    workload->priority = named(world, KIND_PRIORITY,
                               world_platform_ref(world), "research");
    workload->instances = 1;
    workload->preemptible = true;
    workload->cpu_milli = 1000;
    workload->memory_mib = 512;
    workload->submitted_ms = changes->context.now_ms;
    verdict_set(&verdict, WORKLOAD_QUEUED, REASON_NOT_EVALUATED,
                "submitted; not yet evaluated");
    reason_put(workload, &verdict, changes->context.now_ms);
}

static void
do_estate(struct changes *changes)
{
    put_estate(changes);
}

static void
do_red(struct changes *changes)
{
    put_work(changes, "red");
}

static void
do_blue(struct changes *changes)
{
    put_work(changes, "blue");
}

static void
do_start(struct changes *changes)
{
    lifecycle_started(changes, the_instance(changes->world, "red"));
}

static void
do_cancel(struct changes *changes)
{
    lifecycle_stop(changes, the_work(changes->world, "red"),
                   WORKLOAD_CANCELLING, "cancelled", NULL);
}

static void
do_exit(struct changes *changes)
{
    lifecycle_exited(changes, the_instance(changes->world, "red"), 143,
                     false);
}

static void
do_release(struct changes *changes)
{
    lifecycle_released(changes, the_instance(changes->world, "red"));
}

static void
do_scrub(struct changes *changes)
{
    struct ref ref = world_first(changes->world, KIND_CARD);
    struct card *card;

    usage_cut(changes, ref);
    card = change_update(changes, ref);
    card->handover = HANDOVER_CLEAN;
}

/* --- the script --- */

enum what { DEED, SCHEDULE, CREATE, REMOVE };

struct step {
    enum what what;
    const char *name; /* CREATE, REMOVE: of a project of red */
    void (*deed)(struct changes *changes);
    bool burst; /* posted together with its neighbours */
};

static const struct step script[] = {
    { DEED, "estate", do_estate, false },
    { CREATE, "p1", NULL, false },
    { DEED, "red", do_red, false },
    { SCHEDULE, "schedule", NULL, false },
    { DEED, "start", do_start, false },
    { CREATE, "p2", NULL, false },
    { DEED, "blue", do_blue, false },
    { SCHEDULE, "schedule", NULL, false },
    { DEED, "cancel", do_cancel, false },
    { SCHEDULE, "schedule", NULL, false },
    { REMOVE, "p1", NULL, false },
    { DEED, "exit", do_exit, false },
    { SCHEDULE, "schedule", NULL, false },
    { DEED, "release", do_release, false },
    { SCHEDULE, "schedule", NULL, false },
    { DEED, "scrub", do_scrub, false },
    { SCHEDULE, "schedule", NULL, false },
    { CREATE, "p3", NULL, true },
    { CREATE, "p4", NULL, true },
    { CREATE, "p5", NULL, true },
    { CREATE, "p6", NULL, true },
    { CREATE, "p7", NULL, true },
    { REMOVE, "p2", NULL, false },
};
_Static_assert(sizeof(script) / sizeof(script[0]) == SCRIPT_STEPS,
               "count the steps");
/* Where the story of the card turns. */
#define STEP_ASSIGNED 4
#define STEP_RELEASED 13
#define STEP_SCRUBBED 15

static int
decide_deed(struct changes *changes, void *data, struct error *err)
{
    const struct step *step = data;

    (void)err;
    step->deed(changes);
    return 0;
}

static int
decide_schedule(struct changes *changes, void *data, struct error *err)
{
    (void)err;
    (void)schedule_step(data, changes);
    return 0;
}

static void
run_schedule(struct loop *loop, struct arena *arena)
{
    struct scheduler *scheduler = scheduler_new();
    struct deed deed = { .verb = "schedule",
                         .component = "scheduler",
                         .decide = decide_schedule,
                         .data = scheduler };
    struct error err;

    loop_touch(loop, world_first(loop_world(loop), KIND_NODE));
    while (execute_deed(loop, arena, &deed, &err) == 1 ||
           schedule_has_more(scheduler))
        ;
    scheduler_free(scheduler);
}

static int
decide_command(const struct granted *granted, struct changes *changes,
               void *data, struct error *err)
{
    const struct step *step = data;

    (void)err;
    if (step->what == CREATE)
        (void)change_create(changes, KIND_PROJECT, granted_object(granted),
                            step->name);
    else
        change_delete(changes, granted_object(granted));
    return 0;
}

static struct actor
the_admin(const struct world *world)
{
    struct ref user =
        named(world, KIND_USER, tenant_of(world, "red"), "admin");
    struct actor actor = { .kind = ACTOR_USER,
                           .subject = user,
                           .proved_ms = INT64_C(1) << 60 };

    actor.credential = world_first_child(world, KIND_SESSION, user);
    return actor;
}

static int
run_command(struct loop *loop, struct arena *arena, const struct step *step,
            struct error *err)
{
    const struct world *world = loop_world(loop);
    struct actor actor = the_admin(world);
    struct request request = { .id = "rq-1", .ip = "192.0.2.7" };
    struct ref red = tenant_of(world, "red");
    struct command command = {
        .actor = &actor,
        .request = &request,
        .verb = step->what == CREATE ? VERB_PROJECT_CREATE
                                     : VERB_PROJECT_DELETE,
        .object = step->what == CREATE
                      ? red
                      : named(world, KIND_PROJECT, red, step->name),
        .decide = decide_command,
        .data = (void *)(uintptr_t)step,
    };

    return execute(loop, arena, &command, err);
}

static void
key_of(int number, struct digest *out)
{
    digest_of(&number, sizeof(number), out);
}

static bool
is_done(const struct world *world, int number)
{
    struct digest key;

    key_of(number, &key);
    return !ref_is_none(world_find_digest(world, KIND_RECEIPT, key.bytes));
}

int
script_done(const struct world *world)
{
    int count = 0;

    while (count < SCRIPT_STEPS && is_done(world, count))
        count++;
    for (int i = count; i < SCRIPT_STEPS; i++)
        if (is_done(world, i))
            return -1;
    return count;
}

bool
script_is_burst(int number)
{
    return script[number].burst;
}

int
script_run(struct loop *loop, struct arena *arena, int number,
           struct error *err)
{
    const struct step *step = &script[number];
    struct deed deed = { .verb = step->name,
                         .component = "test",
                         .decide = decide_deed,
                         .data = (void *)(uintptr_t)step };
    struct digest key;
    int rc = 0;

    if (is_done(loop_world(loop), number))
        return 0;
    if (step->what == DEED)
        rc = execute_deed(loop, arena, &deed, err) < 0 ? -1 : 0;
    else if (step->what == SCHEDULE)
        run_schedule(loop, arena);
    else
        rc = run_command(loop, arena, step, err);
    if (rc != 0)
        return -1;
    key_of(number, &key);
    execute_receipt(loop, arena, world_first(loop_world(loop), KIND_USER),
                    key.bytes, key.bytes, 201, "{}");
    return 0;
}

/* --- what must be there --- */

/* A card has one owner; the next one comes after release and scrub only. */
static const char *
look_at_card(const struct world *world, int done)
{
    struct ref card = world_first(world, KIND_CARD);
    size_t open = 0;

    world_each_index(world, KIND_BINDING, 0, card, at)
        if (world_binding(world, at)->to_ms == 0)
            open++;
    if (open > 1)
        return "the card is bound twice";
    if (done <= STEP_SCRUBBED && !ref_is_none(the_instance(world, "blue")))
        return "the card was given on before its scrub";
    if (done >= STEP_ASSIGNED && done <= STEP_RELEASED && open != 1)
        return "the card was given back before its release was confirmed";
    if (done > STEP_RELEASED && done <= STEP_SCRUBBED && open != 0)
        return "the card was not given back";
    return NULL;
}

/* Made and not removed again: it is there; else it is not. */
static const char *
look_at_projects(const struct world *world, int done)
{
    for (int i = 0; i < SCRIPT_STEPS; i++) {
        struct ref ref = named(world, KIND_PROJECT, tenant_of(world, "red"),
                               script[i].name);
        bool removed = false;

        for (int later = i + 1; later < done; later++)
            removed |= script[later].what == REMOVE &&
                       strcmp(script[later].name, script[i].name) == 0;
        if (script[i].what == CREATE &&
            !ref_is_none(ref) != (i < done && !removed))
            return "a project is missing, or there and should not be";
    }
    return NULL;
}

const char *
script_look(const struct world *world, int done)
{
    const char *wrong = done > 0 ? look_at_card(world, done) : NULL;

    return wrong != NULL || done == 0 ? wrong : look_at_projects(world, done);
}

const char *
script_look_at_end(const struct world *world)
{
    size_t projects = 0;

    world_each_child(world, KIND_PROJECT, tenant_of(world, "red"), ref)
        projects++;
    if (projects != 6) /* work and p3 .. p7 */
        return "another number of projects";
    if (world_count(world, KIND_RECEIPT) != SCRIPT_STEPS)
        return "another number of receipts";
    if (world_count(world, KIND_WORKLOAD) != 2)
        return "another number of workloads";
    if (world_workload(world, the_work(world, "red"))->state !=
        WORKLOAD_CANCELLED)
        return "red's work is not cancelled";
    return ref_is_none(the_instance(world, "blue"))
               ? "blue's work did not get the card"
               : NULL;
}
