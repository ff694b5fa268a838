/* SPDX-License-Identifier: Apache-2.0 */
#include "api/tries.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define DOUBLINGS_MAX 20

static uint64_t
tag_of(const struct tries *tries, const char *source)
{
    return hash_bytes(&tries->key, source, strlen(source)) | 1;
}

static struct tries_entry *
set_of(struct tries *tries, uint64_t tag)
{
    return tries->entries[(tag >> 1) % TRIES_SETS];
}

/* What time has made good. */
static void
forget(struct tries_entry *entry, int64_t now_ms)
{
    int64_t count = (now_ms - entry->last_ms) / TRIES_FORGET_MS;

    if (entry->failures >= entry->free) {
        if (now_ms < entry->until_ms + TRIES_QUIET_MS)
            return;
        entry->failures = 0;
    }
    if (count <= 0)
        return;
    entry->failures = count >= entry->failures
                          ? 0
                          : entry->failures - (unsigned)count;
    entry->last_ms += count * TRIES_FORGET_MS;
}

static struct tries_entry *
find(struct tries *tries, uint64_t tag)
{
    struct tries_entry *set = set_of(tries, tag);

    for (unsigned i = 0; i < TRIES_WAYS; i++)
        if (set[i].tag == tag)
            return &set[i];
    return NULL;
}

/* A free place, or that of who failed least, longest ago. */
static struct tries_entry *
make(struct tries *tries, uint64_t tag, int64_t now_ms)
{
    struct tries_entry *set = set_of(tries, tag), *least = &set[0];

    for (unsigned i = 0; i < TRIES_WAYS; i++) {
        forget(&set[i], now_ms);
        if (set[i].failures < least->failures ||
            (set[i].failures == least->failures &&
             set[i].last_ms < least->last_ms))
            least = &set[i];
    }
    *least = (struct tries_entry){ .tag = tag,
                                   .free = TRIES_FREE,
                                   .last_ms = now_ms };
    return least;
}

int64_t
tries_wait(struct tries *tries, const char *source, int64_t now_ms)
{
    const struct tries_entry *entry = find(tries, tag_of(tries, source));

    return entry == NULL || entry->until_ms <= now_ms
               ? 0
               : entry->until_ms - now_ms;
}

void
tries_failed(struct tries *tries, const char *source, unsigned free,
             int64_t most_ms, int64_t now_ms)
{
    uint64_t tag = tag_of(tries, source);
    struct tries_entry *entry = find(tries, tag);
    unsigned over;
    int64_t wait_ms;

    if (entry == NULL)
        entry = make(tries, tag, now_ms);
    entry->free = free;
    forget(entry, now_ms);
    if (entry->failures == 0)
        entry->last_ms = now_ms;
    entry->failures++;
    if (entry->failures < free)
        return;
    over = entry->failures - free;
    wait_ms = TRIES_FORGET_MS << (over < DOUBLINGS_MAX ? over : DOUBLINGS_MAX);
    entry->until_ms = now_ms + (wait_ms < most_ms ? wait_ms : most_ms);
}

/* --- good ones --- */

void
tries_welcome(struct tries *tries, const char *source)
{
    uint64_t tag = tag_of(tries, source);
    uint64_t *set = tries->friends[(tag >> 1) % TRIES_SETS];
    unsigned at = 0;

    while (at < TRIES_WAYS - 1 && set[at] != tag)
        at++;
    memmove(set + 1, set, at * sizeof(*set));
    set[0] = tag;
}

bool
tries_knows(const struct tries *tries, const char *source)
{
    uint64_t tag = tag_of(tries, source);
    const uint64_t *set = tries->friends[(tag >> 1) % TRIES_SETS];

    for (unsigned i = 0; i < TRIES_WAYS; i++)
        if (set[i] == tag)
            return true;
    return false;
}

void
tries_network(const char *address, char out[64])
{
    struct in6_addr bytes;
    char text[INET6_ADDRSTRLEN];

    if (inet_pton(AF_INET6, address, &bytes) != 1 ||
        IN6_IS_ADDR_V4MAPPED(&bytes)) {
        (void)snprintf(out, 64, "%s", address);
        return;
    }
    memset(bytes.s6_addr + 8, 0, 8);
    (void)inet_ntop(AF_INET6, &bytes, text, sizeof(text));
    (void)snprintf(out, 64, "%s/64", text);
}
