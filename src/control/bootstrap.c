/* SPDX-License-Identifier: Apache-2.0 */
#include "control/bootstrap.h"

#include <string.h>

#include "base/file.h"
#include "control/execute.h"
#include "core/role.h"
#include "core/shipped.h"
#include "identity/token.h"

static int
put_first(struct changes *changes, void *data, struct error *err)
{
    const struct bootstrap *bootstrap = data;

    (void)err;
    (void)shipped_platform(changes, bootstrap->currency);
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
        shipped_priorities(changes, platform);
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
