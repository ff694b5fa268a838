/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNNER_NETLINK_H
#define RUNNER_NETLINK_H

#include <netinet/in.h>
#include <stdint.h>

#include "base/error.h"

/*
 * How are links and addresses made without starting `ip` for each?  A few
 * rtnetlink requests, each acknowledged.  A socket belongs to the network
 * namespace it was opened in.
 */

/* A socket in the namespace (-1: the present one); -1 with err. */
int netlink_open(int netns_fd, struct error *err);

/* Writes a kernel setting of that namespace: a path below /proc/sys.  One the
 * kernel does not have is no error. */
int netlink_setting(int netns_fd, const char *path, const char *value,
                    struct error *err);

/* A bridge that floods instead of snooping and has no address of its own;
 * one that is there already is left as it is. */
int netlink_add_bridge(int fd, const char *name, struct error *err);
/* A pair: `name` here, a port of `bridge`; eth0 with the MAC in peer_netns.
 * Both are down. */
int netlink_add_pair(int fd, const char *name, const char *bridge,
                     int peer_netns_fd, const uint8_t mac[6],
                     struct error *err);
int netlink_set_up(int fd, const char *name, struct error *err);
/* No link-local address and no router advertisements. */
int netlink_quiet(int fd, const char *name, struct error *err);
int netlink_add_address(int fd, const char *name, int family,
                        const void *address, int prefix, struct error *err);
/* Missing links are no error. */
int netlink_delete(int fd, const char *name, struct error *err);
/* At most that many bytes a second leave through the link; 0: no bound. */
int netlink_limit(int fd, const char *name, int64_t bytes, struct error *err);
/* Bytes that came in and went out through it; 0 for one that is not there. */
void netlink_count(int fd, const char *name, int64_t *received_out,
                   int64_t *sent_out);
/* The index of a link, 0 when there is none. */
int netlink_index(int fd, const char *name);

#endif
