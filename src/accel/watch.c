/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/log.h"

#define EVENTS_MS 300 /* between two questions */
#define LOG_MS 200
#define LINE_MAX_SIZE 1024
#define READ_SIZE 65536

struct looked {
    int64_t clean;
    int64_t weighty; /* news_card's at the last look */
    int64_t at_ms;   /* monotonic */
};

struct watch {
    struct accel *accel;
    int log_fd; /* -1: none */
    bool is_kmsg;
    bool has_events;
    pthread_t listener, reader;
    pthread_mutex_t lock; /* of all below */
    bool stopping;
    struct news news;
    struct looked looked[NEWS_CARDS]; /* of the card with the same number */
};

static bool
is_stopping(struct watch *watch)
{
    bool stopping;

    (void)pthread_mutex_lock(&watch->lock);
    stopping = watch->stopping;
    (void)pthread_mutex_unlock(&watch->lock);
    return stopping;
}

/* --- the backend's events --- */

/* Nothing is asked under the lock: a question may hang. */
static void *
listen_main(void *data)
{
    struct watch *watch = data;

    while (!is_stopping(watch)) {
        struct accel_event list[ACCEL_EVENTS_MAX];
        struct error ignored;
        size_t count = 0;
        int64_t now_ms;

        if (accel_events(watch->accel, 0, list, &count, &ignored) != 0)
            count = 0;
        now_ms = clock_wall_ms();
        (void)pthread_mutex_lock(&watch->lock);
        for (size_t i = 0; i < count; i++)
            (void)news_event(&watch->news, &list[i], now_ms);
        (void)pthread_mutex_unlock(&watch->lock);
        /* More may wait behind a full list. */
        if (count < ACCEL_EVENTS_MAX)
            (void)poll(NULL, 0, EVENTS_MS);
    }
    return NULL;
}

/* --- the kernel's log --- */

static int64_t
boot_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

/* "6,339,5140900,-;NVRM: ...": priority, number, time in us. */
static void
take_record(struct watch *watch, char *record)
{
    char *text = strchr(record, ';');
    char *at = strchr(record, ',');
    int64_t past_ms;

    if (text == NULL || at == NULL || (at = strchr(at + 1, ',')) == NULL ||
        strstr(text, "NVRM") == NULL)
        return;
    past_ms = boot_ms() - strtoll(at + 1, NULL, 10) / 1000;
    (void)pthread_mutex_lock(&watch->lock);
    (void)news_line(&watch->news, text + 1,
                    clock_wall_ms() - (past_ms > 0 ? past_ms : 0));
    (void)pthread_mutex_unlock(&watch->lock);
}

/* Records that were overwritten before they were read are lost. */
static void
read_kmsg(struct watch *watch)
{
    char record[8192];
    ssize_t size;

    for (;;) {
        size = read(watch->log_fd, record, sizeof(record) - 1);
        if (size < 0 && (errno == EPIPE || errno == EINTR))
            continue;
        if (size <= 0)
            return;
        record[size] = '\0';
        take_record(watch, record);
    }
}

struct lines {
    char text[LINE_MAX_SIZE];
    size_t size;
};

/* A line that is too long is cut: what it is about stands in front. */
static void
take_bytes(struct watch *watch, struct lines *lines, const char *bytes,
           size_t size)
{
    int64_t now_ms = clock_wall_ms();

    (void)pthread_mutex_lock(&watch->lock);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != '\n') {
            if (lines->size < sizeof(lines->text) - 1)
                lines->text[lines->size++] = bytes[i];
            continue;
        }
        lines->text[lines->size] = '\0';
        (void)news_line(&watch->news, lines->text, now_ms);
        lines->size = 0;
    }
    (void)pthread_mutex_unlock(&watch->lock);
}

static void
read_file(struct watch *watch, struct lines *lines)
{
    static _Thread_local char bytes[READ_SIZE];
    ssize_t size;

    while ((size = read(watch->log_fd, bytes, sizeof(bytes))) > 0)
        take_bytes(watch, lines, bytes, (size_t)size);
}

static void *
read_main(void *data)
{
    struct watch *watch = data;
    struct lines lines = { .size = 0 };

    while (!is_stopping(watch)) {
        if (watch->is_kmsg)
            read_kmsg(watch);
        else
            read_file(watch, &lines);
        (void)poll(NULL, 0, LOG_MS);
    }
    return NULL;
}

/* --- life --- */

static int
open_log(const char *path, bool *is_kmsg)
{
    struct stat file;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &file) != 0) {
        log_warn("kernel log %s: %s: errors of cards come from their library "
                 "alone",
                 path, strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    *is_kmsg = S_ISCHR(file.st_mode);
    return fd;
}

struct watch *
watch_new(struct accel *accel, const char *kernel_log)
{
    struct watch *watch = memory_new(1, sizeof(*watch));

    watch->accel = accel;
    watch->log_fd = -1;
    (void)pthread_mutex_init(&watch->lock, NULL);
    if (kernel_log != NULL)
        watch->log_fd = open_log(kernel_log, &watch->is_kmsg);
    watch->has_events =
        accel->ops->events != NULL &&
        pthread_create(&watch->listener, NULL, listen_main, watch) == 0;
    if (watch->log_fd >= 0 &&
        pthread_create(&watch->reader, NULL, read_main, watch) != 0) {
        (void)close(watch->log_fd);
        watch->log_fd = -1;
    }
    return watch;
}

void
watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    (void)pthread_mutex_lock(&watch->lock);
    watch->stopping = true;
    (void)pthread_mutex_unlock(&watch->lock);
    if (watch->has_events)
        (void)pthread_join(watch->listener, NULL);
    if (watch->log_fd >= 0) {
        (void)pthread_join(watch->reader, NULL);
        (void)close(watch->log_fd);
    }
    (void)pthread_mutex_destroy(&watch->lock);
    free(watch);
}

void
watch_know(struct watch *watch, const char *uuid, const char *pci)
{
    (void)pthread_mutex_lock(&watch->lock);
    (void)news_know(&watch->news, uuid, pci);
    (void)pthread_mutex_unlock(&watch->lock);
}

static void
count_look(struct looked *looked, const struct news_card *card, bool well)
{
    int64_t now_ms = clock_mono_ms();

    if (!well || card->weighty != looked->weighty) {
        looked->clean = 0;
        looked->weighty = card->weighty;
        looked->at_ms = now_ms;
    } else if (now_ms - looked->at_ms >= WATCH_LOOK_MS) {
        looked->clean += looked->clean < CARD_HEALTH_CLEAN_MAX;
        looked->at_ms = now_ms;
    }
}

void
watch_look(struct watch *watch, const char *uuid, bool well,
           struct watch_view *view_out)
{
    struct news_card *card;

    *view_out = (struct watch_view){ .clean = 0 };
    (void)pthread_mutex_lock(&watch->lock);
    card = news_find(&watch->news, uuid);
    if (card != NULL) {
        struct looked *looked = &watch->looked[card - watch->news.cards];

        count_look(looked, card, well);
        view_out->clean = looked->clean;
        view_out->count = card->count;
        for (size_t i = 0; i < card->count; i++)
            view_out->events[i] = card->items[i].event;
    }
    (void)pthread_mutex_unlock(&watch->lock);
}
