/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_UNIT_ACCEL_NVML_BED_H
#define TESTS_UNIT_ACCEL_NVML_BED_H

/* A machine with two of NVIDIA's cards, for the tests of that backend. */

#include "accel/accel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "accel/nvml.h"
#include "base/file.h"
#include "tests/stub/nvml_stub.h"
#include "tests/unit/scratch.h"

#define U0 "GPU-00000000-aaaa-bbbb-cccc-0123456789ab"
#define U1 "GPU-00000001-aaaa-bbbb-cccc-0123456789ab"

static char home[] = "/tmp/bulkhead-nvml.XXXXXX";
static char library[256];
static struct stub_world *world;

static inline void
make_directory(const char *path)
{
    char full[320];

    (void)snprintf(full, sizeof(full), "%s%s", home, path);
    (void)mkdir(full, 0700);
}

static inline void
make_text(const char *path, const char *text)
{
    struct error err = { 0 };
    char full[320];

    (void)snprintf(full, sizeof(full), "%s%s", home, path);
    if (file_write(full, text, strlen(text), 0600, &err) != 0)
        fail_msg("%s", err.text);
}

/* The library of this build, and a machine with two cards on its bus. */
static inline int
make(void **state)
{
    static const char *const directories[] = {
        "/sys", "/sys/bus", "/sys/bus/pci", "/sys/bus/pci/devices",
        "/sys/bus/pci/devices/0000:41:00.0",
        "/sys/bus/pci/devices/0000:42:00.0", "/proc", "/proc/driver",
        "/proc/driver/nvidia", "/proc/driver/nvidia/capabilities",
        "/proc/driver/nvidia/capabilities/gpu0",
        "/proc/driver/nvidia/capabilities/gpu0/mig",
        "/proc/driver/nvidia/capabilities/gpu0/mig/gi1",
        "/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0"
    };
    char own[200];
    char path[320];
    ssize_t size = readlink("/proc/self/exe", own, sizeof(own) - 1);

    (void)state;
    if (mkdtemp(home) == NULL || size < 0)
        return -1;
    own[size] = '\0';
    *strstr(own, "/tests/unit/") = '\0';
    (void)snprintf(library, sizeof(library),
                   "%s/tests/stub/nvml/libnvidia-ml.so.1", own);
    for (size_t i = 0; i < sizeof(directories) / sizeof(directories[0]); i++)
        make_directory(directories[i]);
    make_text("/sys/bus/pci/devices/0000:41:00.0/numa_node", "1\n");
    make_text("/proc/devices", "Character devices:\n195 nvidia\n"
                               "235 nvidia-caps\n509 nvidia-uvm\n"
                               "510 nvidia-uvm-tools\n");
    make_text("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/access",
              "DeviceFileMinor: 30\nDeviceFileMode: 292\n");
    make_text("/proc/driver/nvidia/capabilities/gpu0/mig/gi1/ci0/access",
              "DeviceFileMinor: 31\nDeviceFileMode: 292\n");
    (void)snprintf(path, sizeof(path), "%s/libnvidia-ml.so.1", home);
    if (symlink(library, path) != 0)
        return -1;
    (void)snprintf(path, sizeof(path), "%s/world", home);
    (void)setenv(STUB_ENV, path, 1);
    world = stub_map(path);
    return world == NULL ? -1 : 0;
}

static inline int
drop(void **state)
{
    (void)state;
    scratch_remove(home);
    return 0;
}

static inline int
fresh(void **state)
{
    (void)state;
    stub_fill(world, 2);
    return 0;
}

static inline struct accel
opened(void)
{
    struct accel accel = { 0 };
    struct error err = { 0 };

    if (accel_open(&accel, "nvml", home, home, &err) != 0)
        fail_msg("%s", err.text);
    return accel;
}

static inline size_t
listed(struct accel *accel)
{
    scoped_arena arena = arena_new();
    const char *const *uuids = NULL;
    struct error err = { 0 };
    size_t count = 0;

    if (accel_list(accel, arena, &uuids, &count, &err) != 0)
        return 0;
    return count;
}

static inline struct accel_state
health_of(struct accel *accel, const char *uuid)
{
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    struct error err = { 0 };

    if (accel_health(accel, uuid, &state, &err) != 0)
        (void)snprintf(state.reason, sizeof(state.reason), "%.127s",
                       err.text);
    return state;
}

static inline void
add_process(int card, unsigned pid, unsigned long long mib, unsigned instance,
            unsigned kind)
{
    struct stub_card *at = &world->cards[card];

    at->processes[at->process_count++] = (struct stub_process){
        .pid = pid, .used = mib << 20, .instance = instance, .kind = kind
    };
}

#endif
