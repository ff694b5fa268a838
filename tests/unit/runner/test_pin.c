/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/pin.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "base/json.h"

/* Two NUMA nodes of four cores with two threads each: 0-7 and 8-15. */
static const char two_nodes[] =
    "{\"numa\":[{\"node\":0,\"cpus\":\"0-7\",\"memory_mib\":1000,"
    "\"threads\":2},{\"node\":1,\"cpus\":\"8-15\",\"memory_mib\":1000,"
    "\"threads\":2}],\"nics\":[{\"name\":\"eth0\",\"numa\":0},"
    "{\"name\":\"mlx5_0\",\"numa\":1,\"bus\":\"b1\"},"
    "{\"name\":\"mlx5_1\",\"numa\":1,\"bus\":\"b2\"}]}";

static struct topology *topology;

static int
open_machine(void **state)
{
    struct error err;
    scoped_json json = json_read(two_nodes, strlen(two_nodes), &err);

    (void)state;
    return topology_describe(json, &topology, &err);
}

static int
close_machine(void **state)
{
    (void)state;
    topology_free(topology);
    return 0;
}

static struct topology_set
set_of(const char *text)
{
    struct topology_set set;

    assert_true(topology_set_parse(text, &set));
    return set;
}

static struct pin_ask
ask_for(enum runner_pin pin, int64_t cpus, const char *beside,
        const char *taken)
{
    return (struct pin_ask){ .pin = pin,
                             .cpu_milli = cpus * 1000,
                             .memory_mib = 100,
                             .beside = set_of(beside),
                             .taken = set_of(taken) };
}

static void
gives(const struct pin_ask *ask, const char *cpus, const char *mems)
{
    struct error err = { 0 };
    char text[TOPOLOGY_LIST_MAX];
    struct pin pin;

    if (pin_choose(topology, ask, &pin, &err) != 0)
        fail_msg("%s", err.text);
    topology_set_format(&pin.cpus, text);
    assert_string_equal(text, cpus);
    topology_set_format(&pin.mems, text);
    assert_string_equal(text, mems);
    assert_int_equal(pin.own, ask->pin == RUNNER_PIN_CORES);
}

static void
busy(const struct pin_ask *ask, const char *words)
{
    struct error err = { 0 };
    struct pin pin;

    assert_int_equal(pin_choose(topology, ask, &pin, &err), -1);
    assert_int_equal(err.code, ERROR_BUSY);
    assert_non_null(strstr(err.text, words));
}

static void
what_shares_gets_the_cpus_beside_its_cards(void **state)
{
    struct pin_ask ask = ask_for(RUNNER_PIN_NEAR, 1, "1", "");

    (void)state;
    gives(&ask, "8-15", "1");
    ask = ask_for(RUNNER_PIN_NEAR, 1, "", "");
    gives(&ask, "0-15", "0-1");
    ask = ask_for(RUNNER_PIN_NONE, 1, "1", "");
    gives(&ask, "0-15", "0-1");
    ask = ask_for(RUNNER_PIN_NEAR, 1, "0-1", "");
    gives(&ask, "0-15", "0-1");
}

static void
what_is_somebodys_own_is_left_out(void **state)
{
    struct pin_ask ask = ask_for(RUNNER_PIN_NEAR, 1, "0", "0-3");

    (void)state;
    gives(&ask, "4-7", "0");
    ask = ask_for(RUNNER_PIN_NONE, 1, "0", "0-3,8");
    gives(&ask, "4-7,9-15", "0-1");
    /* All beside its cards is taken: farther ones are better than none. */
    ask = ask_for(RUNNER_PIN_NEAR, 1, "0", "0-7");
    gives(&ask, "8-15", "0");
    ask = ask_for(RUNNER_PIN_NEAR, 1, "0", "0-15");
    busy(&ask, "every core of the node is somebody's own");
}

static void
whole_cores_are_whole_and_nobody_elses(void **state)
{
    struct pin_ask ask = ask_for(RUNNER_PIN_CORES, 2, "1", "");

    (void)state;
    gives(&ask, "8-9", "1");
    /* Three CPUs are two cores. */
    ask = ask_for(RUNNER_PIN_CORES, 3, "0", "0-1");
    gives(&ask, "2-5", "0");
    /* Half a core that is taken is a core that is taken. */
    ask = ask_for(RUNNER_PIN_CORES, 2, "0", "1,2");
    gives(&ask, "4-5", "0");
    /* Those beside its cards first, then the rest. */
    ask = ask_for(RUNNER_PIN_CORES, 6, "0", "0-3");
    gives(&ask, "4-9", "0");
    /* Without cards: where most are free. */
    ask = ask_for(RUNNER_PIN_CORES, 4, "", "0-1");
    gives(&ask, "8-11", "0-1");
}

static void
more_cores_than_there_are_are_waited_for(void **state)
{
    struct pin_ask ask = ask_for(RUNNER_PIN_CORES, 4, "", "0-13");

    (void)state;
    busy(&ask, "4 CPUs in whole cores are asked for: 1 of 8 cores are free");
    ask = ask_for(RUNNER_PIN_CORES, 2, "", "0-13");
    gives(&ask, "14-15", "0-1");
    /* Somebody shares: one core stays. */
    ask.others = true;
    busy(&ask, "one stays for those who share");
}

/* What was promised beside the cards and this together are too much. */
static void
memory_is_beside_the_cards_while_it_fits(void **state)
{
    struct pin_ask ask = ask_for(RUNNER_PIN_NEAR, 1, "1", "");

    (void)state;
    ask.bound_mib = 900;
    gives(&ask, "8-15", "1");
    ask.bound_mib = 901;
    gives(&ask, "8-15", "0-1");
}

/* Cores that are given one after the other never meet. */
static void
no_two_have_a_core_in_common(void **state)
{
    struct topology_set taken = { { 0 } };
    unsigned given = 0;

    (void)state;
    for (int i = 0; i < 12; i++) {
        struct pin_ask ask =
            ask_for(RUNNER_PIN_CORES, 1 + i % 3, i % 2 == 0 ? "0" : "1", "");
        struct error err;
        struct pin pin;

        ask.taken = taken;
        if (pin_choose(topology, &ask, &pin, &err) != 0)
            continue;
        assert_false(topology_set_meets(&taken, &pin.cpus));
        topology_set_join(&taken, &pin.cpus);
        given += topology_set_count(&pin.cpus);
    }
    assert_int_equal(given, topology_set_count(&taken));
    assert_int_equal(given, 16);
}

static void
networks_are_those_behind_the_same_switch(void **state)
{
    struct topology_place places[] = { { 1, "b1" }, { 1, "" } };
    char text[PIN_NICS_MAX];

    (void)state;
    pin_nics(topology, places, 1, text);
    assert_string_equal(text, "mlx5_0");
    pin_nics(topology, &places[1], 1, text);
    assert_string_equal(text, "mlx5_0 mlx5_1");
    pin_nics(topology, places, 0, text);
    assert_string_equal(text, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_shares_gets_the_cpus_beside_its_cards),
        cmocka_unit_test(what_is_somebodys_own_is_left_out),
        cmocka_unit_test(whole_cores_are_whole_and_nobody_elses),
        cmocka_unit_test(more_cores_than_there_are_are_waited_for),
        cmocka_unit_test(memory_is_beside_the_cards_while_it_fits),
        cmocka_unit_test(no_two_have_a_core_in_common),
        cmocka_unit_test(networks_are_those_behind_the_same_switch),
    };

    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
