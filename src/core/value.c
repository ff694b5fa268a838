/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An exact fit must count as one slot although its ratio is rounded. */
#define ROUNDING (1.0 + 0x1p-30)
#define LANES 4

const struct value_profile value_default = {
    .slots = 0.2,
    .multi = 1.2,
    .power = 1.0,
    .often = 0.75,
    .slack = 8.0,
    .cover = 0.95,
    .over = 1.0,
    .least = 0.95,
    .scarcity = 5.0,
    .spec = 200.0,
    .iterations = 600,
};

/* Classes that a kind of card serves, as columns; the count is padded to a
 * multiple of LANES with classes of weight 0. */
struct column {
    size_t count;
    double *cpu, *memory; /* 1 / what one needs */
    double *weight;
    uint16_t *group;
};

struct value {
    double slack;
    size_t kinds, groups;
    struct column columns[VALUE_KINDS];
    double price[VALUE_KINDS][101];
    /* Slots of each group: on a card with w hundredths free, and on a node
     * with so many free cards. */
    uint16_t share[101][VALUE_GROUPS];
    uint16_t whole[VALUE_CARDS + 1][VALUE_GROUPS];
};

/* --- making it --- */

struct class_order {
    size_t entry;
    int64_t count;
};

static int
by_count(const void *left, const void *right)
{
    const struct class_order *a = left, *b = right;

    if (a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return a->entry < b->entry ? -1 : a->entry > b->entry;
}

/* The group of a shape, made when it is new; VALUE_GROUPS: none left. */
static size_t
group_of(struct value *value, struct shape *groups, const struct shape *shape)
{
    size_t g = 0;

    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): those below value->groups are set */
    while (g < value->groups && (groups[g].cards != shape->cards ||
                                 groups[g].milli != shape->milli))
        g++;
    if (g < value->groups || g == VALUE_GROUPS)
        return g;
    groups[g] = *shape;
    value->groups++;
    for (int64_t w = 0; shape->cards == 1 && w <= 100; w++)
        value->share[w][g] = (uint16_t)(w / ((shape->milli + 9) / 10));
    for (int64_t n = 0; shape->cards > 1 && n <= VALUE_CARDS; n++)
        value->whole[n][g] = (uint16_t)(n / shape->cards);
    return g;
}

/* n^power without libm: power in quarters, by square roots. */
static double
raised(double n, double power)
{
    double root = __builtin_sqrt(__builtin_sqrt(n)), product = 1.0;
    int quarters = (int)(4.0 * power + 0.5);

    for (int i = 0; i < quarters; i++)
        product *= root;
    return product;
}

struct weights {
    double single, multi; /* sums of frequencies */
    double all; /* arrivals */
};

static double
mass(const struct mix_entry *entry, const struct value_profile *profile)
{
    double p = raised((double)entry->count, profile->often);

    return entry->shape.cards > 1
               ? p * raised((double)entry->shape.cards, profile->power)
               : p;
}

static struct weights
sum_weights(const struct mix *mix, const struct value_profile *profile)
{
    struct weights weights = { 0 };

    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_entry *entry = &mix->entries[i];

        weights.all += (double)entry->count;
        if (entry->shape.cards == 1)
            weights.single += mass(entry, profile);
        else if (entry->shape.cards > 1)
            weights.multi += mass(entry, profile);
    }
    return weights;
}

static double
weight_of(const struct mix_entry *entry, const struct weights *weights,
          const struct value_profile *profile)
{
    double weight = 1000.0 * profile->slots * mass(entry, profile);

    return entry->shape.cards == 1 ? weight / weights->single
                                   : profile->multi * weight / weights->multi;
}

static void
add_class(struct column *column, const struct shape *shape, size_t group,
          double weight)
{
    double cpu = (double)(shape->cpu_milli > 0 ? shape->cpu_milli : 1);
    double memory = (double)(shape->memory_mib > 0 ? shape->memory_mib : 1);
    size_t i = 0;

    /* On one kind, classes that differ in the kinds they take are one. */
    while (i < column->count && (column->group[i] != group ||
                                 column->cpu[i] != ROUNDING / cpu ||
                                 column->memory[i] != ROUNDING / memory))
        i++;
    column->cpu[i] = ROUNDING / cpu;
    column->memory[i] = ROUNDING / memory;
    column->group[i] = (uint16_t)group;
    column->weight[i] += weight;
    if (i == column->count)
        column->count++;
}

static void
start_columns(struct value *value, struct arena *arena, size_t room)
{
    room = (room + LANES - 1) / LANES * LANES;
    for (size_t k = 0; k < value->kinds; k++) {
        struct column *column = &value->columns[k];

        column->cpu = arena_alloc(arena, room * sizeof(double));
        column->memory = arena_alloc(arena, room * sizeof(double));
        column->weight = arena_alloc(arena, room * sizeof(double));
        column->group = arena_alloc(arena, room * sizeof(uint16_t));
    }
}

/* The frequent classes, and all of several cards. */
static void
fill_columns(struct value *value, struct arena *arena, const struct mix *mix,
             const struct value_profile *profile)
{
    struct class_order *order =
        arena_alloc(arena, (mix->count + 1) * sizeof(*order));
    struct weights weights = sum_weights(mix, profile);
    struct shape groups[VALUE_GROUPS];
    double covered = 0;

    start_columns(value, arena, mix->count);
    for (size_t i = 0; i < mix->count; i++)
        order[i] = (struct class_order){ i, mix->entries[i].count };
    if (mix->count > 1)
        qsort(order, mix->count, sizeof(*order), by_count);
    for (size_t i = 0; i < mix->count; i++) {
        const struct mix_entry *entry = &mix->entries[order[i].entry];
        bool frequent = covered < profile->cover * weights.all;
        size_t group;

        covered += (double)entry->count;
        if (entry->shape.cards == 0 || (!frequent && entry->shape.cards == 1))
            continue;
        group = group_of(value, groups, &entry->shape);
        for (size_t k = 0; group < VALUE_GROUPS && k < value->kinds; k++)
            if (entry->shape.kinds >> k & 1)
                add_class(&value->columns[k], &entry->shape, group,
                          weight_of(entry, &weights, profile));
    }
    for (size_t k = 0; k < value->kinds; k++) {
        struct column *column = &value->columns[k];

        column->count = (column->count + LANES - 1) / LANES * LANES;
    }
}

struct value *
value_with(struct arena *arena, const struct mix *mix, size_t kinds,
           const struct value_profile *profile, double (*price)[101])
{
    struct value *value = arena_alloc(arena, sizeof(*value));

    assert(kinds <= VALUE_KINDS);
    value->slack = profile->slack;
    value->kinds = kinds;
    memcpy(value->price, price, kinds * sizeof(*price));
    if (mix->total >= MIX_FIRST)
        fill_columns(value, arena, mix, profile);
    return value;
}

struct value *
value_new(struct arena *arena, const struct mix *mix,
          const struct value_supply *supply,
          const struct value_profile *profile)
{
    double price[VALUE_KINDS][101];

    for (size_t k = 0; k < supply->kinds; k++)
        for (int w = 0; w <= 100; w++)
            price[k][w] = 10.0 * w;
    if (mix->total >= MIX_FIRST)
        value_prices(mix, supply, profile, price);
    return value_with(arena, mix, supply->kinds, profile, price);
}

double
value_slack(const struct value *value)
{
    return value->slack;
}

/* --- of a node --- */

/* sum of weight * sqrt(slots), slots by group given; LANES sums side by side
 * are a fixed order too, and one that vectors can keep. */
static double
sum_slots(const struct column *column, const double *slots, double cpu,
          double memory)
{
    double sums[LANES] = { 0 };

    for (size_t i = 0; i < column->count; i += LANES) {
        double s[LANES];

        for (size_t l = 0; l < LANES; l++)
            s[l] = slots[column->group[i + l]];
        for (size_t l = 0; l < LANES; l++) {
            double c = cpu * column->cpu[i + l];
            double m = memory * column->memory[i + l];
            double least = c < m ? c : m;

            least = s[l] < least ? s[l] : least;
            s[l] = least >= 1.0 ? least : 0.0;
        }
        for (size_t l = 0; l < LANES; l++)
            sums[l] += column->weight[i + l] * __builtin_sqrt(s[l]);
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Slots of every group on cards of these hundredths; width >= groups, known
 * to the compiler where this is put in. */
static inline __attribute__((always_inline)) void
count_slots(const struct value *value, const uint8_t *hundredths, int cards,
            size_t width, double *real)
{
    uint16_t slots[VALUE_GROUPS];
    int full = 0;

    memset(slots, 0, width * sizeof(*slots));
    for (int i = 0; i < cards; i++) {
        const uint16_t *row = value->share[hundredths[i]];

        full += hundredths[i] == 100;
        for (size_t g = 0; g < width; g++)
            slots[g] = (uint16_t)(slots[g] + row[g]);
    }
    for (size_t g = 0; g < width; g++)
        real[g] = (uint16_t)(slots[g] + value->whole[full][g]);
}

static double
value_at(const struct value *value, int kind, const uint8_t *hundredths,
         int cards, int64_t cpu, int64_t memory)
{
    double slots[VALUE_GROUPS];
    double prices = 0;

    for (int i = 0; i < cards; i++)
        prices += value->price[kind][hundredths[i]];
    if (value->groups <= VALUE_GROUPS / 4)
        count_slots(value, hundredths, cards, VALUE_GROUPS / 4, slots);
    else if (value->groups <= VALUE_GROUPS / 2)
        count_slots(value, hundredths, cards, VALUE_GROUPS / 2, slots);
    else
        count_slots(value, hundredths, cards, VALUE_GROUPS, slots);
    return prices + sum_slots(&value->columns[kind], slots, (double)cpu,
                              (double)memory);
}

static void
fill_hundredths(const struct value_node *node, uint8_t *hundredths)
{
    for (int i = 0; i < node->cards; i++)
        hundredths[i] = (uint8_t)(node->free[i] / 10);
}

double
value_of(const struct value *value, const struct value_node *node)
{
    uint8_t hundredths[VALUE_CARDS];

    fill_hundredths(node, hundredths);
    return value_at(value, node->kind, hundredths, node->cards,
                    node->cpu_milli, node->memory_mib);
}

bool
value_fits(const struct value_node *node, const struct shape *shape)
{
    int64_t cards = 0;

    if (node->cpu_milli < shape->cpu_milli ||
        node->memory_mib < shape->memory_mib)
        return false;
    if (shape->cards == 0)
        return true;
    if (!(shape->kinds >> node->kind & 1))
        return false;
    for (int i = 0; i < node->cards; i++)
        cards += node->free[i] >= shape->milli;
    return cards >= shape->cards;
}

/* The best card for a share: each amount of free milli is tried once. */
static double
gain_share(const struct value *value, const struct value_node *node,
           const struct shape *shape, uint8_t *hundredths, int *card_out)
{
    double best = VALUE_NONE;

    for (int i = 0; i < node->cards; i++) {
        uint8_t was = hundredths[i];
        bool seen = node->free[i] < shape->milli;
        double after;

        for (int j = 0; j < i && !seen; j++)
            seen = node->free[j] == node->free[i];
        if (seen)
            continue;
        hundredths[i] = (uint8_t)((node->free[i] - shape->milli) / 10);
        after = value_at(value, node->kind, hundredths, node->cards,
                         node->cpu_milli - shape->cpu_milli,
                         node->memory_mib - shape->memory_mib);
        hundredths[i] = was;
        if (after > best) {
            best = after;
            *card_out = i;
        }
    }
    return best;
}

double
value_gain(const struct value *value, const struct value_node *node,
           double before, const struct shape *shape, int *card_out)
{
    uint8_t hundredths[VALUE_CARDS];
    int64_t left = shape->cards;

    *card_out = 0;
    if (!value_fits(node, shape))
        return VALUE_NONE;
    fill_hundredths(node, hundredths);
    if (shape_is_share(shape))
        return gain_share(value, node, shape, hundredths, card_out) - before;
    for (int i = 0; i < node->cards && left > 0; i++)
        if (node->free[i] == 1000) {
            hundredths[i] = 0;
            left--;
        }
    return value_at(value, node->kind, hundredths, node->cards,
                    node->cpu_milli - shape->cpu_milli,
                    node->memory_mib - shape->memory_mib) -
           before;
}

uint32_t
value_cards(const struct value_node *node, const struct shape *shape, int card)
{
    uint32_t cards = 0;
    int64_t left = shape->cards;

    if (shape_is_share(shape))
        return (uint32_t)1 << card;
    for (int i = 0; i < node->cards && left > 0; i++)
        if (node->free[i] == 1000) {
            cards |= (uint32_t)1 << i;
            left--;
        }
    return cards;
}

void
value_take(struct value_node *node, const struct shape *shape, uint32_t cards,
           int sign)
{
    node->cpu_milli -= sign * shape->cpu_milli;
    node->memory_mib -= sign * shape->memory_mib;
    for (int i = 0; i < node->cards; i++)
        if (cards >> i & 1)
            node->free[i] = (int16_t)(node->free[i] - sign * shape->milli);
}
