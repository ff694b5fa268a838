/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_BUILD_H
#define RUNNER_BUILD_H

#include "base/error.h"
#include "runner/container.h"
#include "runner/network.h"

struct instance;
struct node;

/*
 * What does an instance's place look like?
 *
 *   PLACE/instance.json   journal           PLACE/config.json  for crun
 *   PLACE/image/          the image, id-mapped, read-only
 *   PLACE/upper/          tmpfs with what lies over it
 *   PLACE/root/           both together: the container's root
 *   PLACE/run/            /run/bulkhead inside
 *   PLACE/volumes/N       volume N, id-mapped
 *   PLACE/cards/N         file N of the cards
 */

/* Makes directories, journal, mounts and the network namespace (its path in
 * netns_out, "" without network). */
int build_place(struct node *node, struct instance *instance,
                char netns_out[NETWORK_PATH_MAX], struct error *err);
/* Writes the configuration and starts conmon on it. */
int build_container(struct node *node, struct instance *instance,
                    const char *netns, struct container_pending *pending_out,
                    struct error *err);

#endif
