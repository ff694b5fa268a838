/* SPDX-License-Identifier: Apache-2.0 */
#include "api/peers.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"

/* Whose connections count together. */
struct origin {
    enum { ORIGIN_FREE, ORIGIN_USER, ORIGIN_NETWORK } kind;
    uid_t uid;
    uint8_t network[16]; /* IPv4: the address, mapped; IPv6: its /64 */
};

struct peer {
    struct peers *peers;
    struct peer *next, **link;
    int fd;
    struct origin origin;
    int64_t deadline_ms; /* monotonic; 0: none */
};

struct peers {
    pthread_mutex_t lock; /* for the list and all in it */
    struct peer *list;
    unsigned each_max;
    int64_t head_ms;
};

struct peers *
peers_new(unsigned each_max, int64_t head_ms)
{
    struct peers *peers = memory_new(1, sizeof *peers);
    (void)pthread_mutex_init(&peers->lock, NULL);
    peers->each_max = each_max;
    peers->head_ms = head_ms;
    return peers;
}

void
peers_free(struct peers *peers)
{
    (void)pthread_mutex_destroy(&peers->lock);
    free(peers);
}

static struct origin
user_of(int fd)
{
    struct origin origin = {.kind = ORIGIN_FREE};
    struct ucred user;
    socklen_t size = sizeof user;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &user, &size) != 0 ||
        user.uid == 0 || user.uid == geteuid())
        return origin;
    origin.kind = ORIGIN_USER;
    origin.uid = user.uid;
    return origin;
}

/* Who has one IPv6 address has a network of them. */
static struct origin
network_of(const struct sockaddr_storage *address)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    const struct sockaddr_in *four = (const void *)address;
    const struct sockaddr_in6 *six = (const void *)address;
    struct origin origin = {.kind = ORIGIN_NETWORK};
    if (address->ss_family == AF_INET) {
        memcpy(origin.network, mapped, sizeof mapped);
        memcpy(origin.network + 12, &four->sin_addr, 4);
    } else {
        bool whole = memcmp(&six->sin6_addr, mapped, sizeof mapped) == 0;
        memcpy(origin.network, &six->sin6_addr, whole ? 16 : 8);
    }
    return origin;
}

static struct origin
origin_of(int fd)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return (struct origin){.kind = ORIGIN_FREE};
    if (address.ss_family == AF_UNIX)
        return user_of(fd);
    size = sizeof address;
    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
        (address.ss_family != AF_INET && address.ss_family != AF_INET6))
        return (struct origin){.kind = ORIGIN_FREE};
    return network_of(&address);
}

static bool
is_same(const struct origin *a, const struct origin *b)
{
    return a->kind == b->kind && a->uid == b->uid &&
           memcmp(a->network, b->network, sizeof a->network) == 0;
}

/* All clients of a proxy on this machine come from its own address. */
static bool
is_loopback(const struct origin *origin)
{
    static const uint8_t six[8] = {0};
    return origin->kind == ORIGIN_NETWORK &&
           (origin->network[12] == 127 ||
            memcmp(origin->network, six, sizeof six) == 0);
}

static bool
has_its_share(const struct peers *peers, const struct origin *origin)
{
    unsigned count = 0;
    unsigned max = peers->each_max * (is_loopback(origin) ? 2 : 1);
    if (origin->kind == ORIGIN_FREE)
        return false;
    for (const struct peer *at = peers->list; at != NULL; at = at->next)
        count += is_same(&at->origin, origin);
    return count >= max;
}

/* A socket that is shut down is closed by its daemon, which owns it. */
static struct peer *
add(struct peers *peers, int fd)
{
    struct peer *peer = memory_new(1, sizeof *peer);
    *peer = (struct peer){.peers = peers,
                          .fd = fd,
                          .origin = origin_of(fd),
                          .deadline_ms = clock_mono_ms() + peers->head_ms};
    (void)pthread_mutex_lock(&peers->lock);
    if (has_its_share(peers, &peer->origin))
        (void)shutdown(fd, SHUT_RDWR);
    peer->next = peers->list;
    peer->link = &peers->list;
    if (peer->next != NULL)
        peer->next->link = &peer->next;
    peers->list = peer;
    (void)pthread_mutex_unlock(&peers->lock);
    return peer;
}

static void
drop(struct peer *peer)
{
    struct peers *peers = peer->peers;
    (void)pthread_mutex_lock(&peers->lock);
    *peer->link = peer->next;
    if (peer->next != NULL)
        peer->next->link = peer->link;
    (void)pthread_mutex_unlock(&peers->lock);
    free(peer);
}

void
peers_notify(void *peers, struct MHD_Connection *connection, void **context,
             enum MHD_ConnectionNotificationCode code)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    if (code == MHD_CONNECTION_NOTIFY_STARTED && info != NULL) {
        *context = add(peers, info->connect_fd);
    } else if (code == MHD_CONNECTION_NOTIFY_CLOSED && *context != NULL) {
        drop(*context);
        *context = NULL;
    }
}

/* --- time --- */

static struct peer *
peer_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(
        connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

static void
set_deadline(struct peer *peer, int64_t deadline_ms)
{
    if (peer == NULL)
        return;
    (void)pthread_mutex_lock(&peer->peers->lock);
    peer->deadline_ms = deadline_ms;
    (void)pthread_mutex_unlock(&peer->peers->lock);
}

void
peers_expect_head(struct MHD_Connection *connection)
{
    struct peer *peer = peer_of(connection);
    if (peer != NULL)
        set_deadline(peer, clock_mono_ms() + peer->peers->head_ms);
}

void
peers_expect_nothing(struct MHD_Connection *connection)
{
    set_deadline(peer_of(connection), 0);
}

void
peers_expect_within(struct MHD_Connection *connection, int64_t ms)
{
    set_deadline(peer_of(connection), clock_mono_ms() + ms);
}

void
peers_sweep(struct peers *peers)
{
    int64_t now_ms = clock_mono_ms();
    (void)pthread_mutex_lock(&peers->lock);
    for (struct peer *at = peers->list; at != NULL; at = at->next)
        if (at->deadline_ms != 0 && now_ms >= at->deadline_ms) {
            at->deadline_ms = 0;
            (void)shutdown(at->fd, SHUT_RDWR);
        }
    (void)pthread_mutex_unlock(&peers->lock);
}
