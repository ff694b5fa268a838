/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_H
#define CORE_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which place is best for a request, without looking at all of them?
 *
 * Per class of requests a tree holds the score of every site in a fixed order.
 * A site that changes is noted for the classes that fit there, or did before;
 * it is scored again when such a class is asked for.  So a change costs what
 * it concerns: in a full cluster few classes fit on a site, and a class that
 * is never asked for costs nothing.  Where it is known how high the scores of a
 * class are at most, a site counts as that good until it would be taken.  What
 * is found is what a scan of all sites finds.
 */

struct index;

#define INDEX_NONE UINT32_MAX
/* A score that is no place. */
#define INDEX_NO (-1e30F)

/* Both must depend on nothing but the sites' state, the scores also on what
 * index_restart announces. */
struct index_view {
    /* Sets bit c % 64 of fits[c / 64] for each class c that may have a place
     * on the site, and clears the others. */
    void (*fit)(void *data, uint32_t site, uint64_t *fits);
    /* No score of the class is higher; INDEX_NO: that is not known. */
    float (*most)(void *data, uint32_t class);
    /* The scores of sites for a class that fits on all of them. */
    void (*score)(void *data, uint32_t class, const uint32_t *sites,
                  size_t count, float *scores);
};

/* Looks at the sites as they are. */
struct index *index_new(size_t sites, size_t classes,
                        const struct index_view *view, void *data);
void index_free(struct index *index);

/* The state of a site changed, to the better or the worse. */
void index_touch(struct index *index, uint32_t site);
/* All scores changed. */
void index_restart(struct index *index);

/* The first site, in order, whose score is at most slack below the best one;
 * INDEX_NONE when there is no place. */
uint32_t index_find(struct index *index, uint32_t class, double slack);

#endif
