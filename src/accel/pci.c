/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/pci.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define PATH_ROOM 320
#define DEVICES "/sys/bus/pci/devices"

bool
pci_is_there(const char *root, const char *address)
{
    char path[PATH_ROOM];
    struct stat file;

    /* Where the bus cannot be seen, nothing is said about it. */
    (void)snprintf(path, sizeof(path), "%s" DEVICES, root);
    if (stat(path, &file) != 0)
        return true;
    (void)snprintf(path, sizeof(path), "%s" DEVICES "/%s", root, address);
    return stat(path, &file) == 0;
}

bool
pci_text(const char *root, const char *address, const char *file, char *out,
         size_t room)
{
    char path[PATH_ROOM];
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "%s" DEVICES "/%s/%s", root, address,
                   file);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, out, room - 1);
    if (size < 0)
        return false;
    out[size] = '\0';
    out[strcspn(out, "\n")] = '\0';
    return true;
}

int32_t
pci_numa(const char *root, const char *address)
{
    char text[16];
    long node;

    if (!pci_text(root, address, "numa_node", text, sizeof(text)))
        return -1;
    node = strtol(text, NULL, 10);
    return node < 0 || node > 4095 ? -1 : (int32_t)node;
}

int32_t
pci_render(const char *root, const char *address)
{
    static const char prefix[] = "renderD";
    char path[PATH_ROOM];
    const struct dirent *entry;
    int32_t found = -1;
    DIR *directory;

    (void)snprintf(path, sizeof(path), "%s" DEVICES "/%s/drm", root, address);
    directory = opendir(path);
    if (directory == NULL)
        return -1;
    while ((entry = readdir(directory)) != NULL)
        if (strncmp(entry->d_name, prefix, sizeof(prefix) - 1) == 0)
            found = (int32_t)strtol(entry->d_name + sizeof(prefix) - 1, NULL,
                                    10);
    (void)closedir(directory);
    return found;
}

/* Display controllers have class 03, processing accelerators 12. */
static bool
is_card(const char *root, const char *address, unsigned vendor)
{
    char text[16];
    unsigned long class;

    if (!pci_text(root, address, "vendor", text, sizeof(text)) ||
        strtoul(text, NULL, 16) != vendor ||
        !pci_text(root, address, "class", text, sizeof(text)))
        return false;
    class = strtoul(text, NULL, 16) >> 16;
    return class == 0x03 || class == 0x12;
}

size_t
pci_count(const char *root, unsigned vendor)
{
    char path[PATH_ROOM];
    const struct dirent *entry;
    size_t count = 0;
    DIR *directory;

    (void)snprintf(path, sizeof(path), "%s" DEVICES, root);
    directory = opendir(path);
    if (directory == NULL)
        return 0;
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.' && is_card(root, entry->d_name, vendor))
            count++;
    (void)closedir(directory);
    return count;
}
