/* SPDX-License-Identifier: Apache-2.0 */
#include "core/network.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <string.h>

#define CIDR_TEXT_MAX 64

struct network {
    uint8_t bytes[16];
    unsigned size; /* 4 or 16 */
    unsigned bits;
};

/* ::ffff:a.b.c.d is a.b.c.d to every rule. */
static void
unmap(struct network *network)
{
    static const uint8_t mapped[12] = { 0, 0, 0, 0, 0,    0,
                                        0, 0, 0, 0, 0xFF, 0xFF };

    if (network->size != 16 || network->bits < 96 ||
        memcmp(network->bytes, mapped, sizeof(mapped)) != 0)
        return;
    memmove(network->bytes, network->bytes + 12, 4);
    network->size = 4;
    network->bits -= 96;
}

/* A decimal of at most three digits; -1 otherwise. */
static int
parse_bits(const char *text)
{
    int bits = 0;
    size_t size = strlen(text);

    if (size == 0 || size > 3)
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        bits = bits * 10 + (text[i] - '0');
    }
    return bits;
}

static bool
host_bits_zero(const struct network *network)
{
    for (unsigned bit = network->bits; bit < network->size * 8; bit++)
        if (((unsigned)network->bytes[bit / 8] >> (7 - bit % 8)) & 1U)
            return false;
    return true;
}

static bool
parse(const char *text, struct network *out)
{
    char copy[CIDR_TEXT_MAX];
    char *slash;
    int bits;

    if (strlen(text) >= sizeof(copy))
        return false;
    memcpy(copy, text, strlen(text) + 1);
    slash = strchr(copy, '/');
    if (slash != NULL)
        *slash = '\0';
    if (inet_pton(AF_INET, copy, out->bytes) == 1)
        out->size = 4;
    else if (inet_pton(AF_INET6, copy, out->bytes) == 1)
        out->size = 16;
    else
        return false;
    bits = slash != NULL ? parse_bits(slash + 1) : (int)out->size * 8;
    if (bits < 0 || bits > (int)out->size * 8)
        return false;
    out->bits = (unsigned)bits;
    unmap(out);
    return host_bits_zero(out);
}

static bool
contains(const struct network *outer, const struct network *inner)
{
    unsigned whole = outer->bits / 8;
    unsigned rest = outer->bits % 8;

    if (outer->size != inner->size || inner->bits < outer->bits ||
        memcmp(outer->bytes, inner->bytes, whole) != 0)
        return false;
    return rest == 0 ||
           ((outer->bytes[whole] ^ inner->bytes[whole]) >> (8 - rest)) == 0;
}

/* Takes the next item; 1, 0 at the end, -1 when it cannot be read. */
static int
next(const char **list, struct network *out)
{
    char item[CIDR_TEXT_MAX];
    size_t size;

    if (*list == NULL)
        return 0;
    *list += strspn(*list, " ");
    size = strcspn(*list, ", ");
    if (size == 0 || size >= sizeof(item))
        return -1;
    memcpy(item, *list, size);
    item[size] = '\0';
    *list += size;
    *list += strspn(*list, " ");
    if (**list == '\0')
        *list = NULL;
    else if (*(*list)++ != ',')
        return -1;
    return parse(item, out) ? 1 : -1;
}

static bool
list_contains(const char *list, const struct network *inner)
{
    struct network outer;
    bool found = false;
    int more;

    while ((more = next(&list, &outer)) == 1)
        found = found || contains(&outer, inner);
    return more == 0 && found;
}

int
network_check(const char *pointer, const char *text, struct error *err)
{
    struct network network;
    const char *list = text;
    int more = 0;

    if (text[0] == '\0')
        return 0;
    while ((more = next(&list, &network)) == 1)
        continue;
    if (more == 0)
        return 0;
    return error_field(err, pointer,
                       "\"%.200s\" is not a list of networks such as "
                       "10.0.0.0/8, 2001:db8::/32",
                       text);
}

bool
network_match(const char *list, const char *address)
{
    struct network network;

    if (list[0] == '\0')
        return true;
    return parse(address, &network) && network.bits == network.size * 8 &&
           list_contains(list, &network);
}

bool
network_within(const char *inner, const char *outer)
{
    struct network network;
    int more;

    if (outer[0] == '\0')
        return true;
    if (inner[0] == '\0')
        return false;
    while ((more = next(&inner, &network)) == 1)
        if (!list_contains(outer, &network))
            return false;
    return more == 0;
}
