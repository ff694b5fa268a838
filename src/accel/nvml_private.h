/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_NVML_PRIVATE_H
#define ACCEL_NVML_PRIVATE_H

#include <stdio.h>

#include "accel/accel.h"
#include "accel/nvml.h"

/* The inside of the NVML backend, for accel_nvml.c and nvml_*.c. */

struct nvml_functions {
#define NVML(symbol, arguments) int(*symbol) arguments;
#include "accel/nvml.def"
#undef NVML
};

struct nvml_card {
    nvml_device device; /* of this session of the library */
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];
    nvml_gpm_sample sample; /* the last one taken, NULL: none */
    int64_t sample_ms;
    bool has_events;
    bool checked, broken; /* its own store: once a session, it is slow */
};

struct nvml {
    struct accel *accel;
    void *library;
    char *root; /* where the machine's files are, "": the usual place */
    struct nvml_functions fn;
    char driver[80];
    bool lost; /* a call since nvml_find said so of its card */
    bool pair; /* the call is about two cards: which is lost is not told */
    nvml_event_set events; /* NULL: not asked for yet */
    size_t count;
    struct nvml_card cards[ACCEL_CARDS_MAX];
};

/* Leaves word of what is being asked. */
static inline void
nvml_enter(const struct nvml *nvml, const char *call)
{
    if (nvml->accel->watch.trail != NULL)
        (void)snprintf(nvml->accel->watch.trail->call,
                       sizeof(nvml->accel->watch.trail->call), "%s", call);
}

static inline int
nvml_note(struct nvml *nvml, int result)
{
    nvml->lost = nvml->lost || (result == NVML_GPU_IS_LOST && !nvml->pair);
    return result;
}

/* NVML_CALL0 is for those without arguments. */
#define NVML_CALL(nvml, symbol, ...)                                           \
    ((nvml)->fn.symbol == NULL                                                 \
         ? NVML_FUNCTION_NOT_FOUND                                             \
         : (nvml_enter((nvml), #symbol),                                       \
            nvml_note((nvml), (nvml)->fn.symbol(__VA_ARGS__))))
#define NVML_CALL0(nvml, symbol)                                               \
    ((nvml)->fn.symbol == NULL                                                 \
         ? NVML_FUNCTION_NOT_FOUND                                             \
         : (nvml_enter((nvml), #symbol), (nvml)->fn.symbol()))

/* An answer that sends one to an older form of the same call. */
static inline bool
nvml_is_older(int result)
{
    return result == NVML_FUNCTION_NOT_FOUND || result == NVML_NOT_SUPPORTED ||
           result == NVML_VERSION_MISMATCH;
}

/* Fills err with what an answer of the library means; returns -1. */
int nvml_error(struct error *err, int result, const char *call,
               const char *card);
int nvml_fail(const struct nvml_card *card, int result, const char *call,
              struct error *err);

/* ERROR_GONE when a call since nvml_find said that the card is lost. */
int nvml_end(const struct nvml *nvml, const struct nvml_card *card,
             struct error *err);

/* The card of "UUID" or "UUID/SLICE", by a look at all cards when it is not
 * known; the calls that follow are its own. */
struct nvml_card *nvml_find(struct accel *accel, const char *part,
                            struct error *err);
/* Looks at all cards; one that does not answer is left out.  Fails when the
 * library as such does. */
int nvml_look(struct nvml *nvml, struct error *err);
/* May the call be made for that card?  Not when it hung there before. */
bool nvml_may(const struct nvml *nvml, const char *call, const char *card);

/* 00000000:C1:00.0 -> 0000:c1:00.0 */
void nvml_address(const struct nvml_pci *pci, char out[24]);

void nvml_links(struct nvml *nvml, struct nvml_card *card,
                struct accel_card *out);
void nvml_fabric(struct nvml *nvml, struct nvml_card *card,
                 struct accel_card *out, struct accel_reading *reading);

int nvml_read(struct accel *accel, const char *uuid,
              struct accel_reading *reading_out, struct error *err);
/* Power, heat, clocks and fields. */
void nvml_read_fields(struct nvml *nvml, struct nvml_card *card,
                      struct accel_reading *out);
int nvml_health(struct accel *accel, const char *uuid,
                struct accel_state *state_out, struct error *err);

int nvml_processes(struct accel *accel, const char *part,
                   struct accel_process list[ACCEL_PROCESSES_MAX],
                   size_t *count_out, struct error *err);
int nvml_usage(struct accel *accel, const char *uuid,
               struct accel_usage list[ACCEL_PROCESSES_MAX], size_t *count_out,
               struct error *err);
int nvml_settle(struct accel *accel, const char *uuid, struct error *err);

int nvml_cut(struct accel *accel, const char *uuid, bool on, struct error *err);
int nvml_slices(struct accel *accel, const char *uuid,
                struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
                struct error *err);
int nvml_slice_create(struct accel *accel, const char *part, struct error *err);
int nvml_slice_destroy(struct accel *accel, const char *part,
                       struct error *err);
/* The handle of a slice, for processes and memory.  "UUID" is the card's. */
int nvml_part(struct nvml *nvml, struct nvml_card *card, const char *part,
              nvml_device *device_out, struct error *err);

int nvml_nodes(struct accel *accel, const char *part,
               struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
               struct error *err);
/* The driver's ids of a slice: ERROR_NOT_FOUND. */
int nvml_ids(struct nvml *nvml, struct nvml_card *card, const char *slice,
             unsigned *instance_out, unsigned *compute_out, struct error *err);

int nvml_events(struct accel *accel, int wait_ms,
                struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
                struct error *err);
void nvml_events_close(struct nvml *nvml);

#endif
