/* SPDX-License-Identifier: Apache-2.0 */
#include "control/crew.h"

#include <assert.h>

struct crew {
    struct crew_options options;
    pthread_t *threads;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *first, *last;
    size_t count;
    bool stopping;
};

/* The next job; NULL when the crew ends. */
static struct job *
take(struct crew *crew)
{
    struct job *job;

    (void)pthread_mutex_lock(&crew->lock);
    while (crew->first == NULL && !crew->stopping)
        (void)pthread_cond_wait(&crew->wake, &crew->lock);
    job = crew->first;
    if (job != NULL) {
        crew->first = job->next;
        if (crew->first == NULL)
            crew->last = NULL;
        crew->count--;
        job->next = NULL;
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return job;
}

static void *
serve(void *argument)
{
    struct crew *crew = argument;
    void *context = NULL;
    struct job *job;

    while ((job = take(crew)) != NULL) {
        if (context == NULL && crew->options.open != NULL)
            context = crew->options.open(crew->options.data);
        crew->options.work(crew->options.data, context, job);
    }
    if (context != NULL && crew->options.close != NULL)
        crew->options.close(context);
    return NULL;
}

struct crew *
crew_new(const struct crew_options *options)
{
    struct crew *crew = memory_new(1, sizeof(*crew));

    crew->options = *options;
    crew->threads = memory_new(options->threads, sizeof(pthread_t));
    (void)pthread_mutex_init(&crew->lock, NULL);
    (void)pthread_cond_init(&crew->wake, NULL);
    for (unsigned i = 0; i < options->threads; i++) {
        int rc = pthread_create(&crew->threads[i], NULL, serve, crew);

        assert(rc == 0);
    }
    return crew;
}

void
crew_free(struct crew *crew)
{
    if (crew == NULL)
        return;
    (void)pthread_mutex_lock(&crew->lock);
    crew->stopping = true;
    (void)pthread_cond_broadcast(&crew->wake);
    (void)pthread_mutex_unlock(&crew->lock);
    for (unsigned i = 0; i < crew->options.threads; i++)
        (void)pthread_join(crew->threads[i], NULL);
    (void)pthread_cond_destroy(&crew->wake);
    (void)pthread_mutex_destroy(&crew->lock);
    free(crew->threads);
    free(crew);
}

bool
crew_push(struct crew *crew, struct job *job)
{
    bool full;

    (void)pthread_mutex_lock(&crew->lock);
    full = crew->stopping || (crew->options.jobs_max > 0 &&
                              crew->count >= crew->options.jobs_max);
    if (!full) {
        job->next = NULL;
        if (crew->last != NULL)
            crew->last->next = job;
        else
            crew->first = job;
        crew->last = job;
        crew->count++;
        (void)pthread_cond_signal(&crew->wake);
    }
    (void)pthread_mutex_unlock(&crew->lock);
    return !full;
}
