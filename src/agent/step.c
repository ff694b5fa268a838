/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/step.h"

#include "base/crash.h"

static int
release(struct engine *engine, const struct roster_step *step,
        struct error *err)
{
    bool released = false;

    if (engine->ops->released(engine, step->id, step->incarnation,
                              &released, err) != 0)
        return -1;
    return released ? 0
                    : error_set(err, ERROR_BUSY,
                                "processes are left on its cards");
}

static int
start(struct engine *engine, const struct roster_step *step, struct error *err)
{
    struct order_instance wanted = { .instance = step->id,
                                     .incarnation = step->incarnation,
                                     .tenant = step->tenant,
                                     .start = step->start };

    return engine->ops->apply(engine, &wanted, err);
}

static int
do_duty(struct engine *engine, struct logs *logs,
        const struct roster_step *step, struct error *err)
{
    const struct engine_ops *ops = engine->ops;

    switch (step->step) {
    case DUTY_NOTHING:
        return 0;
    case DUTY_START:
        return start(engine, step, err);
    case DUTY_NOTICE:
        return ops->notice(engine, step->id, step->incarnation, step->reason,
                           step->deadline_ms, err);
    case DUTY_GANG:
        return ops->gang(engine, step->id, step->incarnation, step->gang,
                         err);
    case DUTY_CAP:
        return ops->cap(engine, step->id, step->incarnation, &step->cap, err);
    case DUTY_TERMINATE:
        return ops->terminate(engine, step->id, step->incarnation, err);
    case DUTY_KILL:
        return ops->kill(engine, step->id, step->incarnation, err);
    case DUTY_REMOVE:
        if (logs_keep(logs, step->id, step->incarnation, err) != 0)
            return -1;
        CRASH_POINT("agent.kept");
        return ops->remove(engine, step->id, step->incarnation, err);
    case DUTY_RELEASE:
        return release(engine, step, err);
    }
    return 0;
}

int
step_do(struct engine *engine, struct logs *logs,
        struct roster_step *step, struct error *err)
{
    struct order_volume volume = { .volume = step->id,
                                   .tenant = step->tenant,
                                   .size_mib = step->size_mib,
                                   .remove = step->remove };

    CRASH_POINT("agent.stepping");
    switch (step->kind) {
    case ROSTER_DUTY:
        return do_duty(engine, logs, step, err);
    case ROSTER_VOLUME:
        return engine->ops->volume(engine, &volume, err);
    case ROSTER_SCRUB:
        return engine->ops->scrub(engine, step->id, &step->scrub, err);
    }
    return 0;
}

const char *
step_name(const struct roster_step *step)
{
    static const char *const names[] = { "nothing",   "start", "notice",
                                         "gang",      "cap",
                                         "terminate",
                                         "kill",      "remove",
                                         "release" };

    if (step->kind == ROSTER_VOLUME)
        return step->remove ? "volume remove" : "volume create";
    return step->kind == ROSTER_SCRUB ? "scrub" : names[step->step];
}
