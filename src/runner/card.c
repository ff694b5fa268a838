/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/card.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/part.h"
#include "runner/cdi.h"
#include "runner/devices.h"
#include "runner/handover.h"
#include "runner/look.h"
#include "runner/node.h"
#include "runner/node_pin.h"
#include "runner/sharer.h"

/* Whose the process is; -1: it is gone already. */
static json_int_t
user_of(pid_t pid)
{
    char path[32];
    struct stat status;

    (void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
    return stat(path, &status) == 0 ? (json_int_t)status.st_uid : -1;
}

/* The process that cleans a card, or asks about it, is a child of ours. */
static bool
is_ours(pid_t pid)
{
    char path[48];
    char text[512];
    const char *at;
    scoped_fd fd = -1;
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    text[size > 0 ? size : 0] = '\0';
    /* "PID (NAME) STATE PARENT ..", and a name may have anything. */
    at = strrchr(text, ')');
    return at != NULL && strlen(at) > 4 &&
           strtol(at + 4, NULL, 10) == (long)getpid();
}

/* Each process with the instance whose group it is in. */
static json_t *
rows_of(struct node *node, const char *uuid, const struct accel_crew *crew)
{
    json_t *rows = json_array();
    char top[16];

    (void)snprintf(top, sizeof(top), "/%.8s", node->policy->prefix);
    for (size_t i = 0; i < crew->count; i++) {
        const struct accel_process *process = &crew->list[i];
        char name[INSTANCE_NAME_MAX];
        const struct instance *owner;
        const char *other = is_ours(process->pid) ? "platform" : "foreign";
        json_t *text;

        if (sharer_is_server(node, uuid, process->pid, process->name))
            continue;
        text = json_string(process->name);
        cgroup_of(process->pid, top, name, sizeof(name));
        node_lock(node);
        owner = name[0] != '\0' ? node_find_name(node, name) : NULL;
        (void)json_array_append_new(
            rows,
            json_pack("{s:i, s:I, s:o, s:s, s:I}", "pid", (int)process->pid,
                      "uid", user_of(process->pid), "name",
                      text != NULL ? text : json_string("?"), "owner",
                      owner != NULL ? owner->id : other, "incarnation",
                      (json_int_t)(owner != NULL ? owner->incarnation : 0)));
        node_unlock(node);
    }
    return rows;
}

static int
processes_on(struct node *node, const char *uuid, json_t **out,
             struct error *err)
{
    struct accel_process list[ACCEL_PROCESSES_MAX];
    struct accel_crew crew = { .list = list };

    if (accel_processes(&node->accel, uuid, list, &crew.count, err) != 0)
        return -1;
    *out = rows_of(node, uuid, &crew);
    return 0;
}

static json_t *
holders_of(struct node *node, const char *uuid)
{
    json_t *rows = json_array();

    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->start.card_count; i++)
            if (part_overlap(at->start.cards[i], uuid))
                (void)json_array_append_new(
                    rows, json_pack("{s:s, s:I, s:s, s:I}", "instance", at->id,
                                    "incarnation", (json_int_t)at->incarnation,
                                    "slice", part_slice(at->start.cards[i]),
                                    "memory_mib",
                                    (json_int_t)at->start.card_memory_mib));
    node_unlock(node);
    return rows;
}

static json_t *
links_of(const struct accel_card *card)
{
    json_t *links = json_array();

    for (size_t i = 0; i < card->link_count; i++)
        (void)json_array_append_new(
            links, json_pack("{s:s, s:s, s:i, s:i}", "uuid",
                             card->links[i].uuid, "kind", card->links[i].kind,
                             "lanes", (int)card->links[i].lanes, "level",
                             (int)card->links[i].level));
    return links;
}

/* Of a card that does not say how it is, nothing is assumed; one whose users
 * are not known is not known to be free. */
static void
state_of(struct node *node, const char *uuid, const struct accel_crew *crew,
         struct accel_state *state, json_t **processes)
{
    struct error err = { 0 };

    if (accel_health(&node->accel, uuid, state, &err) == 0) {
        if (crew != NULL) {
            *processes = rows_of(node, uuid, crew);
            return;
        }
        if (processes_on(node, uuid, processes, &err) == 0)
            return;
    }
    *processes = json_array();
    if (state->health == ACCEL_FAILED || state->health == ACCEL_UNKNOWN)
        return;
    state->health = ACCEL_UNKNOWN;
    (void)snprintf(state->reason, sizeof(state->reason), "%.127s", err.text);
}

static json_t *
card_row(struct node *node, const struct accel_card *card,
         const struct accel_crew *crew)
{
    struct accel_state state = { .health = ACCEL_HEALTHY };
    struct topology_place place;
    json_t *processes = NULL;

    node_pin_locate(node, card, &place);
    state_of(node, card->uuid, crew, &state, &processes);
    return json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, "
        "s:s, s:s, s:b, s:s, s:s, s:s, s:o, s:o, s:o, s:o}",
        "uuid", card->uuid, "vendor", card->vendor, "model", card->model,
        "memory_mib", (json_int_t)card->memory_mib, "compute_units",
        (int)card->compute_units, "pci", card->pci, "numa", (int)place.node,
        "island", (int)card->island, "driver", card->driver, "firmware",
        card->firmware, "arch", card->arch, "serial", card->serial, "domain",
        card->domain, "health", accel_health_text(state.health),
        "health_reason", state.reason, "sliced", state.sliced, "runtime",
        card->runtime, "features", card->features, "bus", place.bus, "links",
        links_of(card), "look", look_row(node, card, &state), "holders",
        holders_of(node, card->uuid), "processes",
        processes);
}

/* What it is cut into, whoever did that; "" where cards cannot be cut. */
static void
add_layout(struct node *node, const char *uuid, json_t *row)
{
    struct partition_view *view = memory_new(1, sizeof(*view));
    struct error ignored;

    if (partition_look(node->partition, uuid, view, &ignored) != 0)
        *view = (struct partition_view){ .count = 0 };
    (void)json_object_set_new(row, "layout", json_string(view->layout));
    (void)json_object_set_new(row, "foreign_slices",
                              json_string(view->foreign));
    (void)json_object_set_new(row, "change", json_string(view->intent));
    (void)json_object_set_new(row, "change_failure",
                              json_string(view->failure));
    free(view);
}

/* Who is on all of them, when one look tells; else NULL, and each is asked. */
static struct accel_crew *
crews_of(struct node *node, struct arena *arena,
         const struct accel_card *cards, size_t count)
{
    struct accel_crew *crews = arena_alloc(arena, (count + 1) * sizeof(*crews));
    const char **uuids = arena_alloc(arena, (count + 1) * sizeof(*uuids));
    struct error ignored;

    if (node->accel.ops->census == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        uuids[i] = cards[i].uuid;
        crews[i].list = arena_alloc(arena, ACCEL_PROCESSES_MAX *
                                               sizeof(*crews[i].list));
    }
    return accel_census(&node->accel, uuids, count, crews, &ignored) == 0
               ? crews
               : NULL;
}

/* Each card alone: one that has never said what it is is not known yet, and
 * hides no other. */
int
card_list(struct node *node, json_t **out, struct error *err)
{
    scoped_arena arena = arena_new();
    const char *const *uuids = NULL;
    struct accel_card *cards;
    struct error ignored;
    struct accel_crew *crews;
    size_t count = 0;
    size_t known = 0;
    json_t *rows;

    if (accel_list(&node->accel, arena, &uuids, &count, err) != 0)
        return -1;
    cards = arena_alloc(arena, (count + 1) * sizeof(*cards));
    for (size_t i = 0; i < count; i++) {
        struct error why;

        if (accel_describe(&node->accel, uuids[i], &cards[known], &why) == 0)
            known++;
    }
    if (!node->accel.ops->simulated)
        accel_islands(cards, known);
    crews = crews_of(node, arena, cards, known);
    rows = json_array();
    for (size_t i = 0; i < known; i++) {
        json_t *row = card_row(node, &cards[i],
                               crews != NULL ? &crews[i] : NULL);

        add_layout(node, cards[i].uuid, row);
        (void)json_array_append_new(rows, row);
    }
    *out = json_pack("{s:s, s:b, s:o, s:o}", "accel", node->accel.ops->name,
                     "simulated", node->accel.ops->simulated, "cards", rows,
                     "devices", devices_audit(node));
    if (cdi_write(node, &ignored) != 0)
        log_warn("describe the cards for others: %s", ignored.text);
    return 0;
}

/* Takes the card out of everybody's reach while it is scrubbed. */
static int
begin_scrub(struct node *node, const char *uuid, struct error *err)
{
    size_t slot = 0;
    int result = 0;

    node_lock(node);
    if (node_is_scrubbing(node, uuid))
        result = error_set(err, ERROR_BUSY, "the card is being scrubbed");
    while (slot < NODE_SCRUBS_MAX && node->scrubbing[slot][0] != '\0')
        slot++;
    if (slot == NODE_SCRUBS_MAX)
        result = error_set(err, ERROR_BUSY, "%d cards are being scrubbed",
                           NODE_SCRUBS_MAX);
    for (const struct instance *at = node->first; at != NULL; at = at->next)
        for (size_t i = 0; i < at->start.card_count; i++)
            if (part_overlap(at->start.cards[i], uuid))
                result = error_set(err, ERROR_CONFLICT,
                                   "an instance holds card %s", uuid);
    if (result == 0)
        (void)snprintf(node->scrubbing[slot], sizeof(node->scrubbing[slot]),
                       "%s", uuid);
    node_unlock(node);
    return result;
}

static void
end_scrub(struct node *node, const char *uuid)
{
    node_lock(node);
    for (size_t i = 0; i < NODE_SCRUBS_MAX; i++)
        if (strcmp(node->scrubbing[i], uuid) == 0)
            node->scrubbing[i][0] = '\0';
    node_unlock(node);
}

static json_t *
steps_of(const struct handover *done)
{
    json_t *steps = json_array();

    for (size_t i = 0; i < done->count; i++)
        (void)json_array_append_new(
            steps, json_pack("{s:s, s:I, s:I, s:b, s:s}", "step",
                             done->steps[i].name, "from_ms",
                             (json_int_t)done->steps[i].from_ms, "to_ms",
                             (json_int_t)done->steps[i].to_ms, "good",
                             done->steps[i].good, "text", done->steps[i].text));
    return steps;
}

/* Slices that somebody else made wait for an operator's word. */
static int
check_own(struct node *node, const char *part, const char *uuid,
          struct error *err)
{
    struct partition_view view = { .sliced = false };
    struct error ignored;

    if (part_is_slice(part))
        return partition_check_own(node->partition, part, err);
    if (part_is_cleared(part) ||
        partition_look(node->partition, uuid, &view, &ignored) != 0 ||
        view.foreign[0] == '\0')
        return 0;
    return error_set(err, ERROR_CONFLICT,
                     "card %s has slices that were not made by the platform: "
                     "%.100s", uuid,
                     view.foreign);
}

int
card_scrub(struct node *node, const char *part, json_t **out, struct error *err)
{
    struct handover done = { 0 };
    struct accel_card card;
    char whole[PART_TEXT_MAX];

    (void)snprintf(whole, sizeof(whole), "%.*s", (int)part_uuid_size(part),
                   part);
    if (accel_describe(&node->accel, whole, &card, err) != 0 ||
        check_own(node, part, whole, err) != 0 || begin_scrub(node, part, err) != 0)
        return -1;
    handover_run(node, part, &done);
    end_scrub(node, part);
    *out = json_pack("{s:s, s:I, s:b, s:s, s:b, s:o}", "uuid", part,
                     "scrubbed_bytes", (json_int_t)done.bytes, "verified",
                     done.verified, "text", done.text, "simulated",
                     node->accel.ops->simulated, "steps", steps_of(&done));
    return 0;
}

/* The cards the incarnation has, or had until it was removed. */
static json_t *
cards_held(struct node *node, const char *id, int64_t incarnation)
{
    json_t *record = NULL;
    json_t *cards;
    const struct instance *at;

    node_lock(node);
    at = node_find(node, id);
    if (at != NULL && at->incarnation == incarnation)
        record = instance_record(at);
    node_unlock(node);
    if (record == NULL)
        (void)node_removed(node, id, incarnation, &record);
    cards = json_incref(json_object_get(record, "cards"));
    json_decref(record);
    return cards != NULL ? cards : json_array();
}

/* A process need not have opened its cards yet: what is being started or runs
 * has them all the same. */
static bool
is_alive(struct node *node, const char *id, int64_t incarnation)
{
    struct instance *at;
    bool alive = false;

    node_lock(node);
    at = node_find(node, id);
    if (at != NULL && at->incarnation == incarnation) {
        if (!at->busy)
            (void)instance_refresh(at, node->policy, node->mode, false);
        alive = at->phase == INSTANCE_STARTING ||
                at->phase == INSTANCE_RUNNING;
    }
    node_unlock(node);
    return alive;
}

int
card_release_check(struct node *node, const char *id, int64_t incarnation,
                   json_t **out, struct error *err)
{
    scoped_json cards = cards_held(node, id, incarnation);
    scoped_json rows = json_array();
    bool released = !is_alive(node, id, incarnation);
    json_t *card;
    size_t i;

    json_array_foreach(cards, i, card)
    {
        json_t *processes = NULL;

        /* On a card that the machine does not have any more nobody is; what
         * it will be when it is back, its handover finds out. */
        if (processes_on(node, json_string_value(card), &processes, err) != 0) {
            if (err->code != ERROR_NOT_FOUND)
                return -1;
            processes = json_array();
        }
        released = released && json_array_size(processes) == 0;
        (void)json_array_append_new(rows, json_pack("{s:O, s:o}", "uuid", card,
                                                    "processes", processes));
    }
    *out = json_pack("{s:b, s:O}", "released", released, "cards", rows);
    return 0;
}
