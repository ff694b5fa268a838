/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_COMMON_CROWD_H
#define BENCH_COMMON_CROWD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/*
 * How fast are many clients answered?  Each has one connection that stays
 * open and sends its next request as soon as the last is answered: one thread
 * with epoll, so that the generator takes little of the machine.
 */
struct crowd;

/* Appends the next request of a client, a whole HTTP/1.1 message. */
typedef void crowd_request(void *data, unsigned client, struct buffer *out);

struct crowd *crowd_new(const char *socket, unsigned clients,
                        crowd_request *request, void *data);
void crowd_free(struct crowd *crowd);

/* Runs for so long; the last answers are waited for.  Returns NULL, or what
 * went wrong: a lost connection, or an answer other than 200 and 201. */
const char *crowd_run(struct crowd *crowd, int64_t ms);

struct crowd_result {
    uint64_t answers;
    int64_t us;     /* that the runs took together */
    int64_t p50_us; /* from the first byte sent to the last received */
    int64_t p99_us;
    int64_t longest_us;
    uint64_t bytes; /* received */
};
/* Over all runs so far. */
void crowd_result(struct crowd *crowd, struct crowd_result *out);

/* Sorts a list of times and gives the one below which `percent` of them
 * lie. */
int64_t crowd_percentile(int64_t *times, size_t count, unsigned percent);

/* Prints "name value unit  goal ...  PASS|FAIL"; at_least: the value must
 * not be below the goal, else not above.  Returns whether it passes. */
bool crowd_judge(const char *name, int64_t value, const char *unit,
                 int64_t goal, bool at_least);

#endif
