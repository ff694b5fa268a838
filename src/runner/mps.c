/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/mps.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/file.h"
#include "runner/process.h"

#define POLL_MS 50

void
mps_pipe(const struct mps *mps, const char *uuid, char path[MPS_PATH_MAX])
{
    (void)snprintf(path, MPS_PATH_MAX, "%.200s/%.64s/pipe", mps->directory,
                   uuid);
}

/* --- asking --- */

struct call {
    char card[96], pipe[MPS_PATH_MAX + 32], log[MPS_PATH_MAX + 32];
    const char *env[5];
};

static void
fill(const struct mps *mps, const char *uuid, struct call *call)
{
    (void)snprintf(call->card, sizeof(call->card), "CUDA_VISIBLE_DEVICES=%.64s",
                   uuid);
    (void)snprintf(call->pipe, sizeof(call->pipe),
                   "CUDA_MPS_PIPE_DIRECTORY=%.200s/%.64s/pipe", mps->directory,
                   uuid);
    (void)snprintf(call->log, sizeof(call->log),
                   "CUDA_MPS_LOG_DIRECTORY=%.200s/%.64s/log", mps->directory,
                   uuid);
    call->env[0] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    call->env[1] = call->card;
    call->env[2] = call->pipe;
    call->env[3] = call->log;
    call->env[4] = NULL;
}

static int
ask(const struct mps *mps, const char *uuid, const char *question,
    struct buffer *answer, struct error *err)
{
    const char *const argv[] = { mps->program, NULL };
    struct call call;

    fill(mps, uuid, &call);
    if (process_run(&(struct process){ .argv = argv,
                                       .env = call.env,
                                       .netns_fd = -1,
                                       .pass_fd = -1 },
                    question, strlen(question), answer, mps->timeout_ms,
                    err) == 0)
        return 0;
    return error_set(err, ERROR_BUSY,
                     "the sharing server of card %.64s does not answer \"%.*s\"",
                     uuid, (int)strcspn(question, "\n"), question);
}

/* Numbers, one a line; anything else is no answer. */
static int
read_pids(const struct buffer *answer, pid_t *list, size_t room, size_t *count,
          struct error *err)
{
    const char *at = buffer_text(answer);

    while (*at != '\0') {
        char *end;
        long pid = strtol(at, &end, 10);

        at += strspn(at, " \t\r\n");
        if (*at == '\0')
            break;
        if (end == at || pid <= 0 || pid > INT32_MAX ||
            strchr(" \t\r\n", *end) == NULL)
            return error_set(err, ERROR_BUSY,
                             "the sharing server says \"%.40s\" in the place "
                             "of a process",
                             at);
        if (*count < room)
            list[(*count)++] = (pid_t)pid;
        at = end;
    }
    return 0;
}

int
mps_servers(const struct mps *mps, const char *uuid,
            pid_t list[MPS_SERVERS_MAX], size_t *count_out, struct error *err)
{
    scoped_buffer answer = { 0 };

    *count_out = 0;
    return ask(mps, uuid, "get_server_list\n", &answer, err) != 0
               ? -1
               : read_pids(&answer, list, MPS_SERVERS_MAX, count_out, err);
}

int
mps_clients(const struct mps *mps, const char *uuid,
            pid_t list[MPS_CLIENTS_MAX], size_t *count_out, struct error *err)
{
    pid_t of[MPS_SERVERS_MAX];
    size_t server_count = 0;
    size_t count = 0;

    if (mps_servers(mps, uuid, of, &server_count, err) != 0)
        return -1;
    for (size_t i = 0; i < server_count; i++) {
        scoped_buffer answer = { 0 };
        char question[64];

        (void)snprintf(question, sizeof(question), "get_client_list %d\n",
                       (int)of[i]);
        if (ask(mps, uuid, question, &answer, err) != 0 ||
            read_pids(&answer, list, MPS_CLIENTS_MAX, &count, err) != 0)
            return -1;
    }
    *count_out = count;
    return 0;
}

/* --- its directory --- */

/* Others enter it through a mount of their own, and may not change it. */
static int
check_directory(const struct mps *mps, const char *uuid, struct error *err)
{
    char path[MPS_PATH_MAX];
    struct stat file;
    const char *fault = NULL;

    mps_pipe(mps, uuid, path);
    if (lstat(path, &file) != 0)
        fault = errno == ENOENT ? "is missing" : "cannot be read";
    else if (!S_ISDIR(file.st_mode))
        fault = "is no directory";
    else if (file.st_uid != geteuid() || (file.st_mode & 022) != 0)
        fault = "is not root's alone";
    else if ((file.st_mode & 055) != 055)
        fault = "cannot be entered by instances";
    if (fault == NULL)
        return 0;
    (void)error_set(err, ERROR_UNSUPPORTED,
                    "the control directory of the sharing server of card "
                    "%.64s %s: without it a share has no limit, so nothing is "
                    "started on it",
                    uuid, fault);
    return error_help(err, "It is made anew when nobody shares the card any "
                           "more.");
}

int
mps_check(const struct mps *mps, const char *uuid, struct error *err)
{
    pid_t of[MPS_SERVERS_MAX];
    size_t count;

    return check_directory(mps, uuid, err) != 0
               ? -1
               : mps_servers(mps, uuid, of, &count, err);
}

static int
make_directories(const struct mps *mps, const char *uuid, struct error *err)
{
    char path[MPS_PATH_MAX];

    (void)snprintf(path, sizeof(path), "%.200s/%.64s/log", mps->directory,
                   uuid);
    if (file_make_directory(mps->directory, 0711, err) != 0 ||
        file_make_directory(path, 0700, err) != 0)
        return -1;
    mps_pipe(mps, uuid, path);
    if (file_make_directory(path, 0755, err) != 0)
        return -1;
    /* What was there before may have been left otherwise. */
    if (chmod(path, 0755) != 0)
        return error_set(err, ERROR_INTERNAL, "open the control directory: %s",
                         strerror(errno));
    return 0;
}

/* --- its life --- */

/* It leaves a daemon behind and ends. */
static int
launch(const struct mps *mps, const char *uuid, struct error *err)
{
    const char *const argv[] = { mps->program, "-d", "-multiuser-server",
                                 NULL };
    struct call call;

    fill(mps, uuid, &call);
    return process_run(&(struct process){ .argv = argv,
                                          .env = call.env,
                                          .netns_fd = -1,
                                          .pass_fd = -1 },
                       NULL, 0, NULL, mps->timeout_ms, err);
}

static int
await(const struct mps *mps, const char *uuid, struct error *err)
{
    int64_t until = clock_mono_ms() + mps->timeout_ms;

    while (mps_check(mps, uuid, err) != 0) {
        if (clock_mono_ms() >= until)
            return -1;
        (void)poll(NULL, 0, POLL_MS);
    }
    return 0;
}

/* The default is that of servers to come; one that runs is told apart. */
static int
set_limit(const struct mps *mps, const char *uuid, int64_t mib,
          struct error *err)
{
    scoped_buffer answer = { 0 };
    scoped_buffer words = { 0 };
    pid_t of[MPS_SERVERS_MAX];
    size_t count = 0;

    if (mps_servers(mps, uuid, of, &count, err) != 0)
        return -1;
    buffer_printf(&words, "set_default_device_pinned_mem_limit 0 %" PRId64
                          "M\n",
                  mib);
    for (size_t i = 0; i < count; i++)
        buffer_printf(&words,
                      "set_device_pinned_mem_limit %d 0 %" PRId64 "M\n",
                      (int)of[i], mib);
    return ask(mps, uuid, buffer_text(&words), &answer, err);
}

int
mps_start(const struct mps *mps, const char *uuid, bool alone,
          int64_t largest_mib, struct error *err)
{
    if (mps_check(mps, uuid, err) != 0) {
        if (!alone)
            return -1;
        mps_end(mps, uuid);
        if (make_directories(mps, uuid, err) != 0 ||
            launch(mps, uuid, err) != 0 || await(mps, uuid, err) != 0)
            return error_prefix(err, "start the card's sharing server");
    }
    return set_limit(mps, uuid, largest_mib, err);
}

void
mps_end(const struct mps *mps, const char *uuid)
{
    scoped_buffer answer = { 0 };
    struct error ignored = { 0 };
    char path[MPS_PATH_MAX];

    mps_pipe(mps, uuid, path);
    if (access(path, F_OK) == 0)
        (void)ask(mps, uuid, "quit\n", &answer, &ignored);
}
