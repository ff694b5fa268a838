/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/simulate/commands.h"
#include "tests/simulate/portion.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Each costs some checks of the whole world. */
#define STEPS_MAX 80

/* Outside a test an assertion of cmocka ends the process: by a signal. */
int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

/* The bytes are dice: first what the estate is like, then what happens on it
 * and what people ask, until they are used up.  After each applied set all
 * invariants are asserted; in the end, when everything is sound again, that
 * guarantees are served. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct play *play = memory_new(1, sizeof(*play));
    bool ends_in_calm;

    if (size < 2) {
        free(play);
        return 0;
    }
    build(play, data[0]);
    command_setup(play);
    play->scene.on_decision = portion_check_claim;
    ends_in_calm = (data[1] & 13) == 1;
    play->forgetful = (data[1] & 2) != 0;
    play->dice = data + 2;
    play->dice_end = data + size;
    for (int i = 0; i < STEPS_MAX && play->dice < play->dice_end; i++) {
        if (chance(play, 50))
            something(play);
        else
            command(play);
        if (i % 5 == 4)
            portion_watch(play);
        if (i % 50 == 49)
            command_mend(play);
        if (chance(play, 60))
            schedule(play);
    }
    if (ends_in_calm)
        calm(play);
    scene_teardown(&play->scene);
    free(play);
    return 0;
}
