/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_HEALTH_H
#define CORE_HEALTH_H

/* How a card is, from the agent to the console: mildest first. */
enum card_health {
    HEALTH_UNKNOWN,
    HEALTH_HEALTHY,
    HEALTH_SUSPECT,
    HEALTH_DEGRADED,
    HEALTH_FAILED,
};

#endif
