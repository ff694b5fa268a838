/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_STUB_NVML_STUB_H
#define TESTS_STUB_NVML_STUB_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * A machine with NVIDIA cards, as libnvidia-ml.so.1 of tests/stub shows it.
 *
 * It lies in a file that the test and every process that loads the stub have
 * mapped (the environment's STUB_NVML names it), so what is written here is
 * what the next call answers, and what was made by a process that was killed
 * is still there.
 */

#define STUB_ENV "STUB_NVML"
#define STUB_CARDS 8
#define STUB_FAULTS 16
#define STUB_ALL (-1)
#define STUB_HANG (-1)
#define STUB_DIE (-2) /* as by SIGKILL */

enum stub_symbol {
#define NVML(symbol, arguments) STUB_##symbol,
#include "accel/nvml.def"
#undef NVML
    STUB_SYMBOL_COUNT
};

static const char *const stub_names[] = {
#define NVML(symbol, arguments) #symbol,
#include "accel/nvml.def"
#undef NVML
};

struct stub_process {
    uint32_t pid;
    uint64_t used;
    uint32_t instance; /* 0xFFFFFFFF: none */
    uint32_t kind;     /* 0 compute, 1 graphics, 2 MPS */
};

struct stub_slice {
    uint32_t there, id, profile, start, size, compute;
};

struct stub_card {
    char uuid[80];
    char name[96];
    char pci[32]; /* 00000000:41:00.0 */
    uint64_t memory_mib, used_mib, reserved_mib;
    uint32_t architecture, major, minor;
    uint32_t recovery, remap_pending, remap_failed, banks_spent, unrepairable;
    uint32_t sram_exceeded, ecc_corrected, ecc_uncorrected;
    uint32_t store_broken, width;
    uint64_t clock_reasons;
    uint32_t sliced, next_instance;
    struct stub_slice slices[8];
    uint32_t process_count;
    struct stub_process processes[8];
    uint32_t accounting, compute_mode, power_limit;
    uint32_t account_count;
    struct {
        uint32_t pid, percent, running;
        uint64_t peak, time_ms;
    } accounts[8];
    /* links: the card at the other end, -1 none, -2 a switch */
    int32_t links[18];
    uint32_t fabric_state, fabric_clique;
    uint8_t fabric_cluster[16];
    /* as libcuda.so.1 has it: its memory is the file WORLD.UUID */
    struct {
        uint32_t memory_mib, kept_mib; /* all of it, and the driver's */
        uint32_t taken_mib; /* by somebody else */
        uint32_t stuck; /* its first byte keeps what it has */
        uint32_t hang;  /* a write never comes back */
        uint32_t other; /* it says that it is another card */
        uint32_t contexts; /* that are open */
    } cuda;
    uint32_t resets, cannot_reset; /* 2: a reset never comes back */
};

struct stub_event {
    int32_t card;
    uint32_t instance, compute;
    uint64_t type, data;
};

struct stub_world {
    uint32_t card_count;
    struct stub_card cards[STUB_CARDS];
    char driver[80];
    uint32_t wide;          /* the v3 process list has 32 bytes a record */
    uint32_t fabric;        /* newest form that is known: 2 or 3 */
    uint32_t profile_words; /* 0: the library knows no named profiles */
    uint32_t event_count;
    struct stub_event events[64];
    uint32_t fault_count;
    struct {
        uint32_t symbol;
        int32_t card;   /* STUB_ALL */
        int32_t answer; /* STUB_HANG, STUB_DIE */
    } faults[STUB_FAULTS];
    uint32_t calls[STUB_SYMBOL_COUNT];
    uint32_t refused_words; /* calls with a version word that was wrong */
};

static inline struct stub_world *
stub_map(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    void *at;

    if (fd < 0 || ftruncate(fd, (off_t)sizeof(struct stub_world)) != 0)
        return NULL;
    at = mmap(NULL, sizeof(struct stub_world), PROT_READ | PROT_WRITE,
              MAP_SHARED, fd, 0);
    (void)close(fd);
    return at == MAP_FAILED ? NULL : at;
}

/* count cards of one kind that have nothing the matter. */
static inline void
stub_fill(struct stub_world *world, uint32_t count)
{
    memset(world, 0, sizeof(*world));
    world->card_count = count;
    world->fabric = 3;
    world->profile_words = 1;
    (void)snprintf(world->driver, sizeof(world->driver), "570.124.06");
    for (uint32_t i = 0; i < count; i++) {
        struct stub_card *card = &world->cards[i];

        (void)snprintf(card->uuid, sizeof(card->uuid),
                       "GPU-%08u-aaaa-bbbb-cccc-0123456789ab", i);
        (void)snprintf(card->name, sizeof(card->name), "NVIDIA A100-SXM4-40GB");
        (void)snprintf(card->pci, sizeof(card->pci), "00000000:%02X:00.0",
                       0x41 + i);
        card->memory_mib = 40960;
        card->used_mib = 12;
        card->reserved_mib = 600;
        card->architecture = 7;
        card->major = 8;
        card->width = 16;
        card->power_limit = 400000;
        card->cuda.memory_mib = 32;
        card->cuda.kept_mib = 1;
        for (int j = 0; j < 18; j++)
            card->links[j] = -1;
    }
}

static inline void
stub_fault(struct stub_world *world, const char *symbol, int card, int answer)
{
    for (uint32_t i = 0; i < STUB_SYMBOL_COUNT; i++)
        if (strcmp(stub_names[i], symbol) == 0 &&
            world->fault_count < STUB_FAULTS) {
            world->faults[world->fault_count].symbol = i;
            world->faults[world->fault_count].card = card;
            world->faults[world->fault_count].answer = answer;
            world->fault_count++;
        }
}

#endif
