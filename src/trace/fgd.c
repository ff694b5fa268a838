/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/fgd.h"

#include <math.h>
#include <stdlib.h>

#define TYPICAL 0.95
#define SIZES 128

struct typical {
    int64_t cpu_milli, cards;
    int64_t count;
    uint64_t kinds;
    double share;
    uint32_t size; /* index into sizes */
    int64_t milli;
};

struct fgd {
    struct typical *typical;
    size_t count;
    int64_t sizes[SIZES];
    size_t size_count;
    double least[101]; /* least[s]: the difference from which s is scored */
};

static int
by_count(const void *left, const void *right)
{
    const struct typical *a = left, *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Memory is ignored: pods that differ in it alone are one class. */
static void
add_typical(struct fgd *fgd, const struct mix_entry *entry)
{
    const struct shape *shape = &entry->shape;
    size_t i = 0;

    while (i < fgd->count && (fgd->typical[i].cpu_milli != shape->cpu_milli ||
                              fgd->typical[i].cards != shape->cards ||
                              fgd->typical[i].milli != shape->milli ||
                              fgd->typical[i].kinds != shape->kinds))
        i++;
    if (i == fgd->count)
        fgd->typical[fgd->count++] =
            (struct typical){ .cpu_milli = shape->cpu_milli,
                              .cards = shape->cards,
                              .milli = shape->milli,
                              .kinds = shape->kinds };
    fgd->typical[i].count += entry->count;
}

static void
keep_frequent(struct fgd *fgd, int64_t all)
{
    int64_t covered = 0;
    size_t kept = 0;

    if (fgd->count > 1)
        qsort(fgd->typical, fgd->count, sizeof(*fgd->typical), by_count);
    while (kept < fgd->count && (double)covered < TYPICAL * (double)all)
        covered += fgd->typical[kept++].count;
    fgd->count = kept;
    for (size_t i = 0; i < kept; i++) {
        struct typical *typical = &fgd->typical[i];
        uint32_t s = 0;

        typical->share = (double)typical->count / (double)covered;
        while (s < fgd->size_count && fgd->sizes[s] != typical->milli)
            s++;
        if (s == fgd->size_count && s < SIZES - 1)
            fgd->sizes[fgd->size_count++] = typical->milli;
        typical->size = s;
    }
}

struct fgd *
fgd_new(const struct mix *mix, struct arena *arena)
{
    struct fgd *fgd = arena_alloc(arena, sizeof(*fgd));

    fgd->typical =
        arena_alloc(arena, (mix->count + 1) * sizeof(*fgd->typical));
    for (size_t i = 0; i < mix->count; i++)
        add_typical(fgd, &mix->entries[i]);
    keep_frequent(fgd, mix->total);
    /* 100 / (1 + e^-x) >= s from x = ln(s / (100 - s)). */
    for (int s = 1; s < 100; s++)
        fgd->least[s] = 1000 * log(s / (100.0 - s));
    return fgd;
}

double
fgd_of(const struct fgd *fgd, const struct value_node *node)
{
    int64_t free = 0, enough[SIZES] = { 0 }, below[SIZES] = { 0 };
    double lost = 0;

    for (int i = 0; i < node->cards; i++)
        free += node->free[i];
    for (size_t s = 0; s < fgd->size_count; s++)
        for (int i = 0; i < node->cards; i++) {
            bool fits = node->free[i] >= fgd->sizes[s];

            enough[s] += fits;
            below[s] += fits ? 0 : node->free[i];
        }
    for (size_t i = 0; i < fgd->count; i++) {
        const struct typical *typical = &fgd->typical[i];
        bool usable = typical->cards > 0 &&
                      (typical->kinds >> node->kind & 1) != 0 &&
                      node->cpu_milli >= typical->cpu_milli &&
                      enough[typical->size] >= typical->cards;

        lost += typical->share *
                (double)(usable ? below[typical->size] : free);
    }
    return lost;
}

static double
after(const struct fgd *fgd, const struct value_node *node,
      const struct shape *shape, int card)
{
    struct value_node then = *node;

    value_take(&then, shape, value_cards(node, shape, card), 1);
    return fgd_of(fgd, &then);
}

static int
quantise(const struct fgd *fgd, double difference)
{
    int low = 0, high = 99;

    while (low < high) {
        int middle = (low + high + 1) / 2;

        if (difference >= fgd->least[middle])
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

int
fgd_score(const struct fgd *fgd, const struct value_node *node, double before,
          const struct shape *shape, int *card_out)
{
    double best = 1e300;

    *card_out = 0;
    if (!value_fits(node, shape))
        return -1;
    if (!shape_is_share(shape))
        return quantise(fgd, before - after(fgd, node, shape, 0));
    for (int i = 0; i < node->cards; i++) {
        bool seen = node->free[i] < shape->milli;
        double lost;

        for (int j = 0; j < i && !seen; j++)
            seen = node->free[j] == node->free[i];
        if (seen)
            continue;
        lost = after(fgd, node, shape, i);
        if (lost < best) {
            best = lost;
            *card_out = i;
        }
    }
    return quantise(fgd, before - best);
}

int
fgd_best_fit(const struct value_node *node, const struct shape *shape,
             int *card_out)
{
    double cards = 0, cpu = (double)(node->cpu_milli - shape->cpu_milli);
    int best = -1;

    *card_out = 0;
    if (!value_fits(node, shape))
        return -1;
    for (int i = 0; i < node->cards; i++) {
        cards += node->free[i];
        if (node->free[i] >= shape->milli &&
            (best < 0 || node->free[i] < node->free[best]))
            best = i;
    }
    *card_out = best < 0 ? 0 : best;
    cards -= (double)shape_demand(shape);
    return (int)floor(100 * (1 - (0.5 * cpu / 128000 + 0.5 * cards / 8000)));
}
