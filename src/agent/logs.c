/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/logs.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

#define PIECE 65536
#define POLL_US 100000
#define MARKS 64 /* of all instances: where readers stopped */

/* In this instance's log, this byte of the text is at this engine offset. */
struct mark {
    char instance[ID_TEXT_MAX];
    int64_t incarnation;
    int64_t text;
    int64_t offset;
};

struct logs {
    struct engine *engine;
    char *directory;
    pthread_mutex_t lock; /* of the marks */
    struct mark marks[MARKS];
    size_t next; /* the oldest */
};

struct logs *
logs_new(struct engine *engine, const char *directory)
{
    struct logs *logs = memory_new(1, sizeof(*logs));

    logs->engine = engine;
    logs->directory = memory_strdup(directory);
    (void)pthread_mutex_init(&logs->lock, NULL);
    return logs;
}

void
logs_free(struct logs *logs)
{
    (void)pthread_mutex_destroy(&logs->lock);
    free(logs->directory);
    free(logs);
}

/* The nearest known place at or before the wanted byte; else the start. */
static struct mark
find_mark(struct logs *logs, const struct order_log *wanted)
{
    struct mark best = { .incarnation = wanted->incarnation };

    (void)snprintf(best.instance, sizeof(best.instance), "%s",
                   wanted->instance);
    (void)pthread_mutex_lock(&logs->lock);
    for (size_t i = 0; i < MARKS; i++) {
        const struct mark *mark = &logs->marks[i];

        if (mark->incarnation == best.incarnation &&
            mark->text > best.text && mark->text <= wanted->offset &&
            strcmp(mark->instance, best.instance) == 0)
            best = *mark;
    }
    (void)pthread_mutex_unlock(&logs->lock);
    return best;
}

static void
set_mark(struct logs *logs, const struct mark *mark)
{
    (void)pthread_mutex_lock(&logs->lock);
    logs->marks[logs->next] = *mark;
    logs->next = (logs->next + 1) % MARKS;
    (void)pthread_mutex_unlock(&logs->lock);
}

/* A kept log begins with one byte: 'T' when the size cap cut it, else 'C'. */

/* Ids come from signed orders, and still name no path. */
static int
make_path(const char *directory, const char *instance, int64_t incarnation,
          struct buffer *path, struct error *err)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789_-";

    if (instance[0] == '\0' || instance[strspn(instance, plain)] != '\0')
        return error_set(err, ERROR_INVALID, "not an instance id");
    buffer_printf(path, "%s/%s.%lld", directory, instance,
                  (long long)incarnation);
    return 0;
}

/* --- keeping --- */

struct oldest {
    char name[NAME_MAX + 1];
    struct timespec time;
    size_t count;
};

static void
look_at(const char *directory, struct oldest *oldest)
{
    DIR *dir = opendir(directory);
    const struct dirent *entry;

    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        struct stat status;

        if (entry->d_name[0] == '.' ||
            fstatat(dirfd(dir), entry->d_name, &status,
                    AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (oldest->count++ == 0 ||
            status.st_mtim.tv_sec < oldest->time.tv_sec ||
            (status.st_mtim.tv_sec == oldest->time.tv_sec &&
             status.st_mtim.tv_nsec < oldest->time.tv_nsec)) {
            oldest->time = status.st_mtim;
            (void)snprintf(oldest->name, sizeof(oldest->name), "%s",
                           entry->d_name);
        }
    }
    if (dir != NULL)
        (void)closedir(dir);
}

static void
prune(const char *directory)
{
    for (;;) {
        struct oldest oldest = { 0 };
        scoped_buffer path = { 0 };

        look_at(directory, &oldest);
        if (oldest.count <= LOGS_KEPT)
            return;
        buffer_printf(&path, "%s/%s", directory, oldest.name);
        if (unlink(path.bytes) != 0)
            return;
    }
}

static int
read_whole(struct engine *engine, const char *instance, int64_t incarnation,
           struct buffer *out, struct error *err)
{
    int64_t offset = 0;

    buffer_add_byte(out, 'C');
    for (;;) {
        struct engine_log piece = { 0 };
        int result = engine->ops->log(engine, instance, incarnation, offset,
                                      PIECE, &piece, err);
        bool last = result != 0 || piece.complete || piece.bytes.size == 0 ||
                    out->size > LOGS_SIZE_MAX;

        buffer_add(out, piece.bytes.bytes, piece.bytes.size);
        if (piece.truncated || out->size > LOGS_SIZE_MAX)
            out->bytes[0] = 'T';
        offset = piece.next;
        /* complete says that nothing follows what was given. */
        if (piece.complete && piece.bytes.size > 0 && result == 0)
            last = piece.bytes.size < PIECE;
        buffer_release(&piece.bytes);
        if (last)
            return result;
    }
}

int
logs_keep(struct logs *logs, const char *instance, int64_t incarnation,
          struct error *err)
{
    const char *directory = logs->directory;
    scoped_buffer path = { 0 };
    scoped_buffer bytes = { 0 };

    if (make_path(directory, instance, incarnation, &path, err) != 0)
        return -1;
    if (access(path.bytes, F_OK) == 0)
        return 0;
    if (read_whole(logs->engine, instance, incarnation, &bytes, err) != 0)
        /* What is gone already has no log to keep. */
        return err->code == ERROR_GONE || err->code == ERROR_NOT_FOUND ? 0
                                                                       : -1;
    if (file_make_directory(directory, 0700, err) != 0 ||
        file_write(path.bytes, bytes.bytes, bytes.size, 0600, err) != 0)
        return -1;
    prune(directory);
    return 0;
}

/* --- reading --- */

static int
read_kept(const char *directory, const struct order_log *wanted,
          struct engine_log *out, struct error *err)
{
    scoped_buffer path = { 0 };
    scoped_buffer bytes = { 0 };
    size_t size, from;

    if (make_path(directory, wanted->instance, wanted->incarnation, &path,
                  err) != 0)
        return -1;
    if (access(path.bytes, R_OK) != 0)
        return error_set(err, ERROR_GONE, "the log is no longer kept");
    if (file_read(path.bytes, LOGS_SIZE_MAX + 2 * PIECE, &bytes, err) != 0)
        return -1;
    size = bytes.size > 0 ? bytes.size - 1 : 0;
    from = (size_t)wanted->offset < size ? (size_t)wanted->offset : size;
    size -= from;
    if (size > (size_t)wanted->max)
        size = (size_t)wanted->max;
    buffer_add(&out->bytes, buffer_text(&bytes) + 1 + from, size);
    out->next = wanted->offset + (int64_t)size;
    out->complete = from + size + 1 >= bytes.size;
    out->truncated = bytes.size > 0 && bytes.bytes[0] == 'T';
    return 0;
}

/* From the engine: reads on from the nearest mark until the wanted byte is
 * reached.  The text before it is passed over. */
static int
read_live(struct logs *logs, const struct order_log *wanted,
          struct engine_log *out, struct error *err)
{
    struct mark mark = find_mark(logs, wanted);

    for (;;) {
        int64_t before = mark.offset;
        size_t skip, size;

        buffer_clear(&out->bytes);
        if (logs->engine->ops->log(logs->engine, wanted->instance,
                                   wanted->incarnation, mark.offset,
                                   wanted->max, out, err) != 0)
            return -1;
        mark.offset = out->next;
        mark.text += (int64_t)out->bytes.size;
        if (mark.text < wanted->offset && !out->complete &&
            mark.offset > before)
            continue;
        if (mark.text > wanted->offset || mark.offset > before)
            set_mark(logs, &mark);
        size = mark.text > wanted->offset
                   ? (size_t)(mark.text - wanted->offset)
                   : 0;
        skip = size < out->bytes.size ? out->bytes.size - size : 0;
        if (skip > 0)
            memmove(out->bytes.bytes, out->bytes.bytes + skip,
                    out->bytes.size - skip);
        out->bytes.size -= skip;
        out->next = wanted->offset + (int64_t)out->bytes.size;
        return 0;
    }
}

static int
read_piece(struct logs *logs, const struct order_log *wanted,
           struct engine_log *out, struct error *err)
{
    if (read_live(logs, wanted, out, err) == 0)
        return 0;
    if (err->code != ERROR_GONE && err->code != ERROR_NOT_FOUND)
        return -1;
    buffer_clear(&out->bytes);
    return read_kept(logs->directory, wanted, out, err);
}

static void
fill(struct arena *arena, const struct engine_log *piece,
     struct report_log *fact)
{
    char *bytes = arena_alloc(arena, piece->bytes.size + 1);

    if (piece->bytes.size > 0)
        memcpy(bytes, piece->bytes.bytes, piece->bytes.size);
    fact->bytes = bytes;
    fact->size = piece->bytes.size;
    fact->next = piece->next;
    fact->complete = piece->complete;
    fact->truncated = piece->truncated;
}

void
logs_read(struct logs *logs, const struct order_log *wanted,
          struct arena *arena, struct report_log *fact_out)
{
    int64_t until_ms = clock_mono_ms() + wanted->wait_ms;
    struct report_log fact = { .request = wanted->request,
                               .bytes = "",
                               .failure = "",
                               .next = wanted->offset };

    for (;;) {
        struct engine_log piece = { 0 };
        struct error err;
        bool failed = read_piece(logs, wanted, &piece, &err) != 0;
        bool enough = failed || piece.bytes.size > 0 || piece.complete ||
                      clock_mono_ms() >= until_ms;

        if (failed)
            fact.failure = arena_printf(arena, "%.120s", err.text);
        else if (enough)
            fill(arena, &piece, &fact);
        buffer_release(&piece.bytes);
        if (enough)
            break;
        (void)usleep(POLL_US);
    }
    *fact_out = fact;
}
