/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "api/handlers.h"
#include "api/objects.h"
#include "api/state.h"
#include "control/restore.h"
#include "core/orphan.h"
#include "store/backup.h"

const struct body_field review_body[] = {
    {"kind", BODY_TEXT, true, "\"keys\" or \"sessions\""},
    {"action", BODY_TEXT, true, "\"release\" or \"revoke\""},
    {"id", BODY_TEXT, false, "of one; none: all that are held"},
    {NULL, BODY_TEXT, false, NULL},
};
const struct body_field orphan_body[] = {
    {"instance", BODY_TEXT, true, "id of the instance, as its node says"},
    {NULL, BODY_TEXT, false, NULL},
};

/* --- making a backup --- */

int
backup_read(const struct granted *granted, struct exchange *exchange,
            struct error *err)
{
    (void)granted;
    if (exchange->api->options.store_path == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "this server's store has no backups");
    return 0;
}

/* On a reader thread, into a file without a name: whatever happens, nothing
 * is left of it. */
int
backup_make(struct exchange *exchange, struct store_reader *reader,
            struct error *err)
{
    const struct api_options *options = &exchange->api->options;
    const struct backup_source source = {
        .ops = options->store_ops,
        .store = options->store_path,
        .audit = options->audit_path,
        .version = options->version,
        .now_ms = exchange->now_ms,
    };
    struct backup_info info;
    int fd;

    (void)reader;
    fd = open(options->store_path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "backup: %s", strerror(errno));
    if (backup_write(&source, fd, &info, err) != 0) {
        (void)close(fd);
        return -1;
    }
    exchange->answer.status = 200;
    exchange->answer.type = "application/octet-stream";
    exchange->answer.file = fd;
    return 0;
}

/* --- what a restore left --- */

static json_t *
describe_held(const struct world *world, enum kind kind)
{
    json_t *list = json_array();

    world_each(world, kind, ref) {
        const struct apikey *key = world_apikey(world, ref);
        const struct session *session = world_session(world, ref);
        int64_t held_ms = key != NULL ? key->held_ms : session->held_ms;
        const struct object *object = world_object(world, ref);
        const struct object *owner = world_object(world, object->parent);
        char id[ID_TEXT_MAX], owner_id[ID_TEXT_MAX];

        if (held_ms == 0)
            continue;
        object_id_text(world, ref, id);
        object_id_text(world, object->parent, owner_id);
        (void)json_array_append_new(
            list,
            json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "id", id,
                      "name", object->name, "owner", owner_id, "owner_name",
                      owner != NULL ? owner->name : "", "created",
                      json_time(object->created_ms), "expires_ms",
                      json_time(key != NULL ? key->expires_ms
                                            : session->expires_ms),
                      "held_ms", json_time(held_ms)));
    }
    return list;
}

static json_t *
describe_orphans(const struct world *world)
{
    json_t *all = json_array();

    world_each(world, KIND_NODE, ref) {
        const struct node *node = world_node(world, ref);
        scoped_json list = orphan_list(node);

        for (size_t i = 0; i < json_array_size(list); i++) {
            json_t *item = json_deep_copy(json_array_get(list, i));

            (void)json_object_set_new(item, "node",
                                      json_string(node->object.name));
            (void)json_array_append_new(all, item);
        }
    }
    return all;
}

int
restore_read(const struct granted *granted, struct exchange *exchange,
             struct error *err)
{
    const struct world *world = granted_world(granted);
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    (void)err;
    answer_json(&exchange->answer, 200,
                json_pack("{s:o, s:b, s:o, s:o, s:o}", "restored_ms",
                          json_time(platform->restored_ms), "observing",
                          (int)platform->observing, "keys",
                          describe_held(world, KIND_APIKEY), "sessions",
                          describe_held(world, KIND_SESSION), "orphans",
                          describe_orphans(world)));
    return 0;
}

/* --- decisions --- */

int
restore_end(const struct granted *granted, struct changes *changes,
            struct exchange *exchange, struct error *err)
{
    (void)granted;
    (void)exchange;
    return restore_confirm(changes, err);
}

void
restore_ended(const struct granted *granted, const struct changes *changes,
              struct exchange *exchange)
{
    (void)granted;
    (void)changes;
    answer_json(&exchange->answer, 200, json_pack("{s:b}", "observing", 0));
}

static const char *
word(const struct exchange *exchange, const char *member)
{
    const char *text =
        json_string_value(json_object_get(exchange->body, member));

    return text != NULL ? text : "";
}

int
restore_decide(const struct granted *granted, struct changes *changes,
               struct exchange *exchange, struct error *err)
{
    bool keys = strcmp(word(exchange, "kind"), "keys") == 0;
    bool revoke = strcmp(word(exchange, "action"), "revoke") == 0;
    const char *id = word(exchange, "id");
    int64_t *count = arena_alloc(exchange->arena, sizeof *count);

    (void)granted;
    if (!keys && strcmp(word(exchange, "kind"), "sessions") != 0)
        return error_field(err, "/kind",
                           "\"%.40s\" is not \"keys\" or \"sessions\"",
                           word(exchange, "kind"));
    if (!revoke && strcmp(word(exchange, "action"), "release") != 0)
        return error_field(err, "/action",
                           "\"%.40s\" is not \"release\" or \"revoke\"",
                           word(exchange, "action"));
    *count = restore_review(changes, keys ? KIND_APIKEY : KIND_SESSION,
                            id[0] != '\0' ? id : NULL, revoke, err);
    exchange->data = count;
    return *count < 0 ? -1 : 0;
}

void
restore_decided(const struct granted *granted, const struct changes *changes,
                struct exchange *exchange)
{
    const int64_t *count = exchange->data;

    (void)granted;
    (void)changes;
    answer_json(&exchange->answer, 200,
                json_pack("{s:I}", "count", (json_int_t)*count));
}

int
restore_stop(const struct granted *granted, struct changes *changes,
             struct exchange *exchange, struct error *err)
{
    return orphan_stop(changes, granted_object(granted),
                       word(exchange, "instance"), err);
}
