/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/audit_cosigned.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/arena.h"
#include "base/file.h"
#include "identity/audit_dir.h"

#define FILE_MODE 0640
#define NOTES_MAX ((size_t)AUDIT_COSIGNED_MAX * CHECKPOINT_NOTE_MAX)

/* The root of the first `size` entries must be the one that is named. */
static int
check_root(struct audit_dir *log, const struct checkpoint *head,
           struct error *err)
{
    struct merkle tree;
    struct digest root;

    if (head->size > log->tree.size)
        return error_set(err, ERROR_VERIFY,
                         "%s: %" PRIu64 " entries are laid down, the note is "
                         "about %" PRIu64,
                         log->origin, log->tree.size, head->size);
    if (merkle_load(audit_dir_read_node, log, head->size, &tree, err) != 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_BUSY, "the log grows: ask again")
                   : -1;
    merkle_root(&tree, &root);
    if (digest_compare(&root, &head->root) != 0)
        return error_set(err, ERROR_VERIFY,
                         "%s: not the head of what is laid down",
                         log->origin);
    return 0;
}

/* Those of other witnesses into `out`; 1 when the file has a newer one of this
 * witness. */
static int
keep_others(const struct buffer *all, const struct checkpoint_key *witness,
            const struct checkpoint *head, uint64_t time_s,
            struct buffer *out, unsigned *count_out)
{
    const char *at = buffer_text(all), *end = at + all->size;
    struct checkpoint read;
    struct error ignored;
    uint64_t seen_s;
    size_t used;

    for (*count_out = 0; at < end && checkpoint_parse(at, (size_t)(end - at),
                                                      &read, &used,
                                                      &ignored) == 0;
         at += used) {
        if (checkpoint_check_cosignature(at, used, witness, &seen_s) != 0) {
            buffer_add(out, at, used);
            (*count_out)++;
        } else if (read.size > head->size ||
                   (read.size == head->size && seen_s >= time_s)) {
            return 1;
        }
    }
    return 0;
}

static int
put_note(const char *path, const char *note, size_t size,
         const struct checkpoint_key *witness, const struct checkpoint *head,
         uint64_t time_s, struct error *err)
{
    scoped_buffer all = { 0 }, next = { 0 };
    unsigned count;

    if (file_read(path, NOTES_MAX, &all, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    if (keep_others(&all, witness, head, time_s, &next, &count) == 1)
        return 0;
    if (count >= AUDIT_COSIGNED_MAX)
        return error_set(err, ERROR_CONFLICT,
                         "%u witnesses cosigned this log already", count);
    buffer_add(&next, note, size);
    return file_write(path, next.bytes, next.size, FILE_MODE, err);
}

/* Two at once would take away each other's notes. */
static int
put_locked(const struct audit_dir *log, const char *note, size_t size,
           const struct checkpoint_key *witness,
           const struct checkpoint *head, uint64_t time_s, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_fd lock = open(log->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (lock < 0 || flock(lock, LOCK_EX) != 0)
        return error_set(err, ERROR_INTERNAL, "cosigned: %s",
                         strerror(errno));
    buffer_printf(&path, "%s/cosigned", log->path);
    return put_note(path.bytes, note, size, witness, head, time_s, err);
}

int
audit_cosigned_add(const char *directory, const char *note, size_t size,
                   const struct checkpoint_key *witness, struct error *err)
{
    struct checkpoint head;
    struct audit_dir log;
    uint64_t time_s;
    size_t used;
    int result;

    if (checkpoint_parse(note, size, &head, &used, err) != 0)
        return -1;
    if (used != size)
        return error_set(err, ERROR_INVALID,
                         "something stands behind the checkpoint");
    if (!witness->witness ||
        checkpoint_check_cosignature(note, size, witness, &time_s) != 0)
        return error_set(err, ERROR_VERIFY,
                         "%s: the checkpoint bears no cosignature of %s that "
                         "holds",
                         head.origin, witness->name);
    if (audit_dir_find(&log, directory, head.origin, err) != 0)
        return -1;
    result = check_root(&log, &head, err);
    if (result == 0)
        result = put_locked(&log, note, size, witness, &head, time_s, err);
    audit_dir_close(&log);
    return result;
}

static int
read_signed(const char *path, struct checkpoint *head, struct buffer *note,
            struct error *err)
{
    scoped_buffer file = { 0 };
    size_t used;

    buffer_printf(&file, "%s/checkpoint", path);
    if (file_read(file.bytes, CHECKPOINT_NOTE_MAX, note, err) != 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_NOT_FOUND, "no head is signed yet")
                   : -1;
    return checkpoint_parse(buffer_text(note), note->size, head, &used, err);
}

static int
ask(struct audit_dir *log, uint64_t old_size, struct buffer *out,
    struct error *err)
{
    struct merkle_proof proof = { .count = 0 };
    scoped_buffer note = { 0 };
    struct checkpoint head;

    if (read_signed(log->path, &head, &note, err) != 0)
        return -1;
    if (head.size < old_size)
        return error_set(err, ERROR_CONFLICT,
                         "the signed head has %" PRIu64 " entries", head.size);
    if (head.size > log->tree.size)
        return error_set(err, ERROR_BUSY, "the log grows: ask again");
    if (old_size > 0 &&
        merkle_prove_consistency(audit_dir_read_node, log, old_size,
                                 head.size, &proof, err) != 0)
        return err->code == ERROR_NOT_FOUND
                   ? error_set(err, ERROR_BUSY, "the log grows: ask again")
                   : -1;
    witness_add_request(out, old_size, &proof, note.bytes, note.size);
    return 0;
}

int
audit_cosigned_ask(const char *directory, const char *origin,
                   uint64_t old_size, struct buffer *request_out,
                   struct error *err)
{
    struct audit_dir log;
    int result;

    if (audit_dir_find(&log, directory, origin, err) != 0)
        return -1;
    result = ask(&log, old_size, request_out, err);
    audit_dir_close(&log);
    return result;
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int
audit_cosigned_heads(const char *directory,
                     int (*take)(void *context, const struct checkpoint *head,
                                 struct error *err),
                     void *context, struct error *err)
{
    struct dirent **entries = NULL;
    int count = scandir(directory, &entries, is_visible, alphasort);
    int result = 0;

    if (count < 0)
        return error_set(err, ERROR_INTERNAL, "audit logs: %s",
                         strerror(errno));
    for (int i = 0; i < count; i++) {
        scoped_buffer path = { 0 }, note = { 0 };
        struct checkpoint head;
        struct error ignored;

        buffer_printf(&path, "%s/%s", directory, entries[i]->d_name);
        if (result == 0 &&
            read_signed(path.bytes, &head, &note, &ignored) == 0)
            result = take(context, &head, err);
        free(entries[i]);
    }
    free((void *)entries);
    return result;
}
