/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/cdi.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "runner/grant.h"
#include "runner/node.h"

#define VERSION "0.6.0"
#define PATH_ROOM 320
#define FILE_MAX ((size_t)4 * 1024 * 1024)

static void
name_of(const char *uuid, char out[ACCEL_ID_MAX + 1])
{
    size_t i = 0;

    for (; i < ACCEL_ID_MAX && uuid[i] != '\0'; i++)
        out[i] = isalnum((unsigned char)uuid[i])
                     ? (char)tolower((unsigned char)uuid[i])
                     : '-';
    out[i] = '\0';
}

static json_t *
node_of(const struct accel_node *node)
{
    char path[80];

    (void)snprintf(path, sizeof(path), "/dev/%s", node->name);
    return json_pack("{s:s, s:s, s:I, s:I, s:s}", "path", path, "type", "c",
                     "major", (json_int_t)node->major, "minor",
                     (json_int_t)node->minor, "permissions", "rw");
}

static json_t *
mount_of(const struct accel_node *node)
{
    char path[128];

    (void)snprintf(path, sizeof(path), GRANT_LIBRARIES "/%s", node->name);
    return json_pack("{s:s, s:s, s:[s, s, s, s]}", "hostPath", node->host_path,
                     "containerPath", path, "options", "ro", "nosuid", "nodev",
                     "bind");
}

static json_t *
edits_of(const struct accel_node *nodes, size_t count, const char *uuid,
         const char *vendor)
{
    json_t *devices = json_array();
    json_t *mounts = json_array();
    json_t *edits;

    for (size_t i = 0; i < count; i++) {
        if (nodes[i].kind == ACCEL_DEVICE && nodes[i].plain)
            (void)json_array_append_new(devices, node_of(&nodes[i]));
        if (nodes[i].kind == ACCEL_LIBRARY)
            (void)json_array_append_new(mounts, mount_of(&nodes[i]));
    }
    edits = json_pack("{s:o}", "deviceNodes", devices);
    if (json_array_size(mounts) > 0)
        (void)json_object_set(edits, "mounts", mounts);
    json_decref(mounts);
    if (strcmp(vendor, "nvidia") == 0) {
        char env[ACCEL_ID_MAX + 32];

        (void)snprintf(env, sizeof(env), "NVIDIA_VISIBLE_DEVICES=%s", uuid);
        (void)json_object_set_new(edits, "env", json_pack("[s]", env));
    }
    return edits;
}

static void
add_card(struct node *node, const char *uuid, json_t *devices)
{
    struct accel_node nodes[ACCEL_NODES_MAX];
    struct accel_state state = { .health = ACCEL_UNKNOWN };
    struct accel_card card;
    struct error ignored = { 0 };
    char name[ACCEL_ID_MAX + 1];
    json_t *edits;
    size_t count = 0;

    if (accel_describe(&node->accel, uuid, &card, &ignored) != 0 ||
        accel_health(&node->accel, uuid, &state, &ignored) != 0 ||
        state.sliced ||
        accel_nodes(&node->accel, uuid, nodes, &count, &ignored) != 0)
        return;
    name_of(uuid, name);
    edits = edits_of(nodes, count, uuid, card.vendor);
    if (json_array_size(json_object_get(edits, "deviceNodes")) > 0)
        (void)json_array_append_new(
            devices,
            json_pack("{s:s, s:{s:s, s:s, s:s}, s:O}", "name", name,
                      "annotations", "bulkhead.card/uuid", uuid,
                      "bulkhead.card/pci", card.pci, "bulkhead.card/model",
                      card.model, "containerEdits", edits));
    json_decref(edits);
}

json_t *
cdi_new(struct node *node)
{
    scoped_arena arena = arena_new();
    const char *const *uuids = NULL;
    struct error ignored = { 0 };
    json_t *devices = json_array();
    size_t count = 0;

    if (accel_list(&node->accel, arena, &uuids, &count, &ignored) != 0)
        count = 0;
    for (size_t i = 0; i < count; i++)
        add_card(node, uuids[i], devices);
    return json_pack("{s:s, s:s, s:o}", "cdiVersion", VERSION, "kind", CDI_KIND,
                     "devices", devices);
}

int
cdi_write(struct node *node, struct error *err)
{
    scoped_json spec = NULL;
    scoped_buffer now = { 0 };
    scoped_buffer before = { 0 };
    struct error ignored = { 0 };
    char path[PATH_ROOM];

    if (node->policy->cdi_dir == NULL)
        return 0;
    spec = cdi_new(node);
    (void)snprintf(path, sizeof(path), "%s/bulkhead.card-gpu_%s.json",
                   node->policy->cdi_dir, node->policy->prefix);
    /* One without devices is refused by who reads it. */
    if (json_array_size(json_object_get(spec, "devices")) == 0) {
        (void)unlink(path);
        return 0;
    }
    json_write(&now, spec);
    if (access(path, F_OK) == 0 &&
        file_read(path, FILE_MAX, &before, &ignored) == 0 &&
        before.size == now.size &&
        memcmp(before.bytes, now.bytes, now.size) == 0)
        return 0;
    return file_make_directory(node->policy->cdi_dir, 0755, err) != 0
               ? -1
               : file_write(path, now.bytes, now.size, 0644, err);
}
