/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packets probe SECONDS ADDRESS...: what an instance without rights can send:
 *     datagrams (DNS, any port, multicast) and connections, from its first
 *     instruction on.
 * packets forge LINK SECONDS VICTIM OTHER OWN: raw frames to the victim and to
 *     all, in OTHER's name or in no form that the network has: ARP, IPv4, DNS,
 *     IPv6, neighbour and router adverts (behind extension headers too), VLAN,
 *     spanning tree, unknown.  Each party is MAC IPV4 IPV6.
 * packets listen LINK|any SECONDS MAC...: what arrives or leaves there.
 *     Prints `frames N foreign N`: foreign is what carries the word of the
 *     other two commands in a place where it must not, or comes from a
 *     hardware address of instances that is not listed; the first is shown.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* Sent by forge; never to be seen.  Sent by probe: only by who is listed. */
static const char forged[] = "forged-by-a-stranger";
static const char probed[] = "asked-by-a-stranger";
static const uint8_t instances[] = { 0x02, 0x62, 0x68 }; /* their addresses */

static double
now(void)
{
    struct timespec time;

    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* --- probe --- */

static void
probe_one(const char *text, int port, int type)
{
    struct sockaddr_in four = { .sin_family = AF_INET };
    struct sockaddr_in6 six = { .sin6_family = AF_INET6 };
    bool is_six = strchr(text, ':') != NULL;
    int fd = socket(is_six ? AF_INET6 : AF_INET, type | SOCK_NONBLOCK, 0);
    int on = 1;

    four.sin_port = six.sin6_port = htons((uint16_t)port);
    (void)setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof(on));
    if (is_six) {
        six.sin6_scope_id = if_nametoindex("eth0");
        (void)inet_pton(AF_INET6, text, &six.sin6_addr);
        (void)connect(fd, (struct sockaddr *)&six, sizeof(six));
    } else {
        (void)inet_pton(AF_INET, text, &four.sin_addr);
        (void)connect(fd, (struct sockaddr *)&four, sizeof(four));
    }
    if (type == SOCK_DGRAM)
        (void)send(fd, probed, sizeof(probed), MSG_NOSIGNAL);
    (void)close(fd);
}

static int
probe(double seconds, char **addresses)
{
    static const int ports[] = { 53, 80, 5353, 67, 547, 443 };
    double end = now() + seconds;
    long rounds = 0;

    do {
        for (char **at = addresses; *at != NULL; at++)
            for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
                probe_one(*at, ports[i], SOCK_DGRAM);
                probe_one(*at, ports[i], SOCK_STREAM);
            }
        rounds++;
    } while (now() < end);
    printf("probed %ld\n", rounds);
    return 0;
}

/* --- forge --- */

struct party {
    uint8_t mac[6];
    uint8_t four[4];
    uint8_t six[16];
};

struct frame {
    uint8_t bytes[256];
    size_t size;
};

static void
add(struct frame *frame, const void *bytes, size_t size)
{
    memcpy(frame->bytes + frame->size, bytes, size);
    frame->size += size;
}

static void
begin(struct frame *frame, const uint8_t to[6], const uint8_t from[6],
      unsigned kind)
{
    uint8_t type[] = { (uint8_t)(kind >> 8), (uint8_t)kind };

    frame->size = 0;
    add(frame, to, 6);
    add(frame, from, 6);
    add(frame, type, 2);
}

static void
add_arp(struct frame *frame, int what, const struct party *from,
        const struct party *to)
{
    uint8_t head[] = { 0, 1, 8, 0, 6, 4, 0, (uint8_t)what };

    add(frame, head, sizeof(head));
    add(frame, from->mac, 6);
    add(frame, from->four, 4);
    add(frame, to->mac, 6);
    add(frame, to->four, 4);
    add(frame, forged, sizeof(forged));
}

static uint16_t
sum(const void *bytes, size_t size, uint32_t start)
{
    const uint8_t *at = bytes;
    uint32_t total = start;

    for (size_t i = 0; i + 1 < size; i += 2)
        total += (uint32_t)(at[i] << 8 | at[i + 1]);
    if (size % 2 != 0)
        total += (uint32_t)(at[size - 1] << 8);
    while (total >> 16 != 0)
        total = (total & 0xFFFF) + (total >> 16);
    return (uint16_t)~total;
}

static void
add_udp(struct frame *frame, int port)
{
    uint8_t head[8] = { 0xC0, 0, (uint8_t)(port >> 8), (uint8_t)port, 0,
                        8 + sizeof(forged), 0, 0 };

    add(frame, head, sizeof(head));
    add(frame, forged, sizeof(forged));
}

static void
add_four(struct frame *frame, const uint8_t from[4], const uint8_t to[4],
         int port)
{
    uint8_t head[20] = { 0x45, 0, 0, 28 + sizeof(forged), 0, 1, 0, 0, 64, 17 };
    uint16_t check;

    memcpy(head + 12, from, 4);
    memcpy(head + 16, to, 4);
    check = sum(head, sizeof(head), 0);
    head[10] = (uint8_t)(check >> 8);
    head[11] = (uint8_t)check;
    add(frame, head, sizeof(head));
    add_udp(frame, port);
}

static void
add_six(struct frame *frame, const uint8_t from[16], const uint8_t to[16],
        int next, size_t size)
{
    uint8_t head[8] = { 0x60, 0, 0, 0, 0, (uint8_t)size, (uint8_t)next, 255 };

    add(frame, head, sizeof(head));
    add(frame, from, 16);
    add(frame, to, 16);
}

/* kind: of ICMPv6; extension: 0, or a header in front (256: hop by hop, 60:
 * destination, 44: fragment). */
static void
add_advert(struct frame *frame, int kind, int extension, const uint8_t from[16],
           const uint8_t to[16], const struct party *about)
{
    uint8_t in_front[8] = { 58, 0, 1, 4, 0, 0, 0, 0 };
    uint8_t body[32] = { (uint8_t)kind, 0, 0, 0, 0x20 };
    size_t size = sizeof(body) + sizeof(forged);
    uint8_t pseudo[40] = { 0 };
    uint8_t whole[32 + sizeof(forged)];
    uint16_t check;

    memcpy(body + 8, about->six, 16);
    body[24] = 2;
    body[25] = 1;
    memcpy(body + 26, about->mac, 6);
    memcpy(whole, body, 32);
    memcpy(whole + 32, forged, sizeof(forged));
    memcpy(pseudo, from, 16);
    memcpy(pseudo + 16, to, 16);
    pseudo[35] = (uint8_t)size;
    pseudo[39] = 58;
    check = sum(whole, size, (uint16_t)~sum(pseudo, sizeof(pseudo), 0));
    whole[2] = (uint8_t)(check >> 8);
    whole[3] = (uint8_t)check;
    if (extension == 44)
        in_front[2] = in_front[3] = 0;
    add_six(frame, from, to, extension == 0 ? 58 : extension & 0xFF,
            size + (extension != 0 ? 8 : 0));
    if (extension != 0)
        add(frame, in_front, 8);
    add(frame, whole, size);
}

static const uint8_t all[6] = { 255, 255, 255, 255, 255, 255 };
static const uint8_t all_nodes[6] = { 0x33, 0x33, 0, 0, 0, 1 };
static const uint8_t all_nodes_six[16] = { 0xFF, 2, [15] = 1 };
static const uint8_t spanning[6] = { 1, 0x80, 0xC2 };
static const uint8_t gateway[4] = { 10, 0, 112, 1 };

#define FORGERIES 22

static void
make_vlan(struct frame *frame, unsigned kind, const struct party *other,
          const struct party *victim)
{
    uint8_t tag[] = { 0, 7, 8, 0 };

    begin(frame, victim->mac, other->mac, kind);
    add(frame, tag, sizeof(tag));
    add_four(frame, other->four, victim->four, 53);
}

static void
make_adverts(struct frame *frame, int which, const struct party *own,
             const struct party *other)
{
    static const int kinds[] = { 136, 134, 137 };
    static const int extensions[] = { 0, 256, 60, 44 };
    int kind = kinds[which / 4 % 3];

    begin(frame, all_nodes, own->mac, 0x86DD);
    add_advert(frame, kind, extensions[which % 4], own->six, all_nodes_six,
               other);
}

static void
make(struct frame *frame, int which, const struct party *own,
     const struct party *other, const struct party *victim)
{
    switch (which) {
    case 0:
        begin(frame, all, other->mac, 0x0806);
        add_arp(frame, 1, other, victim);
        break;
    case 1: /* I am it, says its own hardware address */
        begin(frame, victim->mac, own->mac, 0x0806);
        add_arp(frame, 2, &(struct party){ .mac = { own->mac[0], own->mac[1],
                                                    own->mac[2], own->mac[3],
                                                    own->mac[4], own->mac[5] },
                                           .four = { other->four[0],
                                                     other->four[1],
                                                     other->four[2],
                                                     other->four[3] } },
                victim);
        break;
    case 2:
        begin(frame, victim->mac, other->mac, 0x0800);
        add_four(frame, other->four, victim->four, 53);
        break;
    case 3:
        begin(frame, all, own->mac, 0x0800);
        add_four(frame, gateway, victim->four, 53);
        break;
    case 4:
        begin(frame, victim->mac, other->mac, 0x86DD);
        add_six(frame, other->six, victim->six, 17, 8 + sizeof(forged));
        add_udp(frame, 53);
        break;
    case 5:
        make_vlan(frame, 0x8100, other, victim);
        break;
    case 6:
        make_vlan(frame, 0x88A8, other, victim);
        break;
    case 7:
        begin(frame, spanning, own->mac, 38);
        add(frame, "\x42\x42\x03", 3);
        add(frame, forged, sizeof(forged));
        break;
    case 8:
        begin(frame, all, own->mac, 0x88B5);
        add(frame, forged, sizeof(forged));
        break;
    case 9:
        begin(frame, victim->mac, own->mac, 0x86DD);
        add_six(frame, other->six, victim->six, 17, 8 + sizeof(forged));
        add_udp(frame, 53);
        break;
    default:
        make_adverts(frame, which - 10, own, other);
    }
}

static int
read_mac(const char *text, uint8_t mac[6])
{
    return sscanf(text, "%hhx:%hhx:%hhx:%hhx:%hhx:%hhx", &mac[0], &mac[1],
                  &mac[2], &mac[3], &mac[4], &mac[5]) == 6 ? 0 : -1;
}

static int
read_party(char **texts, struct party *party)
{
    return read_mac(texts[0], party->mac) == 0 &&
                   inet_pton(AF_INET, texts[1], party->four) == 1 &&
                   inet_pton(AF_INET6, texts[2], party->six) == 1
               ? 0
               : -1;
}

static int
forge(const char *link, double seconds, char **parties)
{
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll to = { .sll_family = AF_PACKET,
                              .sll_ifindex = (int)if_nametoindex(link) };
    struct party victim, other, own;
    double end = now() + seconds;
    long sent = 0;

    if (fd < 0 || read_party(parties, &victim) != 0 ||
        read_party(parties + 3, &other) != 0 ||
        read_party(parties + 6, &own) != 0)
        return 2;
    do {
        for (int i = 0; i < FORGERIES; i++) {
            struct frame frame;

            make(&frame, i, &own, &other, &victim);
            sent += sendto(fd, frame.bytes, frame.size, 0,
                           (struct sockaddr *)&to, sizeof(to)) > 0;
        }
        usleep(1000);
    } while (now() < end);
    printf("forged %ld\n", sent);
    return 0;
}

/* --- listen --- */

static bool
is_listed(const uint8_t mac[6], char **listed)
{
    uint8_t known[6];

    for (; *listed != NULL; listed++)
        if (read_mac(*listed, known) == 0 && memcmp(known, mac, 6) == 0)
            return true;
    return false;
}

static bool
is_foreign(const uint8_t *frame, size_t size, char **listed)
{
    if (size < 14 || memmem(frame, size, forged, sizeof(forged) - 1) != NULL)
        return true;
    if (is_listed(frame + 6, listed))
        return false;
    return memcmp(frame + 6, instances, 3) == 0 ||
           memmem(frame, size, probed, sizeof(probed) - 1) != NULL;
}

static void
show(const uint8_t *frame, size_t size)
{
    fprintf(stderr, "foreign:");
    for (size_t i = 0; i < size && i < 100; i++)
        fprintf(stderr, " %02x", frame[i]);
    fprintf(stderr, "\n");
}

static int
listen_at(const char *link, double seconds, char **listed)
{
    int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
    struct sockaddr_ll at = { .sll_family = AF_PACKET,
                              .sll_protocol = htons(ETH_P_ALL) };
    struct timeval patience = { .tv_usec = 100000 };
    double end = now() + seconds;
    long frames = 0, foreign = 0;

    if (strcmp(link, "any") != 0)
        at.sll_ifindex = (int)if_nametoindex(link);
    if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        return 2;
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    while (now() < end) {
        uint8_t frame[2048];
        ssize_t got = recv(fd, frame, sizeof(frame), 0);

        if (got < 0)
            continue;
        frames++;
        if (is_foreign(frame, (size_t)got, listed) && foreign++ == 0)
            show(frame, (size_t)got);
    }
    printf("frames %ld foreign %ld\n", frames, foreign);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc > 3 && strcmp(argv[1], "probe") == 0)
        return probe(atof(argv[2]), argv + 3);
    if (argc == 13 && strcmp(argv[1], "forge") == 0)
        return forge(argv[2], atof(argv[3]), argv + 4);
    if (argc > 3 && strcmp(argv[1], "listen") == 0)
        return listen_at(argv[2], atof(argv[3]), argv + 4);
    return 2;
}
