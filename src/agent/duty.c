/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/duty.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_alive(const struct duty *duty)
{
    return duty->present && (duty->state == REPORT_STARTING ||
                             duty->state == REPORT_RUNNING);
}

static enum duty_step
stop(const struct duty *duty, int64_t now_ms)
{
    if (duty->term_ms == 0)
        return DUTY_TERMINATE;
    return now_ms - duty->term_ms >= DUTY_TERM_MS ? DUTY_KILL : DUTY_NOTHING;
}

static bool
is_cap(const struct report_cap *left, const struct report_cap *right)
{
    return left->cpu_milli == right->cpu_milli &&
           left->io_kib == right->io_kib &&
           left->network_kib == right->network_kib;
}

static enum duty_step
next_running(const struct duty *duty)
{
    if (duty->gang != NULL && !json_equal(duty->gang, duty->told))
        return DUTY_GANG;
    return is_cap(&duty->cap, &duty->capped) ||
                   (duty->cap_refused && is_cap(&duty->cap, &duty->capping))
               ? DUTY_NOTHING
               : DUTY_CAP;
}

static enum duty_step
next_alive(const struct duty *duty, int64_t now_ms)
{
    switch (duty->want) {
    case ORDER_RUN:
        return duty->state == REPORT_RUNNING ? next_running(duty)
                                             : DUTY_NOTHING;
    case ORDER_NOTICE:
        if (now_ms >= duty->deadline_ms)
            return stop(duty, now_ms);
        return duty->noticed_ms != duty->order_deadline_ms ? DUTY_NOTICE
                                                           : DUTY_NOTHING;
    case ORDER_STOP:
        return stop(duty, now_ms);
    }
    return DUTY_NOTHING;
}

/* Nothing of it is there: it begins, or it is confirmed that it is gone. */
static enum duty_step
next_absent(const struct duty *duty)
{
    if (duty->ended || duty->want == ORDER_STOP)
        return duty->released ? DUTY_NOTHING : DUTY_RELEASE;
    return duty->start != NULL ? DUTY_START : DUTY_NOTHING;
}

json_t *
duty_tell(struct duty *duty)
{
    json_decref(duty->telling);
    duty->telling = json_incref(duty->gang);
    return json_incref(duty->gang);
}

struct report_cap
duty_cap(struct duty *duty)
{
    duty->capping = duty->cap;
    return duty->cap;
}

enum duty_step
duty_next(const struct duty *duty, int64_t now_ms)
{
    if (duty->busy || now_ms < duty->retry_ms)
        return DUTY_NOTHING;
    /* What a newer incarnation has replaced goes without notice. */
    if (duty->stale)
        return duty->present ? DUTY_REMOVE : DUTY_NOTHING;
    /* What nobody here was told about is left alone, and reported. */
    if (!duty->ordered)
        return DUTY_NOTHING;
    if (is_alive(duty))
        return next_alive(duty, now_ms);
    if (duty->present)
        return duty->acknowledged ? DUTY_REMOVE : DUTY_NOTHING;
    return next_absent(duty);
}

/* Doubling waits, and one try a second at least. */
static void
back_off(struct duty *duty, int64_t now_ms)
{
    int64_t wait_ms = DUTY_RETRY_MIN_MS;

    for (int i = 0; i < duty->tries && wait_ms < DUTY_RETRY_MAX_MS; i++)
        wait_ms *= 2;
    if (wait_ms > DUTY_RETRY_MAX_MS)
        wait_ms = DUTY_RETRY_MAX_MS;
    duty->tries++;
    duty->retry_ms = now_ms + wait_ms;
}

static void
end(struct duty *duty, enum report_state state, const char *why)
{
    duty->ended = true;
    duty->state = state;
    (void)snprintf(duty->failure, sizeof(duty->failure), "%.127s", why);
}

/* A conflict passes when an older incarnation or a scrub has ended; a busy
 * runner answers later. */
static void
start_failed(struct duty *duty, const struct error *err, int64_t now_ms)
{
    if (err->code == ERROR_GONE)
        end(duty, REPORT_GONE, err->text);
    else if (err->code == ERROR_BUSY ||
             (err->code == ERROR_CONFLICT &&
              duty->tries < DUTY_CONFLICT_TRIES))
        back_off(duty, now_ms);
    else
        end(duty, REPORT_START_FAILED, err->text);
}

static void
step_failed(struct duty *duty, enum duty_step step, const struct error *err,
            int64_t now_ms)
{
    if (step == DUTY_START) {
        start_failed(duty, err, now_ms);
        return;
    }
    /* Not as little on this machine: it stays as it is. */
    if (step == DUTY_CAP)
        duty->cap_refused = err->code == ERROR_QUOTA;
    /* TERM to a process that has just ended is as good as sent. */
    if (step == DUTY_TERMINATE && err->code != ERROR_BUSY)
        duty->term_ms = now_ms;
    back_off(duty, now_ms);
}

static void
step_done(struct duty *duty, enum duty_step step, int64_t now_ms)
{
    switch (step) {
    case DUTY_NOTHING:
    case DUTY_KILL:
    case DUTY_START:
        break;
    case DUTY_NOTICE:
        duty->noticed_ms = duty->order_deadline_ms;
        break;
    case DUTY_GANG:
        json_decref(duty->told);
        duty->told = duty->telling;
        duty->telling = NULL;
        break;
    case DUTY_CAP:
        duty->capped = duty->capping;
        break;
    case DUTY_TERMINATE:
        duty->term_ms = now_ms;
        break;
    case DUTY_REMOVE:
        duty->removed = true;
        duty->present = false;
        break;
    case DUTY_RELEASE:
        duty->released = true;
        break;
    }
}

void
duty_result(struct duty *duty, enum duty_step step, const struct error *err,
            int64_t now_ms)
{
    duty->busy = false;
    if (step == DUTY_START)
        duty->begun = true;
    if (err != NULL) {
        step_failed(duty, step, err, now_ms);
        return;
    }
    duty->tries = 0;
    /* The engine shows the effect a moment later. */
    duty->retry_ms = step == DUTY_START || step == DUTY_KILL ? now_ms + 50
                                                             : 0;
    step_done(duty, step, now_ms);
}

/* They do not change in an incarnation's life. */
static void
see_cards(struct duty *duty, const struct report_instance *shown)
{
    if (duty->seen != NULL || shown->card_count == 0)
        return;
    duty->seen = memory_new(shown->card_count, sizeof(*duty->seen));
    duty->seen_count = shown->card_count;
    for (size_t i = 0; i < shown->card_count; i++)
        (void)snprintf(duty->seen[i], sizeof(duty->seen[i]), "%s",
                       shown->cards[i]);
}

/* What ran and is gone, though nobody here removed it, was taken away: it must
 * not begin anew behind the back of the control plane.  What was only being
 * made may be made again. */
static void
miss(struct duty *duty)
{
    bool ran = duty->present && duty->state == REPORT_RUNNING;

    duty->present = false;
    if (ran && !duty->removed)
        end(duty, REPORT_GONE, "the node does not have it any more");
}

static void
keep(char *member, size_t room, const char *text)
{
    (void)snprintf(member, room, "%s", text != NULL ? text : "");
}

void
duty_observe(struct duty *duty, const struct report_instance *shown)
{
    /* A view that was taken before the removal shows nothing new. */
    if (shown == NULL || duty->removed) {
        miss(duty);
        return;
    }
    duty->present = true;
    see_cards(duty, shown);
    duty->state = shown->state;
    duty->exit_code = shown->exit_code;
    duty->oom = shown->oom;
    duty->cpu_us = shown->cpu_us;
    keep(duty->cpus, sizeof(duty->cpus), shown->cpus);
    keep(duty->mems, sizeof(duty->mems), shown->mems);
    keep(duty->nics, sizeof(duty->nics), shown->nics);
    duty->pinned = shown->pinned;
    duty->capped = shown->cap;
    duty->checkpoint_step = shown->checkpoint_step;
    duty->checkpoint_ms = shown->checkpoint_ms;
    (void)snprintf(duty->failure, sizeof(duty->failure), "%s",
                   shown->failure);
    duty->ended = shown->state == REPORT_EXITED ||
                  shown->state == REPORT_START_FAILED;
}

bool
duty_report(const struct duty *duty, struct report_instance *fact_out)
{
    /* Without a start it runs, as far as the control plane knows: then its
     * absence is what there is to say. */
    bool preparing = duty->ordered && !duty->present && !duty->ended &&
                     duty->start != NULL && duty->want != ORDER_STOP;

    if (duty->stale || (!duty->present && !duty->ended && !preparing))
        return false;
    *fact_out = (struct report_instance){
        .instance = duty->instance,
        .incarnation = duty->incarnation,
        .state = preparing ? REPORT_PREPARING : duty->state,
        .failure = duty->failure,
        .exit_code = duty->exit_code,
        .oom = duty->oom,
        .cpu_us = duty->cpu_us,
        .cpus = duty->cpus,
        .mems = duty->mems,
        .nics = duty->nics,
        .pinned = duty->pinned,
        .checkpoint_step = duty->checkpoint_step,
        .checkpoint_ms = duty->checkpoint_ms,
    };
    return true;
}

bool
duty_has_card(const struct duty *duty, const char *part)
{
    for (size_t i = 0; i < duty->card_count; i++)
        if (part_overlap(duty->cards[i], part))
            return true;
    for (size_t i = 0; i < duty->seen_count; i++)
        if (part_overlap(duty->seen[i], part))
            return true;
    return false;
}

void
duty_order(struct duty *duty, const struct order_instance *item,
           int64_t distance_ms)
{
    duty->ordered = true;
    duty->want = item->want;
    (void)snprintf(duty->reason, sizeof(duty->reason), "%s", item->reason);
    duty->tenant = item->tenant;
    duty->cap = item->cap;
    duty->order_deadline_ms = item->deadline_ms;
    duty->deadline_ms = item->deadline_ms + distance_ms;
    if (!json_equal(duty->gang, item->gang)) {
        json_decref(duty->gang);
        duty->gang = json_deep_copy(item->gang);
    }
    if (duty->start == NULL && item->start != NULL) {
        duty->start = json_deep_copy(item->start);
        duty->told = json_incref(json_object_get(duty->start, "gang"));
    }
    if (duty->cards != NULL)
        return;
    duty->cards = memory_new(item->card_count + 1, sizeof(*duty->cards));
    duty->card_count = item->card_count;
    for (size_t i = 0; i < item->card_count; i++)
        (void)snprintf(duty->cards[i], sizeof(duty->cards[i]), "%s",
                       item->cards[i]);
}

void
duty_release(struct duty *duty)
{
    json_decref(duty->start);
    json_decref(duty->gang);
    json_decref(duty->told);
    json_decref(duty->telling);
    free(duty->cards);
    free(duty->seen);
}

bool
duty_is_over(const struct duty *duty)
{
    return !duty->ordered && !duty->busy && !duty->present;
}
