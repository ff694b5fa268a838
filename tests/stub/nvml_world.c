/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_world FILE CARDS [SYMBOL CARD ANSWER]...: makes the machine that the
 * stub of libnvidia-ml.so.1 shows to whoever has STUB_NVML=FILE.  CARD is a
 * number or "all", ANSWER a number or "hang".  CARDS 0 keeps what is there and
 * gives it other faults.  Some words that are no symbols change what is there:
 *   used CARD MIB, stuck CARD 1, hang CARD 1, fixed CARD 1 (it cannot be
 *   reset), swap CARD CARD (their numbers), process CARD PID (0: none)
 * nvml_world FILE show: a line a card: UUID, MiB in use, resets, processes.
 */
#include "tests/stub/nvml_stub.h"

static void
show(const struct stub_world *world)
{
    for (uint32_t i = 0; i < world->card_count; i++)
        (void)printf("%s %lu %u %u\n", world->cards[i].uuid,
                     (unsigned long)world->cards[i].used_mib,
                     world->cards[i].resets, world->cards[i].process_count);
}

static int
number_of(const char *text)
{
    return (int)strtol(text, NULL, 10);
}

/* A word that changes a card; 0: it is none. */
static int
change(struct stub_world *world, const char *word, int at, int value)
{
    struct stub_card *card = &world->cards[at >= 0 && at < STUB_CARDS ? at : 0];
    struct stub_card other;

    if (strcmp(word, "used") == 0) {
        card->used_mib = (uint64_t)value;
    } else if (strcmp(word, "stuck") == 0) {
        card->cuda.stuck = (uint32_t)value;
    } else if (strcmp(word, "hang") == 0) {
        card->cuda.hang = (uint32_t)value;
    } else if (strcmp(word, "fixed") == 0) {
        card->cannot_reset = (uint32_t)value;
    } else if (strcmp(word, "process") == 0) {
        card->process_count = value != 0;
        card->processes[0] = (struct stub_process){
            .pid = (uint32_t)value, .instance = 0xFFFFFFFFU
        };
    } else if (strcmp(word, "swap") == 0 && value >= 0 && value < STUB_CARDS) {
        other = *card;
        *card = world->cards[value];
        world->cards[value] = other;
    } else {
        return 0;
    }
    return 1;
}

int
main(int argc, char **argv)
{
    struct stub_world *world = argc >= 3 ? stub_map(argv[1]) : NULL;
    unsigned long count = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;

    if (world != NULL && strcmp(argv[2], "show") == 0) {
        show(world);
        return 0;
    }
    if (world == NULL || count > STUB_CARDS || (argc - 3) % 3 != 0) {
        (void)fputs("usage: nvml_world FILE CARDS [SYMBOL CARD ANSWER]...\n",
                    stderr);
        return 2;
    }
    if (count > 0)
        stub_fill(world, (uint32_t)count);
    world->fault_count = 0;
    for (int i = 3; i < argc; i += 3)
        if (!change(world, argv[i], number_of(argv[i + 1]),
                    number_of(argv[i + 2])))
            stub_fault(world, argv[i],
                       strcmp(argv[i + 1], "all") == 0
                           ? STUB_ALL
                           : number_of(argv[i + 1]),
                       strcmp(argv[i + 2], "hang") == 0
                           ? STUB_HANG
                           : number_of(argv[i + 2]));
    return 0;
}
