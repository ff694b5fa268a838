/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/lane.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

#include "base/arena.h"

struct lane {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct lane_work *first;
    struct lane_work **last;
};

static void *
lane_main(void *data)
{
    struct lane *lane = data;

    for (;;) {
        struct lane_work *work;

        (void)pthread_mutex_lock(&lane->lock);
        while (lane->first == NULL)
            (void)pthread_cond_wait(&lane->filled, &lane->lock);
        work = lane->first;
        lane->first = work->next;
        if (lane->first == NULL)
            lane->last = &lane->first;
        (void)pthread_mutex_unlock(&lane->lock);
        work->run(work);
    }
    return NULL;
}

struct lane *
lane_new(unsigned threads)
{
    struct lane *lane = memory_new(1, sizeof(*lane));

    lane->last = &lane->first;
    (void)pthread_mutex_init(&lane->lock, NULL);
    (void)pthread_cond_init(&lane->filled, NULL);
    for (unsigned i = 0; i < threads; i++) {
        pthread_t thread;
        int failed = pthread_create(&thread, NULL, lane_main, lane);

        assert(!failed);
        (void)pthread_detach(thread);
    }
    return lane;
}

void
lane_push(struct lane *lane, struct lane_work *work)
{
    work->next = NULL;
    (void)pthread_mutex_lock(&lane->lock);
    *lane->last = work;
    lane->last = &work->next;
    (void)pthread_cond_signal(&lane->filled);
    (void)pthread_mutex_unlock(&lane->lock);
}
