/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_IDMAP_H
#define RUNNER_IDMAP_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * How do files whose owners on disk are one range of ids appear to an
 * instance as owned by its own ids 0..65535?  By a mount of them that maps
 * ids (Linux 5.12): nothing on disk changes, and no file is ever root's.
 */

/* A user namespace that maps `from`.. to `to`.. for 65,536 ids, to be used
 * with idmap_mount.  Returns its descriptor or -1. */
int idmap_open(int64_t from, int64_t to, struct error *err);

/* The same for one `from`, out of those that were made lately: a mount only
 * looks at the map, so instances that follow each other may share it.  The
 * descriptor is the caller's. */
#define IDMAPS_KEPT 64
struct idmaps {
    pthread_mutex_t lock;
    struct {
        int64_t to;
        int fd;
    } kept[IDMAPS_KEPT];
    size_t count, next;
};
void idmaps_init(struct idmaps *maps);
void idmaps_release(struct idmaps *maps);
int idmaps_open(struct idmaps *maps, int64_t from, int64_t to,
                struct error *err);

/* A user namespace whose ids 0.. are the host's base.., kept by a mount at the
 * path of a new file.  It belongs to the id `base`, not to root: what the
 * kernel counts for the maker of a namespace (inotify instances and watches)
 * is then counted for this instance alone, and none can use up that of the
 * others and of the machine.  A child makes it meanwhile: begin, keep, and
 * when there is time to wait for the child's end, end. */
struct idmap_keeping {
    int64_t base;
    int said[2]; /* the child is in its namespace */
    pid_t pid;   /* 0: there is none */
};
int idmap_begin(int64_t base, struct idmap_keeping *out, struct error *err);
int idmap_keep(const struct idmap_keeping *keeping, const char *path,
               struct error *err);
void idmap_end(struct idmap_keeping *keeping); /* also of all zero */

struct idmap_flags {
    bool read_only;
    bool no_exec;
    bool recursive;
};

/* Mounts source (file or directory) at target (same kind), ids mapped by
 * userns_fd (-1: unmapped), always without setuid and devices. */
int idmap_mount(int userns_fd, const char *source, const char *target,
                struct idmap_flags flags, struct error *err);

/* Starts a child in namespaces of the given CLONE_ flags; with CLONE_NEWUSER
 * its ids 0.. are the host's base... The child runs child(data) and ends with
 * its value.  Returns its pid or -1. */
pid_t idmap_child(unsigned long flags, int64_t inside, int64_t base,
                  int (*child)(void *data), void *data, struct error *err);
/* A child that keeps its namespaces until it is killed. */
int idmap_wait(void *data);

#endif
