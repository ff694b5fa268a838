/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "trace/farm.h"

static double
now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* FNV-1a over the words of a decision. */
static uint64_t
digest_more(uint64_t digest, uint32_t word)
{
    for (int i = 0; i < 4; i++)
        digest = (digest ^ (word >> 8 * i & 0xff)) * 0x100000001b3;
    return digest;
}

#define DIGEST_START 0xcbf29ce484222325

static uint64_t
digest_place(uint64_t digest, struct farm_place place)
{
    return digest_more(digest_more(digest, place.site), place.cards);
}

static enum run_size
size_of(const struct shape *shape)
{
    if (shape->cards == 0)
        return RUN_CPU;
    if (shape_is_share(shape))
        return RUN_SHARE;
    return shape->cards == 1   ? RUN_ONE
           : shape->cards == 2 ? RUN_TWO
           : shape->cards <= 4 ? RUN_FOUR
                               : RUN_EIGHT;
}

void
run_known_mix(const struct openb_trace *trace, struct mix *mix)
{
    for (size_t i = 0; i < trace->class_count; i++)
        mix_count(mix, &trace->classes[i], trace->counts[i]);
}

struct mean {
    double sum;
    int64_t count;
};

static double
mean_of(struct mean mean)
{
    return mean.count > 0 ? mean.sum / (double)mean.count : 0;
}

/* Does the arrived share, in percent, round to that? */
static bool
rounds_to(double percent, int to)
{
    return percent >= to - 0.5 && percent < to + 0.5;
}

void
run_sequence(const struct openb_cluster *cluster,
             const struct openb_trace *trace, const struct sequence *sequence,
             const struct run_settings *settings, struct run_result *out)
{
    struct mean at_100 = { 0 }, at_130 = { 0 };
    double all = (double)cluster->milli, percent = 0, started = now();
    int64_t arrived = 0;
    struct farm farm;

    *out = (struct run_result){ .digest = DIGEST_START };
    farm_init(&farm, cluster, trace, sequence->order, settings);
    for (int i = 0; i < RUN_SIZES; i++)
        out->first_refusal[i] = -1;
    for (size_t i = 0; i < sequence->count; i++) {
        uint32_t class = sequence->classes[i];
        enum run_size size = size_of(&trace->classes[class]);
        struct farm_place place = farm_put(&farm, class);
        double filled = 100 * (double)farm.used_milli / all;

        arrived += shape_demand(&trace->classes[class]);
        percent = 100 * (double)arrived / all;
        out->arrived[size]++;
        out->accepted[size] += place.site != INDEX_NONE;
        if (place.site == INDEX_NONE && out->first_refusal[size] < 0)
            out->first_refusal[size] = percent;
        if (rounds_to(percent, 100))
            at_100 = (struct mean){ at_100.sum + filled, at_100.count + 1 };
        if (rounds_to(percent, 130))
            at_130 = (struct mean){ at_130.sum + filled, at_130.count + 1 };
        out->digest = digest_place(out->digest, place);
    }
    farm_release(&farm);
    for (int i = 0; i < RUN_SIZES; i++)
        if (out->first_refusal[i] < 0)
            out->first_refusal[i] = percent;
    out->alloc_100 = mean_of(at_100);
    out->alloc_130 = mean_of(at_130);
    out->decisions = sequence->count;
    out->seconds = now() - started;
}

/* --- replay --- */

struct event {
    int64_t at_s;
    bool comes;
    uint32_t pod; /* of copies * count */
};

/* Those that go make room for those that come in the same second. */
static int
event_order(const void *left, const void *right)
{
    const struct event *a = left, *b = right;

    if (a->at_s != b->at_s)
        return a->at_s < b->at_s ? -1 : 1;
    if (a->comes != b->comes)
        return a->comes ? 1 : -1;
    return a->pod < b->pod ? -1 : a->pod > b->pod;
}

static int64_t
last_second(const struct openb_trace *trace)
{
    int64_t last = 0;

    for (size_t i = 0; i < trace->count; i++)
        if (trace->pods[i].deleted_s > last)
            last = trace->pods[i].deleted_s;
    return last + 1;
}

/* Copy j of n begins at j/n of the time and goes round at its end. */
static struct event *
make_events(const struct openb_trace *trace, int64_t copies, size_t *count_out)
{
    size_t pods = trace->count * (size_t)copies, count = 0;
    struct event *events = memory_new(2 * pods, sizeof(*events));
    int64_t span = last_second(trace);

    for (size_t i = 0; i < pods; i++) {
        const struct openb_pod *pod = &trace->pods[i / (size_t)copies];
        int64_t shift = (int64_t)i % copies * span / copies;
        int64_t from = (pod->created_s + shift) % span;
        int64_t lasts = pod->deleted_s - pod->created_s;

        events[count++] = (struct event){ from, true, (uint32_t)i };
        if (lasts > 0)
            events[count++] =
                (struct event){ from + lasts, false, (uint32_t)i };
    }
    qsort(events, count, sizeof(*events), event_order);
    *count_out = count;
    return events;
}

void
run_replay(const struct openb_cluster *cluster,
           const struct openb_trace *trace, const struct sequence *sequence,
           int64_t copies, const struct run_settings *settings,
           struct run_replay *out)
{
    size_t count;
    struct event *events = make_events(trace, copies, &count);
    struct farm_place *places =
        memory_new(trace->count * (size_t)copies, sizeof(*places));
    double started = now();
    struct farm farm;

    *out = (struct run_replay){ .digest = DIGEST_START };
    farm_init(&farm, cluster, trace, sequence->order, settings);
    for (size_t i = 0; i < count; i++) {
        const struct openb_pod *pod =
            &trace->pods[events[i].pod / (size_t)copies];
        const struct shape *shape = &trace->classes[pod->class];
        struct farm_place *place = &places[events[i].pod];
        double seconds = (double)(pod->deleted_s - pod->created_s);
        double filled;

        if (!events[i].comes) {
            if (place->site != INDEX_NONE)
                farm_remove(&farm, pod->class, *place);
            continue;
        }
        *place = farm_put(&farm, pod->class);
        out->decisions++;
        out->digest = digest_place(out->digest, *place);
        out->arrived[size_of(shape)]++;
        out->accepted[size_of(shape)] += place->site != INDEX_NONE;
        out->demand += seconds * (double)shape_demand(shape);
        if (place->site != INDEX_NONE)
            out->placed += seconds * (double)shape_demand(shape);
        filled = 100 * (double)farm.used_milli / (double)cluster->milli;
        if (filled > out->peak)
            out->peak = filled;
    }
    farm_release(&farm);
    free(places);
    free(events);
    out->seconds = now() - started;
}
