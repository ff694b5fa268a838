/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_IMAGE_H
#define RUNNER_IMAGE_H

#include <jansson.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "engine/runner_request.h"
#include "runner/policy.h"

/*
 * Which images are here, and where is one unpacked?  Images lie as OCI
 * layouts in the policy's image directory and are unpacked once per manifest
 * digest into the cache STATE/images/<hex>/{root, image.json}; the cache
 * entry appears by a rename, so it is there whole or not at all.
 */

struct image_store {
    const struct policy *policy;
    pthread_mutex_t lock; /* one image is unpacked at a time */
};

/* An unpacked image; strings live in the arena of the call. */
struct image {
    char root[192]; /* files, owned by the policy's disk_uid_base.. */
    int64_t bytes, entries, skipped;
    bool cached; /* was there before this call */
    size_t argc;
    const char *argv[RUNNER_ARGV_MAX];
    size_t env_count;
    const char *env[RUNNER_ENV_MAX];
    const char *cwd;
    int64_t uid, gid;
};

int image_store_init(struct image_store *store, const struct policy *policy,
                     struct error *err);
void image_store_release(struct image_store *store);

/* Unpacks what is not unpacked yet. */
int image_prepare(struct image_store *store, struct arena *arena,
                  const struct runner_image *wanted, struct image *image_out,
                  struct error *err);

/* The names of all that are here, in their order, without a look inside;
 * NULL when they are more than IMAGE_NAMES_MAX bytes. */
#define IMAGE_NAMES_MAX 2048
json_t *image_names(const struct image_store *store);

/* The rows of image_list; unreadable images are left out. */
json_t *image_list(struct image_store *store, struct arena *arena);

#endif
