/* SPDX-License-Identifier: Apache-2.0 */
#include "core/judge.h"

/* What an object says for itself: its state, and for whom it is published. */

enum state
judge_state(const struct object *object)
{
    const void *image = object;

    if (object->self.kind == KIND_PROJECT)
        return (enum state)((const struct project *)image)->state;
    if (object->self.kind == KIND_TENANT)
        return (enum state)((const struct tenant *)image)->state;
    if (object->self.kind == KIND_UNIT)
        return (enum state)((const struct unit *)image)->state;
    if (object->self.kind == KIND_USER)
        return (enum state)((const struct user *)image)->state;
    if (object->self.kind == KIND_SERVICEACCOUNT)
        return (enum state)((const struct serviceaccount *)image)->state;
    return STATE_ACTIVE;
}

struct access_audience
judge_audience(const struct world *world, struct ref object)
{
    const struct pool *pool = world_pool(world, object);
    const struct price *price = world_price(world, object);
    int verb = verb_of((enum kind)object.kind, VERB_OP_GET);
    struct access_audience audience = {
        .known = verb >= 0 && verb_is((enum verb)verb, VERB_PUBLIC) &&
                 world_get(world, object) != NULL,
        .all = true,
    };

    if (pool != NULL) {
        audience.all = pool->kind == POOL_SHARED;
        audience.tenants = pool->tenants;
    } else if (price != NULL && !ref_is_none(price->tenant)) {
        audience.all = false;
        audience.tenant = price->tenant;
    }
    return audience;
}

bool
judge_reaches(const struct world *world, enum kind kind, struct id id,
              const struct access_audience *audience, struct ref home)
{
    const struct tenant *tenant = world_tenant(world, home);

    if (kind == KIND_POOL && tenant != NULL)
        return schema_lists_id(tenant->pools, KIND_POOL, id) ||
               (tenant->pools == NULL && audience->all) ||
               schema_lists_id(audience->tenants, KIND_TENANT, tenant->object.id);
    if (kind == KIND_PRICE)
        return audience->all || ref_equal(audience->tenant, home);
    return true;
}

/* Some published objects are there for some tenants only. */
bool
judge_is_published(const struct world *world, struct ref object, struct ref home)
{
    const struct access_audience audience = judge_audience(world, object);
    const struct object *head = world_object(world, object);

    return head != NULL && judge_reaches(world, (enum kind)object.kind,
                                         head->id, &audience, home);
}
