/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/glance.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/digest.h"
#include "engine/sync.h"

struct glance {
    struct arena *arena;
    const struct report_look *looks;
    size_t count;
    int64_t at_ms; /* monotonic */
    struct digest digest; /* of what is news in it */
};

static struct report_event *
copy_events(struct arena *arena, const struct report_look *look)
{
    struct report_event *list =
        arena_alloc(arena, (look->event_count + 1) * sizeof(*list));

    for (size_t i = 0; i < look->event_count; i++) {
        list[i] = look->events[i];
        list[i].slice = arena_strdup(arena, list[i].slice);
    }
    return list;
}

/* With texts and all. */
static struct report_look *
copy_looks(struct arena *arena, const struct report_look *looks, size_t count)
{
    struct report_look *list = arena_alloc(arena, (count + 1) * sizeof(*list));

    for (size_t i = 0; i < count; i++) {
        list[i] = looks[i];
        list[i].uuid = arena_strdup(arena, looks[i].uuid);
        list[i].health_reason = arena_strdup(arena, looks[i].health_reason);
        list[i].events = copy_events(arena, &looks[i]);
    }
    return list;
}

static void
calm(struct arena *arena, struct report_look *look)
{
    struct report_event *events = copy_events(arena, look);

    look->age_ms = look->temperature_c = look->power_mw = 0;
    look->busy_permille = look->memory_used_mib = look->clock_reasons = 0;
    look->ecc_corrected = look->ecc_uncorrected = 0;
    for (size_t i = 0; i < look->event_count; i++) {
        events[i].last_ms = events[i].first_ms;
        events[i].count = 1;
    }
    look->events = events;
}

void
glance_steady(struct arena *arena, struct report *report)
{
    struct report_look *list =
        copy_looks(arena, report->looks, report->look_count);

    for (size_t i = 0; i < report->look_count; i++)
        calm(arena, &list[i]);
    report->looks = list;
}

static void
digest_looks(struct glance *glance)
{
    struct sync steady = { .known = "", .challenge = "" };
    scoped_arena arena = arena_new();
    scoped_buffer bytes = { 0 };

    steady.report.looks = glance->looks;
    steady.report.look_count = glance->count;
    glance_steady(arena, &steady.report);
    sync_write(&bytes, &steady);
    digest_of(bytes.bytes, bytes.size, &glance->digest);
}

struct glance *
glance_new(const struct report_look *looks, size_t count)
{
    struct glance *glance = memory_new(1, sizeof(*glance));

    glance->arena = arena_new();
    glance->looks = copy_looks(glance->arena, looks, count);
    glance->count = count;
    glance->at_ms = clock_mono_ms();
    digest_looks(glance);
    return glance;
}

void
glance_free(struct glance *glance)
{
    if (glance == NULL)
        return;
    arena_free(glance->arena);
    free(glance);
}

bool
glance_is_news(const struct glance *glance, const struct glance *old)
{
    return old == NULL || digest_compare(&glance->digest, &old->digest) != 0;
}

void
glance_say(const struct glance *glance, struct arena *arena,
           struct report *report)
{
    int64_t age_ms;
    struct report_look *list;

    if (glance == NULL)
        return;
    age_ms = clock_mono_ms() - glance->at_ms;
    list = copy_looks(arena, glance->looks, glance->count);
    for (size_t i = 0; i < glance->count; i++)
        list[i].age_ms = age_ms;
    report->looks = list;
    report->look_count = glance->count;
}
