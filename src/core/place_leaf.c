/* SPDX-License-Identifier: Apache-2.0 */
#include "core/place_leaf.h"

#include <stdbool.h>

/* Was its leaf seen at an earlier node? */
static bool
is_again(const struct place_fit *fits, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (fits[i].leaf == fits[number].leaf)
            return true;
    return false;
}

static struct place_fit
sum_of(const struct place_fit *fits, size_t count, size_t first)
{
    struct place_fit sum = fits[first];

    for (size_t i = first + 1; i < count && sum.leaf != 0; i++)
        if (fits[i].leaf == sum.leaf) {
            sum.fit += fits[i].fit;
            sum.units += fits[i].units;
        }
    return sum;
}

uint64_t
place_leaf_choose(const struct place_fit *fits, size_t count,
                  int64_t instances)
{
    struct place_fit best = { 0, 0, 0 };

    for (size_t i = 0; i < count; i++) {
        struct place_fit sum;

        if (fits[i].leaf == 0 || is_again(fits, i))
            continue;
        sum = sum_of(fits, count, i);
        if (sum.fit >= instances && (best.leaf == 0 || sum.fit < best.fit))
            best = sum;
    }
    return best.leaf;
}

int64_t
place_leaf_largest(const struct place_fit *fits, size_t count)
{
    int64_t largest = 0;

    for (size_t i = 0; i < count; i++) {
        struct place_fit sum;

        if (fits[i].leaf != 0 && is_again(fits, i))
            continue;
        sum = sum_of(fits, count, i);
        if (sum.units > largest)
            largest = sum.units;
    }
    return largest;
}
