/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/feature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/geometry.h"

#define LEVEL_FURTHER 50 /* of a way over the bus that crosses the host */

/* "hopper sm_90" -> 90; 0: not known. */
static long
capability_of(const char *arch)
{
    const char *at = strstr(arch, "sm_");

    return at != NULL ? strtol(at + 3, NULL, 10) : 0;
}

struct formats {
    bool bf16, fp8, fp4;
};

/* CUDA C++ Programming Guide, tables of compute capabilities: bfloat16 from
 * 8.0, 8-bit from 8.9, 4-bit from 10.0. */
static struct formats
nvidia_formats(const char *arch)
{
    long capability = capability_of(arch);

    return (struct formats){ capability >= 80, capability >= 89,
                             capability >= 100 };
}

/* ROCm's table of precisions: MI200, MI300 and MI350; RDNA 3 and 4. */
static struct formats
amd_formats(const char *arch)
{
    static const struct {
        const char *begins;
        struct formats formats;
    } list[] = { { "gfx90a", { true, false, false } },
                 { "gfx94", { true, true, false } },
                 { "gfx950", { true, true, true } },
                 { "gfx11", { true, false, false } },
                 { "gfx12", { true, true, false } } };

    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
        if (strncmp(arch, list[i].begins, strlen(list[i].begins)) == 0)
            return list[i].formats;
    return (struct formats){ false, false, false };
}

static bool
has_link(const struct accel_card *card, const char *kind)
{
    for (size_t i = 0; i < card->link_count; i++)
        if (strcmp(card->links[i].kind, kind) == 0)
            return true;
    return false;
}

static bool
reaches_others(const struct accel_card *card)
{
    for (size_t i = 0; i < card->link_count; i++)
        if (strcmp(card->links[i].kind, "pcie") != 0 ||
            (card->links[i].level >= 0 &&
             card->links[i].level < LEVEL_FURTHER))
            return true;
    return false;
}

static void
add(struct accel_card *card, bool has, const char *word)
{
    size_t size = strlen(card->features);

    if (has)
        (void)snprintf(card->features + size, sizeof(card->features) - size,
                       "%s%s", size > 0 ? " " : "", word);
}

void
feature_list(struct accel_card *card)
{
    bool nvidia = strcmp(card->vendor, "nvidia") == 0;
    struct formats formats =
        nvidia ? nvidia_formats(card->arch) : amd_formats(card->arch);
    bool cut = geometry_card(card->vendor, card->model, card->memory_mib) !=
               NULL;

    if (card->features[0] != '\0')
        return; /* a description says it */
    add(card, formats.bf16, "bf16");
    add(card, formats.fp8, "fp8");
    add(card, formats.fp4, "fp4");
    add(card, cut, nvidia ? "mig" : "partition");
    add(card, has_link(card, "nvlink") || has_link(card, "switch"), "nvlink");
    add(card, has_link(card, "xgmi"), "xgmi");
    add(card, has_link(card, "xelink"), "xelink");
    add(card, reaches_others(card), "p2p");
}
