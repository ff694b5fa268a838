/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/gang.h"

#include "engine/codec.h"

#define INSTANCES_MAX 4096

static const struct codec_field fields[] = {
    CODEC_FIELD(struct gang, number, CODEC_INT, 0, INSTANCES_MAX - 1),
    CODEC_FIELD(struct gang, instances, CODEC_INT, 0, INSTANCES_MAX),
    CODEC_FIELD(struct gang, least, CODEC_INT, 1, INSTANCES_MAX),
    CODEC_FIELD(struct gang, most, CODEC_INT, 1, INSTANCES_MAX),
};
static const struct codec codec = CODEC(struct gang, fields);

json_t *
gang_write(const struct gang *gang)
{
    return codec_write(&codec, gang);
}

int
gang_read(const json_t *object, struct gang *gang_out, struct error *err)
{
    scoped_arena arena = NULL;

    *gang_out = (struct gang){ 0 };
    if (object == NULL || json_is_null(object))
        return 0;
    arena = arena_new();
    return codec_read(arena, &codec, object, gang_out, err);
}
