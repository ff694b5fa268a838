/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/cap.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "runner/sample.h"
#include "tests/unit/scratch.h"

/* Trees of groups and disks as the kernel shows them, made of plain files:
 * what is written is added to the end. */

static char home[SCRATCH_MAX];
static char groups[96], disks[96], proc[96];

static void
make(const char *top, const char *path, const char *text)
{
    char full[256];
    char *at;
    int fd;

    (void)snprintf(full, sizeof(full), "%s/%s", top, path);
    for (at = full + 1; (at = strchr(at, '/')) != NULL; at++) {
        *at = '\0';
        (void)mkdir(full, 0700);
        *at = '/';
    }
    fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    (void)close(fd);
}

static const char *
text_of(const char *path)
{
    static char text[1024];
    char full[256];
    int fd;
    ssize_t got;

    (void)snprintf(full, sizeof(full), "%s/%s", groups, path);
    fd = open(full, O_RDONLY);
    assert_true(fd >= 0);
    got = read(fd, text, sizeof(text) - 1);
    assert_true(got >= 0);
    text[got] = '\0';
    (void)close(fd);
    return text;
}

static int
begin(void **state)
{
    (void)state;
    scratch_make(home, "cap");
    (void)snprintf(groups, sizeof(groups), "%s/groups", home);
    (void)snprintf(disks, sizeof(disks), "%s/disks", home);
    (void)snprintf(proc, sizeof(proc), "%s/proc", home);
    make(disks, "vda/dev", "254:0\n");
    make(disks, "vda/size", "4096\n");
    make(disks, "loop0/dev", "7:0\n"); /* no medium */
    make(disks, "loop0/size", "0\n");
    return 0;
}

static int
end(void **state)
{
    (void)state;
    scratch_remove(home);
    return 0;
}

static void
version_1_is_capped_by_quota_and_throttle_and_freed_again(void **state)
{
    const struct cap_tree tree = { CGROUP_V1, groups, disks };
    struct error err = { 0 };

    (void)state;
    make(groups, "cpu/bh/one/cpu.cfs_quota_us", "");
    make(groups, "blkio/bh/one/blkio.throttle.read_bps_device", "");
    make(groups, "blkio/bh/one/blkio.throttle.write_bps_device", "");
    assert_int_equal(cap_group(&tree, "/bh/one", 2000,
                               &(struct runner_cap){ .cpu_milli = 250,
                                                     .io_kib = 4096 },
                               &err),
                     0);
    assert_string_equal(text_of("cpu/bh/one/cpu.cfs_quota_us"), "25000\n");
    assert_string_equal(text_of("blkio/bh/one/blkio.throttle.read_bps_device"),
                        "254:0 4194304\n");
    assert_string_equal(
        text_of("blkio/bh/one/blkio.throttle.write_bps_device"),
        "254:0 4194304\n");
    assert_int_equal(cap_group(&tree, "/bh/one", 2000,
                               &(struct runner_cap){ 0 }, &err),
                     0);
    assert_string_equal(text_of("cpu/bh/one/cpu.cfs_quota_us"),
                        "25000\n200000\n");
    assert_string_equal(text_of("blkio/bh/one/blkio.throttle.read_bps_device"),
                        "254:0 4194304\n254:0 0\n");
}

static void
version_2_is_capped_by_max_files_and_freed_again(void **state)
{
    const struct cap_tree tree = { CGROUP_V2, groups, disks };
    struct error err = { 0 };

    (void)state;
    make(groups, "bh/two/cpu.max", "");
    make(groups, "bh/two/io.max", "");
    assert_int_equal(cap_group(&tree, "/bh/two", 1000,
                               &(struct runner_cap){ .cpu_milli = 500,
                                                     .io_kib = 1024 },
                               &err),
                     0);
    assert_string_equal(text_of("bh/two/cpu.max"), "50000 100000\n");
    assert_string_equal(text_of("bh/two/io.max"),
                        "254:0 rbps=1048576 wbps=1048576\n");
    assert_int_equal(cap_group(&tree, "/bh/two", 1000,
                               &(struct runner_cap){ 0 }, &err),
                     0);
    assert_string_equal(text_of("bh/two/cpu.max"),
                        "50000 100000\n100000 100000\n");
    assert_string_equal(text_of("bh/two/io.max"),
                        "254:0 rbps=1048576 wbps=1048576\n"
                        "254:0 rbps=max wbps=max\n");
}

static void
a_cap_gives_nobody_more_than_it_was_started_with(void **state)
{
    const struct cap_tree tree = { CGROUP_V2, groups, disks };
    struct error err = { 0 };

    (void)state;
    make(groups, "bh/three/cpu.max", "");
    make(groups, "bh/three/io.max", "");
    assert_int_equal(cap_group(&tree, "/bh/three", 500,
                               &(struct runner_cap){ .cpu_milli = 4000 },
                               &err),
                     0);
    assert_string_equal(text_of("bh/three/cpu.max"), "50000 100000\n");
}

static void
a_cap_that_no_disk_takes_has_failed(void **state)
{
    const struct cap_tree tree = { CGROUP_V2, groups, disks };
    struct error err = { 0 };

    (void)state;
    make(groups, "bh/four/cpu.max", "");
    assert_int_equal(cap_group(&tree, "/bh/four", 500,
                               &(struct runner_cap){ .io_kib = 2048 }, &err),
                     -1);
    assert_non_null(strstr(err.text, "cap the disks"));
}

static void
a_cap_below_what_the_machine_leaves_everybody_is_refused(void **state)
{
    const struct policy policy = { .cap_cpu_milli_min = 50,
                                   .cap_io_kib_min = 1024,
                                   .cap_network_kib_min = 128 };
    struct error err = { 0 };

    (void)state;
    assert_int_equal(cap_check(&policy, &(struct runner_cap){ 50, 1024, 128 },
                               &err),
                     0);
    assert_int_equal(cap_check(&policy, &(struct runner_cap){ 0 }, &err), 0);
    assert_int_equal(cap_check(&policy, &(struct runner_cap){ 49, 0, 0 }, &err),
                     -1);
    assert_int_equal(err.code, ERROR_QUOTA);
    assert_string_equal(err.field, "/cpu_milli");
    assert_non_null(strstr(err.text, "49 milli-CPU is below 50"));
    assert_int_equal(cap_check(&policy, &(struct runner_cap){ 0, 1, 0 }, &err),
                     -1);
    assert_string_equal(err.field, "/io_kib");
    assert_int_equal(cap_check(&policy, &(struct runner_cap){ 0, 0, 127 },
                               &err),
                     -1);
    assert_string_equal(err.field, "/network_kib");
}

/* --- samples --- */

static void
make_tasks(void)
{
    make(proc, "71/schedstat", "900 3000000 5\n");
    make(proc, "72/schedstat", "800 4500000 9\n");
}

static void
version_1_counters_are_read_for_what_they_are(void **state)
{
    struct sample sample;

    (void)state;
    make_tasks();
    make(groups, "cpuacct/bh/v1/cpuacct.usage", "7000999\n");
    make(groups, "cpu/bh/v1/cpu.stat",
         "nr_periods 40\nnr_throttled 12\nthrottled_time 600000000\n"
         "nr_bursts 0\nburst_time 0\n");
    make(groups, "cpu/bh/v1/tasks", "71\n72\n73\n");
    make(groups, "blkio/bh/v1/blkio.throttle.io_service_bytes_recursive",
         "254:0 Read 4096\n254:0 Write 1000\n254:0 Sync 5096\n"
         "254:0 Async 0\n254:0 Discard 0\n254:0 Total 5096\n"
         "7:0 Read 10\n7:0 Write 20\n7:0 Total 30\nTotal 5126\n");
    make(groups, "blkio/bh/v1/blkio.throttle.io_serviced_recursive",
         "254:0 Read 3\n254:0 Write 4\n254:0 Total 7\nTotal 7\n");
    make(groups, "memory/bh/v1/memory.usage_in_bytes", "12345\n");
    sample_read(groups, CGROUP_HYBRID, "/bh/v1", proc, &sample);
    assert_int_equal(sample.cpu_us, 7000);
    assert_int_equal(sample.throttled_us, 600000);
    assert_int_equal(sample.periods, 40);
    assert_int_equal(sample.throttled, 12);
    assert_int_equal(sample.wait_us, 7500); /* the third task has gone */
    assert_int_equal(sample.read_bytes, 4106);
    assert_int_equal(sample.written_bytes, 1020);
    assert_int_equal(sample.reads, 3);
    assert_int_equal(sample.writes, 4);
    assert_int_equal(sample.memory_bytes, 12345);
}

static void
version_2_counters_are_read_for_what_they_are(void **state)
{
    struct sample sample;

    (void)state;
    make_tasks();
    make(groups, "bh/v2/cpu.stat",
         "usage_usec 5000\nuser_usec 4000\nsystem_usec 1000\n"
         "nr_periods 10\nnr_throttled 3\nthrottled_usec 777\n");
    make(groups, "bh/v2/cgroup.threads", "72\n");
    make(groups, "bh/v2/io.stat",
         "254:0 rbytes=100 wbytes=200 rios=3 wios=4 dbytes=9 dios=1\n"
         "7:1 rbytes=1 wbytes=2 rios=1 wios=2 dbytes=0 dios=0\n");
    make(groups, "bh/v2/memory.current", "99\n");
    sample_read(groups, CGROUP_V2, "/bh/v2", proc, &sample);
    assert_int_equal(sample.cpu_us, 5000);
    assert_int_equal(sample.throttled_us, 777);
    assert_int_equal(sample.periods, 10);
    assert_int_equal(sample.throttled, 3);
    assert_int_equal(sample.wait_us, 4500);
    assert_int_equal(sample.read_bytes, 101);
    assert_int_equal(sample.written_bytes, 202);
    assert_int_equal(sample.reads, 4);
    assert_int_equal(sample.writes, 6);
    assert_int_equal(sample.memory_bytes, 99);
}

static void
a_group_that_is_gone_has_used_nothing(void **state)
{
    struct sample sample;

    (void)state;
    sample_read(groups, CGROUP_V2, "/bh/none", proc, &sample);
    assert_int_equal(sample.cpu_us + sample.wait_us + sample.read_bytes +
                         sample.memory_bytes,
                     0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            version_1_is_capped_by_quota_and_throttle_and_freed_again),
        cmocka_unit_test(version_2_is_capped_by_max_files_and_freed_again),
        cmocka_unit_test(a_cap_gives_nobody_more_than_it_was_started_with),
        cmocka_unit_test(a_cap_that_no_disk_takes_has_failed),
        cmocka_unit_test(
            a_cap_below_what_the_machine_leaves_everybody_is_refused),
        cmocka_unit_test(version_1_counters_are_read_for_what_they_are),
        cmocka_unit_test(version_2_counters_are_read_for_what_they_are),
        cmocka_unit_test(a_group_that_is_gone_has_used_nothing),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
