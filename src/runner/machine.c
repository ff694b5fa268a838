/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/machine.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/file.h"

#define FILE_MAX_PATH "/proc/sys/fs/file-max"
#define FILE_MAX "9223372036854775807"

const char *const machine_files[] = { "meminfo", "stat", "loadavg", "uptime",
                                      NULL };

struct facts {
    int64_t cpus, memory_mib, now_ms;
};

static void
add_memory(struct buffer *out, const struct facts *facts)
{
    int64_t kib = facts->memory_mib * 1024;

    buffer_printf(out,
                  "MemTotal:       %8" PRId64 " kB\n"
                  "MemFree:        %8" PRId64 " kB\n"
                  "MemAvailable:   %8" PRId64 " kB\n"
                  "Buffers:               0 kB\nCached:                0 kB\n"
                  "SwapCached:            0 kB\nActive:                0 kB\n"
                  "Inactive:              0 kB\nSwapTotal:             0 kB\n"
                  "SwapFree:              0 kB\nShmem:                 0 kB\n"
                  "Slab:                  0 kB\nSReclaimable:          0 kB\n"
                  "HugePages_Total:       0\nHugePages_Free:        0\n"
                  "Hugepagesize:       2048 kB\n",
                  kib, kib, kib);
}

static void
add_stat(struct buffer *out, const struct facts *facts)
{
    static const char zeros[] = " 0 0 0 0 0 0 0 0 0 0\n";

    buffer_printf(out, "cpu %s", zeros);
    for (int64_t i = 0; i < facts->cpus; i++)
        buffer_printf(out, "cpu%" PRId64 "%s", i, zeros);
    buffer_printf(out,
                  "intr 0\nctxt 0\nbtime %" PRId64 "\nprocesses 1\n"
                  "procs_running 1\nprocs_blocked 0\n"
                  "softirq 0 0 0 0 0 0 0 0 0 0 0\n",
                  facts->now_ms / 1000);
}

static void
add_load(struct buffer *out, const struct facts *facts)
{
    (void)facts;
    buffer_add_text(out, "0.00 0.00 0.00 1/1 1\n");
}

static void
add_uptime(struct buffer *out, const struct facts *facts)
{
    (void)facts;
    buffer_add_text(out, "0.00 0.00\n");
}

static int
write_one(const char *directory, const char *name, const struct buffer *text,
          struct error *err)
{
    char path[512];
    scoped_fd fd = -1;

    (void)snprintf(path, sizeof(path), "%s/%s", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
              0444);
    if (fd < 0 || fchmod(fd, 0444) != 0)
        return error_set(err, ERROR_INTERNAL, "write %s: %s", name,
                         strerror(errno));
    return file_write_all(fd, text->bytes, text->size, err);
}

int
machine_write(const char *directory, int64_t cpu_milli, int64_t memory_mib,
              int64_t now_ms, struct error *err)
{
    /* In the order of machine_files. */
    static void (*const add[])(struct buffer *, const struct facts *) = {
        add_memory, add_stat, add_load, add_uptime
    };
    struct facts facts = { (cpu_milli + 999) / 1000, memory_mib, now_ms };

    for (size_t i = 0; machine_files[i] != NULL; i++) {
        scoped_buffer text = { 0 };

        add[i](&text, &facts);
        if (write_one(directory, machine_files[i], &text, err) != 0)
            return -1;
    }
    return 0;
}

int
machine_allow_files(struct error *err)
{
    scoped_fd fd = open(FILE_MAX_PATH, O_WRONLY | O_CLOEXEC);

    if (fd >= 0 && write(fd, FILE_MAX, sizeof(FILE_MAX) - 1) > 0)
        return 0;
    return error_set(err, ERROR_INTERNAL, "set fs.file-max: %s",
                     strerror(errno));
}
