/* SPDX-License-Identifier: Apache-2.0 */
/*
 * greedy WHAT: takes of what the whole machine has little of until it is
 * refused, says how many there were, and keeps them for a minute.
 *
 * WHAT is watchers (inotify), terminals, or netlink (kinds of it that a
 * socket can be had of).
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <unistd.h>

#define TRIES 5000

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

    for (int i = 0; i < tries; i++)
        count += take(what, i) >= 0;
    printf("%s: %d\n", what, count);
    fflush(stdout);
    sleep(60);
    return 0;
}
