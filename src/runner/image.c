/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/image.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/json.h"
#include "engine/runner_check.h"
#include "runner/layout.h"
#include "runner/remove.h"
#include "runner/unpack.h"

#define UNPACK_TIMEOUT_MS 900000
#define IMAGES_LISTED_MAX 1024
#define CONFIG_TEXT_MAX 4096

int
image_store_init(struct image_store *store, const struct policy *policy,
                 struct error *err)
{
    char path[192];

    store->policy = policy;
    if (pthread_mutex_init(&store->lock, NULL) != 0)
        return error_set(err, ERROR_INTERNAL, "mutex");
    (void)snprintf(path, sizeof(path), "%s/images", policy->state_dir);
    return file_make_directory(path, 0711, err);
}

void
image_store_release(struct image_store *store)
{
    (void)pthread_mutex_destroy(&store->lock);
}

/* Copies a list of strings of the image's configuration, bounded. */
static size_t
copy_texts(struct arena *arena, const json_t *list, const char **out,
           size_t room, size_t at)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i,
                       item) if (at < room && json_is_string(item) &&
                                 json_string_length(item) <= CONFIG_TEXT_MAX &&
                                 strlen(json_string_value(item)) ==
                                     json_string_length(item)) out[at++] =
        arena_strdup(arena, json_string_value(item));
    return at;
}

/* "1000", "1000:1000"; names would need the image's passwd file, which is
 * not read as root, so they count as 0. */
static void
parse_user(const char *text, struct image *image)
{
    char *end;
    long long uid = strtoll(text, &end, 10);
    long long gid = 0;

    if (end == text || (*end != '\0' && *end != ':') || uid < 0 ||
        uid >= RUNNER_UIDS)
        return;
    if (*end == ':')
        gid = strtoll(end + 1, &end, 10);
    image->uid = uid;
    image->gid = *end == '\0' && gid >= 0 && gid < RUNNER_UIDS ? gid : 0;
}

/* What a container of this image runs when a start does not say. */
static void
take_config(struct arena *arena, const json_t *object, struct image *image)
{
    const json_t *config = json_object_get(object, "config");
    const char *cwd = json_string_value(json_object_get(config, "WorkingDir"));
    const char *user = json_string_value(json_object_get(config, "User"));

    image->argc = copy_texts(arena, json_object_get(config, "Entrypoint"),
                             image->argv, RUNNER_ARGV_MAX, 0);
    image->argc = copy_texts(arena, json_object_get(config, "Cmd"), image->argv,
                             RUNNER_ARGV_MAX, image->argc);
    image->env_count = copy_texts(arena, json_object_get(config, "Env"),
                                  image->env, RUNNER_ENV_MAX, 0);
    image->cwd = "/";
    if (cwd != NULL && cwd[0] == '/' && strlen(cwd) < CONFIG_TEXT_MAX)
        image->cwd = arena_strdup(arena, cwd);
    if (user != NULL)
        parse_user(user, image);
}

static int
open_layer(const struct layout *layout, const json_t *item,
           struct unpack_layer *layer, struct error *err)
{
    const char *digest = NULL;
    const char *type = NULL;

    if (json_text(item, "digest", true, 71, &digest, err) != 0 ||
        json_text(item, "mediaType", true, 128, &type, err) != 0)
        return error_prefix(err, "a layer");
    if (strstr(type, "+gzip") != NULL || strstr(type, ".gzip") != NULL)
        layer->gzip = true;
    else if (strcmp(type, "application/vnd.oci.image.layer.v1.tar") != 0)
        return error_set(err, ERROR_UNSUPPORTED,
                         "a layer has the media type %.100s", type);
    (void)snprintf(layer->digest, sizeof(layer->digest), "%s", digest);
    return layout_blob_open(layout, digest, &layer->blob, err);
}

static int
unpack_open(struct image_store *store, const struct layout *layout,
            const json_t *manifest, int root_fd, struct image *image,
            struct error *err)
{
    const struct policy *policy = store->policy;
    const json_t *list = json_object_get(manifest, "layers");
    struct unpack_counts limits = {
        .bytes = policy->image_mib_max * 1048576,
        .entries = policy->image_entries_max,
    };
    struct unpack_layer *layers =
        memory_new(UNPACK_LAYERS_MAX, sizeof(*layers));
    struct unpack_counts counts = { 0 };
    size_t count = 0;
    int result = 0;
    json_t *item;
    size_t i;

    if (json_array_size(list) == 0 || json_array_size(list) > UNPACK_LAYERS_MAX)
        result = error_set(err, ERROR_INVALID, "an image has 1 to %d layers",
                           UNPACK_LAYERS_MAX);
    else
        json_array_foreach(list, i, item)
        {
            if (open_layer(layout, item, &layers[i], err) != 0) {
                result = -1;
                break;
            }
            count++;
        }
    if (result == 0)
        result = unpack_run(root_fd, layers, count, policy->disk_uid_base,
                            &limits, UNPACK_TIMEOUT_MS, &counts, err);
    for (i = 0; i < count; i++)
        (void)close(layers[i].blob.fd);
    free(layers);
    if (result != 0)
        return -1;
    image->bytes = counts.bytes;
    image->entries = counts.entries;
    image->skipped = counts.skipped;
    return 0;
}

static int
write_facts(const struct policy *policy, const char *place,
            const json_t *config, const struct image *image, struct error *err)
{
    scoped_json facts = json_pack(
        "{s:I, s:I, s:I, s:I, s:O}", "disk_uid_base",
        (json_int_t)policy->disk_uid_base, "size_bytes",
        (json_int_t)image->bytes, "entries", (json_int_t)image->entries,
        "skipped", (json_int_t)image->skipped, "config", config);
    scoped_buffer bytes = { 0 };
    char path[256];

    json_write(&bytes, facts);
    (void)snprintf(path, sizeof(path), "%.200s/image.json", place);
    return file_write(path, bytes.bytes, bytes.size, 0600, err);
}

static int
make_root(struct image_store *store, const char *place, struct error *err)
{
    uid_t owner = (uid_t)store->policy->disk_uid_base;
    char path[256];
    int fd;

    (void)snprintf(path, sizeof(path), "%.200s/root", place);
    if (file_make_directory(path, 0711, err) != 0)
        return -1;
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fchmod(fd, 0755) != 0 || fchown(fd, owner, owner) != 0) {
        if (fd >= 0)
            (void)close(fd);
        return error_set(err, ERROR_INTERNAL, "make the image's root: %s",
                         strerror(errno));
    }
    return fd;
}

/* Into place, which is renamed by the caller when all went well. */
static int
unpack_into(struct image_store *store, struct arena *arena,
            const struct runner_image *wanted, const char *place,
            struct image *image, struct error *err)
{
    scoped_layout layout = { .directory_fd = -1, .archive_fd = -1 };
    scoped_json manifest = NULL;
    scoped_json config = NULL;
    scoped_fd root_fd = -1;
    const char *digest;

    if (layout_open(arena, store->policy->image_dir, wanted->name, &layout,
                    err) != 0)
        return -1;
    manifest = layout_json(&layout, wanted->digest, err);
    if (manifest == NULL)
        return -1;
    digest = json_string_value(
        json_object_get(json_object_get(manifest, "config"), "digest"));
    if (digest == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the digest is not of an image manifest");
    config = layout_json(&layout, digest, err);
    if (config == NULL)
        return -1;
    root_fd = make_root(store, place, err);
    if (root_fd < 0 ||
        unpack_open(store, &layout, manifest, root_fd, image, err) != 0)
        return -1;
    take_config(arena, config, image);
    return write_facts(store->policy, place, config, image, err);
}

/* An image whose files have other owners than the policy's is none. */
static int
read_cached(const struct policy *policy, struct arena *arena, const char *place,
            struct image *image)
{
    struct error ignored = { 0 };
    scoped_buffer bytes = { 0 };
    scoped_json facts = NULL;
    char path[256];

    (void)snprintf(path, sizeof(path), "%.200s/image.json", place);
    if (file_read(path, JSON_SIZE_MAX, &bytes, &ignored) != 0)
        return -1;
    facts = json_read(bytes.bytes, bytes.size, &ignored);
    if (facts == NULL || json_integer_value(json_object_get(
                             facts, "disk_uid_base")) != policy->disk_uid_base)
        return -1;
    image->bytes = json_integer_value(json_object_get(facts, "size_bytes"));
    image->entries = json_integer_value(json_object_get(facts, "entries"));
    image->skipped = json_integer_value(json_object_get(facts, "skipped"));
    image->cached = true;
    take_config(arena, json_object_get(facts, "config"), image);
    return 0;
}

static int
prepare_locked(struct image_store *store, struct arena *arena,
               const struct runner_image *wanted, const char *place,
               struct image *image, struct error *err)
{
    char temporary[192];

    if (read_cached(store->policy, arena, place, image) == 0)
        return 0;
    (void)snprintf(temporary, sizeof(temporary), "%s/images/unpacking",
                   store->policy->state_dir);
    remove_all(temporary);
    if (file_make_directory(temporary, 0711, err) != 0 ||
        unpack_into(store, arena, wanted, temporary, image, err) != 0) {
        remove_all(temporary);
        return -1;
    }
    remove_all(place);
    if (rename(temporary, place) != 0)
        return error_set(err, ERROR_INTERNAL, "keep the image: %s",
                         strerror(errno));
    return 0;
}

/* A digest pins content, not a name: the name must be there and list it. */
static int
check_listed(struct image_store *store, struct arena *arena,
             const struct runner_image *wanted, struct error *err)
{
    scoped_layout layout = { .directory_fd = -1, .archive_fd = -1 };
    scoped_json index = NULL;
    json_t *item;
    size_t i;

    if (layout_open(arena, store->policy->image_dir, wanted->name, &layout,
                    err) != 0)
        return -1;
    index = layout_index(&layout, err);
    if (index == NULL)
        return -1;
    json_array_foreach(json_object_get(index, "manifests"), i, item)
    {
        const char *digest = json_string_value(json_object_get(item, "digest"));

        if (digest != NULL && strcmp(digest, wanted->digest) == 0)
            return 0;
    }
    return error_set(err, ERROR_NOT_FOUND,
                     "image \"%s\" has no manifest with that digest",
                     wanted->name);
}

int
image_prepare(struct image_store *store, struct arena *arena,
              const struct runner_image *wanted, struct image *image_out,
              struct error *err)
{
    struct image *image = arena_alloc(arena, sizeof(*image));
    char place[160];
    int result;

    if (!policy_allows_image(store->policy, wanted->digest))
        return error_set(err, ERROR_DENIED,
                         "the node's policy does not allow this image");
    if (check_listed(store, arena, wanted, err) != 0)
        return -1;
    (void)snprintf(place, sizeof(place), "%.80s/images/%.64s",
                   store->policy->state_dir, wanted->digest + 7);
    (void)pthread_mutex_lock(&store->lock);
    result = prepare_locked(store, arena, wanted, place, image, err);
    (void)pthread_mutex_unlock(&store->lock);
    if (result != 0)
        return -1;
    (void)snprintf(image->root, sizeof(image->root), "%s/root", place);
    *image_out = *image;
    return 0;
}

static json_t *
row_of(struct image_store *store, struct arena *arena,
       const struct layout *layout, const char *name, const char *digest)
{
    struct error ignored = { 0 };
    struct image *image = arena_alloc(arena, sizeof(*image));
    scoped_json manifest = layout_json(layout, digest, &ignored);
    scoped_json config = NULL;
    const char *config_digest = json_string_value(
        json_object_get(json_object_get(manifest, "config"), "digest"));
    json_t *argv = json_array();
    int64_t size = 0;
    char place[192];
    json_t *item;
    size_t i;

    if (config_digest != NULL)
        config = layout_json(layout, config_digest, &ignored);
    json_array_foreach(json_object_get(manifest, "layers"), i, item) size +=
        json_integer_value(json_object_get(item, "size"));
    take_config(arena, config, image);
    for (i = 0; i < image->argc; i++)
        (void)json_array_append_new(argv, json_string(image->argv[i]));
    (void)snprintf(place, sizeof(place), "%.80s/images/%.64s/image.json",
                   store->policy->state_dir, digest + 7);
    return json_pack("{s:s, s:s, s:I, s:b, s:o}", "name", name, "digest",
                     digest, "size_bytes", (json_int_t)size, "prepared",
                     access(place, F_OK) == 0, "argv", argv);
}

static void
list_layout(struct image_store *store, struct arena *arena, const char *name,
            json_t *rows)
{
    scoped_layout layout = { .directory_fd = -1, .archive_fd = -1 };
    struct error ignored = { 0 };
    scoped_json index = NULL;
    json_t *item;
    size_t i;

    if (layout_open(arena, store->policy->image_dir, name, &layout, &ignored) !=
        0)
        return;
    index = layout_index(&layout, &ignored);
    json_array_foreach(json_object_get(index, "manifests"), i, item)
    {
        const char *digest = json_string_value(json_object_get(item, "digest"));

        if (digest != NULL && strlen(digest) == 71 &&
            json_array_size(rows) < IMAGES_LISTED_MAX)
            (void)json_array_append_new(
                rows, row_of(store, arena, &layout, name, digest));
    }
}

/* "name" of a directory "name" or a file "name.tar"; false when it is none. */
static bool
take_name(const char *entry, char name[RUNNER_LABEL_MAX + 8])
{
    size_t size;

    (void)snprintf(name, RUNNER_LABEL_MAX + 8, "%.68s", entry);
    size = strlen(name);
    if (size > 4 && strcmp(name + size - 4, ".tar") == 0)
        name[size - 4] = '\0';
    return runner_check_label(name, "_-.");
}

static int
compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

json_t *
image_names(const struct image_store *store)
{
    char (*names)[RUNNER_LABEL_MAX + 8] =
        memory_new(IMAGES_LISTED_MAX, sizeof(*names));
    DIR *directory = opendir(store->policy->image_dir);
    const struct dirent *entry;
    json_t *list = json_array();
    size_t count = 0, bytes = 0;

    while (directory != NULL && count < IMAGES_LISTED_MAX &&
           (entry = readdir(directory)) != NULL)
        if (take_name(entry->d_name, names[count]))
            bytes += strlen(names[count++]) + 3;
    if (directory != NULL)
        (void)closedir(directory);
    qsort(names, count, sizeof(*names), compare_names);
    for (size_t i = 0; i < count; i++)
        (void)json_array_append_new(list, json_string(names[i]));
    free(names);
    if (directory != NULL && bytes <= IMAGE_NAMES_MAX)
        return list;
    json_decref(list);
    return NULL;
}

json_t *
image_list(struct image_store *store, struct arena *arena)
{
    json_t *rows = json_array();
    DIR *directory = opendir(store->policy->image_dir);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL) {
        char name[RUNNER_LABEL_MAX + 8];

        if (take_name(entry->d_name, name))
            list_layout(store, arena, name, rows);
    }
    if (directory != NULL)
        (void)closedir(directory);
    return rows;
}
