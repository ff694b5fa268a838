/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happens on NVIDIA's cards.  The whole card is registered, never a
 * slice; events from before are lost, so whoever listens reads the state once
 * after the first call.
 */
#include <string.h>

#include "accel/nvml_private.h"

#define WANTED                                                                 \
    (NVML_EVENT_ECC_CORRECTED | NVML_EVENT_ECC | NVML_EVENT_XID |              \
     NVML_EVENT_SLICES | NVML_EVENT_ECC_STORM | NVML_EVENT_RETIRED |           \
     NVML_EVENT_RETIRE_FAILED | NVML_EVENT_POISON | NVML_EVENT_POISON_FATAL |  \
     NVML_EVENT_UNAVAILABLE | NVML_EVENT_RECOVERY)

static const struct {
    unsigned long long bit;
    enum accel_event_kind kind;
    int64_t number; /* -1: the event's own */
} kinds[] = {
    { NVML_EVENT_XID, ACCEL_EVENT_XID, -1 },
    { NVML_EVENT_ECC_CORRECTED, ACCEL_EVENT_ECC, 1 },
    { NVML_EVENT_ECC_STORM, ACCEL_EVENT_ECC, 1 },
    { NVML_EVENT_ECC, ACCEL_EVENT_ECC, 2 },
    { NVML_EVENT_RETIRED, ACCEL_EVENT_REMAP, 1 },
    { NVML_EVENT_RETIRE_FAILED, ACCEL_EVENT_REMAP, 2 },
    { NVML_EVENT_POISON, ACCEL_EVENT_POISON, 1 },
    { NVML_EVENT_POISON_FATAL, ACCEL_EVENT_POISON, 2 },
    { NVML_EVENT_RECOVERY, ACCEL_EVENT_RECOVERY, 0 },
    { NVML_EVENT_SLICES, ACCEL_EVENT_SLICES, 0 },
    { NVML_EVENT_UNAVAILABLE, ACCEL_EVENT_LOST, 0 },
};

/* One bit that a card does not know rejects the whole mask: it is asked for
 * those that it does. */
static void
register_card(struct nvml *nvml, struct nvml_card *card)
{
    unsigned long long supported = 0;

    if (NVML_CALL(nvml, nvmlDeviceGetSupportedEventTypes, card->device,
                  &supported) == NVML_SUCCESS &&
        (supported & WANTED) != 0)
        (void)NVML_CALL(nvml, nvmlDeviceRegisterEvents, card->device,
                        supported & WANTED, nvml->events);
    /* A card without events is not asked again in this session. */
    card->has_events = true;
}

static int
open_events(struct nvml *nvml, struct error *err)
{
    int result;

    if (nvml->count == 0 && nvml_look(nvml, err) != 0)
        return -1;
    if (nvml->events == NULL) {
        result = NVML_CALL(nvml, nvmlEventSetCreate, &nvml->events);
        if (result != NVML_SUCCESS)
            return nvml_error(err, result, "nvmlEventSetCreate", "");
    }
    for (size_t i = 0; i < nvml->count; i++) {
        struct nvml_card *card = &nvml->cards[i];

        if (!card->has_events &&
            nvml_may(nvml, "nvmlDeviceRegisterEvents", card->uuid) &&
            nvml_find(nvml->accel, card->uuid, err) != NULL)
            register_card(nvml, card);
    }
    return 0;
}

static const char *
uuid_of(const struct nvml *nvml, nvml_device device)
{
    for (size_t i = 0; i < nvml->count; i++)
        if (nvml->cards[i].device == device)
            return nvml->cards[i].uuid;
    return "";
}

static size_t
translate(const struct nvml *nvml, const struct nvml_event *event,
          struct accel_event *out)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((event->type & kinds[i].bit) != 0) {
            *out = (struct accel_event){
                .kind = kinds[i].kind,
                .number = kinds[i].number < 0
                              ? (int64_t)(event->data & INT64_MAX)
                              : kinds[i].number,
                .instance = event->instance == NVML_WHOLE
                                ? -1
                                : (int32_t)event->instance,
                .compute =
                    event->compute == NVML_WHOLE ? -1 : (int32_t)event->compute,
            };
            (void)snprintf(out->uuid, sizeof(out->uuid), "%s",
                           uuid_of(nvml, event->device));
            return 1;
        }
    return 0;
}

/* No event in time is no error.  A lost card is not named. */
int
nvml_events(struct accel *accel, int wait_ms,
            struct accel_event list[ACCEL_EVENTS_MAX], size_t *count_out,
            struct error *err)
{
    struct nvml *nvml = accel->state;
    size_t count = 0;

    nvml->accel = accel;
    if (open_events(nvml, err) != 0)
        return -1;
    while (count < ACCEL_EVENTS_MAX) {
        struct nvml_event event = { .instance = NVML_WHOLE,
                                    .compute = NVML_WHOLE };
        int result = NVML_CALL(nvml, nvmlEventSetWait_v2, nvml->events, &event,
                               count == 0 ? (unsigned)wait_ms : 0U);

        if (result == NVML_TIMEOUT)
            break;
        if (result == NVML_GPU_IS_LOST) {
            list[count++] = (struct accel_event){ .kind = ACCEL_EVENT_LOST,
                                                  .instance = -1,
                                                  .compute = -1 };
            break;
        }
        if (result != NVML_SUCCESS)
            return nvml_error(err, result, "nvmlEventSetWait_v2", "");
        count += translate(nvml, &event, &list[count]);
    }
    *count_out = count;
    return 0;
}

void
nvml_events_close(struct nvml *nvml)
{
    if (nvml->events != NULL)
        (void)NVML_CALL(nvml, nvmlEventSetFree, nvml->events);
    nvml->events = NULL;
}
