/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

#define FIRST_RETRY_MS 60000
#define LAST_RETRY_MS 600000
#define STUCK_MAX 4
/* Of the time that a killed process has to be gone. */
#define REAP_MS 500
/* A card that hangs while all are listed costs one deadline; so many are
 * borne in one request. */
#define HANGS_A_REQUEST 2
#define CHANGE_FACTOR 10
/* So many requests in a row without one answer are the library's fault, not
 * the cards': nobody waits for each card in turn. */
#define HANGS_IN_A_ROW 3

/* What is not asked for a while. */
struct mute {
    struct accel_trail trail;
    int64_t until_ms, wait_ms;
};

struct remote {
    char *program, *backend, *source, *state_dir;
    int deadline_ms, change_ms;
    atomic_bool held;
    pthread_mutex_t lock; /* of all below */
    pid_t pid;            /* -1: none */
    int socket;
    struct wire_page *page;
    size_t mute_count;
    struct mute mutes[WIRE_MUTES];
    int hangs; /* since the last answer */
    /* The library as such did not answer, or is not there. */
    int64_t closed_until_ms;
    int64_t closed_wait_ms;
    struct error closed;
    size_t stuck_count;
    pid_t stuck[STUCK_MAX];
    struct wire_answer answer;
};

struct remote *
remote_new(const struct remote_options *options)
{
    struct remote *remote = memory_new(1, sizeof(*remote));

    remote->program = memory_strdup(options->program);
    remote->backend = memory_strdup(options->backend);
    remote->source =
        options->source != NULL ? memory_strdup(options->source) : NULL;
    remote->state_dir = memory_strdup(options->state_dir);
    remote->deadline_ms =
        options->deadline_ms > 0 ? options->deadline_ms : REMOTE_DEADLINE_MS;
    remote->change_ms = options->change_ms > 0
                            ? options->change_ms
                            : remote->deadline_ms * CHANGE_FACTOR;
    (void)pthread_mutex_init(&remote->lock, NULL);
    remote->pid = -1;
    remote->socket = -1;
    return remote;
}

/* --- the end of a worker --- */

static bool
is_gone(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) != 0;
}

static void
reap_stuck(struct remote *remote)
{
    size_t left = 0;

    for (size_t i = 0; i < remote->stuck_count; i++)
        if (!is_gone(remote->stuck[i]))
            remote->stuck[left++] = remote->stuck[i];
    remote->stuck_count = left;
}

/* One that does not hang ends by itself when nobody listens any more.  The
 * driver may hold one in the kernel: nobody waits for that. */
static void
end_worker(struct remote *remote, bool hangs)
{
    int64_t until = clock_mono_ms() + REAP_MS;

    if (remote->socket >= 0)
        (void)close(remote->socket);
    remote->socket = -1;
    if (remote->page != NULL)
        (void)munmap(remote->page, sizeof(*remote->page));
    remote->page = NULL;
    if (remote->pid < 0)
        return;
    while (!is_gone(remote->pid)) {
        if (hangs || clock_mono_ms() >= until - REAP_MS / 2)
            (void)kill(remote->pid, SIGKILL);
        if (clock_mono_ms() >= until) {
            remote->stuck[remote->stuck_count++] = remote->pid;
            break;
        }
        (void)poll(NULL, 0, 2);
    }
    remote->pid = -1;
}

void
remote_free(struct remote *remote)
{
    if (remote == NULL)
        return;
    end_worker(remote, false);
    (void)pthread_mutex_destroy(&remote->lock);
    free(remote->program);
    free(remote->backend);
    free(remote->source);
    free(remote->state_dir);
    free(remote);
}

/* --- what is not asked --- */

static void
forget_old(struct remote *remote, int64_t now_ms)
{
    /* They stay, to know how long the next pause is, but are not told. */
    uint32_t told = 0;

    for (size_t i = 0; i < remote->mute_count; i++)
        if (remote->mutes[i].until_ms > now_ms)
            remote->page->mutes[told++] = remote->mutes[i].trail;
    remote->page->mute_count = told;
}

static struct mute *
find_mute(struct remote *remote, const char *card, const char *call)
{
    for (size_t i = 0; i < remote->mute_count; i++) {
        struct mute *mute = &remote->mutes[i];

        if (strcmp(mute->trail.card, card) == 0 &&
            (call == NULL
                 ? !mute->trail.pair
                 : mute->trail.pair && strcmp(mute->trail.call, call) == 0))
            return mute;
    }
    return NULL;
}

static void
add_mute(struct remote *remote, const struct accel_trail *trail)
{
    struct mute *mute =
        find_mute(remote, trail->card, trail->pair ? trail->call : NULL);

    if (mute == NULL) {
        if (remote->mute_count == WIRE_MUTES) {
            memmove(&remote->mutes[0], &remote->mutes[1],
                    sizeof(remote->mutes) - sizeof(remote->mutes[0]));
            remote->mute_count--;
        }
        mute = &remote->mutes[remote->mute_count++];
        *mute = (struct mute){ .wait_ms = FIRST_RETRY_MS / 2 };
    }
    mute->trail = *trail;
    mute->wait_ms =
        mute->wait_ms * 2 < LAST_RETRY_MS ? mute->wait_ms * 2 : LAST_RETRY_MS;
    mute->until_ms = clock_mono_ms() + mute->wait_ms;
}

/* The other name of a card that hung before it told its UUID is "#index". */
static bool
is_nameless(const struct mute *mute)
{
    return mute->trail.card[0] == '#';
}

static int
check_mute(struct remote *remote, const char *part, struct error *err)
{
    char uuid[ACCEL_ID_MAX + 1];
    const struct mute *mute;

    (void)snprintf(uuid, sizeof(uuid), "%.*s", (int)strcspn(part, "/"), part);
    mute = find_mute(remote, uuid, NULL);
    if (uuid[0] == '\0' || mute == NULL || mute->until_ms <= clock_mono_ms())
        return 0;
    return error_set(err, ERROR_BUSY,
                     "the card does not answer: %s did not come back; it is "
                     "asked again in %" PRId64 " s",
                     mute->trail.call,
                     (mute->until_ms - clock_mono_ms() + 999) / 1000);
}

/* --- the start of one --- */

static void
close_library(struct remote *remote, const struct error *why)
{
    remote->closed = *why;
    remote->closed_wait_ms = remote->closed_wait_ms == 0
                                 ? FIRST_RETRY_MS
                                 : remote->closed_wait_ms * 2;
    if (remote->closed_wait_ms > LAST_RETRY_MS)
        remote->closed_wait_ms = LAST_RETRY_MS;
    remote->closed_until_ms = clock_mono_ms() + remote->closed_wait_ms;
}

static int
spawn(struct remote *remote, int socket_fd, int page_fd)
{
    char *words[] = { remote->program,
                      (char *)(uintptr_t) "--serve",
                      remote->backend,
                      (char *)(uintptr_t) "--state",
                      remote->state_dir,
                      remote->source != NULL ? (char *)(uintptr_t) "--libraries"
                                             : NULL,
                      remote->source,
                      NULL };
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int failed;

    (void)sigemptyset(&none);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, socket_fd, WIRE_SOCKET);
    (void)posix_spawn_file_actions_adddup2(&actions, page_fd, WIRE_PAGE);
    failed = posix_spawn(&remote->pid, remote->program, &actions, &attributes,
                         words, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

/* Above what the worker's own descriptors take. */
static int
lift(int fd)
{
    int high = fcntl(fd, F_DUPFD_CLOEXEC, 10);

    (void)close(fd);
    return high;
}

static int
make_worker(struct remote *remote, struct error *err)
{
    int pair[2] = { -1, -1 };
    int page_fd = memfd_create("bulkhead-cards", MFD_CLOEXEC);
    void *page = MAP_FAILED;
    int failed = EMFILE;

    if (page_fd >= 0 &&
        ftruncate(page_fd, (off_t)sizeof(struct wire_page)) == 0)
        page = mmap(NULL, sizeof(struct wire_page), PROT_READ | PROT_WRITE,
                    MAP_SHARED, page_fd, 0);
    if (page != MAP_FAILED &&
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
        remote->page = page;
        forget_old(remote, clock_mono_ms());
        pair[1] = lift(pair[1]);
        page_fd = lift(page_fd);
        failed = spawn(remote, pair[1], page_fd);
        (void)close(pair[1]);
        remote->socket = pair[0];
    }
    if (page_fd >= 0)
        (void)close(page_fd);
    if (failed == 0)
        return 0;
    remote->pid = -1;
    end_worker(remote, true);
    return error_set(err, ERROR_INTERNAL, "start a worker: %s",
                     strerror(failed));
}

/* --- one request --- */

static int
deadline_of(const struct remote *remote, const struct wire_request *request)
{
    switch (request->op) {
    case WIRE_SETTLE:
    case WIRE_RESET:
    case WIRE_SCRUB:
    case WIRE_CUT:
    case WIRE_SLICE_CREATE:
    case WIRE_SLICE_DESTROY:
        return remote->change_ms;
    case WIRE_EVENTS:
        return remote->deadline_ms + request->wait_ms;
    case WIRE_HELLO:
    case WIRE_SURVEY:
    case WIRE_LIST:
    case WIRE_DESCRIBE:
    case WIRE_HEALTH:
    case WIRE_READ:
    case WIRE_PROCESSES:
    case WIRE_NODES:
    case WIRE_USAGE:
    case WIRE_SLICES:
        break;
    }
    return remote->deadline_ms;
}

enum outcome { ANSWERED, OVERRAN, DIED };

static enum outcome
exchange(struct remote *remote, const struct wire_request *request)
{
    int64_t until = clock_mono_ms() + deadline_of(remote, request);
    struct pollfd wait = { .fd = remote->socket, .events = POLLIN };
    ssize_t size;

    if (send(remote->socket, request, sizeof(*request), MSG_NOSIGNAL) < 0)
        return DIED;
    for (;;) {
        int64_t left = until - clock_mono_ms();
        int ready = left <= 0 ? 0 : poll(&wait, 1, (int)left);

        if (ready == 0)
            return OVERRAN;
        if (ready > 0)
            break;
    }
    size = recv(remote->socket, &remote->answer, sizeof(remote->answer), 0);
    return size >= (ssize_t)WIRE_HEADER &&
                   (size_t)size == WIRE_HEADER + remote->answer.size
               ? ANSWERED
               : DIED;
}

/* Ends the worker and remembers what it was at.  A call that was about no
 * card is the library's. */
static int
blame(struct remote *remote, const struct wire_request *request,
      enum outcome outcome, struct error *err)
{
    struct accel_trail trail = remote->page->trail;

    trail.call[sizeof(trail.call) - 1] = '\0';
    trail.card[sizeof(trail.card) - 1] = '\0';
    end_worker(remote, true);
    if (outcome == OVERRAN)
        (void)error_set(err, ERROR_BUSY,
                        "%s%s%s did not come back within %d ms", trail.card,
                        trail.card[0] != '\0' ? ": " : "",
                        trail.call[0] != '\0' ? trail.call : "the worker",
                        deadline_of(remote, request));
    else
        (void)error_set(err, ERROR_BUSY, "%s%sthe worker ended in %s",
                        trail.card, trail.card[0] != '\0' ? ": " : "",
                        trail.call[0] != '\0' ? trail.call : "no call");
    remote->hangs++;
    if (trail.card[0] != '\0')
        add_mute(remote, &trail);
    if (trail.card[0] == '\0' || remote->hangs >= HANGS_IN_A_ROW)
        close_library(remote, err);
    return -1;
}

static int
start(struct remote *remote, struct error *err)
{
    const struct wire_request hello = { .op = WIRE_HELLO };
    struct wire_hello sizes = { 0 };
    enum outcome outcome;

    if (remote->pid >= 0)
        return 0;
    reap_stuck(remote);
    if (remote->stuck_count == STUCK_MAX) {
        (void)error_set(err, ERROR_BUSY,
                        "%d workers hang in the driver and cannot be ended",
                        STUCK_MAX);
        return error_help(err, "Start the node anew.");
    }
    if (remote->closed_until_ms > clock_mono_ms()) {
        *err = remote->closed;
        return -1;
    }
    if (make_worker(remote, err) != 0)
        return -1;
    outcome = exchange(remote, &hello);
    if (outcome != ANSWERED)
        return blame(remote, &hello, outcome, err);
    if (remote->answer.result != 0) {
        *err = remote->answer.err;
        end_worker(remote, false);
        close_library(remote, err);
        return -1;
    }
    memcpy(&sizes, remote->answer.payload, sizeof(sizes));
    if (sizes.sizes != WIRE_SIZES) {
        end_worker(remote, true);
        return error_set(err, ERROR_INTERNAL,
                         "bulkhead-cards is of another build: install both "
                         "together");
    }
    remote->closed_wait_ms = 0;
    return 0;
}

static int
take(struct remote *remote, void *payload, size_t size, size_t *got_out,
     struct error *err)
{
    size_t got = remote->answer.size < size ? remote->answer.size : size;

    if (remote->answer.result != 0) {
        *err = remote->answer.err;
        return -1;
    }
    if (payload != NULL)
        memcpy(payload, remote->answer.payload, got);
    if (got_out != NULL)
        *got_out = got;
    return 0;
}

/* Who answers again begins anew with the short pause. */
static void
pardon(struct remote *remote, const struct wire_request *request)
{
    size_t size = strcspn(request->part, "/");
    size_t left = 0;

    for (size_t i = 0; i < remote->mute_count; i++) {
        const struct mute *mute = &remote->mutes[i];
        bool answers =
            mute->until_ms <= clock_mono_ms() &&
            (request->op == WIRE_LIST
                 ? is_nameless(mute)
                 : size > 0 && strlen(mute->trail.card) == size &&
                       strncmp(mute->trail.card, request->part, size) == 0);

        if (!answers)
            remote->mutes[left++] = *mute;
    }
    remote->mute_count = left;
}

/* A list is asked for anew without the card that hung in it: the others are
 * not to wait for the next time. */
static int
call(struct remote *remote, const struct wire_request *request, void *payload,
     size_t size, size_t *got_out, struct error *err)
{
    int tries = request->op == WIRE_LIST ? HANGS_A_REQUEST + 1 : 1;

    bool again = false;

    for (int i = 0; i < tries; i++) {
        enum outcome outcome;

        if (check_mute(remote, request->part, err) != 0 ||
            start(remote, err) != 0)
            return -1;
        outcome = exchange(remote, request);
        if (outcome == ANSWERED) {
            remote->hangs = 0;
            pardon(remote, request);
            return take(remote, payload, size, got_out, err);
        }
        /* It died idle: nothing is to blame. */
        if (outcome == DIED && !again && remote->page->trail.call[0] == '\0') {
            end_worker(remote, true);
            again = true;
            i--;
            continue;
        }
        (void)blame(remote, request, outcome, err);
    }
    return -1;
}

/* Whose pause is over is asked by a worker that was not told to leave it out.
 */
static void
renew(struct remote *remote)
{
    int64_t now_ms = clock_mono_ms();
    uint32_t still = 0;

    for (size_t i = 0; i < remote->mute_count; i++)
        still += remote->mutes[i].until_ms > now_ms;
    if (remote->pid >= 0 && still < remote->page->mute_count)
        end_worker(remote, true);
}

int
remote_call(struct remote *remote, const struct wire_request *request,
            void *payload, size_t size, size_t *got_out, struct error *err)
{
    int result;

    (void)pthread_mutex_lock(&remote->lock);
    atomic_store(&remote->held,
                 deadline_of(remote, request) == remote->change_ms);
    renew(remote);
    result = call(remote, request, payload, size, got_out, err);
    atomic_store(&remote->held, false);
    (void)pthread_mutex_unlock(&remote->lock);
    return result;
}

void
remote_end(struct remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    end_worker(remote, false);
    (void)pthread_mutex_unlock(&remote->lock);
}

void
remote_hold(struct remote *remote)
{
    (void)pthread_mutex_lock(&remote->lock);
    atomic_store(&remote->held, true);
    end_worker(remote, false);
}

void
remote_go(struct remote *remote)
{
    atomic_store(&remote->held, false);
    (void)pthread_mutex_unlock(&remote->lock);
}

bool
remote_is_held(const struct remote *remote)
{
    return atomic_load(&remote->held);
}

bool
remote_is_mute(struct remote *remote, const char *uuid)
{
    struct error ignored;
    bool mute;

    (void)pthread_mutex_lock(&remote->lock);
    mute = check_mute(remote, uuid, &ignored) != 0;
    (void)pthread_mutex_unlock(&remote->lock);
    return mute;
}

bool
remote_has_nameless(struct remote *remote)
{
    bool found = false;

    (void)pthread_mutex_lock(&remote->lock);
    for (size_t i = 0; i < remote->mute_count; i++)
        found = found || (is_nameless(&remote->mutes[i]) &&
                          remote->mutes[i].until_ms > clock_mono_ms());
    (void)pthread_mutex_unlock(&remote->lock);
    return found;
}

pid_t
remote_pid(struct remote *remote)
{
    pid_t pid;

    (void)pthread_mutex_lock(&remote->lock);
    pid = remote->pid;
    (void)pthread_mutex_unlock(&remote->lock);
    return pid;
}
