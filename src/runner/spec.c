/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/spec.h"

#include <stdio.h>

#include "runner/seccomp.h"

#define CPU_PERIOD_US 100000
#define CPU_QUOTA_MIN_US 1000

/* What tells about the machine, its neighbours or their drivers. */
static const char *const masked[] = {
    "/proc/acpi",
    "/proc/asound",
    "/proc/buddyinfo",
    "/proc/bus",
    "/proc/cgroups",
    "/proc/cmdline",
    "/proc/config.gz",
    "/proc/consoles",
    "/proc/crypto",
    "/proc/devices",
    "/proc/diskstats",
    "/proc/driver",
    "/proc/dma",
    "/proc/fb",
    "/proc/fs",
    "/proc/interrupts",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/irq",
    "/proc/kallsyms",
    "/proc/kcore",
    "/proc/key-users",
    "/proc/keys",
    "/proc/kmsg",
    "/proc/kpagecgroup",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/latency_stats",
    "/proc/locks",
    "/proc/mdstat",
    "/proc/misc",
    "/proc/modules",
    "/proc/mtrr",
    "/proc/pagetypeinfo",
    "/proc/partitions",
    "/proc/pressure",
    "/proc/sched_debug",
    "/proc/schedstat",
    "/proc/scsi",
    "/proc/slabinfo",
    "/proc/softirqs",
    "/proc/swaps",
    "/proc/sys/fs/dentry-state",
    "/proc/sys/fs/file-nr",
    "/proc/sys/fs/inode-nr",
    "/proc/sys/fs/inode-state",
    "/proc/sys/kernel/pty",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/vmallocinfo",
    "/proc/vmstat",
    "/proc/zoneinfo",
};

static const char *const read_only[] = { "/proc/sys", "/proc/sysrq-trigger",
                                         "/proc/tty" };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static json_t *
texts(const char *const *list, size_t count)
{
    json_t *out = json_array();

    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(out, json_string(list[i]));
    return out;
}

static size_t
count_of(const char *const *list)
{
    size_t count = 0;

    while (list[count] != NULL)
        count++;
    return count;
}

static json_t *
process_of(const struct spec *spec)
{
    json_t *process = json_pack(
        "{s:b, s:{s:I, s:I, s:i}, s:o, s:o, s:s, s:b}", "terminal", 0, "user",
        "uid", (json_int_t)spec->uid, "gid", (json_int_t)spec->gid, "umask", 18,
        "args", texts(spec->argv, count_of(spec->argv)), "env",
        texts(spec->env, count_of(spec->env)), "cwd", spec->cwd,
        "noNewPrivileges", 1);

    (void)json_object_set_new(process, "capabilities",
                              json_pack("{s:[], s:[], s:[], s:[], s:[]}",
                                        "bounding", "effective", "inheritable",
                                        "permitted", "ambient"));
    (void)json_object_set_new(process, "rlimits",
                              json_pack("[{s:s, s:i, s:i}, {s:s, s:I, s:I}]",
                                        "type", "RLIMIT_CORE", "hard", 0,
                                        "soft", 0, "type", "RLIMIT_NOFILE",
                                        "hard", (json_int_t)spec->files_max,
                                        "soft", (json_int_t)spec->files_max));
    return process;
}

static void
add_mount(json_t *mounts, const char *path, const char *type,
          const char *source, json_t *options)
{
    (void)json_array_append_new(
        mounts, json_pack("{s:s, s:s, s:s, s:o}", "destination", path, "type",
                          type, "source", source, "options", options));
}

static void
add_tmpfs(json_t *mounts, const char *path, const char *mode, int64_t size_kib,
          const char *more)
{
    char size[48];
    json_t *options = json_pack("[s, s, s]", "nosuid", "nodev", mode);

    (void)snprintf(size, sizeof(size), "size=%lldk", (long long)size_kib);
    (void)json_array_append_new(options, json_string(size));
    if (more != NULL)
        (void)json_array_append_new(options, json_string(more));
    add_mount(mounts, path, "tmpfs", "tmpfs", options);
}

static void
add_bind(json_t *mounts, const struct spec_bind *bind)
{
    json_t *options =
        json_pack("[s, s, s, s]", "bind", "private", "nosuid", "nodev");

    (void)json_array_append_new(options,
                                json_string(bind->read_only ? "ro" : "rw"));
    if (bind->no_exec)
        (void)json_array_append_new(options, json_string("noexec"));
    add_mount(mounts, bind->path, "bind", bind->source, options);
}

static json_t *
mounts_of(const struct spec *spec)
{
    json_t *mounts = json_array();
    int64_t half = spec->memory_mib * 512;

    add_mount(mounts, "/proc", "proc", "proc",
              json_pack("[s, s, s]", "nosuid", "noexec", "nodev"));
    /* crun places the device nodes, so no nodev here. */
    add_mount(
        mounts, "/dev", "tmpfs", "tmpfs",
        json_pack("[s, s, s, s]", "nosuid", "noexec", "mode=755", "size=256k"));
    /* The machine has a few thousand terminals for all instances. */
    add_mount(mounts, "/dev/pts", "devpts", "devpts",
              json_pack("[s, s, s, s, s, s]", "nosuid", "noexec",
                        "newinstance", "ptmxmode=0666", "mode=0620",
                        "max=64"));
    add_tmpfs(mounts, "/dev/shm", "mode=1777", half, "noexec");
    add_mount(mounts, "/dev/mqueue", "mqueue", "mqueue",
              json_pack("[s, s, s]", "nosuid", "noexec", "nodev"));
    add_tmpfs(mounts, "/sys", "mode=555", 4, "ro");
    add_tmpfs(mounts, "/tmp", "mode=1777", spec->scratch_mib * 1024, NULL);
    add_tmpfs(mounts, "/run", "mode=755", 1024, "noexec");
    for (size_t i = 0; i < spec->bind_count; i++)
        add_bind(mounts, &spec->binds[i]);
    return mounts;
}

static json_t *
namespaces_of(const struct spec *spec)
{
    static const char *const kinds[] = { "pid", "ipc", "uts", "mount",
                                         "cgroup" };
    json_t *out = json_array();
    json_t *network = json_pack("{s:s}", "type", "network");

    (void)json_array_append_new(
        out, json_pack("{s:s, s:s}", "type", "user", "path", spec->userns));

    for (size_t i = 0; i < COUNT(kinds); i++)
        (void)json_array_append_new(out, json_pack("{s:s}", "type", kinds[i]));
    if (spec->netns != NULL)
        (void)json_object_set_new(network, "path", json_string(spec->netns));
    (void)json_array_append_new(out, network);
    return out;
}

static json_t *
resources_of(const struct spec *spec)
{
    int64_t bytes = spec->memory_mib * 1048576;
    int64_t quota = spec->cpu_milli * CPU_PERIOD_US / 1000;
    int64_t shares = spec->cpu_milli * 1024 / 1000;
    json_t *memory = json_pack("{s:I}", "limit", (json_int_t)bytes);
    json_t *cpu;
    json_t *rules = json_pack("[{s:b, s:s}]", "allow", 0, "access", "rwm");

    if (spec->limit_swap)
        (void)json_object_set_new(memory, "swap", json_integer(bytes));
    for (size_t i = 0; i < spec->device_count; i++)
        (void)json_array_append_new(
            rules,
            json_pack("{s:b, s:s, s:I, s:I, s:s}", "allow", 1, "type", "c",
                      "major", (json_int_t)spec->devices[i].major, "minor",
                      (json_int_t)spec->devices[i].minor, "access", "rw"));
    cpu = json_pack(
        "{s:I, s:i, s:I}", "quota",
        (json_int_t)(quota < CPU_QUOTA_MIN_US ? CPU_QUOTA_MIN_US : quota),
        "period", CPU_PERIOD_US, "shares",
        (json_int_t)(shares < 2        ? 2
                     : shares > 262144 ? 262144
                                       : shares));
    if (spec->cpus != NULL && spec->cpus[0] != '\0') {
        (void)json_object_set_new(cpu, "cpus", json_string(spec->cpus));
        (void)json_object_set_new(cpu, "mems", json_string(spec->mems));
    }
    return json_pack("{s:o, s:o, s:{s:I}, s:o}", "memory", memory, "cpu", cpu,
                     "pids", "limit", (json_int_t)spec->pids_max, "devices",
                     rules);
}

/* Its owner is nobody inside, so the node is open to all there: what decides
 * is that it is there, and the rule. */
static json_t *
devices_of(const struct spec *spec)
{
    json_t *out = json_array();

    for (size_t i = 0; i < spec->device_count; i++)
        (void)json_array_append_new(
            out, json_pack("{s:s, s:s, s:I, s:I, s:i, s:i, s:i}", "path",
                           spec->devices[i].path, "type", "c", "major",
                           (json_int_t)spec->devices[i].major, "minor",
                           (json_int_t)spec->devices[i].minor, "fileMode", 0666,
                           "uid", 0, "gid", 0));
    return out;
}

json_t *
spec_new(const struct spec *spec)
{
    json_t *kernel = json_pack(
        "{s:o, s:o, s:o, s:s, s:o, s:o, s:o}", "namespaces",
        namespaces_of(spec), "resources", resources_of(spec), "devices",
        devices_of(spec), "cgroupsPath", spec->cgroup, "maskedPaths",
        texts(masked, COUNT(masked)), "readonlyPaths",
        texts(read_only, COUNT(read_only)), "seccomp", seccomp_filter_new());

    json_t *config = json_pack(
        "{s:s, s:{s:s, s:b}, s:o, s:s, s:o, s:o}", "ociVersion", "1.0.2",
        "root", "path", spec->root, "readonly", spec->read_only_root ? 1 : 0,
        "process", process_of(spec), "hostname", spec->hostname, "mounts",
        mounts_of(spec), "linux", kernel);

    /* crun takes it in place of the filter above; others leave it. */
    if (spec->filter != NULL)
        (void)json_object_set_new(
            config, "annotations",
            json_pack("{s:s}", "run.oci.seccomp_bpf_data", spec->filter));
    return config;
}
