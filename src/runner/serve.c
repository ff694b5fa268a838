/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/arena.h"
#include "base/crash.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/runner_message.h"
#include "engine/runner_request.h"
#include "runner/answer.h"
#include "runner/node.h"

struct server {
    struct node *node;
    pthread_mutex_t lock;
    pthread_cond_t idle;
    int fds[SERVE_CONNECTIONS_MAX]; /* -1: free */
    int live;
};

struct connection {
    struct server *server;
    int fd;
};

static void
serve_connection(struct node *node, int fd)
{
    for (;;) {
        scoped_buffer bytes = { 0 };
        scoped_json answer = NULL;
        struct error err = { 0 };

        if (runner_message_receive(fd, RUNNER_REQUEST_SIZE_MAX, &bytes, &err) !=
            1)
            return;
        answer = answer_request(node, buffer_text(&bytes), bytes.size);
        CRASH_POINT("runner.answering");
        if (runner_message_send(fd, answer, RUNNER_ANSWER_SIZE_MAX, &err) !=
            0) {
            log_warn("an answer could not be sent: %s", err.text);
            return;
        }
    }
}

static void *
run_connection(void *data)
{
    struct connection *connection = data;
    struct server *server = connection->server;

    serve_connection(server->node, connection->fd);
    /* What an answer needed for a moment lies between what stays. */
    (void)malloc_trim(0);
    (void)pthread_mutex_lock(&server->lock);
    for (int i = 0; i < SERVE_CONNECTIONS_MAX; i++)
        if (server->fds[i] == connection->fd)
            server->fds[i] = -1;
    (void)close(connection->fd);
    server->live--;
    (void)pthread_cond_broadcast(&server->idle);
    (void)pthread_mutex_unlock(&server->lock);
    free(connection);
    return NULL;
}

static bool
is_agent(const struct server *server, int fd)
{
    struct ucred peer;
    socklen_t size = sizeof(peer);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
           (int64_t)peer.uid == server->node->policy->agent_uid;
}

/* Keeps the descriptor in the table; false when it is full. */
static bool
keep(struct server *server, int fd)
{
    bool kept = false;

    (void)pthread_mutex_lock(&server->lock);
    for (int i = 0; !kept && i < SERVE_CONNECTIONS_MAX; i++)
        if (server->fds[i] < 0) {
            server->fds[i] = fd;
            server->live++;
            kept = true;
        }
    (void)pthread_mutex_unlock(&server->lock);
    return kept;
}

static void
take_connection(struct server *server, int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC);
    struct timeval patience = { .tv_sec = 30 };
    struct connection *connection;
    pthread_t thread;

    if (fd < 0)
        return;
    if (!is_agent(server, fd) || !keep(server, fd)) {
        log_warn("a connection was refused");
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    connection = memory_new(1, sizeof(*connection));
    *connection = (struct connection){ .server = server, .fd = fd };
    if (pthread_create(&thread, NULL, run_connection, connection) != 0)
        abort();
    (void)pthread_detach(thread);
}

static int
check_directory(const char *path, struct error *err)
{
    char *copy = memory_strdup(path);
    struct stat file;
    int result = file_make_directory(dirname(copy), 0755, err);

    free(copy);
    copy = memory_strdup(path);
    if (result == 0 &&
        (stat(dirname(copy), &file) != 0 || file.st_uid != 0 ||
         ((file.st_mode & 022) != 0 && (file.st_mode & S_ISVTX) == 0)))
        result = error_set(err, ERROR_DENIED,
                           "the socket's directory is not root's alone");
    free(copy);
    return result;
}

static int
listen_on(const struct policy *policy, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd;

    if (check_directory(policy->socket, err) != 0)
        return -1;
    (void)snprintf(address.sun_path, sizeof(address.sun_path), "%.100s",
                   policy->socket);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return error_set(err, ERROR_INTERNAL, "socket: %s", strerror(errno));
    (void)unlink(policy->socket);
    (void)umask(0177);
    if (bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        chown(policy->socket, (uid_t)policy->agent_uid, (gid_t)-1) != 0 ||
        listen(fd, 64) != 0) {
        (void)error_set(err, ERROR_INTERNAL, "listen: %s", strerror(errno));
        (void)close(fd);
        fd = -1;
    }
    (void)umask(022);
    return fd;
}

/* No new requests; those being worked on are answered. */
static void
finish(struct server *server)
{
    node_lock(server->node);
    server->node->stopping = true;
    node_unlock(server->node);
    (void)pthread_mutex_lock(&server->lock);
    for (int i = 0; i < SERVE_CONNECTIONS_MAX; i++)
        if (server->fds[i] >= 0)
            (void)shutdown(server->fds[i], SHUT_RD);
    while (server->live > 0)
        (void)pthread_cond_wait(&server->idle, &server->lock);
    (void)pthread_mutex_unlock(&server->lock);
}

int
serve_run(struct node *node, int stop_fd, struct error *err)
{
    struct server server = { .node = node };
    scoped_fd listen_fd = listen_on(node->policy, err);
    struct pollfd items[2] = { { .fd = listen_fd, .events = POLLIN },
                               { .fd = stop_fd, .events = POLLIN } };

    if (listen_fd < 0)
        return -1;
    for (int i = 0; i < SERVE_CONNECTIONS_MAX; i++)
        server.fds[i] = -1;
    (void)pthread_mutex_init(&server.lock, NULL);
    (void)pthread_cond_init(&server.idle, NULL);
    log_info("ready on %s", node->policy->socket);
    while (items[1].revents == 0) {
        if (poll(items, 2, -1) < 0 && errno != EINTR)
            break;
        if ((items[0].revents & POLLIN) != 0)
            take_connection(&server, listen_fd);
    }
    (void)unlink(node->policy->socket);
    finish(&server);
    return 0;
}
