/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/baseline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "engine/part.h"
#include "runner/node.h"

#define PATH_ROOM 320
#define FILE_MAX ((size_t)65536)

static void
path_of(const struct node *node, const char *part, char path[PATH_ROOM])
{
    (void)snprintf(path, PATH_ROOM, "%s/handover/%.*s.json",
                   node->policy->state_dir, (int)part_uuid_size(part), part);
}

/* A file that is not there is an empty one; one that cannot be read is not. */
static int
load(const struct node *node, const char *part, json_t **out, struct error *err)
{
    scoped_buffer bytes = { 0 };
    char path[PATH_ROOM];

    path_of(node, part, path);
    *out = NULL;
    if (access(path, F_OK) != 0) {
        *out = json_pack("{s:{}}", "held");
        return 0;
    }
    if (file_read(path, FILE_MAX, &bytes, err) == 0)
        *out = json_read(bytes.bytes, bytes.size, err);
    if (json_is_object(*out) &&
        json_is_object(json_object_get(*out, "held")))
        return 0;
    json_decref(*out);
    *out = NULL;
    return error_set(err, ERROR_INTERNAL,
                     "what is kept of card %.64s is not understood", part);
}

static int
save(const struct node *node, const char *part, const json_t *object,
     struct error *err)
{
    scoped_buffer bytes = { 0 };
    char path[PATH_ROOM];

    json_write(&bytes, object);
    path_of(node, part, path);
    return file_write(path, bytes.bytes, bytes.size, 0600, err);
}

/* --- the base line --- */

static bool
is_of_now(const json_t *object, const struct accel_card *card)
{
    const char *boot = json_string_value(json_object_get(object, "boot"));
    const char *driver = json_string_value(json_object_get(object, "driver"));

    return json_is_integer(json_object_get(object, "base_mib")) &&
           boot != NULL && strcmp(boot, clock_boot_id()) == 0 &&
           driver != NULL && strcmp(driver, card->driver) == 0;
}

static void
read_base(const json_t *object, struct baseline *out)
{
    const char *how = json_string_value(json_object_get(object, "base_how"));

    *out = (struct baseline){
        .mib = json_integer_value(json_object_get(object, "base_mib")),
        .at_ms = json_integer_value(json_object_get(object, "base_ms")),
    };
    (void)snprintf(out->how, sizeof(out->how), "%.31s", how != NULL ? how : "");
}

static int
measure(struct node *node, json_t *object, const struct accel_card *card,
        int64_t used_mib, const char *how, struct error *err)
{
    if (used_mib > card->memory_mib / BASELINE_PART + BASELINE_SLACK_MIB)
        return error_set(err, ERROR_VERIFY,
                         "%" PRId64 " MiB are in use and nobody is on the card",
                         used_mib);
    (void)json_object_set_new(object, "base_mib", json_integer(used_mib));
    (void)json_object_set_new(object, "base_ms", json_integer(clock_wall_ms()));
    (void)json_object_set_new(object, "base_how", json_string(how));
    (void)json_object_set_new(object, "boot", json_string(clock_boot_id()));
    (void)json_object_set_new(object, "driver", json_string(card->driver));
    return save(node, card->uuid, object, err);
}

static int
get(struct node *node, const struct accel_card *card, int64_t used_mib,
    bool anew, struct baseline *out, struct error *err)
{
    scoped_json object = NULL;
    int result = 0;

    (void)pthread_mutex_lock(&node->baseline_lock);
    result = load(node, card->uuid, &object, err);
    if (result == 0 && (anew || !is_of_now(object, card)))
        result = measure(node, object, card, used_mib,
                         anew ? "after a reset" : "at first sight", err);
    (void)pthread_mutex_unlock(&node->baseline_lock);
    if (result == 0)
        read_base(object, out);
    return result;
}

int
baseline_get(struct node *node, const struct accel_card *card, int64_t used_mib,
             struct baseline *out, struct error *err)
{
    return get(node, card, used_mib, false, out, err);
}

int
baseline_after_reset(struct node *node, const struct accel_card *card,
                     int64_t used_mib, struct baseline *out, struct error *err)
{
    return get(node, card, used_mib, true, out, err);
}

/* --- who had it --- */

static const char *
slice_of(const char *part)
{
    return part_is_slice(part) ? part_slice(part) : "";
}

int
baseline_hold(struct node *node, const char *part, int64_t tenant,
              struct error *err)
{
    scoped_json object = NULL;
    const char *slice = slice_of(part);
    json_t *held;
    int result;

    (void)pthread_mutex_lock(&node->baseline_lock);
    result = load(node, part, &object, err);
    held = json_object_get(object, "held");
    if (result == 0 &&
        json_integer_value(json_object_get(held, slice)) != tenant) {
        (void)json_object_set_new(held, slice, json_integer(tenant));
        result = save(node, part, object, err);
    }
    (void)pthread_mutex_unlock(&node->baseline_lock);
    return result;
}

int
baseline_taint(struct node *node, const char *part, struct error *err)
{
    return baseline_hold(node, part, -1, err);
}

int
baseline_clear(struct node *node, const char *part, struct error *err)
{
    scoped_json object = NULL;
    const char *slice = slice_of(part);
    json_t *held;
    int result;

    (void)pthread_mutex_lock(&node->baseline_lock);
    result = load(node, part, &object, err);
    held = json_object_get(object, "held");
    if (result == 0 && slice[0] != '\0')
        (void)json_object_del(held, slice);
    else if (result == 0)
        (void)json_object_clear(held);
    if (result == 0)
        result = save(node, part, object, err);
    (void)pthread_mutex_unlock(&node->baseline_lock);
    return result;
}

/* Whoever had all of it had each slice; a whole card is all its slices. */
static bool
touches(const char *held, const char *wanted)
{
    return held[0] == '\0' || wanted[0] == '\0' || strcmp(held, wanted) == 0;
}

int64_t
baseline_holder(struct node *node, const char *part, int64_t tenant)
{
    scoped_json object = NULL;
    struct error err = { 0 };
    int64_t found = 0;
    const char *slice;
    json_t *value;

    (void)pthread_mutex_lock(&node->baseline_lock);
    /* What cannot be read may be anybody's. */
    if (load(node, part, &object, &err) != 0)
        found = -1;
    (void)pthread_mutex_unlock(&node->baseline_lock);
    json_object_foreach(json_object_get(object, "held"), slice, value)
    {
        int64_t who = json_integer_value(value);

        if (touches(slice, slice_of(part)) && (found == 0 || who != tenant))
            found = who;
    }
    return found;
}
