/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/sample.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accel/accel.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/part.h"

#define PATH_ROOM 512
#define TEXT_ROOM 4096
#define TASKS_MAX 256

struct group {
    const char *top;
    enum cgroup_mode mode;
    const char *path;
};

/* The file's text, "" when there is none. */
static void
read_file(const struct group *group, const char *hierarchy, const char *file,
          char text[TEXT_ROOM])
{
    char path[PATH_ROOM];
    scoped_fd fd = -1;
    ssize_t got;

    if (group->mode == CGROUP_V2)
        (void)snprintf(path, sizeof(path), "%.150s%.200s/%s", group->top,
                       group->path, file);
    else
        (void)snprintf(path, sizeof(path), "%.150s/%s%.200s/%s", group->top,
                       hierarchy, group->path, file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, text, TEXT_ROOM - 1);
    text[got > 0 ? got : 0] = '\0';
}

/* The sum of the numbers behind each "key" that stands before `mark`. */
static int64_t
sum_of(const char *text, const char *key, char mark)
{
    size_t size = strlen(key);
    int64_t sum = 0;

    for (const char *at = strstr(text, key); at != NULL;
         at = strstr(at + size, key))
        if (at[size] == mark &&
            (at == text || at[-1] == '\n' || at[-1] == ' '))
            sum += strtoll(at + size + 1, NULL, 10);
    return sum;
}

/* --- version 2 --- */

static void
read_v2(const struct group *group, struct sample *out)
{
    char text[TEXT_ROOM];

    read_file(group, "", "cpu.stat", text);
    out->cpu_us = sum_of(text, "usage_usec", ' ');
    out->throttled_us = sum_of(text, "throttled_usec", ' ');
    out->periods = sum_of(text, "nr_periods", ' ');
    out->throttled = sum_of(text, "nr_throttled", ' ');
    read_file(group, "", "io.stat", text);
    out->read_bytes = sum_of(text, "rbytes", '=');
    out->written_bytes = sum_of(text, "wbytes", '=');
    out->reads = sum_of(text, "rios", '=');
    out->writes = sum_of(text, "wios", '=');
    read_file(group, "", "memory.current", text);
    out->memory_bytes = strtoll(text, NULL, 10);
}

/* --- version 1 --- */

static void
read_v1(const struct group *group, struct sample *out)
{
    char text[TEXT_ROOM];

    read_file(group, "cpuacct", "cpuacct.usage", text);
    out->cpu_us = strtoll(text, NULL, 10) / 1000;
    read_file(group, "cpu", "cpu.stat", text);
    out->throttled_us = sum_of(text, "throttled_time", ' ') / 1000;
    out->periods = sum_of(text, "nr_periods", ' ');
    out->throttled = sum_of(text, "nr_throttled", ' ');
    read_file(group, "blkio", "blkio.throttle.io_service_bytes_recursive",
              text);
    out->read_bytes = sum_of(text, "Read", ' ');
    out->written_bytes = sum_of(text, "Write", ' ');
    read_file(group, "blkio", "blkio.throttle.io_serviced_recursive", text);
    out->reads = sum_of(text, "Read", ' ');
    out->writes = sum_of(text, "Write", ' ');
    read_file(group, "memory", "memory.usage_in_bytes", text);
    out->memory_bytes = strtoll(text, NULL, 10);
}

/* The second number of a task's schedstat: ns on a run queue. */
static int64_t
wait_of(const char *proc, long task)
{
    char path[PATH_ROOM];
    char text[96];
    scoped_fd fd = -1;
    ssize_t got;
    const char *at;

    (void)snprintf(path, sizeof(path), "%.150s/%ld/schedstat", proc, task);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = '\0';
    at = strchr(text, ' ');
    return at != NULL ? strtoll(at, NULL, 10) : 0;
}

static int64_t
read_wait(const struct group *group, const char *proc)
{
    char text[TEXT_ROOM];
    int64_t ns = 0;
    char *at = text;

    read_file(group, "cpu",
              group->mode == CGROUP_V2 ? "cgroup.threads" : "tasks", text);
    for (int i = 0; i < TASKS_MAX && *at != '\0'; i++) {
        long task = strtol(at, &at, 10);

        /* A number that the buffer cut off is another task's. */
        if (*at != '\n')
            break;
        ns += wait_of(proc, task);
        at++;
    }
    return ns / 1000;
}

void
sample_read(const char *top, enum cgroup_mode mode, const char *path,
            const char *proc, struct sample *sample_out)
{
    struct group group = { top, mode, path };
    struct sample sample = { 0 };

    if (mode == CGROUP_V2)
        read_v2(&group, &sample);
    else
        read_v1(&group, &sample);
    sample.wait_us = read_wait(&group, proc);
    *sample_out = sample;
}

/* --- all of them --- */

/* What a row needs of an instance, apart from the table. */
struct seen {
    char name[INSTANCE_NAME_MAX];
    char cgroup[INSTANCE_PATH_MAX];
    char id[RUNNER_ID_MAX + 1];
    int64_t incarnation;
    struct network_port port;
    int32_t busy_permille; /* of its cards together; -1: not known */
    int64_t card_mib;      /* -1: not known */
};

static size_t
list_running(struct node *node, struct arena *arena, struct seen **out)
{
    struct seen *list;
    size_t count = 0;

    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        count++;
    list = arena_alloc(arena, (count + 1) * sizeof(*list));
    count = 0;
    for (const struct instance *at = node->first; at != NULL; at = at->next) {
        struct seen *seen = &list[count];

        if (at->phase != INSTANCE_RUNNING)
            continue;
        memcpy(seen->name, at->name, sizeof(seen->name));
        memcpy(seen->cgroup, at->cgroup, sizeof(seen->cgroup));
        (void)snprintf(seen->id, sizeof(seen->id), "%s", at->id);
        seen->incarnation = at->incarnation;
        seen->port = at->port;
        seen->busy_permille = -1;
        seen->card_mib = -1;
        count++;
    }
    node_unlock(node);
    *out = list;
    return count;
}

static struct seen *
owner_of(struct node *node, struct seen *list, size_t count, pid_t pid)
{
    char name[INSTANCE_NAME_MAX];
    char top[16];

    (void)snprintf(top, sizeof(top), "/%.8s", node->policy->prefix);
    cgroup_of(pid, top, name, sizeof(name));
    for (size_t i = 0; i < count && name[0] != '\0'; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

/* The vendor's lists of processes, each process given to its instance. */
static void
add_card(struct node *node, const char *uuid, struct seen *list, size_t count)
{
    struct accel_process processes[ACCEL_PROCESSES_MAX];
    struct accel_usage usage[ACCEL_PROCESSES_MAX];
    struct error ignored;
    size_t found = 0;

    if (accel_processes(&node->accel, uuid, processes, &found, &ignored) == 0)
        for (size_t i = 0; i < found; i++) {
            struct seen *seen = owner_of(node, list, count, processes[i].pid);

            if (seen != NULL && processes[i].used_mib >= 0)
                seen->card_mib = (seen->card_mib > 0 ? seen->card_mib : 0) +
                                 processes[i].used_mib;
        }
    if (accel_usage(&node->accel, uuid, usage, &found, &ignored) == 0)
        for (size_t i = 0; i < found; i++) {
            struct seen *seen =
                usage[i].running && usage[i].busy_permille >= 0
                    ? owner_of(node, list, count, usage[i].pid)
                    : NULL;

            if (seen != NULL)
                seen->busy_permille =
                    (seen->busy_permille > 0 ? seen->busy_permille : 0) +
                    usage[i].busy_permille;
        }
}

/* Cards whose clocks are held down, and by what. */
static json_t *
add_cards(struct node *node, struct arena *arena, struct seen *list,
          size_t count)
{
    json_t *rows = json_array();
    const char *const *uuids = NULL;
    struct error ignored;
    size_t cards = 0;

    /* Simulated cards do no work. */
    if (node->accel.ops->simulated ||
        accel_list(&node->accel, arena, &uuids, &cards, &ignored) != 0)
        return rows;
    for (size_t i = 0; i < cards; i++) {
        struct accel_reading reading;

        add_card(node, uuids[i], list, count);
        if (accel_read(&node->accel, uuids[i], &reading, &ignored) == 0 &&
            accel_reading_is(&reading, ACCEL_CLOCK_REASONS))
            (void)json_array_append_new(
                rows,
                json_pack("{s:s, s:I}", "uuid", uuids[i], "reasons",
                          (json_int_t)reading.value[ACCEL_CLOCK_REASONS]));
    }
    return rows;
}

static json_t *
row_of(struct node *node, const struct seen *seen, int link_fd)
{
    struct sample now;
    int64_t received = 0;
    int64_t sent = 0;

    sample_read("/sys/fs/cgroup", node->mode, seen->cgroup, "/proc", &now);
    if (seen->port.address != 0 && link_fd >= 0)
        network_count(link_fd, seen->port, &received, &sent);
    return json_pack(
        "{s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, "
        "s:I, s:i, s:I}",
        "instance", seen->id, "incarnation", (json_int_t)seen->incarnation,
        "cpu_us", (json_int_t)now.cpu_us, "wait_us", (json_int_t)now.wait_us,
        "throttled_us", (json_int_t)now.throttled_us, "periods",
        (json_int_t)now.periods, "throttled", (json_int_t)now.throttled,
        "read_bytes", (json_int_t)now.read_bytes, "written_bytes",
        (json_int_t)now.written_bytes, "reads", (json_int_t)now.reads,
        "writes", (json_int_t)now.writes, "received_bytes",
        (json_int_t)received, "sent_bytes", (json_int_t)sent, "memory_bytes",
        (json_int_t)now.memory_bytes, "card_permille",
        (int)seen->busy_permille, "card_mib", (json_int_t)seen->card_mib);
}

int
sample_all(struct node *node, bool cards, json_t **out, struct error *err)
{
    scoped_arena arena = arena_new();
    scoped_fd link_fd = network_watch(&node->network);
    json_t *rows = json_array();
    json_t *held = NULL;
    struct seen *list;
    size_t count = list_running(node, arena, &list);

    (void)err;
    held = cards ? add_cards(node, arena, list, count) : json_array();
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(rows, row_of(node, &list[i], link_fd));
    *out = json_pack("{s:I, s:o, s:o}", "time_ms",
                     (json_int_t)clock_mono_ms(), "instances", rows,
                     "throttled_cards", held);
    return 0;
}
