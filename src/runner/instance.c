/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/part.h"
#include "runner/volume.h"

#define JOURNAL_MAX ((size_t)512 * 1024)
#define MARKER_MAX 4096
#define LOST_AFTER_MS 3000

static const char *const phase_texts[] = {
    [INSTANCE_STARTING] = "starting",
    [INSTANCE_RUNNING] = "running",
    [INSTANCE_EXITED] = "exited",
    [INSTANCE_FAILED] = "failed",
};

/* Short enough for every kernel name, and not to be chosen by a tenant. */
static void
set_names(struct instance *instance, const struct policy *policy)
{
    char text[RUNNER_ID_MAX + 32];
    char hex[DIGEST_TEXT_MAX];
    struct digest digest;
    int size = snprintf(text, sizeof(text), "%s.%" PRId64, instance->id,
                        instance->incarnation);

    digest_of(text, (size_t)size, &digest);
    digest_format(&digest, hex);
    (void)snprintf(instance->name, sizeof(instance->name), "%s-%.24s",
                   policy->prefix, hex);
    (void)snprintf(instance->place, sizeof(instance->place),
                   "%.96s/instances/%s", policy->state_dir, instance->name);
    (void)snprintf(instance->cgroup, sizeof(instance->cgroup), "/%s/%s",
                   policy->prefix, instance->name);
}

struct instance *
instance_new(const struct policy *policy, const char *id, int64_t incarnation,
             int64_t tenant, json_t *request, struct error *err)
{
    struct arena *arena = arena_new();
    struct instance *instance = arena_alloc(arena, sizeof(*instance));

    instance->arena = arena;
    instance->id = arena_strdup(arena, id);
    instance->incarnation = incarnation;
    instance->tenant = tenant;
    instance->exit_code = -1;
    instance->request = json_incref(request);
    instance->port.tenant = tenant;
    set_names(instance, policy);
    if (runner_request_parse_start(arena, request, &instance->start, err) !=
        0) {
        instance_free(instance);
        return NULL;
    }
    instance->gang = instance->start.gang;
    return instance;
}

void
instance_free(struct instance *instance)
{
    struct arena *arena = instance->arena;

    json_decref(instance->request);
    arena_free(arena);
}

struct container
instance_container(const struct instance *instance, const struct policy *policy,
                   enum cgroup_mode mode)
{
    return (struct container){ .policy = policy,
                               .name = instance->name,
                               .place = instance->place,
                               .own_mounts = mode == CGROUP_HYBRID };
}

static json_t *
cards_of(const struct instance *instance)
{
    json_t *cards = json_array();

    for (size_t i = 0; i < instance->start.card_count; i++)
        (void)json_array_append_new(cards,
                                    json_string(instance->start.cards[i]));
    return cards;
}

static void
add_network(const struct instance *instance, json_t *record)
{
    struct network_names names = { 0 };

    if (instance->port.address != 0)
        network_describe(instance->port, &names);
    (void)json_object_set_new(record, "address", json_string(names.address));
    (void)json_object_set_new(record, "address6", json_string(names.address6));
    (void)json_object_set_new(record, "mac", json_string(names.mac));
}

static void
add_pin(const struct instance *instance, json_t *record)
{
    char cpus[TOPOLOGY_LIST_MAX], mems[TOPOLOGY_LIST_MAX];

    topology_set_format(&instance->pin.cpus, cpus);
    topology_set_format(&instance->pin.mems, mems);
    (void)json_object_set_new(record, "cpus", json_string(cpus));
    (void)json_object_set_new(record, "mems", json_string(mems));
    (void)json_object_set_new(record, "nics", json_string(instance->nics));
    (void)json_object_set_new(record, "pinned",
                              json_boolean(instance->pin.own));
}

static void
add_events(const struct instance *instance, json_t *record)
{
    json_t *notice = json_null();
    json_t *checkpoint = json_null();

    if (instance->notice_deadline_ms != 0)
        notice =
            json_pack("{s:s, s:I}", "reason", instance->notice, "deadline_ms",
                      (json_int_t)instance->notice_deadline_ms);
    if (instance->checkpoint.seen)
        checkpoint = json_pack("{s:I, s:I}", "step",
                               (json_int_t)instance->checkpoint.step, "time_ms",
                               (json_int_t)instance->checkpoint.time_ms);
    (void)json_object_set_new(record, "notice", notice);
    (void)json_object_set_new(record, "checkpoint", checkpoint);
}

static void
add_usage(const struct instance *instance, json_t *record)
{
    const struct cgroup_usage *usage = &instance->usage;

    (void)json_object_set_new(record, "oom", json_boolean(usage->oom_kills));
    (void)json_object_set_new(record, "oom_kills",
                              json_integer(usage->oom_kills));
    (void)json_object_set_new(record, "cpu_us", json_integer(usage->cpu_us));
    (void)json_object_set_new(record, "memory_bytes",
                              json_integer(usage->memory_bytes));
    (void)json_object_set_new(record, "memory_peak_bytes",
                              json_integer(usage->memory_peak_bytes));
    (void)json_object_set_new(record, "processes",
                              json_integer(usage->processes));
}

static void
add_cap(const struct instance *instance, json_t *record)
{
    const struct runner_cap *cap = &instance->cap;

    (void)json_object_set_new(
        record, "cap",
        json_pack("{s:I, s:I, s:I}", "cpu_milli", (json_int_t)cap->cpu_milli,
                  "io_kib", (json_int_t)cap->io_kib, "network_kib",
                  (json_int_t)cap->network_kib));
}

static void
add_share(const struct instance *instance, json_t *record)
{
    const struct runner_start *start = &instance->start;

    if (start->card_memory_mib == 0 || start->card_count == 0 ||
        part_is_slice(start->cards[0]))
        return;
    (void)json_object_set_new(
        record, "share",
        json_pack("{s:I, s:I, s:b}", "used_mib",
                  (json_int_t)instance->share_used_mib, "limit_mib",
                  (json_int_t)start->card_memory_mib, "over",
                  instance->share_over));
}

json_t *
instance_record(const struct instance *instance)
{
    json_t *record = json_pack(
        "{s:s, s:I, s:I, s:s, s:s, s:i, s:I, s:{s:s, s:s}, s:o, s:I, s:I, "
        "s:I, s:o}",
        "instance", instance->id, "incarnation",
        (json_int_t)instance->incarnation, "tenant",
        (json_int_t)instance->tenant, "state", phase_texts[instance->phase],
        "reason", instance->reason, "pid", (int)instance->pid, "uid_base",
        (json_int_t)instance->uid_base, "image", "name",
        instance->start.image.name, "digest", instance->start.image.digest,
        "cards", cards_of(instance), "card_memory_mib",
        (json_int_t)instance->start.card_memory_mib, "started_ms",
        (json_int_t)instance->started_ms, "exited_ms",
        (json_int_t)instance->exited_ms, "exit_code",
        instance->exit_code >= 0 ? json_integer(instance->exit_code)
                                 : json_null());

    add_network(instance, record);
    add_pin(instance, record);
    add_share(instance, record);
    add_usage(instance, record);
    add_cap(instance, record);
    add_events(instance, record);
    return record;
}

static json_t *
gang_of(const struct instance *instance)
{
    return instance->gang.instances > 0 ? gang_write(&instance->gang)
                                        : json_null();
}

static json_t *
journal_of(const struct instance *instance)
{
    const struct instance_checkpoint *mark = &instance->checkpoint;

    return json_pack(
        "{s:o, s:o, s:O, s:s, s:I, s:I, s:I, s:b}", "record",
        instance_record(instance), "gang", gang_of(instance), "request",
        instance->request, "boot_id", clock_boot_id(),
        "address_index", (json_int_t)instance->port.address, "marker_inode",
        (json_int_t)mark->inode, "marker_born_ns", (json_int_t)mark->born_ns,
        "capped", instance->capped);
}

/* Not synced: after a power cut there is no container either, and what a kill
 * of the runner leaves is in the page cache. */
int
instance_save(const struct instance *instance, struct error *err)
{
    scoped_json journal = journal_of(instance);
    scoped_buffer bytes = { 0 };
    char path[INSTANCE_PATH_MAX + 32];
    char temporary[INSTANCE_PATH_MAX + 32];
    scoped_fd fd = -1;

    json_write(&bytes, journal);
    (void)snprintf(path, sizeof(path), "%s/instance.json", instance->place);
    (void)snprintf(temporary, sizeof(temporary), "%s/instance.new",
                   instance->place);
    fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || file_write_all(fd, bytes.bytes, bytes.size, err) != 0 ||
        rename(temporary, path) != 0)
        return error_set(err, ERROR_INTERNAL, "write the journal: %s",
                         strerror(errno));
    return 0;
}

static json_t *
read_journal(const char *place, struct error *err)
{
    scoped_buffer bytes = { 0 };
    char path[INSTANCE_PATH_MAX + 32];

    (void)snprintf(path, sizeof(path), "%.200s/instance.json", place);
    if (file_read(path, JOURNAL_MAX, &bytes, err) != 0)
        return NULL;
    return json_read(bytes.bytes, bytes.size, err);
}

bool
instance_is_of_boot(const char *place)
{
    struct error ignored = { 0 };
    scoped_json journal = read_journal(place, &ignored);
    const char *boot = json_string_value(json_object_get(journal, "boot_id"));

    return boot != NULL && strcmp(boot, clock_boot_id()) == 0;
}

static int64_t
number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

static void
restore_text(const json_t *object, const char *key, char *out, size_t room)
{
    const char *text = json_string_value(json_object_get(object, key));

    (void)snprintf(out, room, "%s", text != NULL ? text : "");
}

/* A journal of before they were kept has none. */
static void
restore_pin(struct instance *instance, const json_t *record)
{
    char list[TOPOLOGY_LIST_MAX];

    restore_text(record, "cpus", list, sizeof(list));
    (void)topology_set_parse(list, &instance->pin.cpus);
    restore_text(record, "mems", list, sizeof(list));
    (void)topology_set_parse(list, &instance->pin.mems);
    restore_text(record, "nics", instance->nics, sizeof(instance->nics));
    instance->pin.own = json_is_true(json_object_get(record, "pinned"));
}

static void
restore(struct instance *instance, const json_t *journal, const json_t *record)
{
    const json_t *code = json_object_get(record, "exit_code");
    const json_t *notice = json_object_get(record, "notice");
    const json_t *mark = json_object_get(record, "checkpoint");
    const json_t *cap = json_object_get(record, "cap");
    struct error ignored;
    char phase[16];

    restore_text(record, "state", phase, sizeof(phase));
    for (unsigned i = 0; i <= INSTANCE_FAILED; i++)
        if (strcmp(phase, phase_texts[i]) == 0)
            instance->phase = (enum instance_phase)i;
    restore_text(record, "reason", instance->reason, sizeof(instance->reason));
    restore_text(notice, "reason", instance->notice, sizeof(instance->notice));
    instance->notice_deadline_ms = number(notice, "deadline_ms");
    if (json_is_object(json_object_get(journal, "gang")))
        (void)gang_read(json_object_get(journal, "gang"), &instance->gang,
                        &ignored);
    instance->cap = (struct runner_cap){
        .cpu_milli = number(cap, "cpu_milli"),
        .io_kib = number(cap, "io_kib"),
        .network_kib = number(cap, "network_kib"),
    };
    instance->capped = json_is_true(json_object_get(journal, "capped"));
    restore_pin(instance, record);
    instance->pid = (pid_t)number(record, "pid");
    instance->uid_base = number(record, "uid_base");
    instance->started_ms = number(record, "started_ms");
    instance->exited_ms = number(record, "exited_ms");
    instance->exit_code =
        json_is_integer(code) ? (int)json_integer_value(code) : -1;
    instance->usage = (struct cgroup_usage){
        .cpu_us = number(record, "cpu_us"),
        .memory_peak_bytes = number(record, "memory_peak_bytes"),
        .oom_kills = number(record, "oom_kills"),
    };
    instance->port.address = number(journal, "address_index");
    instance->checkpoint = (struct instance_checkpoint){
        .inode = (uint64_t)number(journal, "marker_inode"),
        .born_ns = number(journal, "marker_born_ns"),
        .seen = json_is_object(mark),
        .step = number(mark, "step"),
        .time_ms = number(mark, "time_ms"),
    };
}

struct instance *
instance_load(const struct policy *policy, const char *place, struct error *err)
{
    scoped_json journal = read_journal(place, err);
    const json_t *record = json_object_get(journal, "record");
    const char *id = json_string_value(json_object_get(record, "instance"));
    struct instance *instance;

    if (journal == NULL)
        return NULL;
    if (id == NULL) {
        (void)error_set(err, ERROR_INTERNAL, "a journal is not understood");
        return NULL;
    }
    instance = instance_new(policy, id, number(record, "incarnation"),
                            number(record, "tenant"),
                            json_object_get(journal, "request"), err);
    if (instance != NULL)
        restore(instance, journal, record);
    return instance;
}

/* The marker's directory as a descriptor; the volume is hostile ground. */
static int
open_marker_directory(const struct instance *instance,
                      const struct policy *policy, struct error *err)
{
    const struct runner_mount *volume =
        &instance->start.volumes[instance->start.checkpoint_volume];
    const char *rest = instance->start.checkpoint_dir + strlen(volume->path);
    char path[VOLUME_PATH_MAX];
    int top;
    int fd;

    volume_path(policy, volume->id, path);
    top = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (top < 0 || rest[0] == '\0')
        return top;
    fd = file_open_beneath(top, rest + 1, O_RDONLY | O_DIRECTORY, 0, err);
    (void)close(top);
    return fd;
}

/* Opens the marker when it is a plain file; O_NONBLOCK: a fifo must not hold
 * us up. */
static int
open_marker(const struct instance *instance, const struct policy *policy,
            struct statx *now)
{
    struct error ignored = { 0 };
    scoped_fd directory = open_marker_directory(instance, policy, &ignored);
    int fd;

    if (directory < 0)
        return -1;
    fd = file_open_beneath(directory, "checkpoint.json",
                           O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &ignored);
    if (fd < 0)
        return -1;
    if (statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, now) !=
            0 ||
        !S_ISREG(now->stx_mode) || now->stx_size > MARKER_MAX) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int64_t
nanoseconds(const struct statx_timestamp *time)
{
    return time->tv_sec * INT64_C(1000000000) + time->tv_nsec;
}

static int
read_step(int fd, int64_t *step)
{
    struct error ignored = { 0 };
    char text[MARKER_MAX];
    ssize_t got = read(fd, text, sizeof(text));
    scoped_json marker =
        got > 0 ? json_read(text, (size_t)got, &ignored) : NULL;

    return json_is_object(marker) ? json_int(marker, "step", true, 0,
                                             INT64_C(1) << 53, step, &ignored)
                                  : -1;
}

static bool
look_for_checkpoint(struct instance *instance, const struct policy *policy,
                    bool count)
{
    struct instance_checkpoint *mark = &instance->checkpoint;
    struct statx now;
    scoped_fd fd = -1;
    int64_t step = 0;

    if (instance->start.checkpoint_dir == NULL)
        return false;
    fd = open_marker(instance, policy, &now);
    if (fd < 0 || (now.stx_ino == mark->inode &&
                   nanoseconds(&now.stx_btime) == mark->born_ns))
        return false;
    mark->inode = now.stx_ino;
    mark->born_ns = nanoseconds(&now.stx_btime);
    if (!count || read_step(fd, &step) != 0)
        return false;
    mark->seen = true;
    mark->step = step;
    mark->time_ms = nanoseconds(&now.stx_ctime) / 1000000;
    return true;
}

void
instance_baseline(struct instance *instance, const struct policy *policy)
{
    (void)look_for_checkpoint(instance, policy, false);
}

static void
look_at_usage(struct instance *instance, enum cgroup_mode mode)
{
    struct cgroup_usage now;

    if (!cgroup_exists(mode, instance->cgroup))
        return;
    cgroup_usage_get(mode, instance->cgroup, &now);
    instance->usage = now;
}

/* Neither process nor monitor for a while: somebody killed conmon, and the
 * exit code with it. */
static bool
look_for_loss(struct instance *instance, const struct container *container,
              enum cgroup_mode mode)
{
    struct cgroup_usage now = { 0 };

    if (container_monitored(container)) {
        instance->lost_ms = 0;
        return false;
    }
    if (cgroup_exists(mode, instance->cgroup))
        cgroup_usage_get(mode, instance->cgroup, &now);
    if (now.processes > 0) {
        instance->lost_ms = 0;
        return false;
    }
    if (instance->lost_ms == 0)
        instance->lost_ms = clock_mono_ms();
    return clock_mono_ms() - instance->lost_ms > LOST_AFTER_MS;
}

bool
instance_refresh(struct instance *instance, const struct policy *policy,
                 enum cgroup_mode mode, bool full)
{
    struct container container = instance_container(instance, policy, mode);
    struct error ignored = { 0 };
    bool changed;

    if (instance->phase != INSTANCE_RUNNING)
        return false;
    changed = look_for_checkpoint(instance, policy, true);
    if (container_exit(&container, &instance->exit_code,
                       &instance->exited_ms)) {
        instance->phase = INSTANCE_EXITED;
        changed = true;
    } else if (full && look_for_loss(instance, &container, mode)) {
        instance->phase = INSTANCE_FAILED;
        instance->exited_ms = clock_wall_ms();
        (void)snprintf(instance->reason, sizeof(instance->reason),
                       "the monitor is gone; the exit code is not known");
        changed = true;
    }
    if (full || changed)
        look_at_usage(instance, mode);
    if (changed)
        (void)instance_save(instance, &ignored);
    return changed;
}
