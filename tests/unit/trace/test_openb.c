/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/openb.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "tests/unit/scratch.h"

#define NODES "openb_node_list_gpu_node.csv"
#define PODS "openb_pod_list_small.csv"

struct fixture {
    char directory[SCRATCH_MAX];
    struct arena *arena;
    struct openb_cluster cluster;
    struct openb_trace trace;
    struct error err;
};

static int
set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    scratch_make(f->directory, "openb");
    f->arena = arena_new();
    *state = f;
    return 0;
}

static int
tear_down(void **state)
{
    struct fixture *f = *state;

    scratch_remove(f->directory);
    arena_free(f->arena);
    free(f);
    return 0;
}

static void
write_file(struct fixture *f, const char *name, const char *text)
{
    char path[SCRATCH_MAX + 64];

    (void)snprintf(path, sizeof(path), "%s/%s", f->directory, name);
    assert_int_equal(file_write(path, text, strlen(text), 0600, &f->err), 0);
}

static void
read_nodes(struct fixture *f)
{
    write_file(f, NODES,
               "sn,cpu_milli,memory_mib,gpu,model\n"
               "n1,64000,262144,8,V100M16\n"
               "n2,32000,131072,4,T4\n"
               "n3,64000,262144,8,V100M16\n"
               "n4,96000,262144,8,V100M16\n");
    assert_int_equal(openb_read_cluster(f->directory, f->arena, &f->cluster,
                                        &f->err),
                     0);
}

static int
read_pods(struct fixture *f, const char *text)
{
    write_file(f, PODS, text);
    return openb_read_trace(f->directory, "small", &f->cluster, f->arena,
                            &f->trace, &f->err);
}

static void
equal_nodes_are_one_kind(void **state)
{
    struct fixture *f = *state;

    read_nodes(f);
    assert_int_equal(f->cluster.count, 4);
    assert_int_equal(f->cluster.supply.kinds, 3);
    assert_string_equal(f->cluster.models[0], "T4");
    assert_int_equal(f->cluster.supply.cards[0], 4);
    assert_string_equal(f->cluster.models[1], "V100M16");
    assert_int_equal(f->cluster.supply.cards[1], 16);
    assert_int_equal(f->cluster.supply.cards[2], 8);
    assert_int_equal(f->cluster.nodes[3].cpu_milli, 96000);
    assert_int_equal(f->cluster.nodes[1].free[7], 1000);
    assert_int_equal(f->cluster.milli, 28000);
}

static void
pods_take_the_kinds_that_can_ever_serve_them(void **state)
{
    struct fixture *f = *state;

    read_nodes(f);
    assert_int_equal(
        read_pods(f, "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,"
                     "creation_time,deletion_time\n"
                     "a,1000,100,1,500,,5,9\n"
                     "b,1000,100,1,500,V100M16|P100,5,9\n"
                     "c,80000,100,1,1000,,5,9\n"
                     "d,1000,100,8,1000,,5,9\n"
                     "e,0,0,0,0,,5,9\n"
                     "f,1000,100,1,500,,1,2\n"
                     "g,1000,100,1,500,P100,1,2\n"),
        0);
    assert_int_equal(f->trace.count, 7);
    assert_int_equal(f->trace.class_count, 6);
    assert_true(f->trace.has_times);
    /* In order: e, g, b, a and f, c, d. */
    assert_int_equal(f->trace.classes[0].cpu_milli, OPENB_CPU_MILLI);
    assert_int_equal(f->trace.classes[0].memory_mib, OPENB_MEMORY_MIB);
    assert_int_equal(f->trace.classes[1].kinds, 0);
    assert_int_equal(f->trace.classes[2].kinds, 6);
    assert_int_equal(f->trace.classes[3].kinds, 7);
    assert_int_equal(f->trace.counts[3], 2);
    assert_int_equal(f->trace.pods[3].created_s, 1);
    assert_int_equal(f->trace.pods[4].created_s, 5);
    assert_int_equal(f->trace.classes[4].kinds, 4);
    assert_int_equal(f->trace.classes[5].kinds, 6);
}

static void
counted_lines_are_that_many_pods(void **state)
{
    struct fixture *f = *state;

    read_nodes(f);
    assert_int_equal(
        read_pods(f, "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,count\n"
                     "1000,100,1,500,,3\n2000,100,0,0,,2\n"),
        0);
    assert_int_equal(f->trace.count, 5);
    assert_false(f->trace.has_times);
    assert_int_equal(f->trace.counts[0], 2);
    assert_int_equal(f->trace.counts[1], 3);
}

static void
what_is_malformed_is_refused_with_its_line(void **state)
{
    struct fixture *f = *state;
    const char *head = "cpu_milli,memory_mib,num_gpu,gpu_milli\n1,1,1,500\n";
    static const struct {
        const char *line, *says;
    } wrong[] = {
        { "1,1,1\n", "line 3 does not have 4 fields" },
        { "-1,1,1,500\n", "cpu_milli is \"-1\"" },
        { "1,1,1,1001\n", "gpu_milli is \"1001\"" },
        { "1,1,17,1000\n", "num_gpu is \"17\"" },
        { "1,1,2,500\n", "num_gpu 1 alone" },
        { "1,1,1,0\n", "num_gpu 1 alone" },
        { "1,x,1,500\n", "memory_mib is \"x\"" },
    };

    read_nodes(f);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "%s%s", head, wrong[i].line);
        assert_int_equal(read_pods(f, text), -1);
        assert_non_null(strstr(f->err.text, wrong[i].says));
    }
    assert_int_equal(read_pods(f, "cpu_milli,memory_mib\n1,1\n"), -1);
    assert_non_null(strstr(f->err.text, "no column num_gpu"));
    assert_int_equal(read_pods(f, head), 0);
}

static void
published_numbers_are_those_of_the_trace(void **state)
{
    struct fixture *f = *state;
    double at_100, at_130;

    write_file(f, "published_allocation.csv",
               "trace,policy,runs,mean_alloc_percent_at_100,"
               "mean_alloc_percent_at_130,min_at_130,max_at_130\n"
               "openb_pod_list_small,Random,10,1,2,1,2\n"
               "openb_pod_list_small,FGD,10,93.5,94.25,1,2\n"
               "openb_pod_list_other,FGD,10,3,4,1,2\n");
    assert_int_equal(openb_read_published(f->directory, "small", &at_100,
                                          &at_130, &f->err),
                     0);
    assert_true(at_100 == 93.5 && at_130 == 94.25);
    assert_int_equal(openb_read_published(f->directory, "none", &at_100,
                                          &at_130, &f->err),
                     0);
    assert_true(at_130 < 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_nodes_are_one_kind, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            pods_take_the_kinds_that_can_ever_serve_them, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counted_lines_are_that_many_pods,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            what_is_malformed_is_refused_with_its_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            published_numbers_are_those_of_the_trace, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
