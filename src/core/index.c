/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* Children of a knot: their scores fill one cache line. */
#define FAN 16
#define AHEAD 12 /* sites that are fetched ahead */
#define LEVELS 9 /* for 2^32 sites, the best of all among them */

/* The scores of one class.  levels[0] has those of the sites, each level
 * above the best of every FAN entries below; the last one has the best. */
struct tree {
    float *scores; /* NULL: not made yet */
    uint32_t *owed; /* sites that changed since */
    size_t owed_count, owed_room;
};

/* What a site is to 64 classes: sets of them. */
struct mark {
    uint64_t fits; /* they have room there */
    uint64_t held; /* their trees have a leaf for it that is a place */
    /* That leaf is not the score: the site is in the class's list, or counts
     * as good as a site can be. */
    uint64_t owed;
};

struct index {
    size_t sites, classes;
    size_t words; /* of a set of classes */
    struct index_view view;
    void *data;
    struct tree *trees;
    uint64_t *made; /* classes whose tree holds all scores but those owed */
    struct mark *marks; /* by site, words each */
    uint64_t *scratch; /* the sets of one site that fit */
    uint32_t *asked;   /* sites, and their scores */
    float *answers;
    size_t starts[LEVELS]; /* of each level in a tree's scores */
    size_t level_count, score_count;
};

static struct mark *
mark_of(const struct index *index, uint32_t site, uint32_t class)
{
    return &index->marks[site * index->words + class / 64];
}

static uint64_t
bit(uint32_t class)
{
    return (uint64_t)1 << class % 64;
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
    index->marks = memory_new(sites * index->words + 1,
                              sizeof(*index->marks));
    index->asked = memory_new(sites + 1, sizeof(*index->asked));
    index->answers = memory_new(sites + 1, sizeof(*index->answers));
    measure(index);
    for (uint32_t s = 0; s < sites; s++)
        index_touch(index, s);
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
    free(index->marks);
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
    struct mark *mark = mark_of(index, site, 0);

    assert(site < index->sites);
    index->view.fit(index->data, site, index->scratch);
    for (uint32_t w = 0; w < index->words; w++, mark++) {
        uint64_t fresh = (index->scratch[w] | mark->held) & ~mark->owed &
                         index->made[w];

        mark->fits = index->scratch[w];
        mark->owed |= fresh;
        for (; fresh != 0; fresh &= fresh - 1)
            owe(&index->trees[w * 64 + (uint32_t)__builtin_ctzll(fresh)],
                site);
    }
}

void
index_restart(struct index *index)
{
    memset(index->made, 0, index->words * sizeof(*index->made));
    for (size_t i = 0; i < index->sites * index->words; i++)
        index->marks[i].owed = index->marks[i].held = 0;
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
        mark_of(index, index->asked[i], class)->owed |= bit(class);
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
    for (uint32_t s = 0; s < index->sites; s++) {
        struct mark *mark = mark_of(index, s, class);

        mark->held |= mark->fits & bit(class);
        if ((mark->fits & bit(class)) != 0)
            index->asked[count++] = s;
    }
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
    index->made[class / 64] |= bit(class);
}

/* Sorts the list: sites that have a score go to index->asked, those that had
 * one to the list's begin, how many is returned; what came and went again is
 * left out.  Sites lie far apart in memory, so what comes next is fetched
 * ahead. */
static size_t
sort_list(struct index *index, struct tree *tree, uint32_t class,
          size_t *asked_out)
{
    size_t gone = 0, asked = 0;

    for (size_t i = 0; i < tree->owed_count; i++) {
        uint32_t site = tree->owed[i];
        struct mark *mark = mark_of(index, site, class);
        uint64_t fits = mark->fits & bit(class);

        if (i + AHEAD < tree->owed_count)
            __builtin_prefetch(mark_of(index, tree->owed[i + AHEAD], class));
        index->asked[asked] = site;
        asked += fits != 0;
        mark->owed &= ~bit(class);
        if (((mark->held | fits) & bit(class)) == 0)
            continue;
        __builtin_prefetch(&tree->scores[site]);
        if (index->level_count > 1)
            __builtin_prefetch(&tree->scores[index->starts[1] + site / FAN]);
        mark->held = (mark->held & ~bit(class)) | fits;
        tree->owed[gone] = site;
        gone += fits == 0;
    }
    tree->owed_count = 0;
    *asked_out = asked;
    return gone;
}

static void
pay(struct index *index, struct tree *tree, uint32_t class)
{
    size_t asked, gone = sort_list(index, tree, class, &asked);

    for (size_t i = 0; i < gone; i++)
        set(index, tree, tree->owed[i], INDEX_NO);
    answer(index, class, asked);
    for (size_t i = 0; i < asked; i++)
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
        float score = INDEX_NO;
        struct mark *mark;
        uint32_t site;

        if (best(index, tree) <= INDEX_NO)
            return INDEX_NONE;
        if (least <= (double)INDEX_NO)
            least = (double)best(index, tree);
        site = first(index, tree, least);
        mark = mark_of(index, site, class);
        if ((mark->owed & bit(class)) == 0)
            return site;
        mark->owed &= ~bit(class);
        if ((mark->fits & bit(class)) != 0)
            index->view.score(index->data, class, &site, 1, &score);
        else
            mark->held &= ~bit(class);
        set(index, tree, site, score);
    }
}

uint32_t
index_find(struct index *index, uint32_t class, double slack)
{
    struct tree *tree = &index->trees[class];

    assert(class < index->classes);
    if ((index->made[class / 64] & bit(class)) == 0)
        build(index, tree, class);
    else if (tree->owed_count > 0)
        pay(index, tree, class);
    /* The best leaf first: only then it is known what is near to it. */
    if (slack > 0)
        (void)find(index, tree, class, 0);
    return find(index, tree, class, slack);
}
