/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_NETWORK_H
#define RUNNER_NETWORK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "runner/policy.h"

/*
 * Who can talk to whom?  Instances of the same tenant, with each other, and
 * nobody else: not other tenants, not the host, not its gateway, not the
 * metadata address, not the outside.
 *
 * A router network namespace holds one bridge a tenant and no way out: no
 * address, no uplink, no link to the host.  Each instance's namespace has one
 * link into it.  On top, a ruleset in that namespace drops what is not
 * listed: each port is pinned to its MAC, IPv4 and IPv6 address (ARP and
 * neighbour adverts too) and delivers only to ports of its tenant.  When the
 * runner begins, the whole ruleset is replaced in one transaction, read back
 * and compared; its base chains drop by policy from the moment the namespace
 * exists.  Each port is then added in one transaction, and the kernel's echo
 * of it compared, before the link of a new instance is set up; where that
 * fails, the whole is made anew.  There is no resolver: DNS reaches nobody.
 *
 * Addresses follow from the tenant's number T and the instance's index A:
 * 10.0.0.0 + T * 4096 + A in a /20, fd62:756c:6b68:T::A in a /64.
 */

#define NETWORK_PATH_MAX 192

struct network_port {
    int64_t tenant;  /* 1..4095 */
    int64_t address; /* 1..4093 */
};

struct network {
    const struct policy *policy;
    pthread_mutex_t lock;
    int router_fd; /* the router's namespace */
    int link_fd;   /* rtnetlink in it */
    size_t count;
    struct network_port *ports;
};

struct network_names {
    char address[16];
    char address6[40];
    char mac[18];
};

/* Makes or finds the router and installs the ruleset for the ports that are
 * there already (after a restart). */
int network_open(struct network *network, const struct policy *policy,
                 const struct network_port *ports, size_t count,
                 struct error *err);
void network_close(struct network *network);

void network_describe(struct network_port port, struct network_names *out);

/* A namespace for an instance, kept at a path (returned) below the state
 * directory until network_leave. */
int network_make(const struct policy *policy, const char *name,
                 char path[NETWORK_PATH_MAX], struct error *err);
/* Rules first, then the link into the namespace at path. */
int network_join(struct network *network, struct network_port port,
                 const char *path, struct error *err);
/* Takes link, rules and namespace away; what is gone is no error. */
int network_leave(struct network *network, struct network_port port,
                  const char *name, struct error *err);

/* At most that many bytes a second each way; 0: no bound.  name: that of its
 * namespace.  It ends with the link. */
int network_limit(struct network *network, struct network_port port,
                  const char *name, int64_t bytes, struct error *err);
/* For counting, which waits for nobody: a socket, or -1; the caller closes
 * it.  What an instance has received and sent so far. */
int network_watch(const struct network *network);
void network_count(int watch_fd, struct network_port port,
                   int64_t *received_out, int64_t *sent_out);

/* The changes for one port that comes or goes; for tests too. */
void network_port_rules(const char *prefix, struct network_port port, bool add,
                        struct buffer *out);
/* The ruleset text for these ports; for tests too. */
void network_rules(const char *prefix, const struct network_port *ports,
                   size_t count, struct buffer *out);

#endif
