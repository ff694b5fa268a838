/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/sequence.h"

#include <assert.h>

#include <string.h>

/* Streams of one seed. */
enum stream { STREAM_PODS = 1, STREAM_NODES = 2 };

uint64_t
sequence_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

uint64_t
sequence_below(uint64_t *state, uint64_t bound)
{
    uint64_t least, value;

    assert(bound > 0);
    least = -bound % bound;
    do
        value = sequence_random(state);
    while (value < least);
    return value % bound;
}

static uint64_t
start_stream(uint64_t seed, enum stream stream)
{
    uint64_t state = seed * 0x2545f4914f6cdd1d + (uint64_t)stream;

    return sequence_random(&state);
}

static void
shuffle(uint64_t *state, uint32_t *items, size_t count)
{
    for (size_t i = count; i > 1; i--) {
        size_t j = sequence_below(state, i);
        uint32_t item = items[i - 1];

        items[i - 1] = items[j];
        items[j] = item;
    }
}

static void
append(struct sequence *sequence, struct arena *arena, uint32_t class)
{
    if (sequence->count == sequence->room) {
        uint32_t *grown = arena_alloc(
            arena, 2 * sequence->room * sizeof(*sequence->classes));

        memcpy(grown, sequence->classes,
               sequence->count * sizeof(*sequence->classes));
        sequence->classes = grown;
        sequence->room *= 2;
    }
    sequence->classes[sequence->count++] = class;
}

static void
tune(const struct openb_trace *trace, double most, uint64_t *state,
     struct arena *arena, struct sequence *sequence)
{
    int64_t total = 0;

    for (size_t i = 0; i < sequence->count; i++)
        total += shape_demand(&trace->classes[sequence->classes[i]]);
    while ((double)total > most) {
        size_t i = sequence_below(state, sequence->count);

        total -= shape_demand(&trace->classes[sequence->classes[i]]);
        memmove(&sequence->classes[i], &sequence->classes[i + 1],
                (sequence->count - i - 1) * sizeof(*sequence->classes));
        sequence->count--;
    }
    for (;;) {
        uint32_t class =
            trace->pods[sequence_below(state, trace->count)].class;

        /* Sic: the published simulator adds what one card is asked for. */
        if ((double)(total + trace->classes[class].milli) > most)
            return;
        total += shape_demand(&trace->classes[class]);
        append(sequence, arena, class);
    }
}

void
sequence_make(const struct openb_cluster *cluster,
              const struct openb_trace *trace, uint64_t seed, double load,
              struct arena *arena, struct sequence *out)
{
    uint64_t pods = start_stream(seed, STREAM_PODS);
    uint64_t nodes = start_stream(seed, STREAM_NODES);

    out->count = trace->count;
    out->room = trace->count + 1024;
    out->classes = arena_alloc(arena, out->room * sizeof(*out->classes));
    for (size_t i = 0; i < trace->count; i++)
        out->classes[i] = trace->pods[i].class;
    shuffle(&pods, out->classes, out->count);
    tune(trace, load * (double)cluster->milli, &pods, arena, out);
    out->order = arena_alloc(arena, cluster->count * sizeof(*out->order));
    for (size_t i = 0; i < cluster->count; i++)
        out->order[i] = (uint32_t)i;
    shuffle(&nodes, out->order, cluster->count);
}
