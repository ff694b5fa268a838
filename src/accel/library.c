/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/library.h"

#include <dlfcn.h>
#include <stdio.h>

void *
library_open(const char *directory, const char *name, const char *origin,
             struct error *err)
{
    char path[256];
    void *library;

    (void)snprintf(path, sizeof(path), "%s%s%s",
                   directory != NULL ? directory : "",
                   directory != NULL ? "/" : "", name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)error_set(err, ERROR_NOT_FOUND, "%s is not there", name);
        (void)error_help(err, "It comes with %s.", origin);
    }
    return library;
}

void
library_say(const struct accel *accel, const char *key)
{
    struct accel_trail *trail = accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->card, sizeof(trail->card), "%s", key);
}

const char *
library_node_name(const struct accel *accel)
{
    (void)accel;
    return "";
}
