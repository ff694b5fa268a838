/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGENT_LANE_H
#define AGENT_LANE_H

/*
 * Who does what takes long?  A lane is a few threads that do pieces of work
 * in the order in which they came; work that may wait for something slow gets
 * a lane of its own.  Lanes live as long as the process.
 */

struct lane;

struct lane_work {
    void (*run)(struct lane_work *work); /* owns work */
    struct lane_work *next;
};

struct lane *lane_new(unsigned threads);
void lane_push(struct lane *lane, struct lane_work *work);

#endif
