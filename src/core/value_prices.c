/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value.h"

#include <string.h>

/*
 * Prices of partly free cards.  The linear program: choose for every kind of
 * card how often each pattern of shares is used, so that of each class at
 * least `least` and at most all of the expected demand is served and the
 * milli-cards served are most.  Its dual has one multiplier per class and
 * falls apart into one knapsack over hundredths of a card per kind; it is
 * solved by a subgradient method with Polyak steps.  The multipliers are
 * averaged over the second half of the steps: one vertex of the dual would
 * give prices with jumps.
 */

#define STEP_FIRST 0.02 /* of all milli-cards: how far the target lies below */
#define STEP_SHRINK 0.75
#define STEP_EVERY 40

/* Classes of the same size, count and kinds are one. */
struct group {
    int size; /* hundredths of a card */
    int64_t cards;
    uint64_t kinds;
    double worth;  /* milli-cards of one */
    double demand; /* expected number */
    double pi, sum; /* its multiplier, and the sum over the steps */
    double served, slope;
};

struct program {
    struct group *groups;
    size_t count;
    size_t kinds;
    const int64_t *supply;
    double total; /* milli-cards there are */
    double least;
    double (*best)[101]; /* of the knapsack, by kind and hundredths */
};

static bool
is_whole(const struct group *group)
{
    return group->size == 100;
}

static void
add_group(struct program *program, const struct mix_entry *entry)
{
    const struct shape *shape = &entry->shape;
    int size = (int)((shape->milli + 9) / 10);
    struct group *group;
    size_t i = 0;

    while (i < program->count && (program->groups[i].size != size ||
                                  program->groups[i].cards != shape->cards ||
                                  program->groups[i].kinds != shape->kinds))
        i++;
    group = &program->groups[i];
    if (i == program->count) {
        program->count++;
        group->size = size;
        group->cards = shape->cards;
        group->kinds = shape->kinds;
        group->worth = (double)shape_demand(shape);
    }
    group->demand += (double)entry->count;
}

static void
start(struct program *program, const struct mix *mix, double over)
{
    double asked = 0;

    for (size_t i = 0; i < mix->count; i++)
        if (mix->entries[i].shape.cards > 0)
            add_group(program, &mix->entries[i]);
    for (size_t i = 0; i < program->count; i++)
        asked += program->groups[i].demand * program->groups[i].worth;
    for (size_t i = 0; i < program->count; i++)
        program->groups[i].demand *= over * program->total / asked;
}

/* best[w]: most that a card with w hundredths free can earn; item[w]: the
 * share that is put in first there, -1: one hundredth stays empty, -2: the
 * whole card goes to whole. */
static int
knapsack(const struct program *program, size_t kind, double *best, int *item)
{
    int whole = -1;
    double earned = 0;

    best[0] = 0;
    for (int w = 1; w <= 100; w++) {
        best[w] = best[w - 1];
        item[w] = -1;
        for (size_t i = 0; i < program->count; i++) {
            const struct group *group = &program->groups[i];
            double gain = group->worth - group->pi;

            if (is_whole(group) || group->size > w || gain <= 0 ||
                !(group->kinds >> kind & 1))
                continue;
            if (best[w - group->size] + gain > best[w]) {
                best[w] = best[w - group->size] + gain;
                item[w] = (int)i;
            }
        }
    }
    for (size_t i = 0; i < program->count; i++) {
        const struct group *group = &program->groups[i];
        double gain = (group->worth - group->pi) / (double)group->cards;

        if (is_whole(group) && (group->kinds >> kind & 1) && gain > earned) {
            earned = gain;
            whole = (int)i;
        }
    }
    if (earned <= best[100])
        return -1;
    best[100] = earned;
    return whole;
}

/* Fills `best` and what is served; returns the value of the dual. */
static double
solve(struct program *program)
{
    double dual = 0;

    for (size_t i = 0; i < program->count; i++)
        program->groups[i].served = 0;
    for (size_t kind = 0; kind < program->kinds; kind++) {
        double supply = (double)program->supply[kind];
        int item[101];
        int whole = knapsack(program, kind, program->best[kind], item);

        dual += supply * program->best[kind][100];
        if (whole >= 0)
            program->groups[whole].served +=
                supply / (double)program->groups[whole].cards;
        for (int w = 100; whole < 0 && w > 0;) {
            if (item[w] < 0) {
                w--;
                continue;
            }
            program->groups[item[w]].served += supply;
            w -= program->groups[item[w]].size;
        }
    }
    for (size_t i = 0; i < program->count; i++) {
        const struct group *group = &program->groups[i];

        dual += group->pi * group->demand *
                (group->pi < 0 ? program->least : 1.0);
    }
    return dual;
}

static double
slope_of(const struct group *group, double least)
{
    double over = group->demand - group->served;
    double under = least * group->demand - group->served;

    if (group->pi > 0)
        return over;
    if (group->pi < 0)
        return under;
    return over < 0 ? over : under > 0 ? under : 0;
}

static void
step(struct program *program, double distance)
{
    double square = 0;

    for (size_t i = 0; i < program->count; i++) {
        struct group *group = &program->groups[i];

        group->slope = slope_of(group, program->least);
        square += group->slope * group->slope;
    }
    for (size_t i = 0; i < program->count && square > 0; i++)
        program->groups[i].pi -=
            program->groups[i].slope * distance / square;
}

static void
iterate(struct program *program, int iterations)
{
    double best = 1e300, reach = 1.0;
    int summed = 0;

    for (int n = 0; n < iterations; n++) {
        double dual = solve(program);

        if (dual < best)
            best = dual;
        if (n > 0 && n % STEP_EVERY == 0)
            reach *= STEP_SHRINK;
        if (n >= iterations / 2) {
            summed++;
            for (size_t i = 0; i < program->count; i++)
                program->groups[i].sum += program->groups[i].pi;
        }
        step(program, dual - best + reach * STEP_FIRST * program->total);
    }
    for (size_t i = 0; i < program->count && summed > 0; i++)
        program->groups[i].pi = program->groups[i].sum / summed;
    (void)solve(program);
}

/* Kinds that earn more than the plainest are kept for those who need them. */
static void
add_scarcity(size_t kinds, double scarcity, double (*price)[101])
{
    double plainest = 1e300;

    for (size_t kind = 0; kind < kinds; kind++)
        if (price[kind][100] < plainest)
            plainest = price[kind][100];
    for (size_t kind = 0; kind < kinds; kind++) {
        double extra = scarcity * (price[kind][100] - plainest);

        for (int w = 0; w <= 100; w++)
            price[kind][w] += extra * w / 100;
    }
}

static double
cards_of(const struct program *program, uint64_t kinds)
{
    double cards = 0;

    for (size_t k = 0; k < program->kinds; k++)
        if (kinds >> k & 1)
            cards += (double)program->supply[k];
    return cards;
}

/* Kinds that picky classes want are kept for them.  A class presses on the
 * kinds that it takes by its demand for each of their cards, as far as that is
 * more than if it took all kinds that classes of so many cards take. */
static void
add_pressure(const struct program *program, double spec)
{
    double pressure[VALUE_KINDS] = { 0 }, least = 1e300;

    for (size_t i = 0; i < program->count; i++) {
        const struct group *group = &program->groups[i];
        double demand = group->demand * group->worth / 1000;
        double cards = cards_of(program, group->kinds);
        uint64_t all = 0;

        for (size_t j = 0; j < program->count; j++)
            if (program->groups[j].cards == group->cards)
                all |= program->groups[j].kinds;
        for (size_t k = 0; k < program->kinds && cards > 0; k++)
            if (group->kinds >> k & 1)
                pressure[k] +=
                    demand / cards - demand / cards_of(program, all);
    }
    for (size_t k = 0; k < program->kinds; k++) {
        /* A little of it is no reason to stay away. */
        if (pressure[k] < 1.0)
            pressure[k] *= pressure[k];
        if (pressure[k] < least)
            least = pressure[k];
    }
    for (size_t k = 0; k < program->kinds; k++)
        for (int w = 0; w <= 100; w++)
            program->best[k][w] += spec * (pressure[k] - least) * w / 100;
}

void
value_prices(const struct mix *mix, const struct value_supply *supply,
             const struct value_profile *profile, double (*price)[101])
{
    scoped_arena arena = arena_new();
    struct program program = {
        .groups = arena_alloc(arena, (mix->count + 1) * sizeof(struct group)),
        .kinds = supply->kinds,
        .supply = supply->cards,
        .least = profile->least,
        .best = price,
    };

    for (size_t kind = 0; kind < supply->kinds; kind++)
        program.total += 1000.0 * (double)supply->cards[kind];
    start(&program, mix, profile->over);
    iterate(&program, profile->iterations);
    add_scarcity(supply->kinds, profile->scarcity, price);
    add_pressure(&program, profile->spec);
}
