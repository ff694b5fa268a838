/* SPDX-License-Identifier: Apache-2.0 */
#include "core/commitment.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 amount128;

static int64_t
hour_of(int64_t at_ms)
{
    return at_ms - at_ms % COMMITMENT_HOUR_MS;
}

int64_t
commitment_quantity(const struct commitment *commitment, int64_t from_ms,
                    int64_t to_ms)
{
    if (from_ms < commitment->from_ms)
        from_ms = commitment->from_ms;
    if (to_ms > commitment->to_ms)
        to_ms = commitment->to_ms;
    return from_ms < to_ms ? commitment->cards * 1000 * (to_ms - from_ms) : 0;
}

/* One hour's use that a commitment may cover. */
struct piece {
    struct commitment_use *use;
    size_t order;
    int64_t hour_ms;
    amount128 remainder;
};

static int
piece_order(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    if (a->hour_ms != b->hour_ms)
        return a->hour_ms < b->hour_ms ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int
remainder_order(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    if (a->remainder != b->remainder)
        return a->remainder > b->remainder ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static int64_t
uncovered(const struct commitment *commitment, const struct piece *piece)
{
    if (commitment->model[0] != '\0' &&
        strcmp(commitment->model, piece->use->model) != 0)
        return 0;
    return piece->use->quantity - piece->use->covered;
}

/* Covers at most `left` of the pieces of an hour; sorts them. */
static void
cover_hour(const struct commitment *commitment, struct piece *pieces,
           size_t count, int64_t most)
{
    amount128 sum = 0, have = most, left;

    for (size_t i = 0; i < count; i++)
        sum += uncovered(commitment, &pieces[i]);
    if (sum == 0 || have == 0)
        return;
    if (have > sum)
        have = sum;
    left = have;
    for (size_t i = 0; i < count; i++) {
        amount128 share = (amount128)uncovered(commitment, &pieces[i]) * have;

        pieces[i].use->covered += (int64_t)(share / sum);
        pieces[i].remainder = share % sum;
        left -= share / sum;
    }
    qsort(pieces, count, sizeof(*pieces), remainder_order);
    for (size_t i = 0; left > 0; i++, left--)
        pieces[i].use->covered++;
    qsort(pieces, count, sizeof(*pieces), piece_order);
}

static void
cover_all(const struct commitment *commitment, struct piece *pieces,
          size_t count, int64_t now_ms)
{
    for (size_t first = 0, next; first < count; first = next) {
        int64_t from_ms = pieces[first].hour_ms;
        int64_t to_ms = from_ms + COMMITMENT_HOUR_MS;

        for (next = first;
             next < count && pieces[next].hour_ms == from_ms; next++)
            pieces[next].remainder = 0;
        if (to_ms > now_ms)
            to_ms = now_ms;
        cover_hour(commitment, pieces + first, next - first,
                   commitment_quantity(commitment, from_ms, to_ms));
    }
}

void
commitment_cover(const struct commitment *list, size_t count,
                 struct commitment_use *uses, size_t use_count,
                 int64_t now_ms)
{
    scoped_arena arena = arena_new();
    struct piece *pieces =
        arena_alloc(arena, (use_count + 1) * sizeof(*pieces));

    for (size_t i = 0; i < use_count; i++) {
        assert(uses[i].quantity >= 0);
        uses[i].covered = 0;
        pieces[i] = (struct piece){ &uses[i], i, hour_of(uses[i].from_ms),
                                    0 };
    }
    if (use_count > 1)
        qsort(pieces, use_count, sizeof(*pieces), piece_order);
    for (int any = 0; any < 2; any++)
        for (size_t i = 0; i < count; i++)
            if ((list[i].model[0] == '\0') == (any == 1))
                cover_all(&list[i], pieces, use_count, now_ms);
}
