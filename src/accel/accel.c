/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel.h"

#include "accel/feature.h"

#include <string.h>

static const struct accel_ops *const backends[] = { &accel_sim_ops,
                                                   &accel_nvml_ops, &accel_rocm_ops, &accel_zes_ops,
                                                   &accel_cuda_ops,
                                                   &accel_vendor_ops };

static const char *const health_texts[] = {
    [ACCEL_HEALTHY] = "healthy",
    [ACCEL_SUSPECT] = "suspect",
    [ACCEL_DEGRADED] = "degraded",
    [ACCEL_FAILED] = "failed",
    [ACCEL_UNKNOWN] = "unknown",
};

const char *
accel_health_text(enum accel_health health)
{
    return health_texts[health];
}

int
accel_health_parse(const char *text, enum accel_health *health_out)
{
    for (unsigned i = 0; i <= ACCEL_UNKNOWN; i++)
        if (strcmp(health_texts[i], text) == 0) {
            *health_out = (enum accel_health)i;
            return 0;
        }
    return -1;
}

int
accel_open(struct accel *accel_out, const char *name, const char *source,
           const char *state_dir, struct error *err)
{
    return accel_open_watched(accel_out, name, source, state_dir,
                              &(struct accel_watch){ 0 }, err);
}

int
accel_open_watched(struct accel *accel_out, const char *name,
                   const char *source, const char *state_dir,
                   const struct accel_watch *watch, struct error *err)
{
    size_t count = sizeof(backends) / sizeof(backends[0]);

    for (size_t i = 0; i < count; i++) {
        struct accel accel = { .ops = backends[i], .watch = *watch };

        if (strcmp(backends[i]->name, name) != 0)
            continue;
        if (accel.ops->open(&accel, source, state_dir, err) != 0)
            return -1;
        *accel_out = accel;
        return 0;
    }
    return error_set(err, ERROR_UNSUPPORTED,
                     "there is no accelerator backend \"%.32s\"", name);
}

void
accel_close(struct accel *accel)
{
    if (accel->ops != NULL)
        accel->ops->close(accel);
    accel->ops = NULL;
}

static int
missing(const struct accel *accel, const char *what, struct error *err)
{
    return error_set(err, ERROR_UNSUPPORTED, "backend %s cannot %s",
                     accel->ops->name, what);
}

int
accel_list(struct accel *accel, struct arena *arena,
           const char *const **uuids_out, size_t *count_out, struct error *err)
{
    if (accel->ops->list == NULL)
        return missing(accel, "list cards", err);
    return accel->ops->list(accel, arena, uuids_out, count_out, err);
}

int
accel_describe(struct accel *accel, const char *uuid,
               struct accel_card *card_out, struct error *err)
{
    if (accel->ops->describe == NULL)
        return missing(accel, "describe a card", err);
    if (accel->ops->describe(accel, uuid, card_out, err) != 0)
        return -1;
    feature_list(card_out);
    return 0;
}

int
accel_health(struct accel *accel, const char *uuid,
             struct accel_state *state_out, struct error *err)
{
    if (accel->ops->health == NULL)
        return missing(accel, "tell the health of a card", err);
    return accel->ops->health(accel, uuid, state_out, err);
}

int
accel_processes(struct accel *accel, const char *uuid,
                struct accel_process list[ACCEL_PROCESSES_MAX],
                size_t *count_out, struct error *err)
{
    if (accel->ops->processes == NULL)
        return missing(accel, "list the processes on a card", err);
    return accel->ops->processes(accel, uuid, list, count_out, err);
}

int
accel_census(struct accel *accel, const char *const *parts, size_t count,
             struct accel_crew *crews, struct error *err)
{
    if (accel->ops->census == NULL)
        return missing(accel, "list the processes on all cards", err);
    return accel->ops->census(accel, parts, count, crews, err);
}

int
accel_nodes(struct accel *accel, const char *uuid,
            struct accel_node nodes[ACCEL_NODES_MAX], size_t *count_out,
            struct error *err)
{
    if (accel->ops->nodes == NULL)
        return missing(accel, "tell the nodes of a card", err);
    return accel->ops->nodes(accel, uuid, nodes, count_out, err);
}

int
accel_reset(struct accel *accel, const char *uuid, struct error *err)
{
    if (accel->ops->reset == NULL)
        return missing(accel, "reset a card", err);
    return accel->ops->reset(accel, uuid, err);
}

int
accel_scrub(struct accel *accel, const char *uuid, struct accel_scrub *done_out,
            struct error *err)
{
    if (accel->ops->scrub == NULL)
        return missing(accel, "scrub a card", err);
    return accel->ops->scrub(accel, uuid, done_out, err);
}

int
accel_cut(struct accel *accel, const char *uuid, bool on, struct error *err)
{
    if (accel->ops->cut == NULL)
        return missing(accel, "cut a card", err);
    return accel->ops->cut(accel, uuid, on, err);
}

int
accel_slice_create(struct accel *accel, const char *part, struct error *err)
{
    if (accel->ops->slice_create == NULL)
        return missing(accel, "create a slice", err);
    return accel->ops->slice_create(accel, part, err);
}

int
accel_slice_destroy(struct accel *accel, const char *part, struct error *err)
{
    if (accel->ops->slice_destroy == NULL)
        return missing(accel, "destroy a slice", err);
    return accel->ops->slice_destroy(accel, part, err);
}

int
accel_survey(struct accel *accel, struct accel_survey *out, struct error *err)
{
    *out = (struct accel_survey){ 0 };
    if (accel->ops->survey == NULL)
        return missing(accel, "say more than its cards", err);
    return accel->ops->survey(accel, out, err);
}

int
accel_settle(struct accel *accel, const char *uuid, struct error *err)
{
    if (accel->ops->settle == NULL)
        return missing(accel, "put a card's settings back", err);
    return accel->ops->settle(accel, uuid, err);
}

int
accel_slices(struct accel *accel, const char *uuid,
             struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
             struct error *err)
{
    if (accel->ops->slices == NULL)
        return missing(accel, "list slices", err);
    return accel->ops->slices(accel, uuid, list, count_out, err);
}

int
accel_read(struct accel *accel, const char *uuid,
           struct accel_reading *reading_out, struct error *err)
{
    if (accel->ops->read == NULL)
        return missing(accel, "measure a card", err);
    return accel->ops->read(accel, uuid, reading_out, err);
}

int
accel_usage(struct accel *accel, const char *uuid,
            struct accel_usage list[ACCEL_PROCESSES_MAX], size_t *count_out,
            struct error *err)
{
    if (accel->ops->usage == NULL)
        return missing(accel, "account for processes", err);
    return accel->ops->usage(accel, uuid, list, count_out, err);
}

int
accel_events(struct accel *accel, int wait_ms,
             struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
             struct error *err)
{
    if (accel->ops->events == NULL)
        return missing(accel, "tell what happens", err);
    return accel->ops->events(accel, wait_ms, list, count_out, err);
}
