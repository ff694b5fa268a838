/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STUB_RSMI_STUB_H
#define TESTS_STUB_RSMI_STUB_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* A machine with AMD cards, as librocm_smi64.so.1 of tests/stub shows it: in a
 * file that all have mapped, as nvml_stub.h says. */

#define RSMI_STUB_ENV "STUB_RSMI"
#define RSMI_STUB_CARDS 4
#define RSMI_STUB_ALL (-1)
#define RSMI_STUB_HANG (-1)

enum rsmi_stub_symbol {
#define RSMI(symbol, arguments) RSMI_STUB_##symbol,
#include "accel/rsmi.def"
#undef RSMI
    RSMI_STUB_SYMBOL_COUNT
};

static const char *const rsmi_stub_names[] = {
#define RSMI(symbol, arguments) #symbol,
#include "accel/rsmi.def"
#undef RSMI
};

struct rsmi_stub_world {
    uint32_t card_count;
    struct {
        uint64_t id, pci, memory, used, cap;
        uint64_t uncorrected; /* of memory */
        uint32_t pages_pending;
    } cards[RSMI_STUB_CARDS];
    uint32_t process_count;
    struct {
        uint32_t pid, card;
        uint64_t vram;
    } processes[8];
    uint32_t event_count;
    struct {
        uint32_t card, kind;
    } events[8];
    uint32_t fault_count;
    struct {
        uint32_t symbol;
        int32_t card, answer;
    } faults[8];
    uint32_t calls[RSMI_STUB_SYMBOL_COUNT];
};

static inline struct rsmi_stub_world *
rsmi_stub_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at;

    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct rsmi_stub_world)) != 0)
        return NULL;
    at = mmap(NULL, sizeof(struct rsmi_stub_world), PROT_READ | PROT_WRITE,
              MAP_SHARED, fd, 0);
    (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

static inline void
rsmi_stub_fill(struct rsmi_stub_world *world, uint32_t count)
{
    memset(world, 0, sizeof(*world));
    world->card_count = count;
    for (uint32_t i = 0; i < count; i++) {
        world->cards[i].id = 0xd1cc3f11cc4a0000U + i;
        world->cards[i].pci = (uint64_t)(0xC1 + i) << 8;
        world->cards[i].memory = 64ULL << 30;
        world->cards[i].used = 10ULL << 20;
        world->cards[i].cap = 500000000;
    }
}

static inline void
rsmi_stub_fault(struct rsmi_stub_world *world, const char *symbol, int card,
                int answer)
{
    for (uint32_t i = 0; i < RSMI_STUB_SYMBOL_COUNT; i++)
        if (strcmp(rsmi_stub_names[i], symbol) == 0 && world->fault_count < 8) {
            world->faults[world->fault_count].symbol = i;
            world->faults[world->fault_count].card = card;
            world->faults[world->fault_count].answer = answer;
            world->fault_count++;
        }
}

#endif
