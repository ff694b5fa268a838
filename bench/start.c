/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What does the runner add to the start of a container?
 *
 * Pairs of starts, taken in turns: the same trivial container by conmon and
 * crun alone, and by the runner through its socket, which besides gives it a
 * user range, limits and a journal.  Both have a network namespace with
 * nothing in it; what the tenant's network adds is shown beside.  A start is
 * timed from the request until the process runs (crun start has returned).
 * What counts is the median of the differences of the pairs; its 95% interval
 * is by order statistics, so it takes nothing for granted about their
 * distribution.
 *
 *   start SOCKET UID IMAGE DIGEST BUNDLE PAIRS
 *
 * Ends with 0 when the upper end of the interval is at most 10 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/file.h"
#include "engine/runner_message.h"

#define LIMIT_US 10000
#define PAIRS_MAX 10000
#define CALL_MS 30000

struct setting {
    const char *socket;
    uid_t uid; /* whom the runner listens to */
    const char *image;
    const char *digest;
    const char *bundle; /* directory with config.json for crun */
    int fd;
};

static _Noreturn void
give_up(const char *what, const char *why)
{
    (void)fprintf(stderr, "bench-start: %s: %s\n", what, why);
    exit(1);
}

/* --- bare --- */

/* crun refuses hosts whose cgroup2 hierarchy lies beside v1: they get a view
 * without it, as the runner gives it. */
static void
hide_unified(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        give_up("mounts", strerror(errno));
    (void)umount2("/sys/fs/cgroup/unified", MNT_DETACH);
}

static void
run(const char *const argv[], bool must)
{
    pid_t pid;
    int status = 0;

    if (posix_spawn(&pid, argv[0], NULL, NULL, (char *const *)(uintptr_t)argv,
                    environ) != 0 ||
        waitpid(pid, &status, 0) != pid)
        give_up(argv[0], strerror(errno));
    if (must && status != 0)
        give_up(argv[0], "failed");
}

static char *
text(const char *format, const char *directory)
{
    struct buffer out = { 0 };
    const char *mark = strstr(format, "%s");

    buffer_add(&out, format, (size_t)(mark - format));
    buffer_add_text(&out, directory);
    buffer_add_text(&out, mark + 2);
    return out.bytes;
}

/* conmon's monitor holds the pipe open; the first line says that it is made. */
static void
await_created(int fd)
{
    char byte = '\0';

    while (byte != '\n')
        if (read(fd, &byte, 1) != 1)
            give_up("conmon", "said nothing");
}

static int64_t
start_bare(const struct setting *setting, const char *name)
{
    char *root = text("--root=%s/crun", setting->bundle);
    char *pidfile = text("%s/pid", setting->bundle);
    char *log = text("k8s-file:%s/log", setting->bundle);
    char *exits = text("%s/exits", setting->bundle);
    const char *const conmon[] = {
        "/usr/bin/conmon", "--api-version", "1", "-c", name, "-u", name,
        "-n", name, "-r", "/usr/bin/crun", "-b", setting->bundle, "-p",
        pidfile, "-l", log, "--exit-dir", exits, "--runtime-arg", root,
        "--runtime-arg", "--cgroup-manager=cgroupfs", "--full-attach", NULL
    };
    const char *const start[] = { "/usr/bin/crun", root,
                                  "--cgroup-manager=cgroupfs", "start", name,
                                  NULL };
    const char *const delete[] = { "/usr/bin/crun", root,
                                   "--cgroup-manager=cgroupfs", "delete",
                                   "--force", name, NULL };
    int sync[2];
    char number[16];
    int64_t begin_us, took_us;

    if (pipe(sync) != 0)
        give_up("pipe", strerror(errno));
    (void)fcntl(sync[0], F_SETFD, FD_CLOEXEC);
    (void)snprintf(number, sizeof(number), "%d", sync[1]);
    (void)setenv("_OCI_SYNCPIPE", number, 1);
    begin_us = clock_mono_us();
    run(conmon, true);
    (void)close(sync[1]);
    await_created(sync[0]);
    (void)close(sync[0]);
    (void)unsetenv("_OCI_SYNCPIPE");
    run(start, true);
    took_us = clock_mono_us() - begin_us;
    run(delete, false);
    free(root);
    free(pidfile);
    free(log);
    free(exits);
    return took_us;
}

/* --- runner --- */

static void
connect_runner(struct setting *setting)
{
    struct error err;

    if (seteuid(setting->uid) != 0)
        give_up("seteuid", strerror(errno));
    setting->fd = runner_message_connect(setting->socket, &err);
    if (seteuid(0) != 0 || setting->fd < 0)
        give_up("connect", err.text);
}

static json_t *
ask(const struct setting *setting, json_t *request)
{
    json_t *result = NULL;
    struct error err;

    if (runner_message_call(setting->fd, request, CALL_MS, &result, &err) != 0)
        give_up("runner", err.text);
    return result;
}

static int64_t
start_runner(const struct setting *setting, const char *name, bool network)
{
    json_t *request = json_pack(
        "{s:s, s:s, s:i, s:i, s:{s:s, s:s}, s:[s], s:i, s:i, s:i}", "op",
        "start", "instance", name, "incarnation", 1, "tenant", 1, "image",
        "name", setting->image, "digest", setting->digest, "argv",
        "/bin/true", "cpu_milli", 1000, "memory_mib", 64, "pids_max", 64);
    int64_t begin_us, took_us;

    if (network)
        (void)json_object_set_new(request, "network", json_object());
    begin_us = clock_mono_us();
    json_decref(ask(setting, request));
    took_us = clock_mono_us() - begin_us;
    json_decref(ask(setting, json_pack("{s:s, s:s, s:i}", "op", "kill",
                                       "instance", name, "incarnation", 1)));
    json_decref(ask(setting, json_pack("{s:s, s:s, s:i}", "op", "remove",
                                       "instance", name, "incarnation", 1)));
    return took_us;
}

/* --- statistics --- */

static int
compare(const void *a, const void *b)
{
    int64_t one = *(const int64_t *)a, two = *(const int64_t *)b;

    return (one > two) - (one < two);
}

static int64_t
median(int64_t *sorted, size_t count)
{
    qsort(sorted, count, sizeof(*sorted), compare);
    return count % 2 == 1 ? sorted[count / 2]
                          : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
}

/* Prints the median of difference and its interval; gives the upper end. */
static int64_t
print_interval(const char *what, int64_t *difference, size_t count)
{
    /* Ranks between which the median lies with 95%: n/2 -+ 0.98 sqrt(n). */
    double reach = 0.98 * sqrt((double)count);
    double below = floor((double)count / 2 - reach);
    size_t low = below > 0 ? (size_t)below : 0;
    size_t high = count - 1 - low;
    int64_t middle = median(difference, count);

    (void)printf("%s: median %.2f ms, 95%% [%.2f, %.2f]\n", what,
                 (double)middle / 1000, (double)difference[low] / 1000,
                 (double)difference[high] / 1000);
    return difference[high];
}

/* What each pair took, and what the runner took more. */
static struct {
    int64_t bare[PAIRS_MAX], runner[PAIRS_MAX], network[PAIRS_MAX];
    int64_t more[PAIRS_MAX], with_network[PAIRS_MAX];
} took;

static int
judge(size_t count)
{
    int64_t upper;
    bool passes;

    (void)printf("%zu pairs, ms: conmon and crun %.2f, runner %.2f, runner "
                 "with network %.2f\n",
                 count, (double)median(took.bare, count) / 1000,
                 (double)median(took.runner, count) / 1000,
                 (double)median(took.network, count) / 1000);
    (void)print_interval("more with network", took.with_network, count);
    upper = print_interval("more", took.more, count);
    passes = upper <= LIMIT_US;
    (void)printf("%s: the upper end is to be at most %.2f ms\n",
                 passes ? "PASS" : "FAIL", (double)LIMIT_US / 1000);
    (void)printf("%d passed, %d failed\n", passes, !passes);
    return passes ? 0 : 1;
}

/* The order turns round, so that none always goes first. */
static void
take_pair(const struct setting *setting, size_t number, size_t at)
{
    for (size_t k = 0; k < 3; k++) {
        size_t kind = (k + number) % 3;
        char id[40], name[40];

        (void)snprintf(id, sizeof(id), "in_%026zu", number * 2 + (kind == 2));
        (void)snprintf(name, sizeof(name), "bench-start-%zu", number);
        if (kind == 0)
            took.bare[at] = start_bare(setting, name);
        else if (kind == 1)
            took.runner[at] = start_runner(setting, id, false);
        else
            took.network[at] = start_runner(setting, id, true);
    }
    took.more[at] = took.runner[at] - took.bare[at];
    took.with_network[at] = took.network[at] - took.bare[at];
}

int
main(int argc, char **argv)
{
    struct setting setting = { 0 };
    size_t pairs;

    if (argc != 7) {
        (void)fputs("usage: start SOCKET UID IMAGE DIGEST BUNDLE PAIRS\n",
                    stderr);
        return 2;
    }
    setting.socket = argv[1];
    setting.uid = (uid_t)strtoul(argv[2], NULL, 10);
    setting.image = argv[3];
    setting.digest = argv[4];
    setting.bundle = argv[5];
    pairs = strtoul(argv[6], NULL, 10);
    if (pairs < 10 || pairs > PAIRS_MAX)
        give_up("PAIRS", "10 to 10000");
    hide_unified();
    connect_runner(&setting);
    /* The first ones pay for caches. */
    for (size_t i = 0; i < pairs + 5; i++)
        take_pair(&setting, i, i < 5 ? 0 : i - 5);
    return judge(pairs);
}
