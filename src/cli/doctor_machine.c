/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <dirent.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <unistd.h>

#include "base/file.h"

/* The first line of a small file; "" when it cannot be read. */
static void
read_line(const char *root, const char *path, char *line, size_t room)
{
    scoped_buffer bytes = { 0 };
    char whole[PATH_MAX];
    struct error ignored;

    line[0] = '\0';
    (void)snprintf(whole, sizeof(whole), "%s%s", root, path);
    if (file_read(whole, 4096, &bytes, &ignored) != 0)
        return;
    (void)snprintf(line, room, "%s", buffer_text(&bytes));
    line[strcspn(line, "\n")] = '\0';
}

static bool
is_there(const char *root, const char *path, int mode)
{
    char whole[PATH_MAX];

    (void)snprintf(whole, sizeof(whole), "%s%s", root, path);
    return access(whole, mode) == 0;
}

/* --- kernel --- */

/* Mounts with mapped owners, which keep instances' files apart, and the system
 * calls that the runner uses for paths and processes, came by 5.12. */
#define KERNEL_MAJOR 5
#define KERNEL_MINOR 12

static void
check_kernel(const char *root, json_t *findings)
{
    char line[128], *end;
    long major, minor;

    read_line(root, "/proc/sys/kernel/osrelease", line, sizeof(line));
    major = strtol(line, &end, 10);
    minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;
    if (major > KERNEL_MAJOR ||
        (major == KERNEL_MAJOR && minor >= KERNEL_MINOR))
        doctor_find(findings, "kernel", DOCTOR_OK, "", "Linux %s", line);
    else
        doctor_find(findings, "kernel", DOCTOR_FAIL,
                    "boot Linux 5.12 or newer; Debian 12 has 6.1",
                    "Linux %s", line[0] != '\0' ? line : "unknown");
}

static void
check_namespaces(const char *root, json_t *findings)
{
    char line[32];

    read_line(root, "/proc/sys/user/max_user_namespaces", line, sizeof(line));
    if (strtol(line, NULL, 10) > 0)
        doctor_find(findings, "namespaces", DOCTOR_OK, "",
                    "%s user name spaces allowed", line);
    else
        doctor_find(findings, "namespaces", DOCTOR_FAIL,
                    "sysctl -w user.max_user_namespaces=15000, and in "
                    "/etc/sysctl.d/",
                    "user name spaces: %s",
                    line[0] != '\0' ? line : "not in this kernel");
}

static bool
has_word(const char *line, const char *word)
{
    size_t size = strlen(word);

    for (const char *at = strstr(line, word); at != NULL;
         at = strstr(at + 1, word))
        if ((at == line || at[-1] == ' ') &&
            (at[size] == '\0' || at[size] == ' '))
            return true;
    return false;
}

/* Version 2 as one tree, or version 1 with a tree for each. */
static void
check_cgroups(const char *root, json_t *findings)
{
    static const char *const needed[] = { "cpu", "memory", "pids" };
    char line[256], path[64], missing[64] = "";
    bool unified =
        is_there(root, "/sys/fs/cgroup/cgroup.controllers", R_OK);

    read_line(root, "/sys/fs/cgroup/cgroup.controllers", line, sizeof(line));
    for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
        size_t used = strlen(missing);

        (void)snprintf(path, sizeof(path), "/sys/fs/cgroup/%s", needed[i]);
        if (unified ? !has_word(line, needed[i])
                    : !is_there(root, path, X_OK))
            (void)snprintf(missing + used, sizeof(missing) - used, " %s",
                           needed[i]);
    }
    if (missing[0] == '\0')
        doctor_find(findings, "cgroups", DOCTOR_OK, "", "version %d",
                    unified ? 2 : 1);
    else
        doctor_find(findings, "cgroups", DOCTOR_FAIL,
                    unified ? "boot with cgroup_enable=memory, or take "
                              "cgroup_disable= from the kernel's command line"
                            : "mount cgroup2 on /sys/fs/cgroup, as systemd "
                              "does on Debian 12",
                    "controllers are missing:%s", missing);
}

/* --- programs --- */

static bool
in_path(const char *root, const char *program)
{
    static const char *const places[] = { "/usr/bin", "/usr/sbin", "/bin",
                                          "/sbin", "/usr/local/bin",
                                          "/usr/local/sbin" };
    char path[128];

    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", places[i], program);
        if (is_there(root, path, X_OK))
            return true;
    }
    return false;
}

static void
check_programs(const char *root, json_t *findings)
{
    static const struct {
        const char *program, *package;
    } list[] = {
        { "crun", "crun" },          { "conmon", "conmon" },
        { "nft", "nftables" },       { "ip", "iproute2" },
        { "mkfs.ext4", "e2fsprogs" }, { "umoci", "umoci" },
        { "skopeo", "skopeo" },
    };
    char missing[200] = "", fix[240];

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        size_t used = strlen(missing);

        if (!in_path(root, list[i].program))
            (void)snprintf(missing + used, sizeof(missing) - used, " %s",
                           list[i].package);
    }
    (void)snprintf(fix, sizeof(fix), "apt-get install%s", missing);
    if (missing[0] == '\0')
        doctor_find(findings, "programs", DOCTOR_OK, "",
                    "all that containers and networks need");
    else
        doctor_find(findings, "programs", DOCTOR_FAIL, fix, "missing:%s",
                    missing);
}

/* --- clock and room --- */

static void
check_clock(json_t *findings)
{
    struct timex now = { 0 };

    if (adjtimex(&now) >= 0 && (now.status & STA_UNSYNC) == 0)
        doctor_find(findings, "clock", DOCTOR_OK, "",
                    "in step, within %ld ms", now.maxerror / 1000);
    else
        doctor_find(findings, "clock", DOCTOR_WARN,
                    "apt-get install chrony; records and leases need a clock "
                    "that does not jump",
                    "no time service keeps it in step");
}

/* Below a tenth, and below a fiftieth, of the file system. */
static void
check_room(const char *root, const char *data, json_t *findings)
{
    char whole[PATH_MAX];
    struct statvfs room;
    uint64_t free_mib, total_mib;
    enum doctor_state state = DOCTOR_OK;

    (void)snprintf(whole, sizeof(whole), "%s%s", root, data);
    if (statvfs(whole, &room) != 0) {
        doctor_find(findings, "room", DOCTOR_WARN,
                    "name the directory with --data", "%s is not there", data);
        return;
    }
    free_mib = (uint64_t)room.f_bavail * room.f_frsize >> 20;
    total_mib = (uint64_t)room.f_blocks * room.f_frsize >> 20;
    if (free_mib * 50 < total_mib || room.f_favail * 50 < room.f_files)
        state = DOCTOR_FAIL;
    else if (free_mib * 10 < total_mib || room.f_favail * 10 < room.f_files)
        state = DOCTOR_WARN;
    doctor_find(findings, "room", state,
                state == DOCTOR_OK ? ""
                                   : "make room: images and volumes that "
                                     "nobody uses, older logs, backups",
                "%" PRIu64 " of %" PRIu64 " MiB free on %s", free_mib,
                total_mib, data);
}

/* --- cards --- */

struct vendor {
    const char *id, *name, *driver, *node, *fix;
};

static const struct vendor vendors[] = {
    { "0x10de", "NVIDIA", "nvidia", "/dev/nvidiactl",
      "install the vendor's driver and take nouveau away; `nvidia-smi` has "
      "to list the cards" },
    { "0x1002", "AMD", "amdgpu", "/dev/kfd",
      "load the module amdgpu with its firmware (firmware-amd-graphics)" },
    { "0x8086", "Intel", "i915 xe", "/dev/dri",
      "load the module i915 or xe with its firmware" },
};

/* An accelerator: a display controller (03) or processing accelerator (12) of
 * one of them.  Intel's first kind is mostly what drives a screen. */
static const struct vendor *
vendor_of(const char *id, const char *class)
{
    bool display = strncmp(class, "0x03", 4) == 0;

    if (!display && strncmp(class, "0x12", 4) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(vendors) / sizeof(vendors[0]); i++)
        if (strcmp(vendors[i].id, id) == 0)
            return display && strcmp(id, "0x8086") == 0 &&
                           strncmp(class, "0x0300", 6) == 0
                       ? NULL
                       : &vendors[i];
    return NULL;
}

static void
check_card(const char *root, const char *slot, json_t *findings, int *count)
{
    char path[160], id[16], class[16], link[PATH_MAX], whole[PATH_MAX];
    const struct vendor *vendor;
    const char *driver;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.20s/vendor",
                   slot);
    read_line(root, path, id, sizeof(id));
    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%.20s/class",
                   slot);
    read_line(root, path, class, sizeof(class));
    vendor = vendor_of(id, class);
    if (vendor == NULL)
        return;
    (*count)++;
    (void)snprintf(whole, sizeof(whole),
                   "%s/sys/bus/pci/devices/%.20s/driver", root, slot);
    size = readlink(whole, link, sizeof(link) - 1);
    link[size > 0 ? size : 0] = '\0';
    driver = strrchr(link, '/') != NULL ? strrchr(link, '/') + 1 : link;
    if (driver[0] != '\0' && has_word(vendor->driver, driver) &&
        is_there(root, vendor->node, F_OK))
        doctor_find(findings, "card", DOCTOR_OK, "", "%s at %.20s by %s",
                    vendor->name, slot, driver);
    else
        doctor_find(findings, "card", DOCTOR_FAIL, vendor->fix,
                    "%s at %.20s: %s%s%s", vendor->name, slot,
                    driver[0] != '\0' ? "driver " : "no driver", driver,
                    driver[0] != '\0' && has_word(vendor->driver, driver)
                        ? ", but its device nodes are missing"
                        : "");
}

static void
check_cards(const char *root, json_t *findings)
{
    char whole[PATH_MAX];
    struct dirent *entry;
    int count = 0;
    DIR *slots;

    (void)snprintf(whole, sizeof(whole), "%s/sys/bus/pci/devices", root);
    slots = opendir(whole);
    /* One thread reads this directory stream. */
    while (slots != NULL &&
           (entry = readdir(slots)) != NULL) /* NOLINT(concurrency-mt-unsafe) */
        if (entry->d_name[0] != '.')
            check_card(root, entry->d_name, findings, &count);
    if (slots != NULL)
        (void)closedir(slots);
    if (count == 0)
        doctor_find(findings, "card", DOCTOR_WARN,
                    "none is needed for simulated cards or a control plane",
                    "no accelerator on the PCI bus");
}

void
doctor_machine(const char *root, const char *data, json_t *findings)
{
    check_kernel(root, findings);
    check_namespaces(root, findings);
    check_cgroups(root, findings);
    check_programs(root, findings);
    check_clock(findings);
    check_room(root, data, findings);
    check_cards(root, findings);
}
