/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/worker.h"

#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "accel/wire.h"
#include "base/arena.h"

/* To close the library when nothing hangs. */
#define GRACE_MS 1000

struct worker {
    const char *backend, *source, *state_dir;
    struct wire_page *page;
    struct accel accel;
    struct wire_answer answer;
};

/* Whoever asked may die while a call hangs: nobody is left to kill us. */
static void *
watch_main(void *data)
{
    struct pollfd watched = { .fd = WIRE_SOCKET, .events = POLLRDHUP };

    (void)data;
    while (poll(&watched, 1, -1) < 0 ||
           (watched.revents & (POLLRDHUP | POLLHUP | POLLERR)) == 0)
        ;
    (void)poll(NULL, 0, GRACE_MS);
    _exit(0);
}

static int
open_backend(struct worker *worker, struct error *err)
{
    const struct wire_hello hello = { .sizes = WIRE_SIZES };
    struct accel_watch watch = { 0 };

    memcpy(worker->answer.payload, &hello, sizeof(hello));
    worker->answer.size = sizeof(hello);
    if (worker->accel.ops != NULL)
        return 0;
    watch.trail = &worker->page->trail;
    watch.mute = worker->page->mutes;
    watch.mute_count = worker->page->mute_count <= WIRE_MUTES
                           ? worker->page->mute_count
                           : WIRE_MUTES;
    return accel_open_watched(&worker->accel, worker->backend, worker->source,
                              worker->state_dir, &watch, err);
}

static int
list(struct worker *worker, struct error *err)
{
    scoped_arena arena = arena_new();
    struct wire_uuid *out = (struct wire_uuid *)(void *)worker->answer.payload;
    const char *const *uuids = NULL;
    size_t count = 0;

    if (accel_list(&worker->accel, arena, &uuids, &count, err) != 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        (void)snprintf(out[i].text, sizeof(out[i].text), "%s", uuids[i]);
    worker->answer.size = (uint32_t)(count * sizeof(*out));
    return 0;
}

/* Answers with one struct, or with a list of them. */
#define ONE(type, call)                                                        \
    do {                                                                       \
        worker->answer.size = sizeof(struct type);                             \
        return call(accel, request->part, (struct type *)payload, err);        \
    } while (0)
#define MANY(type, call)                                                       \
    do {                                                                       \
        size_t count_ = 0;                                                     \
        int result_ =                                                          \
            call(accel, request->part, (struct type *)payload, &count_, err);  \
        worker->answer.size = (uint32_t)(count_ * sizeof(struct type));        \
        return result_;                                                        \
    } while (0)

static int
ask_events(struct worker *worker, const struct wire_request *request,
           struct error *err)
{
    void *payload = worker->answer.payload;
    size_t count = 0;
    int result =
        accel_events(&worker->accel, request->wait_ms, payload, &count, err);

    worker->answer.size = (uint32_t)(count * sizeof(struct accel_event));
    return result;
}

static int
do_request(struct worker *worker, const struct wire_request *request,
           struct error *err)
{
    struct accel *accel = &worker->accel;
    void *payload = worker->answer.payload;

    if (request->op != WIRE_HELLO && accel->ops == NULL)
        return error_set(err, ERROR_INTERNAL, "the backend is not open");
    switch (request->op) {
    case WIRE_HELLO:
        return open_backend(worker, err);
    case WIRE_SURVEY:
        worker->answer.size = sizeof(struct accel_survey);
        return accel_survey(accel, payload, err);
    case WIRE_LIST:
        return list(worker, err);
    case WIRE_DESCRIBE:
        ONE(accel_card, accel_describe);
    case WIRE_HEALTH:
        ONE(accel_state, accel_health);
    case WIRE_READ:
        ONE(accel_reading, accel_read);
    case WIRE_SCRUB:
        ONE(accel_scrub, accel_scrub);
    case WIRE_PROCESSES:
        MANY(accel_process, accel_processes);
    case WIRE_NODES:
        MANY(accel_node, accel_nodes);
    case WIRE_USAGE:
        MANY(accel_usage, accel_usage);
    case WIRE_SLICES:
        MANY(accel_slice, accel_slices);
    case WIRE_EVENTS:
        return ask_events(worker, request, err);
    case WIRE_SETTLE:
        return accel_settle(accel, request->part, err);
    case WIRE_RESET:
        return accel_reset(accel, request->part, err);
    case WIRE_CUT:
        return accel_cut(accel, request->part, request->on, err);
    case WIRE_SLICE_CREATE:
        return accel_slice_create(accel, request->part, err);
    case WIRE_SLICE_DESTROY:
        return accel_slice_destroy(accel, request->part, err);
    }
    return error_set(err, ERROR_INVALID, "unknown request");
}

static int
serve(struct worker *worker)
{
    struct wire_request request;
    struct wire_answer *answer = &worker->answer;

    while (recv(WIRE_SOCKET, &request, sizeof(request), 0) ==
           (ssize_t)sizeof(request)) {
        memset(answer, 0, WIRE_HEADER);
        request.part[sizeof(request.part) - 1] = '\0';
        answer->result = do_request(worker, &request, &answer->err);
        if (answer->result != 0)
            answer->size = 0;
        /* Between two requests nothing is being asked. */
        memset(&worker->page->trail, 0, sizeof(worker->page->trail));
        if (send(WIRE_SOCKET, answer, WIRE_HEADER + answer->size,
                 MSG_NOSIGNAL) < 0)
            break;
    }
    accel_close(&worker->accel);
    return 0;
}

int
worker_run(const char *backend, const char *source, const char *state_dir)
{
    static struct worker worker;
    pthread_t thread;
    void *page = mmap(NULL, sizeof(struct wire_page), PROT_READ | PROT_WRITE,
                      MAP_SHARED, WIRE_PAGE, 0);

    if (page == MAP_FAILED ||
        pthread_create(&thread, NULL, watch_main, NULL) != 0)
        return 1;
    worker = (struct worker){ .backend = backend,
                              .source = source,
                              .state_dir = state_dir,
                              .page = page };
    return serve(&worker);
}
