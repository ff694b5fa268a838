/* SPDX-License-Identifier: Apache-2.0 */
#include "core/scope.h"

#include <stdio.h>
#include <string.h>

static bool
holds(struct ref wish, struct ref have)
{
    return ref_is_none(wish) || ref_equal(wish, have);
}

static bool
says(const char *wish, const char *have)
{
    return wish[0] == '\0' || (have != NULL && strcmp(wish, have) == 0);
}

bool
scope_counts(const struct quota *quota, const struct scope_use *use)
{
    return holds(quota->pool, use->pool) && holds(quota->class, use->class) &&
           holds(quota->user, use->user) &&
           says(quota->vendor, use->vendor) && says(quota->model, use->model);
}

bool
scope_is_typed(const struct quota *quota)
{
    return quota->vendor[0] != '\0' || quota->model[0] != '\0';
}

static enum scope_fit
fit_of(const char *wish, const char *have)
{
    if (wish[0] == '\0')
        return SCOPE_YES;
    if (have[0] == '\0')
        return SCOPE_MAYBE;
    return strcmp(wish, have) == 0 ? SCOPE_YES : SCOPE_NO;
}

enum scope_fit
scope_fit(const struct quota *quota, const struct class *class)
{
    enum scope_fit vendor = fit_of(quota->vendor, class->vendor);
    enum scope_fit model = fit_of(quota->model, class->model);

    return vendor < model ? vendor : model;
}

bool
scope_equal(const struct quota *a, const struct quota *b)
{
    return a->dimension == b->dimension && ref_equal(a->pool, b->pool) &&
           ref_equal(a->class, b->class) && ref_equal(a->user, b->user) &&
           strcmp(a->vendor, b->vendor) == 0 &&
           strcmp(a->model, b->model) == 0;
}

static void
add(char *text, const char *word, const char *name)
{
    size_t used = strlen(text);

    if (name[0] != '\0')
        (void)snprintf(text + used, SCOPE_TEXT_MAX - used, "%s%s", word,
                       name);
}

const char *
scope_text(char text[SCOPE_TEXT_MAX], const struct world *world,
           const struct quota *quota)
{
    const struct pool *pool = world_pool(world, quota->pool);
    const struct class *class = world_class(world, quota->class);
    const struct object *user = world_object(world, quota->user);

    text[0] = '\0';
    add(text, " in pool ", pool != NULL ? pool->object.name : "");
    add(text, " for class ", class != NULL ? class->object.name : "");
    add(text, " of ", quota->vendor);
    add(text, quota->vendor[0] != '\0' ? " " : " of ", quota->model);
    if (user != NULL)
        add(text,
            quota->user.kind == KIND_USER ? " by user "
                                          : " by service account ",
            user->name);
    return text;
}
