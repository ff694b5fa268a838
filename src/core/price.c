/* SPDX-License-Identifier: Apache-2.0 */
#include "core/price.h"

#include <assert.h>
#include <string.h>

#include "core/month.h"

/* 128-bit products; an extension that gcc and clang share. */
__extension__ typedef __int128 amount128;

static bool
in_force(const struct price *price, int64_t now_ms)
{
    return price->from_ms <= now_ms &&
           (price->to_ms == 0 || now_ms < price->to_ms);
}

/* 0: does not apply; else higher for a more particular row. */
static int
rank(const struct price *price, const char *model, struct ref tenant)
{
    bool for_tenant = !ref_is_none(price->tenant);
    bool for_model = price->model[0] != '\0';

    if ((for_tenant && !ref_equal(price->tenant, tenant)) ||
        (for_model && strcmp(price->model, model) != 0))
        return 0;
    return 1 + (for_tenant ? 2 : 0) + (for_model ? 1 : 0);
}

int64_t
price_at(const struct world *world, enum price_meter meter, const char *model,
         struct ref tenant, int64_t now_ms)
{
    int64_t nano = 0;
    int best = 0;

    world_each(world, KIND_PRICE, ref) {
        const struct price *price = world_price(world, ref);
        int here;

        if (price->meter != (int)meter || !in_force(price, now_ms))
            continue;
        here = rank(price, model, tenant);
        if (here > 0 && here >= best) { /* lists run from old to new */
            best = here;
            nano = price->nano;
        }
    }
    return nano;
}

int64_t
price_most(const struct world *world, enum price_meter meter,
           const char *model, struct ref tenant, int64_t now_ms)
{
    int64_t most = price_at(world, meter, model, tenant, now_ms);

    if (model[0] != '\0')
        return most;
    world_each(world, KIND_PRICE, ref) {
        const struct price *price = world_price(world, ref);
        int64_t nano;

        if (price->meter != (int)meter || price->model[0] == '\0')
            continue;
        nano = price_at(world, meter, price->model, tenant, now_ms);
        most = nano > most ? nano : most;
    }
    return most;
}

int64_t
price_next_change(const struct world *world, enum price_meter meter,
                  int64_t from_ms, int64_t to_ms)
{
    world_each(world, KIND_PRICE, ref) {
        const struct price *price = world_price(world, ref);

        if (price->meter != (int)meter)
            continue;
        if (price->from_ms > from_ms && price->from_ms < to_ms)
            to_ms = price->from_ms;
        if (price->to_ms > from_ms && price->to_ms < to_ms)
            to_ms = price->to_ms;
    }
    return to_ms;
}

int
price_of_card_time(int64_t nano_per_card_hour, int64_t milli_card_ms,
                   int64_t *cost_out)
{
    const amount128 hour = (amount128)1000 * HOUR_MS;
    amount128 product, whole, rest;

    assert(nano_per_card_hour >= 0 && milli_card_ms >= 0);
    product = (amount128)nano_per_card_hour * milli_card_ms;
    whole = product / hour;
    rest = product % hour;
    if (2 * rest > hour || (2 * rest == hour && whole % 2 == 1))
        whole++;
    if (whole > INT64_MAX)
        return -1;
    *cost_out = (int64_t)whole;
    return 0;
}
