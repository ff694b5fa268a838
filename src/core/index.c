/* SPDX-License-Identifier: Apache-2.0 */
#include "core/index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

/* The scores of one class: nodes[1] is the best, the children of i are 2i and
 * 2i+1, site s is nodes[leaves + s]. */
struct tree {
    float *nodes;    /* NULL: not made yet */
    uint64_t seen;   /* of the log */
    uint64_t epoch;
    uint32_t *refused; /* sites set to INDEX_NO without being so */
    size_t refused_count, refused_room;
};

struct index {
    size_t sites, leaves;
    index_score score;
    void *data;
    struct tree *trees;
    size_t tree_count;
    uint64_t epoch;
    /* The newest changes; entry n of all lies at log[n % room]. */
    uint32_t *log;
    size_t log_room;
    uint64_t logged;
    uint64_t *stamps; /* by site: the walk that met it last */
    uint64_t walk;
};

struct index *
index_new(size_t sites, index_score score, void *data)
{
    struct index *index = memory_new(1, sizeof(*index));

    index->sites = sites;
    index->score = score;
    index->data = data;
    index->leaves = 1;
    while (index->leaves < sites)
        index->leaves *= 2;
    index->log_room = sites + 64;
    index->log = memory_new(index->log_room, sizeof(*index->log));
    index->stamps = memory_new(sites + 1, sizeof(*index->stamps));
    return index;
}

void
index_free(struct index *index)
{
    if (index == NULL)
        return;
    for (size_t i = 0; i < index->tree_count; i++) {
        free(index->trees[i].nodes);
        free(index->trees[i].refused);
    }
    free(index->trees);
    free(index->log);
    free(index->stamps);
    free(index);
}

void
index_touch(struct index *index, uint32_t site)
{
    assert(site < index->sites);
    index->log[index->logged++ % index->log_room] = site;
}

void
index_restart(struct index *index)
{
    index->epoch++;
}

static float
larger(float a, float b)
{
    return a > b ? a : b;
}

static void
set_leaf(const struct index *index, struct tree *tree, uint32_t site,
         float score)
{
    float *nodes = tree->nodes;
    size_t i = index->leaves + site;

    if (nodes[i] == score)
        return;
    nodes[i] = score;
    while (i > 1) {
        float best = larger(nodes[i], nodes[i ^ 1]);

        i /= 2;
        if (nodes[i] == best)
            return;
        nodes[i] = best;
    }
}

static void
build(struct index *index, struct tree *tree, uint32_t class)
{
    if (tree->nodes == NULL)
        tree->nodes = memory_new(2 * index->leaves, sizeof(float));
    for (size_t s = 0; s < index->leaves; s++)
        tree->nodes[index->leaves + s] =
            s < index->sites ? index->score(index->data, class, (uint32_t)s)
                             : INDEX_NO;
    for (size_t i = index->leaves - 1; i > 0; i--)
        tree->nodes[i] = larger(tree->nodes[2 * i], tree->nodes[2 * i + 1]);
    tree->epoch = index->epoch;
    tree->seen = index->logged;
    tree->refused_count = 0;
}

static void
rescore(struct index *index, struct tree *tree, uint32_t class, uint32_t site)
{
    if (index->stamps[site] == index->walk)
        return;
    index->stamps[site] = index->walk;
    set_leaf(index, tree, site, index->score(index->data, class, site));
}

/* Brings the tree of a class up to date. */
static struct tree *
follow(struct index *index, uint32_t class)
{
    struct tree *tree;

    if (class >= index->tree_count) {
        size_t count = 2 * (size_t)class + 16;

        index->trees =
            memory_grow(index->trees, count, sizeof(*index->trees));
        memset(&index->trees[index->tree_count], 0,
               (count - index->tree_count) * sizeof(*index->trees));
        index->tree_count = count;
    }
    tree = &index->trees[class];
    if (tree->nodes == NULL || tree->epoch != index->epoch ||
        index->logged - tree->seen > index->log_room) {
        build(index, tree, class);
        return tree;
    }
    index->walk++;
    for (uint64_t n = index->logged; n > tree->seen; n--)
        rescore(index, tree, class, index->log[(n - 1) % index->log_room]);
    for (size_t i = 0; i < tree->refused_count; i++)
        rescore(index, tree, class, tree->refused[i]);
    tree->refused_count = 0;
    tree->seen = index->logged;
    return tree;
}

static uint32_t
descend(const struct index *index, const struct tree *tree, double slack)
{
    double least = (double)tree->nodes[1] - slack;
    size_t i = 1;

    if (tree->nodes[1] <= INDEX_NO)
        return INDEX_NONE;
    if (least <= (double)INDEX_NO)
        least = (double)tree->nodes[1];
    while (i < index->leaves)
        i = (double)tree->nodes[2 * i] >= least ? 2 * i : 2 * i + 1;
    return (uint32_t)(i - index->leaves);
}

uint32_t
index_find(struct index *index, uint32_t class, double slack)
{
    return descend(index, follow(index, class), slack);
}

uint32_t
index_next(struct index *index, uint32_t class, uint32_t refused, double slack)
{
    struct tree *tree = &index->trees[class];

    assert(class < index->tree_count && tree->nodes != NULL);
    if (tree->refused_count == tree->refused_room) {
        tree->refused_room = 2 * tree->refused_room + 16;
        tree->refused = memory_grow(tree->refused, tree->refused_room,
                                    sizeof(*tree->refused));
    }
    tree->refused[tree->refused_count++] = refused;
    set_leaf(index, tree, refused, INDEX_NO);
    return descend(index, tree, slack);
}
