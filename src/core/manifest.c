/* SPDX-License-Identifier: Apache-2.0 */
#include "core/manifest.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "core/object.h"
#include "core/require.h"

#define COMMAND_MAX 256
#define WORD_MAX 8192
#define ENV_MAX 256
#define ENV_VALUE_MAX 16384
#define PORTS_MAX 16
#define PATH_TEXT_MAX 255
#define SPREAD_MOST_MAX 4096
#define SPEC_SIZE_MAX (64 * 1024)

#define POINTER_MAX ERROR_FIELD_MAX

/* Text that a process gets: not empty unless allowed, no control characters
 * but tab and newline. */
static int
check_text(const char *pointer, const json_t *value, size_t max, bool empty,
           struct error *err)
{
    const char *text = json_string_value(value);

    if (text == NULL)
        return error_field(err, pointer, "%s must be text", pointer);
    if (!empty && text[0] == '\0')
        return error_field(err, pointer, "%s must not be empty", pointer);
    if (strlen(text) > max)
        return error_field(err, pointer,
                           "%s has %zu bytes, at most %zu are allowed",
                           pointer, strlen(text), max);
    for (const char *at = text; *at != '\0'; at++)
        if ((unsigned char)*at < 0x20 && *at != '\t' && *at != '\n')
            return error_field(err, pointer,
                               "%s holds a control character", pointer);
    return 0;
}

/* "base/key" or "base/key/index"; what does not fit is cut. */
static void
point(char pointer[POINTER_MAX], const char *base, const char *key)
{
    (void)snprintf(pointer, POINTER_MAX, "%.70s/%.24s", base, key);
}

static void
point_at(char pointer[POINTER_MAX], const char *base, size_t index)
{
    (void)snprintf(pointer, POINTER_MAX, "%.70s/%zu", base, index);
}

static int
check_list(const char *pointer, const json_t *value, size_t least, size_t most,
           struct error *err)
{
    if (!json_is_array(value))
        return error_field(err, pointer, "%s must be a list", pointer);
    if (json_array_size(value) < least || json_array_size(value) > most)
        return error_field(err, pointer,
                           "%s has %zu items, %zu to %zu are allowed",
                           pointer, json_array_size(value), least, most);
    return 0;
}

static int
check_keys(const char *pointer, const json_t *value, const char *const *keys,
           struct error *err)
{
    const char *key;
    json_t *member;

    if (!json_is_object(value))
        return error_field(err, pointer, "%s must be an object", pointer);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        char at[POINTER_MAX];
        bool known = false;

        for (size_t i = 0; keys[i] != NULL && !known; i++)
            known = strcmp(keys[i], key) == 0;
        point(at, pointer, key);
        if (!known)
            return error_field(err, at, "%s is not a known field", at);
    }
    return 0;
}

static int
check_command(const char *base, const json_t *value, json_t *out,
              struct error *err)
{
    char pointer[POINTER_MAX], at[POINTER_MAX];

    point(pointer, base, "command");
    if (value == NULL)
        return error_field(err, pointer, "%s is missing", pointer);
    if (check_list(pointer, value, 1, COMMAND_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(value); i++) {
        point_at(at, pointer, i);
        if (check_text(at, json_array_get(value, i), WORD_MAX, i > 0, err) <
            0)
            return -1;
    }
    json_object_set(out, "command", (json_t *)(uintptr_t)value);
    return 0;
}

static bool
is_env_name(const char *name)
{
    if (!isalpha((unsigned char)name[0]) && name[0] != '_')
        return false;
    for (const char *at = name; *at != '\0'; at++)
        if (!isalnum((unsigned char)*at) && *at != '_')
            return false;
    return strlen(name) <= 255;
}

static int
check_env(const char *base, const json_t *value, json_t *out,
          struct error *err)
{
    char pointer[POINTER_MAX], at[POINTER_MAX];
    const char *key;
    json_t *member;

    point(pointer, base, "env");
    if (!json_is_object(value))
        return error_field(err, pointer, "%s must be an object", pointer);
    if (json_object_size(value) > ENV_MAX)
        return error_field(err, pointer,
                           "%s has %zu variables, at most %d are allowed",
                           pointer, json_object_size(value), ENV_MAX);
    json_object_foreach((json_t *)(uintptr_t)value, key, member)
    {
        point(at, pointer, key);
        if (!is_env_name(key))
            return error_field(err, at,
                               "%s: a variable's name has letters, digits "
                               "and _, and begins with no digit",
                               at);
        /* What the platform tells the process is its own. */
        if (strncmp(key, "BULKHEAD_", 9) == 0)
            return error_field(err, at,
                               "%s: names that begin with BULKHEAD_ are the "
                               "platform's",
                               at);
        if (check_text(at, member, ENV_VALUE_MAX, true, err) < 0)
            return -1;
    }
    json_object_set(out, "env", (json_t *)(uintptr_t)value);
    return 0;
}

/* Absolute, in its shortest form, not a place that the platform fills. */
static bool
is_path(const char *path)
{
    static const char *const taken[] = { "/proc", "/sys", "/dev",
                                         "/run/bulkhead", NULL };
    size_t length = strlen(path);

    if (path[0] != '/' || length < 2 || length > PATH_TEXT_MAX ||
        path[length - 1] == '/' || strstr(path, "//") != NULL ||
        strstr(path, "/../") != NULL || strstr(path, "/./") != NULL)
        return false;
    if ((length >= 3 && strcmp(path + length - 3, "/..") == 0) ||
        strcmp(path + length - 2, "/.") == 0)
        return false;
    for (size_t i = 0; taken[i] != NULL; i++) {
        size_t size = strlen(taken[i]);

        if (strncmp(path, taken[i], size) == 0 &&
            (path[size] == '\0' || path[size] == '/'))
            return false;
    }
    return true;
}

static bool
is_inside(const char *inner, const char *outer)
{
    size_t size = strlen(outer);

    return strncmp(inner, outer, size) == 0 &&
           (inner[size] == '/' || inner[size] == '\0');
}

static int
check_path(const char *pointer, const json_t *value, struct error *err)
{
    if (check_text(pointer, value, PATH_TEXT_MAX, false, err) < 0)
        return -1;
    if (!is_path(json_string_value(value)))
        return error_field(err, pointer,
                           "%s must be an absolute path without ., .. or "
                           "doubled slashes, outside /proc, /sys, /dev and "
                           "/run/bulkhead",
                           pointer);
    return 0;
}

/* A volume of the project by id or by name. */
static struct ref
find_volume(const struct world *world, struct ref project, const char *text)
{
    struct ref ref = object_find_text(world, text);

    if (ref.kind != KIND_VOLUME)
        ref = world_find_name(world, KIND_VOLUME, project, text);
    if (!ref_equal(world_parent(world, ref), project))
        return (struct ref){ 0 };
    return ref;
}

static int
check_volume(const struct world *world, struct ref project,
             const char *pointer, const json_t *value, json_t *out,
             struct error *err)
{
    static const char *const keys[] = { "volume", "path", "read_only", NULL };
    char at[POINTER_MAX], id[ID_TEXT_MAX];
    const json_t *volume, *path, *read_only;
    const struct volume *found;
    struct ref ref;

    if (check_keys(pointer, value, keys, err) < 0)
        return -1;
    volume = json_object_get(value, "volume");
    path = json_object_get(value, "path");
    read_only = json_object_get(value, "read_only");
    point(at, pointer, "volume");
    if (check_text(at, volume, NAME_MAX_SIZE, false, err) < 0)
        return -1;
    ref = find_volume(world, project, json_string_value(volume));
    found = world_volume(world, ref);
    if (found == NULL || found->state == VOLUME_DELETING)
        return error_field(err, at, "%s: the project has no such volume", at);
    point(at, pointer, "path");
    if (check_path(at, path, err) < 0)
        return -1;
    point(at, pointer, "read_only");
    if (read_only != NULL && !json_is_boolean(read_only))
        return error_field(err, at, "%s must be true or false", at);
    object_id_text(world, ref, id);
    json_array_append_new(
        out, json_pack("{s:s, s:b, s:s}", "path", json_string_value(path),
                       "read_only", json_is_true(read_only), "volume", id));
    return 0;
}

/* No two mounts at or inside one another: their order would matter. */
static int
check_nesting(const char *pointer, const json_t *volumes, struct error *err)
{
    for (size_t i = 0; i < json_array_size(volumes); i++)
        for (size_t k = 0; k < json_array_size(volumes); k++) {
            const char *a = json_string_value(
                json_object_get(json_array_get(volumes, i), "path"));
            const char *b = json_string_value(
                json_object_get(json_array_get(volumes, k), "path"));
            char at[POINTER_MAX];

            if (i == k || !is_inside(a, b))
                continue;
            point_at(at, pointer, i);
            return error_field(err, at, "%s: path %s lies in path %s", at, a,
                               b);
        }
    return 0;
}

static int
check_volumes(const struct world *world, struct ref project, const char *base,
              const json_t *value, json_t *out, struct error *err)
{
    char pointer[POINTER_MAX], at[POINTER_MAX];
    json_t *list = json_array();

    json_object_set_new(out, "volumes", list);
    point(pointer, base, "volumes");
    if (check_list(pointer, value, 0, MANIFEST_VOLUMES_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(value); i++) {
        point_at(at, pointer, i);
        if (check_volume(world, project, at, json_array_get(value, i), list,
                         err) < 0)
            return -1;
    }
    return check_nesting(pointer, list, err);
}

static int
check_port(const char *pointer, const json_t *value, json_t *list,
           struct error *err)
{
    static const char *const keys[] = { "name", "port", NULL };
    const json_t *name = json_object_get(value, "name");
    const json_t *port = json_object_get(value, "port");
    char at[POINTER_MAX];

    if (check_keys(pointer, value, keys, err) < 0)
        return -1;
    point(at, pointer, "name");
    if (check_text(at, name, NAME_MAX_SIZE - 1, false, err) < 0 ||
        schema_check_name(at, json_string_value(name), err) < 0)
        return -1;
    point(at, pointer, "port");
    if (!json_is_integer(port) || json_integer_value(port) < 1 ||
        json_integer_value(port) > 65535)
        return error_field(err, at, "%s must be 1 to 65535", at);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *other = json_array_get(list, i);

        if (json_equal(json_object_get(other, "name"), name) ||
            json_equal(json_object_get(other, "port"), port))
            return error_field(err, pointer,
                               "%s has the name or number of another port",
                               pointer);
    }
    json_array_append(list, (json_t *)(uintptr_t)value);
    return 0;
}

static int
check_ports(const char *base, const json_t *value, json_t *out,
            struct error *err)
{
    char pointer[POINTER_MAX], at[POINTER_MAX];
    json_t *list = json_array();

    json_object_set_new(out, "ports", list);
    point(pointer, base, "ports");
    if (check_list(pointer, value, 0, PORTS_MAX, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(value); i++) {
        point_at(at, pointer, i);
        if (check_port(at, json_array_get(value, i), list, err) < 0)
            return -1;
    }
    return 0;
}

/* Checkpoints outlive the instance only on a volume that it can write. */
static int
check_checkpoint(const char *base, const json_t *value, json_t *out,
                 struct error *err)
{
    const json_t *volumes = json_object_get(out, "volumes");
    char pointer[POINTER_MAX];

    point(pointer, base, "checkpoint");
    if (check_path(pointer, value, err) < 0)
        return -1;
    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const json_t *volume = json_array_get(volumes, i);

        if (!json_is_true(json_object_get(volume, "read_only")) &&
            is_inside(json_string_value(value),
                      json_string_value(json_object_get(volume, "path")))) {
            json_object_set(out, "checkpoint", (json_t *)(uintptr_t)value);
            return 0;
        }
    }
    return error_field(err, pointer,
                       "%s must lie in one of the volumes that can be written",
                       pointer);
}

static const char *const level_names[] = { "pool", "leaf",   "node",
                                           "numa", "switch", "island" };
static const char *const pinning_names[] = { "near", "cores", "none" };
static const char *const mode_names[] = { "required", "preferred" };

/* One of the words, or ERROR_INVALID with them all. */
static int
check_word(const char *pointer, const json_t *value,
           const char *const *words, size_t count, struct error *err)
{
    const char *text = json_string_value(value);
    scoped_buffer list = { 0 };

    for (size_t i = 0; i < count; i++) {
        if (text != NULL && strcmp(text, words[i]) == 0)
            return 0;
        buffer_printf(&list, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    return error_field(err, pointer, "%s must be one of: %s", pointer,
                       buffer_text(&list));
}

static int
check_topology(const char *base, const json_t *value, json_t *out,
               struct error *err)
{
    static const char *const keys[] = { "level", "mode", NULL };
    const json_t *mode = json_object_get(value, "mode");
    char pointer[POINTER_MAX], at[POINTER_MAX];

    point(pointer, base, "topology");
    if (check_keys(pointer, value, keys, err) < 0)
        return -1;
    point(at, pointer, "level");
    if (check_word(at, json_object_get(value, "level"), level_names, 6, err) <
        0)
        return -1;
    point(at, pointer, "mode");
    if (mode != NULL && check_word(at, mode, mode_names, 2, err) < 0)
        return -1;
    json_object_set(out, "topology", (json_t *)(uintptr_t)value);
    return 0;
}

static int
check_requires(const char *base, const json_t *value, json_t *out,
               struct error *err)
{
    char pointer[POINTER_MAX];

    point(pointer, base, "requires");
    if (require_check_manifest(value, pointer, err) != 0)
        return -1;
    json_object_set(out, "requires", (json_t *)(uintptr_t)value);
    return 0;
}

static int
check_pinning(const char *base, const json_t *value, json_t *out,
              struct error *err)
{
    char pointer[POINTER_MAX];

    point(pointer, base, "pinning");
    if (check_word(pointer, value, pinning_names, 3, err) < 0)
        return -1;
    json_object_set(out, "pinning", (json_t *)(uintptr_t)value);
    return 0;
}

static int
check_spread(const char *base, const json_t *value, json_t *out,
             struct error *err)
{
    static const char *const keys[] = { "level", "most", "mode", NULL };
    static const char *const levels[] = { "node", "leaf" };
    const json_t *mode = json_object_get(value, "mode");
    const json_t *most = json_object_get(value, "most");
    char pointer[POINTER_MAX], at[POINTER_MAX];

    point(pointer, base, "spread");
    if (check_keys(pointer, value, keys, err) < 0)
        return -1;
    point(at, pointer, "level");
    if (check_word(at, json_object_get(value, "level"), levels, 2, err) < 0)
        return -1;
    point(at, pointer, "most");
    if (most != NULL &&
        (!json_is_integer(most) || json_integer_value(most) < 1 ||
         json_integer_value(most) > SPREAD_MOST_MAX))
        return error_field(err, at, "%s must be 1 to %d", at,
                           SPREAD_MOST_MAX);
    point(at, pointer, "mode");
    if (mode != NULL && check_word(at, mode, mode_names, 2, err) < 0)
        return -1;
    json_object_set(out, "spread", (json_t *)(uintptr_t)value);
    return 0;
}

static int
check_members(const struct world *world, struct ref project,
              const json_t *spec, const char *pointer, json_t *out,
              struct error *err)
{
    const json_t *value;
    char at[POINTER_MAX];

    if (check_command(pointer, json_object_get(spec, "command"), out, err) <
        0)
        return -1;
    value = json_object_get(spec, "env");
    if (value != NULL && check_env(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "volumes");
    if (value != NULL &&
        check_volumes(world, project, pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "ports");
    if (value != NULL && check_ports(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "checkpoint");
    if (value != NULL && check_checkpoint(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "requires");
    if (value != NULL && check_requires(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "topology");
    if (value != NULL && check_topology(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "spread");
    if (value != NULL && check_spread(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "pinning");
    if (value != NULL && check_pinning(pointer, value, out, err) < 0)
        return -1;
    value = json_object_get(spec, "workdir");
    if (value == NULL)
        return 0;
    point(at, pointer, "workdir");
    if (check_text(at, value, PATH_TEXT_MAX, false, err) < 0)
        return -1;
    if (json_string_value(value)[0] != '/')
        return error_field(err, at, "%s must be an absolute path", at);
    json_object_set(out, "workdir", (json_t *)(uintptr_t)value);
    return 0;
}

int
manifest_check(const struct world *world, struct ref project,
               const json_t *spec, const char *pointer, json_t **canonical_out,
               struct error *err)
{
    static const char *const keys[] = { "command",    "env",     "volumes",
                                        "ports",      "checkpoint",
                                        "topology", "spread",   "workdir", "requires",
                                        "pinning",
                                        NULL };
    scoped_json out = json_object();
    scoped_buffer text = { 0 };

    if (check_keys(pointer, spec, keys, err) < 0 ||
        check_members(world, project, spec, pointer, out, err) < 0)
        return -1;
    json_write(&text, out);
    if (text.size > SPEC_SIZE_MAX)
        return error_field(err, pointer,
                           "%s has %zu bytes, at most %d are allowed", pointer,
                           text.size, SPEC_SIZE_MAX);
    *canonical_out = json_incref(out);
    return 0;
}

struct closeness
manifest_closeness(const struct blob *spec)
{
    struct closeness closeness = { TOPOLOGY_POOL, false };
    struct error ignored;
    scoped_json document = NULL;
    const json_t *topology;
    const char *level, *mode;

    /* Most specs say nothing: the parser is spared. */
    if (spec == NULL || strstr(spec->bytes, "\"topology\":{") == NULL)
        return closeness;
    document = json_read(spec->bytes, spec->size, &ignored);
    topology = json_object_get(document, "topology");
    level = json_string_value(json_object_get(topology, "level"));
    mode = json_string_value(json_object_get(topology, "mode"));
    for (int i = TOPOLOGY_ISLAND; level != NULL && i > TOPOLOGY_POOL; i--)
        if (strcmp(level, level_names[i]) == 0)
            closeness.level = (enum topology)i;
    closeness.required = closeness.level != TOPOLOGY_POOL &&
                         (mode == NULL || strcmp(mode, "preferred") != 0);
    return closeness;
}

enum topology
manifest_topology(const struct blob *spec)
{
    struct closeness closeness = manifest_closeness(spec);

    return closeness.required ? closeness.level : TOPOLOGY_POOL;
}

enum pinning
manifest_pinning(const struct blob *spec)
{
    for (int i = PINNING_CORES; i <= PINNING_NONE; i++) {
        char text[32];

        (void)snprintf(text, sizeof(text), "\"pinning\":\"%s\"",
                       pinning_names[i]);
        if (spec != NULL && strstr(spec->bytes, text) != NULL)
            return (enum pinning)i;
    }
    return PINNING_NEAR;
}

const char *
manifest_pinning_text(enum pinning pinning)
{
    return pinning_names[pinning];
}

struct spread
manifest_spread(const struct blob *spec)
{
    struct spread spread = { .level = TOPOLOGY_POOL, .required = true };
    struct error ignored;
    scoped_json document = NULL;
    const json_t *value, *most;
    const char *level, *mode;

    /* Most specs say nothing: the parser is spared. */
    if (spec == NULL || strstr(spec->bytes, "\"spread\":{") == NULL)
        return spread;
    document = json_read(spec->bytes, spec->size, &ignored);
    value = json_object_get(document, "spread");
    level = json_string_value(json_object_get(value, "level"));
    mode = json_string_value(json_object_get(value, "mode"));
    most = json_object_get(value, "most");
    if (level == NULL)
        return spread;
    spread.level = strcmp(level, "leaf") == 0 ? TOPOLOGY_LEAF : TOPOLOGY_NODE;
    spread.most = json_is_integer(most) ? json_integer_value(most) : 1;
    spread.required = mode == NULL || strcmp(mode, "required") == 0;
    return spread;
}

size_t
manifest_volumes(const struct world *world, const struct blob *spec,
                 struct ref *volumes_out, size_t max)
{
    struct error ignored;
    scoped_json document = NULL;
    const json_t *list;
    size_t count = 0;

    /* Most specs name none: the parser is spared. */
    if (spec == NULL || strstr(spec->bytes, "\"volumes\":[{") == NULL)
        return 0;
    document = json_read(spec->bytes, spec->size, &ignored);
    list = json_object_get(document, "volumes");
    for (size_t i = 0; i < json_array_size(list) && count < max; i++) {
        const char *id = json_string_value(
            json_object_get(json_array_get(list, i), "volume"));
        struct ref ref = id != NULL ? object_find_text(world, id)
                                    : (struct ref){ 0 };

        if (ref.kind == KIND_VOLUME && !ref_is_none(ref))
            volumes_out[count++] = ref;
    }
    return count;
}
