/* SPDX-License-Identifier: Apache-2.0 */
#include "core/holdings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "core/verb.h"

#define ROOM_FIRST 3 /* with the head a line of the cache */

/* HOLDINGS_KINDS: no subject. */
static unsigned
place_of(struct ref subject)
{
    return subject.kind == KIND_USER             ? 0
           : subject.kind == KIND_SERVICEACCOUNT ? 1
           : subject.kind == KIND_GROUP          ? 2
                                                 : HOLDINGS_KINDS;
}

/* --- lists --- */

static size_t
size_of(uint32_t room)
{
    return sizeof(struct holdings_list) + room * sizeof(struct holding);
}

/* Where the list of a subject hangs; NULL when nothing does around it. */
static struct holdings_list **
find(const struct holdings *holdings, struct ref subject)
{
    unsigned place = place_of(subject);
    size_t piece = subject.index / HOLDINGS_PIECE;

    if (place == HOLDINGS_KINDS || piece >= holdings->of[place].count ||
        holdings->of[place].pieces[piece] == NULL)
        return NULL;
    return &holdings->of[place].pieces[piece][subject.index % HOLDINGS_PIECE];
}

static void
make_piece(struct holdings_of *of, size_t piece)
{
    if (piece >= of->count) {
        size_t count = piece + 1 + piece / 2;

        of->pieces = memory_grow(of->pieces, count, sizeof(*of->pieces));
        while (of->count < count)
            of->pieces[of->count++] = NULL;
    }
    if (of->pieces[piece] == NULL)
        of->pieces[piece] = memory_new(HOLDINGS_PIECE, sizeof(**of->pieces));
}

static struct holdings_list *
make_room(struct holdings_list *list)
{
    uint32_t count = list != NULL ? list->count : 0;
    uint32_t room = count > 0 ? count * 2 + 1 : ROOM_FIRST;

    if (list != NULL && count < list->room)
        return list;
    list = memory_grow(list, size_of(room), 1);
    list->count = count;
    list->room = room;
    return list;
}

/* --- the whole --- */

static void
piece_free(struct holdings_list **piece)
{
    for (unsigned i = 0; piece != NULL && i < HOLDINGS_PIECE; i++)
        free(piece[i]);
    free(piece);
}

void
holdings_release(struct holdings *holdings)
{
    for (unsigned i = 0; i < HOLDINGS_KINDS; i++) {
        for (size_t k = 0; k < holdings->of[i].count; k++)
            piece_free(holdings->of[i].pieces[k]);
        free(holdings->of[i].pieces);
    }
    memset(holdings, 0, sizeof(*holdings));
}

static struct holdings_list **
piece_copy(struct holdings_list *const *piece)
{
    struct holdings_list **copy = memory_new(HOLDINGS_PIECE, sizeof(*copy));

    for (unsigned i = 0; i < HOLDINGS_PIECE; i++) {
        if (piece[i] == NULL)
            continue;
        copy[i] = memory_new(1, size_of(piece[i]->room));
        memcpy(copy[i], piece[i], size_of(piece[i]->count));
    }
    return copy;
}

void
holdings_copy(struct holdings *copy, const struct holdings *holdings)
{
    for (unsigned i = 0; i < HOLDINGS_KINDS; i++) {
        const struct holdings_of *from = &holdings->of[i];
        struct holdings_of *to = &copy->of[i];

        to->count = from->count;
        to->pieces = memory_new(from->count, sizeof(*to->pieces));
        for (size_t k = 0; k < from->count; k++)
            if (from->pieces[k] != NULL)
                to->pieces[k] = piece_copy(from->pieces[k]);
    }
}

/* --- lines --- */

static bool
is_whole(const struct grant *grant)
{
    return verbs_within(verbs_for((enum kind)grant->object.parent.kind),
                        grant->use) &&
           grant->from_ms == 0 && grant->to_ms == 0 &&
           grant->sources[0] == '\0' && grant->devices == NULL &&
           ref_is_none(grant->workorder) && grant->proof_ms == 0 &&
           !grant->approval && !grant->factor;
}

static struct holding
line_of(const struct grant *grant)
{
    return (struct holding){ .node = grant->object.parent.index,
                             .role = grant->role.index,
                             .grant = grant->object.self.index,
                             .node_kind = (uint8_t)grant->object.parent.kind,
                             .whole = is_whole(grant) };
}

static struct holding *
find_line(const struct holdings *holdings, const struct grant *grant)
{
    struct holdings_list **at = find(holdings, grant->subject);
    struct holdings_list *list = at != NULL ? *at : NULL;

    for (uint32_t i = 0; list != NULL && i < list->count; i++)
        if (list->lines[i].grant == grant->object.self.index)
            return &list->lines[i];
    return NULL;
}

void
holdings_put(struct holdings *holdings, const struct grant *grant,
             uint32_t before)
{
    unsigned place = place_of(grant->subject);
    struct holdings_list **at, *list;

    if (place == HOLDINGS_KINDS)
        return;
    make_piece(&holdings->of[place], grant->subject.index / HOLDINGS_PIECE);
    at = find(holdings, grant->subject);
    assert(at != NULL);
    *at = list = make_room(*at);
    assert(before <= list->count);
    memmove(&list->lines[before + 1], &list->lines[before],
            (list->count - before) * sizeof(*list->lines));
    list->lines[before] = line_of(grant);
    list->count++;
}

void
holdings_renew(struct holdings *holdings, const struct grant *grant)
{
    struct holding *line = find_line(holdings, grant);

    if (line != NULL)
        *line = line_of(grant);
}

void
holdings_drop(struct holdings *holdings, const struct grant *grant)
{
    struct holdings_list **at = find(holdings, grant->subject);
    struct holding *line = find_line(holdings, grant);

    if (line == NULL)
        return;
    (*at)->count--;
    memmove(line, line + 1,
            (size_t)(&(*at)->lines[(*at)->count] - line) * sizeof(*line));
    if ((*at)->count > 0)
        return;
    free(*at);
    *at = NULL;
}

const struct holdings_list *
holdings_find(const struct holdings *holdings, struct ref subject)
{
    struct holdings_list *const *at = find(holdings, subject);

    return at != NULL ? *at : NULL;
}
