/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_REMOVE_H
#define RUNNER_REMOVE_H

#include <stdbool.h>

/*
 * How are a directory of the runner and what is mounted below it taken away?
 * Links are removed, never followed, and other file systems are never entered.
 */

/* Deletes the tree; what is missing or cannot be deleted stays. */
void remove_all(const char *path);
/* Unmounts everything at and below path, innermost first; lazily, so that it
 * also works while something is still in use. */
void remove_mounts(const char *path);
/* Whether something is mounted exactly here. */
bool remove_is_mount(const char *path);

#endif
