/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <inttypes.h>

#include "core/reservation.h"

/* Requests: what a wish must name. */

#define OPEN_MAX 100

static int
check_quota(const struct edit *edit, struct wish *request,
            struct error *err)
{
    if (!edit_has(edit, "dimension"))
        return error_field(err, "/dimension", "a quota is of something: "
                                              "cards, card_time, ...");
    if (request->guaranteed == AMOUNT_NONE && request->limit == AMOUNT_NONE)
        return error_field(err, "/limit",
                           "name a guarantee, a limit, or both");
    if (!ref_is_none(request->user) &&
        request->object.parent.kind != KIND_PROJECT)
        return error_field(err, "/user",
                           "a subject's quota sits in a project");
    return 0;
}

static int
check_reservation(const struct edit *edit, const struct wish *request,
                  struct error *err)
{
    const struct reservation wish = {
        .from_ms = request->from_ms > 0 ? request->from_ms : edit->now_ms,
        .to_ms = request->to_ms,
        .every = request->every,
        .until_ms = request->until_ms,
    };

    if (request->limit <= 0 || request->limit % 1000 != 0)
        return error_field(err, "/limit",
                           "whole cards are reserved: 1000 milli-cards or a "
                           "multiple of it");
    if (ref_is_none(request->pool))
        return error_field(err, "/pool", "name the pool that the cards are of");
    if (request->from_ms != 0 && request->from_ms < edit->now_ms)
        return error_field(err, "/from_ms",
                           "a reservation begins now or later");
    return reservation_check_times(&wish, edit->now_ms, err);
}

static int
check_sort(const struct edit *edit, struct wish *request,
           struct error *err)
{
    switch ((enum request_sort)request->sort) {
    case REQUEST_QUOTA:
        return check_quota(edit, request, err);
    case REQUEST_RESERVATION:
        return check_reservation(edit, request, err);
    case REQUEST_CLASS:
        if (ref_is_none(request->class))
            return error_field(err, "/class", "name the class");
        break;
    case REQUEST_PRIORITY:
        if (ref_is_none(request->priority))
            return error_field(err, "/priority", "name the priority");
        break;
    }
    return 0;
}

int
rules_create_request(const struct edit *edit, void *image, struct error *err)
{
    struct wish *request = image;
    int64_t open = 0;

    if (!edit_has(edit, "guaranteed"))
        request->guaranteed = AMOUNT_NONE;
    if (!edit_has(edit, "limit"))
        request->limit = AMOUNT_NONE;
    if (request->reason[0] == '\0')
        return error_field(err, "/reason",
                           "/reason is empty: who decides has to know why");
    if (check_sort(edit, request, err) != 0)
        return -1;
    world_each_child(edit->world, KIND_REQUEST, request->object.parent, ref)
        open += world_wish(edit->world, ref)->state == REQUEST_OPEN;
    if (open >= OPEN_MAX)
        return error_set(err, ERROR_QUOTA,
                         "%" PRId64 " requests are open here: withdraw some "
                         "or wait for decisions",
                         open);
    request->requester = edit->actor->subject;
    return 0;
}
