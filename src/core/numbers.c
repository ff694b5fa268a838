/* SPDX-License-Identifier: Apache-2.0 */
#include "core/numbers.h"

#include <assert.h>
#include <string.h>

/* Host uids: 65,536 for each instance, from where the runners' default policy
 * begins, below 2^32. */
#define UID_FIRST INT64_C(1000013824)
#define UID_STEP INT64_C(65536)
#define UID_SLOTS 50000
/* Host numbers in a tenant's network; 1 is the gateway. */
#define ADDRESS_FIRST 2
#define ADDRESS_SLOTS 64999

#define PAGE_WORDS INT64_C(64)
#define PAGE_SLOTS (PAGE_WORDS * 64)

static_assert(UID_SLOTS <= NUMBERS_PAGES * PAGE_SLOTS &&
                  ADDRESS_SLOTS <= NUMBERS_PAGES * PAGE_SLOTS,
              "the pages hold all slots");

static uint64_t
word_of(const struct bits *bits, int64_t slot)
{
    const uint64_t *page = bits->page[slot / PAGE_SLOTS];

    return page != NULL ? page[slot / 64 % PAGE_WORDS] : 0;
}

static bool
is_set(const struct bits *bits, int64_t slot)
{
    return (word_of(bits, slot) >> (slot & 63) & 1) != 0;
}

static void
mark(struct bits *bits, struct arena *arena, int64_t slot, bool on)
{
    uint64_t **page;

    if (slot < 0 || slot >= bits->slots || is_set(bits, slot) == on)
        return;
    page = &bits->page[slot / PAGE_SLOTS];
    if (*page == NULL)
        *page = arena_alloc(arena, PAGE_WORDS * sizeof(**page));
    (*page)[slot / 64 % PAGE_WORDS] ^= UINT64_C(1) << (slot & 63);
    bits->used += on ? 1 : -1;
    if (!on && slot < bits->low)
        bits->low = slot;
    while (on && bits->low < bits->slots && is_set(bits, bits->low))
        bits->low++;
}

static int64_t
next_free(const struct bits *bits, int64_t from)
{
    int64_t slot = from > bits->low ? from : bits->low;

    while (slot < bits->slots) {
        uint64_t free = ~word_of(bits, slot) & UINT64_MAX << (slot & 63);

        slot &= ~INT64_C(63);
        if (free != 0) {
            slot += __builtin_ctzll(free);
            return slot < bits->slots ? slot : -1;
        }
        slot += 64;
    }
    return -1;
}

void
numbers_init(struct numbers *numbers, struct arena *arena)
{
    *numbers =
        (struct numbers){ .arena = arena, .uids = { .slots = UID_SLOTS } };
}

static const struct bits *
addresses_of(const struct numbers *numbers, struct ref tenant)
{
    static const struct bits none = { .slots = ADDRESS_SLOTS };

    return tenant.index < numbers->tenant_room
               ? &numbers->addresses[tenant.index]
               : &none;
}

static struct bits *
addresses_for(struct numbers *numbers, struct ref tenant)
{
    if (tenant.index >= numbers->tenant_room) {
        size_t room = (size_t)tenant.index * 2 + 16;
        struct bits *all = arena_alloc(numbers->arena, room * sizeof(*all));

        if (numbers->tenant_room > 0)
            memcpy(all, numbers->addresses,
                   numbers->tenant_room * sizeof(*all));
        for (size_t i = numbers->tenant_room; i < room; i++)
            all[i].slots = ADDRESS_SLOTS;
        numbers->addresses = all;
        numbers->tenant_room = room;
    }
    return &numbers->addresses[tenant.index];
}

void
numbers_mark(struct numbers *numbers, struct ref tenant, int64_t uid_base,
             int64_t address, bool on)
{
    mark(&numbers->uids, numbers->arena, (uid_base - UID_FIRST) / UID_STEP, on);
    mark(addresses_for(numbers, tenant), numbers->arena,
         address - ADDRESS_FIRST, on);
}

bool
numbers_has(const struct numbers *numbers, struct ref tenant, int64_t instances)
{
    const struct bits *uids = &numbers->uids;
    const struct bits *addresses = addresses_of(numbers, tenant);

    return instances <= uids->slots - uids->used &&
           instances <= addresses->slots - addresses->used;
}

int64_t
numbers_uid(const struct numbers *numbers, int64_t after)
{
    int64_t slot = next_free(
        &numbers->uids, after > 0 ? (after - UID_FIRST) / UID_STEP + 1 : 0);

    return slot < 0 ? -1 : UID_FIRST + slot * UID_STEP;
}

int64_t
numbers_address(const struct numbers *numbers, struct ref tenant, int64_t after)
{
    int64_t slot = next_free(addresses_of(numbers, tenant),
                             after > 0 ? after - ADDRESS_FIRST + 1 : 0);

    return slot < 0 ? -1 : slot + ADDRESS_FIRST;
}
