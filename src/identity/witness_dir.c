/* SPDX-License-Identifier: Apache-2.0 */
#include "identity/witness_dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>

#include "base/arena.h"
#include "base/file.h"

#define DIRECTORY_MODE 0700
#define FILE_MODE 0600
#define EVIDENCE_MAX 100 /* of one log and size */

static int
take_lock(struct witness_dir *witness, const char *path, struct error *err)
{
    scoped_buffer file = { 0 };

    buffer_printf(&file, "%s/lock", path);
    witness->lock = open(file.bytes, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (witness->lock < 0)
        return error_set(err, ERROR_INTERNAL, "%s: %s", file.bytes,
                         strerror(errno));
    if (flock(witness->lock, LOCK_EX | LOCK_NB) != 0)
        return error_set(err, ERROR_BUSY,
                         "another witness is at work in %s", path);
    return 0;
}

/* The name is chosen once: verifiers know the key under it. */
static int
settle_name(struct witness_dir *witness, const char *path, const char *name,
            struct error *err)
{
    scoped_buffer file = { 0 }, text = { 0 };
    const char *found;

    buffer_printf(&file, "%s/name", path);
    if (file_read(file.bytes, RECORD_ORIGIN_MAX, &text, err) != 0 &&
        err->code != ERROR_NOT_FOUND)
        return -1;
    found = buffer_text(&text);
    if (text.size > 0)
        text.bytes[strcspn(text.bytes, "\n")] = '\0';
    if (text.size > 0 && name != NULL && strcmp(found, name) != 0)
        return error_set(err, ERROR_CONFLICT,
                         "%s is the directory of the witness %s", path, found);
    if (text.size == 0 && name == NULL)
        return error_set(err, ERROR_INVALID,
                         "the witness has no name yet: give it one with "
                         "--name");
    if (!checkpoint_origin_valid(text.size > 0 ? found : name))
        return error_set(err, ERROR_INVALID,
                         "a witness's name has no spaces and no '+'");
    (void)snprintf(witness->self.name, sizeof(witness->self.name), "%s",
                   text.size > 0 ? found : name);
    if (text.size > 0)
        return 0;
    buffer_printf(&text, "%s\n", name);
    return file_write(file.bytes, text.bytes, text.size, FILE_MODE, err);
}

int
witness_dir_open(struct witness_dir *witness_out, const char *path,
                 const char *name, struct error *err)
{
    struct witness_dir witness = { .lock = -1 };
    scoped_buffer key = { 0 }, logs = { 0 }, evidence = { 0 };

    buffer_printf(&key, "%s/key", path);
    buffer_printf(&logs, "%s/logs", path);
    buffer_printf(&evidence, "%s/evidence", path);
    if (file_make_directory(logs.bytes, DIRECTORY_MODE, err) != 0 ||
        file_make_directory(evidence.bytes, DIRECTORY_MODE, err) != 0 ||
        take_lock(&witness, path, err) != 0 ||
        settle_name(&witness, path, name, err) != 0 ||
        sign_key_open(key.bytes, &witness.key, err) != 0) {
        fd_closep(&witness.lock);
        return error_prefix(err, "witness");
    }
    memcpy(witness.self.public_key, witness.key.public_key, SIGN_PUBLIC_SIZE);
    witness.self.witness = true;
    witness.path = memory_strdup(path);
    *witness_out = witness;
    return 0;
}

void
witness_dir_close(struct witness_dir *witness)
{
    fd_closep(&witness->lock);
    free(witness->path);
    secret_clear(witness, sizeof(*witness));
    witness->lock = -1;
}

static void
log_path(struct buffer *out, const char *path, const char *origin)
{
    buffer_printf(out, "%s/logs/", path);
    checkpoint_add_file_name(out, origin);
}

int
witness_dir_last(const struct witness_dir *witness, const char *origin,
                 struct checkpoint *last_out, struct buffer *note_out,
                 struct error *err)
{
    scoped_buffer path = { 0 }, note = { 0 };
    struct checkpoint last = { .size = 0 };
    size_t used;

    log_path(&path, witness->path, origin);
    (void)snprintf(last.origin, sizeof(last.origin), "%s", origin);
    digest_of("", 0, &last.root);
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, &note, err) != 0) {
        if (err->code != ERROR_NOT_FOUND)
            return -1;
    } else if (checkpoint_parse(buffer_text(&note), note.size, &last, &used,
                                err) != 0 ||
               used != note.size || strcmp(last.origin, origin) != 0) {
        return error_set(err, ERROR_INTERNAL,
                         "what was witnessed of %s is damaged: %s", origin,
                         path.bytes);
    }
    *last_out = last;
    if (note_out != NULL)
        buffer_add(note_out, note.bytes, note.size);
    return 0;
}

/* Both heads behind each other, in a file that does not exist yet. */
static int
keep_evidence(const struct witness_dir *witness,
              const struct witness_request *request, const struct buffer *had,
              struct error *err)
{
    scoped_buffer both = { 0 }, seen = { 0 };

    buffer_add(&both, had->bytes, had->size);
    buffer_add(&both, request->note, request->note_size);
    for (unsigned i = 0; i < EVIDENCE_MAX; i++) {
        scoped_buffer path = { 0 };

        buffer_printf(&path, "%s/evidence/", witness->path);
        checkpoint_add_file_name(&path, request->next.origin);
        buffer_printf(&path, "-%" PRIu64 "-%u", request->next.size, i);
        buffer_clear(&seen);
        if (file_read(path.bytes, 2 * CHECKPOINT_NOTE_MAX, &seen, err) == 0) {
            if (seen.size == both.size &&
                memcmp(seen.bytes, both.bytes, both.size) == 0)
                return 0;
            continue;
        }
        return file_write(path.bytes, both.bytes, both.size, FILE_MODE, err);
    }
    return 0;
}

/* Does a signed head contradict what was cosigned?  A proof that does not hold
 * is one only when it begins where the witness is. */
static bool
contradicts(const struct witness_request *request,
            const struct checkpoint *last, enum witness_verdict verdict)
{
    if (last->size == 0 || verdict == WITNESS_UNSIGNED)
        return false;
    return request->next.size < last->size ||
           (verdict == WITNESS_INCONSISTENT &&
            request->old_size == last->size) ||
           (request->next.size == last->size &&
            digest_compare(&request->next.root, &last->root) != 0);
}

static int
cosign(const struct witness_dir *witness,
       const struct witness_request *request, uint64_t now_s,
       struct buffer *answer, struct error *err)
{
    scoped_buffer note = { 0 }, line = { 0 }, path = { 0 };

    checkpoint_cosign(&line, &request->next, witness->self.name,
                      &witness->key, now_s);
    buffer_add(&note, request->note, request->note_size);
    buffer_add(&note, line.bytes, line.size);
    if (note.size > CHECKPOINT_NOTE_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "the checkpoint bears too many signatures");
    log_path(&path, witness->path, request->next.origin);
    if (file_write(path.bytes, note.bytes, note.size, FILE_MODE, err) != 0)
        return -1;
    buffer_add(answer, line.bytes, line.size);
    return WITNESS_COSIGN;
}

static const char *
sentence(enum witness_verdict verdict)
{
    switch (verdict) {
    case WITNESS_MALFORMED:
        return "the old size is above the checkpoint's\n";
    case WITNESS_UNSIGNED:
        return "no signature is of a key that is trusted for this log\n";
    case WITNESS_INCONSISTENT:
        return "the proof does not show that the log was only extended\n";
    case WITNESS_COSIGN:
    case WITNESS_CONFLICT:
        break;
    }
    return "";
}

int
witness_dir_add(const struct witness_dir *witness, const char *request,
                size_t size, const struct checkpoint_key *keys,
                size_t key_count, uint64_t now_s, struct buffer *answer_out,
                struct error *err)
{
    struct witness_request parsed;
    struct checkpoint last = { .size = 0 };
    enum witness_verdict verdict;
    scoped_buffer had = { 0 };
    struct error wrong;

    if (witness_parse(request, size, &parsed, &wrong) != 0) {
        buffer_printf(answer_out, "%s\n", wrong.text);
        return WITNESS_MALFORMED;
    }
    if (witness_dir_last(witness, parsed.next.origin, &last, &had, err) != 0)
        return -1;
    verdict = witness_judge(&parsed, &last, keys, key_count);
    if (contradicts(&parsed, &last, verdict) &&
        keep_evidence(witness, &parsed, &had, err) != 0)
        return -1;
    if (verdict == WITNESS_COSIGN)
        return cosign(witness, &parsed, now_s, answer_out, err);
    if (verdict == WITNESS_CONFLICT)
        buffer_printf(answer_out, "%" PRIu64 "\n", last.size);
    buffer_add_text(answer_out, sentence(verdict));
    return (int)verdict;
}

static int
is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int
take_one(const char *directory, const char *name,
         int (*take)(void *context, const struct checkpoint *checkpoint,
                     const struct buffer *note, struct error *err),
         void *context, struct error *err)
{
    scoped_buffer path = { 0 }, note = { 0 };
    struct checkpoint read;
    size_t used;

    buffer_printf(&path, "%s/%s", directory, name);
    if (file_read(path.bytes, CHECKPOINT_NOTE_MAX, &note, err) != 0 ||
        checkpoint_parse(buffer_text(&note), note.size, &read, &used, err) !=
            0)
        return error_prefix(err, "%s", path.bytes);
    return take(context, &read, &note, err);
}

int
witness_dir_each(const char *path,
                 int (*take)(void *context,
                             const struct checkpoint *checkpoint,
                             const struct buffer *note, struct error *err),
                 void *context, struct error *err)
{
    scoped_buffer logs = { 0 };
    struct dirent **entries = NULL;
    int count, result = 0;

    buffer_printf(&logs, "%s/logs", path);
    count = scandir(logs.bytes, &entries, is_visible, alphasort);
    if (count < 0)
        return error_set(err, ERROR_NOT_FOUND, "%s: %s", logs.bytes,
                         strerror(errno));
    for (int i = 0; i < count; i++) {
        if (result == 0)
            result = take_one(logs.bytes, entries[i]->d_name, take, context,
                              err);
        free(entries[i]);
    }
    free((void *)entries);
    return result;
}
