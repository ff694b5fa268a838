/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/message.h"
#include "engine/order.h"
#include "engine/sync.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What can be read can be written, and reads the same again. */
static void
check_sync(struct arena *arena, const char *bytes, size_t size)
{
    struct sync sync, again;
    scoped_buffer first = { 0 };
    scoped_buffer second = { 0 };
    struct error err;

    if (sync_parse(arena, bytes, size, &sync, &err) != 0)
        return;
    sync_write(&first, &sync);
    if (sync_parse(arena, first.bytes, first.size, &again, &err) != 0)
        __builtin_trap();
    sync_write(&second, &again);
    if (first.size != second.size ||
        memcmp(first.bytes, second.bytes, first.size) != 0)
        __builtin_trap();
}

static void
check_order(struct arena *arena, const char *bytes, size_t size)
{
    json_t *document = NULL, *copy = NULL;
    scoped_buffer first = { 0 };
    struct order order, again;
    struct error err;

    if (order_parse(arena, bytes, size, &document, &order, &err) != 0)
        return;
    order_write(&first, &order);
    if (order_parse(arena, first.bytes, first.size, &copy, &again, &err) != 0)
        __builtin_trap();
    json_decref(copy);
    json_decref(document);
}

/* The first byte chooses the reader. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena arena = arena_new();
    struct message_enrol enrol;
    struct message_enrolled enrolled;
    struct order_refusal refusal;
    struct error err;
    const char *bytes = (const char *)data + 1;

    if (size == 0)
        return 0;
    switch (data[0] % 5) {
    case 0:
        check_sync(arena, bytes, size - 1);
        break;
    case 1:
        check_order(arena, bytes, size - 1);
        break;
    case 2:
        (void)message_enrol_parse(arena, bytes, size - 1, &enrol, &err);
        break;
    case 3:
        (void)message_enrolled_parse(arena, bytes, size - 1, &enrolled, &err);
        break;
    default:
        (void)order_refusal_parse(arena, bytes, size - 1, &refusal, &err);
        break;
    }
    return 0;
}
