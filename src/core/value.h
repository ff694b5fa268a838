/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_VALUE_H
#define CORE_VALUE_H

#include "base/arena.h"
#include "core/mix.h"

/*
 * What is a node worth to the work that is still to come?
 *
 *   V(n) = sum over its cards of price(kind, free part of the card)
 *        + sum over classes c of the mix of weight(c) * sqrt(slots of c on n)
 *
 * The prices are those of a small linear program: which patterns of shares
 * fill the cards so that expected demand is met (value_prices.c).  The slot
 * counts, with diminishing returns, keep CPU, memory and whole cards of a node
 * usable together.  Work goes where it takes least away: the node with the
 * largest V(after) - V(before).
 *
 * IEEE doubles, additions in one fixed order, no contraction: the same mix
 * gives the same values on every machine and with every compiler.
 */

#define VALUE_KINDS 64  /* of cards; those behind count as the last one */
#define VALUE_CARDS 16  /* of a node that are looked at */
#define VALUE_GROUPS 64 /* sizes of requests told apart */

/* Constants of the policy, tuned on the openb traces (docs/placement.md):
 * value_default where work only comes; value_turnover where it also goes, so
 * that whole nodes which become free again are worth keeping. */
struct value_profile {
    double slots;    /* weight of the slot counts against the prices */
    double multi;    /* of that, for classes of several cards */
    double power;    /* how much their number of cards weighs, and ... */
    double often;    /* ... how often a class comes: exponents, in quarters */
    double slack;    /* first fit among places this little worse */
    double cover;    /* share of arrivals whose classes are looked at */
    double over;     /* expected demand over capacity */
    double least;    /* share of each class that must be served */
    double scarcity; /* how much dearer sought-after kinds are */
    double spec;     /* weight of classes that take few kinds only */
    int iterations;
};
extern const struct value_profile value_default, value_turnover;

/* How many cards of each kind there are. */
struct value_supply {
    size_t kinds;
    int64_t cards[VALUE_KINDS];
};

/* What is free on a node. */
struct value_node {
    int64_t cpu_milli, memory_mib;
    int32_t kind;  /* of all its cards */
    int32_t cards; /* <= VALUE_CARDS */
    int16_t free[VALUE_CARDS]; /* milli of each card */
};

struct value;

/* Of a mix with fewer than MIX_FIRST arrivals: every card is worth what is
 * free of it, so that the first node that fits is taken. */
struct value *value_new(struct arena *arena, const struct mix *mix,
                        const struct value_supply *supply,
                        const struct value_profile *profile);
/* The same with prices that were made before. */
struct value *value_with(struct arena *arena, const struct mix *mix,
                         size_t kinds, const struct value_profile *profile,
                         double (*price)[101]);
double value_slack(const struct value *value);

double value_of(const struct value *value, const struct value_node *node);

/* No place for the shape on the node. */
#define VALUE_NONE (-1e30)
/* V(after) - V(before) of the best way to put the shape there, VALUE_NONE when
 * it does not fit.  before: value_of(node).  card_out: of a share, its card;
 * whole cards are the first free ones. */
double value_gain(const struct value *value, const struct value_node *node,
                  double before, const struct shape *shape, int *card_out);

/* Is there room? */
bool value_fits(const struct value_node *node, const struct shape *shape);
/* Takes (sign 1) or gives back (-1) on a node; cards: bit i is card i. */
void value_take(struct value_node *node, const struct shape *shape,
                uint32_t cards, int sign);
/* The cards that value_gain meant. */
uint32_t value_cards(const struct value_node *node, const struct shape *shape,
                     int card);

/* price[w]: what a card with w hundredths free is worth, for each kind. */
void value_prices(const struct mix *mix, const struct value_supply *supply,
                  const struct value_profile *profile,
                  double (*price)[101]);

#endif
