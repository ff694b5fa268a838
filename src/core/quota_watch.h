/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_QUOTA_WATCH_H
#define CORE_QUOTA_WATCH_H

#include "core/change.h"

/*
 * Which quotas need a person, or give something back?
 *
 * Looked at now and then: an alarm on the node while a quota is at its soft
 * amount or a month's limit is used up; work that a used up month stops, by
 * its action, or that is above a capacity limit whose quota reclaims, gets
 * notice and goes back through the gate (surplus of elastic gangs leaves alone
 * and first; then what is above the guarantees below the quota, by kind,
 * priority, lost work and age; the least that is enough); work that cannot be stopped and is
 * above a guarantee that was lowered runs on and is flagged by an alarm.
 * While more is guaranteed and reserved than is healthy an alarm names whose
 * guarantees are at risk; nobody is stopped for it.  Nothing is put into the set
 * when nothing changed.
 */
void quota_watch(struct changes *changes);

#endif
