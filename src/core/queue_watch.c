/* SPDX-License-Identifier: Apache-2.0 */
#include "core/queue_private.h"

#define COST_SITE 2 /* units of the budget */

/* Who looks at each change of some parts: work for which they are kept. */

void
queue_unwatch(struct queue *queue, struct group *group)
{
    for (size_t i = 0; i < group->watch_count; i++) {
        struct watch *watch = &group->watches[i];
        struct watchers *watchers = &queue->watchers[watch->site];
        struct watcher last = watchers->list[--watchers->count];

        if (watch->at == watchers->count)
            continue;
        watchers->list[watch->at] = last;
        queue->groups[last.group]->watches[last.watch].at = watch->at;
    }
    group->watch_count = 0;
}

void
queue_watch(struct queue *queue, uint32_t number,
            const struct outlook *outlook)
{
    struct group *group = queue->groups[number];

    queue_unwatch(queue, group);
    group->watches =
        queue_grow(queue, group->watches, &group->watch_room,
                   outlook->place_count, sizeof(*group->watches));
    for (size_t i = 0; i < outlook->place_count; i++) {
        const struct outlook_place *place = &outlook->places[i];
        struct watchers *watchers;

        queue->watchers =
            queue_grow(queue, queue->watchers, &queue->watcher_room,
                       (size_t)place->site + 1, sizeof(*queue->watchers));
        watchers = &queue->watchers[place->site];
        watchers->list =
            queue_grow(queue, watchers->list, &watchers->room,
                       watchers->count + 1, sizeof(*watchers->list));
        group->watches[i] = (struct watch){
            place->site, (uint32_t)watchers->count, place->parts
        };
        watchers->list[watchers->count++] =
            (struct watcher){ number, (uint32_t)i };
    }
    group->watch_count = outlook->place_count;
}

static void
wake_site(struct queue *queue, struct estate *estate, uint32_t site,
          uint64_t parts)
{
    const struct watchers *watchers;

    if (site >= queue->watcher_room)
        return;
    watchers = &queue->watchers[site];
    for (size_t i = 0; i < watchers->count; i++) {
        const struct watcher *watcher = &watchers->list[i];
        const struct group *group = queue->groups[watcher->group];

        if ((group->watches[watcher->watch].parts & parts) != 0)
            queue_wake(queue, estate, watcher->group);
    }
}

bool
queue_wake_by_sites(struct queue *queue, struct estate *estate)
{
    if (estate->touched_count - queue->touched > ESTATE_TOUCHED) {
        for (size_t i = 0; i < queue->watcher_room; i++)
            wake_site(queue, estate, (uint32_t)i, ~UINT64_C(0));
        queue->touched = estate->touched_count;
    }
    for (; queue->touched < estate->touched_count; queue->touched++) {
        uint64_t at = queue->touched % ESTATE_TOUCHED;

        if (!budget_take(estate->budget, COST_SITE))
            return false;
        wake_site(queue, estate, estate->touched[at],
                  estate->touched_parts[at]);
    }
    return true;
}
