/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/runner_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool right)
{
    if (!right)
        __builtin_trap();
}

/* An absolute path in normal form leads out of no directory. */
static void
check_path(const char *path)
{
    must(path[0] == '/');
    must(strstr(path, "//") == NULL);
    for (const char *at = path; at != NULL; at = strchr(at + 1, '/'))
        must(strcmp(at, "/..") != 0 && strncmp(at, "/../", 4) != 0 &&
             strcmp(at, "/.") != 0 && strncmp(at, "/./", 3) != 0);
}

static void
check_start(const struct runner_start *start)
{
    must(start->argc <= RUNNER_ARGV_MAX && start->env_count <= RUNNER_ENV_MAX);
    must(start->card_count <= RUNNER_CARDS_MAX);
    must(start->volume_count <= RUNNER_VOLUMES_MAX);
    must(start->uid_base % RUNNER_UIDS == 0 && start->uid_base >= 0);
    for (size_t i = 0; i < start->env_count; i++)
        must(strchr(start->env[i], '=') != NULL &&
             strncmp(start->env[i], "BULKHEAD_", 9) != 0);
    for (size_t i = 0; i < start->volume_count; i++)
        check_path(start->volumes[i].path);
    if (start->cwd != NULL)
        check_path(start->cwd);
    if (start->checkpoint_dir == NULL)
        return;
    check_path(start->checkpoint_dir);
    must(start->checkpoint_volume < start->volume_count &&
         !start->volumes[start->checkpoint_volume].read_only);
}

/* The runner is root: what its reader lets through names no place outside. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena arena = arena_new();
    struct runner_request request;
    struct error err;

    if (runner_request_parse(arena, (const char *)data, size, &request,
                             &err) != 0)
        return 0;
    must(request.op < RUNNER_OP_COUNT);
    must(request.instance == NULL ||
         strspn(request.instance, "abcdefghijklmnopqrstuvwxyz0123456789_-") ==
             strlen(request.instance));
    if (request.op == RUNNER_START)
        check_start(&request.start);
    return 0;
}
