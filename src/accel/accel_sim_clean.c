/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a simulated card clean for the next: its memory, and a reset. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "accel/accel_sim_private.h"
#include "base/clock.h"
#include "base/file.h"

#define SCRUB_CHUNK ((size_t)65536)

int
sim_check_free(struct accel *accel, const char *uuid, struct error *err)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    size_t count = 0;

    if (accel_processes(accel, uuid, list, &count, err) != 0)
        return -1;
    if (count > 0)
        return error_set(err, ERROR_CONFLICT, "%zu processes are on card %s",
                         count, uuid);
    return 0;
}

static int
write_pattern(int fd, int64_t size, unsigned char byte, struct error *err)
{
    unsigned char chunk[SCRUB_CHUNK];

    memset(chunk, byte, sizeof(chunk));
    for (int64_t at = 0; at < size; at += (int64_t)SCRUB_CHUNK)
        if (pwrite(fd, chunk, SCRUB_CHUNK, at) != (ssize_t)SCRUB_CHUNK)
            return error_set(err, ERROR_INTERNAL, "write a card's memory: %s",
                             strerror(errno));
    return fdatasync(fd) == 0
               ? 0
               : error_set(err, ERROR_INTERNAL, "write a card's memory: %s",
                           strerror(errno));
}

static int
verify_pattern(int fd, int64_t size, unsigned char byte, struct error *err)
{
    unsigned char chunk[SCRUB_CHUNK];

    for (int64_t at = 0; at < size; at += (int64_t)SCRUB_CHUNK) {
        if (pread(fd, chunk, SCRUB_CHUNK, at) != (ssize_t)SCRUB_CHUNK)
            return error_set(err, ERROR_VERIFY, "a card's memory is short");
        for (size_t i = 0; i < SCRUB_CHUNK; i++)
            if (chunk[i] != byte)
                return error_set(err, ERROR_VERIFY,
                                 "byte %" PRId64
                                 " of a card's memory did not take the "
                                 "pattern",
                                 at + (int64_t)i);
    }
    return 0;
}

/* A pattern first: zeros alone would also be read from memory that ignores
 * writes. */
int
sim_overwrite(const char *path, int64_t size, struct error *err)
{
    static const unsigned char patterns[] = { 0xA5, 0x00 };
    scoped_fd fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 || ftruncate(fd, size) != 0)
        return error_set(err, ERROR_INTERNAL, "open a card's memory: %s",
                         strerror(errno));
    for (size_t i = 0; i < sizeof(patterns); i++)
        if (write_pattern(fd, size, patterns[i], err) != 0 ||
            verify_pattern(fd, size, patterns[i], err) != 0)
            return -1;
    return 0;
}

int
sim_scrub(struct accel *accel, const char *text, struct accel_scrub *done_out,
          struct error *err)
{
    const struct sim *sim = accel->state;
    struct sim_part part;
    char path[SIM_PATH_MAX];
    struct stat file;

    if (sim_part(accel, text, &part, err) != 0 ||
        sim_check_free(accel, text, err) != 0)
        return -1;
    sim_memory_path(sim, &part, path);
    if (part.profile != NULL && lstat(path, &file) != 0) {
        done_out->bytes = 0;
        (void)snprintf(done_out->method, sizeof(done_out->method),
                       "the slice is gone");
        return 0;
    }
    if (part.profile == NULL && sim_is_sliced(sim, part.card))
        return error_set(err, ERROR_CONFLICT,
                         "card %s is cut: make it whole to clean all of it",
                         part.card->card.uuid);
    if (sim_overwrite(path, sim_memory_size(sim, &part), err) != 0)
        return -1;
    done_out->bytes = sim_memory_size(sim, &part);
    (void)snprintf(done_out->method, sizeof(done_out->method),
                   "simulated memory overwritten: A5, 00");
    return 0;
}

int
sim_reset(struct accel *accel, const char *uuid, struct error *err)
{
    const struct sim *sim = accel->state;
    struct accel_scrub done;
    struct accel_state state = { 0 };
    struct sim_card *card;

    if (sim_scrub(accel, uuid, &done, err) != 0 ||
        sim_health(accel, uuid, &state, err) != 0)
        return -1;
    card = (struct sim_card *)(uintptr_t)sim_find(
        accel, uuid, strlen(uuid), err);
    card->freed_mib += state.memory_used_mib;
    card->reset_ms = clock_mono_ms() - sim->opened_ms;
    return 0;
}
