/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ZES_PRIVATE_H
#define ACCEL_ZES_PRIVATE_H

#include <stdio.h>

#include "accel/accel.h"
#include "accel/zes.h"

/* The inside of the Level Zero backend, for accel_zes.c and zes_read.c. */

#define ZES_PARTS_MAX 64

struct zes_functions {
#define ZES(symbol, arguments) int(*symbol) arguments;
#include "accel/zes.def"
#undef ZES
};

struct zes_card {
    zes_device device;
    zes_driver driver;
    char uuid[ACCEL_ID_MAX + 1];
    char pci[24];
    struct zes_activity activity; /* of the look before; 0: none */
    struct zes_energy energy;
    bool has_events;
};

struct zes {
    struct accel *accel;
    void *library;
    char *root;
    struct zes_functions fn;
    size_t count;
    struct zes_card cards[ACCEL_CARDS_MAX];
};

static inline void
zes_enter(const struct zes *zes, const char *call)
{
    struct accel_trail *trail = zes->accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->call, sizeof(trail->call), "%s", call);
}

#define ZES_CALL(zes, symbol, ...)                                             \
    ((zes)->fn.symbol == NULL                                                  \
         ? (int)ZES_MISSING                                                    \
         : (zes_enter((zes), #symbol), (zes)->fn.symbol(__VA_ARGS__)))

int zes_fail(struct error *err, int result, const char *call, const char *card);
struct zes_card *zes_find(struct accel *accel, const char *part,
                          struct error *err);

/* Of all memory of a card. */
struct zes_sum {
    uint64_t size, free;
    unsigned health; /* the worst */
    bool told;
};

int zes_memory_of(struct zes *zes, const struct zes_card *card,
                  struct zes_sum *out);
int zes_read(struct accel *accel, const char *uuid,
             struct accel_reading *reading_out, struct error *err);
int zes_health(struct accel *accel, const char *uuid,
               struct accel_state *state_out, struct error *err);
int zes_events(struct accel *accel, int wait_ms,
               struct accel_event list_out[ACCEL_EVENTS_MAX], size_t *count_out,
               struct error *err);

#endif
