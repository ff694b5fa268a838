/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CONTROL_CHECK_PRIVATE_H
#define CONTROL_CHECK_PRIVATE_H

#include "control/check.h"

/* What check_world keeps for check_history. */
struct check_card {
    char id[ID_TEXT_MAX];
    int64_t cut_ms; /* metered up to here, then */
};

#endif
