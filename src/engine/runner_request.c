/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/runner_request.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/part.h"
#include "engine/runner_check.h"

#define TIME_MAX INT64_C(253402300799999) /* end of year 9999 */
#define CAP_MAX INT64_C(1000000000000)
#define ARGV_BYTES_MAX ((size_t)96 * 1024)

/* Which fields an operation has, besides protocol and op. */
enum {
    HAS_INSTANCE = 1,
    MAY_INSTANCE = 2,
    HAS_SIGNAL = 4,
    HAS_NOTICE = 8,
    HAS_START = 16,
    HAS_IMAGE = 32,
    HAS_WAIT = 64,
    HAS_LOG = 128,
    HAS_VOLUME = 256,
    HAS_SIZE = 512,
    HAS_UUID = 1024,
    HAS_GANG = 2048,
    HAS_CAP = 4096,
    HAS_CARDS = 8192
};

static const struct {
    const char *text;
    unsigned fields;
} ops[RUNNER_OP_COUNT] = {
    [RUNNER_NODE] = { "node", 0 },
    [RUNNER_CARDS] = { "cards", 0 },
    [RUNNER_IMAGE_LIST] = { "image_list", 0 },
    [RUNNER_IMAGE_PREPARE] = { "image_prepare", HAS_IMAGE },
    [RUNNER_START] = { "start", HAS_INSTANCE | HAS_START },
    [RUNNER_SIGNAL] = { "signal", HAS_INSTANCE | HAS_SIGNAL },
    [RUNNER_NOTICE] = { "notice", HAS_INSTANCE | HAS_NOTICE },
    [RUNNER_GANG] = { "gang", HAS_INSTANCE | HAS_GANG },
    [RUNNER_CAP] = { "cap", HAS_INSTANCE | HAS_CAP },
    [RUNNER_SAMPLES] = { "samples", HAS_CARDS },
    [RUNNER_KILL] = { "kill", HAS_INSTANCE },
    [RUNNER_REMOVE] = { "remove", HAS_INSTANCE },
    [RUNNER_LIST] = { "list", MAY_INSTANCE },
    [RUNNER_WAIT] = { "wait", HAS_WAIT },
    [RUNNER_LOG] = { "log", HAS_INSTANCE | HAS_LOG },
    [RUNNER_VOLUME_CREATE] = { "volume_create", HAS_VOLUME | HAS_SIZE },
    [RUNNER_VOLUME_REMOVE] = { "volume_remove", HAS_VOLUME },
    [RUNNER_VOLUME_LIST] = { "volume_list", 0 },
    [RUNNER_CARD_SCRUB] = { "card_scrub", HAS_UUID },
    [RUNNER_RELEASE_CHECK] = { "release_check", HAS_INSTANCE },
};

static const struct {
    unsigned field;
    const char *keys[4];
} field_keys[] = {
    { HAS_INSTANCE, { "instance", "incarnation" } },
    { MAY_INSTANCE, { "instance" } },
    { HAS_SIGNAL, { "signal" } },
    { HAS_NOTICE, { "reason", "deadline_ms" } },
    { HAS_IMAGE, { "name", "digest" } },
    { HAS_WAIT, { "revision", "timeout_ms" } },
    { HAS_LOG, { "offset", "max" } },
    { HAS_VOLUME, { "id" } },
    { HAS_SIZE, { "tenant", "size_mib" } },
    { HAS_UUID, { "uuid" } },
    { HAS_GANG, { "gang" } },
    { HAS_CAP, { "cpu_milli", "io_kib", "network_kib" } },
    { HAS_CARDS, { "cards" } },
};

static const char *const start_keys[] = {
    "tenant",
    "image",
    "argv",
    "env",
    "cwd",
    "user",
    "cpu_milli",
    "memory_mib",
    "pin",
    "pids_max",
    "cards",
    "volumes",
    "card_memory_mib",
    "card_milli",
    "checkpoint_dir",
    "network",
    "uid_base",
    "hostname",
    "scratch_mib",
    "read_only_root",
    "log_mib",
    "notice_signal",
    "gang",
};

static const struct {
    const char *text;
    int number;
    bool notice; /* allowed as the notice signal too */
} signals[] = {
    { "TERM", SIGTERM, true },    { "INT", SIGINT, true },
    { "HUP", SIGHUP, true },      { "QUIT", SIGQUIT, false },
    { "USR1", SIGUSR1, true },    { "USR2", SIGUSR2, true },
    { "WINCH", SIGWINCH, false }, { "CONT", SIGCONT, false },
    { "STOP", SIGSTOP, false },   { "KILL", SIGKILL, false },
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *
runner_request_op_text(enum runner_op op)
{
    return ops[op].text;
}

/* Puts the place of an inner object before the field an inner reader named. */
static int
nest(struct error *err, const char *place)
{
    char inner[ERROR_FIELD_MAX];

    (void)snprintf(inner, sizeof(inner), "%s", err->field);
    (void)snprintf(err->field, sizeof(err->field), "%.30s%.60s", place, inner);
    return -1;
}

static int
read_id(const json_t *object, const char *key, bool required, const char **out,
        struct error *err)
{
    const char *text = NULL;
    char field[ERROR_FIELD_MAX];

    if (json_text(object, key, required, RUNNER_ID_MAX, &text, err) != 0)
        return -1;
    (void)snprintf(field, sizeof(field), "/%s", key);
    if (text != NULL && !runner_check_label(text, "_-"))
        return error_field(err, field,
                           "field \"%s\" must be a letter and then a-z, 0-9, "
                           "_ and -",
                           key);
    *out = text;
    return 0;
}

static int
read_image(const json_t *object, struct runner_image *out, struct error *err)
{
    struct runner_image image = { 0 };

    if (json_text(object, "name", true, RUNNER_LABEL_MAX, &image.name, err) !=
            0 ||
        json_text(object, "digest", true, 71, &image.digest, err) != 0)
        return -1;
    if (!runner_check_label(image.name, "_-."))
        return error_field(err, "/name",
                           "an image name is a letter and then a-z, 0-9, _, "
                           "- and .");
    if (strncmp(image.digest, "sha256:", 7) != 0 ||
        strlen(image.digest) != 71 ||
        strspn(image.digest + 7, "0123456789abcdef") != 64)
        return error_field(err, "/digest",
                           "a digest is sha256: and 64 hexadecimal digits");
    *out = image;
    return 0;
}

static int
read_image_field(const json_t *object, struct runner_image *out,
                 struct error *err)
{
    static const char *const keys[] = { "name", "digest", NULL };
    const json_t *image = json_object_get(object, "image");

    if (!json_is_object(image))
        return error_field(err, "/image", "field \"image\" must be an object");
    if (json_only(image, keys, err) != 0 || read_image(image, out, err) != 0)
        return nest(err, "/image");
    return 0;
}

static int
read_argv(struct arena *arena, const json_t *object, struct runner_start *out,
          struct error *err)
{
    const json_t *list = json_object_get(object, "argv");
    size_t total = 0;
    json_t *item;
    size_t i;

    if (list == NULL || json_is_null(list))
        return 0;
    if (!json_is_array(list) || json_array_size(list) > RUNNER_ARGV_MAX)
        return error_field(err, "/argv",
                           "field \"argv\" must be a list of at most %d "
                           "strings",
                           RUNNER_ARGV_MAX);
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return error_field(err, "/argv", "argv holds strings only");
        total += json_string_length(item);
        if (json_string_length(item) > RUNNER_TEXT_MAX * 8 ||
            total > ARGV_BYTES_MAX)
            return error_field(err, "/argv", "argv is larger than %zu bytes",
                               ARGV_BYTES_MAX);
        out->argv[i] = arena_strdup(arena, json_string_value(item));
    }
    out->argc = json_array_size(list);
    if (out->argv[0] != NULL && out->argv[0][0] == '\0')
        return error_field(err, "/argv", "the program's name is empty");
    return 0;
}

static bool
is_env_name(const char *name)
{
    if (isdigit((unsigned char)name[0]) || name[0] == '\0' ||
        strlen(name) > 128 || strncmp(name, "BULKHEAD_", 9) == 0)
        return false;
    for (; *name != '\0'; name++)
        if (!isalnum((unsigned char)*name) && *name != '_')
            return false;
    return true;
}

static int
read_env(struct arena *arena, const json_t *object, struct runner_start *out,
         struct error *err)
{
    json_t *env = json_object_get(object, "env");
    size_t total = 0;
    const char *name;
    json_t *item;

    if (env == NULL || json_is_null(env))
        return 0;
    if (!json_is_object(env) || json_object_size(env) > RUNNER_ENV_MAX)
        return error_field(err, "/env",
                           "field \"env\" must be an object of at most %d "
                           "names",
                           RUNNER_ENV_MAX);
    json_object_foreach(env, name, item)
    {
        if (!is_env_name(name) || !json_is_string(item))
            return error_field(err, "/env",
                               "\"%.60s\" is not a name for a string in env",
                               name);
        total += strlen(name) + json_string_length(item);
        if (total > ARGV_BYTES_MAX)
            return error_field(err, "/env", "env is larger than %zu bytes",
                               ARGV_BYTES_MAX);
        out->env[out->env_count++] =
            arena_printf(arena, "%s=%s", name, json_string_value(item));
    }
    return 0;
}

static int
read_user(const json_t *object, struct runner_start *out, struct error *err)
{
    static const char *const keys[] = { "uid", "gid", NULL };
    const json_t *user = json_object_get(object, "user");

    out->uid = -1;
    out->gid = -1;
    if (user == NULL || json_is_null(user))
        return 0;
    if (!json_is_object(user))
        return error_field(err, "/user", "field \"user\" must be an object");
    if (json_only(user, keys, err) != 0 ||
        json_int(user, "uid", true, 0, RUNNER_UIDS - 1, &out->uid, err) != 0 ||
        json_int(user, "gid", true, 0, RUNNER_UIDS - 1, &out->gid, err) != 0)
        return nest(err, "/user");
    return 0;
}

static int
read_cards(struct arena *arena, const json_t *object, struct runner_start *out,
           struct error *err)
{
    const json_t *list = json_object_get(object, "cards");
    json_t *item;
    size_t i;

    if (list == NULL || json_is_null(list))
        return 0;
    if (!json_is_array(list) || json_array_size(list) > RUNNER_CARDS_MAX)
        return error_field(err, "/cards",
                           "field \"cards\" must be a list of at most %d "
                           "UUIDs",
                           RUNNER_CARDS_MAX);
    json_array_foreach(list, i, item)
    {
        if (!json_is_string(item))
            return error_field(err, "/cards", "a UUID is a string");
        out->cards[i] = arena_strdup(arena, json_string_value(item));
        if (runner_check_part(out->cards[i], "/cards", err) != 0)
            return -1;
        for (size_t k = 0; k < i; k++)
            if (part_overlap(out->cards[k], out->cards[i]))
                return error_field(err, "/cards", "card %s is listed twice",
                                   out->cards[i]);
    }
    out->card_count = json_array_size(list);
    return 0;
}

/* Places that belong to the runner; a mount at or above one would cover it. */
static int
check_mount_path(const struct runner_start *start, size_t count,
                 const char *path, struct error *err)
{
    static const char *const kept[] = { "/proc", "/sys", "/dev",
                                        "/etc",  "/run", "/tmp" };

    if (runner_check_path(path, "/path", err) != 0)
        return -1;
    for (size_t i = 0; i < COUNT(kept); i++)
        if (runner_check_within(path, kept[i]))
            return error_field(err, "/path",
                               "a volume is not mounted at or below %s",
                               kept[i]);
    for (size_t i = 0; i < count; i++)
        if (runner_check_within(path, start->volumes[i].path) ||
            runner_check_within(start->volumes[i].path, path))
            return error_field(err, "/path",
                               "two volumes are mounted over each other");
    return 0;
}

static int
read_volume(struct arena *arena, const json_t *item, struct runner_start *start,
            size_t at, struct error *err)
{
    static const char *const keys[] = { "id", "path", "read_only", NULL };
    struct runner_mount *out = &start->volumes[at];
    const char *id = NULL;
    const char *path = NULL;

    if (!json_is_object(item))
        return error_field(err, "", "a volume is an object");
    if (json_only(item, keys, err) != 0 ||
        read_id(item, "id", true, &id, err) != 0 ||
        json_text(item, "path", true, RUNNER_CHECK_PATH_MAX, &path, err) != 0 ||
        json_bool(item, "read_only", false, &out->read_only, err) != 0 ||
        check_mount_path(start, at, path, err) != 0)
        return -1;
    for (size_t i = 0; i < at; i++)
        if (strcmp(start->volumes[i].id, id) == 0)
            return error_field(err, "/id", "volume %s is listed twice", id);
    out->id = arena_strdup(arena, id);
    out->path = arena_strdup(arena, path);
    return 0;
}

static int
read_volumes(struct arena *arena, const json_t *object,
             struct runner_start *out, struct error *err)
{
    const json_t *list = json_object_get(object, "volumes");
    char place[40];
    json_t *item;
    size_t i;

    if (list == NULL || json_is_null(list))
        return 0;
    if (!json_is_array(list) || json_array_size(list) > RUNNER_VOLUMES_MAX)
        return error_field(err, "/volumes",
                           "field \"volumes\" must be a list of at most %d",
                           RUNNER_VOLUMES_MAX);
    json_array_foreach(list, i, item)
    {
        (void)snprintf(place, sizeof(place), "/volumes/%zu", i);
        if (read_volume(arena, item, out, i, err) != 0)
            return nest(err, place);
    }
    out->volume_count = json_array_size(list);
    return 0;
}

static int
read_checkpoint(struct arena *arena, const json_t *object,
                struct runner_start *out, struct error *err)
{
    const char *path = NULL;

    if (json_text(object, "checkpoint_dir", false, RUNNER_CHECK_PATH_MAX, &path,
                  err) != 0)
        return -1;
    if (path == NULL)
        return 0;
    if (runner_check_path(path, "/checkpoint_dir", err) != 0)
        return -1;
    for (size_t i = 0; i < out->volume_count; i++) {
        if (!runner_check_within(path, out->volumes[i].path) ||
            out->volumes[i].read_only)
            continue;
        out->checkpoint_dir = arena_strdup(arena, path);
        out->checkpoint_volume = i;
        return 0;
    }
    return error_field(err, "/checkpoint_dir",
                       "checkpoint_dir is not in a writable volume");
}

static int
read_network(const json_t *object, struct runner_start *out, struct error *err)
{
    static const char *const keys[] = { "address", NULL };
    const json_t *network = json_object_get(object, "network");

    if (network == NULL || json_is_null(network))
        return 0;
    if (!json_is_object(network))
        return error_field(err, "/network",
                           "field \"network\" must be an object");
    if (json_only(network, keys, err) != 0 ||
        json_int(network, "address", false, 0, RUNNER_ADDRESS_MAX,
                 &out->address, err) != 0)
        return nest(err, "/network");
    out->network = true;
    return 0;
}

static int
read_signal(const json_t *object, const char *key, bool notice, int *out,
            struct error *err)
{
    const char *text = NULL;
    char field[ERROR_FIELD_MAX];

    (void)snprintf(field, sizeof(field), "/%s", key);
    if (json_text(object, key, !notice, 8, &text, err) != 0)
        return -1;
    if (text == NULL)
        return 0;
    if (notice && strcmp(text, "NONE") == 0) {
        *out = 0;
        return 0;
    }
    for (size_t i = 0; i < COUNT(signals); i++) {
        if (strcmp(signals[i].text, text) != 0 ||
            (notice && !signals[i].notice))
            continue;
        *out = signals[i].number;
        return 0;
    }
    return error_field(err, field, "\"%s\" is not a signal for this", text);
}

static int
read_limits(const json_t *object, struct runner_start *out, struct error *err)
{
    if (json_int(object, "cpu_milli", true, 10, 10000000, &out->cpu_milli,
                 err) != 0 ||
        json_int(object, "memory_mib", true, 8, 1 << 30, &out->memory_mib,
                 err) != 0 ||
        json_int(object, "pids_max", true, 1, 1 << 22, &out->pids_max, err) !=
            0 ||
        json_int(object, "card_memory_mib", false, 0, 1 << 30,
                 &out->card_memory_mib, err) != 0 ||
        json_int(object, "card_milli", false, 0, 1000, &out->card_milli,
                 err) != 0 ||
        json_int(object, "scratch_mib", false, 1, 1 << 30, &out->scratch_mib,
                 err) != 0 ||
        json_int(object, "log_mib", false, 1, 1 << 20, &out->log_mib, err) !=
            0 ||
        json_int(object, "uid_base", false, 0, INT64_C(0xFFFF0000) - 1,
                 &out->uid_base, err) != 0)
        return -1;
    if (out->uid_base % RUNNER_UIDS != 0)
        return error_field(err, "/uid_base", "uid_base is a multiple of %d",
                           RUNNER_UIDS);
    return 0;
}

static int
read_pin(const json_t *object, struct runner_start *out, struct error *err)
{
    static const char *const words[] = { "near", "cores", "none" };
    const char *text = NULL;

    if (json_text(object, "pin", false, 8, &text, err) != 0)
        return -1;
    for (size_t i = 0; text != NULL && i < COUNT(words); i++)
        if (strcmp(words[i], text) == 0) {
            out->pin = (enum runner_pin)i;
            text = NULL;
        }
    if (text != NULL)
        return error_field(err, "/pin",
                           "\"%s\" is no way to pin: near, cores or none",
                           text);
    if (out->pin == RUNNER_PIN_CORES && out->cpu_milli % 1000 != 0)
        return error_field(err, "/pin",
                           "whole cores are asked for in whole CPUs, cpu_milli "
                           "is %lld",
                           (long long)out->cpu_milli);
    return 0;
}

static int
read_place(struct arena *arena, const json_t *object, struct runner_start *out,
           struct error *err)
{
    const char *cwd = NULL;
    const char *hostname = NULL;

    if (json_text(object, "cwd", false, RUNNER_CHECK_PATH_MAX, &cwd, err) !=
            0 ||
        json_text(object, "hostname", false, RUNNER_LABEL_MAX, &hostname,
                  err) != 0 ||
        json_bool(object, "read_only_root", false, &out->read_only_root, err) !=
            0 ||
        read_signal(object, "notice_signal", true, &out->notice_signal, err) !=
            0)
        return -1;
    if (cwd != NULL && strcmp(cwd, "/") != 0 &&
        runner_check_path(cwd, "/cwd", err) != 0)
        return -1;
    if (hostname != NULL && !runner_check_label(hostname, "-"))
        return error_field(err, "/hostname",
                           "a host name is a letter and then a-z, 0-9 and -");
    if (cwd != NULL)
        out->cwd = arena_strdup(arena, cwd);
    if (hostname != NULL)
        out->hostname = arena_strdup(arena, hostname);
    return 0;
}

int
runner_request_parse_start(struct arena *arena, const json_t *object,
                           struct runner_start *start_out, struct error *err)
{
    struct runner_start start = { .read_only_root = true,
                                  .scratch_mib = 64,
                                  .log_mib = 16,
                                  .notice_signal = SIGUSR1 };

    if (read_image_field(object, &start.image, err) != 0 ||
        read_argv(arena, object, &start, err) != 0 ||
        read_env(arena, object, &start, err) != 0 ||
        read_user(object, &start, err) != 0 ||
        read_limits(object, &start, err) != 0 ||
        read_pin(object, &start, err) != 0 ||
        read_cards(arena, object, &start, err) != 0 ||
        read_volumes(arena, object, &start, err) != 0 ||
        read_checkpoint(arena, object, &start, err) != 0 ||
        read_network(object, &start, err) != 0 ||
        read_place(arena, object, &start, err) != 0 ||
        gang_read(json_object_get(object, "gang"), &start.gang, err) != 0)
        return -1;
    start.image.name = arena_strdup(arena, start.image.name);
    start.image.digest = arena_strdup(arena, start.image.digest);
    *start_out = start;
    return 0;
}

static int
check_keys(const json_t *object, unsigned fields, struct error *err)
{
    const char *keys[8 + COUNT(start_keys)] = { "protocol", "op" };
    size_t count = 2;

    for (size_t i = 0; i < COUNT(field_keys); i++)
        if ((fields & field_keys[i].field) != 0)
            for (size_t k = 0; field_keys[i].keys[k] != NULL; k++)
                keys[count++] = field_keys[i].keys[k];
    if ((fields & HAS_START) != 0)
        for (size_t i = 0; i < COUNT(start_keys); i++)
            keys[count++] = start_keys[i];
    return json_only(object, keys, err);
}

static int
read_reason(const json_t *object, const char **out, struct error *err)
{
    if (json_text(object, "reason", true, RUNNER_LABEL_MAX, out, err) != 0)
        return -1;
    for (const char *s = *out; *s != '\0'; s++)
        if (*s < 0x20 || *s > 0x7E)
            return error_field(err, "/reason",
                               "a reason has printable ASCII only");
    return 0;
}

/* The fields that several operations share. */
static int
read_fields(const json_t *object, unsigned fields, struct runner_request *out,
            struct error *err)
{
    if ((fields & (HAS_INSTANCE | MAY_INSTANCE)) != 0 &&
        read_id(object, "instance", (fields & HAS_INSTANCE) != 0,
                &out->instance, err) != 0)
        return -1;
    if ((fields & HAS_INSTANCE) != 0 &&
        json_int(object, "incarnation", true, 1, RUNNER_INCARNATION_MAX,
                 &out->incarnation, err) != 0)
        return -1;
    if ((fields & (HAS_START | HAS_SIZE)) != 0 &&
        json_int(object, "tenant", true, 1, RUNNER_TENANT_MAX, &out->tenant,
                 err) != 0)
        return -1;
    if ((fields & HAS_SIGNAL) != 0 &&
        read_signal(object, "signal", false, &out->signal, err) != 0)
        return -1;
    if ((fields & HAS_NOTICE) != 0 &&
        (read_reason(object, &out->reason, err) != 0 ||
         json_int(object, "deadline_ms", true, 1, TIME_MAX, &out->deadline_ms,
                  err) != 0))
        return -1;
    if ((fields & HAS_IMAGE) != 0 && read_image(object, &out->image, err) != 0)
        return -1;
    return 0;
}

static int
read_more_fields(const json_t *object, unsigned fields,
                 struct runner_request *out, struct error *err)
{
    if ((fields & HAS_WAIT) != 0 &&
        (json_int(object, "revision", true, 0, INT64_MAX, &out->revision,
                  err) != 0 ||
         json_int(object, "timeout_ms", true, 0, RUNNER_WAIT_MAX_MS,
                  &out->timeout_ms, err) != 0))
        return -1;
    if ((fields & HAS_GANG) != 0 &&
        gang_read(json_object_get(object, "gang"), &out->gang, err) != 0)
        return -1;
    if ((fields & HAS_CAP) != 0 &&
        (json_int(object, "cpu_milli", true, 0, CAP_MAX, &out->cap.cpu_milli,
                  err) != 0 ||
         json_int(object, "io_kib", true, 0, CAP_MAX, &out->cap.io_kib, err) !=
             0 ||
         json_int(object, "network_kib", true, 0, CAP_MAX,
                  &out->cap.network_kib, err) != 0))
        return -1;
    if ((fields & HAS_CARDS) != 0 &&
        json_bool(object, "cards", true, &out->cards, err) != 0)
        return -1;
    if ((fields & HAS_LOG) != 0 &&
        (json_int(object, "offset", true, 0, INT64_MAX, &out->offset, err) !=
             0 ||
         json_int(object, "max", true, 1, RUNNER_LOG_CHUNK_MAX, &out->max,
                  err) != 0))
        return -1;
    if ((fields & HAS_VOLUME) != 0 &&
        read_id(object, "id", true, &out->id, err) != 0)
        return -1;
    if ((fields & HAS_SIZE) != 0 && json_int(object, "size_mib", true, 4,
                                             1 << 30, &out->size_mib, err) != 0)
        return -1;
    if ((fields & HAS_UUID) != 0 &&
        (json_text(object, "uuid", true, PART_TEXT_MAX - 1, &out->uuid, err) !=
             0 ||
         runner_check_part(out->uuid, "/uuid", err) != 0))
        return -1;
    return 0;
}

static int
read_op(const json_t *object, enum runner_op *out, struct error *err)
{
    int64_t protocol = 0;
    const char *text = NULL;

    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "a request is a JSON object");
    if (json_int(object, "protocol", true, RUNNER_PROTOCOL, RUNNER_PROTOCOL,
                 &protocol, err) != 0 ||
        json_text(object, "op", true, 32, &text, err) != 0)
        return -1;
    for (unsigned i = 0; i < RUNNER_OP_COUNT; i++)
        if (strcmp(ops[i].text, text) == 0) {
            *out = (enum runner_op)i;
            return 0;
        }
    return error_field(err, "/op", "\"%s\" is not an operation", text);
}

/* Strings that read_fields left pointing into the JSON value. */
static void
own_strings(struct arena *arena, struct runner_request *request)
{
    const char **texts[] = { &request->instance,   &request->reason,
                             &request->id,         &request->uuid,
                             &request->image.name, &request->image.digest };

    for (size_t i = 0; i < COUNT(texts); i++)
        if (*texts[i] != NULL)
            *texts[i] = arena_strdup(arena, *texts[i]);
}

int
runner_request_parse(struct arena *arena, const char *bytes, size_t size,
                     struct runner_request *request_out, struct error *err)
{
    struct runner_request request = { 0 };
    scoped_json object = NULL;
    unsigned fields;

    if (size > RUNNER_REQUEST_SIZE_MAX)
        return error_set(err, ERROR_TOO_LARGE,
                         "a request of %zu bytes is larger than %zu", size,
                         RUNNER_REQUEST_SIZE_MAX);
    object = json_read(bytes, size, err);
    if (object == NULL || read_op(object, &request.op, err) != 0)
        return -1;
    fields = ops[request.op].fields;
    if (check_keys(object, fields, err) != 0 ||
        read_fields(object, fields, &request, err) != 0 ||
        read_more_fields(object, fields, &request, err) != 0)
        return -1;
    if ((fields & HAS_START) != 0 &&
        runner_request_parse_start(arena, object, &request.start, err) != 0)
        return -1;
    own_strings(arena, &request);
    *request_out = request;
    return 0;
}
