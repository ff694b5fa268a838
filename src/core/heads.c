/* SPDX-License-Identifier: Apache-2.0 */
#include "core/heads.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

void
heads_release(struct heads *heads)
{
    for (size_t i = 0; i < heads->array_count; i++) {
        struct heads_array *array = &heads->arrays[i];

        for (size_t k = 0; k < array->count; k++)
            free(array->pieces[k]);
        free(array->pieces);
    }
    free(heads->arrays);
    memset(heads, 0, sizeof(*heads));
}

static void
array_copy(struct heads_array *copy, const struct heads_array *array)
{
    copy->count = array->count;
    copy->pieces = memory_new(array->count, sizeof(*copy->pieces));
    for (size_t i = 0; i < array->count; i++) {
        if (array->pieces[i] == NULL)
            continue;
        copy->pieces[i] = memory_new(HEADS_PIECE, sizeof(struct head));
        memcpy(copy->pieces[i], array->pieces[i],
               HEADS_PIECE * sizeof(struct head));
    }
}

void
heads_copy(struct heads *copy, const struct heads *heads)
{
    *copy = *heads;
    copy->arrays = memory_new(heads->array_count, sizeof(*copy->arrays));
    for (size_t i = 0; i < heads->array_count; i++)
        array_copy(&copy->arrays[i], &heads->arrays[i]);
}

struct head *
heads_put(struct heads *heads, enum kind kind, unsigned place,
          struct ref target)
{
    uint16_t *number = &heads->number[kind][place][target.kind];
    size_t piece = target.index / HEADS_PIECE;
    struct heads_array *array;

    if (*number == 0) {
        heads->arrays = memory_grow(heads->arrays, heads->array_count + 1,
                                    sizeof(*heads->arrays));
        heads->arrays[heads->array_count++] = (struct heads_array){ NULL, 0 };
        *number = (uint16_t)heads->array_count;
    }
    array = &heads->arrays[*number - 1];
    if (piece >= array->count) {
        size_t count = piece + 1 + piece / 2;

        array->pieces =
            memory_grow(array->pieces, count, sizeof(*array->pieces));
        while (array->count < count)
            array->pieces[array->count++] = NULL;
    }
    if (array->pieces[piece] == NULL)
        array->pieces[piece] = memory_new(HEADS_PIECE, sizeof(struct head));
    return &array->pieces[piece][target.index % HEADS_PIECE];
}
