/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ends.h"

#include "core/estate_private.h"

#define COST_END 4 /* units of the budget */
#define OTHER (UINT32_C(1) << 31)

struct ends {
    struct ending *heap;
    size_t count, room;
    uint32_t *others;
    size_t other_count, other_room;
    uint32_t *at; /* by run: in the heap, or OTHER | in the others;
                     ESTATE_NONE */
    size_t at_room;
    struct marks changed; /* runs */
};

void
ends_on(struct estate *estate)
{
    estate->ends = arena_alloc(estate->arena, sizeof(*estate->ends));
}

void
ends_mark(struct estate *estate, uint32_t run)
{
    estate_mark(estate, &estate->ends->changed, run);
}

bool
ends_before(const struct ending *a, const struct ending *b)
{
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms;
    if (a->started_ms != b->started_ms)
        return a->started_ms < b->started_ms;
    if (a->seq != b->seq)
        return a->seq < b->seq;
    return a->part < b->part;
}

/* --- the heap --- */

static void
put(struct ends *ends, size_t at, const struct ending *ending)
{
    ends->heap[at] = *ending;
    ends->at[ending->run] = (uint32_t)at;
}

static void
sift(struct ends *ends, size_t at, struct ending ending)
{
    while (at > 0 && ends_before(&ending, &ends->heap[(at - 1) / 2])) {
        put(ends, at, &ends->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= ends->count)
            break;
        if (child + 1 < ends->count &&
            ends_before(&ends->heap[child + 1], &ends->heap[child]))
            child++;
        if (!ends_before(&ends->heap[child], &ending))
            break;
        put(ends, at, &ends->heap[child]);
        at = child;
    }
    put(ends, at, &ending);
}

/* --- a run --- */

enum place { PLACE_NONE, PLACE_HEAP, PLACE_OTHERS };

static enum place
place_of(const struct run *run)
{
    if (ref_is_none(run->workload))
        return PLACE_NONE;
    if (run->started_ms <= 0 || run->leaving || run->surplus)
        return PLACE_OTHERS;
    return run->count > 0 ? PLACE_HEAP : PLACE_NONE;
}

static struct ending
ending_of(const struct run *run, uint32_t number)
{
    return (struct ending){ run->end_ms, run->started_ms, run->seq, 0,
                            number };
}

static void
take_out(struct ends *ends, uint32_t run)
{
    uint32_t at = ends->at[run];

    ends->at[run] = ESTATE_NONE;
    if (at == ESTATE_NONE)
        return;
    if ((at & OTHER) != 0) {
        uint32_t last = ends->others[--ends->other_count];

        at &= ~OTHER;
        if (at == ends->other_count)
            return;
        ends->others[at] = last;
        ends->at[last] = OTHER | at;
    } else {
        struct ending last = ends->heap[--ends->count];

        if (at < ends->count)
            sift(ends, at, last);
    }
}

static void
put_in(struct estate *estate, uint32_t number)
{
    struct ends *ends = estate->ends;
    const struct run *run = &estate->runs[number];

    switch (place_of(run)) {
    case PLACE_NONE:
        break;
    case PLACE_HEAP:
        if (ends->room == 0) { /* so that no large one is copied */
            ends->room = 2 * estate->run_count + 64;
            ends->heap = arena_alloc(estate->arena,
                                     ends->room * sizeof(*ends->heap));
        }
        ends->heap = estate_grow(estate, ends->heap, &ends->room,
                                 ends->count + 1, sizeof(*ends->heap));
        sift(ends, ends->count++, ending_of(run, number));
        break;
    case PLACE_OTHERS:
        ends->others = estate_grow(estate, ends->others, &ends->other_room,
                                   ends->other_count + 1,
                                   sizeof(*ends->others));
        ends->at[number] = OTHER | (uint32_t)ends->other_count;
        ends->others[ends->other_count++] = number;
        break;
    }
}

bool
ends_settle(struct estate *estate)
{
    struct ends *ends = estate->ends;
    struct marks *changed = &ends->changed;

    while (changed->count > 0) {
        uint32_t run;

        if (!budget_take(estate->budget, COST_END))
            return false;
        run = changed->list[--changed->count];
        changed->flags[run] = 0;
        (void)estate_place(estate, &ends->at, &ends->at_room, run);
        take_out(ends, run);
        put_in(estate, run);
    }
    return true;
}

const struct ending *
ends_heap(const struct estate *estate, size_t *count_out)
{
    *count_out = estate->ends->count;
    return estate->ends->heap;
}

const uint32_t *
ends_others(const struct estate *estate, size_t *count_out)
{
    *count_out = estate->ends->other_count;
    return estate->ends->others;
}

/* --- is it true? --- */

static bool
heap_is_true(const struct estate *estate)
{
    const struct ends *ends = estate->ends;

    for (size_t i = 0; i < ends->count; i++) {
        const struct ending *ending = &ends->heap[i];
        struct ending now =
            ending_of(&estate->runs[ending->run], ending->run);

        if (ends->at[ending->run] != i ||
            (i > 0 && !ends_before(&ends->heap[(i - 1) / 2], ending)))
            return false;
        if (ends->changed.flags[ending->run] == 0 &&
            (ends_before(&now, ending) || ends_before(ending, &now)))
            return false;
    }
    return true;
}

bool
ends_is_true(const struct estate *estate)
{
    const struct ends *ends = estate->ends;

    for (uint32_t i = 0; i < estate->run_count; i++) {
        enum place place = place_of(&estate->runs[i]);
        uint32_t at = i < ends->at_room ? ends->at[i] : ESTATE_NONE;
        bool marked = i < ends->changed.flag_room &&
                      ends->changed.flags[i] != 0;

        if (!marked &&
            (place == PLACE_NONE
                 ? at != ESTATE_NONE
                 : at == ESTATE_NONE ||
                       ((at & OTHER) != 0) != (place == PLACE_OTHERS)))
            return false;
    }
    return heap_is_true(estate);
}
