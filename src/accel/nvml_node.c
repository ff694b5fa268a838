/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The device nodes of NVIDIA's cards.  A card has one, the driver two for
 * all; a slice needs two capability nodes besides, whose minors the driver
 * tells in its files.  The libraries look for each by its own name in /dev.
 */
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "accel/nvml_private.h"
#include "base/file.h"

#define CONTROL_MINOR 255U

static bool
read_file(const struct nvml *nvml, const char *path, char *out, size_t room)
{
    char full[320];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(full, sizeof(full), "%s%s", nvml->root, path);
    fd = open(full, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, out, room - 1);
    out[size > 0 ? size : 0] = '\0';
    return size > 0;
}

/* A line "235 nvidia-caps" of the list of drivers; 0: none. */
static unsigned
major_of(const struct nvml *nvml, const char *name)
{
    char text[8192];

    if (!read_file(nvml, "/proc/devices", text, sizeof(text)))
        return 0;
    for (char *line = text; *line != '\0';) {
        size_t size = strcspn(line, "\n");
        char *end;
        unsigned long number = strtoul(line, &end, 10);

        if (*end == ' ' && strlen(name) == size - (size_t)(end + 1 - line) &&
            strncmp(end + 1, name, strlen(name)) == 0)
            return (unsigned)number;
        line += size + (line[size] == '\n');
    }
    return 0;
}

static void
add(struct accel_node *nodes, size_t *count, const char *name, unsigned major,
    unsigned minor, bool shared)
{
    struct accel_node *node = &nodes[(*count)++];

    *node = (struct accel_node){ .kind = ACCEL_DEVICE,
                                 .major = major,
                                 .minor = minor,
                                 .plain = true,
                                 .shared = shared };
    (void)snprintf(node->name, sizeof(node->name), "%s", name);
}

/* "DeviceFileMinor: 30" of one capability. */
static int
add_capability(const struct nvml *nvml, const char *path,
               struct accel_node *nodes, size_t *count, struct error *err)
{
    static const char key[] = "DeviceFileMinor:";
    unsigned caps = major_of(nvml, "nvidia-caps");
    unsigned minor;
    char name[64];
    char text[256];
    const char *at;

    if (caps == 0 || !read_file(nvml, path, text, sizeof(text)))
        return error_set(err, ERROR_UNSUPPORTED,
                         "the driver names no capability for the slice");
    at = strstr(text, key);
    if (at == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the driver's capability has no minor number");
    minor = (unsigned)strtoul(at + sizeof(key) - 1, NULL, 10);
    (void)snprintf(name, sizeof(name), "nvidia-caps/nvidia-cap%u", minor);
    add(nodes, count, name, caps, minor, false);
    return 0;
}

static int
add_slice(struct nvml *nvml, struct nvml_card *card, const char *slice,
          unsigned minor, struct accel_node *nodes, size_t *count,
          struct error *err)
{
    unsigned instance = 0;
    unsigned compute = 0;
    char path[160];

    if (nvml_ids(nvml, card, slice, &instance, &compute, err) != 0)
        return -1;
    (void)snprintf(path, sizeof(path),
                   "/proc/driver/nvidia/capabilities/gpu%u/mig/gi%u/access",
                   minor, instance);
    if (add_capability(nvml, path, nodes, count, err) != 0)
        return -1;
    (void)snprintf(
        path, sizeof(path),
        "/proc/driver/nvidia/capabilities/gpu%u/mig/gi%u/ci%u/access", minor,
        instance, compute);
    return add_capability(nvml, path, nodes, count, err);
}

/* --- the driver's libraries --- */

/* What programs load, of the version that fits the driver.  An image cannot
 * bring them.  Those that only show the card are for whoever has all of it. */
static const struct {
    const char *name;
    bool manage;
} libraries[] = {
    { "libcuda.so.1", false },
    { "libnvidia-ptxjitcompiler.so.1", false },
    { "libnvidia-nvvm.so.4", false },
    { "libnvidia-gpucomp.so", false }, /* its name ends in the version */
    { "libnvidia-ml.so.1", true },
};

static const char *const places[] = { "/usr/lib/x86_64-linux-gnu",
                                      "/usr/lib/aarch64-linux-gnu",
                                      "/usr/lib64", "/usr/lib" };

static bool
find_library(const struct nvml *nvml, const char *name, char out[PATH_MAX])
{
    char path[320];

    if (nvml->root[0] != '\0') {
        (void)snprintf(path, sizeof(path), "%s/%s", nvml->root, name);
        return realpath(path, out) != NULL;
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", places[i], name);
        if (realpath(path, out) != NULL)
            return true;
    }
    return false;
}

_Static_assert(ACCEL_NODES_MAX >=
                   5 + sizeof(libraries) / sizeof(libraries[0]),
               "a card, two for all, two of a slice, and the libraries");

static void
add_libraries(const struct nvml *nvml, struct accel_node *nodes, size_t *count)
{
    for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
        struct accel_node *node = &nodes[*count];
        size_t size = strlen(libraries[i].name);
        char path[PATH_MAX];

        *node = (struct accel_node){ .kind = ACCEL_LIBRARY,
                                     .shared = true,
                                     .manage = libraries[i].manage };
        (void)snprintf(node->name, sizeof(node->name), "%s%s%.32s",
                       libraries[i].name,
                       libraries[i].name[size - 1] == 'o' ? "." : "",
                       libraries[i].name[size - 1] == 'o' ? nvml->driver : "");
        if (!find_library(nvml, node->name, path) ||
            strlen(path) >= sizeof(node->host_path))
            continue;
        memcpy(node->host_path, path, strlen(path) + 1);
        (*count)++;
    }
}

int
nvml_nodes(struct accel *accel, const char *part,
           struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
           struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, part, err);
    size_t size = strcspn(part, "/");
    size_t count = 0;
    unsigned minor = 0;
    unsigned memory;
    char name[32];
    int result;

    if (card == NULL)
        return -1;
    result = NVML_CALL(nvml, nvmlDeviceGetMinorNumber, card->device, &minor);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result, "nvmlDeviceGetMinorNumber", err);
    (void)snprintf(name, sizeof(name), "nvidia%u", minor);
    add(nodes, &count, name, NVML_MAJOR, minor, false);
    add(nodes, &count, "nvidiactl", NVML_MAJOR, CONTROL_MINOR, true);
    memory = major_of(nvml, "nvidia-uvm");
    if (memory != 0)
        add(nodes, &count, "nvidia-uvm", memory, 0, true);
    if (part[size] == '/' &&
        add_slice(nvml, card, part + size + 1, minor, nodes, &count, err) != 0)
        return -1;
    add_libraries(nvml, nodes, &count);
    *count_out = count;
    return 0;
}
