/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_BUILD_H
#define RUNNER_BUILD_H

#include "base/error.h"
#include "runner/container.h"
#include "runner/idmap.h"
#include "runner/network.h"

struct instance;
struct node;

/*
 * What does an instance's place look like?
 *
 *   PLACE/instance.json   journal           PLACE/log          of the container
 *   PLACE/made/           tmpfs: what does not outlive the boot, and in it
 *     config.json           for crun
 *     image/                the image, id-mapped, read-only
 *     upper/                tmpfs with what lies over it
 *     root/                 both together: the container's root
 *     run/                  /run/bulkhead inside
 *     volumes/N             volume N, id-mapped
 *     cards/N               file N of the grant
 */

/* Has the image ready, makes the journal and the empty place: enough for
 * conmon to begin.  What becomes the user namespace begins too; the caller
 * ends that (idmap_end) in any case. */
int build_ground(struct node *node, struct instance *instance,
                 struct idmap_keeping *keeping, struct error *err);
/* Makes files and mounts. */
int build_place(struct node *node, struct instance *instance,
                const struct idmap_keeping *keeping, struct error *err);
/* Writes the configuration and lets conmon make the container; netns is the
 * path of its network, "" without. */
int build_container(struct node *node, struct instance *instance,
                    const char *netns, struct container_pending *pending,
                    struct error *err);

#endif
