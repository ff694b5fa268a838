/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/schema.h"

/* Documents of objects, counted by who holds them. */

struct blob *
blob_new(const char *bytes, size_t size)
{
    struct blob *blob = memory_new(1, sizeof(*blob) + size + 1);

    assert(size < UINT32_MAX);
    blob->refs = 1;
    blob->size = (uint32_t)size;
    memcpy(blob->bytes, bytes, size);
    return blob;
}

struct blob *
blob_hold(struct blob *blob)
{
    if (blob != NULL)
        (void)__atomic_add_fetch(&blob->refs, 1, __ATOMIC_RELAXED);
    return blob;
}

void
blob_drop(struct blob *blob)
{
    if (blob != NULL &&
        __atomic_sub_fetch(&blob->refs, 1, __ATOMIC_ACQ_REL) == 0)
        free(blob);
}
