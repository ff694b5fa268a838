/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ENGINE_LOCAL_H
#define ENGINE_ENGINE_LOCAL_H

#include "engine/engine.h"

/*
 * Work on this machine: containers by bulkhead-runner.
 *
 * Nothing is opened here: each operation is one connection to the runner's
 * socket, so a runner that is restarted is met again by the next one.
 */
struct engine *engine_local_new(const char *runner_socket);

#endif
