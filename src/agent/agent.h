/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_AGENT_H
#define AGENT_AGENT_H

#include "agent/link.h"
#include "base/error.h"
#include "engine/engine.h"

/*
 * How does a node do what it was ordered?
 *
 *   poll       waits at the control plane for the next order
 *   report     tells what changed, and that the node is there
 *   watch      waits at the engine for what happens to instances
 *   inventory  looks at cards, their health and their processes
 *   sample     counts what instances use, for who disturbs whom
 *   main       brings together what is ordered and what is, and hands out
 *              steps to lanes
 *
 * None waits for another, so a slow image delays no heartbeat.  Nothing that
 * matters is kept in memory: an agent that is killed finds all of it in the
 * next order and the engine's next view.
 */

struct agent_options {
    struct link_options link;
    struct engine *engine;
    int inventory_ms; /* between looks at the cards; 0: 3000 */
    int sample_ms;    /* between looks at what is used; 0: 1000 */
};

/* Starts the threads and reconciles until *stop is set (by a signal). */
int agent_run(const struct agent_options *options, const volatile int *stop,
              struct error *err);

#endif
