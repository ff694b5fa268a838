/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a simulated card's memory a process has: as far as the file that
 * is the memory has been read or written through its descriptors, in
 * proportion.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accel/accel_sim_private.h"
#include "base/file.h"

static int64_t
position_of(pid_t pid, const char *number)
{
    char path[64];
    char text[128];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%.16s", (int)pid,
                   number);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (size <= 0)
        return 0;
    text[size] = '\0';
    return strncmp(text, "pos:", 4) == 0 ? strtoll(text + 4, NULL, 10) : 0;
}

/* The furthest of its descriptors; -1: it has none, only a mapping. */
static int64_t
furthest(pid_t pid, const struct stat *memory)
{
    char path[32];
    const struct dirent *entry;
    int64_t most = -1;
    DIR *directory;

    (void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    directory = opendir(path);
    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        struct stat file;
        int64_t at;

        if (!isdigit((unsigned char)entry->d_name[0]) ||
            fstatat(dirfd(directory), entry->d_name, &file, 0) != 0 ||
            file.st_dev != memory->st_dev || file.st_ino != memory->st_ino)
            continue;
        at = position_of(pid, entry->d_name);
        if (at > most)
            most = at;
    }
    if (directory != NULL)
        (void)closedir(directory);
    return most;
}

void
sim_measure(const struct accel *accel, const char *text,
            struct accel_crew *crew)
{
    const struct sim *sim = accel->state;
    struct sim_part part;
    struct error ignored;
    struct stat memory;
    char path[SIM_PATH_MAX];
    int64_t mib;

    if (crew->count == 0 || sim_part(accel, text, &part, &ignored) != 0)
        return;
    sim_memory_path(sim, &part, path);
    if (lstat(path, &memory) != 0 || memory.st_size == 0)
        return;
    mib = part.profile == NULL
              ? part.card->card.memory_mib
              : geometry_memory(part.table, part.profile,
                                part.card->card.memory_mib);
    for (size_t i = 0; i < crew->count; i++) {
        int64_t at = furthest(crew->list[i].pid, &memory);

        if (at >= 0)
            crew->list[i].used_mib =
                at >= memory.st_size ? mib : mib * at / memory.st_size;
    }
}
