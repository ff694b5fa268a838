/* SPDX-License-Identifier: Apache-2.0 */
/*
 * racer TOP OUTSIDE: inside a container whose checkpoint directory is
 * TOP/keep/here/deep: five processes turn the directories, the marker and the
 * notice into links to OUTSIDE (a directory of the machine), into fifos, hard
 * links and back, as fast as they can, until they are killed.  Prints how many
 * turns there were, and BENT for each that should not have been possible.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_ROOM 512

static const char *top;
static const char *outside;
static atomic_long *turns;
static long step = 1; /* far from the one that lies outside */

static int
directory(const char *name)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/%s", top, name);
    (void)mkdir(path, 0755);
    return open(path, O_RDONLY | O_DIRECTORY);
}

/* name in the directory and a link beside it change places. */
static void
turn(int fd, const char *name, const char *link)
{
    (void)symlinkat(outside, fd, link);
    for (;;) {
        (void)renameat2(fd, name, fd, link, RENAME_EXCHANGE);
        turns[0]++;
    }
}

static void
put_marker(int fd, const char *name)
{
    int file = openat(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

    dprintf(file, "{\"step\": %ld}\n", step++ % 1000);
    (void)close(file);
}

/* One of the things that a marker may be. */
static void
make_trick(int fd, int which)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/checkpoint.json", outside);
    switch (which) {
    case 0:
        (void)symlinkat(path, fd, "new");
        break;
    case 1:
        (void)mkfifoat(fd, "new", 0666);
        break;
    case 2:
        (void)linkat(fd, "twin", fd, "new", 0);
        break;
    case 3:
        (void)mkdirat(fd, "new", 0755);
        break;
    case 4:
        (void)symlinkat("../../../../../../../../../../../../etc/hostname",
                        fd, "new");
        break;
    default:
        put_marker(fd, "new");
    }
}

static void
turn_marker(int fd)
{
    put_marker(fd, "twin");
    put_marker(fd, "checkpoint.json");
    for (int which = 0;; which = (which + 1) % 8) {
        make_trick(fd, which);
        (void)renameat2(fd, "new", fd, "checkpoint.json", RENAME_EXCHANGE);
        (void)unlinkat(fd, "new", 0);
        (void)unlinkat(fd, "new", AT_REMOVEDIR);
        turns[0]++;
    }
}

/* There and away, so that whoever makes it meets a link in between. */
static void
turn_made(int fd)
{
    for (;;) {
        (void)renameat(fd, "deep", fd, "away");
        (void)symlinkat(outside, fd, "deep");
        (void)unlinkat(fd, "deep", 0);
        (void)renameat(fd, "away", fd, "deep");
        turns[0]++;
    }
}

static void
bent(const char *what, int result)
{
    if (result == 0)
        printf("BENT %s\n", what);
    (void)fflush(stdout);
}

static void
turn_notice(void)
{
    static const char *const names[] = { "/run/bulkhead/notice.json",
                                         "/run/bulkhead/notice.new" };

    for (int i = 0;; i = 1 - i) {
        bent("link", symlink(outside, names[i]));
        bent("twin", link("/bin/busybox", names[i]));
        bent("away", rename(names[i], "/run/bulkhead/away"));
        bent("gone", unlink(names[i]));
        bent("mode", chmod("/run/bulkhead", 0777));
        bent("place", rename("/run/bulkhead", "/run/other"));
        turns[0]++;
    }
}

static void
run(int which)
{
    int deep = directory("keep/here/deep");
    int here = directory("keep/here");
    int keep = directory("keep");
    int above = directory(".");

    (void)sleep(1); /* all of them have their descriptors */
    if (which == 0)
        turn(above, "keep", "keep-link");
    else if (which == 1)
        turn(keep, "here", "here-link");
    else if (which == 2)
        turn_marker(deep);
    else if (which == 3)
        turn_made(here);
    else
        turn_notice();
}

int
main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    top = argv[1];
    outside = argv[2];
    turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    (void)signal(SIGUSR1, SIG_IGN);
    (void)directory("keep");
    (void)directory("keep/here");
    (void)directory("keep/here/deep");
    for (int i = 0; i < 5; i++)
        if (fork() == 0)
            run(i);
    for (;;) {
        (void)sleep(1);
        printf("turns %ld\n", (long)turns[0]);
        (void)fflush(stdout);
    }
}
