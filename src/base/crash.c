/* SPDX-License-Identifier: Apache-2.0 */
#include "base/crash.h"

#ifdef CRASH_POINTS

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRASH_STATUS 137 /* as a shell shows SIGKILL */

/* The number behind the name when the file names this moment, else 0. */
static long
wanted(const char *path, const char *name)
{
    char text[96] = { 0 };
    size_t size = strlen(name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got;

    if (fd < 0)
        return 0;
    got = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (got <= 0 || strncmp(text, name, size) != 0 || text[size] != ' ')
        return 0;
    return strtol(text + size + 1, NULL, 10);
}

void
crash_point(const char *name)
{
    static _Atomic long passes;
    const char *path = getenv("BULKHEAD_CRASH");
    long count = path != NULL ? wanted(path, name) : 0;

    if (count == 0 || ++passes < count)
        return;
    passes = 0;
    /* Who removes it is the one that dies, and the next start lives. */
    if (unlink(path) == 0)
        _exit(CRASH_STATUS);
}

#endif
