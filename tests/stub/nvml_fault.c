/* SPDX-License-Identifier: Apache-2.0 */
/* Faults, events, links and the bus of the stub's cards. */
#include "tests/stub/nvml_inside.h"

static int
has_slices(const struct stub_card *card)
{
    for (int i = 0; i < STUB_SLICES; i++)
        if (card->slices[i].there)
            return 1;
    return 0;
}

int
nvmlDeviceGetEccMode(nvml_device device, unsigned *now, unsigned *pending)
{
    ENTER_CARD(nvmlDeviceGetEccMode, device);
    NEED(now);
    NEED(pending);
    *now = *pending = 1;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetTotalEccErrors(nvml_device device, unsigned kind, unsigned counter,
                            unsigned long long *out)
{
    ENTER_CARD(nvmlDeviceGetTotalEccErrors, device);
    NEED(out);
    if (kind > 1 || counter > 1)
        return NVML_INVALID_ARGUMENT;
    if (counter == 0 && card->sliced)
        return NVML_NOT_SUPPORTED;
    *out = kind == 0 ? card->ecc_corrected : card->ecc_uncorrected;
    *out += counter == 1 ? 100 : 0;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetMemoryErrorCounter(nvml_device device, unsigned kind,
                                unsigned counter, unsigned location,
                                unsigned long long *out)
{
    ENTER_CARD(nvmlDeviceGetMemoryErrorCounter, device);
    NEED(out);
    if (kind > 1 || counter > 1 || location > 7)
        return NVML_INVALID_ARGUMENT;
    *out = location;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetSramEccErrorStatus(nvml_device device, struct nvml_sram *out)
{
    ENTER_CARD(nvmlDeviceGetSramEccErrorStatus, device);
    NEED(out);
    NEED_WORD(out->version, 0x01000068U);
    out->exceeded = card->sram_exceeded;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetRetiredPages_v2(nvml_device device, unsigned cause,
                             unsigned *count, unsigned long long *addresses,
                             unsigned long long *times)
{
    ENTER_CARD(nvmlDeviceGetRetiredPages_v2, device);
    NEED(count);
    if (cause > 1)
        return NVML_INVALID_ARGUMENT;
    if (card->architecture >= 7)
        return NVML_NOT_SUPPORTED;
    if (*count < 1 || addresses == NULL || times == NULL) {
        *count = 1;
        return NVML_INSUFFICIENT_SIZE;
    }
    *count = 1;
    addresses[0] = 0x1000;
    times[0] = 1;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetRemappedRows(nvml_device device, unsigned *corrected,
                          unsigned *uncorrected, unsigned *pending,
                          unsigned *failed)
{
    ENTER_CARD(nvmlDeviceGetRemappedRows, device);
    NEED(corrected);
    NEED(uncorrected);
    NEED(pending);
    NEED(failed);
    if (card->sliced && has_slices(card))
        return NVML_NOT_SUPPORTED;
    *corrected = 0;
    *uncorrected = card->remap_pending + card->remap_failed;
    *pending = card->remap_pending;
    *failed = card->remap_failed;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetRowRemapperHistogram(nvml_device device, struct nvml_rows *out)
{
    ENTER_CARD(nvmlDeviceGetRowRemapperHistogram, device);
    NEED(out);
    *out = (struct nvml_rows){ .max = 640 - card->banks_spent,
                               .none = card->banks_spent };
    return NVML_SUCCESS;
}

int
nvmlDeviceGetUnrepairableMemoryFlag_v1(nvml_device device,
                                       struct nvml_unrepairable *out)
{
    ENTER_CARD(nvmlDeviceGetUnrepairableMemoryFlag_v1, device);
    NEED(out);
    out->flag = card->unrepairable;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetRepairStatus(nvml_device device, struct nvml_repair *out)
{
    ENTER_CARD(nvmlDeviceGetRepairStatus, device);
    NEED(out);
    NEED_WORD(out->version, 0x0100000CU);
    return NVML_SUCCESS;
}

static void
answer_field(const struct stub_card *card, struct nvml_field *field)
{
    field->result = NVML_SUCCESS;
    field->type = NVML_UINT;
    switch (field->id) {
    case 82:
        field->value.uint = 41;
        break;
    case 186:
        field->value.uint = 65500;
        break;
    case 189:
        field->value.uint = 400000;
        break;
    case 230:
        field->value.uint = card->recovery;
        break;
    case 221:
        field->type = NVML_ULLONG;
        field->value.ullong = 9;
        break;
    default:
        field->result = NVML_NOT_SUPPORTED;
    }
}

int
nvmlDeviceGetFieldValues(nvml_device device, int count,
                         struct nvml_field *fields)
{
    ENTER_CARD(nvmlDeviceGetFieldValues, device);
    NEED(fields);
    if (count < 1)
        return NVML_INVALID_ARGUMENT;
    for (int i = 0; i < count; i++)
        answer_field(card, &fields[i]);
    return NVML_SUCCESS;
}

/* --- events --- */

/* What the one set is registered for; bit i: card i. */
static unsigned registered;
static int set;

int
nvmlEventSetCreate(nvml_event_set *out)
{
    ENTER(nvmlEventSetCreate, STUB_ALL);
    NEED(out);
    *out = (nvml_event_set)(void *)&set;
    return NVML_SUCCESS;
}

#define SUPPORTED 0x810FULL /* also bits that nobody asks for */

int
nvmlDeviceGetSupportedEventTypes(nvml_device device, unsigned long long *out)
{
    ENTER_CARD(nvmlDeviceGetSupportedEventTypes, device);
    NEED(out);
    *out = SUPPORTED;
    return NVML_SUCCESS;
}

/* One bit that is not known rejects the whole mask; slices cannot be. */
int
nvmlDeviceRegisterEvents(nvml_device device, unsigned long long mask,
                         nvml_event_set events)
{
    ENTER_CARD(nvmlDeviceRegisterEvents, device);
    NEED(events);
    if (device->slice >= 0)
        return NVML_INVALID_ARGUMENT;
    if ((mask & ~SUPPORTED) != 0)
        return NVML_NOT_SUPPORTED;
    registered |= 1U << number;
    return NVML_SUCCESS;
}

int
nvmlEventSetWait_v2(nvml_event_set events, struct nvml_event *out,
                    unsigned wait_ms)
{
    struct stub_event event;

    ENTER(nvmlEventSetWait_v2, STUB_ALL);
    NEED(events);
    NEED(out);
    (void)wait_ms;
    if (stub_world->event_count == 0 ||
        (registered >> stub_world->events[0].card & 1) == 0)
        return NVML_TIMEOUT;
    event = stub_world->events[0];
    stub_world->event_count--;
    memmove(&stub_world->events[0], &stub_world->events[1],
            stub_world->event_count * sizeof(event));
    *out = (struct nvml_event){ .device = &stub_devices[event.card],
                                .type = event.type,
                                .data = event.data,
                                .instance = event.instance,
                                .compute = event.compute };
    return NVML_SUCCESS;
}

int
nvmlEventSetFree(nvml_event_set events)
{
    ENTER(nvmlEventSetFree, STUB_ALL);
    NEED(events);
    registered = 0;
    return NVML_SUCCESS;
}

/* --- links --- */

#define ENTER_LINK(symbol, device, link)                                       \
    ENTER_CARD(symbol, device);                                                \
    if ((link) >= 18)                                                          \
        return NVML_INVALID_ARGUMENT;                                          \
    if (card->links[0] == -1)                                                  \
    return NVML_NOT_SUPPORTED

int
nvmlDeviceGetNvLinkState(nvml_device device, unsigned link, unsigned *out)
{
    ENTER_LINK(nvmlDeviceGetNvLinkState, device, link);
    NEED(out);
    *out = card->links[link] != -1 && !card->sliced;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetNvLinkVersion(nvml_device device, unsigned link, unsigned *out)
{
    ENTER_LINK(nvmlDeviceGetNvLinkVersion, device, link);
    NEED(out);
    *out = 5;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetNvLinkRemotePciInfo_v2(nvml_device device, unsigned link,
                                    struct nvml_pci *out)
{
    ENTER_LINK(nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link);
    NEED(out);
    if (card->links[link] < 0)
        return NVML_NOT_SUPPORTED;
    (void)snprintf(out->address, sizeof(out->address), "%s",
                   stub_world->cards[card->links[link]].pci);
    return NVML_SUCCESS;
}

int
nvmlDeviceGetNvLinkRemoteDeviceType(nvml_device device, unsigned link,
                                    unsigned *out)
{
    ENTER_LINK(nvmlDeviceGetNvLinkRemoteDeviceType, device, link);
    NEED(out);
    *out = card->links[link] == -2 ? 2 : 0;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetNvLinkErrorCounter(nvml_device device, unsigned link,
                                unsigned counter, unsigned long long *out)
{
    ENTER_LINK(nvmlDeviceGetNvLinkErrorCounter, device, link);
    NEED(out);
    if (counter > 4)
        return NVML_INVALID_ARGUMENT;
    *out = link == 1 && counter == 0 ? 3 : 0;
    return NVML_SUCCESS;
}

/* The struct is as large as its word says, and no byte more is written. */
int
nvmlDeviceGetGpuFabricInfoV(nvml_device device, struct nvml_fabric_v3 *out)
{
    ENTER_CARD(nvmlDeviceGetGpuFabricInfoV, device);
    NEED(out);
    if (stub_world->fabric < 3) {
        NEED_WORD(out->version, 0x02000024U);
    } else if (out->version != 0x02000024U) {
        NEED_WORD(out->version, 0x03000028U);
        out->summary = 1;
    }
    memcpy(out->cluster, card->fabric_cluster, 16);
    out->status = 0;
    out->clique = card->fabric_clique;
    out->state = (unsigned char)card->fabric_state;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetGpuFabricInfo(nvml_device device, struct nvml_fabric *out)
{
    ENTER_CARD(nvmlDeviceGetGpuFabricInfo, device);
    NEED(out);
    memcpy(out->cluster, card->fabric_cluster, 16);
    out->status = 0;
    out->clique = card->fabric_clique;
    out->state = (unsigned char)card->fabric_state;
    return NVML_SUCCESS;
}

/* --- the bus --- */

int
nvmlDeviceGetTopologyCommonAncestor(nvml_device device, nvml_device other,
                                    unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetTopologyCommonAncestor, device);
    NEED(out);
    if (stub_card_of(other) < 0)
        return NVML_INVALID_ARGUMENT;
    /* Two cards share a switch, four a node. */
    *out = number / 2 == other->card / 2   ? 10
           : number / 4 == other->card / 4 ? 40
                                           : 50;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetP2PStatus(nvml_device device, nvml_device other, unsigned index,
                       unsigned *out)
{
    ENTER_CARD(nvmlDeviceGetP2PStatus, device);
    NEED(out);
    if (stub_card_of(other) < 0 || index > 4)
        return NVML_INVALID_ARGUMENT;
    *out = 0;
    return NVML_SUCCESS;
}

int
nvmlDeviceGetMemoryAffinity(nvml_device device, unsigned size,
                            unsigned long *out, unsigned scope)
{
    ENTER_CARD(nvmlDeviceGetMemoryAffinity, device);
    NEED(out);
    if (size < 1 || scope > 1)
        return NVML_INVALID_ARGUMENT;
    out[0] = 2; /* node 1 */
    return NVML_SUCCESS;
}
