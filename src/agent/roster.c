/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/roster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRUB_TRIES 5

/* A volume or a card's scrub: one thing to be done once. */
struct chore {
    char id[PART_TEXT_MAX];
    bool ordered;
    bool remove;
    int64_t tenant;
    int64_t size_mib;
    bool busy;
    bool done;
    bool failed;
    int tries;
    int64_t retry_ms;
    char text[128];
    struct engine_scrub scrub; /* the last one */
};

struct chores {
    struct chore *list;
    size_t count;
};

struct roster {
    char revision[ORDER_REVISION_MAX];
    bool viewed; /* the engine has shown what it has */
    struct duty *duties;
    size_t duty_count;
    struct chores volumes;
    struct chores scrubs;
};

struct roster *
roster_new(void)
{
    return memory_new(1, sizeof(struct roster));
}

void
roster_free(struct roster *roster)
{
    if (roster == NULL)
        return;
    for (size_t i = 0; i < roster->duty_count; i++)
        duty_release(&roster->duties[i]);
    free(roster->duties);
    free(roster->volumes.list);
    free(roster->scrubs.list);
    free(roster);
}

const char *
roster_revision(const struct roster *roster)
{
    return roster->revision;
}

/* --- duties --- */

static struct duty *
find_duty(struct roster *roster, const char *instance, int64_t incarnation)
{
    for (size_t i = 0; i < roster->duty_count; i++)
        if (roster->duties[i].incarnation == incarnation &&
            strcmp(roster->duties[i].instance, instance) == 0)
            return &roster->duties[i];
    return NULL;
}

static struct duty *
make_duty(struct roster *roster, const char *instance, int64_t incarnation)
{
    struct duty *duty = find_duty(roster, instance, incarnation);

    if (duty != NULL)
        return duty;
    roster->duties = memory_grow(roster->duties, roster->duty_count + 1,
                                 sizeof(*roster->duties));
    duty = &roster->duties[roster->duty_count++];
    memset(duty, 0, sizeof(*duty));
    (void)snprintf(duty->instance, sizeof(duty->instance), "%s", instance);
    duty->incarnation = incarnation;
    duty->checkpoint_step = -1;
    return duty;
}

static void
forget_duties(struct roster *roster)
{
    for (size_t i = 0; i < roster->duty_count;) {
        if (!duty_is_over(&roster->duties[i])) {
            i++;
            continue;
        }
        duty_release(&roster->duties[i]);
        roster->duties[i] = roster->duties[--roster->duty_count];
    }
}

/* An incarnation below one that is ordered is over. */
static void
mark_stale(struct roster *roster)
{
    for (size_t i = 0; i < roster->duty_count; i++) {
        struct duty *duty = &roster->duties[i];

        duty->stale = false;
        for (size_t j = 0; j < roster->duty_count; j++)
            if (roster->duties[j].ordered &&
                roster->duties[j].incarnation > duty->incarnation &&
                strcmp(roster->duties[j].instance, duty->instance) == 0)
                duty->stale = true;
    }
}

void
roster_observe(struct roster *roster, const struct engine_view *view)
{
    roster->viewed = true;
    for (size_t i = 0; i < view->count; i++)
        (void)make_duty(roster, view->instances[i].instance,
                        view->instances[i].incarnation);
    for (size_t i = 0; i < roster->duty_count; i++) {
        struct duty *duty = &roster->duties[i];
        const struct report_instance *shown = NULL;

        for (size_t j = 0; j < view->count && shown == NULL; j++)
            if (view->instances[j].incarnation == duty->incarnation &&
                strcmp(view->instances[j].instance, duty->instance) == 0)
                shown = &view->instances[j];
        duty_observe(duty, shown);
    }
    mark_stale(roster);
    forget_duties(roster);
}

bool
roster_is_viewed(const struct roster *roster)
{
    return roster->viewed;
}

/* --- chores --- */

static struct chore *
find_chore(struct chores *chores, const char *id)
{
    for (size_t i = 0; i < chores->count; i++)
        if (strcmp(chores->list[i].id, id) == 0)
            return &chores->list[i];
    return NULL;
}

static struct chore *
order_chore(struct chores *chores, const char *id, bool remove)
{
    struct chore *chore = find_chore(chores, id);

    if (chore == NULL) {
        chores->list = memory_grow(chores->list, chores->count + 1,
                                   sizeof(*chores->list));
        chore = &chores->list[chores->count++];
        memset(chore, 0, sizeof(*chore));
        (void)snprintf(chore->id, sizeof(chore->id), "%s", id);
    }
    if (chore->remove != remove) {
        chore->remove = remove;
        chore->done = chore->failed = false;
        chore->retry_ms = 0;
    }
    chore->ordered = true;
    return chore;
}

static void
begin_order(struct chores *chores)
{
    for (size_t i = 0; i < chores->count; i++)
        chores->list[i].ordered = false;
}

/* What is not ordered any more is not kept: the next order of the same thing
 * means doing it anew. */
static void
forget_chores(struct chores *chores)
{
    for (size_t i = 0; i < chores->count;) {
        if (chores->list[i].ordered || chores->list[i].busy)
            i++;
        else
            chores->list[i] = chores->list[--chores->count];
    }
}

void
roster_order(struct roster *roster, const struct order *order,
             int64_t wall_ms)
{
    if (order->same)
        return;
    (void)snprintf(roster->revision, sizeof(roster->revision), "%s",
                   order->revision);
    for (size_t i = 0; i < roster->duty_count; i++)
        roster->duties[i].ordered = false;
    begin_order(&roster->volumes);
    begin_order(&roster->scrubs);
    for (size_t i = 0; i < order->instance_count; i++)
        duty_order(make_duty(roster, order->instances[i].instance,
                             order->instances[i].incarnation),
                   &order->instances[i], wall_ms - order->now_ms);
    for (size_t i = 0; i < order->volume_count; i++) {
        struct chore *chore = order_chore(&roster->volumes,
                                          order->volumes[i].volume,
                                          order->volumes[i].remove);

        chore->tenant = order->volumes[i].tenant;
        chore->size_mib = order->volumes[i].size_mib;
    }
    for (size_t i = 0; i < order->scrub_count; i++)
        (void)order_chore(&roster->scrubs, order->scrubs[i], false);
    mark_stale(roster);
    forget_duties(roster);
    forget_chores(&roster->volumes);
    forget_chores(&roster->scrubs);
}

/* --- steps --- */

/* It cannot start while one of its volumes is not made or one of its cards is
 * being cleaned. */
static bool
is_ready(struct roster *roster, const struct duty *duty)
{
    const json_t *volumes = json_object_get(duty->start, "volumes");

    for (size_t i = 0; i < json_array_size(volumes); i++) {
        const char *id = json_string_value(
            json_object_get(json_array_get(volumes, i), "id"));
        const struct chore *volume =
            id != NULL ? find_chore(&roster->volumes, id) : NULL;

        if (volume != NULL && !volume->done && !volume->failed)
            return false;
    }
    for (size_t i = 0; i < roster->scrubs.count; i++)
        if (roster->scrubs.list[i].busy &&
            duty_has_card(duty, roster->scrubs.list[i].id))
            return false;
    return true;
}

/* What an instance may have written to makes an earlier scrub worthless. */
static void
drop_scrubs(struct roster *roster, const struct duty *duty)
{
    for (size_t i = 0; i < roster->scrubs.count; i++)
        if (duty_has_card(duty, roster->scrubs.list[i].id))
            roster->scrubs.list[i].done = false;
}

static bool
next_duty(struct roster *roster, int64_t now_ms, struct roster_step *out)
{
    /* What is there already must be known first: nothing is released that
     * only has not been seen yet. */
    for (size_t i = 0; i < roster->duty_count && roster->viewed; i++) {
        struct duty *duty = &roster->duties[i];
        enum duty_step step = duty_next(duty, now_ms);

        if (step == DUTY_NOTHING ||
            (step == DUTY_START && !is_ready(roster, duty)))
            continue;
        if (step == DUTY_START)
            drop_scrubs(roster, duty);
        duty->busy = true;
        *out = (struct roster_step){
            .kind = ROSTER_DUTY,
            .step = step,
            .incarnation = duty->incarnation,
            .deadline_ms = duty->deadline_ms,
            .tenant = duty->tenant,
            .start = json_incref(duty->start),
            .gang = step == DUTY_GANG ? duty_tell(duty) : NULL,
        };
        if (step == DUTY_CAP)
            out->cap = duty_cap(duty);
        (void)snprintf(out->id, sizeof(out->id), "%s", duty->instance);
        (void)snprintf(out->reason, sizeof(out->reason), "%s", duty->reason);
        return true;
    }
    return false;
}

static bool
next_chore(struct chores *chores, enum roster_kind kind, int64_t now_ms,
           struct roster_step *out)
{
    for (size_t i = 0; i < chores->count; i++) {
        struct chore *chore = &chores->list[i];

        if (!chore->ordered || chore->busy || chore->done || chore->failed ||
            now_ms < chore->retry_ms)
            continue;
        chore->busy = true;
        *out = (struct roster_step){
            .kind = kind,
            .tenant = chore->tenant,
            .size_mib = chore->size_mib,
            .remove = chore->remove,
        };
        (void)snprintf(out->id, sizeof(out->id), "%s", chore->id);
        return true;
    }
    return false;
}

/* A scrub waits for instances that are still on the card. */
static bool
next_scrub(struct roster *roster, int64_t now_ms, struct roster_step *out)
{
    for (size_t i = 0; i < roster->scrubs.count; i++) {
        struct chore *scrub = &roster->scrubs.list[i];

        for (size_t j = 0; j < roster->duty_count; j++)
            if ((roster->duties[j].present || roster->duties[j].busy) &&
                duty_has_card(&roster->duties[j], scrub->id) &&
                scrub->retry_ms <= now_ms)
                scrub->retry_ms = now_ms + 50;
    }
    return next_chore(&roster->scrubs, ROSTER_SCRUB, now_ms, out);
}

bool
roster_next(struct roster *roster, int64_t now_ms,
            struct roster_step *step_out)
{
    return next_duty(roster, now_ms, step_out) ||
           next_chore(&roster->volumes, ROSTER_VOLUME, now_ms, step_out) ||
           next_scrub(roster, now_ms, step_out);
}

/* What may pass is tried again; a scrub that cannot be verified is not. */
static bool
may_pass(const struct chore *chore, enum roster_kind kind,
         const struct error *err)
{
    if (err->code == ERROR_BUSY || err->code == ERROR_CONFLICT)
        return true;
    return kind == ROSTER_SCRUB && err->code != ERROR_VERIFY &&
           chore->tries < SCRUB_TRIES;
}

static void
chore_result(struct chore *chore, const struct roster_step *step,
             const struct error *err, int64_t now_ms)
{
    chore->busy = false;
    /* The order was turned round meanwhile. */
    if (chore->remove != step->remove)
        return;
    chore->scrub = step->scrub;
    if (err == NULL) {
        chore->done = true;
        (void)snprintf(chore->text, sizeof(chore->text), "%s",
                       step->scrub.text);
        return;
    }
    chore->tries++;
    chore->retry_ms = now_ms + (chore->tries < 10 ? 200 : 2000);
    chore->failed = !may_pass(chore, step->kind, err);
    (void)snprintf(chore->text, sizeof(chore->text), "%.127s", err->text);
}

void
roster_result(struct roster *roster, struct roster_step *step,
              const struct error *err, int64_t now_ms)
{
    struct chores *chores = step->kind == ROSTER_VOLUME ? &roster->volumes
                                                        : &roster->scrubs;
    struct duty *duty;
    struct chore *chore;

    if (step->kind == ROSTER_DUTY) {
        duty = find_duty(roster, step->id, step->incarnation);
        if (duty != NULL)
            duty_result(duty, step->step, err, now_ms);
        forget_duties(roster);
    } else {
        chore = find_chore(chores, step->id);
        if (chore != NULL)
            chore_result(chore, step, err, now_ms);
        forget_chores(chores);
    }
    json_decref(step->start);
    json_decref(step->gang);
    step->start = step->gang = NULL;
}

/* --- report --- */

/* The control plane knows the cards of what it ordered. */
static void
report_cards(const struct duty *duty, struct arena *arena,
             struct report_instance *fact)
{
    const char **list =
        arena_alloc(arena, (duty->seen_count + 1) * sizeof(*list));

    fact->cards = list;
    for (size_t i = 0; i < duty->seen_count && !duty->ordered; i++)
        list[fact->card_count++] = arena_strdup(arena, duty->seen[i]);
}

static void
report_duties(const struct roster *roster, struct arena *arena,
              struct report *report)
{
    struct report_instance *list =
        arena_alloc(arena, roster->duty_count * sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < roster->duty_count; i++) {
        struct report_instance *fact = &list[count];

        if (count == REPORT_INSTANCES_MAX ||
            !duty_report(&roster->duties[i], fact))
            continue;
        fact->instance = arena_strdup(arena, fact->instance);
        fact->failure = arena_strdup(arena, fact->failure);
        fact->cpus = arena_strdup(arena, fact->cpus);
        fact->mems = arena_strdup(arena, fact->mems);
        fact->nics = arena_strdup(arena, fact->nics);
        report_cards(&roster->duties[i], arena, fact);
        count++;
    }
    report->instances_known = roster->viewed;
    report->instances = list;
    report->instance_count = roster->viewed ? count : 0;
}

/* The cards of the order are those that were looked at: the engine looks at
 * all that the incarnation had. */
static void
report_release(const struct duty *duty, struct arena *arena,
               struct report_release *fact)
{
    const char **list = arena_alloc(arena,
                                    duty->card_count * sizeof(*list));

    for (size_t i = 0; i < duty->card_count; i++)
        list[i] = arena_strdup(arena, duty->cards[i]);
    *fact = (struct report_release){
        .instance = arena_strdup(arena, duty->instance),
        .incarnation = duty->incarnation,
        .cards = list,
        .card_count = duty->card_count,
    };
}

static void
report_releases(const struct roster *roster, struct arena *arena,
                struct report *report)
{
    struct report_release *list =
        arena_alloc(arena, roster->duty_count * sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < roster->duty_count; i++)
        if (roster->duties[i].released && roster->duties[i].ordered &&
            count < REPORT_INSTANCES_MAX)
            report_release(&roster->duties[i], arena, &list[count++]);
    report->releases = list;
    report->release_count = count;
}

static void
report_steps(const struct engine_scrub *scrub, struct arena *arena,
             struct report_scrub *fact)
{
    struct report_step *list = arena_alloc(arena, scrub->count * sizeof(*list));

    for (size_t i = 0; i < scrub->count; i++)
        list[i] = (struct report_step){
            .step = arena_strdup(arena, scrub->steps[i].step),
            .from_ms = scrub->steps[i].from_ms,
            .to_ms = scrub->steps[i].to_ms,
            .good = scrub->steps[i].good,
            .text = arena_strdup(arena, scrub->steps[i].text),
        };
    fact->steps = list;
    fact->step_count = scrub->count;
}

static void
report_scrubs(const struct roster *roster, struct arena *arena,
              struct report *report)
{
    struct report_scrub *list =
        arena_alloc(arena, roster->scrubs.count * sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < roster->scrubs.count; i++) {
        const struct chore *scrub = &roster->scrubs.list[i];

        if ((!scrub->done && !scrub->failed) || count == REPORT_CARDS_MAX)
            continue;
        list[count] = (struct report_scrub){
            .uuid = arena_strdup(arena, scrub->id),
            .verified = scrub->done,
            .text = arena_strdup(arena, scrub->text),
        };
        report_steps(&scrub->scrub, arena, &list[count++]);
    }
    report->scrubs = list;
    report->scrub_count = count;
}

static void
report_volumes(const struct roster *roster, struct arena *arena,
               struct report *report)
{
    struct report_volume *list =
        arena_alloc(arena, roster->volumes.count * sizeof(*list));
    size_t count = 0;

    for (size_t i = 0; i < roster->volumes.count; i++) {
        const struct chore *volume = &roster->volumes.list[i];

        if ((!volume->done && !volume->failed) ||
            count == REPORT_VOLUMES_MAX)
            continue;
        list[count++] = (struct report_volume){
            .volume = arena_strdup(arena, volume->id),
            .state = volume->failed   ? REPORT_VOLUME_FAILED
                     : volume->remove ? REPORT_VOLUME_REMOVED
                                      : REPORT_VOLUME_READY,
            .failure = arena_strdup(arena,
                                    volume->failed ? volume->text : ""),
        };
    }
    report->volumes = list;
    report->volume_count = count;
}

void
roster_report(struct roster *roster, struct arena *arena,
              struct report *report)
{
    report_duties(roster, arena, report);
    report_releases(roster, arena, report);
    report_scrubs(roster, arena, report);
    report_volumes(roster, arena, report);
}

void
roster_acknowledge(struct roster *roster, const struct report *report)
{
    for (size_t i = 0; i < report->instance_count; i++) {
        const struct report_instance *fact = &report->instances[i];
        struct duty *duty = find_duty(roster, fact->instance,
                                      fact->incarnation);

        if (duty != NULL && (fact->state == REPORT_EXITED ||
                             fact->state == REPORT_START_FAILED))
            duty->acknowledged = true;
    }
}
