/* SPDX-License-Identifier: Apache-2.0 */
#include "core/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define KEY_ID_SIZE 4U
#define HASH_SIZE ((size_t)2 * KEY_ID_SIZE) /* in hex */
/* Signature types of the signed-note specification. */
#define TYPE_ED25519 0x01
#define TYPE_COSIGNATURE 0x04
#define TIME_SIZE 8U
#define COSIGNATURE_SIZE (KEY_ID_SIZE + TIME_SIZE + SIGN_SIZE)
/* A signature line begins with an em dash and a space. */
static const char dash[] = "\xe2\x80\x94 ";
#define DASH_SIZE (sizeof(dash) - 1)

bool
checkpoint_origin_valid(const char *origin)
{
    size_t size = 0;

    for (; origin[size] != '\0'; size++) {
        if (size + 1 >= RECORD_ORIGIN_MAX || origin[size] <= ' ' ||
            origin[size] > '~' || origin[size] == '+')
            return false;
    }
    return size > 0;
}

static size_t
estate_size(const char *origin)
{
    return strcspn(origin, "~/");
}

static const char *
name_of(const char *origin)
{
    const char *slash = strrchr(origin, '/');

    return slash == NULL ? origin : slash;
}

int64_t
checkpoint_epoch(const char *origin)
{
    const char *at = origin + estate_size(origin);
    int64_t epoch = 0;

    if (*at != '~')
        return 0;
    if (at[1] < '1' || at[1] > '9')
        return -1;
    for (at++; *at >= '0' && *at <= '9'; at++) {
        if (epoch > INT64_MAX / 10 - 1)
            return -1;
        epoch = 10 * epoch + (*at - '0');
    }
    return *at == '/' ? epoch : -1;
}

bool
checkpoint_same_log(const char *a, const char *b)
{
    size_t size = estate_size(a);

    return size == estate_size(b) && memcmp(a, b, size) == 0 &&
           strcmp(name_of(a), name_of(b)) == 0;
}

bool
checkpoint_is_platform(const char *origin)
{
    const char *slash = strrchr(origin, '/');

    return strcmp(slash == NULL ? origin : slash + 1, CHECKPOINT_PLATFORM) ==
           0;
}

void
checkpoint_add_file_name(struct buffer *out, const char *origin)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    for (const char *at = origin; *at != '\0'; at++) {
        if (strchr(plain, *at) != NULL || (*at == '.' && at > origin))
            buffer_add_byte(out, (unsigned char)*at);
        else
            buffer_printf(out, "%%%02X", (unsigned)(unsigned char)*at);
    }
}

void
checkpoint_add_body(struct buffer *out, const struct checkpoint *checkpoint)
{
    buffer_printf(out, "%s\n%" PRIu64 "\n", checkpoint->origin,
                  checkpoint->size);
    base64_encode(out, checkpoint->root.bytes, DIGEST_SIZE);
    buffer_add_byte(out, '\n');
}

static void
key_id(const char *name, uint8_t type, const uint8_t key[SIGN_PUBLIC_SIZE],
       uint8_t id_out[KEY_ID_SIZE])
{
    uint8_t tail[2 + SIGN_PUBLIC_SIZE] = { '\n', type };
    struct digest digest;

    memcpy(tail + 2, key, SIGN_PUBLIC_SIZE);
    digest_of_two(name, strlen(name), tail, sizeof(tail), &digest);
    memcpy(id_out, digest.bytes, KEY_ID_SIZE);
}

static void
add_signature_line(struct buffer *out, const char *name, const uint8_t *bytes,
                   size_t size)
{
    buffer_printf(out, "%s%s ", dash, name);
    base64_encode(out, bytes, size);
    buffer_add_byte(out, '\n');
}

void
checkpoint_sign(struct buffer *out, const struct checkpoint *checkpoint,
                const struct sign_key *key)
{
    uint8_t line[KEY_ID_SIZE + SIGN_SIZE];
    scoped_buffer body = { 0 };

    assert(checkpoint_origin_valid(checkpoint->origin));
    checkpoint_add_body(&body, checkpoint);
    key_id(checkpoint->origin, TYPE_ED25519, key->public_key, line);
    sign_bytes(key, body.bytes, body.size, line + KEY_ID_SIZE);
    buffer_add(out, body.bytes, body.size);
    buffer_add_byte(out, '\n');
    add_signature_line(out, checkpoint->origin, line, sizeof(line));
}

/* The length of the line at text with its newline, 0 when it does not end. */
static size_t
line_size(const char *text, size_t size)
{
    const char *end = size > 0 ? memchr(text, '\n', size) : NULL;

    return end == NULL ? 0 : (size_t)(end - text) + 1;
}

/* Signature lines behind the blank line: their length, 0 when malformed. */
static size_t
signatures_size(const char *text, size_t size)
{
    size_t used = 0;

    while (size - used >= DASH_SIZE &&
           memcmp(text + used, dash, DASH_SIZE) == 0) {
        size_t line = line_size(text + used, size - used);

        if (line == 0)
            return 0;
        used += line;
    }
    return used;
}

/* The body is canonical when writing what was read gives the same bytes; so
 * only one text says one thing. */
size_t
checkpoint_parse_body(const char *text, size_t size,
                      struct checkpoint *checkpoint_out)
{
    size_t name = line_size(text, size), body = name;
    struct checkpoint read = { 0 };
    scoped_buffer head = { 0 }, again = { 0 };
    const char *at;

    if (name < 2 || name > RECORD_ORIGIN_MAX)
        return 0;
    memcpy(read.origin, text, name - 1);
    for (int lines = 0; lines < 2; lines++) {
        size_t line = line_size(text + body, size - body);

        if (line == 0)
            return 0;
        body += line;
    }
    buffer_add(&head, text, body);
    head.bytes[name - 1] = ' ';
    if (strchr(head.bytes + name, '\n') != NULL)
        *strchr(head.bytes + name, '\n') = ' ';
    at = head.bytes;
    if (!checkpoint_origin_valid(read.origin) ||
        record_next_head(&at, read.origin, &read.size, &read.root) != 1)
        return 0;
    checkpoint_add_body(&again, &read);
    if (again.size != body || memcmp(again.bytes, text, body) != 0)
        return 0;
    *checkpoint_out = read;
    return body;
}

int
checkpoint_parse(const char *text, size_t size,
                 struct checkpoint *checkpoint_out, size_t *used_out,
                 struct error *err)
{
    struct checkpoint read = { .size = 0 };
    size_t body = checkpoint_parse_body(text, size, &read);
    size_t signatures = 0;

    if (body > 0 && body < size && text[body] == '\n')
        signatures = signatures_size(text + body + 1, size - body - 1);
    if (signatures == 0 || body + 1 + signatures > CHECKPOINT_NOTE_MAX)
        return error_set(err, ERROR_INVALID,
                         "checkpoint: not a signed note of three lines");
    *checkpoint_out = read;
    *used_out = body + 1 + signatures;
    return 0;
}

/* Finds the next signature line of `name` in the `size` bytes at *at whose
 * payload has exactly `room` bytes and that key id; 1 when found. */
static int
next_signature(const char **at, const char *end, const char *name,
               const uint8_t id[KEY_ID_SIZE], uint8_t *bytes, size_t room)
{
    const size_t name_size = strlen(name);

    while (*at < end) {
        const char *line = *at + DASH_SIZE;
        size_t size = line_size(*at, (size_t)(end - *at));
        const char *stop = *at + size - 1;

        *at += size;
        if ((size_t)(stop - line) <= name_size + 1 ||
            memcmp(line, name, name_size) != 0 || line[name_size] != ' ')
            continue;
        line += name_size + 1;
        if (base64_decode(line, (size_t)(stop - line), bytes, room) ==
                (int)room &&
            memcmp(bytes, id, KEY_ID_SIZE) == 0)
            return 1;
    }
    return 0;
}

int
checkpoint_check(const char *text, size_t size,
                 const uint8_t public_key[SIGN_PUBLIC_SIZE],
                 struct checkpoint *checkpoint_out, size_t *used_out,
                 struct error *err)
{
    uint8_t id[KEY_ID_SIZE], bytes[KEY_ID_SIZE + SIGN_SIZE];
    struct checkpoint read = { .size = 0 };
    scoped_buffer body = { 0 };
    const char *at;
    size_t used = 0;

    if (checkpoint_parse(text, size, &read, &used, err) != 0)
        return -1;
    checkpoint_add_body(&body, &read);
    key_id(read.origin, TYPE_ED25519, public_key, id);
    at = text + body.size + 1;
    while (next_signature(&at, text + used, read.origin, id, bytes,
                          sizeof(bytes))) {
        if (sign_check(public_key, body.bytes, body.size,
                       bytes + KEY_ID_SIZE) != 0)
            continue;
        *checkpoint_out = read;
        *used_out = used;
        return 0;
    }
    return error_set(err, ERROR_VERIFY,
                     "checkpoint: no signature of the signer's key holds");
}

static void
add_cosigned_text(struct buffer *out, const struct checkpoint *checkpoint,
                  uint64_t time_s)
{
    buffer_printf(out, "cosignature/v1\ntime %" PRIu64 "\n", time_s);
    checkpoint_add_body(out, checkpoint);
}

void
checkpoint_cosign(struct buffer *out, const struct checkpoint *checkpoint,
                  const char *witness, const struct sign_key *key,
                  uint64_t time_s)
{
    uint8_t line[COSIGNATURE_SIZE];
    scoped_buffer text = { 0 };

    add_cosigned_text(&text, checkpoint, time_s);
    key_id(witness, TYPE_COSIGNATURE, key->public_key, line);
    for (unsigned i = 0; i < TIME_SIZE; i++)
        line[KEY_ID_SIZE + i] = (uint8_t)(time_s >> (56 - 8 * i));
    sign_bytes(key, text.bytes, text.size, line + KEY_ID_SIZE + TIME_SIZE);
    add_signature_line(out, witness, line, sizeof(line));
}

int
checkpoint_check_cosignature(const char *text, size_t size,
                             const struct checkpoint_key *witness,
                             uint64_t *time_s_out)
{
    uint8_t id[KEY_ID_SIZE], bytes[COSIGNATURE_SIZE];
    struct checkpoint read = { .size = 0 };
    struct error err;
    size_t used = 0;
    const char *at;

    if (checkpoint_parse(text, size, &read, &used, &err) != 0)
        return -1;
    key_id(witness->name, TYPE_COSIGNATURE, witness->public_key, id);
    at = memmem(text, used, "\n\n", 2);
    assert(at != NULL);
    at += 2;
    while (next_signature(&at, text + used, witness->name, id, bytes,
                          sizeof(bytes))) {
        scoped_buffer signed_text = { 0 };
        uint64_t time_s = 0;

        for (unsigned i = 0; i < TIME_SIZE; i++)
            time_s = time_s << 8 | bytes[KEY_ID_SIZE + i];
        add_cosigned_text(&signed_text, &read, time_s);
        if (sign_check(witness->public_key, signed_text.bytes,
                       signed_text.size,
                       bytes + KEY_ID_SIZE + TIME_SIZE) == 0) {
            *time_s_out = time_s;
            return 0;
        }
    }
    return -1;
}

void
checkpoint_add_key(struct buffer *out, const struct checkpoint_key *key)
{
    uint8_t type = key->witness ? TYPE_COSIGNATURE : TYPE_ED25519;
    uint8_t id[KEY_ID_SIZE], bytes[1 + SIGN_PUBLIC_SIZE];
    char hex[HASH_SIZE + 1];

    key_id(key->name, type, key->public_key, id);
    hex_encode(id, KEY_ID_SIZE, hex);
    bytes[0] = type;
    memcpy(bytes + 1, key->public_key, SIGN_PUBLIC_SIZE);
    buffer_printf(out, "%s+%s+", key->name, hex);
    base64_encode(out, bytes, sizeof(bytes));
}

int
checkpoint_parse_key(const char *text, struct checkpoint_key *key_out,
                     struct error *err)
{
    size_t size = strcspn(text, " \t\r\n"), name = strcspn(text, "+");
    size_t at = name + 1 + HASH_SIZE + 1;
    uint8_t id[KEY_ID_SIZE], given[KEY_ID_SIZE];
    uint8_t bytes[1 + SIGN_PUBLIC_SIZE];
    char hex[HASH_SIZE + 1] = { 0 };
    struct checkpoint_key key = { 0 };

    if (size <= at || name >= RECORD_ORIGIN_MAX || text[at - 1] != '+' ||
        text[size + strspn(text + size, " \t\r\n")] != '\0' ||
        base64_decode(text + at, size - at, bytes, sizeof(bytes)) !=
            (int)sizeof(bytes))
        return error_set(err, ERROR_INVALID,
                         "key: not of the form NAME+HASH+BASE64");
    memcpy(key.name, text, name);
    memcpy(key.public_key, bytes + 1, SIGN_PUBLIC_SIZE);
    memcpy(hex, text + name + 1, HASH_SIZE);
    key.witness = bytes[0] == TYPE_COSIGNATURE;
    key_id(key.name, bytes[0], key.public_key, id);
    if ((bytes[0] != TYPE_ED25519 && bytes[0] != TYPE_COSIGNATURE) ||
        !checkpoint_origin_valid(key.name) ||
        hex_decode(hex, given, KEY_ID_SIZE) != 0 ||
        memcmp(id, given, KEY_ID_SIZE) != 0)
        return error_set(err, ERROR_INVALID,
                         "key: the hash is not of this name and key");
    *key_out = key;
    return 0;
}
