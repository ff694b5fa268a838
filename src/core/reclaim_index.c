/* SPDX-License-Identifier: Apache-2.0 */
#include "core/reclaim_index.h"

#include <string.h>

#include "core/estate_private.h"

/* What is the same about all runs of a shelf. */
struct key {
    struct ref project, pool, class, asked_pool, user;
    int64_t kind, priority, run_ms;
    int64_t of[DIMENSION_COUNT];
    struct {
        uint64_t type; /* a digest of vendor and model */
        int64_t milli, memory_mib;
    } parts[DEMAND_PARTS];
};

struct line {
    uint32_t *runs;
    size_t count, room;
};

struct reclaim_index {
    struct reclaim_shelf *shelves;
    struct key *keys; /* by shelf */
    size_t shelf_count, shelf_room, key_room;
    uint32_t *free;
    size_t free_count, free_room;
    uint32_t *buckets; /* shelves by hash; ESTATE_NONE */
    size_t bucket_room;
    uint32_t *firsts; /* shelves by tenant */
    size_t first_room;
    struct heaps {
        struct reclaim_heap *list;
        size_t count, room;
    } *heaps; /* by pool */
    size_t heap_room;
    struct line young;
    struct marks stale; /* tenants */
    size_t anew; /* shelves from here on are stale, whoever they are of */
};

#define FIRST_BUCKETS 1024 /* a power of two */

void
reclaim_index_on(struct estate *estate)
{
    struct reclaim_index *index =
        arena_alloc(estate->arena, sizeof(*estate->reclaims));

    estate->reclaims = index;
    index->bucket_room = FIRST_BUCKETS;
    index->buckets = arena_alloc(estate->arena,
                                 FIRST_BUCKETS * sizeof(*index->buckets));
    memset(index->buckets, 0xff, FIRST_BUCKETS * sizeof(*index->buckets));
}

/* --- what runs are ordered by --- */

static int64_t
kind_order(int kind)
{
    switch ((enum workload_kind)kind) {
    case WORKLOAD_BATCH:
        return 0;
    case WORKLOAD_INTERACTIVE:
        return 1;
    case WORKLOAD_SERVICE:
        break;
    }
    return 2;
}

#define SURPLUS_FIRST (-1) /* before every whole workload */

void
reclaim_index_rank(struct run *run, const struct workload *workload,
                   const struct instance *instance)
{
    int64_t since_ms = workload->started_ms;

    if (workload->checkpoint_ms > since_ms)
        since_ms = workload->checkpoint_ms;
    run->since_ms = since_ms > 0 ? since_ms : INT64_MAX;
    run->young_ms = workload->preemptions > 0 ? workload->started_ms : 0;
    run->kind = kind_order(workload->kind);
    run->seq = workload->object.seq;
    if (instance == NULL)
        return;
    run->young_ms = 0; /* the gang goes on without it */
    run->kind = SURPLUS_FIRST;
    run->seq = instance->object.seq;
}

/* --- lines: runs in an order --- */

static bool
is_before(const struct estate *estate, bool young, uint32_t a, uint32_t b)
{
    const struct run *left = &estate->runs[a], *right = &estate->runs[b];
    int64_t since = young ? left->young_ms : left->since_ms;
    int64_t other = young ? right->young_ms : right->since_ms;

    return since != other ? since < other : left->seq < right->seq;
}

/* How many go before the run. */
static size_t
line_place(const struct estate *estate, bool young, const uint32_t *runs,
           size_t count, uint32_t run)
{
    size_t low = 0;

    if (count > 0 && is_before(estate, young, runs[count - 1], run))
        return count; /* mostly */
    while (low < count) {
        size_t middle = low + (count - low) / 2;

        if (is_before(estate, young, runs[middle], run))
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

static void
line_add(struct estate *estate, bool young, uint32_t **runs, size_t *count,
         size_t *room, uint32_t run)
{
    size_t at = line_place(estate, young, *runs, *count, run);

    *runs = estate_grow(estate, *runs, room, *count + 1, sizeof(**runs));
    memmove(&(*runs)[at + 1], &(*runs)[at], (*count - at) * sizeof(**runs));
    (*runs)[at] = run;
    ++*count;
}

/* Where the run lies: on a short line it is found without a look at runs. */
#define SHORT_LINE 128
static size_t
line_find(const struct estate *estate, bool young, const uint32_t *runs,
          size_t count, uint32_t run)
{
    size_t at = 0;

    if (count > SHORT_LINE)
        return line_place(estate, young, runs, count, run);
    while (runs[at] != run)
        at++;
    return at;
}

static void
line_remove(const struct estate *estate, bool young, uint32_t *runs,
            size_t *count, uint32_t run)
{
    size_t at = line_find(estate, young, runs, *count, run);

    --*count;
    memmove(&runs[at], &runs[at + 1], (*count - at) * sizeof(*runs));
}

/* --- heaps --- */

/* Does a have the better victim?  What loses nothing yet is not told apart by
 * when it started, but here. */
static bool
is_better(const struct reclaim_shelf *a, const struct reclaim_shelf *b)
{
    if (a->over != b->over)
        return a->over > b->over;
    if (a->priority != b->priority)
        return a->priority < b->priority;
    return a->last_ms != b->last_ms ? a->last_ms > b->last_ms
                                    : a->last_seq > b->last_seq;
}

/* The order of shelves looks at what is copied, not at runs all over. */
static void
note_last(const struct estate *estate, struct reclaim_shelf *shelf)
{
    const struct run *last;

    if (shelf->count == 0)
        return;
    last = &estate->runs[shelf->runs[shelf->count - 1]];
    shelf->last_ms = last->since_ms;
    shelf->last_seq = last->seq;
}

static struct reclaim_heap *
heap_of(const struct reclaim_index *index, const struct reclaim_shelf *shelf)
{
    return &index->heaps[shelf->pool.index].list[shelf->heap];
}

/* The number of the heap for such a shelf, made when there is none. */
static uint32_t
find_heap(struct estate *estate, const struct reclaim_shelf *shelf)
{
    struct reclaim_index *index = estate->reclaims;
    struct heaps *heaps;
    size_t i = 0;

    index->heaps =
        estate_grow(estate, index->heaps, &index->heap_room,
                    (size_t)shelf->pool.index + 1, sizeof(*index->heaps));
    heaps = &index->heaps[shelf->pool.index];
    while (i < heaps->count && (heaps->list[i].kind != shelf->kind ||
                                heaps->list[i].cards != shelf->cards))
        i++;
    if (i < heaps->count)
        return (uint32_t)i;
    heaps->list = estate_grow(estate, heaps->list, &heaps->room,
                              heaps->count + 1, sizeof(*heaps->list));
    heaps->list[heaps->count++] =
        (struct reclaim_heap){ .kind = shelf->kind, .cards = shelf->cards };
    return (uint32_t)i;
}

static void
heap_put(struct reclaim_index *index, struct reclaim_heap *heap, size_t at,
         uint32_t shelf)
{
    heap->shelves[at] = shelf;
    index->shelves[shelf].at = (uint32_t)at;
}

static void
heap_sift(struct reclaim_index *index, struct reclaim_heap *heap, size_t at,
          uint32_t shelf)
{
#define IS_BETTER(a, b) is_better(&index->shelves[a], &index->shelves[b])
    while (at > 0 && IS_BETTER(shelf, heap->shelves[(at - 1) / 2])) {
        heap_put(index, heap, at, heap->shelves[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    for (;;) {
        size_t child = 2 * at + 1;

        if (child >= heap->count)
            break;
        if (child + 1 < heap->count &&
            IS_BETTER(heap->shelves[child + 1], heap->shelves[child]))
            child++;
        if (!IS_BETTER(heap->shelves[child], shelf))
            break;
        heap_put(index, heap, at, heap->shelves[child]);
        at = child;
    }
#undef IS_BETTER
    heap_put(index, heap, at, shelf);
}

static void
heap_add(struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    struct reclaim_shelf *shelf = &index->shelves[number];
    struct reclaim_heap *heap;

    shelf->heap = find_heap(estate, shelf);
    heap = heap_of(index, shelf);
    heap->shelves = estate_grow(estate, heap->shelves, &heap->room,
                                heap->count + 1, sizeof(*heap->shelves));
    heap_sift(index, heap, heap->count++, number);
}

static void
heap_move(const struct estate *estate, uint32_t number)
{
    const struct reclaim_shelf *shelf = &estate->reclaims->shelves[number];

    heap_sift(estate->reclaims, heap_of(estate->reclaims, shelf), shelf->at,
              number);
}

static void
heap_remove(const struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    const struct reclaim_shelf *shelf = &index->shelves[number];
    struct reclaim_heap *heap = heap_of(index, shelf);
    uint32_t last = heap->shelves[--heap->count];

    if (shelf->at < heap->count)
        heap_sift(index, heap, shelf->at, last);
}

/* --- shelves --- */

static uint64_t
type_of(const struct demand_part *part)
{
    static const struct hash_key any = { 0, 0 }; /* nothing depends on it */

    return hash_bytes(&any, part->vendor, strlen(part->vendor)) * 31 +
           hash_bytes(&any, part->model, strlen(part->model));
}

static void
key_of(const struct run *run, struct key *key)
{
    const struct demand *demand = &run->demand;

    memset(key, 0, sizeof(*key));
    key->project = demand->project;
    key->pool = demand->pool;
    key->class = demand->class;
    key->asked_pool = demand->asked_pool;
    key->user = demand->user;
    key->kind = run->kind;
    key->priority = run->priority;
    key->run_ms = demand->run_ms;
    memcpy(key->of, demand->of, sizeof(key->of));
    for (unsigned i = 0; i < demand->part_count; i++) {
        key->parts[i].type = type_of(&demand->parts[i]);
        key->parts[i].milli = demand->parts[i].milli;
        key->parts[i].memory_mib = demand->parts[i].memory_mib;
    }
}

static uint64_t
hash_of(const struct key *key)
{
    static const struct hash_key any = { 0, 0 };

    return hash_bytes(&any, key, sizeof(*key));
}

static uint32_t *
bucket_of(const struct reclaim_index *index, uint64_t hash)
{
    return &index->buckets[hash & (index->bucket_room - 1)];
}

static void
widen(struct estate *estate)
{
    struct reclaim_index *index = estate->reclaims;

    index->bucket_room *= 2;
    index->buckets = arena_alloc(
        estate->arena, index->bucket_room * sizeof(*index->buckets));
    memset(index->buckets, 0xff, index->bucket_room * sizeof(*index->buckets));
    for (uint32_t i = 0; i < index->shelf_count; i++) {
        struct reclaim_shelf *shelf = &index->shelves[i];
        uint32_t *bucket = bucket_of(index, shelf->hash);

        if (shelf->count == 0)
            continue;
        shelf->same = *bucket;
        *bucket = i;
    }
}

static uint32_t
shelf_take(struct estate *estate)
{
    struct reclaim_index *index = estate->reclaims;
    uint32_t number;

    if (index->free_count > 0)
        return index->free[--index->free_count];
    number = (uint32_t)index->shelf_count++;
    if (index->anew == number) /* its tenant is stale by itself */
        index->anew++;
    index->shelves = estate_grow(estate, index->shelves, &index->shelf_room,
                                 index->shelf_count, sizeof(*index->shelves));
    index->keys = estate_grow(estate, index->keys, &index->key_room,
                              index->shelf_count, sizeof(*index->keys));
    return number;
}

static uint32_t
shelf_begin(struct estate *estate, const struct run *run,
            const struct key *key, uint64_t hash)
{
    struct reclaim_index *index = estate->reclaims;
    uint32_t number = shelf_take(estate);
    struct reclaim_shelf *shelf = &index->shelves[number];
    uint32_t *first, *bucket;

    if (index->shelf_count > index->bucket_room)
        widen(estate);
    bucket = bucket_of(index, hash);
    first = estate_place(estate, &index->firsts, &index->first_room,
                         run->tenant.index);
    *shelf = (struct reclaim_shelf){ .tenant = run->tenant,
                                     .pool = run->demand.pool,
                                     .project = run->demand.project,
                                     .kind = run->kind,
                                     .priority = run->priority,
                                     .cards = key->of[DIMENSION_CARDS],
                                     .runs = shelf->runs,
                                     .room = shelf->room,
                                     .next = *first,
                                     .previous = ESTATE_NONE,
                                     .same = *bucket,
                                     .hash = hash };
    index->keys[number] = *key;
    if (*first != ESTATE_NONE)
        index->shelves[*first].previous = number;
    *first = *bucket = number;
    return number;
}

static void
shelf_end(struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    struct reclaim_shelf *shelf = &index->shelves[number];
    uint32_t *at = bucket_of(index, shelf->hash);

    while (*at != number)
        at = &index->shelves[*at].same;
    *at = shelf->same;
    if (shelf->previous != ESTATE_NONE)
        index->shelves[shelf->previous].next = shelf->next;
    else
        index->firsts[shelf->tenant.index] = shelf->next;
    if (shelf->next != ESTATE_NONE)
        index->shelves[shelf->next].previous = shelf->previous;
    index->free = estate_grow(estate, index->free, &index->free_room,
                              index->free_count + 1, sizeof(*index->free));
    index->free[index->free_count++] = number;
}

static uint32_t
shelf_of(struct estate *estate, const struct run *run)
{
    struct reclaim_index *index = estate->reclaims;
    struct key key;
    uint64_t hash;
    uint32_t number;

    key_of(run, &key);
    hash = hash_of(&key);
    number = *bucket_of(index, hash);
    while (number != ESTATE_NONE &&
           (index->shelves[number].hash != hash ||
            memcmp(&index->keys[number], &key, sizeof(key)) != 0))
        number = index->shelves[number].same;
    return number != ESTATE_NONE ? number
                                 : shelf_begin(estate, run, &key, hash);
}

static bool
could_stop(const struct run *run)
{
    return run->live && !run->leaving && !run->fixed && run->count > 0;
}

void
reclaim_index_add(struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    struct run *run = &estate->runs[number];
    struct reclaim_shelf *shelf;

    run->shelf = ESTATE_NONE;
    if (!could_stop(run))
        return;
    run->shelf = shelf_of(estate, run);
    shelf = &index->shelves[run->shelf];
    line_add(estate, false, &shelf->runs, &shelf->count, &shelf->room, number);
    note_last(estate, shelf);
    if (shelf->count == 1)
        heap_add(estate, run->shelf);
    else
        heap_move(estate, run->shelf);
    if (run->young_ms > 0)
        line_add(estate, true, &index->young.runs, &index->young.count,
                 &index->young.room, number);
}

void
reclaim_index_remove(struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    const struct run *run = &estate->runs[number];
    struct reclaim_shelf *shelf;

    if (run->shelf == ESTATE_NONE)
        return;
    shelf = &index->shelves[run->shelf];
    if (shelf->count == 1)
        heap_remove(estate, run->shelf);
    line_remove(estate, false, shelf->runs, &shelf->count, number);
    note_last(estate, shelf);
    if (run->young_ms > 0)
        line_remove(estate, true, index->young.runs, &index->young.count,
                    number);
    if (shelf->count == 0)
        shelf_end(estate, run->shelf);
    else
        heap_move(estate, run->shelf);
}

/* --- what they use over their guarantee --- */

void
reclaim_index_stale(struct estate *estate, struct ref tenant)
{
    if (tenant.kind == KIND_TENANT && tenant.index != 0)
        estate_mark(estate, &estate->reclaims->stale, tenant.index);
    else
        estate->reclaims->anew = 0;
}

static int64_t
over_of(const struct estate *estate, const struct reclaim_shelf *shelf)
{
    return quota_over(estate->world, &estate->runs[shelf->runs[0]].demand,
                      world_platform_ref(estate->world), &estate->leaving,
                      NULL);
}

static void
renew(struct estate *estate, uint32_t number)
{
    struct reclaim_index *index = estate->reclaims;
    struct reclaim_shelf *shelf = &index->shelves[number];
    int64_t over = over_of(estate, shelf);

    if (over == shelf->over)
        return;
    shelf->over = over;
    heap_move(estate, number);
}

static void
renew_last(struct estate *estate)
{
    struct reclaim_index *index = estate->reclaims;
    struct marks *stale = &index->stale;
    struct ref tenant = { KIND_TENANT, stale->list[--stale->count] };

    stale->flags[tenant.index] = 0;
    for (uint32_t at = reclaim_index_first(estate, tenant);
         at != ESTATE_NONE; at = index->shelves[at].next)
        renew(estate, at);
}

#define COST_RENEW 20 /* units of the budget */

/* All of them are, one after the other. */
static bool
renew_all(struct estate *estate)
{
    struct reclaim_index *index = estate->reclaims;

    for (; index->anew < index->shelf_count; index->anew++) {
        if (index->shelves[index->anew].count == 0)
            continue;
        if (!budget_take(estate->budget, COST_RENEW))
            return false;
        renew(estate, (uint32_t)index->anew);
    }
    return true;
}

bool
reclaim_index_settle(struct estate *estate)
{
    struct reclaim_index *index = estate->reclaims;

    if (!renew_all(estate))
        return false;
    while (index->stale.count > 0) {
        if (!budget_take(estate->budget, COST_RENEW))
            return false;
        renew_last(estate);
    }
    return true;
}

/* --- questions --- */

const struct reclaim_shelf *
reclaim_index_shelf(const struct estate *estate, uint32_t shelf)
{
    return &estate->reclaims->shelves[shelf];
}

uint32_t
reclaim_index_first(const struct estate *estate, struct ref tenant)
{
    const struct reclaim_index *index = estate->reclaims;

    return tenant.index < index->first_room ? index->firsts[tenant.index]
                                            : ESTATE_NONE;
}

const struct reclaim_heap *
reclaim_index_heaps(const struct estate *estate, struct ref pool,
                    size_t *count_out)
{
    const struct reclaim_index *index = estate->reclaims;

    *count_out = 0;
    if (pool.index >= index->heap_room)
        return NULL;
    *count_out = index->heaps[pool.index].count;
    return index->heaps[pool.index].list;
}

size_t
reclaim_index_young(const struct estate *estate, int64_t from_ms,
                    const uint32_t **runs_out, size_t *count_out)
{
    const struct line *young = &estate->reclaims->young;
    size_t low = 0, high = young->count;

    *runs_out = young->runs;
    *count_out = young->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (estate->runs[young->runs[middle]].young_ms <= from_ms)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

int64_t
reclaim_index_lost(const struct estate *estate, uint32_t number)
{
    const struct run *run = &estate->runs[number];
    int64_t product;

    if (run->since_ms >= estate->now_ms)
        return 0;
    if (__builtin_mul_overflow(estate->now_ms - run->since_ms,
                               run->demand.of[DIMENSION_CARDS], &product))
        return INT64_MAX;
    return product;
}

/* --- is it true? --- */

static bool
shelf_is_true(const struct estate *estate, uint32_t number)
{
    const struct reclaim_index *index = estate->reclaims;
    const struct reclaim_shelf *shelf = &index->shelves[number];
    const struct reclaim_heap *heap = heap_of(index, shelf);
    const struct run *last;
    bool stale = number >= index->anew ||
                 (shelf->tenant.index < index->stale.flag_room &&
                  index->stale.flags[shelf->tenant.index] != 0);

    for (size_t i = 1; i < shelf->count; i++)
        if (!is_before(estate, false, shelf->runs[i - 1], shelf->runs[i]))
            return false;
    last = &estate->runs[shelf->runs[shelf->count - 1]];
    return heap->shelves[shelf->at] == number &&
           shelf->last_ms == last->since_ms && shelf->last_seq == last->seq &&
           (shelf->at == 0 ||
            !is_better(
                shelf, &index->shelves[heap->shelves[(shelf->at - 1) / 2]])) &&
           (stale || shelf->over == over_of(estate, shelf));
}

static bool
rank_is_true(const struct estate *estate, const struct run *run)
{
    const struct world *world = estate->world;
    const struct workload *workload = world_workload(world, run->workload);
    struct run rank = { 0 };

    if (workload == NULL)
        return false;
    reclaim_index_rank(&rank, workload,
                       run->surplus ? world_instance(world, run->instance)
                                    : NULL);
    return rank.since_ms == run->since_ms && rank.young_ms == run->young_ms &&
           rank.kind == run->kind && rank.seq == run->seq;
}

static bool
run_is_true(const struct estate *estate, uint32_t number, size_t *filed)
{
    const struct reclaim_index *index = estate->reclaims;
    const struct run *run = &estate->runs[number];
    const struct reclaim_shelf *shelf;
    struct key key;
    size_t at;

    if (ref_is_none(run->workload) || !could_stop(run))
        return ref_is_none(run->workload) || run->shelf == ESTATE_NONE;
    if (run->shelf == ESTATE_NONE || !rank_is_true(estate, run))
        return false;
    key_of(run, &key);
    shelf = &index->shelves[run->shelf];
    at = line_place(estate, false, shelf->runs, shelf->count, number);
    ++*filed;
    return at < shelf->count && shelf->runs[at] == number &&
           memcmp(&index->keys[run->shelf], &key, sizeof(key)) == 0 &&
           ref_equal(shelf->tenant, run->tenant);
}

bool
reclaim_index_is_true(const struct estate *estate)
{
    const struct reclaim_index *index = estate->reclaims;
    size_t filed = 0, lying = 0;

    for (uint32_t i = 0; i < estate->run_count; i++)
        if (!run_is_true(estate, i, &filed))
            return false;
    for (uint32_t i = 0; i < index->shelf_count; i++) {
        lying += index->shelves[i].count;
        if (index->shelves[i].count > 0 && !shelf_is_true(estate, i))
            return false;
    }
    return filed == lying;
}
