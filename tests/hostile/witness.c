/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness SOCKET INSTANCE INCARNATION SECONDS OUTSIDE STEP: asks the runner
 * what the instance's checkpoint is and tells it of its end, over and over,
 * and watches the files of OUTSIDE meanwhile.  Prints
 *
 *   asked N noticed N seen N leaked N touched N
 *
 * seen: answers with a new checkpoint; leaked: answers that have STEP, which
 * stands in OUTSIDE only; touched: what anybody did to a file there.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/runner_message.h"

struct witness {
    int fd;
    const char *instance;
    int64_t incarnation;
    int64_t secret;
    int64_t last;
    long asked, noticed, seen, leaked, touched;
};

static void
look(struct witness *witness)
{
    struct error err = { 0 };
    scoped_json result = NULL;
    json_t *mark;
    int64_t step;

    if (runner_message_call(witness->fd,
                            json_pack("{s:s, s:s}", "op", "list", "instance",
                                      witness->instance),
                            10000, &result, &err) != 0) {
        fprintf(stderr, "list: %s\n", err.text);
        exit(1);
    }
    witness->asked++;
    mark = json_object_get(
        json_array_get(json_object_get(result, "instances"), 0),
        "checkpoint");
    step = json_integer_value(json_object_get(mark, "step"));
    if (step == witness->secret)
        witness->leaked++;
    if (json_is_object(mark) && step != witness->last)
        witness->seen++;
    witness->last = step;
}

static void
notice(struct witness *witness)
{
    struct error err = { 0 };
    scoped_json result = NULL;

    if (runner_message_call(
            witness->fd,
            json_pack("{s:s, s:s, s:I, s:s, s:I}", "op", "notice", "instance",
                      witness->instance, "incarnation",
                      (json_int_t)witness->incarnation, "reason", "reclaim",
                      "deadline_ms",
                      (json_int_t)(INT64_C(4000000000000) + witness->noticed)),
            10000, &result, &err) != 0) {
        fprintf(stderr, "notice: %s\n", err.text);
        exit(1);
    }
    witness->noticed++;
}

static int
watch(const char *outside)
{
    static const char *const names[] = { "", "/checkpoint.json", "/deep",
                                         "/deep/checkpoint.json", "/here",
                                         "/here/deep",
                                         "/here/deep/checkpoint.json" };
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    char path[PATH_MAX];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", outside, names[i]);
        if (inotify_add_watch(fd, path, IN_ALL_EVENTS) < 0) {
            perror(path);
            exit(1);
        }
    }
    return fd;
}

static long
events(int fd)
{
    char bytes[65536];
    long count = 0;
    ssize_t got;

    while ((got = read(fd, bytes, sizeof(bytes))) > 0)
        count += got / (ssize_t)sizeof(struct inotify_event);
    return count;
}

int
main(int argc, char **argv)
{
    struct witness witness = { 0 };
    struct error err = { 0 };
    int64_t end_us;
    int watched;

    if (argc != 7)
        return 2;
    witness.instance = argv[2];
    witness.incarnation = strtoll(argv[3], NULL, 10);
    witness.secret = strtoll(argv[6], NULL, 10);
    watched = watch(argv[5]);
    witness.fd = runner_message_connect(argv[1], &err);
    if (witness.fd < 0) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    end_us = clock_mono_us() + strtoll(argv[4], NULL, 10) * 1000000;
    while (clock_mono_us() < end_us) {
        for (int i = 0; i < 8; i++)
            look(&witness);
        notice(&witness);
    }
    witness.touched = events(watched);
    printf("asked %ld noticed %ld seen %ld leaked %ld touched %ld\n",
           witness.asked, witness.noticed, witness.seen, witness.leaked,
           witness.touched);
    return 0;
}
