/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <stdbool.h>
#include <string.h>

static inline uint64_t
rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

static inline void
sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[0] = rotate(v[0], 32);
    v[2] += v[3];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[2] = rotate(v[2], 32);
}

static uint64_t
load_word(const unsigned char *bytes, size_t size)
{
    uint64_t word = 0;

    for (size_t i = 0; i < size; i++)
        word |= (uint64_t)bytes[i] << (8 * i);
    return word;
}

static void
sip_absorb(const struct hash_key *key, const void *bytes, size_t size,
           bool wide, uint64_t v[4])
{
    const unsigned char *at = bytes;
    size_t left = size;
    uint64_t word;

    v[0] = key->k0 ^ 0x736f6d6570736575U;
    v[1] = key->k1 ^ 0x646f72616e646f6dU ^ (wide ? 0xeeU : 0U);
    v[2] = key->k0 ^ 0x6c7967656e657261U;
    v[3] = key->k1 ^ 0x7465646279746573U;
    for (; left >= 8; left -= 8, at += 8) {
        word = load_word(at, 8);
        v[3] ^= word;
        sip_round(v);
        sip_round(v);
        v[0] ^= word;
    }
    word = load_word(at, left) | (uint64_t)size << 56;
    v[3] ^= word;
    sip_round(v);
    sip_round(v);
    v[0] ^= word;
}

static uint64_t
sip_finish(uint64_t v[4])
{
    for (int i = 0; i < 4; i++)
        sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t
hash_bytes(const struct hash_key *key, const void *bytes, size_t size)
{
    uint64_t v[4];

    sip_absorb(key, bytes, size, false, v);
    v[2] ^= 0xffU;
    return sip_finish(v);
}

void
hash_wide(const struct hash_key *key, const void *bytes, size_t size,
          uint64_t *hi_out, uint64_t *lo_out)
{
    uint64_t v[4];

    sip_absorb(key, bytes, size, true, v);
    v[2] ^= 0xeeU;
    *lo_out = sip_finish(v);
    v[1] ^= 0xddU;
    *hi_out = sip_finish(v);
}
