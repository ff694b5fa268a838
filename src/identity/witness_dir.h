/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IDENTITY_WITNESS_DIR_H
#define IDENTITY_WITNESS_DIR_H

#include "core/witness.h"

/*
 * What has this witness vouched for?  Its directory, on a host that the
 * control plane's root cannot write:
 *
 *   name           the name under which it cosigns
 *   key            its own key, 0600, made at first
 *   logs/LOG       of each log the newest head that it cosigned, as a note
 *   evidence/LOG-SIZE-N
 *                  two heads, both signed, that cannot both be true: what it
 *                  had cosigned, and what it was shown then
 *
 * One process at a time.  A head is on disk before its cosignature leaves.
 */

struct witness_dir {
    char *path; /* owned */
    int lock;
    struct checkpoint_key self; /* name and public key */
    struct sign_key key;
};

/* Makes what is not there.  name may be NULL when the directory has one;
 * ERROR_CONFLICT when it has another, ERROR_BUSY when a process uses it. */
int witness_dir_open(struct witness_dir *witness_out, const char *path,
                     const char *name, struct error *err);
void witness_dir_close(struct witness_dir *witness);

/* What was cosigned last of this log: size 0 when nothing was.  The note is
 * appended unless note_out is NULL.  A file that cannot be read or understood
 * is an error, never a fresh start. */
int witness_dir_last(const struct witness_dir *witness, const char *origin,
                     struct checkpoint *last_out, struct buffer *note_out,
                     struct error *err);

/* Answers a request of tlog-witness: the status, and the body appended to
 * answer_out; -1 when the directory cannot be read or written.  now_s is
 * UTC. */
int witness_dir_add(const struct witness_dir *witness, const char *request,
                    size_t size, const struct checkpoint_key *keys,
                    size_t key_count, uint64_t now_s,
                    struct buffer *answer_out, struct error *err);

/* Calls take with the note of each log, in order of names; -1 when it does or
 * when one cannot be read. */
int witness_dir_each(const char *path,
                     int (*take)(void *context,
                                 const struct checkpoint *checkpoint,
                                 const struct buffer *note,
                                 struct error *err),
                     void *context, struct error *err);

#endif
