/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_PLACE_OPTION_H
#define CORE_PLACE_OPTION_H

#include "core/place.h"
#include "core/place_worth.h"

/*
 * What is one node to a request: what is filtered out there, how many
 * instances fit, and how good a place is it?  For place*.c.
 */

struct option {
    uint32_t site;
    uint32_t *parts; /* that passed, in order */
    size_t count;
    int64_t fit;     /* instances */
    int64_t units;   /* cards or shares */
    bool avoid;
    bool split;      /* no one island holds all */
    int64_t left;    /* best fit: less is better */
    int64_t second;
    int64_t handovers;
    struct place_worth worth;
};

/* Fills the option for its site, and counts what is there; nothing for a site
 * of another pool. */
void place_option_look(const struct estate *estate,
                       const struct place_request *request,
                       enum place_when when, struct arena *arena,
                       struct option *option, struct place_tally *tally);
/* What options are ordered by, were `instances` of the request put there;
 * place_option_order: best fit. */
void place_option_score(const struct estate *estate,
                        const struct place_request *request,
                        enum place_when when, struct option *option,
                        int64_t instances);
int place_option_order(const struct option *a, const struct option *b);

/* Shares that one part still takes. */
int64_t place_option_shares(const struct part *part,
                            const struct class *class, enum place_when when);
/* The group in which all cards, or those of each instance, have to be; false
 * when they may be anywhere. */
bool place_option_group(const struct place_request *request,
                        enum place_group *group_out);
/* Free parts of the option in the group of one of them. */
int64_t place_option_near(const struct estate *estate,
                          const struct option *option, enum place_group group,
                          uint32_t number);
/* Did an instance of the request's workload fail on the node? */
bool place_option_fails(const struct estate *estate,
                        const struct place_request *request, struct ref node);

#endif
