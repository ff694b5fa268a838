/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/policy.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"

#define POLICY_SIZE_MAX ((size_t)256 * 1024)
#define UID_STEP 65536
#define UID_TOP INT64_C(0xFFFF0000)

static const char *const policy_keys[] = { "version",
                                           "prefix",
                                           "agent_uid",
                                           "socket",
                                           "state_dir",
                                           "image_dir",
                                           "volume_dir",
                                           "accel",
                                           "estate",
                                           "libraries",
                                           "kernel_log",
                                           "uid_base_min",
                                           "uid_base_max",
                                           "disk_uid_base",
                                           "cpu_milli_max",
                                           "memory_mib_max",
                                           "pids_max",
                                           "instances_max",
                                           "volume_mib_max",
                                           "image_mib_max",
                                           "log_mib_max",
                                           "cap_cpu_milli_min",
                                           "cap_io_kib_min",
                                           "cap_network_kib_min",
                                           "mps",
                                           "share_over",
                                           "share_grace_ms",
                                           "share_attach_ms",
                                           "share_look_ms",
                                           "writable_root",
                                           "image_entries_max",
                                           "images",
                                           "release_wait_ms",
                                           "cdi_dir",
                                           NULL };

static int
read_path(struct arena *arena, const json_t *object, const char *key,
          bool required, const char **out, struct error *err)
{
    const char *path = NULL;
    char field[ERROR_FIELD_MAX];

    if (json_text(object, key, required, POLICY_PATH_MAX, &path, err) != 0)
        return -1;
    if (path == NULL)
        return 0;
    (void)snprintf(field, sizeof(field), "/%s", key);
    if (path[0] != '/' || path[1] == '\0' || strstr(path, "//") != NULL ||
        strstr(path, "/.") != NULL || path[strlen(path) - 1] == '/')
        return error_field(
            err, field, "\"%s\" must be an absolute path in normal form", key);
    /* overlay reads , and : in paths as its own */
    for (const char *s = path; *s != '\0'; s++)
        if (!isalnum((unsigned char)*s) && strchr("/._-", *s) == NULL)
            return error_field(
                err, field, "\"%s\" must have letters, digits, / . _ -", key);
    *out = arena_strdup(arena, path);
    return 0;
}

static int
read_prefix(struct arena *arena, const json_t *object, const char **out,
            struct error *err)
{
    const char *prefix = NULL;

    if (json_text(object, "prefix", true, 8, &prefix, err) != 0)
        return -1;
    if (!islower((unsigned char)prefix[0]))
        return error_field(err, "/prefix", "prefix begins with a letter");
    for (const char *s = prefix; *s != '\0'; s++)
        if (!islower((unsigned char)*s) && !isdigit((unsigned char)*s))
            return error_field(err, "/prefix", "prefix has a-z and 0-9 only");
    *out = arena_strdup(arena, prefix);
    return 0;
}

static int
read_paths(struct arena *arena, const json_t *object, struct policy *out,
           struct error *err)
{
    const char *accel = "sim";

    if (read_path(arena, object, "socket", true, &out->socket, err) != 0 ||
        read_path(arena, object, "state_dir", true, &out->state_dir, err) !=
            0 ||
        read_path(arena, object, "image_dir", true, &out->image_dir, err) !=
            0 ||
        read_path(arena, object, "volume_dir", true, &out->volume_dir, err) !=
            0 ||
        read_path(arena, object, "estate", false, &out->estate, err) != 0 ||
        read_path(arena, object, "libraries", false, &out->libraries, err) !=
            0 ||
        read_path(arena, object, "kernel_log", false, &out->kernel_log, err) !=
            0 ||
        read_path(arena, object, "cdi_dir", false, &out->cdi_dir, err) != 0 ||
        json_text(object, "accel", false, 16, &accel, err) != 0)
        return -1;
    out->accel = arena_strdup(arena, accel);
    if (out->kernel_log == NULL && strcmp(out->accel, "vendor") == 0)
        out->kernel_log = "/dev/kmsg";
    if (strcmp(out->accel, "sim") != 0 && strcmp(out->accel, "vendor") != 0)
        return error_field(err, "/accel",
                           "accel is \"sim\" or \"vendor\", not \"%.16s\"",
                           accel);
    if (strcmp(out->accel, "sim") == 0 && out->estate == NULL)
        return error_field(err, "/estate",
                           "simulated cards need an estate file");
    return 0;
}

static int
read_shares(struct arena *arena, const json_t *object, struct policy *out,
            struct error *err)
{
    const char *over = "stop";

    if (read_path(arena, object, "mps", false, &out->mps, err) != 0 ||
        json_text(object, "share_over", false, 8, &over, err) != 0 ||
        json_int(object, "share_grace_ms", false, 0, 86400000,
                 &out->share_grace_ms, err) != 0 ||
        json_int(object, "share_attach_ms", false, 0, 86400000,
                 &out->share_attach_ms, err) != 0 ||
        json_int(object, "share_look_ms", false, 100, 60000,
                 &out->share_look_ms, err) != 0)
        return -1;
    out->share_stops = strcmp(over, "stop") == 0;
    if (!out->share_stops && strcmp(over, "warn") != 0)
        return error_field(err, "/share_over",
                           "share_over is \"stop\" or \"warn\", not "
                           "\"%.8s\"",
                           over);
    return 0;
}

static int
read_uids(const json_t *object, struct policy *out, struct error *err)
{
    if (json_int(object, "uid_base_min", false, UID_STEP, UID_TOP,
                 &out->uid_base_min, err) != 0 ||
        json_int(object, "uid_base_max", false, UID_STEP, UID_TOP,
                 &out->uid_base_max, err) != 0 ||
        json_int(object, "disk_uid_base", false, UID_STEP, UID_TOP,
                 &out->disk_uid_base, err) != 0)
        return -1;
    if (out->uid_base_min % UID_STEP != 0 ||
        out->uid_base_max % UID_STEP != 0 ||
        out->disk_uid_base % UID_STEP != 0 ||
        out->uid_base_min > out->uid_base_max)
        return error_field(err, "/uid_base_min",
                           "uid bases are multiples of %d, min <= max",
                           UID_STEP);
    if (out->disk_uid_base >= out->uid_base_min &&
        out->disk_uid_base <= out->uid_base_max)
        return error_field(err, "/disk_uid_base",
                           "disk_uid_base must be outside the instances' "
                           "range");
    return 0;
}

static int
read_limits(const json_t *object, struct policy *out, struct error *err)
{
    const struct {
        const char *key;
        int64_t *value;
    } limits[] = {
        { "cpu_milli_max", &out->cpu_milli_max },
        { "memory_mib_max", &out->memory_mib_max },
        { "pids_max", &out->pids_max },
        { "instances_max", &out->instances_max },
        { "volume_mib_max", &out->volume_mib_max },
        { "image_mib_max", &out->image_mib_max },
        { "image_entries_max", &out->image_entries_max },
        { "log_mib_max", &out->log_mib_max },
        { "cap_cpu_milli_min", &out->cap_cpu_milli_min },
        { "cap_io_kib_min", &out->cap_io_kib_min },
        { "cap_network_kib_min", &out->cap_network_kib_min },
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (json_int(object, limits[i].key, false, 1, INT64_C(1) << 40,
                     limits[i].value, err) != 0)
            return -1;
    if (json_int(object, "release_wait_ms", false, 100, 600000,
                 &out->release_wait_ms, err) != 0)
        return -1;
    return json_bool(object, "writable_root", false, &out->writable_root, err);
}

static int
read_images(struct arena *arena, const json_t *object, struct policy *out,
            struct error *err)
{
    const json_t *list = json_object_get(object, "images");
    const char **images;
    json_t *item;
    size_t i;

    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return error_field(err, "/images",
                           "images is a list of one or more digests");
    images = arena_alloc(arena, json_array_size(list) * sizeof(*images));
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return error_field(err, "/images", "a digest is a string");
        images[i] = arena_strdup(arena, json_string_value(item));
    }
    out->images = images;
    out->image_count = json_array_size(list);
    return 0;
}

int
policy_parse(struct arena *arena, const char *bytes, size_t size,
             struct policy *policy_out, struct error *err)
{
    struct policy policy = {
        .agent_uid = -1,
        .uid_base_min = 1000013824,
        .uid_base_max = 1000013824 + 4095 * (int64_t)UID_STEP,
        .disk_uid_base = 999948288,
        .cpu_milli_max = 1000000,
        .memory_mib_max = 4194304,
        .pids_max = 32768,
        .instances_max = 512,
        .volume_mib_max = 4194304,
        .image_mib_max = 65536,
        .image_entries_max = 1000000,
        .log_mib_max = 1024,
        .share_stops = true,
        .share_grace_ms = 30000,
        .share_attach_ms = 10000,
        .share_look_ms = 2000,
        .cap_cpu_milli_min = 50,
        .cap_io_kib_min = 1024,
        .cap_network_kib_min = 128,
        .release_wait_ms = 20000,
    };
    scoped_json object = json_read(bytes, size, err);
    int64_t version = 0;

    if (object == NULL)
        return -1;
    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "a policy is a JSON object");
    if (json_only(object, policy_keys, err) != 0 ||
        json_int(object, "version", true, 1, 1, &version, err) != 0 ||
        json_int(object, "agent_uid", true, 0, UINT32_MAX - 1,
                 &policy.agent_uid, err) != 0 ||
        read_prefix(arena, object, &policy.prefix, err) != 0 ||
        read_paths(arena, object, &policy, err) != 0 ||
        read_shares(arena, object, &policy, err) != 0 ||
        read_uids(object, &policy, err) != 0 ||
        read_limits(object, &policy, err) != 0 ||
        read_images(arena, object, &policy, err) != 0)
        return -1;
    *policy_out = policy;
    return 0;
}

/* A file is only as safe as each directory that leads to it. */
static int
check_above(struct arena *arena, const char *path, struct error *err)
{
    char *at = realpath(path, NULL);
    const char *real;
    char *copy;

    if (at == NULL)
        return error_set(err, ERROR_NOT_FOUND, "policy: %s", strerror(errno));
    copy = arena_strdup(arena, at);
    free(at);
    do {
        struct stat here;

        real = dirname(copy);
        if (stat(real, &here) != 0 || here.st_uid != 0 ||
            ((here.st_mode & 022) != 0 && (here.st_mode & S_ISVTX) == 0))
            return error_set(err, ERROR_DENIED,
                             "policy: a directory above it is not root's "
                             "alone");
        copy = arena_strdup(arena, real);
    } while (strcmp(real, "/") != 0);
    return 0;
}

int
policy_open(struct arena *arena, const char *path, struct policy *policy_out,
            struct error *err)
{
    scoped_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat file;
    char *text;

    if (fd < 0 || fstat(fd, &file) != 0)
        return error_set(err, ERROR_NOT_FOUND, "policy: %s", strerror(errno));
    if (!S_ISREG(file.st_mode) || file.st_uid != 0 || (file.st_mode & 022) != 0)
        return error_set(err, ERROR_DENIED,
                         "policy: must be a file of root that nobody else "
                         "may write");
    if (check_above(arena, path, err) != 0)
        return -1;
    if (file.st_size > (off_t)POLICY_SIZE_MAX)
        return error_set(err, ERROR_TOO_LARGE, "policy: larger than %zu bytes",
                         POLICY_SIZE_MAX);
    text = arena_alloc(arena, (size_t)file.st_size + 1);
    if (file_read_all(fd, text, (size_t)file.st_size, err) != 0)
        return error_prefix(err, "policy");
    if (policy_parse(arena, text, (size_t)file.st_size, policy_out, err) != 0)
        return error_prefix(err, "policy");
    return 0;
}

bool
policy_allows_image(const struct policy *policy, const char *digest)
{
    if (policy->image_count == 0)
        return true;
    for (size_t i = 0; i < policy->image_count; i++)
        if (strcmp(policy->images[i], digest) == 0)
            return true;
    return false;
}
