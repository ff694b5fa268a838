/* SPDX-License-Identifier: Apache-2.0 */
#include "api/cursor.h"
#include "tests/simulate/twoworlds/draw.h"
#include "tests/simulate/twoworlds/signals.h"

/*
 * Two worlds that differ in tenant a's private state alone: everything that
 * b's people are told is the same in both, to the byte.  Each step of a
 * history is a request of a's, made in both worlds with other words, and one
 * of b's, made in both with the same; in the second world a does more besides.
 *
 * TWOWORLDS_STEPS requests a history, TWOWORLDS_SEED; TWOWORLDS_SOCKET=1: over
 * the socket; TWOWORLDS_USE=1: a uses more cards in the second world, and only
 * what is declared (signals.h) may tell.
 */

static struct twin twins[2];
static struct sighting seen[2]; /* by a's people, by b's; in the first world */
static const struct words words[2][2] = {
    { { "apple", "a short text" },
      { "zeppelin-of-the-north", "something much longer, and other" } },
    { { "beta", "what b writes" }, { "beta", "what b writes" } },
};

static struct {
    unsigned asked[2], extra, allowed, hidden, refused, signals, events,
        estimates;
} counts;
static unsigned char route_asked[1024], route_allowed[1024];

static long
setting(const char *name, long absent)
{
    const char *text = getenv(name); /* NOLINT(concurrency-mt-unsafe) */

    return text == NULL || text[0] == '\0' ? absent : strtol(text, NULL, 10);
}

static bool over_socket, use_differs;

static int
ask_in(int world, int side, const struct draft *draft)
{
    struct twin *twin = &twins[world];
    scoped_buffer body = { 0 };
    struct asking asking = { .method = draft->route->method,
                             .path = draft->path,
                             .key = draft->key[0] == '\0' ? NULL
                                                          : draft->key };

    if (draft->has_body) {
        draw_text(draft, &words[side][world], &body);
        asking.body = buffer_text(&body);
    }
    return (over_socket ? world_ask_socket : world_ask)(
        twin, twin->tokens[side][draft->person], &asking);
}

/* --- comparing --- */

static void
tell_difference(const struct draft *draft, const char *one, const char *two)
{
    size_t at = 0, from;

    while (one[at] == two[at])
        at++;
    from = at > 120 ? at - 120 : 0;
    /* print_message takes no more than 1 KiB */
    (void)printf("one world: ...%.1600s\n\nthe other: ...%.1600s\n",
                 one + from, two + from);
    (void)fflush(stdout);
    fail_msg("%s %s %s by %s", draft->route->method, draft->path,
             draft->has_body ? buffer_text(&draft->body) : "",
             world_people[draft->person].name);
}

/* Where the next page begins is sealed (cursor.h): the order of creation,
 * which all tenants share, cannot be read out of it.  Takes it out of the
 * answer, so that what is behind it can be compared. */
static bool
take_cursor(struct twin *twin, char out[CURSOR_TEXT_MAX])
{
    static const char mark[] = "\"next\":\"";
    char *at = strstr(buffer_text(&twin->said), mark);
    size_t size;

    if (at == NULL)
        return false;
    at += strlen(mark);
    size = strcspn(at, "\"");
    if (size >= CURSOR_TEXT_MAX)
        return false;
    (void)snprintf(out, CURSOR_TEXT_MAX, "%.*s", (int)size, at);
    memset(at, '-', size);
    return true;
}

/* Are they the same but for what a shared pool is declared to tell? */
static bool
differ_by_signals(const struct draft *draft, const char *one, const char *two)
{
    const char *bodies[2] = { strchr(one, '{'), strchr(two, '{') };
    scoped_json first = NULL;
    scoped_json second = NULL;

    if (bodies[0] == NULL || bodies[1] == NULL ||
        bodies[0] - one != bodies[1] - two ||
        memcmp(one, two, (size_t)(bodies[0] - one)) != 0)
        return false;
    first = json_loads(bodies[0], 0, NULL);
    second = json_loads(bodies[1], 0, NULL);
    counts.signals++;
    return signals_hide(draft->route->path, first) &&
           signals_hide(draft->route->path, second) &&
           json_equal(first, second);
}

static void
compare(const struct draft *draft)
{
    const char *one = buffer_text(&twins[0].said);
    const char *two = buffer_text(&twins[1].said);

    if (strcmp(one, two) == 0 ||
        (use_differs && differ_by_signals(draft, one, two)))
        return;
    tell_difference(draft, one, two);
}

static void
count_answer(const struct draft *draft, int status)
{
    size_t route = (size_t)(draft->route - route_table);

    route_asked[route] = 1;
    route_allowed[route] |= status < 300;
    counts.allowed += status < 300;
    counts.hidden += status == 404;
    counts.refused += status >= 300 && status != 404;
}

/* The pages behind a first one, each world by its own cursor. */
static void
compare_pages(const struct draft *draft, uint64_t turn)
{
    char cursors[2][CURSOR_TEXT_MAX];
    struct draft page = *draft;

    for (unsigned pages = 0; pages < 3; pages++) {
        bool more[2];

        for (int world = 0; world < 2; world++)
            more[world] = take_cursor(&twins[world], cursors[world]);
        compare(&page);
        if (!more[0] || !more[1])
            return;
        for (int world = 0; world < 2; world++) {
            (void)snprintf(page.path, sizeof(page.path), "%.*s?limit=2&cursor=%s",
                           (int)strcspn(draft->path, "?"), draft->path,
                           cursors[world]);
            inject_begin(turn + 1 + pages);
            (void)ask_in(world, 1, &page);
        }
    }
    for (int world = 0; world < 2; world++)
        (void)take_cursor(&twins[world], cursors[world]);
    compare(&page);
}

/* --- a history --- */

/* What a does besides in the second world: nothing of it needs cards. */
static bool
is_private(const struct route *route)
{
    static const enum kind kinds[] = { KIND_USER,    KIND_GROUP,
                                       KIND_ROLE,    KIND_UNIT,
                                       KIND_PROJECT, KIND_SERVICEACCOUNT,
                                       KIND_REQUEST };

    if (!is_drawn(route) || strstr(route->path, "{tenant}") == NULL)
        return false;
    if (use_differs)
        return strstr(route->path, "/workloads") != NULL;
    if (!route_changes(route))
        return true;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if ((route->flags & ROUTE_CREATES) != 0 && route->kind == kinds[i])
            return true;
    return false;
}

static void
do_more(struct dice *dice, unsigned step)
{
    struct draft draft = { 0 };
    struct drawing drawing = { dice, &seen[0], &seen[1], &draft,
                               1000000 + step, false };
    const struct route *route;

    do
        route = &route_table[roll(dice, route_count)];
    while (!is_private(route));
    draw_for(&drawing, route);
    draft.person = use_differs ? 2 : 0;
    draft.key[0] = '\0';
    (void)ask_in(1, 0, &draft);
    counts.extra++;
    draft_release(&draft);
}

/* False when what A made in one world alone let its own request end otherwise:
 * from there on its use of cards may differ too, and the history is over. */
static bool
step_of(int side, struct dice *dice, unsigned number, uint64_t turn)
{
    struct draft draft = { 0 };
    struct drawing drawing = { dice,   &seen[side], &seen[1 - side],
                               &draft, number,      !over_socket };
    int status[2];

    draw_for(&drawing, draw_route(dice, number));
    for (int world = 0; world < 2; world++) {
        inject_begin(turn);
        status[world] = ask_in(world, side, &draft);
    }
    counts.asked[side]++;
    if (side == 1) {
        see_answer(&seen[side], buffer_text(&twins[0].said));
        see_revision(&seen[side], draft.route, buffer_text(&twins[0].said));
        counts.events += strstr(buffer_text(&twins[0].said), "event: put") !=
                         NULL;
        counts.estimates += strstr(buffer_text(&twins[0].said),
                                   "\"as_of\":\"") != NULL;
        compare_pages(&draft, turn);
        count_answer(&draft, status[0]);
    }
    if (side == 0)
        see_answer(&seen[side], buffer_text(&twins[0].said));
    draft_release(&draft);
    return side == 1 || status[0] == status[1] || use_differs;
}

static void
pass_time(uint64_t turn, bool live)
{
    harness_pass(500);
    for (int world = 0; world < 2; world++) {
        inject_begin(turn);
        world_settle(&twins[world], live);
    }
}

/* What each person sees of its surroundings to begin with. */
static void
look_around(int side)
{
    static const char *const paths[] = {
        "/whoami", "/tenants", "/pools",   "/classes",
        "/roles",  "/prices",  "/priorities",
    };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const struct asking asking = { "GET", paths[i], NULL, NULL };

        (void)world_ask(&twins[0], twins[0].tokens[side][0], &asking);
        see_answer(&seen[side], buffer_text(&twins[0].said));
        (void)world_ask(&twins[1], twins[1].tokens[side][0], &asking);
    }
}

static void
look_at_projects(int side, const char *tenant)
{
    char path[128];
    const struct asking asking = { "GET", path, NULL, NULL };

    (void)snprintf(path, sizeof(path), "/tenants/%s/projects", tenant);
    for (int world = 0; world < 2; world++)
        (void)world_ask(&twins[world], twins[world].tokens[side][0], &asking);
    see_answer(&seen[side], buffer_text(&twins[0].said));
}

static void
open_both(uint64_t seed)
{
    memset(seen, 0, sizeof(seen));
    inject_forget();
    for (int world = 0; world < 2; world++)
        world_open(&twins[world], seed, seed % 2 == 1 && !use_differs);
    for (int side = 0; side < 2; side++) {
        look_around(side);
        look_at_projects(side, side == 0 ? "alpha" : "beta");
    }
}

static void
play(uint64_t seed, long steps)
{
    struct dice dice = { seed }, more = { ~seed };
    uint64_t turn = (seed << 32) + 1;

    open_both(seed);
    for (unsigned number = 0; number < (unsigned)steps; number += 2) {
        if (!step_of(0, &dice, number, turn++))
            break;
        inject_begin(turn++);
        if (luck(&more, 50))
            do_more(&more, number);
        (void)step_of(1, &dice, number, turn);
        turn += 8; /* pages take some of their own */
        pass_time(turn++, number % 8 == 0);
    }
    for (int world = 0; world < 2; world++)
        world_close(&twins[world]);
}

static void
b_is_told_the_same_whatever_a_is(void **state)
{
    (void)state;
    play((uint64_t)setting("TWOWORLDS_SEED", 1),
         setting("TWOWORLDS_STEPS", 2000));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b_is_told_the_same_whatever_a_is),
    };
    int failed;
    size_t asked = 0, allowed = 0;

    inject_start();
    over_socket = setting("TWOWORLDS_SOCKET", 0) != 0;
    use_differs = setting("TWOWORLDS_USE", 0) != 0;
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (size_t i = 0; i < route_count; i++) {
        asked += route_asked[i];
        allowed += route_allowed[i];
    }
    for (size_t i = 0; i < route_count && setting("TWOWORLDS_SHOW", 0); i++)
        if (route_asked[i] && !route_allowed[i])
            (void)printf("never %s %s\n", route_table[i].method,
                         route_table[i].path);
    (void)printf("counts a %u more %u b %u allowed %u hidden %u refused %u "
                 "signals %u events %u estimates %u routes %zu allowed %zu\n",
                 counts.asked[0], counts.extra, counts.asked[1],
                 counts.allowed, counts.hidden, counts.refused,
                 counts.signals, counts.events, counts.estimates, asked,
                 allowed);
    return failed;
}
