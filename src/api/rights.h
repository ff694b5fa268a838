/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_RIGHTS_H
#define API_RIGHTS_H

#include "base/json.h"
#include "core/access.h"

/*
 * What does a subject have rights to, and by what?  One line for each grant,
 * its own first, then those of its groups.  Of somebody else only what the
 * asker sees: the grant and, for its name, the group.
 */
json_t *rights_list(const struct granted *granted, struct ref subject);

#endif
