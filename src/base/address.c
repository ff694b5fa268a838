/* SPDX-License-Identifier: Apache-2.0 */
#include "base/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>

#define ITEM_MAX 64

struct block {
    const char *network;
    unsigned bits;
    enum address_kind kind;
};

/* In this order: the first block that holds an address says what it is. */
static const struct block blocks4[] = {
    { "100.100.100.200", 32, ADDRESS_NEVER }, /* metadata, in CGNAT */
    { "168.63.129.16", 32, ADDRESS_NEVER },   /* metadata, among public ones */
    { "0.0.0.0", 8, ADDRESS_NEVER },
    { "10.0.0.0", 8, ADDRESS_PRIVATE },
    { "100.64.0.0", 10, ADDRESS_PRIVATE },
    { "127.0.0.0", 8, ADDRESS_LOOPBACK },
    { "169.254.0.0", 16, ADDRESS_NEVER }, /* link-local; metadata */
    { "172.16.0.0", 12, ADDRESS_PRIVATE },
    { "192.0.0.0", 24, ADDRESS_NEVER },
    { "192.0.2.0", 24, ADDRESS_NEVER },
    { "192.88.99.0", 24, ADDRESS_NEVER }, /* relays of 6to4 */
    { "192.168.0.0", 16, ADDRESS_PRIVATE },
    { "198.18.0.0", 15, ADDRESS_PRIVATE },
    { "198.51.100.0", 24, ADDRESS_NEVER },
    { "203.0.113.0", 24, ADDRESS_NEVER },
    { "224.0.0.0", 3, ADDRESS_NEVER }, /* multicast, reserved, broadcast */
};

/* What is not named here is public within 2000::/3 and nobody's outside. */
static const struct block blocks6[] = {
    { "::1", 128, ADDRESS_LOOPBACK },
    { "fd00:ec2::254", 128, ADDRESS_NEVER }, /* metadata */
    { "fd20:ce::254", 128, ADDRESS_NEVER },  /* metadata */
    { "fc00::", 7, ADDRESS_PRIVATE },
    { "2001::", 23, ADDRESS_NEVER }, /* Teredo, ORCHID, protocols */
    { "2001:db8::", 32, ADDRESS_NEVER },
    { "2002::", 16, ADDRESS_NEVER }, /* 6to4 */
    { "3fff::", 20, ADDRESS_NEVER },
    { "2000::", 3, ADDRESS_PUBLIC },
};

static bool
holds(const uint8_t *network, unsigned bits, const uint8_t *bytes)
{
    unsigned whole = bits / 8, rest = bits % 8;

    if (memcmp(network, bytes, whole) != 0)
        return false;
    return rest == 0 || ((network[whole] ^ bytes[whole]) >> (8 - rest)) == 0;
}

enum address_kind
address_kind(const struct address *address)
{
    bool four = address->size == 4;
    const struct block *blocks = four ? blocks4 : blocks6;
    size_t count = four ? sizeof(blocks4) / sizeof(*blocks4)
                        : sizeof(blocks6) / sizeof(*blocks6);
    struct address network;

    for (size_t i = 0; i < count; i++)
        if (address_parse(blocks[i].network, &network) &&
            holds(network.bytes, blocks[i].bits, address->bytes))
            return blocks[i].kind;
    return four ? ADDRESS_PUBLIC : ADDRESS_NEVER;
}

/* ::ffff:a.b.c.d is a.b.c.d to every rule. */
static void
unmap(struct address *address)
{
    static const uint8_t mapped[12] = { [10] = 0xFF, [11] = 0xFF };

    if (address->size != 16 ||
        memcmp(address->bytes, mapped, sizeof(mapped)) != 0)
        return;
    memmove(address->bytes, address->bytes + 12, 4);
    address->size = 4;
}

bool
address_of(const struct sockaddr *socket, struct address *out)
{
    /* By bytes, since a struct sockaddr is aligned for none of the two. */
    const char *bytes = (const void *)socket;

    memset(out, 0, sizeof(*out));
    if (socket->sa_family == AF_INET) {
        out->size = 4;
        memcpy(out->bytes, bytes + offsetof(struct sockaddr_in, sin_addr), 4);
    } else if (socket->sa_family == AF_INET6) {
        out->size = 16;
        memcpy(out->bytes, bytes + offsetof(struct sockaddr_in6, sin6_addr),
               16);
    }
    unmap(out);
    return out->size != 0;
}

bool
address_parse(const char *text, struct address *out)
{
    memset(out, 0, sizeof(*out));
    if (inet_pton(AF_INET, text, out->bytes) == 1)
        out->size = 4;
    else if (inet_pton(AF_INET6, text, out->bytes) == 1)
        out->size = 16;
    unmap(out);
    return out->size != 0;
}

/* --- lists of networks --- */

struct network {
    struct address address;
    unsigned bits;
};

static bool
parse_network(char *text, struct network *out)
{
    char *slash = strchr(text, '/');
    const char *at = slash;
    unsigned bits = 0;

    if (slash != NULL)
        *slash = '\0';
    if (!address_parse(text, &out->address))
        return false;
    out->bits = out->address.size * 8;
    if (slash == NULL)
        return true;
    while (*++at >= '0' && *at <= '9' && bits < 1000)
        bits = bits * 10 + (unsigned)(*at - '0');
    if (at == slash + 1 || *at != '\0' || bits > out->bits)
        return false;
    out->bits = bits;
    return true;
}

/* Takes the next item; 1, 0 at the end, -1 when it cannot be read. */
static int
next(const char **list, struct network *out)
{
    char item[ITEM_MAX];
    size_t size;

    *list += strspn(*list, " ");
    if (**list == '\0')
        return 0;
    size = strcspn(*list, ", ");
    if (size == 0 || size >= sizeof(item))
        return -1;
    memcpy(item, *list, size);
    item[size] = '\0';
    *list += size;
    *list += strspn(*list, " ");
    if (**list == ',' && (*list)[1] != '\0')
        (*list)++;
    else if (**list != '\0')
        return -1;
    return parse_network(item, out) ? 1 : -1;
}

bool
address_in(const char *networks, const struct address *address)
{
    struct network network;
    bool found = false;
    int more;

    while ((more = next(&networks, &network)) == 1)
        found = found || (network.address.size == address->size &&
                          holds(network.address.bytes, network.bits,
                                address->bytes));
    return more == 0 && found;
}

int
address_check_list(const char *networks, struct error *err)
{
    const char *at = networks;
    struct network network;
    int more;

    while ((more = next(&at, &network)) == 1)
        continue;
    if (more == 0)
        return 0;
    return error_set(err, ERROR_INVALID,
                     "\"%.200s\" is not a list of networks such as "
                     "10.0.0.0/8, fd00:1::/32",
                     networks);
}
