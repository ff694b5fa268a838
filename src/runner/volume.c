/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/volume.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/loop.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/file.h"
#include "base/json.h"
#include "engine/runner_request.h"
#include "runner/process.h"
#include "runner/remove.h"

#define LOOP_TRIES 32
#define MKFS_TIMEOUT_MS 120000
#define FACTS_MAX ((size_t)4096)

static int
fail(struct error *err, const char *step)
{
    return error_set(err, errno == ENOSPC ? ERROR_BUSY : ERROR_INTERNAL,
                     "%s: %s", step, strerror(errno));
}

static void
file_path(const struct policy *policy, const char *id, const char *suffix,
          char path[VOLUME_PATH_MAX])
{
    (void)snprintf(path, VOLUME_PATH_MAX, "%s/%.64s%s", policy->volume_dir, id,
                   suffix);
}

void
volume_path(const struct policy *policy, const char *id,
            char path[VOLUME_PATH_MAX])
{
    (void)snprintf(path, VOLUME_PATH_MAX, "%s/volumes/%.64s", policy->state_dir,
                   id);
}

int
volume_store_init(const struct policy *policy, struct error *err)
{
    char path[VOLUME_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%s/volumes", policy->state_dir);
    if (file_make_directory(path, 0711, err) != 0 ||
        file_make_directory(policy->volume_dir, 0700, err) != 0)
        return -1;
    if (chmod(path, 0700) != 0)
        return fail(err, "close the volume mounts");
    return 0;
}

int
volume_get(const struct policy *policy, struct arena *arena, const char *id,
           struct volume *volume_out, struct error *err)
{
    struct volume volume = { .id = arena_strdup(arena, id) };
    scoped_buffer bytes = { 0 };
    scoped_json facts = NULL;
    char path[VOLUME_PATH_MAX];

    file_path(policy, id, ".json", path);
    if (file_read(path, FACTS_MAX, &bytes, err) != 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no volume %.64s", id);
    facts = json_read(bytes.bytes, bytes.size, err);
    if (facts == NULL ||
        json_int(facts, "tenant", true, 1, RUNNER_TENANT_MAX, &volume.tenant,
                 err) != 0 ||
        json_int(facts, "size_mib", true, 1, INT64_C(1) << 40, &volume.size_mib,
                 err) != 0)
        return error_prefix(err, "volume %.64s", id);
    *volume_out = volume;
    return 0;
}

static int
make_image(const struct policy *policy, const char *path, int64_t size_mib,
           struct error *err)
{
    scoped_fd fd =
        open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    char owner[64];
    int code;

    if (fd < 0)
        return fail(err, "make a volume");
    code = posix_fallocate(fd, 0, size_mib * 1048576);
    if (code != 0) {
        errno = code;
        return fail(err, "allocate a volume");
    }
    (void)snprintf(owner, sizeof(owner),
                   "nodiscard,root_owner=%" PRId64 ":%" PRId64,
                   policy->disk_uid_base, policy->disk_uid_base);
    return process_run(
        &(struct process){
            .argv = (const char *const[]){ "/usr/sbin/mkfs.ext4", "-q", "-F",
                                           "-m", "0", "-E", owner, path, NULL },
            .netns_fd = -1,
            .pass_fd = -1,
        },
        NULL, 0, NULL, MKFS_TIMEOUT_MS, err);
}

/* The facts are written last: a volume exists when they do. */
static int
make_volume(const struct policy *policy, const struct volume *volume,
            struct error *err)
{
    scoped_json facts =
        json_pack("{s:I, s:I}", "tenant", (json_int_t)volume->tenant,
                  "size_mib", (json_int_t)volume->size_mib);
    scoped_buffer bytes = { 0 };
    char path[VOLUME_PATH_MAX];

    file_path(policy, volume->id, ".img", path);
    if (make_image(policy, path, volume->size_mib, err) != 0) {
        (void)unlink(path);
        return -1;
    }
    json_write(&bytes, facts);
    file_path(policy, volume->id, ".json", path);
    return file_write(path, bytes.bytes, bytes.size, 0600, err);
}

int
volume_create(const struct policy *policy, const struct volume *volume,
              struct error *err)
{
    scoped_arena arena = arena_new();
    struct volume present;
    struct error ignored = { 0 };

    if (volume->size_mib > policy->volume_mib_max)
        return error_set(err, ERROR_QUOTA,
                         "a volume of %" PRId64
                         " MiB: the node allows %" PRId64,
                         volume->size_mib, policy->volume_mib_max);
    if (volume_get(policy, arena, volume->id, &present, &ignored) != 0)
        return make_volume(policy, volume, err);
    if (present.tenant != volume->tenant ||
        present.size_mib != volume->size_mib)
        return error_set(err, ERROR_CONFLICT,
                         "volume %.64s is there with another size or owner",
                         volume->id);
    return 0;
}

/* The loop device that has this image already: an earlier mount may still be
 * held somewhere, and two devices on one image would destroy it. */
static int
find_loop(int image_fd, char device[64])
{
    DIR *blocks = opendir("/sys/block");
    const struct dirent *entry;
    struct stat image;
    int found = -1;

    while (found < 0 && blocks != NULL && fstat(image_fd, &image) == 0 &&
           (entry = readdir(blocks)) != NULL) {
        struct loop_info64 info;
        int fd;

        if (strncmp(entry->d_name, "loop", 4) != 0)
            continue;
        (void)snprintf(device, 64, "/dev/%.50s", entry->d_name);
        fd = open(device, O_RDWR | O_CLOEXEC);
        if (fd >= 0 && ioctl(fd, LOOP_GET_STATUS64, &info) == 0 &&
            info.lo_device == image.st_dev && info.lo_inode == image.st_ino)
            found = fd;
        else if (fd >= 0)
            (void)close(fd);
    }
    if (blocks != NULL)
        (void)closedir(blocks);
    return found;
}

/* Attaches the image to a free loop device that lets go by itself when the
 * mount is gone. */
static int
attach_loop(int image_fd, char device[64], struct error *err)
{
    scoped_fd control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
    struct loop_config config = {
        .fd = (__u32)image_fd,
        .info = { .lo_flags = LO_FLAGS_AUTOCLEAR },
    };

    if (control < 0)
        return fail(err, "open loop control");
    for (int i = 0; i < LOOP_TRIES; i++) {
        int number = ioctl(control, LOOP_CTL_GET_FREE);
        int fd;

        if (number < 0)
            return fail(err, "find a loop device");
        (void)snprintf(device, 64, "/dev/loop%d", number);
        fd = open(device, O_RDWR | O_CLOEXEC);
        if (fd < 0)
            return fail(err, "open a loop device");
        if (ioctl(fd, LOOP_CONFIGURE, &config) == 0)
            return fd;
        (void)close(fd);
        if (errno != EBUSY)
            break;
    }
    return fail(err, "attach a volume");
}

int
volume_mount(const struct policy *policy, const char *id,
             char path[VOLUME_PATH_MAX], struct error *err)
{
    char image[VOLUME_PATH_MAX];
    char device[64];
    scoped_fd image_fd = -1;
    scoped_fd loop_fd = -1;

    volume_path(policy, id, path);
    if (remove_is_mount(path))
        return 0;
    file_path(policy, id, ".img", image);
    image_fd = open(image, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (image_fd < 0)
        return error_set(err, ERROR_NOT_FOUND, "there is no volume %.64s", id);
    if (file_make_directory(path, 0700, err) != 0)
        return -1;
    loop_fd = find_loop(image_fd, device);
    if (loop_fd < 0)
        loop_fd = attach_loop(image_fd, device, err);
    if (loop_fd < 0)
        return -1;
    if (mount(device, path, "ext4", MS_NOSUID | MS_NODEV | MS_NOATIME, NULL) !=
        0)
        return fail(err, "mount a volume");
    (void)snprintf(image, sizeof(image), "%.150s/lost+found", path);
    (void)rmdir(image);
    return 0;
}

void
volume_unmount(const struct policy *policy, const char *id)
{
    char path[VOLUME_PATH_MAX];

    volume_path(policy, id, path);
    remove_mounts(path);
    (void)rmdir(path);
}

int
volume_remove(const struct policy *policy, const char *id, struct error *err)
{
    static const char *const suffixes[] = { ".json", ".img" };
    char path[VOLUME_PATH_MAX];

    volume_unmount(policy, id);
    for (size_t i = 0; i < 2; i++) {
        file_path(policy, id, suffixes[i], path);
        if (unlink(path) != 0 && errno != ENOENT)
            return fail(err, "destroy a volume");
    }
    return 0;
}

static json_t *
row_of(const struct policy *policy, const struct volume *volume)
{
    char path[VOLUME_PATH_MAX];
    struct statvfs fs;
    int64_t used = 0;
    bool mounted;

    volume_path(policy, volume->id, path);
    mounted = remove_is_mount(path);
    if (mounted && statvfs(path, &fs) == 0)
        used = (int64_t)((fs.f_blocks - fs.f_bfree) * fs.f_frsize / 1048576);
    return json_pack("{s:s, s:I, s:I, s:I, s:b}", "id", volume->id, "tenant",
                     (json_int_t)volume->tenant, "size_mib",
                     (json_int_t)volume->size_mib, "used_mib", (json_int_t)used,
                     "mounted", mounted);
}

json_t *
volume_list(const struct policy *policy, struct arena *arena)
{
    DIR *directory = opendir(policy->volume_dir);
    json_t *rows = json_array();
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct error ignored = { 0 };
        struct volume volume;
        size_t size = strlen(entry->d_name);
        const char *id;

        if (size <= 5 || strcmp(entry->d_name + size - 5, ".json") != 0)
            continue;
        id = arena_strndup(arena, entry->d_name, size - 5);
        if (volume_get(policy, arena, id, &volume, &ignored) == 0)
            (void)json_array_append_new(rows, row_of(policy, &volume));
    }
    if (directory != NULL)
        (void)closedir(directory);
    return rows;
}
