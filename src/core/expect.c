/* SPDX-License-Identifier: Apache-2.0 */
#include "core/expect.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "core/node_type.h"

/* What tells nodes apart: their cards, CPU and memory. */
struct kind_of_node {
    char vendor[32], model[64];
    int64_t card_memory_mib, cards, cpu_milli, memory_mib;
    int64_t supply; /* cards of all such nodes */
    int64_t price[101]; /* of a card by hundredths free, in 1/PRICE_UNIT */
};

#define PRICE_UNIT 1000

/* What tells requests apart. */
struct asked {
    char vendor[32], model[64]; /* "": any */
    int64_t min_memory_mib;
    int64_t cards, milli, cpu_milli, memory_mib;
    int64_t count;
};

struct expect {
    struct kind_of_node *kinds;
    size_t kind_count;
    const struct value *value;
};

/* --- the document --- */

struct notes {
    struct kind_of_node kinds[VALUE_KINDS];
    size_t kind_count;
    struct asked wishes[EXPECT_CLASSES];
    size_t wish_count;
};

static void
copy_text(char *out, size_t room, const json_t *text)
{
    const char *value = json_string_value(text);

    (void)snprintf(out, room, "%s", value != NULL ? value : "");
}

static int64_t
number(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

static void
read_notes(const struct blob *blob, struct notes *notes)
{
    struct error err;
    scoped_json document =
        blob == NULL ? NULL : json_read(blob->bytes, blob->size, &err);
    const json_t *kinds = json_object_get(document, "kinds");
    const json_t *wishes = json_object_get(document, "classes");
    size_t i;
    const json_t *each;

    json_array_foreach(kinds, i, each) {
        struct kind_of_node *kind = &notes->kinds[notes->kind_count];

        if (notes->kind_count++ == VALUE_KINDS - 1)
            break;
        copy_text(kind->vendor, sizeof(kind->vendor), json_array_get(each, 0));
        copy_text(kind->model, sizeof(kind->model), json_array_get(each, 1));
        kind->card_memory_mib = number(each, 2);
        kind->cards = number(each, 3);
        kind->cpu_milli = number(each, 4);
        kind->memory_mib = number(each, 5);
        kind->supply = number(each, 6);
        for (size_t w = 0; w <= 100; w++)
            kind->price[w] = number(json_array_get(each, 7), w);
    }
    json_array_foreach(wishes, i, each) {
        struct asked *wish = &notes->wishes[notes->wish_count];

        if (notes->wish_count++ == EXPECT_CLASSES - 1)
            break;
        copy_text(wish->vendor, sizeof(wish->vendor), json_array_get(each, 0));
        copy_text(wish->model, sizeof(wish->model), json_array_get(each, 1));
        wish->min_memory_mib = number(each, 2);
        wish->cards = number(each, 3);
        wish->milli = number(each, 4);
        wish->cpu_milli = number(each, 5);
        wish->memory_mib = number(each, 6);
        wish->count = number(each, 7);
    }
}

static void
write_notes(const struct notes *notes, struct buffer *out)
{
    buffer_add_text(out, "{\"classes\":[");
    for (size_t i = 0; i < notes->wish_count; i++) {
        const struct asked *wish = &notes->wishes[i];

        buffer_add_text(out, i > 0 ? ",[" : "[");
        json_quote(out, wish->vendor);
        buffer_add_text(out, ",");
        json_quote(out, wish->model);
        buffer_printf(out, ",%lld,%lld,%lld,%lld,%lld,%lld]",
                      (long long)wish->min_memory_mib, (long long)wish->cards,
                      (long long)wish->milli, (long long)wish->cpu_milli,
                      (long long)wish->memory_mib, (long long)wish->count);
    }
    buffer_add_text(out, "],\"kinds\":[");
    for (size_t i = 0; i < notes->kind_count; i++) {
        const struct kind_of_node *kind = &notes->kinds[i];

        buffer_add_text(out, i > 0 ? ",[" : "[");
        json_quote(out, kind->vendor);
        buffer_add_text(out, ",");
        json_quote(out, kind->model);
        buffer_printf(out, ",%lld,%lld,%lld,%lld,%lld,",
                      (long long)kind->card_memory_mib, (long long)kind->cards,
                      (long long)kind->cpu_milli, (long long)kind->memory_mib,
                      (long long)kind->supply);
        for (int w = 0; w <= 100; w++)
            buffer_printf(out, "%c%lld", w == 0 ? '[' : ',',
                          (long long)kind->price[w]);
        buffer_add_text(out, "]]");
    }
    buffer_add_text(out, "]}");
}

/* --- counting --- */

static bool
same_wish(const struct asked *a, const struct asked *b)
{
    return a->cards == b->cards && a->milli == b->milli &&
           a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
           a->min_memory_mib == b->min_memory_mib &&
           strcmp(a->vendor, b->vendor) == 0 &&
           strcmp(a->model, b->model) == 0;
}

/* A gang whose cards could be of one node is one wish for all of them. */
static bool
wish_of(const struct world *world, const struct workload *workload,
        struct asked *out)
{
    const struct class *class = world_class(world, workload->class);
    int64_t whole;

    if (class == NULL || class->form == FORM_HARD)
        return false;
    *out = (struct asked){ .min_memory_mib = class->min_memory_mib,
                          .cards = 1,
                          .milli = class->milli,
                          .cpu_milli = workload->cpu_milli,
                          .memory_mib = workload->memory_mib,
                          .count = workload->instances };
    (void)snprintf(out->vendor, sizeof(out->vendor), "%s", class->vendor);
    (void)snprintf(out->model, sizeof(out->model), "%s", class->model);
    if (class->form == FORM_SOFT)
        return true;
    out->milli = class->count > 0 ? 1000 : 0;
    out->cards = class->count;
    whole = class->count * workload->instances;
    if (class->count > 0 && whole <= VALUE_CARDS) {
        out->cards = whole;
        out->cpu_milli *= workload->instances;
        out->memory_mib *= workload->instances;
        out->count = 1;
    }
    return out->cards <= VALUE_CARDS;
}

static void
count_wish(struct notes *notes, const struct asked *wish)
{
    size_t i = 0, rarest = 0;

    for (; i < notes->wish_count; i++) {
        if (same_wish(&notes->wishes[i], wish)) {
            notes->wishes[i].count += wish->count;
            return;
        }
        if (notes->wishes[i].count < notes->wishes[rarest].count)
            rarest = i;
    }
    if (i == EXPECT_CLASSES) {
        for (i = rarest; i + 1 < notes->wish_count; i++)
            notes->wishes[i] = notes->wishes[i + 1];
        notes->wish_count--;
    }
    notes->wishes[notes->wish_count++] = *wish;
}

static void
fade(struct notes *notes)
{
    size_t kept = 0;

    for (size_t i = 0; i < notes->wish_count; i++) {
        struct asked wish = notes->wishes[i];

        wish.count /= 2;
        if (wish.count > 0)
            notes->wishes[kept++] = wish;
    }
    notes->wish_count = kept;
}

/* Nodes whose cards differ are as many kinds as they have cards of. */
static struct kind_of_node
kind_from(const struct card *card, const struct node *node, int64_t cards)
{
    struct kind_of_node kind = { .card_memory_mib = card->memory_mib,
                                 .cards = cards,
                                 .cpu_milli = node->cpu_milli,
                                 .memory_mib = node->memory_mib };

    (void)snprintf(kind.vendor, sizeof(kind.vendor), "%s", card->vendor);
    (void)snprintf(kind.model, sizeof(kind.model), "%s", card->model);
    return kind;
}

static bool
same_kind(const struct kind_of_node *a, const struct kind_of_node *b)
{
    return a->card_memory_mib == b->card_memory_mib && a->cards == b->cards &&
           a->cpu_milli == b->cpu_milli && a->memory_mib == b->memory_mib &&
           strcmp(a->vendor, b->vendor) == 0 &&
           strcmp(a->model, b->model) == 0;
}

static int
find_kind(const struct kind_of_node *kinds, size_t count,
          const struct kind_of_node *kind)
{
    for (size_t k = 0; k < count; k++)
        if (same_kind(&kinds[k], kind))
            return (int)k;
    return -1;
}

/* Cards of the node that are like this one. */
static int64_t
like_cards(const struct world *world, const struct card *card)
{
    int64_t cards = 0;

    world_each_child(world, KIND_CARD, card->object.parent, ref) {
        const struct card *other = world_card(world, ref);

        cards += other->memory_mib == card->memory_mib &&
                 strcmp(other->vendor, card->vendor) == 0 &&
                 strcmp(other->model, card->model) == 0;
    }
    return cards;
}

/* A kind of nodes that there is; they are told apart by their cards. */
struct sight {
    struct kind_of_node kind;
    bool listed;
};

static bool
is_kind(const struct world *world, const struct kind_of_node *kind,
        const struct card *card)
{
    const struct node *node = world_node(world, card->object.parent);

    return kind->card_memory_mib == card->memory_mib &&
           kind->cpu_milli == node->cpu_milli &&
           kind->memory_mib == node->memory_mib &&
           strcmp(kind->vendor, card->vendor) == 0 &&
           strcmp(kind->model, card->model) == 0 &&
           kind->cards == like_cards(world, card);
}

static struct sight *
sight_of(const struct world *world, const struct expect_learning *learning,
         const struct card *card)
{
    for (size_t i = 0; i < learning->sight_count; i++)
        if (is_kind(world, &learning->sights[i].kind, card))
            return &learning->sights[i];
    return NULL;
}

static struct sight *
add_sight(const struct world *world, struct expect_learning *learning,
          const struct card *card)
{
    struct sight *sight;

    if (learning->sight_count == learning->sight_room) {
        learning->sight_room = 2 * learning->sight_room + 16;
        learning->sights =
            memory_grow(learning->sights, learning->sight_room,
                        sizeof(*learning->sights));
    }
    sight = &learning->sights[learning->sight_count++];
    *sight = (struct sight){
        kind_from(card, world_node(world, card->object.parent),
                  like_cards(world, card)),
        false
    };
    learning->sight_left++;
    return sight;
}

/* The cards of all nodes of a type. */
static void
see_type(const struct world *world, struct expect_learning *learning,
         const struct node_type *type)
{
    world_each_child(world, KIND_CARD, type->first, ref) {
        const struct card *card = world_card(world, ref);
        struct sight *sight = sight_of(world, learning, card);

        if (sight == NULL)
            sight = add_sight(world, learning, card);
        sight->kind.supply += type->count;
    }
}

/* What units of the budget the pieces cost. */
#define COST_LOOK 1
#define COST_TYPE 30

static bool
see_types(const struct world *world, struct expect_learning *learning,
          struct budget *budget)
{
    size_t count;
    const struct node_type *types = node_type_list(world, &count);

    for (; learning->type < count; learning->type++) {
        if (!budget_take(budget,
                         COST_TYPE + (int64_t)learning->sight_count))
            return false;
        if (!ref_is_none(types[learning->type].first))
            see_type(world, learning, &types[learning->type]);
    }
    return true;
}

/* Is it as the card before it, on the same node? */
static bool
is_again(const struct world *world, struct expect_learning *learning,
         const struct card *card)
{
    const struct card *last = world_card(world, learning->last);

    learning->last = card->object.self;
    return last != NULL &&
           ref_equal(last->object.parent, card->object.parent) &&
           last->memory_mib == card->memory_mib &&
           strcmp(last->vendor, card->vendor) == 0 &&
           strcmp(last->model, card->model) == 0;
}

/* Kinds are listed in the order of their first cards: looks at cards until all
 * are, or as many as there is room for. */
static bool
list_kinds(const struct world *world, struct expect_learning *learning,
           struct budget *budget)
{
    struct notes *notes = learning->notes;
    struct ref ref;

    while (learning->sight_left > 0 && notes->kind_count < VALUE_KINDS) {
        const struct card *card;
        struct sight *sight;

        if (!budget_take(budget, COST_LOOK))
            return false;
        if (!walk_next(&learning->cards, world, &ref))
            return true;
        card = world_card(world, ref);
        if (is_again(world, learning, card))
            continue;
        (void)budget_take(budget, (int64_t)learning->sight_count / 4);
        sight = sight_of(world, learning, card);
        if (sight == NULL || sight->listed)
            continue;
        sight->listed = true;
        learning->sight_left--;
        notes->kinds[notes->kind_count++] = sight->kind;
    }
    return true;
}

/* --- prices --- */

/* Kinds that could ever serve the wish. */
static uint64_t
kinds_for(const struct notes *notes, const struct asked *wish)
{
    uint64_t kinds = 0;

    for (size_t k = 0; k < notes->kind_count; k++) {
        const struct kind_of_node *kind = &notes->kinds[k];

        if (kind->cards >= wish->cards && kind->cpu_milli >= wish->cpu_milli &&
            kind->memory_mib >= wish->memory_mib &&
            kind->card_memory_mib >= wish->min_memory_mib &&
            (wish->vendor[0] == '\0' ||
             strcmp(wish->vendor, kind->vendor) == 0) &&
            (wish->model[0] == '\0' || strcmp(wish->model, kind->model) == 0))
            kinds |= (uint64_t)1 << k;
    }
    return kinds;
}

static void
add_wish(const struct notes *notes, const struct asked *wish, struct mix *mix)
{
    struct shape shape = { .cpu_milli = wish->cpu_milli,
                           .memory_mib = wish->memory_mib,
                           .cards = wish->cards,
                           .milli = wish->cards > 0 ? wish->milli : 0 };

    if (wish->cards > 0)
        shape.kinds = kinds_for(notes, wish);
    if (wish->count > 0 && (wish->cards == 0 || shape.kinds != 0))
        mix_count(mix, &shape, wish->count);
}

static void
fill_mix(const struct notes *notes, struct mix *mix)
{
    for (size_t i = 0; i < notes->wish_count; i++)
        add_wish(notes, &notes->wishes[i], mix);
}

static void
make_prices(struct notes *notes)
{
    struct value_supply supply = { .kinds = notes->kind_count };
    double price[VALUE_KINDS][101] = { { 0 } };
    struct mix mix = { 0 };

    for (size_t k = 0; k < supply.kinds; k++)
        supply.cards[k] = notes->kinds[k].supply;
    fill_mix(notes, &mix);
    if (mix.total > 0)
        value_prices(&mix, &supply, &value_turnover, price);
    for (size_t k = 0; k < supply.kinds; k++)
        for (int w = 0; w <= 100; w++)
            notes->kinds[k].price[w] = (int64_t)(price[k][w] * PRICE_UNIT);
    mix_release(&mix);
}

/* --- learning --- */

static void
begin(struct expect_learning *learning, const struct world *world)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));

    *learning = (struct expect_learning){ .arena = arena_new(),
                                          .from = platform->expected_upto,
                                          .upto = platform->expected_upto,
                                          .count = platform->expected_count };
    learning->notes = arena_alloc(learning->arena, sizeof(struct notes));
    read_notes(platform->expected, learning->notes);
    learning->notes->kind_count = 0;
    walk_begin(&learning->work, world, KIND_WORKLOAD);
    walk_begin(&learning->cards, world, KIND_CARD);
}

void
expect_learning_release(struct expect_learning *learning)
{
    if (learning->arena != NULL)
        arena_free(learning->arena);
    free(learning->sights);
    *learning = (struct expect_learning){ 0 };
}

/* In the order of seq: who was counted is not counted again when the walk
 * begins anew. */
static bool
count_work(const struct world *world, struct expect_learning *learning,
           struct budget *budget)
{
    struct ref ref;
    struct asked wish;

    while (!walk_is_over(&learning->work)) {
        const struct workload *workload;

        if (!budget_take(budget, COST_LOOK))
            return false;
        if (!walk_next(&learning->work, world, &ref))
            break;
        workload = world_workload(world, ref);
        if ((int64_t)workload->object.seq <= learning->upto)
            continue;
        (void)budget_take(budget, COST_LOOK);
        learning->upto = (int64_t)workload->object.seq;
        learning->count++;
        if (wish_of(world, workload, &wish))
            count_wish(learning->notes, &wish);
    }
    return true;
}

static void
put(struct expect_learning *learning, struct changes *changes)
{
    struct platform *platform =
        change_update(changes, world_platform_ref(changes->world));
    scoped_buffer text = { 0 };

    if (learning->count >= MIX_WINDOW) {
        fade(learning->notes);
        learning->count /= 2;
    }
    make_prices(learning->notes);
    write_notes(learning->notes, &text);
    change_doc(changes, &platform->expected, buffer_text(&text));
    platform->expected_upto = learning->upto;
    platform->expected_count = learning->count;
}

bool
expect_learn(struct expect_learning *learning, struct changes *changes,
             struct budget *budget)
{
    const struct world *world = changes->world;

    if (learning->arena == NULL)
        begin(learning, world);
    if (!count_work(world, learning, budget) ||
        !see_types(world, learning, budget) ||
        !list_kinds(world, learning, budget))
        return false;
    put(learning, changes);
    expect_learning_release(learning);
    return true;
}

/* --- the rest of the platform --- */

uint64_t
expect_rest(const struct world *world)
{
    static const struct hash_key any = { 0, 0 }; /* nothing depends on it */
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    const struct schema *schema = schema_get(KIND_PLATFORM);
    uint64_t rest = 1;

    for (size_t i = 0; platform != NULL && i < schema->field_count; i++) {
        const struct field *field = &schema->fields[i];
        const void *value = field_at(field, platform);
        size_t size = field->size;

        if (strncmp(field->name, "expected", strlen("expected")) == 0)
            continue;
        if (field->type == FIELD_DOC) {
            const struct blob *blob = *(struct blob *const *)value;

            value = blob != NULL ? blob->bytes : "";
            size = blob != NULL ? blob->size : 0;
        }
        rest = rest * 31 + hash_bytes(&any, value, size);
    }
    return rest;
}

/* --- reading --- */

struct expect *
expect_read(const struct world *world, struct arena *arena)
{
    const struct platform *platform =
        world_platform(world, world_platform_ref(world));
    double price[VALUE_KINDS][101];
    struct expect *expect;
    struct notes *notes;
    struct mix mix = { 0 };

    if (platform == NULL || platform->expected == NULL)
        return NULL;
    expect = arena_alloc(arena, sizeof(*expect));
    notes = arena_alloc(arena, sizeof(*notes));
    read_notes(platform->expected, notes);
    expect->kinds = notes->kinds;
    expect->kind_count = notes->kind_count;
    for (size_t k = 0; k < notes->kind_count; k++)
        for (int w = 0; w <= 100; w++)
            price[k][w] = (double)notes->kinds[k].price[w] / PRICE_UNIT;
    fill_mix(notes, &mix);
    expect->value =
        value_with(arena, &mix, notes->kind_count, &value_turnover, price);
    mix_release(&mix);
    return expect;
}

const struct value *
expect_value(const struct expect *expect)
{
    return expect->value;
}

int
expect_kind(const struct expect *expect, const struct card *card,
             const struct node *node, int64_t cards)
{
    struct kind_of_node kind = kind_from(card, node, cards);

    return find_kind(expect->kinds, expect->kind_count, &kind);
}
