/* SPDX-License-Identifier: Apache-2.0 */
#include "control/strangers.h"

#include <stdio.h>
#include <string.h>

static void
set_text(char *member, size_t room, const char *text)
{
    (void)snprintf(member, room, "%s", text != NULL ? text : "");
}

static bool
is_same(const struct stranger *line, const struct stranger *next)
{
    return strcmp(line->ip, next->ip) == 0 &&
           strcmp(line->verb, next->verb) == 0 &&
           strcmp(line->reason, next->reason) == 0;
}

/* A line of this minute that says the same. */
static struct stranger *
find_line(struct strangers *strangers, const struct stranger *next)
{
    for (unsigned back = 1;
         back <= strangers->fresh && back <= strangers->end; back++) {
        struct stranger *line =
            &strangers->lines[(strangers->end - back) % STRANGERS_MAX];

        if (is_same(line, next))
            return line;
    }
    return NULL;
}

void
strangers_add(struct strangers *strangers, const char *ip, const char *verb,
              const char *reason, int64_t now_ms)
{
    struct stranger next = { now_ms, now_ms, 1, "", "", "" };
    struct stranger *line;

    set_text(next.ip, sizeof(next.ip), ip);
    set_text(next.verb, sizeof(next.verb), verb);
    set_text(next.reason, sizeof(next.reason), reason);
    if (now_ms >= strangers->window_ms + STRANGERS_WINDOW_MS) {
        strangers->window_ms = now_ms;
        strangers->fresh = 0;
    }
    strangers->changed = true;
    line = find_line(strangers, &next);
    if (line != NULL) {
        line->count++;
        line->last_ms = now_ms;
    } else if (strangers->fresh < STRANGERS_NEW) {
        strangers->fresh++;
        strangers->lines[strangers->end++ % STRANGERS_MAX] = next;
    } else {
        strangers->dropped++;
    }
}

static size_t
line_count(const struct strangers *strangers)
{
    return strangers->end < STRANGERS_MAX ? (size_t)strangers->end
                                          : STRANGERS_MAX;
}

const struct stranger *
strangers_at(const struct strangers *strangers, size_t back)
{
    return back < line_count(strangers)
               ? &strangers->lines[(strangers->end - 1 - back) %
                                   STRANGERS_MAX]
               : NULL;
}

size_t
strangers_size(const struct strangers *strangers)
{
    return line_count(strangers) * sizeof(struct stranger);
}

/* The oldest first. */
void
strangers_save(struct strangers *strangers, void *bytes)
{
    struct stranger *out = bytes;
    size_t count = line_count(strangers);

    for (size_t i = 0; i < count; i++)
        out[i] = *strangers_at(strangers, count - 1 - i);
    strangers->changed = false;
}

static bool
is_text(const char *text, size_t room)
{
    return memchr(text, '\0', room) != NULL;
}

int
strangers_load(struct strangers *strangers, int64_t dropped,
               const void *bytes, size_t size, struct error *err)
{
    const size_t count = size / sizeof(struct stranger);

    if (size % sizeof(struct stranger) != 0 || count > STRANGERS_MAX ||
        dropped < 0)
        return error_set(err, ERROR_INTERNAL,
                         "the stream of strangers is damaged");
    memset(strangers, 0, sizeof(*strangers));
    if (count > 0)
        memcpy(strangers->lines, bytes, size);
    strangers->end = count;
    strangers->dropped = (uint64_t)dropped;
    for (size_t i = 0; i < count; i++) {
        const struct stranger *line = &strangers->lines[i];

        if (!is_text(line->ip, sizeof(line->ip)) ||
            !is_text(line->verb, sizeof(line->verb)) ||
            !is_text(line->reason, sizeof(line->reason)))
            return error_set(err, ERROR_INTERNAL,
                             "the stream of strangers is damaged");
    }
    return 0;
}
