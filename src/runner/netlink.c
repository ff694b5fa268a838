/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/netlink.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/file.h"

/* A request under construction; attributes follow the fixed part. */
struct message {
    union {
        struct nlmsghdr head;
        char bytes[1024];
    };
};

/* Takes this thread into a network; gives the way back, -1 with err. */
static int
enter(int netns_fd, struct error *err)
{
    int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

    if (home >= 0 && (netns_fd < 0 || setns(netns_fd, CLONE_NEWNET) == 0))
        return home;
    (void)error_set(err, ERROR_INTERNAL, "enter a network: %s",
                    strerror(errno));
    if (home >= 0)
        (void)close(home);
    return -1;
}

/* A thread left in the wrong network would serve others from there. */
static void
leave(int home)
{
    if (setns(home, CLONE_NEWNET) != 0)
        abort();
    (void)close(home);
}

int
netlink_setting(int netns_fd, const char *path, const char *value,
                struct error *err)
{
    char full[128];
    int home = enter(netns_fd, err);
    int result = 0;
    int fd;

    if (home < 0)
        return -1;
    (void)snprintf(full, sizeof(full), "/proc/sys/%.100s", path);
    fd = open(full, O_WRONLY | O_CLOEXEC);
    if (fd >= 0 && write(fd, value, strlen(value)) < 0)
        result = error_set(err, ERROR_INTERNAL, "set %.100s: %s", path,
                           strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    leave(home);
    return result;
}

int
netlink_open(int netns_fd, struct error *err)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    struct timeval patience = { .tv_sec = 5 };
    int home = enter(netns_fd, err);
    int fd;

    if (home < 0)
        return -1;
    fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    leave(home);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) !=
            0) {
        (void)error_set(err, ERROR_INTERNAL, "open netlink: %s",
                        strerror(errno));
        if (fd >= 0)
            (void)close(fd);
        return -1;
    }
    return fd;
}

static void
begin(struct message *message, uint16_t type, uint16_t flags, const void *fixed,
      size_t size)
{
    memset(message, 0, sizeof(*message));
    message->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
    message->head.nlmsg_type = type;
    message->head.nlmsg_flags = (uint16_t)(NLM_F_REQUEST | NLM_F_ACK | flags);
    message->head.nlmsg_seq = 1;
    memcpy(NLMSG_DATA(&message->head), fixed, size);
}

/* Appends bytes, aligned; the buffer is ample for every request here. */
static struct rtattr *
add(struct message *message, unsigned short type, const void *bytes,
    size_t size)
{
    size_t at = NLMSG_ALIGN(message->head.nlmsg_len);
    struct rtattr attribute = { .rta_len = (unsigned short)RTA_LENGTH(size),
                                .rta_type = type };

    if (at + RTA_SPACE(size) > sizeof(message->bytes))
        abort();
    memcpy(message->bytes + at, &attribute, sizeof(attribute));
    if (size > 0)
        memcpy(message->bytes + at + RTA_LENGTH(0), bytes, size);
    message->head.nlmsg_len = (uint32_t)(at + RTA_LENGTH(size));
    return (struct rtattr *)(void *)(message->bytes + at);
}

static void
add_text(struct message *message, unsigned short type, const char *text)
{
    (void)add(message, type, text, strlen(text) + 1);
}

static struct rtattr *
open_nest(struct message *message, unsigned short type)
{
    return add(message, type, NULL, 0);
}

static void
close_nest(struct message *message, struct rtattr *nest)
{
    char *end = message->bytes + NLMSG_ALIGN(message->head.nlmsg_len);

    message->head.nlmsg_len = (uint32_t)NLMSG_ALIGN(message->head.nlmsg_len);
    nest->rta_len = (unsigned short)(end - (char *)nest);
}

/* Sends and reads the acknowledgement: 0 or a negative errno. */
static int
talk(int fd, struct message *message)
{
    struct {
        struct nlmsghdr head;
        char rest[4096];
    } answer;
    ssize_t got;
    const struct nlmsgerr *code;

    if (send(fd, message->bytes, message->head.nlmsg_len, 0) < 0)
        return -errno;
    do
        got = recv(fd, &answer, sizeof(answer), 0);
    while (got < 0 && errno == EINTR);
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(*code)))
        return got < 0 ? -errno : -EPROTO;
    if (answer.head.nlmsg_type != NLMSG_ERROR)
        return -EPROTO;
    code = NLMSG_DATA(&answer.head);
    return code->error;
}

static int
settle(int code, const char *what, struct error *err)
{
    if (code == 0)
        return 0;
    return error_set(err, ERROR_INTERNAL, "network: %s: %s", what,
                     strerror(-code));
}

int
netlink_add_bridge(int fd, const char *name, struct error *err)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    struct message message;
    struct rtattr *info;
    struct rtattr *data;
    uint8_t off = 0;
    int code;

    begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link,
          sizeof(link));
    add_text(&message, IFLA_IFNAME, name);
    info = open_nest(&message, IFLA_LINKINFO);
    add_text(&message, IFLA_INFO_KIND, "bridge");
    data = open_nest(&message, IFLA_INFO_DATA);
    (void)add(&message, IFLA_BR_MCAST_SNOOPING, &off, sizeof(off));
    close_nest(&message, data);
    close_nest(&message, info);
    code = talk(fd, &message);
    return settle(code == -EEXIST ? 0 : code, "make a bridge", err);
}

/* What the kernel says about a link. */
struct link_answer {
    struct nlmsghdr head;
    struct ifinfomsg link;
    char rest[8192];
};

static bool
get_link(int fd, const char *name, struct link_answer *answer)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    struct message message;
    ssize_t got;

    begin(&message, RTM_GETLINK, 0, &link, sizeof(link));
    message.head.nlmsg_flags = NLM_F_REQUEST;
    add_text(&message, IFLA_IFNAME, name);
    if (send(fd, message.bytes, message.head.nlmsg_len, 0) < 0)
        return false;
    got = recv(fd, answer, sizeof(*answer), 0);
    return got >= (ssize_t)NLMSG_LENGTH(sizeof(answer->link)) &&
           answer->head.nlmsg_type == RTM_NEWLINK &&
           (size_t)got >= answer->head.nlmsg_len;
}

int
netlink_index(int fd, const char *name)
{
    struct link_answer answer;

    return get_link(fd, name, &answer) ? answer.link.ifi_index : 0;
}

void
netlink_count(int fd, const char *name, int64_t *received_out,
              int64_t *sent_out)
{
    struct link_answer answer;
    const char *end;

    *received_out = *sent_out = 0;
    if (!get_link(fd, name, &answer))
        return;
    end = (const char *)&answer + answer.head.nlmsg_len;
    for (const char *at = (const char *)&answer.link +
                          NLMSG_ALIGN(sizeof(answer.link));
         at + sizeof(struct rtattr) <= end;) {
        struct rtattr attribute;
        struct rtnl_link_stats64 stats = { 0 };
        size_t size;

        memcpy(&attribute, at, sizeof(attribute));
        if (attribute.rta_len < sizeof(attribute) ||
            at + attribute.rta_len > end)
            return;
        size = attribute.rta_len - RTA_LENGTH(0);
        if (attribute.rta_type == IFLA_STATS64) {
            memcpy(&stats, at + RTA_LENGTH(0),
                   size < sizeof(stats) ? size : sizeof(stats));
            *received_out = (int64_t)stats.rx_bytes;
            *sent_out = (int64_t)stats.tx_bytes;
        }
        at += RTA_ALIGN(attribute.rta_len);
    }
}

static int
drop_limit(int fd, int index, struct error *err)
{
    struct tcmsg fixed = { .tcm_family = AF_UNSPEC,
                           .tcm_ifindex = index,
                           .tcm_parent = TC_H_ROOT };
    struct message message;
    int code;

    begin(&message, RTM_DELQDISC, 0, &fixed, sizeof(fixed));
    code = talk(fd, &message);
    /* There was none. */
    return settle(code == -ENOENT || code == -EINVAL ? 0 : code,
                  "lift a limit", err);
}

/* A token bucket that holds a hundredth of a second, and 64 KiB at least: a
 * large segment is cut by the kernel, not lost. */
int
netlink_limit(int fd, const char *name, int64_t bytes, struct error *err)
{
    int index = netlink_index(fd, name);
    struct tcmsg fixed = { .tcm_family = AF_UNSPEC,
                           .tcm_ifindex = index,
                           .tcm_handle = 0x10000,
                           .tcm_parent = TC_H_ROOT };
    uint32_t burst = bytes > 6553600 ? (uint32_t)(bytes / 100) : 65536;
    struct tc_tbf_qopt options = { .limit = burst * 4 };
    uint64_t rate = (uint64_t)bytes;
    struct message message;
    struct rtattr *nest;

    if (index == 0)
        return error_set(err, ERROR_INTERNAL, "network: a link is gone");
    if (bytes == 0)
        return drop_limit(fd, index, err);
    if (bytes > INT64_C(100000000000))
        return error_set(err, ERROR_INVALID, "network: no link is as fast");
    options.rate.linklayer = TC_LINKLAYER_ETHERNET;
    options.rate.rate = rate > UINT32_MAX ? UINT32_MAX : (uint32_t)rate;
    begin(&message, RTM_NEWQDISC, NLM_F_CREATE | NLM_F_REPLACE, &fixed,
          sizeof(fixed));
    add_text(&message, TCA_KIND, "tbf");
    nest = open_nest(&message, TCA_OPTIONS);
    (void)add(&message, TCA_TBF_PARMS, &options, sizeof(options));
    (void)add(&message, TCA_TBF_BURST, &burst, sizeof(burst));
    if (rate > UINT32_MAX)
        (void)add(&message, TCA_TBF_RATE64, &rate, sizeof(rate));
    close_nest(&message, nest);
    return settle(talk(fd, &message), "limit a link", err);
}

int
netlink_add_pair(int fd, const char *name, const char *bridge,
                 int peer_netns_fd, const uint8_t mac[6], struct error *err)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    int master = netlink_index(fd, bridge);
    struct message message;
    struct rtattr *info;
    struct rtattr *data;
    struct rtattr *peer;

    if (master == 0)
        return error_set(err, ERROR_INTERNAL, "network: the bridge is gone");
    begin(&message, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link,
          sizeof(link));
    add_text(&message, IFLA_IFNAME, name);
    (void)add(&message, IFLA_MASTER, &master, sizeof(master));
    info = open_nest(&message, IFLA_LINKINFO);
    add_text(&message, IFLA_INFO_KIND, "veth");
    data = open_nest(&message, IFLA_INFO_DATA);
    peer = open_nest(&message, VETH_INFO_PEER);
    /* The peer's own fixed part stands in front of its attributes. */
    memset(message.bytes + NLMSG_ALIGN(message.head.nlmsg_len), 0,
           sizeof(link));
    message.head.nlmsg_len =
        (uint32_t)(NLMSG_ALIGN(message.head.nlmsg_len) + sizeof(link));
    add_text(&message, IFLA_IFNAME, "eth0");
    (void)add(&message, IFLA_ADDRESS, mac, 6);
    (void)add(&message, IFLA_NET_NS_FD, &peer_netns_fd, sizeof(peer_netns_fd));
    close_nest(&message, peer);
    close_nest(&message, data);
    close_nest(&message, info);
    return settle(talk(fd, &message), "make a link", err);
}

int
netlink_set_up(int fd, const char *name, struct error *err)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC,
                              .ifi_flags = IFF_UP,
                              .ifi_change = IFF_UP };
    struct message message;

    begin(&message, RTM_NEWLINK, 0, &link, sizeof(link));
    add_text(&message, IFLA_IFNAME, name);
    return settle(talk(fd, &message), "set a link up", err);
}

int
netlink_quiet(int fd, const char *name, struct error *err)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    struct message message;
    struct rtattr *spec;
    struct rtattr *inet6;
    uint8_t mode = IN6_ADDR_GEN_MODE_NONE;

    begin(&message, RTM_NEWLINK, 0, &link, sizeof(link));
    add_text(&message, IFLA_IFNAME, name);
    spec = open_nest(&message, IFLA_AF_SPEC);
    inet6 = open_nest(&message, AF_INET6);
    (void)add(&message, IFLA_INET6_ADDR_GEN_MODE, &mode, sizeof(mode));
    close_nest(&message, inet6);
    close_nest(&message, spec);
    return settle(talk(fd, &message), "quiet a link", err);
}

int
netlink_add_address(int fd, const char *name, int family, const void *address,
                    int prefix, struct error *err)
{
    struct ifaddrmsg fixed = {
        .ifa_family = (unsigned char)family,
        .ifa_prefixlen = (unsigned char)prefix,
        .ifa_index = (unsigned)netlink_index(fd, name),
    };
    /* Duplicates cannot be: addresses are pinned. */
    uint32_t flags = IFA_F_NODAD;
    size_t size = family == AF_INET ? 4 : 16;
    struct message message;

    begin(&message, RTM_NEWADDR, NLM_F_CREATE | NLM_F_REPLACE, &fixed,
          sizeof(fixed));
    (void)add(&message, IFA_LOCAL, address, size);
    (void)add(&message, IFA_ADDRESS, address, size);
    if (family == AF_INET6)
        (void)add(&message, IFA_FLAGS, &flags, sizeof(flags));
    return settle(talk(fd, &message), "add an address", err);
}

int
netlink_delete(int fd, const char *name, struct error *err)
{
    struct ifinfomsg link = { .ifi_family = AF_UNSPEC };
    struct message message;
    int code;

    begin(&message, RTM_DELLINK, 0, &link, sizeof(link));
    add_text(&message, IFLA_IFNAME, name);
    code = talk(fd, &message);
    return settle(code == -ENODEV ? 0 : code, "delete a link", err);
}
