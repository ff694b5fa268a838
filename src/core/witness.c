/* SPDX-License-Identifier: Apache-2.0 */
#include "core/witness.h"

#include <inttypes.h>
#include <string.h>

/* A decimal size without leading zeros; 0 or -1. */
static int
parse_size(const char *text, size_t size, uint64_t *out)
{
    uint64_t value = 0;

    if (size == 0 || size > 18 || (size > 1 && text[0] == '0'))
        return -1;
    for (size_t i = 0; i < size; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        value = 10 * value + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return 0;
}

/* The next line without its newline; NULL when none ends. */
static const char *
next_line(const char **at, const char *end, size_t *size_out)
{
    const char *line = *at;
    const char *stop =
        line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;

    if (stop == NULL)
        return NULL;
    *size_out = (size_t)(stop - line);
    *at = stop + 1;
    return line;
}

static int
parse_head(const char **at, const char *end, struct witness_request *out)
{
    size_t size;
    const char *line = next_line(at, end, &size);

    if (line == NULL || size < 5 || memcmp(line, "old ", 4) != 0 ||
        parse_size(line + 4, size - 4, &out->old_size) != 0)
        return -1;
    for (out->proof.count = 0;
         (line = next_line(at, end, &size)) != NULL && size > 0;
         out->proof.count++) {
        if (out->proof.count >= WITNESS_PROOF_MAX ||
            base64_decode(line, size, out->proof.hash[out->proof.count].bytes,
                          DIGEST_SIZE) != DIGEST_SIZE)
            return -1;
    }
    return line == NULL ? -1 : 0;
}

int
witness_parse(const char *text, size_t size,
              struct witness_request *request_out, struct error *err)
{
    const char *at = text, *end = text + size;
    struct witness_request request = { .old_size = 0 };
    size_t used;

    if (size > WITNESS_REQUEST_MAX || parse_head(&at, end, &request) != 0)
        return error_set(err, ERROR_INVALID,
                         "not a request of tlog-witness");
    request.note = at;
    request.note_size = (size_t)(end - at);
    if (checkpoint_parse(at, request.note_size, &request.next, &used, err) !=
        0)
        return -1;
    if (used != request.note_size)
        return error_set(err, ERROR_INVALID,
                         "something stands behind the checkpoint");
    *request_out = request;
    return 0;
}

void
witness_add_request(struct buffer *out, uint64_t old_size,
                    const struct merkle_proof *proof, const char *note,
                    size_t note_size)
{
    buffer_printf(out, "old %" PRIu64 "\n", old_size);
    for (size_t i = 0; i < proof->count; i++) {
        base64_encode(out, proof->hash[i].bytes, DIGEST_SIZE);
        buffer_add_byte(out, '\n');
    }
    buffer_add_byte(out, '\n');
    buffer_add(out, note, note_size);
}

static bool
is_signed(const struct witness_request *request,
          const struct checkpoint_key *keys, size_t key_count)
{
    struct checkpoint read;
    struct error err;
    size_t used;

    for (size_t i = 0; i < key_count; i++) {
        if (checkpoint_check(request->note, request->note_size,
                             keys[i].public_key, &read, &used, &err) == 0)
            return true;
    }
    return false;
}

enum witness_verdict
witness_judge(const struct witness_request *request,
              const struct checkpoint *last,
              const struct checkpoint_key *keys, size_t key_count)
{
    const struct checkpoint *next = &request->next;

    if (!is_signed(request, keys, key_count))
        return WITNESS_UNSIGNED;
    if (request->old_size > next->size)
        return WITNESS_MALFORMED;
    if (request->old_size != last->size)
        return WITNESS_CONFLICT;
    if (next->size == last->size && last->size > 0 &&
        digest_compare(&next->root, &last->root) != 0)
        return WITNESS_CONFLICT;
    if (last->size == 0)
        return request->proof.count == 0 ? WITNESS_COSIGN
                                         : WITNESS_INCONSISTENT;
    return merkle_check_consistency(last->size, &last->root, next->size,
                                    &next->root, request->proof.hash,
                                    request->proof.count)
               ? WITNESS_COSIGN
               : WITNESS_INCONSISTENT;
}
