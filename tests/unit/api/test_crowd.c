/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/api/many.h"

#define CLIENTS 64
#define ROUNDS 8
#define KEYS 16
#define STAY 60
#define PAGERS 6
#define CHURNERS 4
#define CHURN_MAX 150
#define WALK_MAX 2000

static struct place place;

static void
tune(struct api_options *options)
{
    options->subject_max = 400;
}

static int
set_up(void **state)
{
    (void)state;
    place.tune = tune;
    place_open(&place);
    tell(&place, place.root, "POST", "/tenants", "{\"name\":\"a\"}", 201);
    tell(&place, place.root, "POST", "/tenants/a/projects",
         "{\"name\":\"p\"}", 201);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    place_close(&place);
    return 0;
}

/* The i-th of a permutation of 0..count-1 (a power of two) that depends on
 * the client. */
static unsigned
permuted(unsigned client, unsigned i, unsigned count)
{
    return (i * (2 * client + 1) + client * 7) % count;
}

/* --- If-Match --- */

struct match {
    atomic_uint winners[CLIENTS * ROUNDS + 8]; /* by version */
    atomic_uint won, lost, strange;
};

static void
change_it(unsigned number, void *data)
{
    struct match *match = data;
    for (unsigned i = 0; i < ROUNDS; i++) {
        char header[64], body[64];
        scoped_reply seen = call(&place, place.root, "GET",
                                 "/tenants/a/projects/p", NULL, NULL);
        unsigned version = (unsigned)strtoul(seen.etag + 1, NULL, 10);
        (void)snprintf(header, sizeof header, "If-Match: %s", seen.etag);
        (void)snprintf(body, sizeof body, "{\"display\":\"%u-%u\"}", number,
                       i);
        scoped_reply changed = call(&place, place.root, "PATCH",
                                    "/tenants/a/projects/p", body, header);
        if (changed.status == 200) {
            atomic_fetch_add(&match->winners[version], 1);
            atomic_fetch_add(&match->won, 1);
        } else if (changed.status == 412) {
            atomic_fetch_add(&match->lost, 1);
        } else {
            atomic_fetch_add(&match->strange, 1);
        }
    }
}

static void
exactly_one_of_many_wins_each_version(void **state)
{
    (void)state;
    struct match *match = memory_new(1, sizeof *match);
    scoped_reply before =
        call(&place, place.root, "GET", "/tenants/a/projects/p", NULL, NULL);
    unsigned first = (unsigned)strtoul(before.etag + 1, NULL, 10);
    all_at_once(CLIENTS, change_it, match);
    scoped_reply after =
        call(&place, place.root, "GET", "/tenants/a/projects/p", NULL, NULL);
    unsigned last = (unsigned)strtoul(after.etag + 1, NULL, 10);
    assert_int_equal(match->strange, 0);
    assert_int_equal(match->won + match->lost, CLIENTS * ROUNDS);
    assert_int_equal(last - first, match->won);
    assert_true(match->lost > 0);
    for (unsigned version = first; version < last; version++)
        assert_int_equal(match->winners[version], 1);
    free(match);
}

/* --- Idempotency-Key --- */

struct keyed {
    pthread_mutex_t lock;
    char ids[KEYS][ID_TEXT_MAX];
    unsigned firsts, repeats, refused;
    const char *fault;
};

static void
fault(struct keyed *keyed, const char *text)
{
    keyed->fault = keyed->fault == NULL ? text : keyed->fault;
}

static void
use_key(struct keyed *keyed, unsigned key)
{
    char header[64], body[64];
    (void)snprintf(header, sizeof header, "Idempotency-Key: crowd-%u", key);
    (void)snprintf(body, sizeof body, "{\"name\":\"keyed-%u\"}", key);
    scoped_reply made = call(&place, place.root, "POST",
                             "/tenants/a/projects", body, header);
    scoped_reply other = call(&place, place.root, "POST",
                              "/tenants/a/projects",
                              "{\"name\":\"another\"}", header);
    (void)pthread_mutex_lock(&keyed->lock);
    if (made.status != 201)
        fault(keyed, "a key was not answered with 201");
    if (keyed->ids[key][0] == '\0')
        (void)snprintf(keyed->ids[key], ID_TEXT_MAX, "%s",
                       reply_text(&made, "id"));
    if (strcmp(keyed->ids[key], reply_text(&made, "id")) != 0)
        fault(keyed, "one key, two answers");
    if (other.status != 409 ||
        strcmp(reply_text(&other, "code"), "reused_key") != 0)
        fault(keyed, "another request was not refused");
    keyed->firsts += !made.replayed;
    keyed->repeats += made.replayed;
    keyed->refused += other.status == 409;
    (void)pthread_mutex_unlock(&keyed->lock);
}

static void
use_keys(unsigned number, void *data)
{
    for (unsigned i = 0; i < KEYS; i++)
        use_key(data, permuted(number, i, KEYS));
}

static void
each_key_is_carried_out_once_whatever_the_order(void **state)
{
    (void)state;
    struct keyed keyed = {.lock = PTHREAD_MUTEX_INITIALIZER};
    all_at_once(CLIENTS, use_keys, &keyed);
    if (keyed.fault != NULL)
        fail_msg("%s", keyed.fault);
    assert_int_equal(keyed.firsts, KEYS);
    assert_int_equal(keyed.repeats, CLIENTS * KEYS - KEYS);
    assert_int_equal(keyed.refused, CLIENTS * KEYS);
    /* The same holds of what the next process finds. */
    struct api *before = place.api;
    api_stop(before);
    harness_restart(&place.harness);
    api_free(before);
    all_at_once(CLIENTS, use_keys, &keyed);
    if (keyed.fault != NULL)
        fail_msg("%s", keyed.fault);
    assert_int_equal(keyed.firsts, KEYS);
}

/* --- pages under change --- */

struct churn {
    atomic_bool stop;
    atomic_uint walks, faults, made, gone;
};

static void
churn(unsigned number, struct churn *churn)
{
    char path[96], body[64];
    for (unsigned i = 0; !churn->stop && i < CHURN_MAX; i++) {
        (void)snprintf(body, sizeof body, "{\"name\":\"c%u-%u\"}", number, i);
        scoped_reply made = call(&place, place.root, "POST",
                                 "/tenants/a/units", body, NULL);
        churn->made += made.status == 201;
        (void)snprintf(path, sizeof path, "/tenants/a/units/c%u-%u", number,
                       i > 3 ? i - 3 : i);
        scoped_reply gone =
            call(&place, place.root, "DELETE", path, NULL, NULL);
        churn->gone += gone.status == 204;
    }
}

struct walk {
    unsigned seen[STAY];
    char ids[WALK_MAX][ID_TEXT_MAX];
    size_t count;
};

static bool
take_page(struct walk *walk, const json_t *items)
{
    size_t i;
    json_t *item;
    bool good = true;
    json_array_foreach(items, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *id = json_string_value(json_object_get(item, "id"));
        if (strncmp(name, "stay-", 5) == 0)
            walk->seen[strtoul(name + 5, NULL, 10)]++;
        for (size_t k = 0; k < walk->count; k++)
            good &= strcmp(walk->ids[k], id) != 0;
        good &= walk->count < WALK_MAX;
        if (good)
            (void)snprintf(walk->ids[walk->count++], ID_TEXT_MAX, "%s", id);
    }
    return good;
}

/* Also deletes what a page ended with, so that its cursor points at nothing. */
static void
delete_last(const json_t *items)
{
    char path[96];
    size_t count = json_array_size(items);
    const json_t *last = count == 0 ? NULL : json_array_get(items, count - 1);
    const char *name = json_string_value(json_object_get(last, "name"));
    if (name == NULL || strncmp(name, "stay-", 5) == 0)
        return;
    (void)snprintf(path, sizeof path, "/tenants/a/units/%s", name);
    scoped_reply gone = call(&place, place.root, "DELETE", path, NULL, NULL);
    (void)gone;
}

static bool
walk_through(unsigned limit)
{
    struct walk *walk = memory_new(1, sizeof *walk);
    char cursor[80] = "", path[160];
    bool good = true, more = true;
    while (more && good) {
        (void)snprintf(path, sizeof path, "/tenants/a/units?limit=%u%s%s",
                       limit, cursor[0] == '\0' ? "" : "&cursor=", cursor);
        scoped_reply page =
            call(&place, place.root, "GET", path, NULL, NULL);
        const json_t *items = json_object_get(page.body, "items");
        const char *next =
            json_string_value(json_object_get(page.body, "next"));
        good = page.status == 200 && json_array_size(items) <= limit &&
               take_page(walk, items);
        delete_last(items);
        more = next != NULL;
        (void)snprintf(cursor, sizeof cursor, "%s", more ? next : "");
    }
    for (size_t i = 0; i < STAY; i++)
        good &= walk->seen[i] == 1;
    free(walk);
    return good;
}

static void
page_or_churn(unsigned number, void *data)
{
    struct churn *all = data;
    if (number < CHURNERS) {
        churn(number, all);
        return;
    }
    for (unsigned i = 0; i < 12; i++) {
        all->faults += !walk_through(1 + (number * 5 + i * 3) % 17);
        if (atomic_fetch_add(&all->walks, 1) + 1 == PAGERS * 12)
            all->stop = true;
    }
}

static void
pages_skip_and_repeat_nothing_that_stays(void **state)
{
    (void)state;
    struct churn all = {.walks = 0};
    char body[64];
    for (unsigned i = 0; i < STAY; i++) {
        (void)snprintf(body, sizeof body, "{\"name\":\"stay-%u\"}", i);
        tell(&place, place.root, "POST", "/tenants/a/units", body, 201);
        (void)snprintf(body, sizeof body, "{\"name\":\"between-%u\"}", i);
        tell(&place, place.root, "POST", "/tenants/a/units", body, 201);
    }
    all_at_once(CHURNERS + PAGERS, page_or_churn, &all);
    assert_int_equal(all.faults, 0);
    assert_true(all.made > 20 && all.gone > 20);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exactly_one_of_many_wins_each_version),
        cmocka_unit_test(each_key_is_carried_out_once_whatever_the_order),
        cmocka_unit_test(pages_skip_and_repeat_nothing_that_stays),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
