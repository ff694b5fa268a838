/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi --gpu-reset -i UUID, for tests: a card that somebody has open is
 * not reset, one may hang in it, and one that is reset has as much in use as
 * at the beginning.
 */
#include "tests/stub/nvml_stub.h"

#define IDLE_MIB 12

int
main(int argc, char **argv)
{
    const char *path = getenv(STUB_ENV);
    struct stub_world *world = path != NULL ? stub_map(path) : NULL;

    if (world == NULL || argc != 4 || strcmp(argv[1], "--gpu-reset") != 0 ||
        strcmp(argv[2], "-i") != 0)
        return 2;
    for (uint32_t i = 0; i < world->card_count; i++) {
        struct stub_card *card = &world->cards[i];

        if (strcmp(card->uuid, argv[3]) != 0)
            continue;
        while (card->cannot_reset == 2)
            (void)pause();
        if (card->cannot_reset != 0 || card->process_count > 0)
            return 1;
        card->used_mib = IDLE_MIB;
        card->resets++;
        return 0;
    }
    return 6;
}
