/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CRASH_VFS_H
#define TESTS_CRASH_VFS_H

#include <stdbool.h>

/*
 * What is on a disk after the power went?  A layer under SQLite that knows
 * what each write since the last sync of its file replaced.  At a chosen sync
 * or write it ends the process, and the files are left as a disk might have
 * them that was told of no more than its syncs:
 *
 *   VFS_KEEP  all writes are there: the process died, the machine did not
 *   VFS_DROP  none of the unsynced ones
 *   VFS_TEAR  any of them, in any order, in halves of sectors
 *
 * or it lets writes and syncs fail, or a sync take long.  What was synced is
 * always there; nothing is really synced, the layer itself is the disk.
 */

enum vfs_fault {
    VFS_NONE,
    VFS_KEEP,
    VFS_DROP,
    VFS_TEAR,
    VFS_SYNC_EIO,  /* the sync fails, once */
    VFS_WRITE_EIO, /* the write fails, once */
    VFS_FULL,      /* from that write on */
    VFS_SLOW,      /* the sync takes slow_ms */
};

struct vfs_plan {
    enum vfs_fault fault;
    long sync;     /* at this sync, from 1; 0: not at a sync */
    long write;    /* at this write, from 1; 0: not at a write */
    unsigned seed; /* of what is torn */
    int slow_ms;
};

/* Makes the layer SQLite's default, once in a process. */
void vfs_register(void);
/* Counts anew from here, on an empty disk: no file is open. */
void vfs_begin(const struct vfs_plan *plan);
long vfs_syncs(void);
long vfs_writes(void);
/* The moment has come: does not return.  VFS_KEEP, VFS_DROP or VFS_TEAR. */
void vfs_crash(enum vfs_fault fault) __attribute__((noreturn));

#endif
