/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEADS_H
#define CORE_HEADS_H

#include "core/model.h"

/*
 * Where does the list of what points at an object begin and end?
 *
 * Slots are small numbers, so the heads of the lists lie in arrays by the slot
 * of the target, one array for each kind that points, place from which it
 * points and kind of target: no key, no hash, and a list is found by three
 * steps however many there are.  Arrays come in pieces, so growing copies no
 * head.
 */

struct head {
    uint32_t first, last; /* slots of what points; 0: none */
};

/* Place 0: an object is below the target; 1 ...: its FIELD_INDEX members. */
#define HEADS_PLACES (1 + WORLD_INDEXES)
#define HEADS_PIECE 128 /* heads */

struct heads {
    uint16_t number[KIND_COUNT][HEADS_PLACES][KIND_COUNT]; /* + 1; 0: none */
    struct heads_array {
        struct head **pieces;
        size_t count; /* of pieces, also those that are NULL */
    } *arrays;
    size_t array_count;
};

void heads_release(struct heads *heads);
void heads_copy(struct heads *copy, const struct heads *heads);
/* Made when there is none; it stays where it is. */
struct head *heads_put(struct heads *heads, enum kind kind, unsigned place,
                       struct ref target);

/* Empty when nothing points there. */
static inline struct head
heads_find(const struct heads *heads, enum kind kind, unsigned place,
           struct ref target)
{
    unsigned number = heads->number[kind][place][target.kind];
    size_t piece = target.index / HEADS_PIECE;
    const struct heads_array *array;

    if (number == 0)
        return (struct head){ 0, 0 };
    array = &heads->arrays[number - 1];
    if (piece >= array->count || array->pieces[piece] == NULL)
        return (struct head){ 0, 0 };
    return array->pieces[piece][target.index % HEADS_PIECE];
}

#endif
