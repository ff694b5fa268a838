/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"

#include <string.h>

#include "cli/document.h"
#include "cli/fields.h"

/* --- one field --- */

static bool
read_count(const char *text, size_t size, int64_t *out)
{
    int64_t number = 0;

    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9' || number > 100000)
            return false;
        number = number * 10 + (text[i] - '0');
    }
    *out = number;
    return size > 0;
}

/* Alternatives, best first. */
int
job_class(const char *text, json_t *body)
{
    json_t *list;

    (void)json_object_del(body, "class");
    (void)json_object_del(body, "classes");
    if (strchr(text, ',') == NULL)
        return json_object_set_new(body, "class", json_string(text));
    list = json_array();
    for (const char *at = text; at != NULL;) {
        size_t size = strcspn(at, ",");

        (void)json_array_append_new(list, json_stringn(at, size));
        at = at[size] == ',' ? at + size + 1 : NULL;
    }
    return json_object_set_new(body, "classes", list);
}

int
job_instances(const char *text, json_t *body, struct error *err)
{
    const char *dots = strstr(text, "..");
    size_t size = dots != NULL ? (size_t)(dots - text) : strlen(text);
    int64_t least, most = 0;

    if (!read_count(text, size, &least) ||
        (dots != NULL && !read_count(dots + 2, strlen(dots + 2), &most))) {
        (void)error_set(err, ERROR_INVALID,
                        "instances is \"%.40s\", must be N or LEAST..MOST",
                        text);
        return error_help(err, "4, or 2..6 for a gang that grows");
    }
    (void)json_object_set_new(body, "instances", json_integer(least));
    if (dots != NULL)
        (void)json_object_set_new(body, "instances_max", json_integer(most));
    return 0;
}

/* The server knows the words. */
int
job_topology(const char *text, json_t *spec)
{
    size_t size = strcspn(text, ":");
    json_t *topology = json_object();

    (void)json_object_set_new(topology, "level", json_stringn(text, size));
    if (text[size] == ':')
        (void)json_object_set_new(topology, "mode",
                                  json_string(text + size + 1));
    return json_object_set_new(spec, "topology", topology);
}

int
job_spread(const char *text, json_t *spec)
{
    size_t size = strcspn(text, ":");
    json_t *spread = json_object();
    int64_t most;

    (void)json_object_set_new(spread, "level", json_stringn(text, size));
    text += size + (text[size] == ':');
    size = strcspn(text, ":");
    if (read_count(text, size, &most)) {
        (void)json_object_set_new(spread, "most", json_integer(most));
        text += size + (text[size] == ':');
    }
    if (text[0] != '\0')
        (void)json_object_set_new(spread, "mode", json_string(text));
    return json_object_set_new(spec, "spread", spread);
}

/* The server knows the facts, too. */
int
job_requires(const char *text, json_t *spec, struct error *err)
{
    json_t *requires = json_object_get(spec, "requires"), *bounds;
    size_t size = strcspn(text, "=");
    const char *value = text + size + (text[size] == '=');
    const char *below = strstr(value, "..");

    if (size == 0 || value[0] == '\0')
        return error_set(err, ERROR_INVALID,
                         "requires is \"%.60s\", must be FACT=TEXT or "
                         "FACT=LEAST..BELOW",
                         text);
    if (!json_is_object(requires)) {
        requires = json_object();
        (void)json_object_set_new(spec, "requires", requires);
    }
    if (below == NULL)
        return json_object_setn_new(requires, text, size, json_string(value));
    bounds = json_object();
    if (below > value)
        (void)json_object_set_new(
            bounds, "at_least", json_stringn(value, (size_t)(below - value)));
    if (below[2] != '\0')
        (void)json_object_set_new(bounds, "below", json_string(below + 2));
    return json_object_setn_new(requires, text, size, bounds);
}

int
job_volume(const char *text, json_t *volumes, struct error *err)
{
    size_t name = strcspn(text, ":");
    const char *path = text[name] == ':' ? text + name + 1 : "";
    size_t size = strcspn(path, ":");
    const char *mode = path[size] == ':' ? path + size + 1 : "";
    json_t *volume;

    if (name == 0 || size == 0 ||
        (mode[0] != '\0' && strcmp(mode, "ro") != 0))
        return error_set(err, ERROR_INVALID,
                         "volume is \"%.60s\", must be NAME:PATH or "
                         "NAME:PATH:ro",
                         text);
    volume = json_object();
    (void)json_object_set_new(volume, "volume", json_stringn(text, name));
    (void)json_object_set_new(volume, "path", json_stringn(path, size));
    (void)json_object_set_new(volume, "read_only",
                              json_boolean(mode[0] != '\0'));
    return json_array_append_new(volumes, volume);
}

/* --- one manifest --- */

static int
read_amounts(json_t *body, struct error *err)
{
    static const struct {
        const char *key, *field;
        int (*read)(const char *, int64_t *, struct error *);
    } list[] = {
        { "cpu", "cpu_milli", fields_milli },
        { "memory", "memory_mib", fields_mib },
        { "accel_memory", "min_accel_memory_mib", fields_mib },
        { "max_run", "max_run_ms", fields_duration },
        { "grace", "grace_ms", fields_duration },
    };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        const json_t *value = json_object_get(body, list[i].key);
        char number[DOCUMENT_NUMBER];
        int64_t amount;

        if (value == NULL)
            continue;
        if (json_object_get(body, list[i].field) != NULL)
            return error_set(err, ERROR_INVALID, "%s and %s are both given",
                             list[i].key, list[i].field);
        if (list[i].read(document_written(value, number), &amount, err) != 0)
            return error_prefix(err, "%s", list[i].key);
        (void)json_object_set_new(body, list[i].field, json_integer(amount));
        (void)json_object_del(body, list[i].key);
    }
    return 0;
}

/* The keys of a spec may stand beside the others. */
static int
gather_spec(json_t *body, struct error *err)
{
    static const char *const keys[] = { "command",    "env",      "volumes",
                                        "ports",      "checkpoint",
                                        "requires",   "workdir",  "topology",
                                        "spread",     "pinning" };
    json_t *spec = json_object_get(body, "spec");

    if (spec != NULL && !json_is_object(spec))
        return error_set(err, ERROR_INVALID, "spec is not an object");
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        json_t *value = json_object_get(body, keys[i]);

        if (value == NULL)
            continue;
        if (spec == NULL) {
            spec = json_object();
            (void)json_object_set_new(body, "spec", spec);
        }
        if (json_object_get(spec, keys[i]) != NULL)
            return error_set(err, ERROR_INVALID,
                             "%s is given beside spec and in it", keys[i]);
        (void)json_object_set(spec, keys[i], value);
        (void)json_object_del(body, keys[i]);
    }
    return 0;
}

static int
read_volumes(json_t *spec, struct error *err)
{
    json_t *given = json_object_get(spec, "volumes"), *volumes, *volume;
    size_t i;

    if (!json_is_array(given))
        return 0; /* the server says what is wrong with it */
    volumes = json_array();
    json_array_foreach(given, i, volume)
        if (!json_is_string(volume)) {
            (void)json_array_append(volumes, volume);
        } else if (job_volume(json_string_value(volume), volumes, err) != 0) {
            json_decref(volumes);
            return -1;
        }
    return json_object_set_new(spec, "volumes", volumes);
}

static int
read_spec(json_t *body, struct error *err)
{
    json_t *spec;
    const char *text;

    if (gather_spec(body, err) != 0)
        return -1;
    spec = json_object_get(body, "spec");
    if (spec == NULL)
        return 0;
    text = json_string_value(json_object_get(spec, "topology"));
    if (text != NULL)
        (void)job_topology(text, spec);
    text = json_string_value(json_object_get(spec, "spread"));
    if (text != NULL)
        (void)job_spread(text, spec);
    return read_volumes(spec, err);
}

static int
read_body(json_t *body, struct error *err)
{
    const json_t *class = json_object_get(body, "class");
    const char *instances =
        json_string_value(json_object_get(body, "instances"));

    if (json_is_array(class) && json_object_get(body, "classes") == NULL) {
        (void)json_object_set(body, "classes", (json_t *)(uintptr_t)class);
        (void)json_object_del(body, "class");
    } else if (json_is_string(class) &&
               strchr(json_string_value(class), ',') != NULL) {
        return error_set(err, ERROR_INVALID,
                         "class is \"%.60s\"; write alternatives as a list",
                         json_string_value(class));
    }
    if (instances != NULL && job_instances(instances, body, err) != 0)
        return -1;
    return read_amounts(body, err) != 0 || read_spec(body, err) != 0 ? -1 : 0;
}

int
job_read(const char *path, json_t **bodies_out, struct error *err)
{
    /* Versions, amounts and words for programs are what stands there. */
    static const char *const as_text[] = { "env",    "command", "requires",
                                           "cpu",    "memory",  "accel_memory",
                                           "max_run", "grace",  NULL };
    scoped_json documents = NULL;
    json_t *body;
    size_t i;

    if (document_read(path, as_text, &documents, err) != 0)
        return -1;
    if (json_array_size(documents) == 0)
        return error_set(err, ERROR_INVALID, "%s: holds no manifest", path);
    json_array_foreach(documents, i, body) {
        if (!json_is_object(body))
            (void)error_set(err, ERROR_INVALID,
                            "not a manifest: keys with values are needed");
        else if (read_body(body, err) == 0)
            continue;
        return json_array_size(documents) == 1
                   ? error_prefix(err, "%s", path)
                   : error_prefix(err, "%s: document %zu", path, i + 1);
    }
    *bodies_out = json_incref(documents);
    return 0;
}
