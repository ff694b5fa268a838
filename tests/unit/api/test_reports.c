/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"
#include "core/usage.h"
#include "tests/unit/api/estate.h"

static struct estate estate;

static int
set_up(void **state)
{
    (void)state;
    estate_open(&estate);
    harness_pass(3600 * 1000);
    return 0;
}

static int
tear_down(void **state)
{
    (void)state;
    estate_close(&estate);
    return 0;
}

static int64_t
sum_of(const json_t *report, const char *usage, const char *member)
{
    json_t *item;
    size_t index;
    int64_t sum = 0;
    json_array_foreach (json_object_get(report, "items"), index, item)
        if (strcmp(json_string_value(json_object_get(item, "usage")),
                   usage) == 0)
            sum += json_integer_value(json_object_get(item, member));
    return sum;
}

static int
cut_cards(struct changes *changes, void *data, struct error *err)
{
    (void)data;
    (void)err;
    world_each(changes->world, KIND_CARD, ref)
        usage_cut(changes, ref);
    return 0;
}

static void
cut_step(struct loop *loop, struct arena *arena, void *data)
{
    struct error err;
    struct deed deed = {.verb = "test.cut",
                        .component = "test",
                        .decide = cut_cards,
                        .data = data};
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

/* A card bound for an hour: 1000 milli-cards x 3.6e6 ms, whether the ledger
 * has it yet or not, and half of each. */
static void
a_bound_hour_is_reported_once_live_or_cut(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    static const char path[] = "/tenants/vision/usage?group=project,model";
    scoped_json live = ask(place, estate.vision.admin, "GET", path, NULL, 200);
    assert_int_equal(sum_of(live, "bound", "quantity"), INT64_C(3600000000));
    harness_run(&place->harness, cut_step, NULL);
    scoped_json cut = ask(place, estate.vision.admin, "GET", path, NULL, 200);
    assert_int_equal(sum_of(cut, "bound", "quantity"), INT64_C(3600000000));
    harness_pass(1800 * 1000);
    scoped_json both = ask(place, estate.vision.admin, "GET", path, NULL, 200);
    assert_int_equal(sum_of(both, "bound", "quantity"), INT64_C(5400000000));
    json_t *names = json_object_get(both, "names");
    assert_string_equal(json_string_value(json_object_get(
                            names, estate.vision.ids[KIND_PROJECT])),
                        "work");
}

/* [A39]: a report shows one's own. */
static void
a_report_holds_only_what_lies_below_its_node(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json own = ask(place, estate.vision.admin, "GET",
                          "/tenants/vision/usage?group=tenant", NULL, 200);
    json_t *item;
    size_t index;
    json_array_foreach (json_object_get(own, "items"), index, item)
        assert_string_equal(
            json_string_value(json_object_get(item, "tenant")),
            estate.vision.ids[KIND_TENANT]);
    scoped_json all =
        ask(place, place->root, "GET", "/usage?group=tenant", NULL, 200);
    assert_int_equal(sum_of(all, "bound", "quantity"),
                     2 * sum_of(own, "bound", "quantity"));
    tell(place, estate.vision.admin, "GET", "/usage", NULL, 403);
    tell(place, estate.vision.admin, "GET",
         "/tenants/vision/usage?group=card", NULL, 400);
    tell(place, estate.vision.admin, "GET",
         "/tenants/vision/usage?from=2027-01-01T00:00:00Z&to="
         "2026-01-01T00:00:00Z",
         NULL, 400);
}

/* One card is committed at 600 nano an hour and used at 1000: the use costs
 * what it did, is taken back as far as it is covered, and the commitment is
 * paid, by the tenant and not by a project. */
static void
what_is_committed_is_paid_once_used_or_not(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    char to[CLOCK_TEXT_MAX], body[256];
    static const char path[] = "/tenants/vision/usage?group=project,model";
    tell(place, place->root, "POST", "/stepup",
         "{\"password\":\"" PASSWORD "\"}", 204);
    tell(place, place->root, "POST", "/prices",
         "{\"meter\":\"card_hour\",\"nano\":1000}", 201);
    clock_format(harness_wall_ms() + 30 * 24 * 3600 * INT64_C(1000), to);
    (void)snprintf(body, sizeof body,
                   "{\"cards\":2,\"nano\":600,\"to_ms\":\"%s\"}", to);
    tell(place, estate.vision.admin, "POST", "/tenants/vision/commitments",
         body, 403);
    tell(place, place->root, "POST", "/tenants/vision/commitments",
         "{\"cards\":0,\"nano\":600,\"to_ms\":\"2033-01-01T00:00:00Z\"}",
         400);
    harness_run(&place->harness, cut_step, NULL);
    tell(place, place->root, "POST", "/tenants/vision/commitments", body,
         201);
    scoped_json before = ask(place, estate.vision.admin, "GET", path, NULL,
                             200);
    assert_int_equal(sum_of(before, "committed", "quantity"), 0);
    harness_pass(2 * 3600 * 1000);
    scoped_json after = ask(place, estate.vision.admin, "GET", path, NULL,
                            200);
    int64_t used = sum_of(after, "bound", "quantity") -
                   sum_of(before, "bound", "quantity");
    int64_t cost = sum_of(after, "bound", "cost_nano") -
                   sum_of(before, "bound", "cost_nano");
    assert_int_equal(used, INT64_C(7200000000));
    assert_int_equal(cost, 2000);
    /* Two cards for two hours, and one that was used. */
    assert_int_equal(sum_of(after, "committed", "quantity"),
                     INT64_C(14400000000));
    assert_int_equal(sum_of(after, "committed", "cost_nano"), 2400);
    int64_t covered = sum_of(after, "covered", "quantity");
    assert_true(covered >= used);
    assert_true(covered <= sum_of(after, "bound", "quantity"));
    assert_true(sum_of(after, "covered", "cost_nano") <= -2000);
    harness_run(&place->harness, cut_step, NULL);
    scoped_json cut = ask(place, estate.vision.admin, "GET", path, NULL, 200);
    assert_int_equal(sum_of(cut, "covered", "quantity"), covered);
    assert_int_equal(sum_of(cut, "bound", "cost_nano"),
                     sum_of(after, "bound", "cost_nano"));
    scoped_json project =
        ask(place, estate.vision.admin, "GET",
            "/tenants/vision/projects/work/usage?group=user", NULL, 200);
    assert_int_equal(sum_of(project, "committed", "quantity"), 0);
    assert_int_equal(sum_of(project, "covered", "quantity"), covered);
    /* The other tenant pays and is credited nothing. */
    scoped_json other = ask(place, place->root, "GET",
                            "/tenants/research/usage", NULL, 200);
    assert_int_equal(sum_of(other, "covered", "quantity"), 0);
    assert_int_equal(sum_of(other, "committed", "quantity"), 0);
}

static size_t
count_items(const char *token, const char *path)
{
    scoped_json list = ask(&estate.place, token, "GET", path, NULL, 200);
    return json_array_size(json_object_get(list, "items"));
}

static void
the_timeline_is_asked_both_ways_and_at_an_instant(void **state)
{
    (void)state;
    char path[512], now[CLOCK_TEXT_MAX], early[CLOCK_TEXT_MAX];
    clock_format(harness_wall_ms(), now);
    clock_format(harness_wall_ms() - 30 * 24 * 3600 * INT64_C(1000), early);
    const struct side *side = &estate.vision;
    assert_int_equal(count_items(side->admin, "/tenants/vision/bindings"), 1);
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?at=%s", now);
    assert_int_equal(count_items(side->admin, path), 1);
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?at=%s", early);
    assert_int_equal(count_items(side->admin, path), 0);
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?card=%s",
                   side->ids[KIND_CARD]);
    assert_int_equal(count_items(estate.place.root, path), 1);
    /* To the tenant its card has another name in each binding. */
    tell(&estate.place, side->admin, "GET", path, NULL, 400);
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?instance=%s",
                   side->ids[KIND_INSTANCE]);
    assert_int_equal(count_items(side->admin, path), 1);
    /* [A39]: the other tenant's card and instance show nothing. */
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?card=%s",
                   estate.research.ids[KIND_CARD]);
    assert_int_equal(count_items(estate.place.root, path), 0);
    (void)snprintf(path, sizeof path, "/tenants/vision/bindings?instance=%s",
                   estate.research.ids[KIND_INSTANCE]);
    assert_int_equal(count_items(side->admin, path), 0);
    assert_int_equal(count_items(estate.place.root, "/bindings"), 2);
    (void)snprintf(path, sizeof path,
                   "/tenants/vision/projects/work/workloads/%s/bindings",
                   side->ids[KIND_WORKLOAD]);
    assert_int_equal(count_items(side->admin, path), 1);
    tell(&estate.place, estate.place.root, "GET",
         "/tenants/vision/bindings?card=card0", NULL, 400);
}

static void
an_audit_log_is_read_by_those_who_may(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json log = ask(place, estate.vision.admin, "GET",
                          "/tenants/vision/audit?limit=500", NULL, 200);
    json_t *items = json_object_get(log, "items"), *item;
    size_t index;
    assert_true(json_array_size(items) > 5);
    json_array_foreach (items, index, item) {
        assert_int_equal(
            json_integer_value(json_object_get(item, "position")), index);
        assert_null(json_object_get(item, "damaged"));
        assert_non_null(json_object_get(item, "action"));
    }
    char *text = memory_strdup(buffer_text(&place->last.body));
    assert_non_null(strstr(text, "project.create"));
    assert_null(strstr(text, PASSWORD));
    assert_null(strstr(text, estate.research.ids[KIND_TENANT]));
    free(text);
    scoped_json raw = ask(place, estate.vision.admin, "GET",
                          "/tenants/vision/audit?limit=1&from=2&raw=1", NULL,
                          200);
    item = json_array_get(json_object_get(raw, "items"), 0);
    assert_int_equal(json_integer_value(json_object_get(item, "position")),
                     2);
    assert_true(json_is_string(json_object_get(item, "entry")));
    assert_true(json_is_true(json_object_get(raw, "more")));
    tell(place, estate.vision.admin, "GET", "/audit", NULL, 403);
}

static void
cards_show_their_holders_to_operators(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json cards = ask(place, place->root, "GET", "/cards", NULL, 200);
    json_t *items = json_object_get(cards, "items"), *card;
    size_t index;
    assert_int_equal(json_array_size(items), 2);
    json_array_foreach (items, index, card) {
        json_t *holders = json_object_get(card, "holders");
        assert_int_equal(json_array_size(holders), 1);
        assert_int_equal(
            json_integer_value(json_object_get(card, "used_milli")), 1000);
        assert_int_equal(
            json_integer_value(json_object_get(card, "free_milli")), 0);
    }
    scoped_json room =
        ask(place, estate.vision.admin, "GET", "/capacity", NULL, 200);
    json_array_foreach (json_object_get(room, "items"), index, card) {
        assert_int_equal(
            json_integer_value(json_object_get(card, "free_cards")), 0);
        assert_int_equal(
            json_integer_value(json_object_get(card, "total_cards")), 2);
    }
}

static json_t *
first_card(struct place *place)
{
    scoped_json cards = ask(place, place->root, "GET", "/cards", NULL, 200);
    return json_incref(
        json_array_get(json_object_get(cards, "items"), 0));
}

static size_t
hurt(struct place *place, const char *token, const char *path)
{
    scoped_json impact = ask(place, token, "GET", path, NULL, 200);
    return json_array_size(json_object_get(impact, "items"));
}

/* The operations engineer says it, its holder hears of it, others do not. */
static void
a_card_that_is_ill_hurts_its_holder_alone(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json card = first_card(place);
    const json_t *holder =
        json_array_get(json_object_get(card, "holders"), 0);
    const char *workload =
        json_string_value(json_object_get(holder, "workload"));
    char path[120];
    (void)snprintf(path, sizeof path, "/cards/%s/health",
                   json_string_value(json_object_get(card, "id")));
    assert_int_equal(hurt(place, place->root, "/impact"), 0);
    tell(place, place->root, "POST", path,
         "{\"health\":\"degraded\",\"reason\":\"x\"}", 403);
    tell(place, place->root, "POST", "/stepup",
         "{\"password\":\"" PASSWORD "\"}", 204);
    tell(place, place->root, "POST", path, "{\"health\":\"broken\","
         "\"reason\":\"x\"}", 400);
    tell(place, place->root, "POST", path, "{\"health\":\"degraded\","
         "\"reason\":\"\"}", 400);
    tell(place, estate.vision.admin, "POST", path,
         "{\"health\":\"degraded\",\"reason\":\"fan\"}", 404);
    tell(place, estate.vision.admin, "GET", path, NULL, 404);
    tell(place, place->root, "POST", path,
         "{\"health\":\"degraded\",\"reason\":\"noisy fan\"}", 200);
    scoped_json health = ask(place, place->root, "GET", path, NULL, 200);
    assert_string_equal(
        json_string_value(json_object_get(health, "health")), "degraded");
    assert_string_equal(
        json_string_value(json_object_get(
            json_object_get(health, "manual"), "reason")),
        "noisy fan");
    assert_false(json_is_true(json_object_get(health, "takes_work")));
    scoped_json all =
        ask(place, place->root, "GET", "/impact", NULL, 200);
    const json_t *item =
        json_array_get(json_object_get(all, "items"), 0);
    assert_int_equal(json_array_size(json_object_get(all, "items")), 1);
    assert_string_equal(
        json_string_value(json_object_get(item, "workload")), workload);
    assert_non_null(json_object_get(item, "card"));
    /* One of the two tenants holds it. */
    size_t vision =
        hurt(place, estate.vision.admin, "/tenants/vision/impact");
    size_t other = hurt(place, estate.research.admin, "/tenants/research/impact");
    assert_int_equal(vision + other, 1);
    tell(place, estate.vision.admin, "GET", "/tenants/research/impact", NULL,
         404);
    scoped_json own = ask(
        place, vision ? estate.vision.admin : estate.research.admin, "GET",
        vision ? "/tenants/vision/impact" : "/tenants/research/impact", NULL,
        200);
    item = json_array_get(json_object_get(own, "items"), 0);
    assert_null(json_object_get(item, "card"));
    assert_null(json_object_get(item, "node"));
    assert_string_equal(json_string_value(json_object_get(item, "reason")),
                        "noisy fan");
    assert_int_equal(client_send(place, place->root, "GET", "/metrics", NULL),
                     200);
    assert_non_null(strstr(buffer_text(&place->last.body),
                           "bulkhead_cards{health=\"degraded\"} 1"));
    tell(place, place->root, "POST", path,
         "{\"health\":\"healthy\",\"reason\":\"fan replaced\"}", 200);
    assert_int_equal(hurt(place, place->root, "/impact"), 0);
}

static void
the_check_recomputes_everything(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    scoped_json check = ask(place, place->root, "GET", "/check", NULL, 200);
    assert_non_null(json_object_get(check, "looked"));
    tell(place, estate.vision.admin, "GET", "/check", NULL, 403);
}

static void
metrics_are_for_the_platform(void **state)
{
    (void)state;
    struct place *place = &estate.place;
    assert_int_equal(client_send(place, place->root, "GET", "/metrics", NULL),
                     200);
    assert_non_null(strstr(buffer_text(&place->last.body),
                           "bulkhead_objects{kind=\"tenant\"} 2"));
    tell(place, estate.vision.admin, "GET", "/metrics", NULL, 403);
    tell(place, NULL, "GET", "/metrics", NULL, 401);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bound_hour_is_reported_once_live_or_cut),
        cmocka_unit_test(a_report_holds_only_what_lies_below_its_node),
        cmocka_unit_test(what_is_committed_is_paid_once_used_or_not),
        cmocka_unit_test(the_timeline_is_asked_both_ways_and_at_an_instant),
        cmocka_unit_test(an_audit_log_is_read_by_those_who_may),
        cmocka_unit_test(cards_show_their_holders_to_operators),
        cmocka_unit_test(a_card_that_is_ill_hurts_its_holder_alone),
        cmocka_unit_test(the_check_recomputes_everything),
        cmocka_unit_test(metrics_are_for_the_platform),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
