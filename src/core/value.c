/* SPDX-License-Identifier: Apache-2.0 */
#include "core/value.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An exact fit must count as one slot although its ratio is rounded. */
#define ROUNDING (1.0 + 0x1p-30)
#define LANES 4
/* Numbers of slots of groups that are added side by side: an extension that
 * gcc and clang share. */
#define BLOCK 8
typedef uint16_t block __attribute__((vector_size(BLOCK * sizeof(uint16_t))));
#define BLOCKS (VALUE_GROUPS / BLOCK)

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

const struct value_profile value_turnover = {
    .slots = 0.2,
    .multi = 12.0,
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

/* The classes that a kind of card serves. */
struct served {
    double cpu, memory; /* 1 / what one needs */
    double weight;
    size_t group;
};
struct column {
    size_t count, words; /* words: of a set of classes */
    struct served *classes;
    /* The classes that have slots, as sets: of one card where so many
     * hundredths are free at most, of several where so many cards are. */
    uint64_t *single, *multi;
};

struct value {
    double slack;
    size_t kinds, groups;
    struct column columns[VALUE_KINDS];
    double price[VALUE_KINDS][101];
    /* Slots of each group: on a card with w hundredths free, and on a node
     * with so many free cards. */
    block share[101][BLOCKS];
    block whole[VALUE_CARDS + 1][BLOCKS];
    size_t blocks; /* that hold the groups */
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
        value->share[w][g / BLOCK][g % BLOCK] =
            (uint16_t)(w / ((shape->milli + 9) / 10));
    for (int64_t n = 0; shape->cards > 1 && n <= VALUE_CARDS; n++)
        value->whole[n][g / BLOCK][g % BLOCK] = (uint16_t)(n / shape->cards);
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
    struct served served = { ROUNDING / cpu, ROUNDING / memory, 0, group };
    struct served *classes = column->classes;
    size_t i = 0;

    /* On one kind, classes that differ in the kinds they take are one. */
    while (i < column->count && (classes[i].group != group ||
                                 classes[i].cpu != served.cpu ||
                                 classes[i].memory != served.memory))
        i++;
    if (i == column->count)
        classes[column->count++] = served;
    classes[i].weight += weight;
}

static void
start_columns(struct value *value, struct arena *arena, size_t room)
{
    for (size_t k = 0; k < value->kinds; k++) {
        struct column *column = &value->columns[k];

        column->classes =
            arena_alloc(arena, room * sizeof(*column->classes));
    }
}

/* Those of the classes that have slots, by the group's. */
static void
add_slots(const struct column *column, const block *slots, uint64_t *set)
{
    for (size_t i = 0; i < column->count; i++) {
        size_t group = column->classes[i].group;

        if (slots[group / BLOCK][group % BLOCK] > 0)
            set[i / 64] |= (uint64_t)1 << i % 64;
    }
}

static void
finish_columns(struct value *value, struct arena *arena)
{
    value->blocks = (value->groups + BLOCK - 1) / BLOCK;
    for (size_t k = 0; k < value->kinds; k++) {
        struct column *column = &value->columns[k];
        size_t words = column->words = (column->count + 63) / 64;

        column->single = arena_alloc(arena, 101 * words * sizeof(uint64_t));
        column->multi = arena_alloc(arena, (VALUE_CARDS + 1) * words *
                                               sizeof(uint64_t));
        for (size_t w = 0; w <= 100; w++)
            add_slots(column, value->share[w], &column->single[w * words]);
        for (size_t n = 0; n <= VALUE_CARDS; n++)
            add_slots(column, value->whole[n], &column->multi[n * words]);
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
    finish_columns(value, arena);
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
    for (size_t k = 0; k < kinds; k++)
        value->price[k][0] = 0;
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

/* The root of min(slots, what CPU and memory reach for), 0 below one; without
 * a branch, as it goes one way as often as the other. */
static inline double
root_of(const struct served *served, uint16_t slots, double cpu, double memory)
{
    double c = cpu * served->cpu;
    double m = memory * served->memory;
    double least = c < m ? c : m;

    least = least < (double)slots ? least : (double)slots;
    return __builtin_sqrt(least >= 1.0 ? least : 0.0);
}

/* Slots of each group on a node. */
union slots {
    block blocks[BLOCKS];
    uint16_t groups[VALUE_GROUPS];
};

/* sum of weight * sqrt(slots).  Classes without slots add nothing and are not
 * looked at; LANES sums side by side are a fixed order all the same. */
static double
sum_slots(const struct column *column, const uint64_t *single,
          const uint64_t *multi, const union slots *slots, double cpu,
          double memory)
{
    double sums[LANES] = { 0 };

    for (size_t w = 0; w < column->words; w++)
        for (uint64_t set = single[w] | multi[w]; set != 0; set &= set - 1) {
            size_t i = w * 64 + (size_t)__builtin_ctzll(set);
            const struct served *served = &column->classes[i];

            sums[i % LANES] +=
                served->weight *
                root_of(served, slots->groups[served->group], cpu, memory);
        }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* The cards of a node; those that have something free by their numbers, as the
 * others are worth nothing and serve nobody. */
struct hand {
    size_t count;
    uint8_t cards[VALUE_CARDS];
    uint8_t hundredths[VALUE_CARDS]; /* of each card of the node */
};

static void
fill_hand(const struct value_node *node, struct hand *hand)
{
    size_t count = 0;

    for (int i = 0; i < VALUE_CARDS; i++)
        hand->hundredths[i] = (uint8_t)((uint16_t)node->free[i] / 10);
    for (int i = 0; i < node->cards; i++) {
        hand->cards[count] = (uint8_t)i;
        count += node->free[i] > 0;
    }
    hand->count = count;
}

static double
worth_of(const struct value *value, const struct value_node *node,
         const struct shape *taken, const struct hand *hand)
{
    const struct column *column = &value->columns[node->kind];
    const double *price = value->price[node->kind];
    size_t most = 0, full = 0;
    union slots slots;
    double prices = 0;

    for (size_t i = 0; i < hand->count; i++) {
        size_t w = hand->hundredths[hand->cards[i]];

        prices += price[w];
        full += w == 100;
        most = w > most ? w : most;
    }
    for (size_t b = 0; b < value->blocks; b++) {
        block sum = value->whole[full][b];

        for (size_t i = 0; i < hand->count; i++)
            sum += value->share[hand->hundredths[hand->cards[i]]][b];
        slots.blocks[b] = sum;
    }
    return prices + sum_slots(column, &column->single[most * column->words],
                              &column->multi[full * column->words], &slots,
                              (double)(node->cpu_milli - taken->cpu_milli),
                              (double)(node->memory_mib - taken->memory_mib));
}

double
value_of(const struct value *value, const struct value_node *node)
{
    const struct shape nothing = { 0 };
    struct hand hand;

    fill_hand(node, &hand);
    return worth_of(value, node, &nothing, &hand);
}

/* Is there room, cards aside? */
static bool
has_rest(const struct value_node *node, const struct shape *shape)
{
    return node->cpu_milli >= shape->cpu_milli &&
           node->memory_mib >= shape->memory_mib &&
           (shape->cards == 0 || (shape->kinds >> node->kind & 1) != 0);
}

bool
value_fits(const struct value_node *node, const struct shape *shape)
{
    int64_t cards = 0;

    if (!has_rest(node, shape))
        return false;
    for (int i = 0; i < node->cards; i++)
        cards += node->free[i] >= shape->milli;
    return cards >= shape->cards;
}

/* The best card for a share: each amount of free milli is tried once. */
static double
worth_with_share(const struct value *value, const struct value_node *node,
                 const struct shape *shape, struct hand *hand, int *card_out)
{
    double best = VALUE_NONE;

    for (size_t i = 0; i < hand->count; i++) {
        uint8_t card = hand->cards[i], was = hand->hundredths[card];
        int64_t free = node->free[card];
        bool seen = free < shape->milli;
        double after;

        for (size_t j = 0; j < i && !seen; j++)
            seen = node->free[hand->cards[j]] == free;
        if (seen)
            continue;
        hand->hundredths[card] = (uint8_t)((free - shape->milli) / 10);
        after = worth_of(value, node, shape, hand);
        hand->hundredths[card] = was;
        if (after > best) {
            best = after;
            *card_out = card;
        }
    }
    return best;
}

static double
worth_with_whole(const struct value *value, const struct value_node *node,
                 const struct shape *shape, struct hand *hand)
{
    int64_t left = shape->cards;

    for (size_t i = 0; i < hand->count && left > 0; i++)
        if (hand->hundredths[hand->cards[i]] == 100) {
            hand->hundredths[hand->cards[i]] = 0;
            left--;
        }
    return left > 0 ? VALUE_NONE : worth_of(value, node, shape, hand);
}

double
value_gain(const struct value *value, const struct value_node *node,
           double before, const struct shape *shape, int *card_out)
{
    struct hand hand;
    double after;

    *card_out = 0;
    if (!has_rest(node, shape))
        return VALUE_NONE;
    fill_hand(node, &hand);
    after = shape_is_share(shape)
                ? worth_with_share(value, node, shape, &hand, card_out)
                : worth_with_whole(value, node, shape, &hand);
    return after > VALUE_NONE ? after - before : VALUE_NONE;
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
