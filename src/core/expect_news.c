/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "core/expect.h"

/* Which submissions are not counted yet? */

static int64_t
upto_of(const struct world *world)
{
    return world_platform(world, world_platform_ref(world))->expected_upto;
}

static void
mark(struct expect_news *news, uint32_t index, bool is)
{
    if (index >= news->room) {
        size_t room = 2 * (size_t)index + 64;

        news->flags = memory_grow(news->flags, room, 1);
        memset(news->flags + news->room, 0, room - news->room);
        news->room = room;
    }
    news->count += (int64_t)is - news->flags[index];
    news->flags[index] = is;
}

/* room: for how many at once, so that the first load copies no large list. */
static void
add_new(struct expect_news *news, const struct workload *workload,
        size_t room)
{
    uint32_t index = workload->object.self.index;

    if (index < news->room && news->flags[index] != 0)
        return;
    mark(news, index, true);
    if (news->list_count == news->list_room) {
        news->list_room = 2 * news->list_room + room + 64;
        news->list = memory_grow(news->list, news->list_room,
                                 sizeof(*news->list));
    }
    news->list[news->list_count++] =
        (struct expect_new){ workload->object.seq, index };
}

static bool
is_new(const struct expect_news *news, const struct workload *workload)
{
    return (int64_t)workload->object.seq > news->upto;
}

void
expect_news_begin(struct expect_news *news, const struct world *world)
{
    if (news->room > 0)
        memset(news->flags, 0, news->room);
    news->count = 0;
    news->list_count = 0;
    news->upto = upto_of(world);
    walk_begin(&news->load, world, KIND_WORKLOAD);
}

#define COST_LOAD 2 /* units of the budget */

bool
expect_news_load(struct expect_news *news, const struct world *world,
                 struct budget *budget)
{
    struct ref ref;

    while (!walk_is_over(&news->load)) {
        const struct workload *workload;

        if (!budget_take(budget, COST_LOAD))
            return false;
        if (!walk_next(&news->load, world, &ref))
            break;
        workload = world_workload(world, ref);
        if (is_new(news, workload))
            add_new(news, workload, world_count(world, KIND_WORKLOAD));
    }
    return true;
}

void
expect_news_release(struct expect_news *news)
{
    free(news->flags);
    free(news->list);
    *news = (struct expect_news){ 0 };
}

/* Those up to the platform's number are counted now. */
static void
leave_out(struct expect_news *news, const struct world *world)
{
    size_t kept = 0;

    news->upto = upto_of(world);
    for (size_t i = 0; i < news->list_count; i++)
        mark(news, news->list[i].index, false);
    for (size_t i = 0; i < news->list_count; i++) {
        struct expect_new entry = news->list[i];
        const struct object *object;

        if ((int64_t)entry.seq <= news->upto) /* all but a few */
            continue;
        object = world_object(world,
                              (struct ref){ KIND_WORKLOAD, entry.index });
        if (object == NULL || object->seq != entry.seq)
            continue;
        mark(news, entry.index, true);
        news->list[kept++] = entry;
    }
    news->list_count = kept;
    if (kept > 0)
        return;
    free(news->list); /* the first load has all there is */
    news->list = NULL;
    news->list_room = 0;
}

void
expect_news_note(struct expect_news *news, const struct world *world,
                 const struct trail_step *step)
{
    const struct workload *workload = world_workload(world, step->ref);

    if (step->ref.kind == KIND_PLATFORM) {
        if (upto_of(world) < news->upto)
            expect_news_begin(news, world);
        else if (upto_of(world) > news->upto)
            leave_out(news, world);
    } else if (step->ref.kind == KIND_WORKLOAD && step->op != TRAIL_CHANGED) {
        mark(news, step->ref.index, false);
        if (workload != NULL && is_new(news, workload))
            add_new(news, workload, 0);
    }
}

bool
expect_is_due(const struct world *world, const struct expect_news *news)
{
    int64_t known =
        world_platform(world, world_platform_ref(world))->expected_count;

    return known + news->count >= MIX_FIRST &&
           (news->count >= known || news->count >= EXPECT_MOST);
}
