/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/json.h"

static const char *const argv[] = { "/bin/true", NULL };
static const char *const env[] = { "A=b", NULL };

static json_t *
build(void)
{
    static const struct spec_bind binds[] = {
        { "/state/run", "/run/bulkhead", true, true },
        { "/state/volumes/0", "/data", false, false },
    };
    static const struct spec_device devices[] = {
        { "/dev/bulkhead/device0", 245, 3 },
    };
    const struct spec spec = { .root = "/state/root",
                               .read_only_root = true,
                               .hostname = "h",
                               .argv = argv,
                               .env = env,
                               .cwd = "/",
                               .uid = 5,
                               .gid = 6,
                               .userns = "/s/instances/x/userns",
                               .cpu_milli = 500,
                               .memory_mib = 64,
                               .pids_max = 10,
                               .scratch_mib = 8,
                               .files_max = 100,
                               .limit_swap = true,
                               .filter = "AAAA",
                               .cgroup = "/bh/x",
                               .netns = "/state/netns/x",
                               .bind_count = 2,
                               .binds = binds,
                               .device_count = 1,
                               .devices = devices };

    return spec_new(&spec);
}

static json_t *
at(json_t *value, const char *path)
{
    char part[64];

    while (*path != '\0' && value != NULL) {
        size_t size = strcspn(path, "/");

        memcpy(part, path, size);
        part[size] = '\0';
        value = json_object_get(value, part);
        path += size + (path[size] == '/');
    }
    return value;
}

static void
a_container_has_no_capability_and_no_new_rights(void **state)
{
    static const char *const kinds[] = { "bounding", "effective", "inheritable",
                                         "permitted", "ambient" };
    scoped_json spec = build();

    (void)state;
    for (size_t i = 0; i < 5; i++) {
        json_t *list =
            json_object_get(at(spec, "process/capabilities"), kinds[i]);

        assert_true(json_is_array(list));
        assert_int_equal(json_array_size(list), 0);
    }
    assert_true(json_is_true(at(spec, "process/noNewPrivileges")));
    assert_true(json_is_true(at(spec, "root/readonly")));
    assert_null(at(spec, "hooks"));
}

static void
every_namespace_is_its_own(void **state)
{
    static const char *const kinds[] = { "pid",    "ipc",  "uts",    "mount",
                                         "cgroup", "user", "network" };
    scoped_json spec = build();
    json_t *list = at(spec, "linux/namespaces");

    (void)state;
    for (size_t i = 0; i < 7; i++) {
        bool found = false;
        json_t *item;
        size_t k;

        json_array_foreach(list, k, item) found |=
            strcmp(json_string_value(json_object_get(item, "type")),
                   kinds[i]) == 0;
        assert_true(found);
    }
    assert_int_equal(json_array_size(list), 7);
}

static void
limits_are_written_in_the_kernels_units(void **state)
{
    scoped_json spec = build();
    json_t *resources = at(spec, "linux/resources");

    (void)state;
    assert_int_equal(json_integer_value(at(resources, "memory/limit")),
                     67108864);
    assert_int_equal(json_integer_value(at(resources, "memory/swap")),
                     67108864);
    assert_int_equal(json_integer_value(at(resources, "cpu/quota")), 50000);
    assert_int_equal(json_integer_value(at(resources, "cpu/period")), 100000);
    assert_int_equal(json_integer_value(at(resources, "pids/limit")), 10);
}

static void
all_devices_are_denied_but_its_own(void **state)
{
    scoped_json spec = build();
    json_t *rules = at(spec, "linux/resources/devices");
    json_t *own = json_array_get(rules, 1);

    (void)state;
    assert_int_equal(json_array_size(rules), 2);
    assert_true(
        json_is_false(json_object_get(json_array_get(rules, 0), "allow")));
    assert_int_equal(json_integer_value(json_object_get(own, "major")), 245);
    assert_int_equal(json_integer_value(json_object_get(own, "minor")), 3);
    assert_string_equal(json_string_value(json_object_get(own, "access")),
                        "rw");
}

/* The namespace that the runner made, with the instance's range. */
static void
ids_are_those_of_the_instances_own_namespace(void **state)
{
    scoped_json spec = build();
    const char *path = NULL;
    json_t *item;
    size_t i;

    (void)state;
    json_array_foreach(at(spec, "linux/namespaces"), i, item) if (
        strcmp(json_string_value(json_object_get(item, "type")), "user") == 0)
        path = json_string_value(json_object_get(item, "path"));
    assert_string_equal(path, "/s/instances/x/userns");
    assert_null(at(spec, "linux/uidMappings"));
    assert_null(at(spec, "linux/gidMappings"));
}

/* Not the machine's: no mount has a source outside the state directory. */
static void
mounts_are_fresh_or_the_runners_own(void **state)
{
    scoped_json spec = build();
    json_t *item;
    size_t i;

    (void)state;
    json_array_foreach(at(spec, "mounts"), i, item)
    {
        const char *source = json_string_value(json_object_get(item, "source"));
        const char *path =
            json_string_value(json_object_get(item, "destination"));
        bool nosuid = false;
        json_t *option;
        size_t k;

        assert_true(source[0] != '/' || strncmp(source, "/state/", 7) == 0);
        json_array_foreach(json_object_get(item, "options"), k, option)
            nosuid |= strcmp(json_string_value(option), "nosuid") == 0;
        if (!nosuid)
            fail_msg("%s may carry setuid files", path);
    }
}

static void
the_filter_refuses_by_default(void **state)
{
    scoped_json spec = build();
    json_t *filter = at(spec, "linux/seccomp");
    json_t *program = json_object_get(at(spec, "annotations"),
                                      "run.oci.seccomp_bpf_data");
    json_t *item;
    size_t i;

    (void)state;
    /* As rules, and as the program of the same rules. */
    assert_string_equal(json_string_value(program), "AAAA");
    assert_string_equal(json_string_value(at(filter, "defaultAction")),
                        "SCMP_ACT_ERRNO");
    json_array_foreach(at(filter, "syscalls"), i, item)
    {
        const char *action = json_string_value(json_object_get(item, "action"));
        json_t *name;
        size_t k;

        if (strcmp(action, "SCMP_ACT_ALLOW") != 0)
            continue;
        json_array_foreach(json_object_get(item, "names"), k, name)
        {
            static const char *const never[] = {
                "mount",       "unshare",        "setns",
                "bpf",         "ptrace",         "keyctl",
                "clone3",      "umount2",        "open_tree",
                "userfaultfd", "io_uring_setup", "perf_event_open",
                "pivot_root",
            };

            for (size_t n = 0; n < sizeof(never) / sizeof(never[0]); n++)
                assert_string_not_equal(json_string_value(name), never[n]);
        }
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_container_has_no_capability_and_no_new_rights),
        cmocka_unit_test(every_namespace_is_its_own),
        cmocka_unit_test(limits_are_written_in_the_kernels_units),
        cmocka_unit_test(all_devices_are_denied_but_its_own),
        cmocka_unit_test(ids_are_those_of_the_instances_own_namespace),
        cmocka_unit_test(mounts_are_fresh_or_the_runners_own),
        cmocka_unit_test(the_filter_refuses_by_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
