/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_INDEX_H
#define CORE_INDEX_H

#include <stddef.h>
#include <stdint.h>

/*
 * Which place is best for a request, without looking at all of them?  Per
 * class of requests a tree holds the score of every site in a fixed order; a
 * log says which sites changed since the tree was last used, and only those
 * are scored again.  What is found is what a scan of all sites finds.
 */

struct index;

#define INDEX_NONE UINT32_MAX
/* A score that is no place. */
#define INDEX_NO (-1e30F)

/* The score of a site for a class; INDEX_NO: it does not fit.  Must depend on
 * nothing but the site's state and what index_restart announces. */
typedef float (*index_score)(void *data, uint32_t class, uint32_t site);

struct index *index_new(size_t sites, index_score score, void *data);
void index_free(struct index *index);

/* The state of a site changed, to the better or the worse. */
void index_touch(struct index *index, uint32_t site);
/* All scores changed. */
void index_restart(struct index *index);

/* The first site, in order, whose score is at most slack below the best one;
 * INDEX_NONE when there is no place. */
uint32_t index_find(struct index *index, uint32_t class, double slack);
/* The same without sites that turned out to be none since index_find. */
uint32_t index_next(struct index *index, uint32_t class, uint32_t refused,
                    double slack);

#endif
