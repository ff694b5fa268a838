/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/id.h"

struct item {
    char instance[ID_TEXT_MAX];
    int64_t incarnation;
    bool there;       /* in the look that is taken */
    int64_t begin_ms; /* of its part of the window */
    int64_t cpu_us, io_bytes, network_bytes; /* then */
    int64_t last_wait_us; /* in the look before */
    int64_t wait_us;      /* in the window so far */
    int64_t card_sum, card_count;
    struct report_use use; /* of the window that is over; ms 0: none */
};

struct sampler {
    struct item *items;
    size_t count;
    int64_t begin_ms; /* of the window; 0: none yet */
    int64_t number;   /* of the last one that is over */
    int64_t told;
};

struct sampler *
sampler_new(void)
{
    return memory_new(1, sizeof(struct sampler));
}

void
sampler_free(struct sampler *sampler)
{
    free(sampler->items);
    free(sampler);
}

/* Looks list them in the same order, so the place is nearly always right. */
static struct item *
find(struct sampler *sampler, size_t hint, const char *instance,
     int64_t incarnation)
{
    for (size_t i = 0; i < sampler->count; i++) {
        struct item *item = &sampler->items[(hint + i) % sampler->count];

        if (item->incarnation == incarnation &&
            strcmp(item->instance, instance) == 0)
            return item;
    }
    return NULL;
}

static void
begin(struct item *item, const struct engine_sample *sample, int64_t now_ms)
{
    item->begin_ms = now_ms;
    item->cpu_us = sample->cpu_us;
    item->io_bytes = sample->io_bytes;
    item->network_bytes = sample->network_bytes;
    item->wait_us = item->card_sum = item->card_count = 0;
}

static struct item *
add(struct sampler *sampler, const struct engine_sample *sample,
    int64_t now_ms)
{
    struct item *item;

    sampler->items = memory_grow(sampler->items, sampler->count + 1,
                                 sizeof(*sampler->items));
    item = &sampler->items[sampler->count++];
    *item = (struct item){ .incarnation = sample->incarnation,
                           .last_wait_us = sample->wait_us };
    (void)snprintf(item->instance, sizeof(item->instance), "%s",
                   sample->instance);
    begin(item, sample, now_ms);
    return item;
}

static int64_t
grown(int64_t from, int64_t to)
{
    return to > from ? to - from : 0;
}

static void
end(struct item *item, const struct engine_sample *sample, int64_t now_ms)
{
    int64_t ms = now_ms - item->begin_ms;

    item->use = (struct report_use){
        .ms = ms >= SAMPLER_LEAST_MS ? ms : 0,
        .cpu_us = grown(item->cpu_us, sample->cpu_us),
        .wait_us = item->wait_us,
        .io_kib = grown(item->io_bytes, sample->io_bytes) / 1024,
        .network_kib =
            grown(item->network_bytes, sample->network_bytes) / 1024,
        .card_permille = item->card_count > 0
                             ? item->card_sum / item->card_count
                             : -1,
    };
    begin(item, sample, now_ms);
}

/* What is not in the look has ended, and its numbers with it. */
static void
drop_absent(struct sampler *sampler)
{
    size_t kept = 0;

    for (size_t i = 0; i < sampler->count; i++)
        if (sampler->items[i].there)
            sampler->items[kept++] = sampler->items[i];
    sampler->count = kept;
}

void
sampler_take(struct sampler *sampler, const struct engine_samples *samples)
{
    bool over = sampler->begin_ms != 0 &&
                samples->time_ms - sampler->begin_ms >= SAMPLER_WINDOW_MS;

    for (size_t i = 0; i < sampler->count; i++)
        sampler->items[i].there = false;
    for (size_t i = 0; i < samples->count; i++) {
        const struct engine_sample *sample = &samples->list[i];
        struct item *item = find(sampler, i, sample->instance,
                                 sample->incarnation);

        if (item == NULL)
            item = add(sampler, sample, samples->time_ms);
        item->there = true;
        /* A task that ended took its time with it. */
        item->wait_us += grown(item->last_wait_us, sample->wait_us);
        item->last_wait_us = sample->wait_us;
        if (sample->card_permille >= 0) {
            item->card_sum += sample->card_permille;
            item->card_count++;
        }
        if (over)
            end(item, sample, samples->time_ms);
    }
    drop_absent(sampler);
    if (over)
        sampler->number++;
    if (over || sampler->begin_ms == 0)
        sampler->begin_ms = samples->time_ms;
}

int64_t
sampler_tell(const struct sampler *sampler, struct arena *arena,
             struct report *report)
{
    struct report_instance *list;

    if (sampler->number == sampler->told || report->instance_count == 0)
        return 0;
    list = arena_alloc(arena, report->instance_count * sizeof(*list));
    memcpy(list, report->instances, report->instance_count * sizeof(*list));
    for (size_t i = 0; i < report->instance_count; i++) {
        const struct item *item =
            find((struct sampler *)(uintptr_t)sampler, i, list[i].instance,
                 list[i].incarnation);

        if (item != NULL)
            list[i].use = item->use;
    }
    report->instances = list;
    return sampler->number;
}

void
sampler_told(struct sampler *sampler, int64_t number)
{
    if (number > sampler->told)
        sampler->told = number;
}
