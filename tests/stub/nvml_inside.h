/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STUB_NVML_INSIDE_H
#define TESTS_STUB_NVML_INSIDE_H

#include "accel/nvml.h"
#include "tests/stub/nvml_stub.h"

/* The inside of the stub, for its files.  Version words stand here as the
 * numbers that are documented, not as the code under test computes them. */

#define STUB_SLICES 8

struct nvml_device_inside {
    int card;
    int slice; /* -1: the card */
};
struct nvml_instance_inside {
    int card, slice;
};
struct nvml_compute_inside {
    int card, slice;
};

extern struct stub_world *stub_world;
extern int stub_ready; /* init without shutdown */
extern struct nvml_device_inside stub_devices[STUB_CARDS];
extern struct nvml_device_inside stub_slices[STUB_CARDS][STUB_SLICES];

/* Counts the call; the scripted answer, 0 when there is none.  A hang does
 * not come back. */
int stub_enter(enum stub_symbol symbol, int card);
/* The number of a card, -1 when the handle is no card's. */
int stub_card_of(const struct nvml_device_inside *device);

#define ENTER(symbol, card_number)                                             \
    do {                                                                       \
        int answer_ = stub_enter(STUB_##symbol, (card_number));                \
        if (answer_ != 0)                                                      \
            return answer_;                                                    \
        if (!stub_ready)                                                       \
            return NVML_UNINITIALIZED;                                         \
    } while (0)

/* For a call on a card: `card` is it. */
#define ENTER_CARD(symbol, device)                                             \
    struct stub_card *card;                                                    \
    int number = stub_card_of(device);                                         \
    ENTER(symbol, number);                                                     \
    if (number < 0)                                                            \
        return NVML_INVALID_ARGUMENT;                                          \
    card = &stub_world->cards[number];                                         \
    (void)card

#define NEED(pointer)                                                          \
    if ((pointer) == NULL)                                                     \
    return NVML_INVALID_ARGUMENT

/* A struct's word has to be one that the library knows. */
#define NEED_WORD(value, known)                                                \
    if ((value) != (known)) {                                                  \
        stub_world->refused_words++;                                           \
        return NVML_VERSION_MISMATCH;                                          \
    }

/* Before each definition: nobody else has a prototype of it. */
#define NVML(symbol, arguments) int symbol arguments;
#include "accel/nvml.def"
#undef NVML

#endif
