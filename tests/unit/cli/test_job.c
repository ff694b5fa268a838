/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/bulkhead-job-XXXXXX";

static int
make_file(void **state)
{
    int fd = mkstemp(path);

    (void)state;
    return fd < 0 ? -1 : close(fd);
}

static int
drop_file(void **state)
{
    (void)state;
    return unlink(path);
}

static void
write_file(const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(text, file) < 0, 0);
    assert_int_equal(fclose(file), 0);
}

static void
is(const char *text, const char *json)
{
    scoped_json right = json_loads(json, 0, NULL);
    scoped_json bodies = NULL;
    struct error err = { 0 };

    assert_non_null(right);
    write_file(text);
    if (job_read(path, &bodies, &err) != 0)
        fail_msg("%s: %s", text, err.text);
    assert_int_equal(json_array_size(bodies), 1);
    if (!json_equal(json_array_get(bodies, 0), right))
        fail_msg("%s is %s", text,
                 json_dumps(json_array_get(bodies, 0), JSON_COMPACT));
}

static void
refused(const char *text, const char *why)
{
    json_t *bodies = NULL;
    struct error err = { 0 };

    write_file(text);
    if (job_read(path, &bodies, &err) == 0)
        fail_msg("\"%s\" is taken", text);
    assert_int_equal(err.code, ERROR_INVALID);
    assert_non_null(strstr(err.text, path));
    if (strstr(err.text, why) == NULL)
        fail_msg("\"%s\": %s", text, err.text);
}

static void
amounts_are_read_as_people_write_them(void **state)
{
    (void)state;
    is("cpu: 1.5\nmemory: 4GiB\naccel_memory: 40g\nmax_run: 2h\ngrace: 30\n",
       "{\"cpu_milli\":1500,\"memory_mib\":4096,"
       "\"min_accel_memory_mib\":40960,\"max_run_ms\":7200000,"
       "\"grace_ms\":30000}");
    is("{\"cpu\": 2, \"memory\": \"512\"}",
       "{\"cpu_milli\":2000,\"memory_mib\":512}");
    is("cpu_milli: 250\n", "{\"cpu_milli\":250}");
    refused("cpu: 1.2345\n", "cpu: ");
    refused("memory: 4x\n", "memory: ");
    refused("max_run: -1\n", "max_run: ");
    refused("cpu: [1]\n", "cpu: ");
    refused("cpu: 1\ncpu_milli: 1000\n", "cpu and cpu_milli are both given");
}

static void
keys_of_the_spec_may_stand_beside_the_others(void **state)
{
    (void)state;
    is("name: x\ncommand: [/bin/echo, 1, true]\nenv: {A: 0.10}\n",
       "{\"name\":\"x\",\"spec\":{\"command\":[\"/bin/echo\",\"1\",\"true\"],"
       "\"env\":{\"A\":\"0.10\"}}}");
    is("spec:\n  command: [a]\nworkdir: /data\n",
       "{\"spec\":{\"command\":[\"a\"],\"workdir\":\"/data\"}}");
    refused("spec: {command: [a]}\ncommand: [b]\n",
            "command is given beside spec and in it");
    refused("spec: x\n", "spec is not an object");
}

static void
short_forms_are_those_of_the_options(void **state)
{
    (void)state;
    is("class: [a, b]\ninstances: 2..4\n",
       "{\"classes\":[\"a\",\"b\"],\"instances\":2,\"instances_max\":4}");
    is("class: a\ninstances: 3\n", "{\"class\":\"a\",\"instances\":3}");
    is("volumes: [data:/data, models:/m:ro, {volume: x, path: /x}]\n",
       "{\"spec\":{\"volumes\":["
       "{\"volume\":\"data\",\"path\":\"/data\",\"read_only\":false},"
       "{\"volume\":\"models\",\"path\":\"/m\",\"read_only\":true},"
       "{\"volume\":\"x\",\"path\":\"/x\"}]}}");
    is("topology: node:preferred\nspread: leaf:2\n",
       "{\"spec\":{\"topology\":{\"level\":\"node\",\"mode\":\"preferred\"},"
       "\"spread\":{\"level\":\"leaf\",\"most\":2}}}");
    is("requires: {driver: 550.10}\n",
       "{\"spec\":{\"requires\":{\"driver\":\"550.10\"}}}");
    is("requires: {cuda: {at_least: 12.10, below: 13}}\npinning: cores\n",
       "{\"spec\":{\"requires\":{\"cuda\":{\"at_least\":\"12.10\","
       "\"below\":\"13\"}},\"pinning\":\"cores\"}}");
    refused("class: a,b\n", "write alternatives as a list");
    refused("instances: 4..x\n", "must be N or LEAST..MOST");
    refused("volumes: [data]\n", "must be NAME:PATH");
}

static void
facts_are_required_by_words_too(void **state)
{
    scoped_json spec = json_object();
    scoped_json right = json_loads(
        "{\"requires\":{\"driver\":\"550.54\","
        "\"cuda\":{\"at_least\":\"12.4\",\"below\":\"13\"},"
        "\"capability\":{\"below\":\"9\"}}}",
        0, NULL);
    struct error err = { 0 };

    (void)state;
    assert_int_equal(job_requires("driver=550.54", spec, &err), 0);
    assert_int_equal(job_requires("cuda=12.4..13", spec, &err), 0);
    assert_int_equal(job_requires("capability=..9", spec, &err), 0);
    assert_true(json_equal(spec, right));
    assert_int_equal(job_requires("driver", spec, &err), -1);
    assert_int_equal(job_requires("=5", spec, &err), -1);
    assert_non_null(strstr(err.text, "must be FACT=TEXT"));
}

static void
several_manifests_are_told_apart(void **state)
{
    scoped_json bodies = NULL;
    struct error err = { 0 };

    (void)state;
    write_file("name: a\n---\nname: b\ncpu: 2\n");
    assert_int_equal(job_read(path, &bodies, &err), 0);
    assert_int_equal(json_array_size(bodies), 2);
    refused("name: a\n---\nname: b\ncpu: x\n", "document 2: cpu: ");
    refused("name: a\n---\n- b\n", "document 2: not a manifest");
    refused("# nothing\n", "holds no manifest");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(amounts_are_read_as_people_write_them),
        cmocka_unit_test(keys_of_the_spec_may_stand_beside_the_others),
        cmocka_unit_test(short_forms_are_those_of_the_options),
        cmocka_unit_test(facts_are_required_by_words_too),
        cmocka_unit_test(several_manifests_are_told_apart),
    };

    return cmocka_run_group_tests(tests, make_file, drop_file);
}
