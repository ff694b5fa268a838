/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/build.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/clock.h"
#include "base/file.h"
#include "engine/part.h"
#include "runner/idmap.h"
#include "runner/machine.h"
#include "runner/mps.h"
#include "runner/node.h"
#include "runner/sharer.h"
#include "runner/spec.h"
#include "runner/volume.h"
#include "runner/told.h"

#define PATH_ROOM 320
#define FILES_MAX 65536
#define UPPER_READ_ONLY_MIB 1
/* Small files of the platform, out of the reach of the instance. */
#define MADE_OPTIONS "mode=0711,size=4m"
#define MACHINE_BINDS_MAX 8
#define ENV_ROOM (2 * RUNNER_ENV_MAX + 20)

static int
fail(struct error *err, const char *step)
{
    return error_set(err, ERROR_INTERNAL, "%s: %s", step, strerror(errno));
}

/* In memory: nothing here outlives the boot, and a dozen files of a journalling
 * file system cost as much as the container. */
static int
make_directories(const struct instance *instance, struct error *err)
{
    static const char *const names[] = { "image",   "upper", "root", "run",
                                         "volumes", "cards", "proc" };
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/made", instance->place);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV, MADE_OPTIONS) != 0)
        return fail(err, "mount the instance's place");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/made/%s", instance->place,
                       names[i]);
        if (mkdir(path, 0711) != 0)
            return fail(err, "make the instance's place");
    }
    (void)snprintf(path, sizeof(path), "%s/made/run", instance->place);
    if (chmod(path, 0755) != 0)
        return fail(err, "make the instance's place");
    return told_gang(instance, &instance->start.gang, err);
}

/* A small file of the platform in the layer over the image, so that no bind
 * mount has to follow what the image put at that path. */
static int
put_file(const struct instance *instance, const char *name, const char *text,
         struct error *err)
{
    uid_t owner = (uid_t)instance->uid_base;
    char path[PATH_ROOM];
    scoped_fd fd = -1;

    (void)snprintf(path, sizeof(path), "%s/made/upper/data/etc/%s",
                   instance->place, name);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || fchmod(fd, 0644) != 0 || fchown(fd, owner, owner) != 0)
        return fail(err, "write a file of /etc");
    return file_write_all(fd, text, strlen(text), err);
}

static const char *
hostname_of(const struct instance *instance)
{
    return instance->start.hostname != NULL ? instance->start.hostname
                                            : instance->id;
}

static int
put_files(const struct instance *instance, struct error *err)
{
    struct network_names names = { 0 };
    char text[512];
    int size =
        snprintf(text, sizeof(text), "127.0.0.1 localhost\n::1 localhost\n");

    if (instance->port.address != 0) {
        network_describe(instance->port, &names);
        (void)snprintf(text + size, sizeof(text) - (size_t)size,
                       "%s %s\n%s %s\n", names.address, hostname_of(instance),
                       names.address6, hostname_of(instance));
    }
    if (put_file(instance, "hosts", text, err) != 0 ||
        put_file(instance, "resolv.conf",
                 "# The tenant network has no resolver.\n", err) != 0)
        return -1;
    (void)snprintf(text, sizeof(text), "%s\n", hostname_of(instance));
    return put_file(instance, "hostname", text, err);
}

static int
make_upper(const struct instance *instance, struct error *err)
{
    static const char *const names[] = { "data", "work", "data/etc" };
    uid_t owner = (uid_t)instance->uid_base;
    int64_t size_mib = instance->start.read_only_root
                           ? UPPER_READ_ONLY_MIB
                           : instance->start.memory_mib / 2;
    char path[PATH_ROOM];
    char options[64];

    (void)snprintf(path, sizeof(path), "%s/made/upper", instance->place);
    (void)snprintf(options, sizeof(options), "mode=0711,size=%" PRId64 "m",
                   size_mib);
    if (mount("tmpfs", path, "tmpfs", MS_NOSUID, options) != 0)
        return fail(err, "mount the upper layer");
    (void)snprintf(path, sizeof(path), "%s/made/upper/null", instance->place);
    if (mknod(path, S_IFCHR | 0666, makedev(1, 3)) != 0 ||
        chmod(path, 0666) != 0)
        return fail(err, "make a null device");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s/made/upper/%s", instance->place,
                       names[i]);
        if (mkdir(path, 0755) != 0 || chmod(path, 0755) != 0 ||
            chown(path, owner, owner) != 0)
            return fail(err, "make the upper layer");
    }
    return 0;
}

static int
mount_root(const struct instance *instance, const struct image *image,
           int userns_fd, struct error *err)
{
    char lower[PATH_ROOM];
    char root[PATH_ROOM];
    char options[PATH_ROOM * 3];

    (void)snprintf(lower, sizeof(lower), "%s/made/image", instance->place);
    (void)snprintf(root, sizeof(root), "%s/made/root", instance->place);
    if (idmap_mount(userns_fd, image->root, lower,
                    (struct idmap_flags){ .read_only = true }, err) != 0 ||
        put_files(instance, err) != 0)
        return -1;
    (void)snprintf(options, sizeof(options),
                   "lowerdir=%s,upperdir=%s/made/upper/data,"
                   "workdir=%s/made/upper/work",
                   lower, instance->place, instance->place);
    if (mount("overlay", root, "overlay", MS_NOSUID | MS_NODEV, options) != 0)
        return fail(err, "mount the root");
    return 0;
}

/* The directory below a volume's top, made where parts are missing; the
 * volume is hostile ground. */
static int
make_beneath(int top_fd, const char *path, uid_t owner, struct error *err)
{
    char copy[RUNNER_TEXT_MAX];

    (void)snprintf(copy, sizeof(copy), "%s", path);
    for (char *slash = copy; slash != NULL;) {
        const char *name;
        char *last;
        scoped_fd parent = -1;

        slash = strchr(slash + 1, '/');
        if (slash != NULL)
            *slash = '\0';
        last = strrchr(copy, '/');
        name = last != NULL ? last + 1 : copy;
        if (last != NULL)
            *last = '\0';
        parent = file_open_beneath(top_fd, last != NULL ? copy : ".",
                                   O_RDONLY | O_DIRECTORY, 0, err);
        if (parent < 0)
            return -1;
        if (mkdirat(parent, name, 0755) == 0) {
            if (fchownat(parent, name, owner, owner, AT_SYMLINK_NOFOLLOW) != 0)
                return fail(err, "own the checkpoint directory");
        } else if (errno != EEXIST)
            return fail(err, "make the checkpoint directory");
        if (last != NULL)
            *last = '/';
        if (slash != NULL)
            *slash = '/';
    }
    return 0;
}

static int
make_checkpoint(const struct node *node, const struct instance *instance,
                const char *mounted, struct error *err)
{
    const struct runner_start *start = &instance->start;
    const char *rest = start->checkpoint_dir +
                       strlen(start->volumes[start->checkpoint_volume].path);
    scoped_fd top = -1;

    if (rest[0] == '\0')
        return 0;
    top = open(mounted, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (top < 0)
        return fail(err, "open a volume");
    if (make_beneath(top, rest + 1, (uid_t)node->policy->disk_uid_base, err) !=
        0)
        return error_set(err, ERROR_CONFLICT,
                         "the checkpoint directory cannot be made in its "
                         "volume");
    return 0;
}

static int
mount_volume(struct node *node, const struct instance *instance, size_t at,
             int userns_fd, struct error *err)
{
    const struct runner_mount *volume = &instance->start.volumes[at];
    char mounted[VOLUME_PATH_MAX];
    char target[PATH_ROOM];

    if (volume_mount(node->policy, volume->id, mounted, err) != 0)
        return -1;
    if (instance->start.checkpoint_dir != NULL &&
        instance->start.checkpoint_volume == at &&
        make_checkpoint(node, instance, mounted, err) != 0)
        return -1;
    (void)snprintf(target, sizeof(target), "%s/made/volumes/%zu",
                   instance->place, at);
    if (mkdir(target, 0711) != 0)
        return fail(err, "make a volume's place");
    return idmap_mount(userns_fd, mounted, target,
                       (struct idmap_flags){ .read_only = volume->read_only },
                       err);
}

static int
mount_volumes(struct node *node, struct instance *instance, int userns_fd,
              struct error *err)
{
    int result = 0;

    (void)pthread_mutex_lock(&node->volume_lock);
    for (size_t i = 0; result == 0 && i < instance->start.volume_count; i++)
        result = mount_volume(node, instance, i, userns_fd, err);
    (void)pthread_mutex_unlock(&node->volume_lock);
    if (result == 0)
        instance_baseline(instance, node->policy);
    return result;
}

/* Files of a card are reached through this mount only: what they lie in is
 * closed, so their own mode may be open and instances that share a card need
 * no common owner.  The driver's libraries are everybody's. */
static int
mount_card_file(const struct instance *instance, const struct grant_item *item,
                size_t at, struct error *err)
{
    struct idmap_flags flags = { .no_exec = item->kind == ACCEL_FILE,
                                 .read_only = item->kind == ACCEL_LIBRARY };
    char target[PATH_ROOM];
    int fd;

    (void)snprintf(target, sizeof(target), "%s/made/cards/%zu", instance->place,
                   at);
    fd = open(target, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || close(fd) != 0 ||
        (item->kind == ACCEL_FILE && chmod(item->host_path, 0666) != 0))
        return fail(err, "make a card's place");
    return idmap_mount(-1, item->host_path, target, flags, err);
}

/* The grant is made once: what is mounted is what is looked for later. */
static int
mount_cards(struct node *node, struct instance *instance, struct error *err)
{
    const struct runner_start *start = &instance->start;
    struct grant *grant = &instance->grant;

    for (size_t i = 0; i < start->card_count; i++)
        if (part_is_slice(start->cards[i]) &&
            partition_create(node->partition, start->cards[i], instance, err) !=
                0)
            return -1;
    if (sharer_prepare(node, instance, err) != 0 ||
        grant_of(node, instance, instance->arena, grant, err) != 0)
        return -1;
    for (size_t i = 0; i < grant->count; i++)
        if (grant->items[i].kind != ACCEL_DEVICE &&
            mount_card_file(instance, &grant->items[i], i, err) != 0)
            return -1;
    return 0;
}

static int
write_machine(const struct instance *instance, struct error *err)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/made/proc", instance->place);
    return machine_write(path, instance->start.cpu_milli,
                         instance->start.memory_mib, clock_wall_ms(), err);
}

static int
keep_ids(const struct instance *instance, const struct idmap_keeping *keeping,
         struct error *err)
{
    char path[PATH_ROOM];

    (void)snprintf(path, sizeof(path), "%s/made/userns", instance->place);
    return idmap_keep(keeping, path, err);
}

/* The journal is first: what follows it can be found and undone. */
int
build_ground(struct node *node, struct instance *instance,
             struct idmap_keeping *keeping, struct error *err)
{
    struct image *image = arena_alloc(instance->arena, sizeof(*image));
    char path[PATH_ROOM];

    if (image_prepare(&node->images, instance->arena, &instance->start.image,
                      image, err) != 0)
        return -1;
    instance->image = image;
    (void)snprintf(path, sizeof(path), "%s/made", instance->place);
    if ((mkdir(instance->place, 0711) != 0 && errno != EEXIST) ||
        (mkdir(path, 0711) != 0 && errno != EEXIST))
        return fail(err, "make the instance's place");
    if (instance_save(instance, err) != 0 ||
        idmap_begin(instance->uid_base, keeping, err) != 0 ||
        make_directories(instance, err) != 0)
        return -1;
    return make_upper(instance, err);
}

int
build_place(struct node *node, struct instance *instance,
            const struct idmap_keeping *keeping, struct error *err)
{
    scoped_fd userns_fd =
        idmaps_open(&node->maps, node->policy->disk_uid_base,
                    instance->uid_base, err);

    if (userns_fd < 0 || write_machine(instance, err) != 0 ||
        keep_ids(instance, keeping, err) != 0 ||
        mount_root(instance, instance->image, userns_fd, err) != 0 ||
        mount_volumes(node, instance, userns_fd, err) != 0 ||
        mount_cards(node, instance, err) != 0)
        return -1;
    return 0;
}

/* Sets NAME=text, replacing an earlier one of that name. */
static void
set_env(const char **env, size_t *count, const char *entry)
{
    size_t size = strcspn(entry, "=") + 1;

    for (size_t i = 0; i < *count; i++)
        if (strncmp(env[i], entry, size) == 0) {
            env[i] = entry;
            return;
        }
    env[(*count)++] = entry;
}

/* By the names that they have inside: a UUID would tell a tenant which of its
 * work met on one card, and whose. */
static void
add_card_env(struct node *node, const struct instance *instance,
             const char **env, size_t *count)
{
    const struct runner_start *start = &instance->start;
    struct error ignored = { 0 };
    struct buffer list = { 0 };
    int64_t usable = start->card_memory_mib;

    for (size_t i = 0; i < start->card_count; i++) {
        struct accel_card card;

        buffer_printf(&list, "%scard%zu", i > 0 ? "," : "", i);
        if (accel_describe(&node->accel, start->cards[i], &card, &ignored) ==
                0 &&
            (usable == 0 || card.memory_mib < usable))
            usable = card.memory_mib;
    }
    set_env(
        env, count,
        arena_printf(instance->arena, "BULKHEAD_CARDS=%s", buffer_text(&list)));
    set_env(env, count,
            arena_printf(instance->arena, "BULKHEAD_CARD_MEMORY_MIB=%" PRId64,
                         usable));
    if (node->accel.ops->simulated)
        set_env(env, count, "BULKHEAD_SIMULATED=1");
    set_env(env, count, grant_selector(node, instance, instance->arena));
    buffer_release(&list);
}

/* The driver's libraries are found before any that the image has. */
static void
add_library_env(const struct instance *instance, const char **env,
                size_t *count)
{
    static const char name[] = "LD_LIBRARY_PATH=";
    const char *now = "";

    if (!grant_has_libraries(&instance->grant))
        return;
    for (size_t i = 0; i < *count; i++)
        if (strncmp(env[i], name, sizeof(name) - 1) == 0)
            now = env[i] + sizeof(name) - 1;
    set_env(env, count,
            arena_printf(instance->arena, "%s" GRANT_LIBRARIES "%s%s", name,
                         now[0] != '\0' ? ":" : "", now));
}

/* The driver reads the limits of a share here; what a program makes of them is
 * seen from outside. */
static void
add_share_env(struct node *node, const struct instance *instance,
              const char **env, size_t *count)
{
    const struct runner_start *start = &instance->start;
    int64_t percent = (start->card_milli + 9) / 10;

    set_env(env, count,
            arena_printf(instance->arena, "BULKHEAD_SHARE=%s",
                         sharer_is_served(node, instance) ? "mps"
                                                          : "measured"));
    if (!sharer_is_served(node, instance))
        return;
    set_env(env, count, "CUDA_MPS_PIPE_DIRECTORY=" MPS_INSIDE);
    set_env(env, count,
            arena_printf(instance->arena,
                         "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%" PRId64 "M",
                         start->card_memory_mib));
    if (start->card_milli > 0)
        set_env(env, count,
                arena_printf(instance->arena,
                             "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%" PRId64,
                             percent));
}

/* What it is as it begins; the file says what it has become. */
static void
add_gang_env(const struct instance *instance, const char **env, size_t *count)
{
    const struct gang *gang = &instance->start.gang;

    set_env(env, count, "BULKHEAD_GANG=/run/bulkhead/gang.json");
    set_env(env, count,
            arena_printf(instance->arena, "BULKHEAD_NUMBER=%" PRId64,
                         gang->number));
    set_env(env, count,
            arena_printf(instance->arena, "BULKHEAD_INSTANCES=%" PRId64,
                         gang->instances));
}

static const char *const *
env_of(struct node *node, const struct instance *instance)
{
    struct arena *arena = instance->arena;
    const struct runner_start *start = &instance->start;
    const char **env = arena_alloc(arena, ENV_ROOM * sizeof(*env));
    struct network_names names = { 0 };
    size_t count = 0;

    set_env(env, &count,
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
            "/bin");
    set_env(env, &count, "HOME=/");
    for (size_t i = 0; i < instance->image->env_count; i++)
        if (strchr(instance->image->env[i], '=') != NULL &&
            !grant_is_selector(instance->image->env[i], true))
            set_env(env, &count, instance->image->env[i]);
    for (size_t i = 0; i < start->env_count; i++)
        if (!grant_is_selector(start->env[i], false))
            set_env(env, &count, start->env[i]);
    if (instance->port.address != 0)
        network_describe(instance->port, &names);
    set_env(env, &count,
            arena_printf(arena, "BULKHEAD_INSTANCE=%s", instance->id));
    set_env(env, &count,
            arena_printf(arena, "BULKHEAD_INCARNATION=%" PRId64,
                         instance->incarnation));
    set_env(env, &count, "BULKHEAD_NOTICE=/run/bulkhead/notice.json");
    if (start->gang.instances > 0)
        add_gang_env(instance, env, &count);
    set_env(env, &count,
            arena_printf(arena, "BULKHEAD_ADDRESS=%s", names.address));
    set_env(env, &count,
            arena_printf(arena, "BULKHEAD_ADDRESS6=%s", names.address6));
    set_env(env, &count,
            arena_printf(arena, "BULKHEAD_CHECKPOINT_DIR=%s",
                         start->checkpoint_dir != NULL ? start->checkpoint_dir
                                                       : ""));
    add_card_env(node, instance, env, &count);
    if (instance->nics[0] != '\0')
        set_env(env, &count,
                arena_printf(arena, "BULKHEAD_NICS=%s", instance->nics));
    add_library_env(instance, env, &count);
    if (sharer_is_share(instance))
        add_share_env(node, instance, env, &count);
    return env;
}

static const char *const *
argv_of(const struct instance *instance, struct error *err)
{
    const struct runner_start *start = &instance->start;
    bool own = start->argc > 0;
    size_t count = own ? start->argc : instance->image->argc;
    const char **argv =
        arena_alloc(instance->arena, (count + 1) * sizeof(*argv));

    for (size_t i = 0; i < count; i++)
        argv[i] = own ? start->argv[i] : instance->image->argv[i];
    if (count == 0) {
        (void)error_field(err, "/argv",
                          "the image has no command and the start gives none");
        return NULL;
    }
    return argv;
}

static void
add_bind(struct spec *spec, struct spec_bind *binds, const char *source,
         const char *path, bool read_only, bool no_exec)
{
    binds[spec->bind_count++] = (struct spec_bind){ .source = source,
                                                    .path = path,
                                                    .read_only = read_only,
                                                    .no_exec = no_exec };
}

/* The cards' files and device nodes. */
static void
add_cards(const struct instance *instance, struct spec *spec,
          struct spec_bind *binds)
{
    struct arena *arena = instance->arena;
    const struct grant *grant = &instance->grant;
    struct spec_device *devices =
        arena_alloc(arena, (grant->count + 1) * sizeof(*devices));

    for (size_t i = 0; i < grant->count; i++) {
        const struct grant_item *item = &grant->items[i];

        if (item->kind == ACCEL_DEVICE)
            devices[spec->device_count++] =
                (struct spec_device){ .path = item->path,
                                      .major = item->major,
                                      .minor = item->minor };
        else
            add_bind(
                spec, binds,
                arena_printf(arena, "%s/made/cards/%zu", instance->place, i),
                item->path, item->kind == ACCEL_LIBRARY,
                item->kind == ACCEL_FILE);
    }
    spec->devices = devices;
}

/* pipe: the directory of its card's sharing server; NULL: none. */
static void
add_places(const struct instance *instance, const char *pipe,
           struct spec *spec)
{
    struct arena *arena = instance->arena;
    const struct runner_start *start = &instance->start;
    struct spec_bind *binds =
        arena_alloc(arena, (instance->grant.count + RUNNER_VOLUMES_MAX +
                            MACHINE_BINDS_MAX + 2) *
                               sizeof(*binds));

    add_bind(spec, binds, arena_printf(arena, "%s/made/run", instance->place),
             "/run/bulkhead", true, true);
    for (size_t i = 0; machine_files[i] != NULL; i++)
        add_bind(spec, binds,
                 arena_printf(arena, "%s/made/proc/%s", instance->place,
                              machine_files[i]),
                 arena_printf(arena, "/proc/%s", machine_files[i]), true, true);
    for (size_t i = 0; i < start->volume_count; i++)
        add_bind(spec, binds,
                 arena_printf(arena, "%s/made/volumes/%zu", instance->place, i),
                 start->volumes[i].path, start->volumes[i].read_only, false);
    add_cards(instance, spec, binds);
    if (pipe != NULL)
        add_bind(spec, binds, pipe, MPS_INSIDE, true, true);
    spec->binds = binds;
}

/* A limit above our own would need a capability. */
static int64_t
files_max(void)
{
    struct rlimit own;

    if (getrlimit(RLIMIT_NOFILE, &own) != 0 || own.rlim_max > FILES_MAX)
        return FILES_MAX;
    return (int64_t)own.rlim_max;
}

static const char *
list_of(const struct instance *instance, const struct topology_set *set)
{
    char list[TOPOLOGY_LIST_MAX];

    topology_set_format(set, list);
    return arena_strdup(instance->arena, list);
}

int
build_container(struct node *node, struct instance *instance, const char *netns,
                struct container_pending *pending, struct error *err)
{
    const struct runner_start *start = &instance->start;
    struct container container =
        instance_container(instance, node->policy, node->mode);
    struct spec spec = {
        .root = arena_printf(instance->arena, "%s/made/root", instance->place),
        .read_only_root = start->read_only_root,
        .hostname = hostname_of(instance),
        .argv = argv_of(instance, err),
        .env = env_of(node, instance),
        .cwd = start->cwd != NULL ? start->cwd : instance->image->cwd,
        .uid = start->uid >= 0 ? start->uid : instance->image->uid,
        .gid = start->uid >= 0 ? start->gid : instance->image->gid,
        .userns =
            arena_printf(instance->arena, "%s/made/userns", instance->place),
        .cpu_milli = start->cpu_milli,
        .memory_mib = start->memory_mib,
        .pids_max = start->pids_max,
        .scratch_mib = start->scratch_mib,
        .files_max = files_max(),
        .limit_swap = node->counts_swap,
        .cpus = list_of(instance, &instance->pin.cpus),
        .mems = list_of(instance, &instance->pin.mems),
        .filter = node->filter.size > 0 ? node->filter.bytes : NULL,
        .cgroup = instance->cgroup,
        .netns = netns[0] != '\0' ? netns : NULL,
    };
    const char *pipe = NULL;
    json_t *config;
    int result;

    if (spec.argv == NULL)
        return -1;
    if (sharer_is_served(node, instance))
        pipe = arena_printf(instance->arena, "%s/mps/%s/pipe",
                            node->policy->state_dir, start->cards[0]);
    add_places(instance, pipe, &spec);
    config = spec_new(&spec);
    result = container_create(&container, config, pending, err);
    json_decref(config);
    return result;
}
