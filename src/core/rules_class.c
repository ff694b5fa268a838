/* SPDX-License-Identifier: Apache-2.0 */
#include "core/cut.h"
#include "core/rules.h"

#include <string.h>

#include "core/gate.h"
#include "core/lifecycle.h"
#include "core/require.h"

/* Classes: what may be made, changed while it is in use, and deleted. */

/* --- who uses it --- */

static bool
names(const struct edit *edit, const struct workload *workload,
      struct ref ref)
{
    return ref_equal(workload->class, ref) ||
           (ref.kind == KIND_CLASS && workload->classes != NULL &&
            gate_lists(edit->world, workload->classes, ref)) ||
           ref_equal(workload->pool, ref) ||
           ref_equal(workload->priority, ref);
}

/* Also what the level above still has to look at, and rules. */
static void
block_plans(const struct edit *edit, struct blockers *blockers,
            struct ref ref)
{
    world_each(edit->world, KIND_REQUEST, at) {
        const struct wish *request = world_wish(edit->world, at);

        if (ref_equal(request->class, ref) || ref_equal(request->pool, ref) ||
            ref_equal(request->priority, ref))
            rules_block(edit, blockers, at);
    }
    world_each(edit->world, KIND_REQUIREMENT, at)
        if (ref_equal(world_requirement(edit->world, at)->class, ref))
            rules_block(edit, blockers, at);
    world_each(edit->world, KIND_QUOTA, at) {
        const struct quota *quota = world_quota(edit->world, at);

        if (ref_equal(quota->pool, ref) || ref_equal(quota->class, ref))
            rules_block(edit, blockers, at);
    }
    world_each(edit->world, KIND_RESERVATION, at) {
        const struct reservation *reservation =
            world_reservation(edit->world, at);

        if (ref_equal(reservation->pool, ref) ||
            ref_equal(reservation->class, ref))
            rules_block(edit, blockers, at);
    }
}

void
rules_block_work(const struct edit *edit, struct blockers *blockers,
                 struct ref ref)
{
    world_each(edit->world, KIND_WORKLOAD, at)
        if (names(edit, world_workload(edit->world, at), ref))
            rules_block(edit, blockers, at);
    block_plans(edit, blockers, ref);
}

/* What waits or runs, and what cards are kept for. */
static void
block_live(const struct edit *edit, struct blockers *blockers, struct ref ref)
{
    world_each(edit->world, KIND_WORKLOAD, at) {
        const struct workload *workload = world_workload(edit->world, at);

        if (!lifecycle_is_over(workload->state) && names(edit, workload, ref))
            rules_block(edit, blockers, at);
    }
    world_each(edit->world, KIND_RESERVATION, at)
        if (ref_equal(world_reservation(edit->world, at)->class, ref))
            rules_block(edit, blockers, at);
}

/* A list of what a tenant may use that names it would name nothing. */
static void
block_lists(const struct edit *edit, struct blockers *blockers,
            struct ref ref)
{
    world_each(edit->world, KIND_TENANT, at) {
        const struct tenant *tenant = world_tenant(edit->world, at);

        if (tenant->state != STATE_DELETED && tenant->classes != NULL &&
            gate_lists(edit->world, tenant->classes, ref))
            rules_block(edit, blockers, at);
    }
}

/* --- what it may be --- */

static int
check_whole(struct class *class, struct error *err)
{
    if (class->count == 0)
        class->count = 1;
    if (class->milli != 0 || class->memory_mib != 0 ||
        class->profile[0] != '\0')
        return error_field(err, "/form",
                           "milli, memory_mib and profile are for parts of a "
                           "card");
    return 0;
}

static int
check_soft(const struct class *class, struct error *err)
{
    if (class->milli < 1 || class->milli > 999)
        return error_field(err, "/milli",
                           "a share has 1 to 999 milli-cards, not %lld",
                           (long long)class->milli);
    if (class->memory_mib < 1)
        return error_field(err, "/memory_mib",
                           "a share needs accelerator memory, MiB");
    if (class->profile[0] != '\0')
        return error_field(err, "/profile",
                           "a profile is for hard slices");
    return 0;
}

/* Are there cards of the model, and none of them has the profile?  Names of
 * models do not always tell their memory. */
static bool
lacks_profile(const struct world *world, const struct class *class)
{
    bool any = false;

    world_each(world, KIND_CARD, ref) {
        const struct card *card = world_card(world, ref);
        const struct geometry_card *table;

        if (class->model[0] == '\0' || strcmp(card->model, class->model) != 0)
            continue;
        table = cut_table(card);
        if (table != NULL && geometry_profile(table, class->profile) != NULL)
            return false;
        any = true;
    }
    return any;
}

static int
check_hard(const struct world *world, struct class *class, struct error *err)
{
    if (class->profile[0] == '\0')
        return error_field(err, "/profile",
                           "a hard slice needs the vendor's profile");
    if (class->milli != 0 || class->memory_mib != 0)
        return error_field(err, "/milli",
                           "the profile says how much of a card a hard slice "
                           "is: leave milli and memory_mib out");
    if (lacks_profile(world, class) ||
        !geometry_most(class->vendor, class->model, class->profile,
                       &class->milli, &class->memory_mib))
        return error_field(err, "/profile",
                           "no card%s%s that can be cut has the profile "
                           "\"%s\": write it as the vendor does, as "
                           "3g.20gb; AMD's partitions are not offered on "
                           "real cards",
                           class->model[0] != '\0' ? " of model " : "",
                           class->model, class->profile);
    return 0;
}

static int
check_form(const struct edit *edit, struct class *class, struct error *err)
{
    if (class->form == FORM_WHOLE)
        return check_whole(class, err);
    if (class->count > 1)
        return error_field(err, "/count",
                           "an instance gets one part of one card, not %lld",
                           (long long)class->count);
    class->count = 1;
    return class->form == FORM_SOFT
               ? check_soft(class, err)
               : check_hard(edit->changes->world, class, err);
}

static int
check_interconnect(const struct class *class, struct error *err)
{
    if (class->interconnect == INTERCONNECT_ANY ||
        (class->form == FORM_WHOLE && class->count > 1))
        return 0;
    return error_field(err, "/interconnect",
                       "interconnect is for several whole cards of an "
                       "instance, and it gets %s: leave it any, or set count",
                       class->form == FORM_WHOLE ? "one" : "a part of one");
}

int
rules_create_class(const struct edit *edit, void *image, struct error *err)
{
    struct class *class = image;

    if (check_form(edit, class, err) != 0 ||
        check_interconnect(class, err) != 0)
        return -1;
    return require_check_class(class, err);
}

/* --- what may be changed --- */

/* What decides where its work can be. */
static bool
is_same_offer(const struct class *a, const struct class *b)
{
#define SAME(member) (strcmp(a->member, b->member) == 0)
    return SAME(vendor) && SAME(model) && SAME(profile) && SAME(min_driver) &&
           SAME(min_runtime) && SAME(min_capability) && SAME(arch) &&
           SAME(features) && a->min_memory_mib == b->min_memory_mib &&
           a->count == b->count && a->form == b->form &&
           a->milli == b->milli && a->memory_mib == b->memory_mib &&
           a->interconnect == b->interconnect;
#undef SAME
}

/* What the profile or another form said goes with it. */
static void
forget_parts(const struct edit *edit, const struct class *old,
             struct class *class)
{
    bool other = class->form != old->form;

    if (!edit_has(edit, "milli") && (other || class->form == FORM_HARD))
        class->milli = 0;
    if (!edit_has(edit, "memory_mib") && (other || class->form == FORM_HARD))
        class->memory_mib = 0;
    if (!edit_has(edit, "profile") && other)
        class->profile[0] = '\0';
    if (!edit_has(edit, "count") && other)
        class->count = 1;
    if (!edit_has(edit, "interconnect") && other)
        class->interconnect = INTERCONNECT_ANY;
}

int
rules_update_class(const struct edit *edit, const void *before, void *image,
                   struct error *err)
{
    const struct class *old = before;
    struct class *class = image;
    struct blockers blockers = { 0 };

    forget_parts(edit, old, class);
    if (rules_create_class(edit, image, err) != 0)
        return -1;
    if (is_same_offer(old, class))
        return 0;
    block_live(edit, &blockers, class->object.self);
    if (rules_blocked(&blockers, err) != 0)
        return error_help(err, "work keeps what it was promised: make another "
                               "class, or wait until what uses this one has "
                               "ended");
    if (class->origin == CLASS_DERIVED)
        class->origin = CLASS_EDITED;
    return 0;
}

int
rules_delete_class(const struct edit *edit, struct ref ref, struct error *err)
{
    struct blockers blockers = { 0 };

    rules_block_work(edit, &blockers, ref);
    block_lists(edit, &blockers, ref);
    return rules_blocked(&blockers, err);
}
