/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/container.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "runner/process.h"
#include "runner/remove.h"

#define CONMON "/usr/bin/conmon"
#define CRUN "/usr/bin/crun"
#define CREATE_TIMEOUT_MS 60000
#define CRUN_TIMEOUT_MS 60000
#define PATH_ROOM 256

static int
write_spec(const struct container *container, const json_t *spec,
           struct error *err)
{
    scoped_buffer bytes = { 0 };
    char path[PATH_ROOM];
    scoped_fd fd = -1;

    json_write(&bytes, spec);
    (void)snprintf(path, sizeof(path), "%s/made/config.json", container->place);
    fd =
        open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "write configuration: %s",
                         strerror(errno));
    return file_write_all(fd, bytes.bytes, bytes.size, err);
}

/* crun gives the container's root the files that are its standard streams:
 * with the machine's own /dev/null as input, a container could close it for
 * everybody.  So each has one of its own. */
static pid_t
spawn_monitor(const struct container *container, int64_t log_bytes, int sync_fd,
              int gate_fd, struct error *err)
{
    char root[PATH_ROOM];
    char made[PATH_ROOM];
    char pid[PATH_ROOM];
    char monitor[PATH_ROOM];
    char log[PATH_ROOM + 16];
    char exits[PATH_ROOM];
    char size[24];
    char said[PATH_ROOM];
    char null[PATH_ROOM];
    scoped_fd said_fd = -1;

    (void)snprintf(null, sizeof(null), "%s/made/upper/null", container->place);
    (void)snprintf(made, sizeof(made), "%s/made", container->place);
    (void)snprintf(root, sizeof(root), "--root=%s/crun",
                   container->policy->state_dir);
    (void)snprintf(pid, sizeof(pid), "%s/made/pid", container->place);
    (void)snprintf(monitor, sizeof(monitor), "%s/made/monitor",
                   container->place);
    (void)snprintf(log, sizeof(log), "k8s-file:%s/log", container->place);
    (void)snprintf(exits, sizeof(exits), "%s/exits",
                   container->policy->state_dir);
    (void)snprintf(size, sizeof(size), "%" PRId64, log_bytes);
    (void)snprintf(said, sizeof(said), "%s/made/monitor.log", container->place);
    said_fd = open(said, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return process_spawn(
        &(struct process){
            .argv = (const char *const[]){ CONMON,
                                           "--api-version",
                                           "1",
                                           "-c",
                                           container->name,
                                           "-u",
                                           container->name,
                                           "-n",
                                           container->name,
                                           "-r",
                                           CRUN,
                                           "-b",
                                           made,
                                           "-p",
                                           pid,
                                           "-P",
                                           monitor,
                                           "-l",
                                           log,
                                           "--log-global-size-max",
                                           size,
                                           "--no-sync-log",
                                           "--exit-dir",
                                           exits,
                                           "--full-attach",
                                           "--log-level",
                                           "error",
                                           "--runtime-arg",
                                           "--cgroup-manager=cgroupfs",
                                           "--runtime-arg",
                                           root,
                                           NULL },
            .env = (const char *const[]){ "PATH=/usr/sbin:/usr/bin",
                                          "_OCI_SYNCPIPE=3", "_OCI_STARTPIPE=4",
                                          NULL },
            .netns_fd = -1,
            .own_mounts = true,
            .view_fd = container->policy->view_fd,
            .null = null,
            .directory = made, /* conmon leaves files there */
            .pass_fd = sync_fd,
            .gated = true,
            .gate_fd = gate_fd,
            .plain_modes = true, /* crun's device nodes */
            .output_fd = said_fd,
            .input_fd = -1,
        },
        err);
}

int
container_begin(const struct container *container, int64_t log_bytes,
                struct container_pending *pending_out, struct error *err)
{
    int sync[2];
    int gate[2];
    pid_t monitor;

    if (pipe2(sync, O_CLOEXEC) != 0)
        return error_set(err, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    if (pipe2(gate, O_CLOEXEC) != 0) {
        (void)close(sync[0]);
        (void)close(sync[1]);
        return error_set(err, ERROR_INTERNAL, "pipe: %s", strerror(errno));
    }
    monitor = spawn_monitor(container, log_bytes, sync[1], gate[0], err);
    (void)close(sync[1]);
    (void)close(gate[0]);
    *pending_out = (struct container_pending){ .sync_fd = sync[0],
                                               .gate_fd = gate[1],
                                               .monitor = monitor };
    if (monitor >= 0)
        return 0;
    (void)close(sync[0]);
    (void)close(gate[1]);
    return -1;
}

int
container_create(const struct container *container, const json_t *spec,
                 struct container_pending *pending, struct error *err)
{
    char go = 'g';

    if (write_spec(container, spec, err) != 0)
        return -1;
    if (write(pending->gate_fd, &go, 1) != 1)
        return error_set(err, ERROR_INTERNAL, "the monitor ended at once");
    (void)close(pending->gate_fd);
    pending->gate_fd = -1;
    return 0;
}

/* Killed first: conmon takes a closed gate for an open one. */
void
container_abandon(struct container_pending *pending)
{
    (void)kill(pending->monitor, SIGKILL);
    (void)waitpid(pending->monitor, NULL, 0);
    (void)close(pending->gate_fd);
    (void)close(pending->sync_fd);
    pending->gate_fd = -1;
    pending->sync_fd = -1;
}

/* One line of JSON from conmon, or what came until it closed. */
static void
read_line(int fd, struct buffer *line)
{
    int64_t end = clock_mono_ms() + CREATE_TIMEOUT_MS;
    struct pollfd item = { .fd = fd, .events = POLLIN };
    char bytes[1024];

    while (line->size < 65536 && strchr(buffer_text(line), '\n') == NULL) {
        int64_t left = end - clock_mono_ms();
        int ready = left > 0 ? poll(&item, 1, (int)left) : 0;
        ssize_t got;

        if (ready < 0 && errno == EINTR)
            continue;
        if (ready <= 0)
            return;
        got = read(fd, bytes, sizeof(bytes));
        if (got <= 0)
            return;
        buffer_add(line, bytes, (size_t)got);
    }
}

int
container_created(const struct container *container,
                  struct container_pending *pending, pid_t *pid_out,
                  struct error *err)
{
    scoped_buffer line = { 0 };
    scoped_json said = NULL;
    const char *message;
    json_int_t pid;
    int status;

    (void)container;
    read_line(pending->sync_fd, &line);
    (void)close(pending->sync_fd);
    pending->sync_fd = -1;
    /* The first conmon ends once it has put itself into the background. */
    status = process_wait(pending->monitor, CREATE_TIMEOUT_MS, err);
    if (status < 0)
        return -1;
    said =
        json_loadb(buffer_text(&line), line.size, JSON_DISABLE_EOF_CHECK, NULL);
    pid = json_integer_value(json_object_get(said, "data"));
    message = json_string_value(json_object_get(said, "message"));
    if (pid > 1) {
        *pid_out = (pid_t)pid;
        return 0;
    }
    return error_set(err, ERROR_INTERNAL, "make the container: %.300s",
                     message != NULL ? message : "the monitor failed");
}

/* crun with --root and one command on this container. */
static int
run_crun(const struct container *container, const char *command,
         const char *option, struct error *err)
{
    char root[PATH_ROOM];
    const char *argv[] = { CRUN,    root,   "--cgroup-manager=cgroupfs",
                           command, option, container->name,
                           NULL };

    (void)snprintf(root, sizeof(root), "--root=%s/crun",
                   container->policy->state_dir);
    if (option == NULL) {
        argv[4] = container->name;
        argv[5] = NULL;
    }
    return process_run(&(struct process){ .argv = argv,
                                          .netns_fd = -1,
                                          .own_mounts = container->own_mounts,
                                          .view_fd = container->policy->view_fd,
                                          .pass_fd = -1 },
                       NULL, 0, NULL, CRUN_TIMEOUT_MS, err);
}

int
container_start(const struct container *container, struct error *err)
{
    return run_crun(container, "start", NULL, err);
}

/* crun's first process waits at this fifo, which goes away at the start. */
bool
container_is_waiting(const struct container *container)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/crun/%s/exec.fifo",
                   container->policy->state_dir, container->name);
    return access(path, F_OK) == 0;
}

bool
container_exit(const struct container *container, int *code_out,
               int64_t *time_ms_out)
{
    char path[PATH_ROOM];
    char text[16];
    scoped_fd fd = -1;
    struct stat file;
    ssize_t got;

    (void)snprintf(path, sizeof(path), "%s/exits/%s",
                   container->policy->state_dir, container->name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &file) != 0)
        return false;
    got = read(fd, text, sizeof(text) - 1);
    if (got <= 0)
        return false;
    text[got] = '\0';
    *code_out = (int)strtol(text, NULL, 10);
    *time_ms_out =
        (int64_t)file.st_mtim.tv_sec * 1000 + file.st_mtim.tv_nsec / 1000000;
    return true;
}

/* Whether the process is a helper of this container: conmon or crun with its
 * name among the arguments. */
static bool
works_on(const char *pid, const char *name)
{
    char path[64];
    char text[4096];
    scoped_fd fd = -1;
    size_t size = strlen(name);
    ssize_t got;

    (void)snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (got <= 0)
        return false;
    text[got] = '\0';
    if (strcmp(text, CONMON) != 0 && strcmp(text, CRUN) != 0)
        return false;
    for (const char *at = text; at < text + got; at += strlen(at) + 1)
        if (strlen(at) == size && strcmp(at, name) == 0)
            return true;
    return false;
}

bool
container_monitored(const struct container *container)
{
    char path[PATH_ROOM];
    char pid[24] = "";
    scoped_fd fd = -1;
    ssize_t got;

    (void)snprintf(path, sizeof(path), "%s/made/monitor", container->place);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    got = fd < 0 ? -1 : read(fd, pid, sizeof(pid) - 1);
    if (got <= 0)
        return false;
    pid[got] = '\0';
    pid[strspn(pid, "0123456789")] = '\0';
    return pid[0] != '\0' && works_on(pid, container->name);
}

static void
kill_helpers(const struct container *container)
{
    DIR *proc = opendir("/proc");
    const struct dirent *entry;

    while (proc != NULL && (entry = readdir(proc)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            works_on(entry->d_name, container->name))
            (void)kill((pid_t)strtol(entry->d_name, NULL, 10), SIGKILL);
    if (proc != NULL)
        (void)closedir(proc);
}

void
container_delete(const struct container *container)
{
    struct error ignored = { 0 };
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/crun/%s",
                   container->policy->state_dir, container->name);
    if (container_monitored(container))
        kill_helpers(container);
    if (access(path, F_OK) == 0 &&
        run_crun(container, "delete", "--force", &ignored) != 0)
        remove_all(path);
    (void)snprintf(path, sizeof(path), "%s/exits/%s",
                   container->policy->state_dir, container->name);
    (void)unlink(path);
}

void
container_version(const char *program, char *text, size_t room)
{
    const char *const argv[] = { program, "--version", NULL };
    struct error ignored = { 0 };
    scoped_buffer output = { 0 };

    text[0] = '\0';
    if (process_run(
            &(struct process){ .argv = argv, .netns_fd = -1, .pass_fd = -1 },
            NULL, 0, &output, 10000, &ignored) == 0)
        (void)snprintf(text, room, "%.*s",
                       (int)strcspn(buffer_text(&output), "\n"),
                       buffer_text(&output));
}
