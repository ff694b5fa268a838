/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Children of a knot: their scores fill one cache line. */
#define FAN 16
#define AHEAD 4 /* sites that are fetched ahead */
#define LEVELS 9 /* for 2^32 sites, the best of all among them */

/* The scores of one class.  levels[0] has those of the sites, each level
 * above the best of every FAN entries below; the last one has the best. */
struct tree {
    float *scores; /* NULL: not made yet */
    uint32_t *owed; /* sites that changed since */
    size_t owed_count, owed_room;
};

struct index {
    size_t sites, classes;
    size_t words; /* of a set of classes */
    struct index_view view;
    void *data;
    struct tree *trees;
    uint64_t *made; /* classes whose tree holds all scores but those owed */
    /* By site, two sets side by side: the classes that fit there, and those
     * to which it is owed: its leaf there is not the score.  It is in the
     * class's list then, or counts as good as a site can be. */
    uint64_t *sets;
    uint64_t *scratch; /* a set */
    uint32_t *asked;   /* sites, and their scores */
    float *answers;
    size_t starts[LEVELS]; /* of each level in a tree's scores */
    size_t level_count, score_count;
};

static uint64_t *
fits_of(const struct index *index, uint32_t site)
{
    return &index->sets[2 * site * index->words];
}

static uint64_t *
owed_of(const struct index *index, uint32_t site)
{
    return fits_of(index, site) + index->words;
}

/* --- making it --- */

static void
measure(struct index *index)
{
    size_t count = index->sites > 0 ? index->sites : 1;

    for (;;) {
        size_t padded = (count + FAN - 1) / FAN * FAN;

        assert(index->level_count < LEVELS);
        index->starts[index->level_count++] = index->score_count;
        index->score_count += padded;
        if (count <= 1)
            break;
        count = padded / FAN;
    }
}

struct index *
index_new(size_t sites, size_t classes, const struct index_view *view,
          void *data)
{
    struct index *index = memory_new(1, sizeof(*index));

    index->sites = sites;
    index->classes = classes;
    index->words = (classes + 63) / 64;
    index->view = *view;
    index->data = data;
    index->trees = memory_new(classes + 1, sizeof(*index->trees));
    index->made = memory_new(index->words + 1, sizeof(uint64_t));
    index->scratch = memory_new(index->words + 1, sizeof(uint64_t));
    index->sets = memory_new(2 * sites * index->words + 1, sizeof(uint64_t));
    index->asked = memory_new(sites + 1, sizeof(*index->asked));
    index->answers = memory_new(sites + 1, sizeof(*index->answers));
    measure(index);
    for (size_t s = 0; s < sites; s++)
        view->fit(data, (uint32_t)s, fits_of(index, (uint32_t)s));
    return index;
}

void
index_free(struct index *index)
{
    if (index == NULL)
        return;
    for (size_t i = 0; i < index->classes; i++) {
        free(index->trees[i].scores);
        free(index->trees[i].owed);
    }
    free(index->trees);
    free(index->made);
    free(index->scratch);
    free(index->sets);
    free(index->asked);
    free(index->answers);
    free(index);
}

/* --- what changes --- */

static void
owe(struct tree *tree, uint32_t site)
{
    if (tree->owed_count == tree->owed_room) {
        tree->owed_room = 2 * tree->owed_room + 16;
        tree->owed = memory_grow(tree->owed, tree->owed_room,
                                 sizeof(*tree->owed));
    }
    tree->owed[tree->owed_count++] = site;
}

void
index_touch(struct index *index, uint32_t site)
{
    uint64_t *fits = fits_of(index, site), *owed = owed_of(index, site);

    assert(site < index->sites);
    index->view.fit(index->data, site, index->scratch);
    for (size_t w = 0; w < index->words; w++) {
        uint64_t fresh = (fits[w] | index->scratch[w]) & index->made[w];

        fits[w] = index->scratch[w];
        for (fresh &= ~owed[w]; fresh != 0; fresh &= fresh - 1) {
            size_t class = w * 64 + (size_t)__builtin_ctzll(fresh);

            owed[w] |= (uint64_t)1 << class % 64;
            owe(&index->trees[class], site);
        }
    }
}

void
index_restart(struct index *index)
{
    memset(index->made, 0, index->words * sizeof(*index->made));
    for (size_t s = 0; s < index->sites; s++)
        memset(owed_of(index, (uint32_t)s), 0,
               index->words * sizeof(*index->sets));
    for (size_t i = 0; i < index->classes; i++)
        index->trees[i].owed_count = 0;
}

/* --- scores --- */

static float
best_of(const float *scores)
{
    float best[4] = { scores[0], scores[1], scores[2], scores[3] };

    for (size_t i = 4; i < FAN; i += 4)
        for (size_t l = 0; l < 4; l++)
            best[l] = scores[i + l] > best[l] ? scores[i + l] : best[l];
    best[0] = best[1] > best[0] ? best[1] : best[0];
    best[2] = best[3] > best[2] ? best[3] : best[2];
    return best[2] > best[0] ? best[2] : best[0];
}

static void
set(const struct index *index, struct tree *tree, uint32_t site, float score)
{
    size_t at = site;

    for (size_t l = 0; l < index->level_count; l++) {
        float *level = &tree->scores[index->starts[l]];
        float was = level[at];

        if (was == score)
            return;
        level[at] = score;
        at /= FAN;
        /* Neither the best before nor the best now: nothing above changes. */
        if (l + 1 < index->level_count) {
            float best = tree->scores[index->starts[l + 1] + at];

            if (score < best && was < best)
                return;
            if (score < best)
                score = best_of(&level[at * FAN]);
        }
    }
}

static bool
is_fit(const struct index *index, uint32_t class, uint32_t site)
{
    return (fits_of(index, site)[class / 64] >> class % 64 & 1) != 0;
}

static bool
is_owed(const struct index *index, uint32_t class, uint32_t site)
{
    return (owed_of(index, site)[class / 64] >> class % 64 & 1) != 0;
}

/* The leaves of index->asked[0 .. count - 1] go to index->answers: scores, or
 * what is owed until it matters. */
static void
answer(struct index *index, uint32_t class, size_t count)
{
    float most = index->view.most(index->data, class);

    if (most <= INDEX_NO) {
        index->view.score(index->data, class, index->asked, count,
                          index->answers);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        owed_of(index, index->asked[i])[class / 64] |= (uint64_t)1
                                                       << class % 64;
        index->answers[i] = most;
    }
}

static void
build(struct index *index, struct tree *tree, uint32_t class)
{
    size_t count = 0;

    if (tree->scores == NULL)
        tree->scores = memory_new(index->score_count, sizeof(float));
    for (size_t i = 0; i < index->score_count; i++)
        tree->scores[i] = INDEX_NO;
    for (uint32_t s = 0; s < index->sites; s++)
        if (is_fit(index, class, s))
            index->asked[count++] = s;
    answer(index, class, count);
    for (size_t i = 0; i < count; i++)
        tree->scores[index->asked[i]] = index->answers[i];
    count = index->sites;
    for (size_t l = 1; l < index->level_count; l++) {
        count = (count + FAN - 1) / FAN;
        for (size_t i = 0; i < count; i++)
            tree->scores[index->starts[l] + i] =
                best_of(&tree->scores[index->starts[l - 1] + i * FAN]);
    }
    index->made[class / 64] |= (uint64_t)1 << class % 64;
}

static void
settle(struct index *index, uint32_t class, uint32_t site)
{
    owed_of(index, site)[class / 64] &= ~((uint64_t)1 << class % 64);
}

/* Looks at what is in the list.  Sites lie far apart in memory, so what comes
 * next is fetched ahead. */
static void
pay(struct index *index, struct tree *tree, uint32_t class)
{
    size_t count = 0;

    for (size_t i = 0; i < tree->owed_count; i++) {
        uint32_t site = tree->owed[i];

        if (i + AHEAD < tree->owed_count)
            __builtin_prefetch(fits_of(index, tree->owed[i + AHEAD]));
        __builtin_prefetch(&tree->scores[site]);
        settle(index, class, site);
        if (is_fit(index, class, site))
            index->asked[count++] = site;
        else
            tree->owed[i - count] = site;
    }
    for (size_t i = 0; i < tree->owed_count - count; i++)
        set(index, tree, tree->owed[i], INDEX_NO);
    tree->owed_count = 0;
    answer(index, class, count);
    for (size_t i = 0; i < count; i++)
        set(index, tree, index->asked[i], index->answers[i]);
}

/* The first site whose leaf is at least that; there is one. */
static uint32_t
first(const struct index *index, const struct tree *tree, double least)
{
    size_t at = 0;

    for (size_t l = index->level_count - 1; l > 0; l--) {
        const float *below = &tree->scores[index->starts[l - 1]];

        at *= FAN;
        while ((double)below[at] < least)
            at++;
    }
    return (uint32_t)at;
}

static float
best(const struct index *index, const struct tree *tree)
{
    return tree->scores[index->starts[index->level_count - 1]];
}

/* The first site at most slack below the best leaf, which is its score. */
static uint32_t
find(struct index *index, struct tree *tree, uint32_t class, double slack)
{
    for (;;) {
        double least = (double)best(index, tree) - slack;
        uint32_t site;
        float score = INDEX_NO;

        if (best(index, tree) <= INDEX_NO)
            return INDEX_NONE;
        if (least <= (double)INDEX_NO)
            least = (double)best(index, tree);
        site = first(index, tree, least);
        if (!is_owed(index, class, site))
            return site;
        settle(index, class, site);
        if (is_fit(index, class, site))
            index->view.score(index->data, class, &site, 1, &score);
        set(index, tree, site, score);
    }
}

uint32_t
index_find(struct index *index, uint32_t class, double slack)
{
    struct tree *tree = &index->trees[class];

    assert(class < index->classes);
    if ((index->made[class / 64] >> class % 64 & 1) == 0)
        build(index, tree, class);
    else if (tree->owed_count > 0)
        pay(index, tree, class);
    /* The best leaf first: only then it is known what is near to it. */
    if (slack > 0)
        (void)find(index, tree, class, 0);
    return find(index, tree, class, slack);
}
