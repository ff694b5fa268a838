/* SPDX-License-Identifier: Apache-2.0 */
#include "core/shortage.h"

#include <inttypes.h>

#include "core/place_option.h"

/* "4 x h100.1 in pool a" */
#define WHAT_MAX (2 * NAME_MAX_SIZE + 40)
static const char *
what(char text[WHAT_MAX], const struct world *world,
     const struct place_request *request)
{
    const struct pool *pool = world_pool(world, request->pool);

    (void)snprintf(text, WHAT_MAX, "%" PRId64 " x %s in pool %s",
                   request->instances, request->class->object.name,
                   pool != NULL ? pool->object.name : "?");
    return text;
}

/* Cards (shares) that all instances need together. */
static int64_t
units_needed(const struct place_request *request)
{
    int64_t count = request->class->form == FORM_WHOLE ? request->class->count
                                                       : 1;

    return count * request->instances;
}

static void
say_node(const struct place_request *request,
         const struct place_tally *tally, const char *asked,
         struct verdict *verdict)
{
    verdict_set(verdict, WORKLOAD_QUEUED, REASON_NODE,
                "%s needed with %" PRId64 " milli-CPU and %" PRId64
                " MiB each: cards are free, but their nodes have room for "
                "%" PRId64 " such instances; it starts when work there ends",
                asked, request->cpu_milli, request->memory_mib, tally->fit);
    verdict_numbers(verdict, request->instances, tally->fit, AMOUNT_NONE);
}

static void
say_fragmented(int64_t need, const struct place_request *request,
               const struct place_tally *tally, const char *asked,
               struct verdict *verdict)
{
    bool whole = request->class->form == FORM_WHOLE;
    enum place_group group;
    const char *place = place_option_group(request, &group)
                            ? place_group_text(group)
                        : request->one_leaf ? "leaf"
                                            : "node";

    verdict_set(verdict, WORKLOAD_QUEUED, REASON_FRAGMENTED,
                "%s needed, %s on one %s: %" PRId64
                " are free, but at most %" PRId64
                " on one %s; it starts when one %s has enough",
                asked,
                request->one_node || request->one_leaf || !whole
                    ? "all"
                    : "each instance",
                place, tally->free, tally->largest, place, place);
    verdict_numbers(verdict, need, tally->free, tally->largest);
}

/* Units enough, but not side by side. */
static void
say_geometry(int64_t need, const struct place_request *request,
             const struct place_tally *tally, const char *asked,
             struct verdict *verdict)
{
    verdict_set(verdict, WORKLOAD_QUEUED, REASON_GEOMETRY,
                "%s needed, %" PRId64 " free now: %" PRId64
                " cards have enough free for a slice of %s, but not side by "
                "side, the largest that fits is %s; it starts when slices in "
                "the way are given back",
                asked, tally->free, tally->out_cards[FILTER_GEOMETRY],
                request->class->profile,
                tally->slice != NULL ? tally->slice->name : "none");
    verdict_numbers(verdict, need, tally->free, AMOUNT_NONE);
}

/* Which rule keeps the cards back, and what they have. */
static void
say_incompatible(const struct world *world,
                 const struct place_request *request, const char *asked,
                 const struct place_tally *tally, struct verdict *verdict)
{
    char text[REQUIRE_TEXT_MAX], have[REQUIRE_LACK_MAX];
    struct require_lack lack;
    size_t hardest =
        require_hardest(world, request->pool, request->class, request->needs,
                        request->need_count, true, &lack);

    verdict_set(verdict, WORKLOAD_QUEUED, REASON_COMPATIBILITY,
                "%s needed, %" PRId64 " free now; it needs %s: %s; it starts "
                "when enough others are free",
                asked, tally->free,
                require_text(text, world, &request->needs[hardest]),
                require_lack_text(have, &lack));
}

/* The first filter that keeps back what is missing. */
static void
say_capacity(const struct world *world, const struct place_request *request,
             int64_t need, const struct place_tally *tally, const char *asked,
             struct verdict *verdict)
{
    static const struct {
        enum place_filter filter;
        enum reason reason;
        const char *text;
    } causes[] = {
        { FILTER_QUOTA, REASON_LIMIT,
          "are of a type whose quota has no room for it; it starts when that "
          "quota has, or when others are free" },
        { FILTER_HANDOVER, REASON_HANDOVER,
          "are being cleaned after their last use; it starts when enough are "
          "clean" },
        { FILTER_CUT, REASON_HANDOVER,
          "have to be cut, or made whole, first; it starts when one of them "
          "is in nobody's use" },
        { FILTER_HELD, REASON_PRIORITY,
          "are kept for work that goes first; it starts when enough are free" },
        { FILTER_HEALTH, REASON_HEALTH,
          "are not healthy; it starts when they are, or when others are free" },
        { FILTER_FOREIGN, REASON_HEALTH,
          "run something that the platform did not start; it starts when "
          "that is gone, or when others are free" },
        { FILTER_LEASE, REASON_HEALTH,
          "are on nodes that do not answer, or do not tell of their health; it "
          "starts when they do, or when others are free" },
        { FILTER_COMPATIBLE, REASON_COMPATIBILITY,
          "are not what it needs by a requirement; it starts when they are, "
          "or when others are free" },
        { FILTER_IMAGE, REASON_IMAGE,
          "are on nodes that do not have its image; it starts when they have "
          "it, or when others are free" },
        { FILTER_MAINTENANCE, REASON_MAINTENANCE,
          "are on nodes with a planned maintenance that it would run into; it "
          "starts after that, with a shorter longest run, or when others are "
          "free" },
        { FILTER_LOST, REASON_NODE,
          "are on nodes where it was lost before; it starts when others are "
          "free" },
        { FILTER_NODE_STATE, REASON_NODE,
          "are on nodes that take no work; it starts when they do, or when "
          "others are free" },
    };
    enum reason reason = REASON_CAPACITY;
    const char *text = NULL;
    int64_t count = 0;

    for (size_t i = 0; i < sizeof(causes) / sizeof(causes[0]); i++)
        if (text == NULL && tally->out_cards[causes[i].filter] > 0 &&
            tally->free + tally->out_cards[causes[i].filter] >= need) {
            reason = causes[i].reason;
            text = causes[i].text;
            count = tally->out_cards[causes[i].filter];
        }
    if (reason == REASON_COMPATIBILITY && request->need_count > 0)
        say_incompatible(world, request, asked, tally, verdict);
    else if (text != NULL)
        verdict_set(verdict, WORKLOAD_QUEUED, reason,
                    "%s needed, %" PRId64 " free now, %" PRId64 " more %s",
                    asked, tally->free, count, text);
    else
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_CAPACITY,
                    "%s needed, %" PRId64
                    " free now; it starts when enough work there ends",
                    asked, tally->free);
    verdict_numbers(verdict, need, tally->free, AMOUNT_NONE);
}

/* Room enough, but too close to each other. */
static void
say_spread(const struct place_request *request,
           const struct place_tally *tally, const char *asked,
           struct verdict *verdict)
{
    const char *place = request->per_leaf > 0 ? "leaf" : "node";
    int64_t most = request->per_leaf > 0 ? request->per_leaf
                                         : request->per_node;

    if (most == 1)
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_SPREAD,
                    "%s needed, each instance needs its own %s: %" PRId64
                    " %s%s fit, %" PRId64
                    " needed; it starts when others have room",
                    asked, place, tally->fit,
                    request->per_leaf > 0 && tally->fit != 1 ? "leave" : place,
                    tally->fit == 1 ? "" : "s", request->instances);
    else
        verdict_set(verdict, WORKLOAD_QUEUED, REASON_SPREAD,
                    "%s needed, at most %" PRId64 " on one %s: %" PRId64
                    " fit so, %" PRId64
                    " needed; it starts when another %s has room",
                    asked, most, place, tally->fit, request->instances,
                    place);
    verdict_numbers(verdict, request->instances, tally->fit, AMOUNT_NONE);
}

void
shortage_say(const struct world *world, const struct place_request *request,
             const struct place_tally *tally, struct verdict *verdict_out)
{
    char asked[WHAT_MAX];
    int64_t need = units_needed(request);

    what(asked, world, request);
    if (tally->fit < request->instances &&
        tally->fit + tally->close >= request->instances) {
        say_spread(request, tally, asked, verdict_out);
        return;
    }
    if (tally->free < need || need == 0) {
        if (need == 0)
            say_node(request, tally, asked, verdict_out);
        else if (tally->out_cards[FILTER_GEOMETRY] > 0)
            say_geometry(need, request, tally, asked, verdict_out);
        else
            say_capacity(world, request, need, tally, asked, verdict_out);
    } else if (tally->out_nodes[FILTER_CPU] + tally->out_nodes[FILTER_MEMORY] >
                   0 ||
               tally->largest >= need) {
        say_node(request, tally, asked, verdict_out);
    } else {
        say_fragmented(need, request, tally, asked, verdict_out);
    }
}
