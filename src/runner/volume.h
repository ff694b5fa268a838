/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_VOLUME_H
#define RUNNER_VOLUME_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "runner/policy.h"

/*
 * Which volumes are here, whose are they, and how are they mounted?
 *
 * A volume is an ext4 image of its full size in the policy's volume directory
 * (<id>.img beside <id>.json), all blocks allocated when it is made: the limit
 * holds and other tenants' writes cannot use up its room.  It is attached to
 * one loop device and mounted at STATE/volumes/<id>, where only root looks.
 * Owners on disk are the policy's disk_uid_base..: instances see them through
 * an id-mapped mount.  Callers serialise calls.
 */

#define VOLUME_PATH_MAX 192

struct volume {
    const char *id;
    int64_t tenant;
    int64_t size_mib;
};

int volume_store_init(const struct policy *policy, struct error *err);

/* Makes it; the same again has no effect, other values are a conflict. */
int volume_create(const struct policy *policy, const struct volume *volume,
                  struct error *err);
/* Unmounts and destroys; a volume that is not there is no error. */
int volume_remove(const struct policy *policy, const char *id,
                  struct error *err);
/* ERROR_NOT_FOUND when it is not there. */
int volume_get(const struct policy *policy, struct arena *arena, const char *id,
               struct volume *volume_out, struct error *err);
/* Mounts it when it is not; path receives where. */
int volume_mount(const struct policy *policy, const char *id,
                 char path[VOLUME_PATH_MAX], struct error *err);
void volume_unmount(const struct policy *policy, const char *id);
void volume_path(const struct policy *policy, const char *id,
                 char path[VOLUME_PATH_MAX]);
/* {"id", "tenant", "size_mib", "used_mib", "mounted"} rows. */
json_t *volume_list(const struct policy *policy, struct arena *arena);

#endif
