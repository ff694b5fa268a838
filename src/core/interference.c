/* SPDX-License-Identifier: Apache-2.0 */
#include "core/interference.h"

#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "core/interference_act.h"

/* Below it a window says nothing about the pace. */
#define CPU_WANTED_PERMILLE 50
#define RATE_WANTED_KIB 64
#define CARD_WANTED_PERMILLE 50
/* A base follows slowly once it is known. */
#define LEARN_MEMORY 15

static const char *const texts[] = {
    [INTERFERENCE_CPU] = "cpu",
    [INTERFERENCE_IO] = "io",
    [INTERFERENCE_NETWORK] = "network",
    [INTERFERENCE_CARD] = "card",
};

const char *
interference_text(enum interference_resource resource)
{
    return texts[resource];
}

int64_t
interference_pace(enum interference_resource resource,
                  const struct report_use *use)
{
    int64_t wanted_us = use->cpu_us + use->wait_us;
    int64_t amount = interference_amount(resource, use);

    switch (resource) {
    case INTERFERENCE_CPU:
        return wanted_us < use->ms * CPU_WANTED_PERMILLE
                   ? -1
                   : use->cpu_us * 1000 / wanted_us;
    case INTERFERENCE_IO:
    case INTERFERENCE_NETWORK:
        return amount < RATE_WANTED_KIB ? -1 : amount;
    case INTERFERENCE_CARD:
        return amount < CARD_WANTED_PERMILLE ? -1 : amount;
    case INTERFERENCE_RESOURCES:
        break;
    }
    return -1;
}

static void
learn(struct interference_track *track, int64_t pace)
{
    int64_t weight =
        track->quiet < LEARN_MEMORY ? track->quiet : LEARN_MEMORY;

    track->base = (track->base * weight + pace) / (weight + 1);
    track->quiet++;
}

/* Turns when the windows have said so for long enough. */
static void
turn(struct interference_track *track, bool otherwise, int64_t window_ms,
     int64_t now_ms)
{
    if (!otherwise) {
        track->turning_ms = 0;
        return;
    }
    if (track->turning_ms == 0)
        track->turning_ms = now_ms;
    if (now_ms - track->turning_ms < window_ms)
        return;
    track->slowed = !track->slowed;
    track->turning_ms = 0;
    track->since_ms = track->slowed ? now_ms : 0;
    track->acted_ms = 0;
    track->cause[0] = '\0';
}

void
interference_judge(struct interference_track *track, int64_t pace,
                   bool quiet, int64_t threshold_milli, int64_t window_ms,
                   int64_t now_ms)
{
    int64_t lower_milli = 1000 + (threshold_milli - 1000) / 2;
    int64_t index = 0;

    if (pace >= 0 && quiet)
        learn(track, pace);
    if (pace >= 0 && track->quiet >= INTERFERENCE_LEARNT)
        index = track->base * 1000 / (pace > 0 ? pace : 1);
    track->pace = pace > 0 ? pace : 0;
    track->index_milli = index;
    if (track->slowed)
        turn(track, quiet || index < lower_milli, window_ms, now_ms);
    else
        turn(track, !quiet && index >= threshold_milli, window_ms, now_ms);
}

/* --- what is kept --- */

static int64_t
number(const json_t *object, const char *key)
{
    return json_integer_value(json_object_get(object, key));
}

void
interference_read(const struct instance *instance,
                  struct interference_track tracks_out[INTERFERENCE_RESOURCES])
{
    const struct blob *kept = instance->interference;
    struct error ignored;
    scoped_json all =
        kept == NULL ? NULL : json_read(kept->bytes, kept->size, &ignored);

    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++) {
        const json_t *one = json_object_get(all, texts[i]);
        const char *cause = json_string_value(json_object_get(one, "cause"));

        tracks_out[i] = (struct interference_track){
            .base = number(one, "base"),
            .quiet = number(one, "quiet"),
            .pace = number(one, "pace"),
            .index_milli = number(one, "index_milli"),
            .slowed = json_is_true(json_object_get(one, "slowed")),
            .turning_ms = number(one, "turning_ms"),
            .since_ms = number(one, "since_ms"),
            .acted_ms = number(one, "acted_ms"),
        };
        if (cause != NULL)
            (void)snprintf(tracks_out[i].cause, ID_TEXT_MAX, "%s", cause);
    }
}

json_t *
interference_write(const struct interference_track *tracks)
{
    json_t *all = json_object();

    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++) {
        const struct interference_track *track = &tracks[i];

        if (track->quiet == 0 && track->pace == 0)
            continue;
        (void)json_object_set_new(
            all, texts[i],
            json_pack("{s:I, s:I, s:I, s:I, s:b, s:I, s:I, s:I, s:s}", "base",
                      (json_int_t)track->base, "quiet",
                      (json_int_t)track->quiet, "pace",
                      (json_int_t)track->pace, "index_milli",
                      (json_int_t)track->index_milli, "slowed",
                      track->slowed, "turning_ms",
                      (json_int_t)track->turning_ms, "since_ms",
                      (json_int_t)track->since_ms, "acted_ms",
                      (json_int_t)track->acted_ms, "cause", track->cause));
    }
    return all;
}

static json_t *
answer_one(const struct interference_track *track, bool platform)
{
    json_t *one = json_pack(
        "{s:s, s:I, s:I, s:I, s:I}", "state",
        track->slowed                            ? "slowed"
        : track->quiet < INTERFERENCE_LEARNT ? "learning"
                                                 : "fine",
        "base", (json_int_t)track->base, "pace", (json_int_t)track->pace,
        "index_milli", (json_int_t)track->index_milli, "windows",
        (json_int_t)track->quiet);

    (void)json_object_set_new(one, "since",
                              track->since_ms != 0 ? json_time(track->since_ms)
                                                   : json_null());
    if (platform)
        (void)json_object_set_new(one, "cause",
                                  track->cause[0] != '\0'
                                      ? json_string(track->cause)
                                      : json_null());
    return one;
}

json_t *
interference_json(const struct instance *instance, bool platform)
{
    struct interference_track tracks[INTERFERENCE_RESOURCES];
    json_t *all;

    if (instance->interference == NULL)
        return NULL;
    interference_read(instance, tracks);
    all = json_object();
    for (size_t i = 0; i < INTERFERENCE_RESOURCES; i++)
        if (tracks[i].quiet > 0 || tracks[i].pace > 0)
            (void)json_object_set_new(all, texts[i],
                                      answer_one(&tracks[i], platform));
    return all;
}
