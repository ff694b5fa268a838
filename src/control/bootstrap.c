/* SPDX-License-Identifier: Apache-2.0 */
#include "control/bootstrap.h"

#include <string.h>

#include "base/file.h"
#include "control/execute.h"
#include "core/role.h"
#include "identity/token.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)

static void
set_policy(struct platform *platform, const char *currency)
{
    (void)snprintf(platform->currency, sizeof(platform->currency), "%s",
                   currency != NULL ? currency : "EUR");
    platform->grace_batch_ms = 120 * SECOND_MS;
    platform->grace_service_ms = 30 * SECOND_MS;
    platform->grace_max_ms = 10 * MINUTE_MS;
    platform->hold_ms = 15 * MINUTE_MS;
    platform->lease_ms = 30 * SECOND_MS;
    platform->tenant_limit_permille = 500;
    platform->burst_factor_permille = 2000;
    platform->free_limit_milli = 1000;
    platform->min_run_ms = MINUTE_MS;
    platform->restart_max = 10;
    platform->bypass_max = 20;
    platform->bypass_ms = 60 * MINUTE_MS;
}

static struct ref
put_platform(struct changes *changes, const char *currency)
{
    struct ref none = { 0 };
    struct platform *platform =
        change_create(changes, KIND_PLATFORM, none, "platform");

    set_policy(platform, currency);
    return platform->object.self;
}

static void
put_priorities(struct changes *changes, struct ref platform)
{
    static const struct {
        const char *name;
        int64_t value;
        bool across;
    } shipped[] = { { "incident", 1000, true },
                    { "production", 800, false },
                    { "development", 500, false },
                    { "research", 200, false } };

    for (size_t i = 0; i < sizeof(shipped) / sizeof(shipped[0]); i++) {
        struct priority *priority = change_create(
            changes, KIND_PRIORITY, platform, shipped[i].name);

        priority->value = shipped[i].value;
        priority->preempt_across = shipped[i].across;
    }
}

static int
put_first(struct changes *changes, void *data, struct error *err)
{
    const struct bootstrap *bootstrap = data;

    (void)err;
    (void)put_platform(changes, bootstrap->currency);
    return 0;
}

static int
put_shipped(struct changes *changes, void *data, struct error *err)
{
    struct ref platform = world_platform_ref(changes->world);

    (void)data;
    (void)err;
    role_install(changes, platform);
    if (ref_is_none(world_first(changes->world, KIND_PRIORITY)))
        put_priorities(changes, platform);
    if (ref_is_none(world_first(changes->world, KIND_POOL)))
        (void)change_create(changes, KIND_POOL, platform, "default");
    return 0;
}

struct starting {
    const struct bootstrap *bootstrap;
    bool needs_admin; /* out */
};

static void
run_bootstrap(struct loop *loop, struct job *job)
{
    struct starting *starting = job->data;
    struct bootstrap bootstrap = *starting->bootstrap;
    struct deed deed = { .verb = "platform.create",
                         .component = "bootstrap",
                         .data = &bootstrap };
    struct ref platform = world_platform_ref(loop_world(loop));

    /* The platform first: records need its id. */
    if (ref_is_none(platform)) {
        deed.decide = put_first;
        if (execute_deed(loop, job->arena, &deed, &job->error) < 0)
            job->failed = true;
        platform = world_platform_ref(loop_world(loop));
    }
    deed.verb = "platform.update";
    deed.decide = put_shipped;
    if (execute_deed(loop, job->arena, &deed, &job->error) < 0)
        job->failed = true;
    starting->needs_admin = ref_is_none(
        world_first_child(loop_world(loop), KIND_USER, platform));
}

static int
put_secret(const char *path, struct error *err)
{
    char text[TOKEN_TEXT_MAX + 1];

    if (access(path, F_OK) == 0)
        return 0;
    token_make(TOKEN_FIRST, text);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "\n");
    return file_write(path, text, strlen(text), 0600, err);
}

int
bootstrap_run(struct loop *loop, const struct bootstrap *bootstrap,
              struct error *err)
{
    struct starting starting = { bootstrap, false };
    scoped_arena arena = arena_new();
    struct job job = { .run = run_bootstrap,
                       .arena = arena,
                       .data = &starting };

    if (loop_call(loop, &job, err) != 0)
        return -1;
    if (!starting.needs_admin || bootstrap->secret_path == NULL)
        return 0;
    return put_secret(bootstrap->secret_path, err);
}
