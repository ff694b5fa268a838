/* SPDX-License-Identifier: Apache-2.0 */
#include "core/maintenance.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "base/json.h"
#include "core/alarm.h"
#include "core/booking.h"
#include "core/card_health.h"
#include "core/lifecycle.h"
#include "core/reservation.h"
#include "core/usage.h"

/* --- times --- */

/* Its windows are reckoned as those of a reservation. */
static struct reservation
windows_of(const struct maintenance *maintenance)
{
    return (struct reservation){ .from_ms = maintenance->from_ms,
                                 .to_ms = maintenance->to_ms,
                                 .every = maintenance->every,
                                 .until_ms = maintenance->until_ms };
}

/* Without a longest run nothing says how long it is there: it is taken to
 * leave before a maintenance that is far away, by its people or by notice. */
static int64_t
horizon_of(const struct world *world)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    return platform->maintenance_horizon_ms > 0
               ? platform->maintenance_horizon_ms
               : MAINTENANCE_HORIZON_MS;
}

int64_t
maintenance_span_ms(const struct world *world,
                    const struct workload *workload)
{
    return timeline_after(workload->max_run_ms > 0 ? workload->max_run_ms
                                                   : horizon_of(world),
                          lifecycle_grace(world, workload) +
                              BOOKING_SLACK_MS);
}

int64_t
maintenance_loan_ms(const struct world *world,
                    const struct workload *workload)
{
    int64_t least =
        world_platform(world, world_platform_ref(world))->min_run_ms;
    int64_t loan, span = maintenance_span_ms(world, workload);

    if (!workload->preemptible)
        return span;
    if (least < BOOKING_SLACK_MS)
        least = BOOKING_SLACK_MS;
    loan = least + lifecycle_grace(world, workload) + BOOKING_SLACK_MS;
    return loan < span ? loan : span;
}

static void
take_stops(const struct world *world, struct ref parent, int64_t stops[2])
{
    world_each_child(world, KIND_MAINTENANCE, parent, ref) {
        const struct maintenance *at = world_maintenance(world, ref);

        if (at->state != MAINTENANCE_OVER && at->opens_ms < stops[at->lend])
            stops[at->lend] = at->opens_ms;
    }
}

void
maintenance_stops(const struct world *world, struct ref node,
                  int64_t stops_out[2])
{
    stops_out[0] = stops_out[1] = MAINTENANCE_NEVER;
    take_stops(world, node, stops_out);
    take_stops(world, world_parent(world, node), stops_out);
}

int64_t
maintenance_round(const struct world *world, int64_t end_ms)
{
    int64_t next = MAINTENANCE_NEVER;
    bool first = true;

    world_each(world, KIND_MAINTENANCE, ref) {
        const struct maintenance *at = world_maintenance(world, ref);

        if (at->state == MAINTENANCE_OVER)
            continue;
        if (at->opens_ms < end_ms)
            first = false;
        else if (at->opens_ms < next)
            next = at->opens_ms;
    }
    return first ? 0 : next;
}

/* When work of that span reaches the next begin if it starts later than now. */
static int64_t
due_for(const struct world *world, int64_t span_ms, int64_t now_ms)
{
    int64_t end_ms = timeline_after(now_ms, span_ms);
    int64_t next = MAINTENANCE_NEVER;

    world_each(world, KIND_MAINTENANCE, ref) {
        const struct maintenance *at = world_maintenance(world, ref);

        if (at->state != MAINTENANCE_OVER && at->opens_ms >= end_ms &&
            at->opens_ms < next)
            next = at->opens_ms;
    }
    return next == MAINTENANCE_NEVER ? next : next - span_ms + 1;
}

int64_t
maintenance_look_ms(const struct world *world,
                    const struct workload *workload, int64_t now_ms)
{
    int64_t later_ms = reservation_lead_ms(world), look_ms = MAINTENANCE_NEVER;
    int64_t spans[2];

    if (world_count(world, KIND_MAINTENANCE) == 0)
        return look_ms;
    spans[0] = maintenance_span_ms(world, workload);
    spans[1] = maintenance_loan_ms(world, workload);
    for (int i = 0; i < 4; i++) {
        int64_t due_ms = due_for(
            world, timeline_after(spans[i / 2], i % 2 == 0 ? 0 : later_ms),
            now_ms);

        look_ms = due_ms < look_ms ? due_ms : look_ms;
    }
    return look_ms;
}

bool
maintenance_next(const struct world *world, struct ref pool,
                 int64_t *from_out)
{
    int64_t next = MAINTENANCE_NEVER;

    world_each_child(world, KIND_NODE, pool, node) {
        int64_t stops[2];

        maintenance_stops(world, node, stops);
        for (int i = 0; i < 2; i++)
            if (stops[i] < next)
                next = stops[i];
    }
    *from_out = next;
    return next != MAINTENANCE_NEVER;
}

static bool
meets(const struct world *world, struct ref parent, int64_t from_ms,
      int64_t to_ms)
{
    world_each_child(world, KIND_MAINTENANCE, parent, ref) {
        const struct maintenance *at = world_maintenance(world, ref);
        const struct reservation windows = windows_of(at);
        int64_t begin_ms, end_ms;

        if (at->state != MAINTENANCE_OVER &&
            reservation_window(&windows, from_ms, &begin_ms, &end_ms) &&
            begin_ms < to_ms)
            return true;
    }
    return false;
}

bool
maintenance_meets(const struct world *world, struct ref node, int64_t from_ms,
                  int64_t to_ms)
{
    return meets(world, node, from_ms, to_ms) ||
           meets(world, world_parent(world, node), from_ms, to_ms);
}

void
maintenance_arm(struct maintenance *maintenance, int64_t now_ms)
{
    const struct reservation windows = windows_of(maintenance);

    maintenance->state =
        reservation_window(&windows, now_ms, &maintenance->opens_ms,
                           &maintenance->closes_ms)
            ? MAINTENANCE_SCHEDULED
            : MAINTENANCE_OVER;
}

/* --- its nodes --- */

/* The first or the next node of it. */
static struct ref
next_node(const struct world *world, const struct maintenance *maintenance,
          struct ref node)
{
    struct ref parent = maintenance->object.parent;

    if (ref_is_none(node))
        return parent.kind == KIND_NODE
                   ? parent
                   : world_first_child(world, KIND_NODE, parent);
    return parent.kind == KIND_NODE ? (struct ref){ 0 }
                                    : world_next_child(world, node);
}

#define EACH_NODE(world, maintenance, node)                                   \
    for (struct ref node = next_node(world, maintenance, (struct ref){ 0 });  \
         !ref_is_none(node); node = next_node(world, maintenance, node))

/* --- may it be planned? --- */

int
maintenance_check(const struct changes *changes,
                  const struct maintenance *maintenance, int64_t now_ms,
                  struct error *err)
{
    const struct world *world = changes->world;
    const struct reservation windows = windows_of(maintenance);
    struct ref parent = maintenance->object.parent;
    struct ref pool = parent.kind == KIND_POOL ? parent
                                               : world_parent(world, parent);
    int64_t at_ms = now_ms, left = 0, reserved;
    char when[CLOCK_TEXT_MAX];

    if (reservation_check_times(&windows, now_ms, err) != 0)
        return -1;
    world_each_child(world, KIND_NODE, pool, node)
        if (parent.kind == KIND_NODE && !ref_equal(node, parent))
            world_each_child(world, KIND_CARD, node, card)
                left += card_health_is_fit(world_card(world, card)) &&
                        !world_card(world, card)->missing;
    reserved = reservation_peak(changes, pool, (struct ref){ 0 }, &windows,
                                now_ms, &at_ms) /
               1000;
    if (reserved <= left)
        return 0;
    clock_format(at_ms, when);
    (void)error_set(err, ERROR_CONFLICT,
                    "%" PRId64 " cards of the pool are reserved at %s, "
                    "%" PRId64 " healthy ones would be left then",
                    reserved, when, left);
    return error_help(err, "plan it for another time, or move the "
                           "reservations: `bulkhead get reservations`");
}

/* --- what time brings --- */

/* When it has given all back at the latest, by what is known of it and not by
 * the time: until it has started it counts from when it got its cards. */
static int64_t
end_of(const struct world *world, const struct workload *workload)
{
    int64_t from_ms = workload->started_ms > 0 ? workload->started_ms
                                               : workload->state_ms;

    if (workload->max_run_ms == 0)
        return MAINTENANCE_NEVER;
    return timeline_after(from_ms, maintenance_span_ms(world, workload));
}

/* Work that runs into the window and can be told to go; until when it need
 * not: MAINTENANCE_NEVER when there is nothing to tell. */
static int64_t
recall_of(const struct world *world, const struct maintenance *maintenance,
          const struct workload *workload)
{
    if (workload == NULL || !workload->preemptible ||
        maintenance->policy != MAINTENANCE_PREEMPT ||
        !lifecycle_is_live(workload->state) ||
        workload->state == WORKLOAD_PREEMPTING ||
        workload->state == WORKLOAD_CANCELLING ||
        workload->state == WORKLOAD_LOST ||
        end_of(world, workload) <= maintenance->opens_ms)
        return MAINTENANCE_NEVER;
    return maintenance->opens_ms - lifecycle_grace(world, workload) -
           BOOKING_SLACK_MS;
}

static const struct workload *
user_of(const struct world *world, struct ref ref)
{
    const struct instance *instance = world_instance(world, ref);

    return instance->state == INSTANCE_RELEASED
               ? NULL
               : world_workload(world, instance->object.parent);
}

static int64_t
next_recall(const struct world *world, const struct maintenance *maintenance)
{
    int64_t next = MAINTENANCE_NEVER;

    EACH_NODE(world, maintenance, node)
        world_each_index(world, KIND_INSTANCE, 0, node, ref) {
            int64_t recall =
                recall_of(world, maintenance, user_of(world, ref));

            next = recall < next ? recall : next;
        }
    return next;
}

/* Tenants are told a day ahead, or as far as work without an end is taken to
 * run. */
static int64_t
telling_ms(const struct world *world, const struct maintenance *maintenance)
{
    return maintenance->opens_ms - horizon_of(world);
}

int64_t
maintenance_due_ms(const struct world *world,
                   const struct maintenance *maintenance)
{
    int64_t recall_ms;

    switch ((enum maintenance_state)maintenance->state) {
    case MAINTENANCE_SCHEDULED:
        if (maintenance->told_ms != maintenance->opens_ms)
            return telling_ms(world, maintenance);
        return maintenance->opens_ms - reservation_lead_ms(world);
    case MAINTENANCE_CLEARING:
        recall_ms = next_recall(world, maintenance);
        return recall_ms < maintenance->opens_ms ? recall_ms
                                                 : maintenance->opens_ms;
    case MAINTENANCE_OPEN:
        return maintenance->closes_ms;
    case MAINTENANCE_OVER:
        break;
    }
    return MAINTENANCE_NEVER;
}

/* Notice, grace, and back through the gate. */
static void
stop(struct changes *changes, const struct maintenance *maintenance,
     const struct workload *workload)
{
    scoped_buffer text = { 0 };
    scoped_json proof = json_pack(
        "{s:s, s:s, s:I, s:I, s:I}", "rule", "maintenance", "reason",
        maintenance->reason, "opens_ms", (json_int_t)maintenance->opens_ms,
        "closes_ms", (json_int_t)maintenance->closes_ms, "time_ms",
        (json_int_t)changes->context.now_ms);

    json_write(&text, proof);
    lifecycle_stop(changes, workload->object.self, WORKLOAD_PREEMPTING,
                   "maintenance", buffer_text(&text));
}

static bool
clear(struct changes *changes, const struct maintenance *maintenance,
      size_t *victims)
{
    const struct world *world = changes->world;
    int64_t now_ms = changes->context.now_ms;

    EACH_NODE(world, maintenance, node)
        world_each_index(world, KIND_INSTANCE, 0, node, ref) {
            const struct workload *workload = user_of(world, ref);
            const struct workload *seen =
                workload != NULL ? change_get(changes, workload->object.self)
                                 : NULL;

            if (seen == NULL || recall_of(world, maintenance, seen) > now_ms)
                continue;
            stop(changes, maintenance, seen);
            ++*victims;
        }
    return *victims > 0;
}

/* --- what is told and noted --- */

static const char *
advice_for(const struct maintenance *maintenance,
           const struct workload *workload)
{
    if (maintenance->policy == MAINTENANCE_FINISH)
        return "it runs on into it: save and end it before, or it may be cut "
               "off";
    if (workload->preemptible)
        return "it gets notice and grace in time, and starts again elsewhere";
    return "it may not be preempted: end it before, and submit it again";
}

/* Work that is over before needs not know; clear_told takes it off again. */
static void
tell_owner(struct changes *changes, const struct maintenance *maintenance,
           const struct workload *workload, const char *when)
{
    if (workload == NULL || !lifecycle_is_live(workload->state) ||
        lifecycle_is_stopping(workload->state) ||
        end_of(changes->world, workload) <= maintenance->opens_ms)
        return;
    alarm_raise(changes, workload->object.self, MAINTENANCE_TOLD,
                "a planned maintenance of a machine that it runs on begins "
                "at %s; %s",
                when, advice_for(maintenance, workload));
}

static bool
is_on(const struct world *world, struct ref workload, struct ref node)
{
    world_each_child(world, KIND_INSTANCE, workload, ref)
        if (world_instance(world, ref)->state != INSTANCE_RELEASED &&
            ref_equal(world_instance(world, ref)->node, node))
            return true;
    return false;
}

/* Is a window ahead, or open, for a node that it is on? */
static bool
is_concerned(const struct changes *changes, struct ref workload)
{
    const struct world *world = changes->world;

    world_each_child(world, KIND_INSTANCE, workload, ref) {
        const struct instance *instance = change_get(changes, ref);
        int64_t stops[2];

        if (instance == NULL || instance->state == INSTANCE_RELEASED)
            continue;
        maintenance_stops(world, instance->node, stops);
        if (stops[0] != MAINTENANCE_NEVER || stops[1] != MAINTENANCE_NEVER)
            return true;
    }
    return false;
}

/* Who left the machine, or has the window behind. */
static void
clear_told(struct changes *changes, struct ref over)
{
    const struct maintenance *maintenance = change_get(changes, over);

    world_each(changes->world, KIND_ALARM, ref) {
        const struct alarm *alarm = world_alarm(changes->world, ref);
        struct ref about = alarm->object.parent;
        bool here = false;

        if (alarm->cleared_ms != 0 ||
            strcmp(alarm->code, MAINTENANCE_TOLD) != 0)
            continue;
        EACH_NODE(changes->world, maintenance, node)
            here = here || is_on(changes->world, about, node);
        if (here || !is_concerned(changes, about))
            alarm_clear(changes, about, MAINTENANCE_TOLD);
    }
}

/* {"nodes": [{"node", "digest", "cards": [{"card", "driver", "firmware"}]}]};
 * the digest is SHA-256 of the list of cards: two that are equal say that
 * nothing changed.  Of a pool the digests alone. */
static json_t *
describe_firmware(const struct changes *changes, struct ref node, bool all)
{
    scoped_buffer text = { 0 };
    scoped_json item = NULL;
    struct digest digest;
    char hex[2 * DIGEST_SIZE + 1];
    json_t *cards = json_array();

    world_each_child(changes->world, KIND_CARD, node, ref) {
        const struct card *card = change_get(changes, ref);

        if (card != NULL && !card->missing)
            (void)json_array_append_new(
                cards, json_pack("{s:s, s:s, s:s}", "card", card->object.name,
                                 "driver", card->driver, "firmware",
                                 card->firmware));
    }
    json_write(&text, cards);
    digest_of(text.bytes, text.size, &digest);
    hex_encode(digest.bytes, sizeof(digest.bytes), hex);
    item = json_pack("{s:s, s:s, s:o}", "node",
                     world_object(changes->world, node)->name, "digest", hex,
                     "cards", cards);
    if (!all)
        (void)json_object_del(item, "cards");
    return json_incref(item);
}

static void
note_firmware(struct changes *changes, const struct maintenance *maintenance,
              struct blob **out)
{
    json_t *nodes = json_array();
    scoped_json document = json_pack("{s:o}", "nodes", nodes);
    bool all = maintenance->object.parent.kind == KIND_NODE;
    scoped_buffer text = { 0 };

    EACH_NODE(changes->world, maintenance, node)
        (void)json_array_append_new(nodes, describe_firmware(changes, node, all));
    json_write(&text, document);
    change_doc(changes, out, buffer_text(&text));
}

static bool
is_busy(const struct world *world, struct ref node)
{
    world_each_index(world, KIND_INSTANCE, 0, node, ref)
        if (world_instance(world, ref)->state != INSTANCE_RELEASED)
            return true;
    return false;
}

/* A node that is lost goes into it when it is back. */
static void
take_node(struct changes *changes, const struct maintenance *maintenance,
          struct ref ref)
{
    struct node *node;

    if (!ref_is_none(world_node(changes->world, ref)->maintenance))
        return; /* in another one that is open already */
    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    node->maintenance = maintenance->object.self;
    if (node->state == NODE_LOST) {
        node->maintenance_resume = node->resume;
        node->resume = NODE_MAINTENANCE;
    } else {
        node->maintenance_resume = node->state;
        node->state = NODE_MAINTENANCE;
    }
    if (is_busy(changes->world, ref))
        alarm_raise(changes, ref, "maintenance.busy",
                    "its planned maintenance began, and work runs on it that "
                    "cannot be told to go or did not end");
}

static void
give_node(struct changes *changes, struct ref ref)
{
    struct node *node;

    usage_cut_node(changes, ref);
    node = change_update(changes, ref);
    if (node->state == NODE_MAINTENANCE)
        node->state = node->maintenance_resume;
    else if (node->state == NODE_LOST && node->resume == NODE_MAINTENANCE)
        node->resume = node->maintenance_resume;
    node->maintenance = (struct ref){ 0 };
    node->maintenance_resume = NODE_SCHEDULABLE;
    alarm_clear(changes, ref, "maintenance.busy");
}

void
maintenance_end(struct changes *changes, struct ref ref)
{
    const struct maintenance *maintenance = change_get(changes, ref);

    if (maintenance == NULL)
        return;
    clear_told(changes, ref);
    EACH_NODE(changes->world, maintenance, node) {
        const struct node *present = change_get(changes, node);

        if (present != NULL && ref_equal(present->maintenance, ref))
            give_node(changes, node);
    }
}

static struct maintenance *
enter(struct changes *changes, struct ref ref, enum maintenance_state state)
{
    struct maintenance *image = change_update(changes, ref);

    image->state = (int)state;
    return image;
}

static void
open_window(struct changes *changes, const struct maintenance *present,
            size_t *victims)
{
    struct maintenance *image;

    (void)clear(changes, present, victims);
    EACH_NODE(changes->world, present, node)
        take_node(changes, present, node);
    image = enter(changes, present->object.self, MAINTENANCE_OPEN);
    note_firmware(changes, present, &image->firmware_before);
    change_doc(changes, &image->firmware_after, NULL);
}

static void
close_window(struct changes *changes, const struct maintenance *present)
{
    struct maintenance *image;

    maintenance_end(changes, present->object.self);
    image = change_update(changes, present->object.self);
    note_firmware(changes, present, &image->firmware_after);
    maintenance_arm(image, present->closes_ms);
}

/* What is there for longer knows it in time; each window is told once. */
static void
tell(struct changes *changes, const struct maintenance *present)
{
    char when[CLOCK_TEXT_MAX];

    clock_format(present->opens_ms, when);
    EACH_NODE(changes->world, present, node)
        world_each_index(changes->world, KIND_INSTANCE, 0, node, ref)
            tell_owner(changes, present, user_of(changes->world, ref), when);
    ((struct maintenance *)change_update(changes, present->object.self))
        ->told_ms = present->opens_ms;
}

bool
maintenance_step(struct changes *changes, struct ref ref, size_t *victims_out)
{
    const struct maintenance *present =
        world_maintenance(changes->world, ref);
    int64_t now_ms = changes->context.now_ms;

    *victims_out = 0;
    switch ((enum maintenance_state)present->state) {
    case MAINTENANCE_SCHEDULED:
        if (present->told_ms != present->opens_ms) {
            tell(changes, present);
            return true;
        }
        (void)enter(changes, ref, MAINTENANCE_CLEARING);
        tell(changes, present);
        (void)clear(changes, present, victims_out);
        return true;
    case MAINTENANCE_CLEARING:
        if (now_ms < present->opens_ms)
            return clear(changes, present, victims_out);
        open_window(changes, present, victims_out);
        return true;
    case MAINTENANCE_OPEN:
        if (now_ms < present->closes_ms)
            return false;
        close_window(changes, present);
        return true;
    case MAINTENANCE_OVER:
        break;
    }
    return false;
}

bool
maintenance_next_step(struct changes *changes, int64_t *due_ms,
                      struct ref *ref_out, size_t *victims_out)
{
    const struct world *world = changes->world;
    int64_t now_ms = changes->context.now_ms;

    world_each(world, KIND_MAINTENANCE, ref) {
        int64_t at_ms =
            maintenance_due_ms(world, world_maintenance(world, ref));

        if (at_ms <= now_ms && maintenance_step(changes, ref, victims_out)) {
            *ref_out = ref;
            *due_ms = now_ms;
            return true;
        }
        if (at_ms < *due_ms)
            *due_ms = at_ms;
    }
    return false;
}
