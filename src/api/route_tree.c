/* SPDX-License-Identifier: Apache-2.0 */
#include "api/route_tree.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "api/route.h"

#define SEGMENTS_MAX 2048
#define NONE UINT16_MAX

/* One segment of a template below its parent. */
struct segment {
    const char *text; /* not ended by a 0 */
    size_t size;
    uint16_t below, beside; /* first child, next sibling; NONE */
    uint16_t route;         /* first that ends here; NONE */
};

static struct segment segments[SEGMENTS_MAX];
static uint16_t segment_count;
static uint16_t next_same[SEGMENTS_MAX]; /* of a route: one of the same path */

static uint16_t
add_segment(const char *text, size_t size)
{
    assert(segment_count < SEGMENTS_MAX);
    segments[segment_count] = (struct segment){ text, size, NONE, NONE, NONE };
    return segment_count++;
}

static uint16_t
get_below(uint16_t parent, const char *text, size_t size)
{
    uint16_t *place = &segments[parent].below;

    for (; *place != NONE; place = &segments[*place].beside) {
        const struct segment *one = &segments[*place];

        if (one->size == size && memcmp(one->text, text, size) == 0)
            return *place;
    }
    *place = add_segment(text, size);
    return *place;
}

static void
add_route(uint16_t route)
{
    uint16_t at = 0, *place;

    for (const char *text = route_table[route].path; *text == '/';) {
        size_t size = strcspn(text + 1, "/");

        at = get_below(at, text + 1, size);
        text += 1 + size;
    }
    for (place = &segments[at].route; *place != NONE;
         place = &next_same[*place])
        continue;
    *place = route;
    next_same[route] = NONE;
}

static void
make_tree(void)
{
    assert(route_count < SEGMENTS_MAX);
    (void)add_segment("", 0);
    for (size_t i = 0; i < route_count; i++)
        add_route((uint16_t)i);
}

struct search {
    const struct url *url;
    uint16_t *found;
    size_t count;
};

static void
take_routes(struct search *search, uint16_t route)
{
    for (; route != NONE; route = next_same[route]) {
        size_t at = search->count++;

        assert(at < ROUTE_TREE_FOUND_MAX);
        for (; at > 0 && search->found[at - 1] > route; at--)
            search->found[at] = search->found[at - 1];
        search->found[at] = route;
    }
}

/* As deep as the url has segments. */
static void
walk(struct search *search, uint16_t at, size_t depth)
{
    const char *segment;
    size_t size;

    if (depth == search->url->segment_count) {
        take_routes(search, segments[at].route);
        return;
    }
    segment = search->url->segments[depth];
    size = strlen(segment);
    for (at = segments[at].below; at != NONE; at = segments[at].beside) {
        const struct segment *one = &segments[at];

        if (one->text[0] == '{' ||
            (one->size == size && memcmp(one->text, segment, size) == 0))
            walk(search, at, depth + 1);
    }
}

size_t
route_tree_find(const struct url *url, uint16_t found[ROUTE_TREE_FOUND_MAX])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    struct search search = { .url = url };
    int rc = pthread_once(&once, make_tree);

    assert(rc == 0);
    search.found = found;
    walk(&search, 0, 0);
    return search.count;
}
