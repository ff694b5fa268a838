/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_PEERS_H
#define API_PEERS_H

#include <microhttpd.h>
#include <stdint.h>

/*
 * Who is connected, and how long may each take?  libmicrohttpd ends silent
 * connections alone: one that sends a byte now and then would hold its place
 * for ever, and who opens all places would shut out everybody.  So heads and
 * answers have their time, and a user of this machine has a share of the
 * places of the Unix sockets (root and the server's own user aside), an IPv4
 * address or an IPv6 /64 one of those of the TCP door; the machine itself,
 * where a proxy may stand for many, has two.
 *
 * Any thread may call these.
 */

struct peers;

/* each_max: connections of one user or network. */
struct peers *peers_new(unsigned each_max, int64_t head_ms);
/* When no daemon reports to it any more. */
void peers_free(struct peers *peers);
/* For MHD_OPTION_NOTIFY_CONNECTION, with the peers as its data. */
void peers_notify(void *peers, struct MHD_Connection *connection,
                  void **context, enum MHD_ConnectionNotificationCode code);
/* Of a connection that a daemon of these peers took: its time starts anew,
 * for the next head, for what lasts as long as it wants, or for what the
 * client takes (ms). */
void peers_expect_head(struct MHD_Connection *connection);
void peers_expect_nothing(struct MHD_Connection *connection);
void peers_expect_within(struct MHD_Connection *connection, int64_t ms);
/* Ends the connections whose time is over; to be called every second. */
void peers_sweep(struct peers *peers);

#endif
