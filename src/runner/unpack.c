/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/unpack.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <zlib.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "runner/idmap.h"
#include "runner/process.h"

#define IDS 65536
#define PARTS_MAX 128
/* Leaves room for the cache's own path in front. */
#define PATH_BYTES_MAX 3072
#define CHUNK ((size_t)65536)
/* Descriptors of the child. */
enum { ROOT_FD = 3, ORDER_FD = 4, RESULT_FD = 5, LAYER_FD = 6 };

static int
refuse(struct error *err, const char *what, const char *path)
{
    return error_set(err, ERROR_INVALID, "the image is refused: %s: %.200s",
                     what, path);
}

static int
trouble(struct error *err, const char *what, const char *path)
{
    if (errno == ELOOP || errno == ENOTDIR || errno == EXDEV)
        return refuse(err, "an entry passes through a link", path);
    if (errno == ENOSPC || errno == EFBIG || errno == EDQUOT)
        return error_set(err, ERROR_TOO_LARGE, "the image does not fit: %s",
                         strerror(errno));
    return error_set(err, ERROR_INVALID, "%s %.200s: %s", what, path,
                     strerror(errno));
}

/* Brings a path into the form "a/b/c" in place, "" for the root. */
static int
clean_path(char *path, struct error *err)
{
    char *in = path;
    char *out = path;
    int parts = 0;

    if (path[0] == '/')
        return refuse(err, "an absolute path", path);
    if (strlen(path) > PATH_BYTES_MAX)
        return refuse(err, "a path that is too long", path);
    while (*in != '\0') {
        size_t size = strcspn(in, "/");

        if (size == 2 && memcmp(in, "..", 2) == 0)
            return refuse(err, "a path with ..", path);
        if (size > 255 || ++parts > PARTS_MAX)
            return refuse(err, "a path that is too deep or long", path);
        if (size > 0 && (size != 1 || *in != '.')) {
            if (out != path)
                *out++ = '/';
            memmove(out, in, size);
            out += size;
        }
        in += size;
        while (*in == '/')
            in++;
    }
    *out = '\0';
    return 0;
}

/* Opens the directory that holds path, making missing ones; *name_out is the
 * last part. */
static int
open_parent(int root_fd, char *path, const char **name_out, struct error *err)
{
    char *last = strrchr(path, '/');
    int fd;

    *name_out = last != NULL ? last + 1 : path;
    if (last == NULL)
        return fcntl(root_fd, F_DUPFD_CLOEXEC, 3);
    *last = '\0';
    fd = file_open_beneath(root_fd, path, O_RDONLY | O_DIRECTORY, 0, err);
    if (fd < 0 && errno == ENOENT) {
        const char *name;
        scoped_fd above = open_parent(root_fd, path, &name, err);

        if (above >= 0 && (mkdirat(above, name, 0755) == 0 || errno == EEXIST))
            fd = openat(above, name,
                        O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    *last = '/';
    if (fd < 0)
        (void)trouble(err, "open the place of", path);
    return fd;
}

static int
remove_entry(int parent, const char *name, int depth)
{
    int fd;
    DIR *directory;
    const struct dirent *entry;
    int result = 0;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if (errno != EISDIR && errno != EPERM)
        return -1;
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    directory = fd < 0 || depth > PARTS_MAX ? NULL : fdopendir(fd);
    if (directory == NULL) {
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    while (result == 0 && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = remove_entry(fd, entry->d_name, depth + 1);
    (void)closedir(directory);
    return result == 0 ? unlinkat(parent, name, AT_REMOVEDIR) : -1;
}

/* An opaque directory hides what lower layers put there. */
static int
empty_directory(int fd)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    DIR *directory = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;
    int result = 0;

    if (directory == NULL)
        return -1;
    while (result == 0 && (entry = readdir(directory)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            result = remove_entry(fd, entry->d_name, 0);
    (void)closedir(directory);
    return result;
}

static int
set_owner(int parent, const char *name, const struct tar_entry *entry, bool ids,
          struct error *err)
{
    if (entry->uid < 0 || entry->uid >= IDS || entry->gid < 0 ||
        entry->gid >= IDS)
        return refuse(err, "an owner above 65535", name);
    if (ids && fchownat(parent, name, (uid_t)entry->uid, (gid_t)entry->gid,
                        AT_SYMLINK_NOFOLLOW) != 0)
        return trouble(err, "set the owner of", name);
    return 0;
}

static int
write_file(int parent, const char *name, struct tar *tar,
           const struct tar_entry *entry, const struct unpack_counts *limits,
           struct unpack_counts *counts, struct error *err)
{
    scoped_fd fd = -1;
    char chunk[CHUNK];
    ssize_t got;

    if (counts->bytes + entry->size > limits->bytes)
        return error_set(err, ERROR_TOO_LARGE,
                         "the image has more than %" PRId64 " bytes",
                         limits->bytes);
    if (remove_entry(parent, name, 0) != 0)
        return trouble(err, "replace", name);
    fd = openat(parent, name,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return trouble(err, "create", name);
    while ((got = tar_data(tar, chunk, sizeof(chunk), err)) > 0)
        if (file_write_all(fd, chunk, (size_t)got, err) != 0)
            return trouble(err, "write", name);
    if (got < 0)
        return -1;
    counts->bytes += entry->size;
    return 0;
}

static int
make_directory(int parent, const char *name, struct error *err)
{
    struct stat now;

    if (mkdirat(parent, name, 0755) == 0)
        return 0;
    if (errno == EEXIST &&
        fstatat(parent, name, &now, AT_SYMLINK_NOFOLLOW) == 0) {
        if (S_ISDIR(now.st_mode))
            return 0;
        if (remove_entry(parent, name, 0) == 0 &&
            mkdirat(parent, name, 0755) == 0)
            return 0;
    }
    return trouble(err, "make", name);
}

static int
make_link(int root_fd, int parent, const char *name, struct tar_entry *entry,
          struct error *err)
{
    const char *target;
    scoped_fd from = -1;
    struct stat file;

    if (clean_path(entry->link, err) != 0)
        return -1;
    if (entry->link[0] == '\0')
        return refuse(err, "a hard link to the root", name);
    from = open_parent(root_fd, entry->link, &target, err);
    if (from < 0)
        return -1;
    if (fstatat(from, target, &file, AT_SYMLINK_NOFOLLOW) != 0 ||
        (!S_ISREG(file.st_mode) && !S_ISLNK(file.st_mode)))
        return refuse(err, "a hard link to what is no file", name);
    if (remove_entry(parent, name, 0) != 0 ||
        linkat(from, target, parent, name, 0) != 0)
        return trouble(err, "link", name);
    return 0;
}

/* 1 when the name was a whiteout and is done. */
static int
take_whiteout(int parent, const char *name, struct error *err)
{
    if (strncmp(name, ".wh.", 4) != 0)
        return 0;
    if (strcmp(name, ".wh..wh..opq") == 0)
        return empty_directory(parent) == 0
                   ? 1
                   : trouble(err, "empty the place of", name);
    if (strncmp(name, ".wh..wh.", 8) == 0 || name[4] == '\0')
        return 1;
    if (strcmp(name + 4, ".") == 0 || strcmp(name + 4, "..") == 0)
        return refuse(err, "a whiteout of a directory's own name", name);
    return remove_entry(parent, name + 4, 0) == 0
               ? 1
               : trouble(err, "remove", name);
}

static int
place_entry(int root_fd, int parent, const char *name, struct tar *tar,
            struct tar_entry *entry, const struct unpack_counts *limits,
            struct unpack_counts *counts, struct error *err)
{
    switch (entry->type) {
    case '0':
        return write_file(parent, name, tar, entry, limits, counts, err);
    case '1':
        return make_link(root_fd, parent, name, entry, err);
    case '2':
        if (entry->link[0] == '\0')
            return refuse(err, "a link to nothing", name);
        if (remove_entry(parent, name, 0) != 0 ||
            symlinkat(entry->link, parent, name) != 0)
            return trouble(err, "make the link", name);
        return 0;
    case '5':
        return make_directory(parent, name, err);
    default:
        return refuse(err, "a device node or fifo", entry->path);
    }
}

/* Permissions last; never the bits that give others' rights. */
static int
set_mode(int parent, const char *name, const struct tar_entry *entry,
         struct error *err)
{
    if (entry->type != '0' && entry->type != '5')
        return 0;
    if (fchmodat(parent, name, (mode_t)(entry->mode & 01777), 0) != 0)
        return trouble(err, "set the mode of", name);
    return 0;
}

static int
take_entry(int root_fd, struct tar *tar, struct tar_entry *entry, bool ids,
           const struct unpack_counts *limits, struct unpack_counts *counts,
           struct error *err)
{
    scoped_fd parent = -1;
    const char *name;
    int done;

    if (++counts->entries > limits->entries)
        return error_set(err, ERROR_TOO_LARGE,
                         "the image has more than %" PRId64 " entries",
                         limits->entries);
    if (clean_path(entry->path, err) != 0)
        return -1;
    if (entry->path[0] == '\0')
        return entry->type == '5'
                   ? 0
                   : refuse(err, "the root is not a directory", ".");
    if ((entry->type == '3' || entry->type == '4' || entry->type == '6') &&
        strncmp(entry->path, "dev/", 4) == 0) {
        counts->skipped++;
        return 0;
    }
    parent = open_parent(root_fd, entry->path, &name, err);
    if (parent < 0)
        return -1;
    done = take_whiteout(parent, name, err);
    if (done != 0)
        return done < 0 ? -1 : 0;
    if (place_entry(root_fd, parent, name, tar, entry, limits, counts, err) !=
        0)
        return -1;
    if (entry->type == '1')
        return 0;
    if (set_owner(parent, name, entry, ids, err) != 0)
        return -1;
    return set_mode(parent, name, entry, err);
}

int
unpack_layer(int root_fd, struct tar *tar, bool ids,
             const struct unpack_counts *limits, struct unpack_counts *counts,
             struct error *err)
{
    struct tar_entry *entry = memory_new(1, sizeof(*entry));
    int got;

    while ((got = tar_next(tar, entry, err)) > 0)
        if (take_entry(root_fd, tar, entry, ids, limits, counts, err) != 0) {
            got = -1;
            break;
        }
    free(entry);
    return got;
}

/* A layer's bytes: read, hashed and, when compressed, inflated. */
struct stream {
    int fd;
    int64_t offset, left;
    bool gzip, ended;
    EVP_MD_CTX *hash;
    z_stream zip;
    unsigned char input[CHUNK];
};

static ssize_t
read_raw(struct stream *stream, void *bytes, size_t size, struct error *err)
{
    ssize_t got;

    if ((int64_t)size > stream->left)
        size = (size_t)stream->left;
    if (size == 0)
        return 0;
    got = pread(stream->fd, bytes, size, stream->offset);
    if (got <= 0)
        return error_set(err, ERROR_INVALID, "a layer ends early");
    stream->offset += got;
    stream->left -= got;
    (void)EVP_DigestUpdate(stream->hash, bytes, (size_t)got);
    return got;
}

static ssize_t
read_zipped(struct stream *stream, void *bytes, size_t size, struct error *err)
{
    stream->zip.next_out = bytes;
    stream->zip.avail_out = (unsigned)size;
    while (stream->zip.avail_out == size && !stream->ended) {
        int code;

        if (stream->zip.avail_in == 0) {
            ssize_t got = read_raw(stream, stream->input, CHUNK, err);

            if (got < 0)
                return -1;
            stream->zip.next_in = stream->input;
            stream->zip.avail_in = (unsigned)got;
        }
        code = inflate(&stream->zip, Z_NO_FLUSH);
        if (code == Z_STREAM_END) {
            /* Another member may follow. */
            stream->ended = stream->zip.avail_in == 0 && stream->left == 0;
            if (!stream->ended && inflateReset(&stream->zip) != Z_OK)
                return error_set(err, ERROR_INVALID, "a layer's compression");
        } else if (code != Z_OK) {
            return error_set(err, ERROR_INVALID,
                             "a layer's compression is malformed");
        }
    }
    return (ssize_t)(size - stream->zip.avail_out);
}

static ssize_t
read_stream(void *source, void *bytes, size_t size, struct error *err)
{
    struct stream *stream = source;

    if (size > CHUNK)
        size = CHUNK;
    return stream->gzip ? read_zipped(stream, bytes, size, err)
                        : read_raw(stream, bytes, size, err);
}

/* The rest of the blob counts for the digest too. */
static int
check_digest(struct stream *stream, const char *digest, struct error *err)
{
    unsigned char hash[DIGEST_SIZE];
    char text[DIGEST_TEXT_MAX];
    ssize_t got;

    while ((got = read_raw(stream, stream->input, CHUNK, err)) > 0)
        ;
    if (got < 0)
        return -1;
    (void)EVP_DigestFinal_ex(stream->hash, hash, NULL);
    hex_encode(hash, sizeof(hash), text);
    if (strcmp(text, digest + 7) != 0)
        return error_set(err, ERROR_VERIFY,
                         "a layer is not what its digest says");
    return 0;
}

static int
unpack_blob(const struct unpack_layer *layer, int fd,
            const struct unpack_counts *limits, struct unpack_counts *counts,
            struct error *err)
{
    struct stream *stream = memory_new(1, sizeof(*stream));
    struct tar tar = { .read = read_stream, .source = stream };
    int result;

    stream->fd = fd;
    stream->offset = layer->blob.offset;
    stream->left = layer->blob.size;
    stream->gzip = layer->gzip;
    stream->hash = EVP_MD_CTX_new();
    if (stream->hash == NULL ||
        EVP_DigestInit_ex(stream->hash, EVP_sha256(), NULL) != 1 ||
        inflateInit2(&stream->zip, 16 + MAX_WBITS) != Z_OK)
        abort();
    result = unpack_layer(ROOT_FD, &tar, true, limits, counts, err);
    if (result == 0)
        result = check_digest(stream, layer->digest, err);
    (void)inflateEnd(&stream->zip);
    EVP_MD_CTX_free(stream->hash);
    free(stream);
    return result;
}

/* The order: limits, count and the layers, as the parent wrote them. */
struct order {
    struct unpack_counts limits;
    int64_t count;
    struct unpack_layer layers[UNPACK_LAYERS_MAX];
};

struct result {
    int failed;
    struct unpack_counts counts;
    struct error error;
};

int
unpack_main(void)
{
    struct order *order = memory_new(1, sizeof(*order));
    struct result *result = memory_new(1, sizeof(*result));
    struct error *err = &result->error;

    (void)umask(0);
    result->failed = file_read_all(ORDER_FD, order, sizeof(*order), err) != 0;
    for (int64_t i = 0; result->failed == 0 && i < order->count; i++)
        result->failed = unpack_blob(&order->layers[i], LAYER_FD + (int)i,
                                     &order->limits, &result->counts, err) != 0;
    if (file_write_all(RESULT_FD, result, sizeof(*result), err) != 0)
        result->failed = 1;
    free(order);
    free(result);
    return 0;
}

struct launch {
    int fds[LAYER_FD + UNPACK_LAYERS_MAX]; /* by number in the child */
    int count;
    int64_t bytes_max;
};

static void
limit(int what, int64_t value)
{
    struct rlimit both = { .rlim_cur = (rlim_t)value,
                           .rlim_max = (rlim_t)value };

    (void)setrlimit((__rlimit_resource_t)what, &both);
}

/* Only calls that are safe after a clone of a threaded process.  The C
 * library's own set*id would wait for threads that only the parent has. */
static int
launch_child(void *data)
{
    static const char *const argv[] = { "bulkhead-runner", "--unpack", NULL };
    static const char *const env[] = { NULL };
    const struct launch *launch = data;
    int moved[LAYER_FD + UNPACK_LAYERS_MAX];

    if (syscall(SYS_setgroups, 0, NULL) != 0 ||
        syscall(SYS_setresgid, 0, 0, 0) != 0 ||
        syscall(SYS_setresuid, 0, 0, 0) != 0)
        return 124;
    for (int i = ROOT_FD; i < launch->count; i++) {
        moved[i] = fcntl(launch->fds[i], F_DUPFD, 300);
        if (moved[i] < 0)
            return 123;
    }
    (void)close(0);
    (void)close(1);
    for (int i = ROOT_FD; i < launch->count; i++)
        (void)dup2(moved[i], i);
    (void)close_range((unsigned)launch->count, ~0U, CLOSE_RANGE_CLOEXEC);
    limit(RLIMIT_FSIZE, launch->bytes_max);
#ifndef __SANITIZE_ADDRESS__ /* which reserves terabytes of addresses */
    limit(RLIMIT_AS, INT64_C(512) * 1048576);
#endif
    limit(RLIMIT_CPU, 900);
    limit(RLIMIT_CORE, 0);
    (void)execve("/proc/self/exe", (char *const *)(uintptr_t)argv,
                 (char *const *)(uintptr_t)env);
    return 122;
}

static int
run_child(struct launch *launch, int64_t disk_uid_base, int timeout_ms,
          struct error *err)
{
    pid_t pid = idmap_child(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET |
                                CLONE_NEWIPC | CLONE_NEWUTS,
                            0, disk_uid_base, launch_child, launch, err);
    int status;

    if (pid < 0)
        return -1;
    status = process_wait(pid, timeout_ms, err);
    if (status < 0)
        return -1;
    if (status != 0)
        return error_set(err, ERROR_INVALID,
                         "unpacking the image ended with %d", status);
    return 0;
}

int
unpack_run(int root_fd, const struct unpack_layer *layers, size_t count,
           int64_t disk_uid_base, const struct unpack_counts *limits,
           int timeout_ms, struct unpack_counts *counts_out, struct error *err)
{
    scoped_fd order_fd = memfd_create("order", MFD_CLOEXEC);
    scoped_fd result_fd = memfd_create("result", MFD_CLOEXEC);
    struct launch launch = { .bytes_max = limits->bytes };
    struct order *order = memory_new(1, sizeof(*order));
    struct result result;
    int done = -1;

    order->limits = *limits;
    order->count = (int64_t)count;
    memcpy(order->layers, layers, count * sizeof(*layers));
    launch.fds[ROOT_FD] = root_fd;
    launch.fds[ORDER_FD] = order_fd;
    launch.fds[RESULT_FD] = result_fd;
    for (size_t i = 0; i < count; i++)
        launch.fds[LAYER_FD + i] = layers[i].blob.fd;
    launch.count = LAYER_FD + (int)count;
    if (order_fd < 0 || result_fd < 0)
        (void)error_set(err, ERROR_INTERNAL, "memfd: %s", strerror(errno));
    else if (file_write_all(order_fd, order, sizeof(*order), err) == 0 &&
             lseek(order_fd, 0, SEEK_SET) == 0)
        done = run_child(&launch, disk_uid_base, timeout_ms, err);
    free(order);
    if (done != 0)
        return -1;
    if (pread(result_fd, &result, sizeof(result), 0) != sizeof(result))
        return error_set(err, ERROR_INVALID, "unpacking the image failed");
    /* The child read hostile bytes: what it says is text, not trusted. */
    result.error.text[ERROR_TEXT_MAX - 1] = '\0';
    if (result.failed != 0)
        return error_set(err,
                         result.error.code < ERROR_CODE_COUNT
                             ? result.error.code
                             : ERROR_INVALID,
                         "%s", result.error.text);
    *counts_out = result.counts;
    return 0;
}
