/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/document.h"

static const char *
text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text != NULL ? text : "";
}

static int64_t
count_of(const json_t *object, const char *key, int64_t absent)
{
    const json_t *value = json_object_get(object, key);

    return json_is_integer(value) ? json_integer_value(value) : absent;
}

/* Keys of an object that were not looked at get a note each. */
static void
note_others(const json_t *object, const char *where, const char *const *known,
            json_t *notes)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        bool found = false;

        for (size_t i = 0; known[i] != NULL; i++)
            found = found || strcmp(known[i], key) == 0;
        if (!found && !json_is_null(value))
            convert_note(notes, "%s.%.60s: no counterpart, left out", where,
                         key);
    }
}

/* --- quantities --- */

/* A quantity ("500m", "2", "1.5", "4Gi", "1e3") in thousandths; -1: not one
 * that is taken. */
static int64_t
thousandths(const char *text)
{
    static const struct {
        const char *suffix;
        int64_t factor; /* of 1/1000 */
    } list[] = {
        { "m", 1 },
        { "", 1000 },
        { "k", 1000LL * 1000 },
        { "M", 1000LL * 1000 * 1000 },
        { "G", 1000LL * 1000 * 1000 * 1000 },
        { "T", 1000LL * 1000 * 1000 * 1000 * 1000 },
        { "Ki", 1000LL << 10 },
        { "Mi", 1000LL << 20 },
        { "Gi", 1000LL << 30 },
        { "Ti", 1000LL << 40 },
    };
    size_t whole = strspn(text, "0123456789"), part = 0;
    const char *suffix = text + whole;
    int64_t number, fraction = 0;

    if (whole == 0 || whole > 9)
        return -1;
    number = strtoll(text, NULL, 10);
    if (*suffix == '.') {
        part = strspn(suffix + 1, "0123456789");
        if (part == 0 || part > 3)
            return -1;
        for (size_t i = 0; i < 3; i++)
            fraction = fraction * 10 +
                       (i < part ? suffix[1 + i] - '0' : 0);
        suffix += 1 + part;
    }
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(suffix, list[i].suffix) == 0) {
            int64_t factor = list[i].factor;

            if (number > INT64_MAX / 2 / factor)
                return -1;
            return number * factor + fraction * factor / 1000;
        }
    return -1;
}

static int
read_quantity(const char *name, const char *text, int64_t *out,
              struct error *err)
{
    *out = thousandths(text);
    if (*out < 0)
        return error_set(err, ERROR_INVALID, "%.60s is \"%.60s\": not a "
                         "quantity", name, text);
    return 0;
}

static bool
is_card(const char *resource)
{
    static const char *const list[] = { "nvidia.com/gpu", "amd.com/gpu",
                                        "gpu.intel.com/i915",
                                        "gpu.intel.com/xe",
                                        "huawei.com/Ascend910" };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strcmp(resource, list[i]) == 0)
            return true;
    return false;
}

/* Limits bind, so they come first; requests fill in. */
static int
read_resources(const json_t *container, json_t *manifest, json_t *notes,
               struct error *err)
{
    const json_t *resources = json_object_get(container, "resources");
    scoped_json all = json_object();
    const char *name;
    json_t *value;
    int64_t cards = 0, amount;
    char text[40];

    (void)json_object_update(all, json_object_get(resources, "requests"));
    (void)json_object_update(all, json_object_get(resources, "limits"));
    json_object_foreach(all, name, value) {
        char number[DOCUMENT_NUMBER];

        if (read_quantity(name, document_written(value, number), &amount,
                          err) != 0)
            return -1;
        if (strcmp(name, "cpu") == 0) {
            (void)json_object_set_new(manifest, "cpu_milli",
                                      json_integer(amount));
        } else if (strcmp(name, "memory") == 0) {
            (void)snprintf(text, sizeof(text), "%lldMiB",
                           (long long)((amount / 1000 + (1 << 20) - 1) >> 20));
            (void)json_object_set_new(manifest, "memory", json_string(text));
        } else if (is_card(name)) {
            cards += amount / 1000;
        } else {
            convert_note(notes, "resources: %.60s: no counterpart, left out",
                         name);
        }
    }
    convert_cards(manifest, cards, "", notes);
    return 0;
}

/* --- the container --- */

static void
read_env(const json_t *container, json_t *manifest, json_t *notes)
{
    const json_t *list = json_object_get(container, "env"), *one;
    json_t *env = json_object();
    size_t i;

    json_array_foreach(list, i, one) {
        const char *name = text_of(one, "name");

        if (json_is_string(json_object_get(one, "value")))
            (void)json_object_set_new(env, name,
                                      json_string(text_of(one, "value")));
        else
            convert_note(notes, "env %.60s comes from elsewhere: left out; "
                                "secrets do not belong into the environment",
                         name);
    }
    if (json_object_size(env) > 0)
        (void)json_object_set(manifest, "env", env);
    json_decref(env);
}

static void
read_command(const json_t *container, json_t *manifest, json_t *notes)
{
    json_t *command = json_array();

    (void)json_array_extend(command, json_object_get(container, "command"));
    (void)json_array_extend(command, json_object_get(container, "args"));
    if (!json_is_array(json_object_get(container, "command"))) {
        convert_note(notes, "command: the image's own entry point is not "
                            "used here; name the program first");
        (void)json_array_insert_new(command, 0, json_string(CONVERT_DECIDE));
    }
    (void)json_object_set_new(manifest, "command", command);
}

static const json_t *
volume_of(const json_t *pod, const char *name)
{
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(pod, "volumes"), i, one)
        if (strcmp(text_of(one, "name"), name) == 0)
            return one;
    return NULL;
}

static void
read_volumes(const json_t *pod, const json_t *container, json_t *manifest,
             json_t *notes)
{
    json_t *volumes = json_array();
    const json_t *mount;
    size_t i;

    json_array_foreach(json_object_get(container, "volumeMounts"), i, mount) {
        const char *name = text_of(mount, "name");
        const char *path = text_of(mount, "mountPath");
        const char *claim =
            text_of(json_object_get(volume_of(pod, name),
                                    "persistentVolumeClaim"),
                    "claimName");
        char text[300];

        if (claim[0] == '\0') {
            convert_note(notes,
                         "volume %.60s at %.100s is no claim: left out", name,
                         path);
            continue;
        }
        (void)snprintf(text, sizeof(text), "%.60s:%.200s%s", claim, path,
                       json_is_true(json_object_get(mount, "readOnly"))
                           ? ":ro"
                           : "");
        (void)json_array_append_new(volumes, json_string(text));
        convert_note(notes, "volume %.60s has to be made: `bulkhead create "
                            "volume %.60s`",
                     claim, claim);
    }
    if (json_array_size(volumes) > 0)
        (void)json_object_set(manifest, "volumes", volumes);
    json_decref(volumes);
}

static void
read_ports(const json_t *container, json_t *manifest)
{
    json_t *ports = json_array();
    const json_t *one;
    size_t i;

    json_array_foreach(json_object_get(container, "ports"), i, one) {
        char name[24];
        int64_t port = count_of(one, "containerPort", 0);

        (void)snprintf(name, sizeof(name), "port-%lld", (long long)port);
        (void)json_array_append_new(
            ports, json_pack("{s:s, s:I}", "name",
                             text_of(one, "name")[0] != '\0'
                                 ? text_of(one, "name")
                                 : name,
                             "port", (json_int_t)port));
    }
    if (json_array_size(ports) > 0)
        (void)json_object_set(manifest, "ports", ports);
    json_decref(ports);
}

static int
read_container(const json_t *pod, const json_t *container, json_t *manifest,
               json_t *notes, struct error *err)
{
    static const char *const known[] = {
        "name", "image", "command", "args", "env", "resources", "ports",
        "volumeMounts", "workingDir", "imagePullPolicy", NULL
    };

    (void)json_object_set_new(manifest, "image",
                              json_string(text_of(container, "image")));
    if (read_resources(container, manifest, notes, err) != 0)
        return -1;
    read_command(container, manifest, notes);
    read_env(container, manifest, notes);
    read_volumes(pod, container, manifest, notes);
    read_ports(container, manifest);
    if (text_of(container, "workingDir")[0] != '\0')
        (void)json_object_set_new(
            manifest, "workdir",
            json_string(text_of(container, "workingDir")));
    note_others(container, "container", known, notes);
    return 0;
}

/* --- pod and job --- */

static int
read_pod(const json_t *pod, json_t *manifest, json_t *notes, struct error *err)
{
    static const char *const known[] = {
        "containers", "volumes", "restartPolicy", "priorityClassName",
        "terminationGracePeriodSeconds", "activeDeadlineSeconds", NULL
    };
    const json_t *containers = json_object_get(pod, "containers");

    if (json_array_size(containers) == 0)
        return error_set(err, ERROR_INVALID, "it has no container");
    if (json_array_size(containers) > 1)
        convert_note(notes, "%zu containers: only the first is kept, an "
                            "instance is one container",
                     json_array_size(containers));
    if (read_container(pod, json_array_get(containers, 0), manifest, notes,
                       err) != 0)
        return -1;
    if (text_of(pod, "priorityClassName")[0] != '\0')
        convert_note(notes, "priorityClassName %.60s: `bulkhead get "
                            "priorities` lists those here",
                     text_of(pod, "priorityClassName"));
    convert_time(manifest, "grace",
                 count_of(pod, "terminationGracePeriodSeconds", 0));
    convert_time(manifest, "max_run",
                 count_of(pod, "activeDeadlineSeconds", 0));
    note_others(pod, "spec", known, notes);
    return 0;
}

static int
read_job(const json_t *spec, json_t *manifest, json_t *notes,
         struct error *err)
{
    static const char *const known[] = {
        "template", "parallelism", "completions", "backoffLimit",
        "activeDeadlineSeconds", "completionMode", "suspend",
        "ttlSecondsAfterFinished", NULL
    };
    const json_t *pod =
        json_object_get(json_object_get(spec, "template"), "spec");
    int64_t parallel = count_of(spec, "parallelism", 1);
    int64_t completions = count_of(spec, "completions", parallel);

    if (read_pod(pod, manifest, notes, err) != 0)
        return -1;
    if (parallel > 1)
        (void)json_object_set_new(manifest, "instances",
                                  json_integer(parallel));
    if (completions != parallel)
        convert_note(notes, "completions %lld beside parallelism %lld: here "
                            "all instances start together and end once",
                     (long long)completions, (long long)parallel);
    /* Kubernetes starts again six times unless told. */
    (void)json_object_set_new(
        manifest, "restarts", json_integer(count_of(spec, "backoffLimit", 6)));
    convert_time(manifest, "max_run",
                 count_of(spec, "activeDeadlineSeconds", 0));
    if (json_is_true(json_object_get(spec, "suspend")))
        convert_note(notes, "suspend: `bulkhead hold NAME` after submitting");
    note_others(spec, "spec", known, notes);
    return 0;
}

int
convert_kubernetes(const json_t *object, json_t **manifest_out, json_t *notes,
                   struct error *err)
{
    const char *kind = text_of(object, "kind");
    const json_t *spec = json_object_get(object, "spec");
    const json_t *head = json_object_get(object, "metadata");
    scoped_json manifest = json_object();
    int result;

    convert_name(manifest,
                 text_of(head, "name")[0] != '\0'
                     ? text_of(head, "name")
                     : text_of(head, "generateName"),
                 notes);
    if (strcmp(kind, "Job") == 0)
        result = read_job(spec, manifest, notes, err);
    else if (strcmp(kind, "Pod") == 0)
        result = read_pod(spec, manifest, notes, err);
    else
        return error_set(err, ERROR_INVALID,
                         "kind is \"%.60s\", must be Job or Pod", kind);
    if (result != 0)
        return -1;
    if (text_of(head, "namespace")[0] != '\0')
        convert_note(notes, "namespace %.60s: name tenant and project when "
                            "submitting, -t and -p",
                     text_of(head, "namespace"));
    *manifest_out = json_incref(manifest);
    return 0;
}
