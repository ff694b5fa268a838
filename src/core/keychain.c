/* SPDX-License-Identifier: Apache-2.0 */
#include "core/keychain.h"

#include <string.h>

#define TITLE "bulkhead key rotation v1\n"
static const char dash[] = "\xe2\x80\x94 ";
#define KEY_ID_SIZE 4U
#define TYPE_ED25519 0x01

static void
add_text(struct buffer *out, unsigned number,
         const uint8_t old_key[SIGN_PUBLIC_SIZE],
         const uint8_t new_key[SIGN_PUBLIC_SIZE])
{
    buffer_printf(out, TITLE "%u\n", number);
    base64_encode(out, old_key, SIGN_PUBLIC_SIZE);
    buffer_add_byte(out, '\n');
    base64_encode(out, new_key, SIGN_PUBLIC_SIZE);
    buffer_add_byte(out, '\n');
}

/* Key id of signed-note: over name, newline, type and key. */
static void
key_id(const uint8_t key[SIGN_PUBLIC_SIZE], uint8_t id_out[KEY_ID_SIZE])
{
    static const char name[] = KEYCHAIN_NAME "\n";
    uint8_t tail[1 + SIGN_PUBLIC_SIZE] = { TYPE_ED25519 };
    struct digest digest;

    memcpy(tail + 1, key, SIGN_PUBLIC_SIZE);
    digest_of_two(name, sizeof(name) - 1, tail, sizeof(tail), &digest);
    memcpy(id_out, digest.bytes, KEY_ID_SIZE);
}

static void
add_signature(struct buffer *out, const struct buffer *text,
              const struct sign_key *key)
{
    uint8_t line[KEY_ID_SIZE + SIGN_SIZE];

    key_id(key->public_key, line);
    sign_bytes(key, text->bytes, text->size, line + KEY_ID_SIZE);
    buffer_printf(out, "%s%s ", dash, KEYCHAIN_NAME);
    base64_encode(out, line, sizeof(line));
    buffer_add_byte(out, '\n');
}

void
keychain_add(struct buffer *out, unsigned number,
             const struct sign_key *old_key, const struct sign_key *new_key)
{
    scoped_buffer text = { 0 };

    add_text(&text, number, old_key->public_key, new_key->public_key);
    buffer_add(out, text.bytes, text.size);
    buffer_add_byte(out, '\n');
    add_signature(out, &text, old_key);
    add_signature(out, &text, new_key);
}

/* The next line without its newline. */
static int
next_line(const char **at, const char *end, const char **line, size_t *size)
{
    const char *stop =
        *at < end ? memchr(*at, '\n', (size_t)(end - *at)) : NULL;

    if (stop == NULL)
        return -1;
    *line = *at;
    *size = (size_t)(stop - *at);
    *at = stop + 1;
    return 0;
}

static int
read_number(const char **at, const char *end, unsigned *out)
{
    const char *line;
    size_t size;
    unsigned number = 0;

    if (next_line(at, end, &line, &size) != 0 || size == 0 || size > 4 ||
        *line == '0')
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (line[i] < '0' || line[i] > '9')
            return -1;
        number = 10 * number + (unsigned)(line[i] - '0');
    }
    *out = number;
    return 0;
}

static int
read_key(const char **at, const char *end, uint8_t key[SIGN_PUBLIC_SIZE])
{
    const char *line;
    size_t size;

    return next_line(at, end, &line, &size) == 0 &&
                   base64_decode(line, size, key, SIGN_PUBLIC_SIZE) ==
                       SIGN_PUBLIC_SIZE
               ? 0
               : -1;
}

/* One signature line, by this key over the text. */
static int
read_signature(const char **at, const char *end, const char *text,
               size_t text_size, const uint8_t key[SIGN_PUBLIC_SIZE])
{
    const size_t skip = sizeof(dash) - 1 + sizeof(KEYCHAIN_NAME);
    uint8_t bytes[KEY_ID_SIZE + SIGN_SIZE], id[KEY_ID_SIZE];
    const char *line;
    size_t size;

    key_id(key, id);
    if (next_line(at, end, &line, &size) != 0 || size <= skip ||
        memcmp(line, dash, sizeof(dash) - 1) != 0 ||
        memcmp(line + sizeof(dash) - 1, KEYCHAIN_NAME " ",
               sizeof(KEYCHAIN_NAME)) != 0 ||
        base64_decode(line + skip, size - skip, bytes, sizeof(bytes)) !=
            (int)sizeof(bytes) ||
        memcmp(bytes, id, KEY_ID_SIZE) != 0)
        return -1;
    return sign_check(key, text, text_size, bytes + KEY_ID_SIZE);
}

int
keychain_read(const char *text, size_t size,
              struct keychain_rotation *rotation_out, size_t *used_out,
              struct error *err)
{
    const char *at = text + strlen(TITLE), *end = text + size;
    struct keychain_rotation read = { .number = 0 };
    size_t body;

    if (size < strlen(TITLE) || memcmp(text, TITLE, strlen(TITLE)) != 0 ||
        read_number(&at, end, &read.number) != 0 ||
        read_key(&at, end, read.old_key) != 0 ||
        read_key(&at, end, read.new_key) != 0)
        return error_set(err, ERROR_VERIFY,
                         "key rotation: not of its form");
    body = (size_t)(at - text);
    if (at == end || *at++ != '\n' ||
        read_signature(&at, end, text, body, read.old_key) != 0 ||
        read_signature(&at, end, text, body, read.new_key) != 0)
        return error_set(err, ERROR_VERIFY,
                         "key rotation %u: not signed by the old key and the "
                         "new one",
                         read.number);
    *rotation_out = read;
    *used_out = (size_t)(at - text);
    return 0;
}

static bool
is_known(const struct checkpoint_key *keys, size_t count,
         const uint8_t key[SIGN_PUBLIC_SIZE])
{
    for (size_t i = 0; i < count; i++) {
        if (memcmp(keys[i].public_key, key, SIGN_PUBLIC_SIZE) == 0)
            return true;
    }
    return false;
}

/* In order, and no key twice: who had a stolen old key could else hand over to
 * a key of his own as well. */
static int
check_order(const struct keychain_rotation *seen, unsigned count,
            const struct keychain_rotation *next, struct error *err)
{
    if (next->number != count + 1)
        return error_set(err, ERROR_VERIFY,
                         "key rotation %u stands in the place of %u",
                         next->number, count + 1);
    if (count > 0 && memcmp(seen[count - 1].new_key, next->old_key,
                            SIGN_PUBLIC_SIZE) != 0)
        return error_set(err, ERROR_VERIFY,
                         "key rotation %u is not by the key that rotation %u "
                         "handed over to",
                         next->number, count);
    return 0;
}

int
keychain_follow(const char *notes, size_t size, struct checkpoint_key *keys,
                size_t *count, size_t room, struct error *err)
{
    struct keychain_rotation seen[KEYCHAIN_MAX];
    const char *at = notes, *end = notes + size;
    size_t used = 0;

    for (unsigned i = 0; at < end; i++, at += used) {
        if (i == KEYCHAIN_MAX)
            return error_set(err, ERROR_VERIFY, "too many key rotations");
        if (keychain_read(at, (size_t)(end - at), &seen[i], &used, err) != 0 ||
            check_order(seen, i, &seen[i], err) != 0)
            return -1;
        if (!is_known(keys, *count, seen[i].old_key) ||
            is_known(keys, *count, seen[i].new_key))
            continue;
        if (*count == room)
            return error_set(err, ERROR_TOO_LARGE,
                             "more than %zu keys", room);
        keys[*count] = keys[*count - 1];
        keys[*count].witness = false;
        memcpy(keys[(*count)++].public_key, seen[i].new_key,
               SIGN_PUBLIC_SIZE);
    }
    return 0;
}
