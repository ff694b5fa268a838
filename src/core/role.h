/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_ROLE_H
#define CORE_ROLE_H

#include "core/change.h"
#include "core/verb.h"

/*
 * Which roles does the platform ship?  Each has verbs to use and verbs to
 * hand out; a tenant admin hands out inference.invoke without having it.
 * They cannot be changed or deleted; tenants add roles of their own.
 */

enum role_builtin {
    ROLE_PLATFORM_ADMIN,
    ROLE_SECURITY_ADMIN,
    ROLE_AUDITOR,
    ROLE_OPERATIONS_ENGINEER,
    ROLE_TENANT_ADMIN,
    ROLE_PROJECT_ADMIN,
    ROLE_DEVELOPER,
    ROLE_END_USER,
    ROLE_VENDOR,
    ROLE_BUILTIN_COUNT
};

/* "platform-admin" */
const char *role_name(enum role_builtin role);
struct verbs role_use(enum role_builtin role);
struct verbs role_give(enum role_builtin role);

/* Puts every shipped role below the platform, and right where it is not as
 * shipped: at the first start and after an upgrade. */
void role_install(struct changes *changes, struct ref platform);
/* The shipped role of that name; none before role_install was applied. */
struct ref role_find(const struct world *world, enum role_builtin role);

#endif
