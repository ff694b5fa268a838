/* SPDX-License-Identifier: Apache-2.0 */
#include "core/usage.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/card_health.h"
#include "core/month.h"
#include "core/price.h"
#include "core/schema.h"
#include "core/share.h"

/* One piece of a card's time that has one owner and one class. */
struct piece {
    const struct card *card;
    const struct binding *binding; /* NULL: the remainder */
    enum usage_class usage;
    int64_t milli;
    int64_t from_ms, to_ms;
};

static void
fill_owner(const struct changes *changes, const struct binding *binding,
           struct fact *fact)
{
    const struct workload *workload =
        change_get(changes, binding->workload);

    fact->tenant = binding->object.scope;
    fact->project = binding->project;
    fact->user = binding->user;
    fact->workload = binding->workload;
    fact->pool = binding->pool;
    fact->class = binding->class;
    (void)snprintf(fact->form, sizeof(fact->form), "%s",
                   schema_form_names[binding->form]);
    fact->priority = binding->priority;
    fact->attempt = workload != NULL ? workload->attempt : 0;
}

/* The reservation in whose window the card is, or NULL. */
static const struct reservation *
open_reservation(const struct changes *changes, struct ref card)
{
    world_each_index(changes->world, KIND_BOOKING, 0, card, ref) {
        const struct booking *booking = change_get(changes, ref);
        struct ref owner = world_parent(changes->world, ref);
        const struct reservation *reservation =
            owner.kind == KIND_RESERVATION
                ? world_reservation(changes->world, owner)
                : NULL;

        if (booking != NULL && reservation != NULL &&
            reservation->state == RESERVATION_OPEN)
            return reservation;
    }
    return NULL;
}

/* What is reserved and not used is the tenant's who reserved it. */
static void
fill_reserver(const struct changes *changes, const struct card *card,
              struct fact *fact)
{
    const struct reservation *reservation =
        open_reservation(changes, card->object.self);
    struct ref node;

    if (reservation == NULL)
        return;
    node = reservation->object.parent;
    fact->tenant = reservation->object.scope;
    if (node.kind == KIND_PROJECT)
        fact->project = node;
    fact->class = reservation->class;
}

static void
emit(struct changes *changes, const struct piece *piece, int64_t from_ms,
     int64_t to_ms)
{
    const struct card *card = piece->card;
    struct fact *fact = change_create(changes, KIND_FACT,
                                      card->object.self, "");

    memcpy(fact->source, "bulkheadd", sizeof("bulkheadd"));
    fact->from_ms = from_ms;
    fact->to_ms = to_ms;
    fact->usage = (int)piece->usage;
    fact->meter = METER_CARD_HOUR;
    fact->milli = piece->milli;
    fact->quantity = piece->milli * (to_ms - from_ms);
    fact->card = card->object.self;
    fact->node = card->object.parent;
    fact->pool = world_ancestor(changes->world, KIND_POOL,
                                card->object.parent);
    memcpy(fact->vendor, card->vendor, sizeof(fact->vendor));
    memcpy(fact->model, card->model, sizeof(fact->model));
    if (piece->binding != NULL)
        fill_owner(changes, piece->binding, fact);
    else if (piece->usage == USAGE_RESERVED)
        fill_reserver(changes, card, fact);
    fact->price_nano = price_at(changes->world, METER_CARD_HOUR, card->model,
                                fact->tenant, from_ms);
}

/* Cuts a piece at hours and price changes. */
static void
emit_cut(struct changes *changes, const struct piece *piece)
{
    int64_t from_ms = piece->from_ms;

    while (piece->milli > 0 && from_ms < piece->to_ms) {
        int64_t to_ms = hour_start(from_ms) + HOUR_MS;

        if (to_ms > piece->to_ms)
            to_ms = piece->to_ms;
        to_ms = price_next_change(changes->world, METER_CARD_HOUR, from_ms,
                                  to_ms);
        emit(changes, piece, from_ms, to_ms);
        from_ms = to_ms;
    }
}

/* Is a part of the card kept for a nominated or a booked workload? */
static bool
is_held(const struct changes *changes, struct ref card)
{
    world_each_index(changes->world, KIND_HOLD, 0, card, ref)
        if (change_get(changes, ref) != NULL)
            return true;
    world_each_index(changes->world, KIND_BOOKING, 0, card, ref) {
        const struct booking *booking = change_get(changes, ref);

        /* One with a time lets others have it until then. */
        if (booking != NULL && booking->from_ms == 0)
            return true;
    }
    return open_reservation(changes, card) != NULL;
}

enum usage_class
usage_remainder(const struct changes *changes, struct ref ref)
{
    const struct card *card = change_get(changes, ref);
    const struct node *node = change_get(changes, card->object.parent);

    if (card->missing || node == NULL || node->state == NODE_LOST ||
        card->health == HEALTH_UNKNOWN || card->stale)
        return USAGE_UNKNOWN;
    if (node->state == NODE_MAINTENANCE)
        return USAGE_MAINTENANCE;
    if (!card_health_is_fit(card) || card->foreign ||
        card->handover == HANDOVER_FAILED)
        return USAGE_UNHEALTHY;
    if (card->handover == HANDOVER_PENDING || card->dirty[0] != '\0')
        return USAGE_SCRUB;
    return is_held(changes, ref) ? USAGE_RESERVED : USAGE_IDLE;
}

/* Up to when a live binding's time is told at a cut. */
static int64_t
told_ms(const struct binding *binding, int64_t cut_ms)
{
    int64_t told = cut_ms - cut_ms % USAGE_TOLD_MS;

    return told > binding->from_ms ? told : binding->from_ms;
}

/* What a workload has used in all; a sum beyond counting stays at the top.
 * When a card is cut depends on all who have to do with it, so the sum grows
 * at times of the clock and when the work lets go. */
static void
add_card_time(struct changes *changes, const struct binding *binding,
              int64_t from_ms, int64_t to_ms)
{
    int64_t quantity = binding->milli * (to_ms - from_ms);
    struct ref ref = binding->workload;
    struct workload *workload;

    if (quantity == 0 || change_get(changes, ref) == NULL)
        return;
    workload = change_unsaid(changes, ref);
    workload->card_time = workload->card_time < USAGE_MAX - quantity
                              ? workload->card_time + quantity
                              : USAGE_MAX;
}

/* Bound time of one live binding from its own cut; returns its share if it
 * was live for the whole of the card's open interval. */
static int64_t
cut_binding(struct changes *changes, const struct card *card, struct ref ref)
{
    int64_t now_ms = changes->context.now_ms;
    const struct binding *binding = change_get(changes, ref);
    struct piece piece = { .card = card, .usage = USAGE_BOUND };

    if (binding == NULL || binding->to_ms != 0 || binding->cut_ms >= now_ms)
        return 0;
    assert(binding->cut_ms == card->cut_ms);
    piece.binding = binding;
    piece.milli = binding->milli;
    piece.from_ms = binding->cut_ms;
    piece.to_ms = now_ms;
    emit_cut(changes, &piece);
    add_card_time(changes, binding, told_ms(binding, piece.from_ms),
                  told_ms(binding, now_ms));
    share_cut(changes, binding);
    ((struct binding *)change_unsaid(changes, ref))->cut_ms = now_ms;
    return binding->milli;
}

void
usage_cut(struct changes *changes, struct ref ref)
{
    const struct card *card = change_get(changes, ref);
    int64_t now_ms = changes->context.now_ms;
    struct piece rest = { .milli = 1000 };

    if (card == NULL || card->cut_ms >= now_ms)
        return;
    world_each_index(changes->world, KIND_BINDING, 0, ref, binding)
        rest.milli -= cut_binding(changes, card, binding);
    assert(rest.milli >= 0);
    rest.card = card;
    rest.usage = usage_remainder(changes, ref);
    rest.from_ms = card->cut_ms;
    rest.to_ms = now_ms;
    emit_cut(changes, &rest);
    ((struct card *)change_update(changes, ref))->cut_ms = now_ms;
}

void
usage_end(struct changes *changes, struct ref ref)
{
    struct binding *binding;
    int64_t now_ms = changes->context.now_ms;

    usage_cut(changes, ((const struct binding *)change_get(changes, ref))->card);
    binding = change_update(changes, ref);
    add_card_time(changes, binding, told_ms(binding, now_ms), now_ms);
    binding->to_ms = now_ms;
}

void
usage_cut_node(struct changes *changes, struct ref node)
{
    world_each_child(changes->world, KIND_CARD, node, card)
        usage_cut(changes, card);
}

void
usage_start(struct changes *changes, struct card *card)
{
    card->cut_ms = changes->context.now_ms;
}

/* --- counters --- */

static int
check_count(const struct changes *changes, const struct usage_count *count,
            struct error *err)
{
    if (schema_check_name("/source", count->source, err) != 0)
        return -1;
    if (count->epoch < 1 || count->sequence < 1)
        return error_field(err, "/sequence",
                           "epoch %lld and sequence %lld must be 1 or more",
                           (long long)count->epoch,
                           (long long)count->sequence);
    if (count->meter == METER_CARD_HOUR)
        return error_field(err, "/meter",
                           "card time is metered from bindings alone");
    if (count->quantity < 0 || count->quantity > AMOUNT_MAX)
        return error_field(err, "/quantity", "%lld is not 0 to %lld",
                           (long long)count->quantity, (long long)AMOUNT_MAX);
    if (count->from_ms < 0 || count->from_ms >= count->to_ms ||
        count->to_ms > changes->context.now_ms ||
        hour_start(count->from_ms) != hour_start(count->to_ms - 1))
        return error_field(err, "/from",
                           "%lld to %lld is not within one past hour",
                           (long long)count->from_ms,
                           (long long)count->to_ms);
    if (strlen(count->model) >= sizeof(((struct fact *)0)->model))
        return error_field(err, "/model", "the model's name is too long");
    if (change_get(changes, count->project) == NULL ||
        count->project.kind != KIND_PROJECT)
        return error_field(err, "/project", "there is no such project");
    return 0;
}

static enum usage_verdict
judge_count(const struct source *source, const struct usage_count *count)
{
    if (source == NULL || count->epoch > source->epoch)
        return count->sequence == 1 ? USAGE_ACCEPTED : USAGE_GAP;
    if (count->epoch < source->epoch || count->sequence < source->sequence)
        return USAGE_OLDER;
    if (count->sequence > source->sequence)
        return count->sequence == source->sequence + 1 ? USAGE_ACCEPTED
                                                       : USAGE_GAP;
    return memcmp(source->digest, count->digest.bytes,
                  sizeof(source->digest)) == 0
               ? USAGE_DUPLICATE
               : USAGE_CONFLICT;
}

static void
add_count(struct changes *changes, const struct usage_count *count)
{
    struct fact *fact = change_create(changes, KIND_FACT, count->project, "");

    memcpy(fact->source, count->source, strlen(count->source) + 1);
    memcpy(fact->model, count->model, strlen(count->model) + 1);
    fact->epoch = count->epoch;
    fact->sequence = count->sequence;
    fact->from_ms = count->from_ms;
    fact->to_ms = count->to_ms;
    fact->usage = USAGE_BOUND;
    fact->meter = (int)count->meter;
    fact->quantity = count->quantity;
    fact->tenant = world_scope(changes->world, count->project);
    fact->project = count->project;
    fact->user = count->user;
    fact->workload = count->workload;
    fact->price_nano = price_at(changes->world, count->meter, count->model,
                                fact->tenant, count->from_ms);
}

int
usage_count(struct changes *changes, const struct usage_count *count,
            enum usage_verdict *verdict_out, struct error *err)
{
    struct ref platform = world_platform_ref(changes->world);
    struct ref ref;
    struct source *source;
    enum usage_verdict verdict;

    if (check_count(changes, count, err) != 0)
        return -1;
    ref = world_find_name(changes->world, KIND_SOURCE, platform,
                          count->source);
    verdict = judge_count(change_get(changes, ref), count);
    if (verdict == USAGE_ACCEPTED) {
        source = ref_is_none(ref) ? change_create(changes, KIND_SOURCE,
                                                  platform, count->source)
                                  : change_update(changes, ref);
        source->epoch = count->epoch;
        source->sequence = count->sequence;
        memcpy(source->digest, count->digest.bytes, sizeof(source->digest));
        add_count(changes, count);
    }
    *verdict_out = verdict;
    return 0;
}
