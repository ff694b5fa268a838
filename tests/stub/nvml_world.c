/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvml_world FILE CARDS [SYMBOL CARD ANSWER]...: makes the machine that the
 * stub of libnvidia-ml.so.1 shows to whoever has STUB_NVML=FILE.  CARD is a
 * number or "all", ANSWER a number or "hang".  CARDS 0 keeps what is there and
 * gives it other faults.
 */
#include "tests/stub/nvml_stub.h"

int
main(int argc, char **argv)
{
    struct stub_world *world = argc >= 3 ? stub_map(argv[1]) : NULL;
    unsigned long count = argc >= 3 ? strtoul(argv[2], NULL, 10) : 0;

    if (world == NULL || count > STUB_CARDS || (argc - 3) % 3 != 0) {
        (void)fputs("usage: nvml_world FILE CARDS [SYMBOL CARD ANSWER]...\n",
                    stderr);
        return 2;
    }
    if (count > 0)
        stub_fill(world, (uint32_t)count);
    world->fault_count = 0;
    for (int i = 3; i < argc; i += 3)
        stub_fault(world, argv[i],
                   strcmp(argv[i + 1], "all") == 0
                       ? STUB_ALL
                       : (int)strtol(argv[i + 1], NULL, 10),
                   strcmp(argv[i + 2], "hang") == 0
                       ? STUB_HANG
                       : (int)strtol(argv[i + 2], NULL, 10));
    return 0;
}
