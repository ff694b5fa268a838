/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_WIRE_H
#define ACCEL_WIRE_H

#include "accel/accel.h"

/*
 * What do the two ends of a worker say to each other?  Plain structs over a
 * pair of sockets: both ends are of one build, and the first answer says so.
 */

enum wire_op {
    WIRE_HELLO, /* opens the backend; answer: struct wire_hello */
    WIRE_SURVEY,
    WIRE_LIST, /* answer: UUIDs, one after the other */
    WIRE_DESCRIBE,
    WIRE_HEALTH,
    WIRE_READ,
    WIRE_PROCESSES,
    WIRE_NODES,
    WIRE_USAGE,
    WIRE_SLICES,
    WIRE_EVENTS,
    WIRE_SETTLE,
    WIRE_RESET,
    WIRE_SCRUB,
    WIRE_CUT,
    WIRE_SLICE_CREATE,
    WIRE_SLICE_DESTROY
};

struct wire_hello {
    uint32_t sizes; /* of the structs below, summed up */
};
#define WIRE_SIZES                                                             \
    ((uint32_t)(sizeof(struct wire_request) + sizeof(struct accel_card) +      \
                sizeof(struct accel_state) + sizeof(struct accel_reading) +    \
                sizeof(struct accel_process) + sizeof(struct accel_slice) +    \
                sizeof(struct accel_event) + sizeof(struct accel_survey)))

struct wire_request {
    enum wire_op op;
    int32_t wait_ms; /* events */
    bool on;         /* cut */
    char part[ACCEL_PART_MAX];
};

struct wire_uuid {
    char text[ACCEL_ID_MAX + 1];
};

#define WIRE_ROOM ((size_t)ACCEL_PROCESSES_MAX * 128)

struct wire_answer {
    int32_t result; /* 0, or -1 and err */
    uint32_t size;  /* of the payload */
    struct error err;
    _Alignas(16) unsigned char payload[WIRE_ROOM];
};

#define WIRE_HEADER offsetof(struct wire_answer, payload)

/* The page that both have mapped. */
#define WIRE_MUTES 32
struct wire_page {
    struct accel_trail trail; /* the worker's */
    uint32_t mute_count;      /* before it starts: what it does not ask */
    struct accel_trail mutes[WIRE_MUTES];
};

/* The worker's descriptors. */
#define WIRE_SOCKET 3
#define WIRE_PAGE 4

#endif
