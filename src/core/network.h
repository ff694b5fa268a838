/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_NETWORK_H
#define CORE_NETWORK_H

#include <stdbool.h>

#include "base/error.h"

/*
 * Does this address lie in those networks?  A list of networks is text:
 * addresses or CIDRs of IPv4 and IPv6, comma separated, spaces allowed
 * ("10.0.0.0/8, 2001:db8::/32").  "" is no bound.  A list or an address that
 * cannot be read matches nothing.  IPv4 mapped into IPv6 counts as IPv4.
 */

/* 0 when text is a list; bits behind the prefix must be 0. */
int network_check(const char *pointer, const char *text, struct error *err);
bool network_match(const char *list, const char *address);
/* Is every network of inner inside some network of outer? */
bool network_within(const char *inner, const char *outer);

#endif
