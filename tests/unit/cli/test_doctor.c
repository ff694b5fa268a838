/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/doctor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/* A made-up machine: a directory that stands for /. */
static char root[64];

static void
put(const char *path, const char *text)
{
    char whole[300], *slash;
    struct error err;

    (void)snprintf(whole, sizeof(whole), "%s%s", root, path);
    slash = strrchr(whole, '/');
    *slash = '\0';
    assert_int_equal(file_make_directory(whole, 0755, &err), 0);
    *slash = '/';
    assert_int_equal(file_write(whole, text, strlen(text), 0755, &err), 0);
}

static void
drop(const char *path)
{
    char whole[300];

    (void)snprintf(whole, sizeof(whole), "%s%s", root, path);
    assert_int_equal(remove(whole), 0);
}

static void
put_card(const char *slot, const char *vendor, const char *class,
         const char *driver)
{
    char path[200], whole[300], target[64];

    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/vendor", slot);
    put(path, vendor);
    (void)snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/class", slot);
    put(path, class);
    if (driver == NULL)
        return;
    (void)snprintf(whole, sizeof(whole), "%s/sys/bus/pci/devices/%s/driver",
                   root, slot);
    (void)snprintf(target, sizeof(target), "../../drivers/%s", driver);
    assert_int_equal(symlink(target, whole), 0);
}

/* All in order, with one NVIDIA card. */
static int
make_machine(void **state)
{
    static const char *const programs[] = { "crun", "conmon", "nft", "ip",
                                            "umoci", "skopeo" };
    char path[64];

    (void)state;
    (void)snprintf(root, sizeof(root), "/tmp/bulkhead-doctor-XXXXXX");
    if (mkdtemp(root) == NULL)
        return -1;
    put("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n");
    put("/proc/sys/user/max_user_namespaces", "95000\n");
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    for (size_t i = 0; i < sizeof(programs) / sizeof(programs[0]); i++) {
        (void)snprintf(path, sizeof(path), "/usr/bin/%s", programs[i]);
        put(path, "");
    }
    put("/sbin/mkfs.ext4", "");
    put("/dev/nvidiactl", "");
    put("/var/lib/bulkhead/x", "");
    put_card("0000:3b:00.0", "0x10de\n", "0x030200\n", "nvidia");
    return 0;
}

static int
remove_one(const char *path, const struct stat *about, int kind,
           struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

static int
drop_machine(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* The finding of a check whose text holds that. */
static json_t *
found(const char *check, const char *text)
{
    json_t *findings = json_array(), *one, *found = NULL;
    size_t i;

    doctor_machine(root, "/var/lib/bulkhead", findings);
    json_array_foreach(findings, i, one)
        if (strcmp(json_string_value(json_object_get(one, "check")), check) ==
                0 &&
            strstr(json_string_value(json_object_get(one, "found")), text) !=
                NULL)
            found = json_incref(one);
    json_decref(findings);
    return found;
}

static void
is(const char *check, const char *state, const char *text, const char *fix)
{
    scoped_json one = found(check, text);

    if (one == NULL)
        fail_msg("%s does not find \"%s\"", check, text);
    assert_string_equal(json_string_value(json_object_get(one, "state")),
                        state);
    if (strstr(json_string_value(json_object_get(one, "fix")), fix) == NULL)
        fail_msg("%s: no \"%s\"", check, fix);
}

static void
a_machine_in_order_has_no_fix(void **state)
{
    scoped_json findings = json_array();
    const json_t *one;
    size_t i;

    (void)state;
    doctor_machine(root, "/var/lib/bulkhead", findings);
    assert_int_equal(json_array_size(findings), 7);
    json_array_foreach(findings, i, one) {
        const char *check =
            json_string_value(json_object_get(one, "check"));

        /* These two are of the machine that the test runs on. */
        if (strcmp(check, "clock") == 0 || strcmp(check, "room") == 0)
            continue;
        assert_string_equal(
            json_string_value(json_object_get(one, "state")), "ok");
        assert_string_equal(json_string_value(json_object_get(one, "fix")),
                            "");
    }
    is("card", "ok", "NVIDIA at 0000:3b:00.0 by nvidia", "");
}

static void
an_old_kernel_fails(void **state)
{
    (void)state;
    put("/proc/sys/kernel/osrelease", "5.11.9\n");
    is("kernel", "fail", "5.11.9", "5.12");
    put("/proc/sys/kernel/osrelease", "5.12.0\n");
    is("kernel", "ok", "5.12.0", "");
    put("/proc/sys/kernel/osrelease", "10.0\n");
    is("kernel", "ok", "10.0", "");
    drop("/proc/sys/kernel/osrelease");
    is("kernel", "fail", "unknown", "boot");
}

static void
missing_controllers_are_named(void **state)
{
    (void)state;
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset io pids\n");
    is("cgroups", "fail", " cpu memory", "kernel's command line");
    /* A word within another is not it. */
    put("/sys/fs/cgroup/cgroup.controllers", "cpuset memory pids\n");
    is("cgroups", "fail", "missing: cpu", "");
    drop("/sys/fs/cgroup/cgroup.controllers");
    is("cgroups", "fail", " cpu memory pids", "mount");
    put("/sys/fs/cgroup/cpu/tasks", "");
    put("/sys/fs/cgroup/memory/tasks", "");
    put("/sys/fs/cgroup/pids/tasks", "");
    is("cgroups", "ok", "version 1", "");
}

static void
missing_programs_are_told_by_their_packages(void **state)
{
    (void)state;
    drop("/usr/bin/nft");
    drop("/sbin/mkfs.ext4");
    is("programs", "fail", "missing: nftables e2fsprogs",
       "apt-get install nftables e2fsprogs");
}

static void
name_spaces_that_are_forbidden_fail(void **state)
{
    (void)state;
    put("/proc/sys/user/max_user_namespaces", "0\n");
    is("namespaces", "fail", "0", "sysctl");
    drop("/proc/sys/user/max_user_namespaces");
    is("namespaces", "fail", "not in this kernel", "");
}

static void
a_card_without_its_driver_fails_with_what_to_install(void **state)
{
    (void)state;
    put_card("0000:3c:00.0", "0x10de\n", "0x030200\n", "nouveau");
    is("card", "fail", "0000:3c:00.0: driver nouveau", "nouveau");
    put_card("0000:3d:00.0", "0x1002\n", "0x120000\n", NULL);
    is("card", "fail", "AMD at 0000:3d:00.0: no driver", "amdgpu");
    put_card("0000:3e:00.0", "0x1002\n", "0x030000\n", "amdgpu");
    is("card", "fail", "0000:3e:00.0: driver amdgpu, but its device nodes",
       "");
    put("/dev/kfd", "");
    is("card", "ok", "AMD at 0000:3e:00.0 by amdgpu", "");
    drop("/dev/nvidiactl");
    is("card", "fail", "0000:3b:00.0: driver nvidia, but its device", "");
}

static void
what_drives_a_screen_is_no_card(void **state)
{
    (void)state;
    put_card("0000:00:02.0", "0x8086\n", "0x030000\n", "i915");
    put_card("0000:00:1f.0", "0x8086\n", "0x060100\n", NULL);
    put_card("0000:00:03.0", "0x1af4\n", "0x030000\n", NULL);
    assert_null(found("card", "0000:00:"));
    put("/sys/bus/pci/devices/0000:3b:00.0/class", "0x020000\n");
    is("card", "warn", "no accelerator", "simulated");
}

static void
a_directory_that_is_not_there_is_asked_for(void **state)
{
    (void)state;
    drop("/var/lib/bulkhead/x");
    drop("/var/lib/bulkhead");
    is("room", "warn", "/var/lib/bulkhead is not there", "--data");
}

#define TEST(name)                                                            \
    cmocka_unit_test_setup_teardown(name, make_machine, drop_machine)

int
main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_machine_in_order_has_no_fix),
        TEST(an_old_kernel_fails),
        TEST(missing_controllers_are_named),
        TEST(missing_programs_are_told_by_their_packages),
        TEST(name_spaces_that_are_forbidden_fail),
        TEST(a_card_without_its_driver_fails_with_what_to_install),
        TEST(what_drives_a_screen_is_no_card),
        TEST(a_directory_that_is_not_there_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
