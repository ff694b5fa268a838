/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hard slices of NVIDIA's cards: a GPU instance with one compute instance
 * that takes all of it.  A slice is named by profile and start ("3g.40gb@4"),
 * as in core/geometry.h; the start counts memory slices.  A change touches
 * that slice alone: only it has to be idle.
 */
#include <inttypes.h>
#include <string.h>

#include "accel/nvml_private.h"

#define SELECTORS 18 /* of profiles: 0.., not the profile's id */

struct profile {
    unsigned selector, id, slices, units, count;
    unsigned long long memory_mib;
    char name[40];
};

static void
name_profile(struct profile *out, const char *text)
{
    if (strncmp(text, "MIG ", 4) == 0)
        text += 4;
    if (text[0] != '\0')
        (void)snprintf(out->name, sizeof(out->name), "%.39s", text);
    else
        (void)snprintf(out->name, sizeof(out->name), "%ug.%llugb%s",
                       out->slices, (out->memory_mib + 1023) / 1024,
                       out->selector == 7 ? "+me" : "");
}

static int
profile_at(struct nvml *nvml, const struct nvml_card *card, unsigned selector,
           struct profile *out)
{
    struct nvml_profile_v2 named = { .version =
                                         NVML_WORD(struct nvml_profile_v2, 2) };
    struct nvml_profile plain = { 0 };
    int result = NVML_CALL(nvml, nvmlDeviceGetGpuInstanceProfileInfoV,
                           card->device, selector, &named);

    *out = (struct profile){ .selector = selector };
    if (result == NVML_SUCCESS) {
        out->id = named.id;
        out->slices = named.slices;
        out->units = named.units;
        out->count = named.count;
        out->memory_mib = named.memory_mib;
        named.name[sizeof(named.name) - 1] = '\0';
        name_profile(out, named.name);
        return result;
    }
    if (result != NVML_FUNCTION_NOT_FOUND && result != NVML_VERSION_MISMATCH)
        return result;
    result = NVML_CALL(nvml, nvmlDeviceGetGpuInstanceProfileInfo, card->device,
                       selector, &plain);
    if (result == NVML_SUCCESS) {
        out->id = plain.id;
        out->slices = plain.slices;
        out->units = plain.units;
        out->count = plain.count;
        out->memory_mib = plain.memory_mib;
        name_profile(out, "");
    }
    return result;
}

/* A hole in the row of profiles is no end of it. */
static bool
is_end(int result)
{
    return result == NVML_INVALID_ARGUMENT ||
           result == NVML_FUNCTION_NOT_FOUND || result == NVML_GPU_IS_LOST;
}

static int
find_profile(struct nvml *nvml, struct nvml_card *card, const char *name,
             size_t size, struct profile *out, struct error *err)
{
    int result = NVML_INVALID_ARGUMENT;

    for (unsigned i = 0; i < SELECTORS; i++) {
        result = profile_at(nvml, card, i, out);
        if (result == NVML_SUCCESS && strlen(out->name) == size &&
            strncmp(out->name, name, size) == 0)
            return 0;
        if (is_end(result))
            break;
    }
    if (result == NVML_GPU_IS_LOST)
        return nvml_fail(card, result, "nvmlDeviceGetGpuInstanceProfileInfoV",
                         err);
    return error_set(err, ERROR_NOT_FOUND, "card %s can have no slice %.*s",
                     card->uuid, (int)(size < 40 ? size : 40), name);
}

/* --- what is there --- */

/* Calls for each instance on the card; 0 goes on. */
static int
each_instance(struct nvml *nvml, struct nvml_card *card,
              int (*step)(void *context, const struct profile *profile,
                          nvml_instance instance,
                          const struct nvml_instance_info *info),
              void *context, struct error *err)
{
    for (unsigned i = 0; i < SELECTORS; i++) {
        nvml_instance list[ACCEL_SLICES_MAX] = { 0 };
        unsigned count = ACCEL_SLICES_MAX;
        struct profile profile;
        int result = profile_at(nvml, card, i, &profile);

        if (is_end(result) && result != NVML_GPU_IS_LOST)
            break;
        if (result == NVML_NOT_SUPPORTED)
            continue;
        if (result == NVML_SUCCESS)
            result = NVML_CALL(nvml, nvmlDeviceGetGpuInstances, card->device,
                               profile.id, list, &count);
        if (result != NVML_SUCCESS)
            return nvml_fail(card, result, "nvmlDeviceGetGpuInstances", err);
        for (unsigned j = 0; j < count && j < ACCEL_SLICES_MAX; j++) {
            struct nvml_instance_info info = { 0 };

            result = NVML_CALL(nvml, nvmlGpuInstanceGetInfo, list[j], &info);
            if (result != NVML_SUCCESS)
                return nvml_fail(card, result, "nvmlGpuInstanceGetInfo", err);
            if (step(context, &profile, list[j], &info) != 0)
                return 0;
        }
    }
    return 0;
}

struct seek {
    const char *name;
    nvml_instance instance; /* NULL: not there */
    struct nvml_instance_info info;
};

static int
match(void *context, const struct profile *profile, nvml_instance instance,
      const struct nvml_instance_info *info)
{
    struct seek *seek = context;
    char name[64];

    (void)snprintf(name, sizeof(name), "%s@%u", profile->name,
                   info->placement.start);
    if (strcmp(name, seek->name) != 0)
        return 0;
    seek->instance = instance;
    seek->info = *info;
    return 1;
}

/* --- the handles of slices --- */

/* Holes in the row are no end of it; handles are good until the next change
 * only. */
static nvml_device
handle_of(struct nvml *nvml, const struct nvml_card *card, unsigned instance,
          unsigned *compute_out)
{
    unsigned count = 0;

    (void)NVML_CALL(nvml, nvmlDeviceGetMaxMigDeviceCount, card->device, &count);
    for (unsigned i = 0; i < count && i < ACCEL_SLICES_MAX; i++) {
        nvml_device device = NULL;
        unsigned id = NVML_WHOLE;

        if (NVML_CALL(nvml, nvmlDeviceGetMigDeviceHandleByIndex, card->device,
                      i, &device) != NVML_SUCCESS ||
            NVML_CALL(nvml, nvmlDeviceGetGpuInstanceId, device, &id) !=
                NVML_SUCCESS ||
            id != instance)
            continue;
        if (NVML_CALL(nvml, nvmlDeviceGetComputeInstanceId, device,
                      compute_out) != NVML_SUCCESS)
            *compute_out = NVML_WHOLE;
        return device;
    }
    return NULL;
}

int
nvml_part(struct nvml *nvml, struct nvml_card *card, const char *part,
          nvml_device *device_out, struct error *err)
{
    size_t size = strcspn(part, "/");
    struct seek seek = { .name = part[size] == '/' ? part + size + 1 : "" };
    unsigned compute = 0;

    *device_out = card->device;
    if (seek.name[0] == '\0')
        return 0;
    if (each_instance(nvml, card, match, &seek, err) != 0)
        return -1;
    *device_out = seek.instance == NULL
                      ? NULL
                      : handle_of(nvml, card, seek.info.id, &compute);
    if (nvml_end(nvml, card, err) != 0)
        return -1;
    if (*device_out == NULL)
        return error_set(err, ERROR_NOT_FOUND, "there is no slice %.100s",
                         part);
    return 0;
}

int
nvml_ids(struct nvml *nvml, struct nvml_card *card, const char *slice,
         unsigned *instance_out, unsigned *compute_out, struct error *err)
{
    struct seek seek = { .name = slice };

    if (each_instance(nvml, card, match, &seek, err) != 0)
        return -1;
    if (seek.instance == NULL ||
        handle_of(nvml, card, seek.info.id, compute_out) == NULL)
        return error_set(err, ERROR_NOT_FOUND, "card %s has no slice %.40s",
                         card->uuid, slice);
    *instance_out = seek.info.id;
    return 0;
}

struct slices {
    struct nvml *nvml;
    const struct nvml_card *card;
    struct accel_slice *list;
    size_t count;
};

static int
add_slice(void *context, const struct profile *profile, nvml_instance instance,
          const struct nvml_instance_info *info)
{
    struct slices *out = context;
    struct accel_slice *slice = &out->list[out->count];
    struct nvml_attributes attributes = { 0 };
    unsigned compute = NVML_WHOLE;
    nvml_device device;

    (void)instance;
    if (out->count == ACCEL_SLICES_MAX)
        return 1;
    out->count++;
    *slice = (struct accel_slice){ .instance = (int32_t)info->id,
                                   .compute = -1,
                                   .compute_units = (int32_t)profile->units,
                                   .memory_mib = (int64_t)profile->memory_mib };
    (void)snprintf(slice->name, sizeof(slice->name), "%.30s@%u", profile->name,
                   info->placement.start);
    device = handle_of(out->nvml, out->card, info->id, &compute);
    if (device == NULL)
        return 0;
    slice->compute = compute == NVML_WHOLE ? -1 : (int32_t)compute;
    (void)NVML_CALL(out->nvml, nvmlDeviceGetUUID, device, slice->uuid,
                    (unsigned)sizeof(slice->uuid));
    if (NVML_CALL(out->nvml, nvmlDeviceGetAttributes_v2, device, &attributes) ==
        NVML_SUCCESS) {
        slice->compute_units = (int32_t)attributes.units;
        slice->memory_mib = (int64_t)attributes.memory_mib;
    }
    return 0;
}

int
nvml_slices(struct accel *accel, const char *uuid,
            struct accel_slice list[ACCEL_SLICES_MAX], size_t *count_out,
            struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, uuid, err);
    struct slices slices = { .nvml = nvml, .card = card, .list = list };

    if (card == NULL || each_instance(nvml, card, add_slice, &slices, err) != 0)
        return -1;
    *count_out = slices.count;
    return nvml_end(nvml, card, err);
}

/* --- cutting --- */

/* The mode has two answers: that of the call, and that of its coming into
 * force. */
int
nvml_cut(struct accel *accel, const char *uuid, bool on, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, uuid, err);
    unsigned current = 0;
    unsigned pending = 0;
    int activation = NVML_SUCCESS;
    int result;

    if (card == NULL)
        return -1;
    result =
        NVML_CALL(nvml, nvmlDeviceGetMigMode, card->device, &current, &pending);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result, "nvmlDeviceGetMigMode", err);
    if ((current != 0) == on && current == pending)
        return 0;
    result = NVML_CALL(nvml, nvmlDeviceSetMigMode, card->device, on ? 1U : 0U,
                       &activation);
    if (result == NVML_SUCCESS)
        result = activation;
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result, "nvmlDeviceSetMigMode", err);
    /* Minor number and handles may have changed. */
    return nvml_look(nvml, err);
}

static int
find_placement(struct nvml *nvml, struct nvml_card *card,
               const struct profile *profile, unsigned start,
               struct nvml_placement *out, struct error *err)
{
    struct nvml_placement list[64] = { 0 };
    unsigned count = 0;
    int result = NVML_CALL(nvml, nvmlDeviceGetGpuInstancePossiblePlacements_v2,
                           card->device, profile->id, NULL, &count);

    if (result == NVML_SUCCESS && count > 64)
        result = NVML_INSUFFICIENT_SIZE;
    if (result == NVML_SUCCESS)
        result = NVML_CALL(nvml, nvmlDeviceGetGpuInstancePossiblePlacements_v2,
                           card->device, profile->id, list, &count);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result,
                         "nvmlDeviceGetGpuInstancePossiblePlacements_v2", err);
    for (unsigned i = 0; i < count; i++)
        if (list[i].start == start) {
            *out = list[i];
            return 0;
        }
    return error_set(err, ERROR_NOT_FOUND,
                     "a slice %s of card %s cannot start at %u", profile->name,
                     card->uuid, start);
}

/* The compute profile that is the whole instance. */
static int
make_compute(struct nvml *nvml, struct nvml_card *card, nvml_instance instance,
             const struct profile *profile, struct error *err)
{
    int result = NVML_NOT_SUPPORTED;

    for (unsigned i = 0; i < 9; i++) {
        struct nvml_compute_profile_v2 compute = {
            .version = NVML_WORD(struct nvml_compute_profile_v2, 2)
        };
        nvml_compute made = NULL;

        if (NVML_CALL(nvml, nvmlGpuInstanceGetComputeInstanceProfileInfoV,
                      instance, i, 0U, &compute) != NVML_SUCCESS ||
            compute.slices != profile->slices)
            continue;
        result = NVML_CALL(nvml, nvmlGpuInstanceCreateComputeInstance, instance,
                           compute.id, &made);
        if (result == NVML_SUCCESS)
            return 0;
        break;
    }
    if (nvml_end(nvml, card, err) != 0)
        return -1;
    return nvml_fail(card, result, "nvmlGpuInstanceCreateComputeInstance", err);
}

/* Compute instances first; they are found at whatever profile they have. */
static int
destroy(struct nvml *nvml, struct nvml_card *card, nvml_instance instance,
        struct error *err)
{
    int result;

    for (unsigned i = 0; i < 9; i++) {
        struct nvml_compute_profile_v2 compute = {
            .version = NVML_WORD(struct nvml_compute_profile_v2, 2)
        };
        nvml_compute list[ACCEL_SLICES_MAX] = { 0 };
        unsigned count = ACCEL_SLICES_MAX;

        if (NVML_CALL(nvml, nvmlGpuInstanceGetComputeInstanceProfileInfoV,
                      instance, i, 0U, &compute) != NVML_SUCCESS)
            continue;
        result = NVML_CALL(nvml, nvmlGpuInstanceGetComputeInstances, instance,
                           compute.id, list, &count);
        if (result != NVML_SUCCESS)
            return nvml_fail(card, result, "nvmlGpuInstanceGetComputeInstances",
                             err);
        for (unsigned j = 0; j < count && j < ACCEL_SLICES_MAX; j++) {
            result = NVML_CALL(nvml, nvmlComputeInstanceDestroy, list[j]);
            if (result != NVML_SUCCESS)
                return nvml_fail(card, result, "nvmlComputeInstanceDestroy",
                                 err);
        }
    }
    result = NVML_CALL(nvml, nvmlGpuInstanceDestroy, instance);
    return result == NVML_SUCCESS
               ? 0
               : nvml_fail(card, result, "nvmlGpuInstanceDestroy", err);
}

static int
create(struct nvml *nvml, struct nvml_card *card, const char *name,
       struct error *err)
{
    size_t size = strcspn(name, "@");
    struct nvml_placement placement = { 0 };
    struct profile profile;
    nvml_instance instance = NULL;
    struct error ignored;
    char *end;
    unsigned long start =
        strtoul(name[size] == '@' ? name + size + 1 : "x", &end, 10);
    int result;

    if (name[size] != '@' || *end != '\0' || end == name + size + 1 ||
        start > 64)
        return error_set(err, ERROR_INVALID, "\"%.40s\" is not PROFILE@START",
                         name);
    if (find_profile(nvml, card, name, size, &profile, err) != 0 ||
        find_placement(nvml, card, &profile, (unsigned)start, &placement,
                       err) != 0)
        return -1;
    result = NVML_CALL(nvml, nvmlDeviceCreateGpuInstanceWithPlacement,
                       card->device, profile.id, &placement, &instance);
    if (result != NVML_SUCCESS)
        return nvml_fail(card, result,
                         "nvmlDeviceCreateGpuInstanceWithPlacement", err);
    if (make_compute(nvml, card, instance, &profile, err) == 0)
        return 0;
    /* Half a slice is none. */
    (void)destroy(nvml, card, instance, &ignored);
    return -1;
}

static bool
is_cut(struct nvml *nvml, const struct nvml_card *card)
{
    unsigned current = 0;
    unsigned pending = 0;

    return NVML_CALL(nvml, nvmlDeviceGetMigMode, card->device, &current,
                     &pending) == NVML_SUCCESS &&
           current != 0;
}

/* One that is there is made anew: that is how its memory becomes clean. */
int
nvml_slice_create(struct accel *accel, const char *part, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, part, err);
    size_t size = strcspn(part, "/");
    struct seek seek = { .name = part[size] == '/' ? part + size + 1 : "" };

    if (card == NULL)
        return -1;
    if (seek.name[0] == '\0')
        return error_set(err, ERROR_INVALID, "%.100s is no slice", part);
    if (!is_cut(nvml, card))
        return error_set(err, ERROR_CONFLICT, "card %s is not cut", card->uuid);
    if (each_instance(nvml, card, match, &seek, err) != 0 ||
        (seek.instance != NULL && destroy(nvml, card, seek.instance, err) != 0))
        return -1;
    return create(nvml, card, seek.name, err);
}

int
nvml_slice_destroy(struct accel *accel, const char *part, struct error *err)
{
    struct nvml *nvml = accel->state;
    struct nvml_card *card = nvml_find(accel, part, err);
    size_t size = strcspn(part, "/");
    struct seek seek = { .name = part[size] == '/' ? part + size + 1 : "" };

    if (card == NULL)
        return -1;
    if (seek.name[0] == '\0')
        return error_set(err, ERROR_INVALID, "%.100s is no slice", part);
    if (each_instance(nvml, card, match, &seek, err) != 0)
        return -1;
    return seek.instance == NULL ? 0 : destroy(nvml, card, seek.instance, err);
}
