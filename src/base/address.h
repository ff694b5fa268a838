/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_ADDRESS_H
#define BASE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/error.h"

/*
 * Whose is an IP address: everybody's, an organization's own, or nobody's
 * that should be asked?  By the IANA registries of special-purpose addresses
 * (RFC 6890 and later).  IPv4 mapped into IPv6 is IPv4.
 */

struct address {
    uint8_t bytes[16];
    unsigned size; /* 4 or 16 */
};

enum address_kind {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE,  /* RFC 1918, CGNAT, unique local, benchmarks */
    ADDRESS_LOOPBACK,
    /* Link-local, multicast, unspecified, reserved, documentation, addresses
     * that stand for another one (NAT64, 6to4, Teredo, IPv4-compatible), and
     * the metadata services of clouds wherever they lie. */
    ADDRESS_NEVER,
};

enum address_kind address_kind(const struct address *address);
/* False for families other than IPv4 and IPv6. */
bool address_of(const struct sockaddr *socket, struct address *out);
/* The canonical spellings alone, as inet_pton reads them. */
bool address_parse(const char *text, struct address *out);

/* Does it lie in one of the networks: addresses or CIDRs, comma separated,
 * spaces allowed?  "" and a list that cannot be read hold nothing. */
bool address_in(const char *networks, const struct address *address);
int address_check_list(const char *networks, struct error *err);

#endif
