/* SPDX-License-Identifier: Apache-2.0 */
#include "core/alarm.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The alarm with that code, standing or cleared, in the set or the world. */
static struct ref
find(const struct changes *changes, struct ref about, const char *code)
{
    const struct alarm *alarm;

    for (size_t i = 0; i < changes->count; i++) {
        const struct change *change = &changes->list[i];

        if (change->ref.kind != KIND_ALARM || change->op != CHANGE_PUT)
            continue;
        alarm = change->image;
        if (ref_equal(alarm->object.parent, about) &&
            strcmp(alarm->code, code) == 0)
            return change->ref;
    }
    /* A parent that is new in this set has nothing in the world. */
    if (world_object(changes->world, about) == NULL)
        return (struct ref){ 0 };
    world_each_child(changes->world, KIND_ALARM, about, ref) {
        alarm = world_alarm(changes->world, ref);
        if (strcmp(alarm->code, code) == 0)
            return ref;
    }
    return (struct ref){ 0 };
}

static void
put(struct changes *changes, struct ref ref, struct ref about,
    const char *code, const char *text)
{
    struct alarm *alarm = ref_is_none(ref)
                              ? change_create(changes, KIND_ALARM, about, "")
                              : change_update(changes, ref);

    (void)snprintf(alarm->code, sizeof(alarm->code), "%s", code);
    (void)snprintf(alarm->text, sizeof(alarm->text), "%s", text);
    alarm->raised_ms = changes->context.now_ms;
    alarm->cleared_ms = 0;
}

void
alarm_raise(struct changes *changes, struct ref about, const char *code,
            const char *fmt, ...)
{
    struct ref ref = find(changes, about, code);
    const struct alarm *present =
        ref_is_none(ref) ? NULL : change_get(changes, ref);
    char text[sizeof(present->text)];
    va_list args;

    if (present != NULL && present->cleared_ms == 0)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    put(changes, present != NULL ? ref : (struct ref){ 0 }, about, code,
        text);
}

void
alarm_tell(struct changes *changes, struct ref about, const char *code,
           const char *fmt, ...)
{
    struct ref ref = find(changes, about, code);
    const struct alarm *present =
        ref_is_none(ref) ? NULL : change_get(changes, ref);
    char text[sizeof(present->text)];
    struct alarm *alarm;
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (present == NULL || present->cleared_ms != 0) {
        put(changes, present != NULL ? ref : (struct ref){ 0 }, about, code,
            text);
    } else if (strcmp(present->text, text) != 0) {
        alarm = change_update(changes, ref);
        (void)snprintf(alarm->text, sizeof(alarm->text), "%s", text);
    }
}

void
alarm_clear(struct changes *changes, struct ref about, const char *code)
{
    struct ref ref = find(changes, about, code);
    const struct alarm *present =
        ref_is_none(ref) ? NULL : change_get(changes, ref);
    struct alarm *alarm;

    if (present == NULL || present->cleared_ms != 0)
        return;
    alarm = change_update(changes, ref);
    alarm->cleared_ms = changes->context.now_ms;
}

bool
alarm_stands(const struct changes *changes, struct ref about,
             const char *code)
{
    struct ref ref = find(changes, about, code);
    const struct alarm *alarm =
        ref_is_none(ref) ? NULL : change_get(changes, ref);

    return alarm != NULL && alarm->cleared_ms == 0;
}
