/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_BACKUP_H
#define STORE_BACKUP_H

#include <stdint.h>

#include "base/digest.h"
#include "base/error.h"
#include "store/store.h"

/*
 * What has to be kept elsewhere so that the platform can be had again, and how
 * is it put back?
 *
 * A backup is one file (base/archive.h) of
 *
 *   store   a copy of the database in one committed state, audit records
 *           included, so that the logs' files can be laid down again
 *   audit   the verifier keys and the newest signed head of each log
 *
 * No key is in it: neither the control plane's (control.key), which the
 * agents know it by, nor the signer's, nor the one that seals secrets.  They
 * are kept apart, or a backup would open everything to whoever gets it.
 *
 * The copy is marked (STORE_RESTORE): whoever opens it knows that it was put
 * back, and has to declare that (control/restore.h).
 */

#define BACKUP_KIND "bulkhead-backup"

struct backup_source {
    const struct store_ops *ops;
    const char *store;   /* directory; the copy is made in it for a while */
    const char *audit;   /* directory of the logs' files; NULL: none */
    const char *version; /* of the program */
    int64_t now_ms;
};

struct backup_info {
    char version[32];
    char created[32]; /* RFC 3339 */
    int64_t schema;
    int64_t revision;
    int64_t size; /* of the file */
    char digest[DIGEST_TEXT_MAX];
};

/* Writes a backup to fd, an empty file.  May run beside the writer. */
int backup_write(const struct backup_source *source, int fd,
                 struct backup_info *info_out, struct error *err);
/* The same to a path, by way of PATH.partial: afterwards there is the whole
 * backup, readable by its owner alone, or what was there before.
 * ERROR_CONFLICT when another one is being written there. */
int backup_file(const struct backup_source *source, const char *path,
                struct backup_info *info_out, struct error *err);

/* Reads all of a backup: ERROR_VERIFY when a byte of it is not right. */
int backup_check(const char *path, struct backup_info *info_out,
                 struct error *err);

/* Puts a backup into a data directory.  What is there ("store", "audit") is
 * moved into "before-restore-N" beside it and never removed.  When it is cut
 * off, the directory is as before, or backup_finish completes it. */
int backup_restore(const struct store_ops *ops, const char *path,
                   const char *data, struct backup_info *info_out,
                   struct error *err);
/* Completes a restore that was cut off; before a store in data is opened. */
int backup_finish(const char *data, struct error *err);

#endif
