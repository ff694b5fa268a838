/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/sharer.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "engine/part.h"
#include "runner/mps.h"
#include "runner/node.h"
#include "runner/share.h"
#include "runner/stop.h"
#include "runner/told.h"

#define MPS_TIMEOUT_MS 5000
#define SERVER_NAME "nvidia-cuda-mps" /* as much as a comm has */

/* A card that is shared, or was the last time. */
struct watched {
    char uuid[ACCEL_ID_MAX + 1];
    bool served; /* it has a sharing server */
    bool held;   /* somebody has a share now */
    struct share_table table;
};

/* One share of one incarnation. */
struct held {
    char uuid[ACCEL_ID_MAX + 1];
    char id[RUNNER_ID_MAX + 1];
    int64_t incarnation;
    int64_t limit_mib;
    bool there; /* in this look */
    struct share_state state;
};

struct sharer {
    struct node *node;
    struct mps mps;
    char directory[MPS_PATH_MAX];
    pthread_t thread;
    pthread_mutex_t lock; /* of `stop`, and of starting and ending servers */
    pthread_cond_t wake;
    bool stop;
    /* The thread's alone: */
    size_t watched_count;
    struct watched **watched;
    size_t held_count;
    struct held *held;
};

/* --- what is a share --- */

bool
sharer_is_share(const struct instance *instance)
{
    return instance->start.card_memory_mib > 0 &&
           instance->start.card_count > 0 &&
           part_slice(instance->start.cards[0])[0] == '\0';
}

static bool
has_server(const struct node *node, const char *uuid)
{
    struct accel *accel = (struct accel *)(uintptr_t)&node->accel;
    struct accel_card card;
    struct error ignored;

    return node->policy->mps != NULL &&
           accel_describe(accel, uuid, &card, &ignored) == 0 &&
           strcmp(card.vendor, "nvidia") == 0;
}

bool
sharer_is_served(struct node *node, const struct instance *instance)
{
    return sharer_is_share(instance) && has_server(node, instance->start.cards[0]);
}

/* Others with a share of the card, and the largest share with this one. */
static bool
is_alone(struct node *node, const struct instance *instance,
         int64_t *largest_out)
{
    const char *uuid = instance->start.cards[0];
    bool alone = true;

    *largest_out = instance->start.card_memory_mib;
    node_lock(node);
    for (const struct instance *at = node->first; at != NULL; at = at->next) {
        if (at == instance || !sharer_is_share(at) ||
            strcmp(at->start.cards[0], uuid) != 0)
            continue;
        alone = false;
        if (at->start.card_memory_mib > *largest_out)
            *largest_out = at->start.card_memory_mib;
    }
    node_unlock(node);
    return alone;
}

int
sharer_prepare(struct node *node, const struct instance *instance,
               struct error *err)
{
    struct sharer *sharer = node->sharer;
    int64_t largest = 0;
    bool alone;
    int result;

    if (!sharer_is_served(node, instance))
        return 0;
    (void)pthread_mutex_lock(&sharer->lock);
    alone = is_alone(node, instance, &largest);
    result = mps_start(&sharer->mps, instance->start.cards[0], alone, largest,
                       err);
    (void)pthread_mutex_unlock(&sharer->lock);
    return result;
}

bool
sharer_is_server(struct node *node, const char *uuid, pid_t pid,
                 const char *name)
{
    struct sharer *sharer = node->sharer;
    pid_t list[MPS_SERVERS_MAX];
    struct error ignored;
    size_t count = 0;

    if (sharer == NULL || node->policy->mps == NULL ||
        strncmp(name, SERVER_NAME, strlen(SERVER_NAME)) != 0 ||
        mps_servers(&sharer->mps, uuid, list, &count, &ignored) != 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (list[i] == pid)
            return true;
    return false;
}

/* --- who is on a card --- */

/* The start time of a process in the kernel's ticks, -1 when it is gone. */
static int64_t
born_of(void *context, pid_t pid)
{
    char path[48];
    char text[1024];
    const char *at;
    scoped_fd fd = -1;
    ssize_t size;

    (void)context;
    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (size <= 0)
        return -1;
    text[size] = '\0';
    /* "PID (NAME) STATE ..": a name may have anything; the 22nd is it. */
    at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at != NULL ? strtoll(at + 1, NULL, 10) : -1;
}

static bool
is_client(const pid_t *clients, size_t count, pid_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (clients[i] == pid)
            return true;
    return false;
}

/* Fills whose process it is. */
static void
name_owner(struct node *node, pid_t pid, struct share_seen *seen,
           char owner[RUNNER_ID_MAX + 1])
{
    char top[16];
    char name[INSTANCE_NAME_MAX];
    const struct instance *instance;

    owner[0] = '\0';
    (void)snprintf(top, sizeof(top), "/%.8s", node->policy->prefix);
    cgroup_of(pid, top, name, sizeof(name));
    node_lock(node);
    instance = name[0] != '\0' ? node_find_name(node, name) : NULL;
    if (instance != NULL) {
        (void)snprintf(owner, RUNNER_ID_MAX + 1, "%s", instance->id);
        seen->incarnation = instance->incarnation;
    }
    node_unlock(node);
    seen->owner = owner;
}

/* Whoever is in the server's list is its client; when the server cannot be
 * asked, whoever the driver calls one. */
static void
look_at_card(struct sharer *sharer, struct watched *watched)
{
    struct node *node = sharer->node;
    struct accel_process *list =
        memory_new(ACCEL_PROCESSES_MAX, sizeof(*list));
    struct share_seen *seen = memory_new(ACCEL_PROCESSES_MAX, sizeof(*seen));
    char(*owners)[RUNNER_ID_MAX + 1] =
        memory_new(ACCEL_PROCESSES_MAX, sizeof(*owners));
    pid_t clients[MPS_CLIENTS_MAX];
    size_t client_count = 0;
    size_t count = 0;
    size_t kept = 0;
    struct error err = { 0 };
    bool asked;

    if (accel_processes(&node->accel, watched->uuid, list, &count, &err) !=
        0) {
        share_reap(&watched->table, born_of, NULL);
        count = 0;
    } else {
        asked = watched->served &&
                mps_clients(&sharer->mps, watched->uuid, clients,
                            &client_count, &err) == 0;
        for (size_t i = 0; i < count; i++) {
            struct share_seen *at = &seen[kept];

            *at = (struct share_seen){ .pid = list[i].pid,
                                       .born = born_of(NULL, list[i].pid),
                                       .used_mib = list[i].used_mib };
            at->client = asked ? is_client(clients, client_count, at->pid)
                               : list[i].shared;
            name_owner(node, at->pid, at, owners[kept]);
            kept += at->born > 0;
        }
        share_look(&watched->table, seen, kept);
    }
    free(owners);
    free(seen);
    free(list);
}

/* --- what is watched --- */

static struct watched *
watch(struct sharer *sharer, const char *uuid)
{
    struct watched *watched;

    for (size_t i = 0; i < sharer->watched_count; i++)
        if (strcmp(sharer->watched[i]->uuid, uuid) == 0)
            return sharer->watched[i];
    sharer->watched =
        memory_grow(sharer->watched, sharer->watched_count + 1,
                    sizeof(*sharer->watched));
    watched = memory_new(1, sizeof(*watched));
    (void)snprintf(watched->uuid, sizeof(watched->uuid), "%.64s", uuid);
    watched->served = has_server(sharer->node, uuid);
    sharer->watched[sharer->watched_count++] = watched;
    return watched;
}

static void
hold(struct sharer *sharer, const struct instance *instance)
{
    struct held *held = NULL;

    for (size_t i = 0; i < sharer->held_count; i++)
        if (sharer->held[i].incarnation == instance->incarnation &&
            strcmp(sharer->held[i].id, instance->id) == 0)
            held = &sharer->held[i];
    if (held == NULL) {
        sharer->held = memory_grow(sharer->held, sharer->held_count + 1,
                                   sizeof(*sharer->held));
        held = &sharer->held[sharer->held_count++];
        *held = (struct held){ .incarnation = instance->incarnation };
        (void)snprintf(held->id, sizeof(held->id), "%s", instance->id);
        (void)snprintf(held->uuid, sizeof(held->uuid), "%.64s",
                       instance->start.cards[0]);
    }
    held->there = true;
    held->limit_mib = instance->start.card_memory_mib;
}

/* Which shares there are now. */
static void
collect(struct sharer *sharer)
{
    size_t left = 0;

    for (size_t i = 0; i < sharer->held_count; i++)
        sharer->held[i].there = false;
    node_lock(sharer->node);
    for (const struct instance *at = sharer->node->first; at != NULL;
         at = at->next)
        if (sharer_is_share(at))
            hold(sharer, at);
    node_unlock(sharer->node);
    for (size_t i = 0; i < sharer->held_count; i++)
        if (sharer->held[i].there)
            sharer->held[left++] = sharer->held[i];
    sharer->held_count = left;
    for (size_t i = 0; i < sharer->watched_count; i++)
        sharer->watched[i]->held = false;
    for (size_t i = 0; i < left; i++)
        watch(sharer, sharer->held[i].uuid)->held = true;
}

static bool
is_held_now(struct sharer *sharer, const char *uuid)
{
    bool held = false;

    node_lock(sharer->node);
    for (const struct instance *at = sharer->node->first; at != NULL;
         at = at->next)
        held = held ||
               (sharer_is_share(at) && strcmp(at->start.cards[0], uuid) == 0);
    node_unlock(sharer->node);
    return held;
}

/* The server goes with the last share: the card is to be free. */
static void
forget(struct sharer *sharer)
{
    size_t left = 0;

    for (size_t i = 0; i < sharer->watched_count; i++) {
        struct watched *watched = sharer->watched[i];

        if (!watched->held) {
            (void)pthread_mutex_lock(&sharer->lock);
            if (watched->served && !is_held_now(sharer, watched->uuid))
                mps_end(&sharer->mps, watched->uuid);
            (void)pthread_mutex_unlock(&sharer->lock);
            free(watched);
            continue;
        }
        sharer->watched[left++] = watched;
    }
    sharer->watched_count = left;
}

/* --- what is done --- */

static void
note_use(struct node *node, const struct held *held,
         const struct share_use *use)
{
    struct instance *instance;

    node_lock(node);
    instance = node_find(node, held->id);
    if (instance != NULL && instance->incarnation == held->incarnation) {
        instance->share_used_mib = use->used_mib;
        instance->share_over = held->state.over_ms != 0;
    }
    node_unlock(node);
}

static void
tell(struct node *node, struct held *held, const struct share_use *use,
     bool over)
{
    const struct policy *policy = node->policy;
    struct error err = { 0 };
    struct instance *instance =
        node_claim(node, held->id, held->incarnation, &err);
    int64_t stops_ms =
        over && policy->share_stops ? clock_wall_ms() + policy->share_grace_ms
                                    : 0;

    if (instance == NULL)
        return;
    if (told_share(instance, use->used_mib, held->limit_mib, stops_ms, &err) !=
        0)
        log_warn("tell %s about its share: %s", held->id, err.text);
    node_release(node, instance);
}

static void
stop(struct node *node, const struct held *held, const char *why)
{
    struct error err = { 0 };
    struct instance *instance =
        node_claim(node, held->id, held->incarnation, &err);

    if (instance == NULL)
        return;
    if (instance->phase == INSTANCE_RUNNING) {
        node_lock(node);
        (void)snprintf(instance->reason, sizeof(instance->reason),
                       "stopped: %s", why);
        node_unlock(node);
        if (stop_kill(node, instance, &err) != 0)
            log_warn("stop %s: %s", held->id, err.text);
    }
    node_release(node, instance);
}

static void
judge(struct sharer *sharer, struct held *held)
{
    struct node *node = sharer->node;
    const struct policy *policy = node->policy;
    const struct watched *watched = watch(sharer, held->uuid);
    const struct share_rule rule = { .limit_mib = held->limit_mib,
                                     .stops = policy->share_stops,
                                     .grace_ms = policy->share_grace_ms,
                                     .served = watched->served,
                                     .attach_ms = policy->share_attach_ms };
    struct share_use use =
        share_use_of(&watched->table, held->id, held->incarnation);
    char why[SHARE_TEXT_MAX];
    enum share_act act =
        share_judge(&held->state, &rule, &use, clock_mono_ms(), why);

    note_use(node, held, &use);
    switch (act) {
    case SHARE_NOTHING:
        break;
    case SHARE_WARN:
        log_warn("%s: %s", held->id, why);
        tell(node, held, &use, true);
        break;
    case SHARE_CALM:
        tell(node, held, &use, false);
        break;
    case SHARE_STOP:
        log_warn("%s is stopped: %s", held->id, why);
        stop(node, held, why);
        break;
    }
}

static void
look(struct sharer *sharer)
{
    collect(sharer);
    for (size_t i = 0; i < sharer->watched_count; i++)
        if (sharer->watched[i]->held)
            look_at_card(sharer, sharer->watched[i]);
    for (size_t i = 0; i < sharer->held_count; i++)
        judge(sharer, &sharer->held[i]);
    forget(sharer);
}

/* --- the thread --- */

static void *
run(void *data)
{
    struct sharer *sharer = data;
    int64_t every_ms = sharer->node->policy->share_look_ms;

    (void)pthread_mutex_lock(&sharer->lock);
    while (!sharer->stop) {
        struct timespec until;

        (void)pthread_mutex_unlock(&sharer->lock);
        look(sharer);
        (void)pthread_mutex_lock(&sharer->lock);
        (void)clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_sec += every_ms / 1000;
        until.tv_nsec += every_ms % 1000 * 1000000;
        if (until.tv_nsec >= 1000000000) {
            until.tv_sec++;
            until.tv_nsec -= 1000000000;
        }
        if (!sharer->stop)
            (void)pthread_cond_timedwait(&sharer->wake, &sharer->lock, &until);
    }
    (void)pthread_mutex_unlock(&sharer->lock);
    return NULL;
}

/* Servers that an earlier runner has left. */
static void
adopt(struct sharer *sharer)
{
    DIR *directory = opendir(sharer->directory);
    const struct dirent *entry;

    while (directory != NULL && (entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.' && sharer->node->policy->mps != NULL)
            (void)watch(sharer, entry->d_name);
    if (directory != NULL)
        (void)closedir(directory);
}

int
sharer_begin(struct node *node, struct error *err)
{
    struct sharer *sharer = memory_new(1, sizeof(*sharer));
    pthread_condattr_t clock;

    sharer->node = node;
    (void)snprintf(sharer->directory, sizeof(sharer->directory), "%s/mps",
                   node->policy->state_dir);
    sharer->mps = (struct mps){ .program = node->policy->mps,
                                .directory = sharer->directory,
                                .timeout_ms = MPS_TIMEOUT_MS };
    (void)pthread_mutex_init(&sharer->lock, NULL);
    (void)pthread_condattr_init(&clock);
    (void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&sharer->wake, &clock);
    (void)pthread_condattr_destroy(&clock);
    adopt(sharer);
    if (pthread_create(&sharer->thread, NULL, run, sharer) != 0) {
        free(sharer->watched);
        free(sharer);
        return error_set(err, ERROR_BUSY, "no thread for the soft shares");
    }
    node->sharer = sharer;
    return 0;
}

void
sharer_finish(struct node *node)
{
    struct sharer *sharer = node->sharer;

    if (sharer == NULL)
        return;
    (void)pthread_mutex_lock(&sharer->lock);
    sharer->stop = true;
    (void)pthread_cond_signal(&sharer->wake);
    (void)pthread_mutex_unlock(&sharer->lock);
    (void)pthread_join(sharer->thread, NULL);
    for (size_t i = 0; i < sharer->watched_count; i++)
        free(sharer->watched[i]);
    free(sharer->watched);
    free(sharer->held);
    (void)pthread_mutex_destroy(&sharer->lock);
    (void)pthread_cond_destroy(&sharer->wake);
    free(sharer);
    node->sharer = NULL;
}
