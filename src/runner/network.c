/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/json.h"
#include "runner/netlink.h"
#include "runner/process.h"
#include "runner/remove.h"

#define NFT_TIMEOUT_MS 20000
#define NAME_MAX_LINK 16
#define NET6 "fd62:756c:6b68"

static uint32_t
ipv4_of(struct network_port port)
{
    return (UINT32_C(10) << 24) | (uint32_t)(port.tenant << 12) |
           (uint32_t)port.address;
}

static void
mac_of(struct network_port port, uint8_t mac[6])
{
    uint32_t low = ipv4_of(port) & 0xFFFFFF;

    mac[0] = 0x02; /* locally administered, one station */
    mac[1] = 0x62;
    mac[2] = 0x68;
    mac[3] = (uint8_t)(low >> 16);
    mac[4] = (uint8_t)(low >> 8);
    mac[5] = (uint8_t)low;
}

static void
ipv6_of(struct network_port port, struct in6_addr *out)
{
    char text[64];

    (void)snprintf(text, sizeof(text), NET6 ":%x::%x", (unsigned)port.tenant,
                   (unsigned)port.address);
    (void)inet_pton(AF_INET6, text, out);
}

static void
link_of(struct network_port port, char name[NAME_MAX_LINK])
{
    (void)snprintf(name, NAME_MAX_LINK, "v%03x%03x",
                   (unsigned)port.tenant & 0xFFF,
                   (unsigned)port.address & 0xFFF);
}

static void
bridge_of(struct network_port port, char name[NAME_MAX_LINK])
{
    (void)snprintf(name, NAME_MAX_LINK, "t%03x", (unsigned)port.tenant & 0xFFF);
}

void
network_describe(struct network_port port, struct network_names *out)
{
    struct in_addr four = { .s_addr = htonl(ipv4_of(port)) };
    struct in6_addr six;
    uint8_t mac[6];

    ipv6_of(port, &six);
    mac_of(port, mac);
    (void)inet_ntop(AF_INET, &four, out->address, sizeof(out->address));
    (void)inet_ntop(AF_INET6, &six, out->address6, sizeof(out->address6));
    (void)snprintf(out->mac, sizeof(out->mac), "%02x:%02x:%02x:%02x:%02x:%02x",
                   mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

/* One set or map: its elements through one printer. */
static void
add_set(struct buffer *out, const char *head, const struct network_port *ports,
        size_t count,
        void (*print)(struct buffer *, const char *, struct network_port,
                      const struct network_names *))
{
    buffer_printf(out, "  %s;", head);
    for (size_t i = 0; i < count; i++) {
        struct network_names names;
        char link[NAME_MAX_LINK];

        network_describe(ports[i], &names);
        link_of(ports[i], link);
        buffer_add_text(out, i == 0 ? " elements = { " : ", ");
        print(out, link, ports[i], &names);
    }
    buffer_add_text(out, count > 0 ? " } }\n" : " }\n");
}

static void
print_port(struct buffer *out, const char *link, struct network_port port,
           const struct network_names *names)
{
    (void)port;
    buffer_printf(out, "\"%s\" . %s", link, names->mac);
}

static void
print_port4(struct buffer *out, const char *link, struct network_port port,
            const struct network_names *names)
{
    (void)port;
    buffer_printf(out, "\"%s\" . %s . %s", link, names->mac, names->address);
}

static void
print_port6(struct buffer *out, const char *link, struct network_port port,
            const struct network_names *names)
{
    (void)port;
    buffer_printf(out, "\"%s\" . %s . %s", link, names->mac, names->address6);
}

static void
print_tenant(struct buffer *out, const char *link, struct network_port port,
             const struct network_names *names)
{
    (void)names;
    buffer_printf(out, "\"%s\" : %" PRId64, link, port.tenant);
}

static void
print_out(struct buffer *out, const char *link, struct network_port port,
          const struct network_names *names)
{
    (void)names;
    buffer_printf(out, "\"%s\" . %" PRId64, link, port.tenant);
}

static void
print_advert(struct buffer *out, const char *link, struct network_port port,
             const struct network_names *names)
{
    (void)port;
    (void)names;
    buffer_printf(out, "\"%s\" : jump a_%s", link, link);
}

/* A neighbour advert may speak of the port's own address only; its target
 * stands behind the first 8 bytes. */
static void
print_target(struct buffer *out, struct network_port port)
{
    struct in6_addr six;

    ipv6_of(port, &six);
    buffer_add_text(out, "@th,64,128 0x");
    for (int k = 0; k < 16; k++)
        buffer_printf(out, "%02x", six.s6_addr[k]);
}

static void
add_adverts(struct buffer *out, const struct network_port *ports, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char link[NAME_MAX_LINK];

        link_of(ports[i], link);
        buffer_printf(out, "  chain a_%s { ", link);
        print_target(out, ports[i]);
        buffer_add_text(out, " accept; drop; }\n");
    }
}

/* The same in a table that is there. */
static void
add_advert_rules(struct buffer *out, const char *prefix,
                 struct network_port port)
{
    char link[NAME_MAX_LINK];

    link_of(port, link);
    buffer_printf(out,
                  "add chain bridge %s a_%s\nflush chain bridge %s a_%s\n"
                  "add rule bridge %s a_%s ",
                  prefix, link, prefix, link, prefix, link);
    print_target(out, port);
    buffer_printf(out, " accept\nadd rule bridge %s a_%s drop\n", prefix,
                  link);
}

static const char chains[] =
    "  chain enter {\n"
    "    type filter hook prerouting priority -300; policy drop;\n"
    "    iifname . ether saddr != @ports drop\n"
    "    meta mark set iifname map @tenants\n"
    "    iifname . arp saddr ether . arp saddr ip @port4 accept\n"
    "    iifname . ether saddr . ip saddr @port4 accept\n"
    "    iifname . ether saddr . ip6 saddr @port6 jump enter6\n"
    "  }\n"
    "  chain enter6 {\n"
    "    icmpv6 type nd-neighbor-advert iifname vmap @adverts\n"
    "    icmpv6 type { nd-router-advert, nd-redirect, nd-router-solicit,"
    " nd-neighbor-advert } drop\n"
    "    accept\n"
    "  }\n"
    "  chain cross {\n"
    "    type filter hook forward priority 0; policy drop;\n"
    "    oifname . meta mark @outs accept\n"
    "  }\n"
    "  chain self_in { type filter hook input priority 0; policy drop; }\n"
    "  chain self_out { type filter hook output priority 0; policy drop; }\n"
    "}\n";

static const char router[] =
    "  chain self_in { type filter hook input priority 0; policy drop; }\n"
    "  chain self_out { type filter hook output priority 0; policy drop; }\n"
    "  chain cross { type filter hook forward priority 0; policy drop; }\n"
    "}\n";

void
network_rules(const char *prefix, const struct network_port *ports,
              size_t count, struct buffer *out)
{
    /* One file is one transaction: old rules hold until new ones do. */
    buffer_printf(out,
                  "table bridge %s {}\ndelete table bridge %s\n"
                  "table inet %s {}\ndelete table inet %s\n"
                  "table bridge %s {\n",
                  prefix, prefix, prefix, prefix, prefix);
    add_set(out, "set ports { type ifname . ether_addr", ports, count,
            print_port);
    add_set(out, "set port4 { type ifname . ether_addr . ipv4_addr", ports,
            count, print_port4);
    add_set(out, "set port6 { type ifname . ether_addr . ipv6_addr", ports,
            count, print_port6);
    add_set(out, "map tenants { type ifname : mark", ports, count,
            print_tenant);
    add_set(out, "set outs { type ifname . mark", ports, count, print_out);
    add_adverts(out, ports, count);
    add_set(out, "map adverts { type ifname : verdict", ports, count,
            print_advert);
    buffer_add_text(out, chains);
    buffer_printf(out, "table inet %s {\n", prefix);
    buffer_add_text(out, router);
}

static int
run_nft(const struct network *network, const char *const *argv,
        const struct buffer *input, struct buffer *output, struct error *err)
{
    struct process process = { .argv = argv,
                               .netns_fd = network->router_fd,
                               .pass_fd = -1 };

    return process_run(&process, input != NULL ? input->bytes : NULL,
                       input != NULL ? input->size : 0, output, NFT_TIMEOUT_MS,
                       err);
}

/* Whether set `name` of the listing has exactly `count` elements and each
 * port's key is one of them. */
static bool
has_ports(const json_t *set, const struct network_port *ports, size_t count)
{
    const json_t *elements = json_object_get(set, "elem");

    if (json_array_size(elements) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        struct network_names names;
        char link[NAME_MAX_LINK];
        bool found = false;
        json_t *item;
        size_t k;

        network_describe(ports[i], &names);
        link_of(ports[i], link);
        json_array_foreach(elements, k, item)
        {
            const json_t *parts = json_object_get(item, "concat");
            const char *a = json_string_value(json_array_get(parts, 0));
            const char *b = json_string_value(json_array_get(parts, 1));
            const char *c = json_string_value(json_array_get(parts, 2));

            found |= a != NULL && b != NULL && c != NULL &&
                     strcmp(a, link) == 0 && strcmp(b, names.mac) == 0 &&
                     (strcmp(c, names.address) == 0 ||
                      strcmp(c, names.address6) == 0);
        }
        if (!found)
            return false;
    }
    return true;
}

/* Every base chain drops, and both address sets hold the ports. */
static int
verify(const struct network *network, struct error *err)
{
    scoped_buffer output = { 0 };
    scoped_json listing = NULL;
    int sets = 0;
    int drops = 0;
    json_t *item;
    size_t i;

    if (run_nft(network,
                (const char *const[]){ "/usr/sbin/nft", "-j", "list", "ruleset",
                                       NULL },
                NULL, &output, err) != 0)
        return -1;
    listing = json_loadb(output.bytes, output.size, 0, NULL);
    json_array_foreach(json_object_get(listing, "nftables"), i, item)
    {
        const json_t *set = json_object_get(item, "set");
        const json_t *chain = json_object_get(item, "chain");
        const char *name = json_string_value(json_object_get(set, "name"));
        const char *policy =
            json_string_value(json_object_get(chain, "policy"));

        if (policy != NULL)
            drops += strcmp(policy, "drop") == 0 ? 1 : -100;
        if (name != NULL &&
            (strcmp(name, "port4") == 0 || strcmp(name, "port6") == 0))
            sets += has_ports(set, network->ports, network->count) ? 1 : -100;
    }
    if (sets != 2 || drops != 7)
        return error_set(err, ERROR_INTERNAL,
                         "network: the rules read back are not those "
                         "written");
    return 0;
}

static int
apply(const struct network *network, struct error *err)
{
    scoped_buffer rules = { 0 };

    network_rules(network->policy->prefix, network->ports, network->count,
                  &rules);
    if (run_nft(network,
                (const char *const[]){ "/usr/sbin/nft", "-f", "-", NULL },
                &rules, NULL, err) != 0)
        return error_prefix(err, "network rules");
    return verify(network, err);
}

/* --- one port --- */

/* What network_rules says of one port, added to or taken out of the rules that
 * are there: whole rulesets that replace each other stop all processors. */
void
network_port_rules(const char *prefix, struct network_port port, bool add,
                   struct buffer *out)
{
    static const struct {
        const char *set;
        void (*print)(struct buffer *, const char *, struct network_port,
                      const struct network_names *);
    } sets[] = { { "ports", print_port },     { "port4", print_port4 },
                 { "port6", print_port6 },    { "tenants", print_tenant },
                 { "outs", print_out },       { "adverts", print_advert } };
    struct network_names names;
    char link[NAME_MAX_LINK];

    network_describe(port, &names);
    link_of(port, link);
    if (add)
        add_advert_rules(out, prefix, port);
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        buffer_printf(out, "%s element bridge %s %s { ",
                      add ? "add" : "delete", prefix, sets[i].set);
        sets[i].print(out, link, port, &names);
        buffer_add_text(out, " }\n");
    }
    if (!add)
        buffer_printf(out, "delete chain bridge %s a_%s\n", prefix, link);
}

/* The kernel tells what it has taken: both addresses are among it. */
static bool
echoes_port(const struct buffer *output, struct network_port port)
{
    scoped_json told = json_loadb(buffer_text(output), output->size,
                                  JSON_DISABLE_EOF_CHECK, NULL);
    int sets = 0;
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(told, "nftables"), i, item)
    {
        const json_t *element =
            json_object_get(json_object_get(item, "add"), "element");
        const char *name =
            json_string_value(json_object_get(element, "name"));
        scoped_json set =
            json_pack("{s:O?}", "elem",
                      json_object_get(json_object_get(element, "elem"), "set"));

        if (name != NULL &&
            (strcmp(name, "port4") == 0 || strcmp(name, "port6") == 0))
            sets += has_ports(set, &port, 1);
    }
    return sets == 2;
}

static int
change_port(const struct network *network, struct network_port port, bool add)
{
    scoped_buffer rules = { 0 };
    scoped_buffer output = { 0 };
    struct error ignored = { 0 };

    network_port_rules(network->policy->prefix, port, add, &rules);
    if (run_nft(network,
                (const char *const[]){ "/usr/sbin/nft", "-e", "-j", "-f", "-",
                                       NULL },
                &rules, &output, &ignored) != 0)
        return -1;
    return !add || echoes_port(&output, port) ? 0 : -1;
}

/* What the rules are to be is in network->ports already: where they are other
 * than they should be, all of them are made anew. */
static int
apply_port(const struct network *network, struct network_port port, bool add,
           struct error *err)
{
    return change_port(network, port, add) == 0 ? 0 : apply(network, err);
}

static void
place_of(const struct policy *policy, const char *name,
         char path[NETWORK_PATH_MAX])
{
    (void)snprintf(path, NETWORK_PATH_MAX, "%s/netns/%.80s", policy->state_dir,
                   name);
}

int
network_make(const struct policy *policy, const char *name,
             char path[NETWORK_PATH_MAX], struct error *err)
{
    scoped_fd fd = -1;
    scoped_fd home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    int result;

    place_of(policy, name, path);
    if (remove_is_mount(path))
        return 0;
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || home < 0 || unshare(CLONE_NEWNET) != 0)
        return error_set(err, ERROR_INTERNAL, "make a network: %s",
                         strerror(errno));
    result = mount("/proc/thread-self/ns/net", path, NULL, MS_BIND, NULL);
    if (result != 0)
        (void)error_set(err, ERROR_INTERNAL, "keep a network: %s",
                        strerror(errno));
    /* A thread left in the wrong network would serve others from there. */
    if (setns(home, CLONE_NEWNET) != 0)
        abort();
    return result;
}

/* Bridged frames are judged by the bridge table alone. */
static int
set_router(int router_fd, struct error *err)
{
    static const char *const paths[] = {
        "net/bridge/bridge-nf-call-iptables",
        "net/bridge/bridge-nf-call-ip6tables",
        "net/bridge/bridge-nf-call-arptables",
    };

    for (size_t i = 0; i < 3; i++)
        if (netlink_setting(router_fd, paths[i], "0", err) != 0)
            return -1;
    return 0;
}

static int
prepare_router(struct network *network, struct error *err)
{
    char path[NETWORK_PATH_MAX];

    if (network_make(network->policy, "router", path, err) != 0)
        return -1;
    network->router_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (network->router_fd < 0)
        return error_set(err, ERROR_INTERNAL, "open the router: %s",
                         strerror(errno));
    if (set_router(network->router_fd, err) != 0)
        return -1;
    network->link_fd = netlink_open(network->router_fd, err);
    return network->link_fd < 0 ? -1 : 0;
}

int
network_open(struct network *network, const struct policy *policy,
             const struct network_port *ports, size_t count, struct error *err)
{
    char path[NETWORK_PATH_MAX];

    *network =
        (struct network){ .policy = policy, .router_fd = -1, .link_fd = -1 };
    (void)pthread_mutex_init(&network->lock, NULL);
    place_of(policy, "", path);
    path[strlen(path) - 1] = '\0';
    if (file_make_directory(path, 0711, err) != 0)
        goto fail;
    network->ports = memory_new(count + 1, sizeof(*ports));
    if (count > 0)
        memcpy(network->ports, ports, count * sizeof(*ports));
    network->count = count;
    if (prepare_router(network, err) != 0 || apply(network, err) != 0)
        goto fail;
    return 0;
fail:
    network_close(network);
    return -1;
}

void
network_close(struct network *network)
{
    if (network->router_fd >= 0)
        (void)close(network->router_fd);
    if (network->link_fd >= 0)
        (void)close(network->link_fd);
    free(network->ports);
    network->ports = NULL;
    network->router_fd = -1;
    network->link_fd = -1;
    (void)pthread_mutex_destroy(&network->lock);
}

static size_t
find(const struct network *network, struct network_port port)
{
    size_t i = 0;

    while (i < network->count && (network->ports[i].tenant != port.tenant ||
                                  network->ports[i].address != port.address))
        i++;
    return i;
}

static void
forget(struct network *network, struct network_port port)
{
    size_t at = find(network, port);

    if (at < network->count)
        network->ports[at] = network->ports[--network->count];
}

/* Ports below 1024 and ping need no rights in a network of one's own. */
static int
set_settings(int netns_fd, struct error *err)
{
    if (netlink_setting(netns_fd, "net/ipv4/ip_unprivileged_port_start", "0",
                        err) != 0 ||
        netlink_setting(netns_fd, "net/ipv4/ping_group_range", "0 2147483647",
                        err) != 0)
        return -1;
    return 0;
}

/* The instance's side: addresses while the link is down, then up. */
static int
set_inside(struct network_port port, int netns_fd, struct error *err)
{
    scoped_fd fd = netlink_open(netns_fd, err);
    uint32_t four = htonl(ipv4_of(port));
    struct in6_addr six;

    ipv6_of(port, &six);
    if (fd < 0 || set_settings(netns_fd, err) != 0 ||
        netlink_set_up(fd, "lo", err) != 0 ||
        netlink_quiet(fd, "eth0", err) != 0 ||
        netlink_add_address(fd, "eth0", AF_INET, &four, 20, err) != 0 ||
        netlink_set_up(fd, "eth0", err) != 0 ||
        netlink_add_address(fd, "eth0", AF_INET6, &six, 64, err) != 0)
        return -1;
    return 0;
}

static int
connect_port(const struct network *network, struct network_port port,
             int netns_fd, struct error *err)
{
    int fd = network->link_fd;
    char bridge[NAME_MAX_LINK];
    char link[NAME_MAX_LINK];
    uint8_t mac[6];

    bridge_of(port, bridge);
    link_of(port, link);
    mac_of(port, mac);
    if (netlink_add_bridge(fd, bridge, err) != 0 ||
        netlink_quiet(fd, bridge, err) != 0 ||
        netlink_set_up(fd, bridge, err) != 0 ||
        netlink_delete(fd, link, err) != 0 ||
        netlink_add_pair(fd, link, bridge, netns_fd, mac, err) != 0 ||
        netlink_quiet(fd, link, err) != 0 ||
        set_inside(port, netns_fd, err) != 0 ||
        netlink_set_up(fd, link, err) != 0)
        return -1;
    return 0;
}

int
network_join(struct network *network, struct network_port port,
             const char *path, struct error *err)
{
    scoped_fd netns_fd = open(path, O_RDONLY | O_CLOEXEC);
    int result = 0;

    if (netns_fd < 0)
        return error_set(err, ERROR_INTERNAL, "open a network: %s",
                         strerror(errno));
    (void)pthread_mutex_lock(&network->lock);
    if (find(network, port) == network->count) {
        network->ports = memory_grow(network->ports, network->count + 1,
                                     sizeof(*network->ports));
        network->ports[network->count++] = port;
    }
    result = apply_port(network, port, true, err);
    if (result == 0)
        result = connect_port(network, port, netns_fd, err);
    if (result != 0) {
        forget(network, port);
        (void)change_port(network, port, false);
    }
    (void)pthread_mutex_unlock(&network->lock);
    return result;
}

int
network_limit(struct network *network, struct network_port port,
              const char *name, int64_t bytes, struct error *err)
{
    char path[NETWORK_PATH_MAX];
    char link[NAME_MAX_LINK];
    scoped_fd netns_fd = -1;
    scoped_fd inside = -1;
    int result;

    place_of(network->policy, name, path);
    netns_fd = open(path, O_RDONLY | O_CLOEXEC);
    if (netns_fd < 0)
        return error_set(err, ERROR_INTERNAL, "open a network: %s",
                         strerror(errno));
    inside = netlink_open(netns_fd, err);
    if (inside < 0 || netlink_limit(inside, "eth0", bytes, err) != 0)
        return -1;
    link_of(port, link);
    (void)pthread_mutex_lock(&network->lock);
    result = netlink_limit(network->link_fd, link, bytes, err);
    (void)pthread_mutex_unlock(&network->lock);
    return result;
}

int
network_watch(const struct network *network)
{
    struct error ignored;

    return netlink_open(network->router_fd, &ignored);
}

/* The router's end receives what the instance sends. */
void
network_count(int watch_fd, struct network_port port, int64_t *received_out,
              int64_t *sent_out)
{
    char link[NAME_MAX_LINK];

    link_of(port, link);
    /* NOLINTNEXTLINE(readability-suspicious-call-argument): the other end */
    netlink_count(watch_fd, link, sent_out, received_out);
}

/* The tenant's bridge goes with its last port. */
static int
drop_bridge(const struct network *network, struct network_port port,
            struct error *err)
{
    char bridge[NAME_MAX_LINK];

    for (size_t i = 0; i < network->count; i++)
        if (network->ports[i].tenant == port.tenant)
            return 0;
    bridge_of(port, bridge);
    return netlink_delete(network->link_fd, bridge, err);
}

int
network_leave(struct network *network, struct network_port port,
              const char *name, struct error *err)
{
    char path[NETWORK_PATH_MAX];
    char link[NAME_MAX_LINK];
    int result;

    place_of(network->policy, name, path);
    (void)pthread_mutex_lock(&network->lock);
    link_of(port, link);
    result = netlink_delete(network->link_fd, link, err);
    if (result == 0 && find(network, port) < network->count) {
        forget(network, port);
        result = apply_port(network, port, false, err);
    }
    if (result == 0)
        result = drop_bridge(network, port, err);
    (void)pthread_mutex_unlock(&network->lock);
    remove_mounts(path);
    (void)unlink(path);
    return result;
}
