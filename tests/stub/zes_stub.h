/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STUB_ZES_STUB_H
#define TESTS_STUB_ZES_STUB_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A machine with Intel cards, as libze_loader.so.1 of tests/stub shows it: in
 * a file that all have mapped, as nvml_stub.h says. */

#define ZES_STUB_ENV "STUB_ZES"
#define ZES_STUB_CARDS 4
#define ZES_STUB_ALL (-1)
#define ZES_STUB_HANG (-1)

enum zes_stub_symbol {
#define ZES(symbol, arguments) ZES_STUB_##symbol,
#include "accel/zes.def"
#undef ZES
    ZES_STUB_SYMBOL_COUNT
};

static const char *const zes_stub_names[] = {
#define ZES(symbol, arguments) #symbol,
#include "accel/zes.def"
#undef ZES
};

struct zes_stub_world {
    uint32_t card_count;
    struct {
        uint64_t size, free;
        uint32_t health, reset, event, process;
        uint64_t uncorrected;
    } cards[ZES_STUB_CARDS];
    uint64_t time_us; /* goes on by a second with each activity */
    uint32_t fault_count;
    struct {
        uint32_t symbol;
        int32_t card, answer;
    } faults[8];
    uint32_t calls[ZES_STUB_SYMBOL_COUNT];
};

static inline struct zes_stub_world *
zes_stub_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at;

    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct zes_stub_world)) != 0)
        return NULL;
    at = mmap(NULL, sizeof(struct zes_stub_world), PROT_READ | PROT_WRITE,
              MAP_SHARED, fd, 0);
    (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static inline void
zes_stub_fill(struct zes_stub_world *world, uint32_t count)
{
    memset(world, 0, sizeof(*world));
    world->card_count = count;
    world->time_us = 1000000;
    for (uint32_t i = 0; i < count; i++) {
        world->cards[i].size = 48ULL << 30;
        world->cards[i].free = (48ULL << 30) - (30ULL << 20);
        world->cards[i].health = 1;
    }
}

static inline void
zes_stub_fault(struct zes_stub_world *world, const char *symbol, int card,
               int answer)
{
    for (uint32_t i = 0; i < ZES_STUB_SYMBOL_COUNT; i++)
        if (strcmp(zes_stub_names[i], symbol) == 0 && world->fault_count < 8) {
            world->faults[world->fault_count].symbol = i;
            world->faults[world->fault_count].card = card;
            world->faults[world->fault_count].answer = answer;
            world->fault_count++;
        }
}

#endif
