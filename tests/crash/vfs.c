/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/crash/vfs.h"

#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"

#define PATH_ROOM 256
#define FILES 64
#define PIECE 256 /* half a sector */
/* So long an answer that does not wait for its sync has to slip out. */
#define LEAK_MS 15

/* One write or truncation since the last sync. */
struct undo {
    struct undo *next; /* the one before */
    sqlite3_int64 offset, size_before;
    size_t size;
    bool truncates;   /* to offset */
    size_t old_size;  /* bytes that were there */
    unsigned char *old, *new;
};

/* One path, whoever has it open. */
struct disk_file {
    char path[PATH_ROOM];
    struct undo *last;
};

struct open_file {
    sqlite3_file base;
    struct disk_file *disk; /* NULL: of no interest */
    sqlite3_file *real;
};

static struct {
    pthread_mutex_t lock;
    sqlite3_vfs *real;
    struct vfs_plan plan;
    long syncs, writes;
    struct disk_file files[FILES];
    size_t count;
} disk = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* --- what the power leaves --- */

static void
put(int fd, const unsigned char *bytes, size_t size, sqlite3_int64 offset)
{
    while (size > 0) {
        ssize_t done = pwrite(fd, bytes, size, offset);

        assert(done > 0);
        bytes += done;
        offset += done;
        size -= (size_t)done;
    }
}

static size_t
take_back(int fd, const struct undo *last)
{
    size_t count = 0;

    for (const struct undo *undo = last; undo != NULL; undo = undo->next) {
        int rc;

        put(fd, undo->old, undo->old_size, undo->offset);
        rc = ftruncate(fd, undo->size_before);
        assert(rc == 0);
        count++;
    }
    return count;
}

static bool
coin(void)
{
    return rand_r(&disk.plan.seed) % 2 == 0;
}

static void
tear_one(int fd, const struct undo *undo)
{
    if (undo->truncates) {
        struct stat status;

        if (coin() && fstat(fd, &status) == 0 &&
            status.st_size > undo->offset &&
            ftruncate(fd, undo->offset) != 0)
            abort();
        return;
    }
    for (size_t at = 0; at < undo->size; at += PIECE) {
        size_t left = undo->size - at;

        if (coin())
            put(fd, undo->new + at, left < PIECE ? left : PIECE,
                undo->offset + (sqlite3_int64)at);
    }
}

/* Some of them, in an order of the disk's own. */
static void
tear(int fd, const struct undo *last, size_t count)
{
    const struct undo **list = memory_new(count + 1, sizeof(*list));
    size_t at = 0;

    for (const struct undo *undo = last; undo != NULL; undo = undo->next)
        list[at++] = undo;
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)rand_r(&disk.plan.seed) % i;
        const struct undo *moved = list[i - 1];

        list[i - 1] = list[other];
        list[other] = moved;
    }
    for (size_t i = 0; i < count; i++)
        if (coin() || coin())
            tear_one(fd, list[i]);
    free(list);
}

static void
leave_file(const struct disk_file *file, enum vfs_fault fault)
{
    int fd;
    size_t count;

    if (file->last == NULL || (fd = open(file->path, O_RDWR | O_CLOEXEC)) < 0)
        return;
    count = take_back(fd, file->last);
    if (fault == VFS_TEAR)
        tear(fd, file->last, count);
    (void)close(fd);
}

/* Under the lock, which nobody gets any more. */
static void die(enum vfs_fault fault) __attribute__((noreturn));

static void
die(enum vfs_fault fault)
{
    for (size_t i = 0; fault != VFS_KEEP && i < disk.count; i++)
        leave_file(&disk.files[i], fault);
    (void)kill(getpid(), SIGKILL);
    abort();
}

void
vfs_crash(enum vfs_fault fault)
{
    (void)pthread_mutex_lock(&disk.lock);
    die(fault);
}

/* --- the moments --- */

static void
wait_ms(int ms)
{
    const struct timespec pause = { ms / 1000, ms % 1000 * 1000000L };

    (void)nanosleep(&pause, NULL);
}

static bool
is_end(enum vfs_fault fault)
{
    return fault == VFS_KEEP || fault == VFS_DROP || fault == VFS_TEAR;
}

/* Under the lock; SQLITE_OK or the error to give. */
static int
count_sync(void)
{
    const struct vfs_plan plan = disk.plan;

    if (++disk.syncs != plan.sync)
        return SQLITE_OK;
    if (is_end(plan.fault) || plan.fault == VFS_SLOW) {
        (void)pthread_mutex_unlock(&disk.lock);
        wait_ms(plan.fault == VFS_SLOW ? plan.slow_ms : LEAK_MS);
        (void)pthread_mutex_lock(&disk.lock);
        if (plan.fault != VFS_SLOW)
            die(plan.fault);
    }
    return plan.fault == VFS_SYNC_EIO ? SQLITE_IOERR_FSYNC : SQLITE_OK;
}

static int
count_write(void)
{
    const struct vfs_plan *plan = &disk.plan;

    disk.writes++;
    if (plan->fault == VFS_FULL && plan->write > 0 &&
        disk.writes >= plan->write)
        return SQLITE_FULL;
    if (disk.writes != plan->write)
        return SQLITE_OK;
    if (is_end(plan->fault))
        die(plan->fault);
    return plan->fault == VFS_WRITE_EIO ? SQLITE_IOERR_WRITE : SQLITE_OK;
}

/* --- remembering --- */

static void
forget(struct disk_file *file)
{
    while (file->last != NULL) {
        struct undo *undo = file->last;

        file->last = undo->next;
        free(undo->old);
        free(undo->new);
        free(undo);
    }
}

static void
remember(struct open_file *file, sqlite3_int64 offset, const void *bytes,
         size_t size, bool truncates)
{
    struct undo *undo = memory_new(1, sizeof(*undo));
    sqlite3_int64 had;
    int rc = file->real->pMethods->xFileSize(file->real, &undo->size_before);

    assert(rc == SQLITE_OK);
    had = undo->size_before - offset;
    undo->offset = offset;
    undo->size = size;
    undo->truncates = truncates;
    undo->old_size = had <= 0 ? 0 : (size_t)had;
    if (!truncates && undo->old_size > size)
        undo->old_size = size;
    undo->old = memory_new(undo->old_size + 1, 1);
    undo->new = memory_new(size + 1, 1);
    if (size > 0)
        memcpy(undo->new, bytes, size);
    if (undo->old_size > 0)
        rc = file->real->pMethods->xRead(file->real, undo->old,
                                         (int)undo->old_size, offset);
    assert(rc == SQLITE_OK);
    undo->next = file->disk->last;
    file->disk->last = undo;
}

static struct disk_file *
find_file(const char *path)
{
    for (size_t i = 0; i < disk.count; i++)
        if (strcmp(disk.files[i].path, path) == 0)
            return &disk.files[i];
    return NULL;
}

static struct disk_file *
find_or_add(const char *path)
{
    struct disk_file *file = find_file(path);

    if (file != NULL)
        return file;
    assert(disk.count < FILES && strlen(path) < PATH_ROOM);
    file = &disk.files[disk.count++];
    (void)snprintf(file->path, sizeof(file->path), "%s", path);
    return file;
}

/* --- methods of a file --- */

static struct open_file *
of(sqlite3_file *file)
{
    return (struct open_file *)file;
}

#define REAL(file) (of(file)->real)
#define METHODS(file) (of(file)->real->pMethods)

static int
file_close(sqlite3_file *file)
{
    int rc = METHODS(file)->xClose(REAL(file));

    sqlite3_free(REAL(file));
    return rc;
}

static int
file_read(sqlite3_file *file, void *out, int size, sqlite3_int64 offset)
{
    return METHODS(file)->xRead(REAL(file), out, size, offset);
}

static int
file_write(sqlite3_file *file, const void *bytes, int size,
           sqlite3_int64 offset)
{
    int rc;

    if (of(file)->disk == NULL)
        return METHODS(file)->xWrite(REAL(file), bytes, size, offset);
    (void)pthread_mutex_lock(&disk.lock);
    rc = count_write();
    if (rc == SQLITE_OK) {
        remember(of(file), offset, bytes, (size_t)size, false);
        rc = METHODS(file)->xWrite(REAL(file), bytes, size, offset);
    }
    (void)pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int
file_truncate(sqlite3_file *file, sqlite3_int64 size)
{
    int rc;

    if (of(file)->disk == NULL)
        return METHODS(file)->xTruncate(REAL(file), size);
    (void)pthread_mutex_lock(&disk.lock);
    remember(of(file), size, NULL, 0, true);
    rc = METHODS(file)->xTruncate(REAL(file), size);
    (void)pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int
file_sync(sqlite3_file *file, int flags)
{
    int rc;

    (void)flags;
    if (of(file)->disk == NULL)
        return SQLITE_OK;
    (void)pthread_mutex_lock(&disk.lock);
    rc = count_sync();
    if (rc == SQLITE_OK)
        forget(of(file)->disk);
    (void)pthread_mutex_unlock(&disk.lock);
    return rc;
}

static int
file_size(sqlite3_file *file, sqlite3_int64 *out)
{
    return METHODS(file)->xFileSize(REAL(file), out);
}

static int
file_lock(sqlite3_file *file, int level)
{
    return METHODS(file)->xLock(REAL(file), level);
}

static int
file_unlock(sqlite3_file *file, int level)
{
    return METHODS(file)->xUnlock(REAL(file), level);
}

static int
file_check_lock(sqlite3_file *file, int *out)
{
    return METHODS(file)->xCheckReservedLock(REAL(file), out);
}

static int
file_control(sqlite3_file *file, int op, void *argument)
{
    return METHODS(file)->xFileControl(REAL(file), op, argument);
}

static int
file_sector(sqlite3_file *file)
{
    return METHODS(file)->xSectorSize(REAL(file));
}

static int
file_traits(sqlite3_file *file)
{
    return METHODS(file)->xDeviceCharacteristics(REAL(file));
}

static int
file_shm_map(sqlite3_file *file, int page, int size, int extend,
             void volatile **out)
{
    return METHODS(file)->xShmMap(REAL(file), page, size, extend, out);
}

static int
file_shm_lock(sqlite3_file *file, int offset, int count, int flags)
{
    return METHODS(file)->xShmLock(REAL(file), offset, count, flags);
}

static void
file_shm_barrier(sqlite3_file *file)
{
    METHODS(file)->xShmBarrier(REAL(file));
}

static int
file_shm_unmap(sqlite3_file *file, int deletes)
{
    return METHODS(file)->xShmUnmap(REAL(file), deletes);
}

static const sqlite3_io_methods methods = {
    .iVersion = 2, /* without mapped pages: each write is seen */
    .xClose = file_close,
    .xRead = file_read,
    .xWrite = file_write,
    .xTruncate = file_truncate,
    .xSync = file_sync,
    .xFileSize = file_size,
    .xLock = file_lock,
    .xUnlock = file_unlock,
    .xCheckReservedLock = file_check_lock,
    .xFileControl = file_control,
    .xSectorSize = file_sector,
    .xDeviceCharacteristics = file_traits,
    .xShmMap = file_shm_map,
    .xShmLock = file_shm_lock,
    .xShmBarrier = file_shm_barrier,
    .xShmUnmap = file_shm_unmap,
};

/* --- the file system --- */

static int
disk_open(sqlite3_vfs *vfs, sqlite3_filename name, sqlite3_file *file,
          int flags, int *flags_out)
{
    const int seen = SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL |
                     SQLITE_OPEN_MAIN_JOURNAL;
    struct open_file *opened = of(file);
    int rc;

    (void)vfs;
    memset(opened, 0, sizeof(*opened));
    opened->real = sqlite3_malloc(disk.real->szOsFile);
    assert(opened->real != NULL);
    memset(opened->real, 0, (size_t)disk.real->szOsFile);
    rc = disk.real->xOpen(disk.real, name, opened->real, flags, flags_out);
    if (rc != SQLITE_OK) {
        sqlite3_free(opened->real);
        return rc;
    }
    if (name != NULL && (flags & seen) != 0) {
        (void)pthread_mutex_lock(&disk.lock);
        opened->disk = find_or_add(name);
        (void)pthread_mutex_unlock(&disk.lock);
    }
    opened->base.pMethods = &methods;
    return SQLITE_OK;
}

static int
disk_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    struct disk_file *file;

    (void)vfs;
    (void)pthread_mutex_lock(&disk.lock);
    file = find_file(name);
    if (file != NULL)
        forget(file);
    (void)pthread_mutex_unlock(&disk.lock);
    return disk.real->xDelete(disk.real, name, sync);
}

void
vfs_register(void)
{
    static sqlite3_vfs vfs;
    int rc;

    disk.real = sqlite3_vfs_find(NULL);
    vfs = *disk.real;
    vfs.pNext = NULL;
    vfs.zName = "crash";
    vfs.szOsFile = (int)sizeof(struct open_file);
    vfs.xOpen = disk_open;
    vfs.xDelete = disk_delete;
    rc = sqlite3_vfs_register(&vfs, 1);
    assert(rc == SQLITE_OK);
    (void)rc;
}

void
vfs_begin(const struct vfs_plan *plan)
{
    (void)pthread_mutex_lock(&disk.lock);
    for (size_t i = 0; i < disk.count; i++)
        forget(&disk.files[i]);
    disk.count = 0;
    disk.plan = *plan;
    disk.syncs = disk.writes = 0;
    (void)pthread_mutex_unlock(&disk.lock);
}

long
vfs_syncs(void)
{
    long count;

    (void)pthread_mutex_lock(&disk.lock);
    count = disk.syncs;
    (void)pthread_mutex_unlock(&disk.lock);
    return count;
}

long
vfs_writes(void)
{
    long count;

    (void)pthread_mutex_lock(&disk.lock);
    count = disk.writes;
    (void)pthread_mutex_unlock(&disk.lock);
    return count;
}
