/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/file.h"

#define UNIFIED "/sys/fs/cgroup/unified"

static const char *const default_env[] = { "PATH=/usr/sbin:/usr/bin", NULL };

static int
hide_unified(void)
{
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
        return -1;
    if (umount2(UNIFIED, MNT_DETACH) != 0 && errno != EINVAL && errno != ENOENT)
        return -1;
    return 0;
}

/* A thread that has left the others' mounts does not come back to them. */
static void *
make_view(void *data)
{
    int *fd = data;

    if (hide_unified() == 0)
        *fd = open("/proc/thread-self/ns/mnt", O_RDONLY | O_CLOEXEC);
    return NULL;
}

int
process_view(void)
{
    pthread_t thread;
    int fd = -1;

    if (pthread_create(&thread, NULL, make_view, &fd) != 0)
        return -1;
    (void)pthread_join(thread, NULL);
    return fd;
}

/* Only what gets a mount of its own needs more than the common view. */
static int
enter_view(const struct process *process)
{
    if (process->view_fd <= 0)
        return hide_unified();
    if (setns(process->view_fd, CLONE_NEWNS) != 0)
        return -1;
    return process->null != NULL ? unshare(CLONE_NEWNS) : 0;
}

/* Between fork and exec only calls that are safe in a threaded process. */
static int
enter_namespaces(const struct process *process)
{
    if (process->netns_fd >= 0 && setns(process->netns_fd, CLONE_NEWNET) != 0)
        return -1;
    if (!process->own_mounts)
        return 0;
    if (enter_view(process) != 0)
        return -1;
    if (process->null != NULL &&
        mount(process->null, "/dev/null", NULL, MS_BIND, NULL) != 0)
        return -1;
    return 0;
}

static void
place_fd(int fd, int wanted)
{
    int from = fd >= 0 ? fd : open("/dev/null", O_RDWR);

    if (from == wanted)
        (void)fcntl(wanted, F_SETFD, 0);
    else
        (void)dup2(from, wanted);
}

static void
become(const struct process *process)
{
    const char *const *env = process->env != NULL ? process->env : default_env;
    /* Out of the way of 0..3 before those are filled. */
    int pass = process->pass_fd >= 0
                   ? fcntl(process->pass_fd, F_DUPFD_CLOEXEC, 10)
                   : -1;
    int gate =
        process->gated ? fcntl(process->gate_fd, F_DUPFD_CLOEXEC, 10) : -1;
    int in = process->input_fd >= 0
                 ? fcntl(process->input_fd, F_DUPFD_CLOEXEC, 10)
                 : -1;
    int out = process->output_fd >= 0
                  ? fcntl(process->output_fd, F_DUPFD_CLOEXEC, 10)
                  : -1;
    sigset_t none;

    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)umask(process->plain_modes ? 0 : 022);
    if ((process->gated && prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) ||
        enter_namespaces(process) != 0 ||
        chdir(process->directory != NULL ? process->directory : "/") != 0)
        _exit(126);
    place_fd(in, 0);
    place_fd(out, 1);
    place_fd(out, 2);
    if (pass >= 0)
        place_fd(pass, 3);
    if (gate >= 0)
        place_fd(gate, 4);
    (void)execve(process->argv[0], (char *const *)(uintptr_t)process->argv,
                 (char *const *)(uintptr_t)env);
    _exit(127);
}

pid_t
process_spawn(const struct process *process, struct error *err)
{
    pid_t pid = fork();

    if (pid < 0)
        return error_set(err, ERROR_BUSY, "start a program: %s",
                         strerror(errno));
    if (pid == 0)
        become(process);
    return pid;
}

static int
reap(pid_t pid)
{
    int status = 0;

    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return 255;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int
process_wait(pid_t pid, int timeout_ms, struct error *err)
{
    scoped_fd pidfd = pidfd_open(pid, 0);
    struct pollfd item = { .fd = pidfd, .events = POLLIN };
    int64_t end = clock_mono_ms() + timeout_ms;
    int got;

    do {
        int64_t left = end - clock_mono_ms();

        got = pidfd < 0 ? 1 : poll(&item, 1, left > 0 ? (int)left : 0);
    } while (got < 0 && errno == EINTR);
    if (got > 0)
        return reap(pid);
    (void)kill(pid, SIGKILL);
    (void)reap(pid);
    return error_set(err, ERROR_INTERNAL, "a program did not end within %d ms",
                     timeout_ms);
}

/* Standard input as a file, so that nobody waits for anybody. */
static int
input_file(const char *input, size_t size, struct error *err)
{
    int fd = memfd_create("input", MFD_CLOEXEC);

    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "memfd: %s", strerror(errno));
    if (file_write_all(fd, input, size, err) != 0 ||
        lseek(fd, 0, SEEK_SET) != 0) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static int
collect(int fd, struct buffer *output, struct error *err)
{
    struct stat file;
    char *bytes;

    if (fstat(fd, &file) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return error_set(err, ERROR_INTERNAL, "output: %s", strerror(errno));
    if (file.st_size > (off_t)PROCESS_OUTPUT_MAX)
        return error_set(err, ERROR_TOO_LARGE, "a program wrote too much");
    bytes = malloc((size_t)file.st_size + 1);
    if (bytes == NULL ||
        file_read_all(fd, bytes, (size_t)file.st_size, err) != 0) {
        free(bytes);
        return -1;
    }
    buffer_add(output, bytes, (size_t)file.st_size);
    free(bytes);
    return 0;
}

/* The end of what the program said, for the error. */
static const char *
last_line(struct buffer *output)
{
    char *at;

    while (output->size > 0 && output->bytes[output->size - 1] == '\n')
        output->bytes[--output->size] = '\0';
    at = output->size > 0 ? strrchr(output->bytes, '\n') : NULL;
    return at != NULL ? at + 1 : buffer_text(output);
}

int
process_run(const struct process *process, const char *input, size_t input_size,
            struct buffer *output, int timeout_ms, struct error *err)
{
    struct process child = *process;
    scoped_buffer own = { 0 };
    struct buffer *into = output != NULL ? output : &own;
    scoped_fd in = input != NULL ? input_file(input, input_size, err) : -1;
    scoped_fd out = memfd_create("output", MFD_CLOEXEC);
    pid_t pid;
    int status;

    if ((input != NULL && in < 0) || out < 0)
        return -1;
    child.input_fd = in;
    child.output_fd = out;
    pid = process_spawn(&child, err);
    if (pid < 0)
        return -1;
    status = process_wait(pid, timeout_ms, err);
    if (status < 0 || collect(out, into, err) != 0)
        return -1;
    if (status != 0)
        return error_set(err, ERROR_INTERNAL, "%s ended with %d: %.300s",
                         strrchr(process->argv[0], '/') + 1, status,
                         last_line(into));
    return 0;
}
