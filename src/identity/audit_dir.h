/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_AUDIT_DIR_H
#define IDENTITY_AUDIT_DIR_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/digest.h"
#include "base/error.h"
#include "core/merkle.h"
#include "core/record.h"

/*
 * What do an audit log's files hold, and how do they grow?
 *
 * The layout follows C2SP tlog-tiles, so that reading needs no program of the
 * platform.  In the directory:
 *
 *   keys                      verifier keys, one a line, newest last
 *   rotations                 the signer's changes of its key, first to last
 *                             (core/keychain.h)
 *   LOG/                      one for each log: checkpoint_add_file_name
 *     head                    origin, entries laid down, their root (unsigned)
 *     tile/L/N, tile/L/N.p/W  hashes
 *     tile/entries/N[.p/W]    bundles of entries (core/record.h)
 *     personal/N[.p/W]        bundles of the personal parts; those of both
 *                             that were pruned are not there
 *     checkpoint              the newest signed note
 *     checkpoints             all of them behind each other
 *     cosigned                notes that witnesses cosigned, the newest of each
 *                             (identity/audit_cosigned.h)
 *
 * Tiles are written under temporary names and synced before `head` says that
 * they are there; partial tiles of the old head are removed only after that.
 * So a crash at any point leaves the old head or the new one, whole.  One
 * process writes a log at a time.
 */

struct audit_dir {
    char *path; /* of the log; owned */
    char origin[RECORD_ORIGIN_MAX];
    struct merkle tree; /* what `head` says */
};

struct audit_entry {
    const void *entry;
    size_t size;
    const void *personal;
    size_t personal_size; /* 0: erased */
    const struct digest *leaf; /* with entry NULL: it was pruned, and this is
                                  all that is left */
};

/* Opens the log below directory, making it when it is not there.
 * ERROR_VERIFY when the tiles do not give the root that `head` says. */
int audit_dir_open(struct audit_dir *log_out, const char *directory,
                   const char *origin, struct error *err);
/* The same for whoever only reads, while another process or thread may write:
 * ERROR_NOT_FOUND when there is no such log, ERROR_BUSY when it grew meanwhile
 * (ask again). */
int audit_dir_find(struct audit_dir *log_out, const char *directory,
                   const char *origin, struct error *err);
void audit_dir_close(struct audit_dir *log);

/* Lays down the entries [from, from + count).  Of a bundle with an entry that
 * was pruned the hashes alone are laid down, and the last entry laid down is
 * in a bundle without one.  Entries that are there already
 * are skipped when they are the same (ERROR_VERIFY otherwise), so a call may
 * be repeated; ERROR_CONFLICT when from leaves a gap. */
int audit_dir_append(struct audit_dir *log, uint64_t from,
                     const struct audit_entry *entries, size_t count,
                     struct error *err);

/* Adds a signed note of this log; nothing happens when it is the newest one
 * already.  ERROR_VERIFY when it is not the head of what is laid down. */
int audit_dir_add_checkpoint(struct audit_dir *log, const char *note,
                             size_t size, struct error *err);

/* Destroys salt and text of one entry's personal part.  Idempotent. */
int audit_dir_erase(struct audit_dir *log, uint64_t index, struct error *err);

/* Removes the bundles [from, to) of entries and personal parts; hashes stay.
 * Those that are gone already are no failure. */
int audit_dir_prune(const struct audit_dir *log, uint64_t from, uint64_t to,
                    struct error *err);
/* The hashes of the leaves of a whole bundle. */
int audit_dir_read_leaves(const struct audit_dir *log, uint64_t bundle,
                          struct digest leaves[MERKLE_TILE_WIDTH],
                          struct error *err);

/* A merkle_read; context is a struct audit_dir. */
int audit_dir_read_node(void *context, unsigned level, uint64_t index,
                        struct digest *out, struct error *err);

/* Keeps the signer's changes of its key.  ERROR_CONFLICT when they do not go
 * on from those that are there. */
int audit_dir_put_rotations(const char *directory, const struct buffer *notes,
                            struct error *err);
/* Appends them; nothing when there are none. */
int audit_dir_read_rotations(const char *directory, struct buffer *notes_out,
                             struct error *err);

/* Adds a verifier key (checkpoint_add_key) unless it is there. */
int audit_dir_add_key(const char *directory, const char *key,
                      struct error *err);

#endif
