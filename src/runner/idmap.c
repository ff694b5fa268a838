/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <linux/securebits.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/file.h"

#define IDS 65536

static int
fail(struct error *err, const char *step)
{
    return error_set(err, ERROR_INTERNAL, "%s: %s", step, strerror(errno));
}

static int
write_map(pid_t pid, const char *kind, int64_t from, int64_t to,
          struct error *err)
{
    char path[64];
    char text[96];
    scoped_fd fd = -1;
    int size = snprintf(text, sizeof(text), "%" PRId64 " %" PRId64 " %d\n",
                        from, to, IDS);

    (void)snprintf(path, sizeof(path), "/proc/%d/%s_map", (int)pid, kind);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, text, (size_t)size) != size)
        return fail(err, "map ids");
    return 0;
}

pid_t
idmap_child(unsigned long flags, int64_t inside, int64_t base,
            int (*child)(void *data), void *data, struct error *err)
{
    int gate[2];
    char go = 'g';
    pid_t pid;
    int done = 0;

    if (pipe2(gate, O_CLOEXEC) != 0)
        return fail(err, "pipe");
    /* The system call itself: the child shares nothing with our threads. */
    pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
    if (pid == 0) {
        (void)close(gate[1]);
        if (read(gate[0], &go, 1) != 1)
            _exit(125);
        _exit(child(data));
    }
    (void)close(gate[0]);
    if (pid < 0)
        done = fail(err, "clone");
    else if ((flags & CLONE_NEWUSER) != 0 &&
             (write_map(pid, "uid", inside, base, err) != 0 ||
              write_map(pid, "gid", inside, base, err) != 0))
        done = -1;
    else if (write(gate[1], &go, 1) != 1)
        done = fail(err, "start child");
    (void)close(gate[1]);
    if (done != 0 && pid > 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
    }
    return done == 0 ? pid : -1;
}

int
idmap_wait(void *data)
{
    (void)data;
    /* It does not outlive who made it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0)
        (void)pause();
    return 0;
}

int
idmap_open(int64_t from, int64_t to, struct error *err)
{
    pid_t pid = idmap_child(CLONE_NEWUSER, from, to, idmap_wait, NULL, err);
    char path[64];
    int fd;

    if (pid < 0)
        return -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        (void)fail(err, "open user namespace");
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
    return fd;
}

/* --- maps that are used again --- */

void
idmaps_init(struct idmaps *maps)
{
    *maps = (struct idmaps){ 0 };
    (void)pthread_mutex_init(&maps->lock, NULL);
}

void
idmaps_release(struct idmaps *maps)
{
    for (size_t i = 0; i < maps->count; i++)
        (void)close(maps->kept[i].fd);
    (void)pthread_mutex_destroy(&maps->lock);
}

static int
find_kept(struct idmaps *maps, int64_t to)
{
    int fd = -1;

    (void)pthread_mutex_lock(&maps->lock);
    for (size_t i = 0; i < maps->count && fd < 0; i++)
        if (maps->kept[i].to == to)
            fd = fcntl(maps->kept[i].fd, F_DUPFD_CLOEXEC, 3);
    (void)pthread_mutex_unlock(&maps->lock);
    return fd;
}

/* In the place of the one that was made first. */
static void
keep_map(struct idmaps *maps, int64_t to, int fd)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    if (own < 0)
        return;
    (void)pthread_mutex_lock(&maps->lock);
    if (maps->count < IDMAPS_KEPT)
        maps->count++;
    else
        (void)close(maps->kept[maps->next].fd);
    maps->kept[maps->next].to = to;
    maps->kept[maps->next].fd = own;
    maps->next = (maps->next + 1) % IDMAPS_KEPT;
    (void)pthread_mutex_unlock(&maps->lock);
}

int
idmaps_open(struct idmaps *maps, int64_t from, int64_t to, struct error *err)
{
    int fd = find_kept(maps, to);

    if (fd >= 0)
        return fd;
    fd = idmap_open(from, to, err);
    if (fd >= 0)
        keep_map(maps, to, fd);
    return fd;
}

/* --- a namespace with an owner of its own --- */

/* The system calls themselves: the library's would reach for the threads of
 * the parent. */
static int
enter_own(void *data)
{
    const struct idmap_keeping *keeping = data;
    char byte = 'u';

    if (prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0) != 0 ||
        syscall(SYS_setresgid, -1, (gid_t)keeping->base, -1) != 0 ||
        syscall(SYS_setresuid, -1, (uid_t)keeping->base, -1) != 0 ||
        unshare(CLONE_NEWUSER) != 0 || write(keeping->said[1], &byte, 1) != 1)
        return 1;
    return idmap_wait(NULL);
}

int
idmap_begin(int64_t base, struct idmap_keeping *out, struct error *err)
{
    struct idmap_keeping keeping = { .base = base };

    if (pipe2(keeping.said, O_CLOEXEC) != 0)
        return fail(err, "pipe");
    keeping.pid = idmap_child(0, 0, 0, enter_own, &keeping, err);
    (void)close(keeping.said[1]);
    if (keeping.pid < 0) {
        (void)close(keeping.said[0]);
        return -1;
    }
    *out = keeping;
    return 0;
}

int
idmap_keep(const struct idmap_keeping *keeping, const char *path,
           struct error *err)
{
    char source[64];
    char byte;
    scoped_fd fd = -1;

    if (read(keeping->said[0], &byte, 1) != 1)
        return error_set(err, ERROR_INTERNAL,
                         "a user namespace could not be made");
    if (write_map(keeping->pid, "uid", 0, keeping->base, err) != 0 ||
        write_map(keeping->pid, "gid", 0, keeping->base, err) != 0)
        return -1;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    (void)snprintf(source, sizeof(source), "/proc/%d/ns/user",
                   (int)keeping->pid);
    if (fd < 0 || mount(source, path, NULL, MS_BIND, NULL) != 0)
        return fail(err, "keep a user namespace");
    (void)kill(keeping->pid, SIGKILL);
    return 0;
}

void
idmap_end(struct idmap_keeping *keeping)
{
    if (keeping->pid <= 0)
        return;
    (void)kill(keeping->pid, SIGKILL);
    (void)waitpid(keeping->pid, NULL, 0);
    (void)close(keeping->said[0]);
    keeping->pid = 0;
}

int
idmap_mount(int userns_fd, const char *source, const char *target,
            struct idmap_flags flags, struct error *err)
{
    struct mount_attr attr = {
        .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
    };
    unsigned recursive = flags.recursive ? AT_RECURSIVE : 0;
    scoped_fd tree = open_tree(AT_FDCWD, source,
                               OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC |
                                   AT_SYMLINK_NOFOLLOW | recursive);

    if (tree < 0)
        return fail(err, "clone a mount");
    if (flags.read_only)
        attr.attr_set |= MOUNT_ATTR_RDONLY;
    if (flags.no_exec)
        attr.attr_set |= MOUNT_ATTR_NOEXEC;
    if (userns_fd >= 0) {
        attr.attr_set |= MOUNT_ATTR_IDMAP;
        attr.userns_fd = (__u64)(unsigned)userns_fd;
    }
    if (mount_setattr(tree, "", AT_EMPTY_PATH | recursive, &attr,
                      sizeof(attr)) != 0)
        return fail(err, "map ids of a mount");
    if (move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH) != 0)
        return fail(err, "attach a mount");
    return 0;
}
