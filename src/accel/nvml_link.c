/* SPDX-License-Identifier: Apache-2.0 */
/* How NVIDIA's cards hang together: links, the fabric, the bus. */
#include <inttypes.h>
#include <string.h>

#include "accel/nvml_private.h"

#define LINKS_MAX 18
enum { REMOTE_CARD = 0, REMOTE_SWITCH = 2 };

/* One more lane to the card with that address, or to a switch (""). */
static void
add_lane(struct accel_card *out, const char *uuid, const char *kind)
{
    struct accel_link *link;

    for (size_t i = 0; i < out->link_count; i++)
        if (strcmp(out->links[i].uuid, uuid) == 0 &&
            strcmp(out->links[i].kind, kind) == 0) {
            out->links[i].lanes++;
            return;
        }
    if (out->link_count == ACCEL_LINKS_MAX)
        return;
    link = &out->links[out->link_count++];
    (void)snprintf(link->uuid, sizeof(link->uuid), "%s", uuid);
    (void)snprintf(link->kind, sizeof(link->kind), "%s", kind);
    link->lanes = 1;
    link->level = -1;
}

/* A link whose other end is not among the cards that answered leads
 * nowhere. */
static void
add_remote(struct nvml *nvml, struct nvml_card *card, unsigned index,
           struct accel_card *out)
{
    struct nvml_pci remote = { 0 };
    unsigned type = REMOTE_CARD;
    char address[24];

    (void)NVML_CALL(nvml, nvmlDeviceGetNvLinkRemoteDeviceType, card->device,
                    index, &type);
    if (type == REMOTE_SWITCH) {
        add_lane(out, "", "switch");
        return;
    }
    if (NVML_CALL(nvml, nvmlDeviceGetNvLinkRemotePciInfo_v2, card->device,
                  index, &remote) != NVML_SUCCESS)
        return;
    nvml_address(&remote, address);
    for (size_t i = 0; i < nvml->count; i++)
        if (strcmp(nvml->cards[i].pci, address) == 0)
            add_lane(out, nvml->cards[i].uuid, "nvlink");
}

static void
set_pair(struct nvml *nvml, bool pair)
{
    nvml->pair = pair;
    if (nvml->accel->watch.trail != NULL)
        nvml->accel->watch.trail->pair = pair;
}

/* The way over the bus to each other card, where no link is better.  Such a
 * call touches two cards: one that hung is not asked again, and the other
 * one is not blamed. */
static void
add_bus(struct nvml *nvml, struct nvml_card *card, struct accel_card *out)
{
    bool ask = nvml_may(nvml, "nvmlDeviceGetP2PStatus", card->uuid);

    if (!nvml_may(nvml, "nvmlDeviceGetTopologyCommonAncestor", card->uuid))
        return;
    for (size_t i = 0; i < nvml->count; i++) {
        const struct nvml_card *other = &nvml->cards[i];
        unsigned level = 0;
        unsigned way = 0;
        int result;

        if (other == card || out->link_count == ACCEL_LINKS_MAX)
            continue;
        set_pair(nvml, true);
        result = NVML_CALL(nvml, nvmlDeviceGetTopologyCommonAncestor,
                           card->device, other->device, &level);
        /* 0 is a way that works; other answers name what is in the way. */
        if (result == NVML_SUCCESS && ask &&
            NVML_CALL(nvml, nvmlDeviceGetP2PStatus, card->device, other->device,
                      0U, &way) == NVML_SUCCESS &&
            way != 0)
            level = 50;
        set_pair(nvml, false);
        if (result != NVML_SUCCESS)
            continue;
        add_lane(out, other->uuid, "pcie");
        out->links[out->link_count - 1].lanes = 0;
        out->links[out->link_count - 1].level = (int32_t)level;
    }
}

void
nvml_links(struct nvml *nvml, struct nvml_card *card, struct accel_card *out)
{
    for (unsigned i = 0; i < LINKS_MAX; i++) {
        unsigned up = 0;
        int result =
            NVML_CALL(nvml, nvmlDeviceGetNvLinkState, card->device, i, &up);

        if (result != NVML_SUCCESS)
            break;
        if (up != 0)
            add_remote(nvml, card, i, out);
    }
    add_bus(nvml, card, out);
}

/* --- the fabric --- */

struct fabric {
    const unsigned char *cluster;
    int status;
    unsigned clique, state, summary;
};

static void
put_domain(const struct fabric *fabric, struct accel_card *out)
{
    static const unsigned char none[16];
    char text[33];

    if (fabric->state != 3 || fabric->status != 0 ||
        memcmp(fabric->cluster, none, sizeof(none)) == 0)
        return;
    for (size_t i = 0; i < 16; i++)
        (void)snprintf(text + 2 * i, 3, "%02x", fabric->cluster[i]);
    (void)snprintf(out->domain, sizeof(out->domain), "%s/%u", text,
                   fabric->clique);
}

static void
put_fabric(const struct fabric *fabric, struct accel_card *out,
           struct accel_reading *reading)
{
    put_domain(fabric, out);
    if (reading == NULL)
        return;
    accel_reading_set(reading, ACCEL_FABRIC_STATE, fabric->state);
    accel_reading_set(reading, ACCEL_FABRIC_STATUS, fabric->status);
    accel_reading_set(reading, ACCEL_FABRIC_HEALTH, fabric->summary);
}

/* The third form, then the second through the same call, then the first. */
static void
read_fabric(struct nvml *nvml, struct nvml_card *card, struct accel_card *out,
            struct accel_reading *reading)
{
    struct nvml_fabric_v3 third = { .version =
                                        NVML_WORD(struct nvml_fabric_v3, 3) };
    struct nvml_fabric first = { 0 };
    int result =
        NVML_CALL(nvml, nvmlDeviceGetGpuFabricInfoV, card->device, &third);

    if (result == NVML_VERSION_MISMATCH) {
        memset(&third, 0, sizeof(third));
        third.version = NVML_WORD(struct nvml_fabric_v2, 2);
        result =
            NVML_CALL(nvml, nvmlDeviceGetGpuFabricInfoV, card->device, &third);
    }
    if (result == NVML_SUCCESS) {
        put_fabric(&(struct fabric){ third.cluster, third.status, third.clique,
                                     third.state, third.summary },
                   out, reading);
        return;
    }
    if (!nvml_is_older(result) ||
        NVML_CALL(nvml, nvmlDeviceGetGpuFabricInfo, card->device, &first) !=
            NVML_SUCCESS)
        return;
    put_fabric(&(struct fabric){ first.cluster, first.status, first.clique,
                                 first.state, 0 },
               out, reading);
}

/* --- links as numbers --- */

/* Newer links count in fields, which carry the sum over all of them. */
static void
read_link_fields(struct nvml *nvml, struct nvml_card *card,
                 struct accel_reading *reading)
{
    struct nvml_field list[2] = {
        { .id = NVML_FIELD_LINK_RECOVERY_FAILED, .scope = NVML_WHOLE },
        { .id = NVML_FIELD_LINK_SYMBOL_ERRORS, .scope = NVML_WHOLE },
    };
    int64_t sum = 0;
    bool told = false;

    if (NVML_CALL(nvml, nvmlDeviceGetFieldValues, card->device, 2, list) !=
        NVML_SUCCESS)
        return;
    for (size_t i = 0; i < 2; i++)
        if (list[i].result == NVML_SUCCESS && list[i].type == NVML_ULLONG &&
            list[i].value.ullong <= INT64_MAX / 4) {
            sum += (int64_t)list[i].value.ullong;
            told = true;
        }
    if (told)
        accel_reading_set(reading, ACCEL_LINK_ERRORS, sum);
}

static int64_t
errors_of(struct nvml *nvml, struct nvml_card *card, unsigned index, bool *told)
{
    int64_t sum = 0;

    for (unsigned kind = 0; kind < 4; kind++) {
        unsigned long long count = 0;

        if (NVML_CALL(nvml, nvmlDeviceGetNvLinkErrorCounter, card->device,
                      index, kind, &count) != NVML_SUCCESS ||
            count > INT64_MAX / 128)
            continue;
        sum += (int64_t)count;
        *told = true;
    }
    return sum;
}

static void
read_lanes(struct nvml *nvml, struct nvml_card *card,
           struct accel_reading *reading)
{
    unsigned links = 0;
    int64_t active = 0;
    int64_t errors = 0;
    bool told = false;
    unsigned version = 0;

    for (; links < LINKS_MAX; links++) {
        unsigned up = 0;
        int result =
            NVML_CALL(nvml, nvmlDeviceGetNvLinkState, card->device, links, &up);

        if (result != NVML_SUCCESS)
            break;
        active += up != 0;
        errors += errors_of(nvml, card, links, &told);
    }
    if (links == 0)
        return;
    accel_reading_set(reading, ACCEL_LINKS, links);
    accel_reading_set(reading, ACCEL_LINKS_UP, active);
    if (NVML_CALL(nvml, nvmlDeviceGetNvLinkVersion, card->device, 0U,
                  &version) == NVML_SUCCESS)
        accel_reading_set(reading, ACCEL_LINK_VERSION, version);
    if (told)
        accel_reading_set(reading, ACCEL_LINK_ERRORS, errors);
    else
        read_link_fields(nvml, card, reading);
}

void
nvml_fabric(struct nvml *nvml, struct nvml_card *card, struct accel_card *out,
            struct accel_reading *reading)
{
    read_fabric(nvml, card, out, reading);
    if (reading != NULL)
        read_lanes(nvml, card, reading);
}
