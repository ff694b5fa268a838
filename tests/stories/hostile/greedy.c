/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greedy WHAT: takes of what the whole machine has little of until it is
 * refused, says how many there were, and keeps them for a minute.
 *
 * WHAT is watchers (inotify), terminals, netlink (kinds of it that a socket
 * can be had of), files (by as many processes as there may be), or the path of a Unix socket: connections to it, each with
 * the beginning of a request; once a second one byte more, and how many are
 * left.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define TRIES 5000
#define CONNECTIONS 1200

static int sockets[CONNECTIONS];

static int
begin_request(const char *path)
{
    static const char text[] = "GET /healthz HTTP/1.1\r\nX-Slow: ";
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    for (int i = 0; i < 100; i++) {
        if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
            return send(fd, text, sizeof(text) - 1, MSG_NOSIGNAL) < 0 ? -1
                                                                     : fd;
        usleep(10000);
    }
    return -1;
}

static void
trickle(const char *path)
{
    for (int i = 0; i < CONNECTIONS; i++)
        sockets[i] = begin_request(path);
    for (int second = 0; second < 60; second++) {
        int left = 0;

        sleep(1);
        for (int i = 0; i < CONNECTIONS; i++) {
            if (sockets[i] >= 0 &&
                send(sockets[i], "x", 1, MSG_NOSIGNAL) != 1)
                sockets[i] = -1;
            left += sockets[i] >= 0;
        }
        printf("connections: %d\n", left);
        fflush(stdout);
    }
}

/* Children take too, until there are no more of either. */
static int
take_files(void)
{
    int count = 0;

    while (fork() == 0)
        ;
    while (open("/dev/null", O_RDONLY) >= 0)
        count++;
    return count;
}

static int
take(const char *what, int try)
{
    if (strcmp(what, "watchers") == 0)
        return inotify_init1(0);
    if (strcmp(what, "terminals") == 0)
        return open("/dev/ptmx", O_RDWR | O_NOCTTY);
    return socket(AF_NETLINK, SOCK_RAW, try);
}

int
main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int tries = strcmp(what, "netlink") == 0 ? MAX_LINKS : TRIES;
    int count = 0;

    if (what[0] == '/') {
        const struct rlimit files = { 4096, 4096 };

        (void)setrlimit(RLIMIT_NOFILE, &files);
        trickle(what);
        return 0;
    }
    if (strcmp(what, "files") == 0)
        count = take_files();
    for (int i = 0; i < tries && strcmp(what, "files") != 0; i++)
        count += take(what, i) >= 0;
    printf("%s: %d\n", what, count);
    fflush(stdout);
    sleep(60);
    return 0;
}
