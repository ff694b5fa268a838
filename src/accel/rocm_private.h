/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ROCM_PRIVATE_H
#define ACCEL_ROCM_PRIVATE_H

#include <stdio.h>

#include "accel/accel.h"
#include "accel/rsmi.h"

/* The inside of the ROCm backend, for accel_rocm.c and rocm_read.c. */

struct rocm_functions {
#define RSMI(symbol, arguments) int(*symbol) arguments;
#include "accel/rsmi.def"
#undef RSMI
};

struct rocm_card {
    uint32_t number; /* of this look */
    uint64_t id;     /* 0: none */
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];
    bool has_events;
};

struct rocm {
    struct accel *accel;
    void *library;
    bool open;
    char *root;
    struct rocm_functions fn;
    char driver[80];
    size_t count;
    struct rocm_card cards[ACCEL_CARDS_MAX];
    /* Cards that events are asked of. */
    size_t event_count;
    char events[ACCEL_CARDS_MAX][ACCEL_ID_MAX + 1];
};

static inline void
rocm_enter(const struct rocm *rocm, const char *call)
{
    struct accel_trail *trail = rocm->accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->call, sizeof(trail->call), "%s", call);
}

#define ROCM_CALL(rocm, symbol, ...)                                           \
    ((rocm)->fn.symbol == NULL                                                 \
         ? RSMI_MISSING                                                        \
         : (rocm_enter((rocm), #symbol), (rocm)->fn.symbol(__VA_ARGS__)))

int rocm_error(struct error *err, int status, const char *call,
               const char *card);
struct rocm_card *rocm_find(struct accel *accel, const char *part,
                            struct error *err);
/* A file of the kernel; false when there is none. */
bool rocm_text(const struct rocm *rocm, const char *path, char *out,
               size_t room);

int rocm_read(struct accel *accel, const char *uuid,
              struct accel_reading *reading_out, struct error *err);
int rocm_health(struct accel *accel, const char *uuid,
                struct accel_state *state_out, struct error *err);
int rocm_processes(struct accel *accel, const char *part,
                   struct accel_process list[ACCEL_PROCESSES_MAX],
                   size_t *count_out, struct error *err);
int rocm_nodes(struct accel *accel, const char *part,
               struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
               struct error *err);
int rocm_settle(struct accel *accel, const char *uuid, struct error *err);
int rocm_reset(struct accel *accel, const char *uuid, struct error *err);
int rocm_scrub(struct accel *accel, const char *uuid,
               struct accel_scrub *done_out, struct error *err);
int rocm_events(struct accel *accel, int wait_ms,
                struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
                struct error *err);

#endif
