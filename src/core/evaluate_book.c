/* SPDX-License-Identifier: Apache-2.0 */
#include "core/evaluate_private.h"

/* Starts that are booked, and what is on loan from them.  See booking.h. */

bool
evaluate_book_loans(struct look *look, struct evaluation *evaluation)
{
    struct estate *estate = look->estate;
    struct ref self = look->workload->object.self;
    uint32_t *runs = NULL;
    size_t count = look->booked
                       ? booking_recalled(estate, self, look->arena, &runs)
                       : 0;

    /* More use of a borrower's may let its guarantee spare the loan. */
    look->outlook->rivals |= count > 0;
    for (size_t i = 0; count > 0 && i < look->count; i++) {
        struct option *option = &look->options[i];

        if (option->request.class == NULL ||
            !reclaim_loans(estate, &look->alternatives[option->alternative],
                           &option->demand,
                           &option->request, &look->bars, runs, count,
                           look->arena, &evaluation->plan))
            continue;
        evaluation->act = ACT_NOMINATE;
        evaluation->demand = option->demand;
        evaluation->request = option->request;
        return true;
    }
    return false;
}

/* May one more be booked in any of the pools?  If not, a booking there that
 * ends brings it up again. */
static bool
has_room(const struct look *look)
{
    for (size_t i = 0; i < look->count; i++)
        if (booking_has_room(look->estate->world, look->workload,
                             look->options[i].pool))
            return true;
    return false;
}

/* The option with the earliest start; one without a time comes last. */
static bool
find_booking(struct look *look, struct evaluation *evaluation)
{
    bool found = false;

    for (size_t i = 0; i < look->count; i++) {
        const struct option *option = &look->options[i];
        struct booking_ask ask = { &look->alternatives[option->alternative],
                                   &option->demand, &option->request,
                                   look->gate->promised, option->open };
        struct booking_plan plan;

        if (option->request.class == NULL ||
            option->demand.of[DIMENSION_CARDS] == 0 ||
            !booking_has_room(look->estate->world, look->workload,
                              option->pool) ||
            !booking_find(look->estate, &ask, look->arena, &plan))
            continue;
        if (found && (plan.from_ms == 0 ||
                      (evaluation->booking.from_ms != 0 &&
                       evaluation->booking.from_ms <= plan.from_ms)))
            continue;
        evaluation->booking = plan;
        evaluation->request = option->request;
        found = true;
    }
    return found;
}

static bool
wants_booking(const struct look *look)
{
    const struct estate *estate = look->estate;
    struct ref self = look->workload->object.self;

    if (look->nominated || booking_has_place(estate->world, self))
        return false;
    return look->booked ? look->any_open
                        : booking_due_ms(estate->world, look->workload) <=
                              estate->now_ms;
}

void
evaluate_book(struct look *look, struct evaluation *evaluation)
{
    struct estate *estate = look->estate;
    struct ref self = look->workload->object.self;
    struct booking_bars others;

    if (evaluation->act != ACT_WAIT)
        return;
    if (look->booked && !booking_stands(estate, self)) {
        evaluation->drop = true;
        return;
    }
    if (!wants_booking(look))
        return;
    look->outlook->barred = ~UINT64_C(0); /* it depends on all of them */
    if (!has_room(look))
        return;
    /* When it could start depends on all that runs. */
    look->outlook->abroad = look->outlook->change = look->outlook->kin = true;
    booking_bar(estate, &look->bars, -1);
    booking_bars(estate, look->workload, look->right, BOOKING_LATER,
                 look->arena, &others);
    evaluate_near(look, &others);
    booking_bar(estate, &others, 1);
    if (find_booking(look, evaluation) &&
        !(look->booked && evaluation->booking.placement.count == 0))
        evaluation->act = ACT_BOOK;
    booking_bar(estate, &others, -1);
    booking_bar(estate, &look->bars, 1);
}
