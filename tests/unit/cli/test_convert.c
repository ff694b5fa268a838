/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#include "cli/document.h"

struct converted {
    json_t *manifest, *notes;
};

static void
drop(struct converted *done)
{
    json_decref(done->manifest);
    json_decref(done->notes);
}
#define scoped_converted __attribute__((cleanup(drop))) struct converted

static struct converted
sbatch(const char *text)
{
    struct converted done = { .notes = json_array() };
    struct error err = { 0 };

    if (convert_sbatch(text, strlen(text), &done.manifest, done.notes, &err) !=
        0)
        fail_msg("%s", err.text);
    return done;
}

static struct converted
kubernetes(const char *text)
{
    static const char *const as_text[] = { "limits", "requests", "env",
                                           "command", NULL };
    struct converted done = { .notes = json_array() };
    struct error err = { 0 };
    scoped_json documents = NULL;

    assert_int_equal(document_parse(text, strlen(text), as_text, &documents,
                                    &err),
                     0);
    if (convert_kubernetes(json_array_get(documents, 0), &done.manifest,
                           done.notes, &err) != 0)
        fail_msg("%s", err.text);
    return done;
}

/* This field of the manifest is this JSON, "" that there is none. */
static void
has(const struct converted *done, const char *field, const char *json)
{
    const json_t *value = json_object_get(done->manifest, field);
    scoped_json right = json_loads(json, JSON_DECODE_ANY, NULL);

    if (json[0] == '\0' ? value != NULL
                        : value == NULL || !json_equal(value, right))
        fail_msg("%s is %s, not %s", field,
                 value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : "absent",
                 json);
}

static void
notes(const struct converted *done, const char *text)
{
    const json_t *one;
    size_t i;

    json_array_foreach(done->notes, i, one)
        if (strstr(json_string_value(one), text) != NULL)
            return;
    fail_msg("\"%s\" is not noted", text);
}

static void
a_batch_script_keeps_what_a_node_gets(void **state)
{
    scoped_converted done =
        sbatch("#!/bin/bash -l\n"
               "#SBATCH --job-name='Train LLM' -N 2\n"
               "#SBATCH --ntasks-per-node=4 --cpus-per-task 8\n"
               "#SBATCH --gres=gpu:a100:4 --mem=200G # all of it\n"
               "#SBATCH --time=1-02:30:00\n"
               "\n"
               "echo $SLURM_NODEID\n"
               "#SBATCH --mem=1G\n");

    (void)state;
    has(&done, "name", "\"train-llm\"");
    has(&done, "instances", "2");
    has(&done, "cpu", "32");
    has(&done, "memory", "\"204800MiB\"");
    has(&done, "max_run", "\"1590m\""); /* 26 h and a half */
    has(&done, "class", "\"CHANGE-ME\"");
    notes(&done, "class: choose one with 4 cards of model a100");
    notes(&done, "4 tasks a node");
    notes(&done, "BULKHEAD_NUMBER");
    assert_string_equal(
        json_string_value(json_array_get(
            json_object_get(done.manifest, "command"), 1)),
        "-l");
}

static void
times_are_those_of_the_manual(void **state)
{
    static const struct {
        const char *text, *run;
    } list[] = {
        { "90", "\"90m\"" },          { "60", "\"1h\"" },
        { "1:30", "\"90s\"" },        { "02:00:00", "\"2h\"" },
        { "0:00:05", "\"5s\"" },      { "2-0", "\"48h\"" },
        { "1-1:30", "\"1530m\"" },    { "1-0:0:1", "\"86401s\"" },
        { "UNLIMITED", "" },          { "0", "" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char text[80];

        (void)snprintf(text, sizeof(text), "#!/bin/sh\n#SBATCH -t %s\n",
                       list[i].text);
        scoped_converted done = sbatch(text);
        has(&done, "max_run", list[i].run);
    }
}

static void
cards_are_counted_for_one_node(void **state)
{
    static const struct {
        const char *options, *note;
    } list[] = {
        { "--gres=gpu:2", "with 2 cards an instance" },
        { "--gres=gpu", "with 1 card an instance" },
        { "--gpus-per-node=h100:8", "with 8 cards of model h100" },
        { "-G 8 -N 4", "with 2 cards an instance" },
        { "--gpus=v100:3", "with 3 cards of model v100" },
        { "-n 4 -N 2 --gpus-per-task=1", "with 2 cards an instance" },
        { "--gres=craynetwork:1", "asks for no card" },
        { "-n 1", "asks for no card" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        char text[120];

        (void)snprintf(text, sizeof(text), "#!/bin/sh\n#SBATCH %s\n",
                       list[i].options);
        scoped_converted done = sbatch(text);
        notes(&done, list[i].note);
    }
}

static void
memory_for_each_cpu_or_card_is_added_up(void **state)
{
    scoped_converted cpus =
        sbatch("#!/bin/sh\n#SBATCH -n 2 -c 4 --mem-per-cpu=1500\n");
    scoped_converted cards =
        sbatch("#!/bin/sh\n#SBATCH --gres=gpu:4 --mem-per-gpu=10G\n");
    scoped_converted kib = sbatch("#!/bin/sh\n#SBATCH --mem=1025K\n");

    (void)state;
    has(&cpus, "memory", "\"12000MiB\"");
    has(&cards, "memory", "\"40960MiB\"");
    has(&kib, "memory", "\"2MiB\"");
}

static void
nothing_of_a_script_is_dropped_without_a_note(void **state)
{
    static const char *const options[] = {
        "--partition=p", "-A acct", "--qos=high", "--array=1-9",
        "--dependency=afterok:1", "-o out", "--export=ALL", "--exclusive",
        "--requeue", "-w node1", "-C a100", "--begin=now", "--nosuch=1",
        "--mail-user=x@example.org", "--signal=B:USR1@90",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
        char text[120];

        (void)snprintf(text, sizeof(text), "#!/bin/sh\n#SBATCH %s\n",
                       options[i]);
        scoped_converted done = sbatch(text);
        /* One more than for a script without options: class and image. */
        assert_int_equal(json_array_size(done.notes), 3);
    }
}

static void
what_no_script_has_is_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *why;
    } list[] = {
        { "#!/bin/sh\n#SBATCH --time=soon\n", "line 2: --time=soon" },
        { "#!/bin/sh\n\n#SBATCH --mem=4X\n", "line 3: --mem=4X" },
        { "#!/bin/sh\n#SBATCH --nodes=none\n", "line 2: --nodes=none" },
        { "#!/bin/sh\n#SBATCH -t\n", "line 2: --time has no value" },
        { "#!/bin/sh\n#SBATCH train\n", "line 2: \"train\" is not an" },
        { "#!/bin/sh\n#SBATCH -t 1:2:3:4\n", "line 2: --time=1:2:3:4" },
        { "#!/bin/sh\n#SBATCH -t 1-\n", "line 2: --time=1-" },
        { "#!/bin/sh\n#SBATCH -G 99999999999999999999\n", "line 2: --gpus" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scoped_json said = json_array();
        json_t *manifest = NULL;
        struct error err = { 0 };

        if (convert_sbatch(list[i].text, strlen(list[i].text), &manifest, said,
                           &err) == 0)
            fail_msg("%s is taken", list[i].text);
        if (strstr(err.text, list[i].why) == NULL)
            fail_msg("%s: %s", list[i].text, err.text);
    }
}

static void
a_job_keeps_its_container(void **state)
{
    scoped_converted done = kubernetes(
        "apiVersion: batch/v1\nkind: Job\n"
        "metadata: {name: fine-tune}\n"
        "spec:\n"
        "  parallelism: 2\n  backoffLimit: 3\n  activeDeadlineSeconds: 600\n"
        "  template:\n    spec:\n      containers:\n"
        "      - image: trainer:1.2\n"
        "        command: [python, 1]\n        args: [train.py]\n"
        "        env: [{name: LR, value: 0.10}, {name: T, valueFrom: {}}]\n"
        "        resources:\n"
        "          requests: {cpu: 1, memory: 1Gi}\n"
        "          limits: {nvidia.com/gpu: 2, cpu: 1500m}\n"
        "        volumeMounts: [{name: d, mountPath: /d, readOnly: true},\n"
        "                       {name: e, mountPath: /e}]\n"
        "      volumes: [{name: d, persistentVolumeClaim: {claimName: c}},\n"
        "                {name: e, emptyDir: {}}]\n");

    (void)state;
    has(&done, "name", "\"fine-tune\"");
    has(&done, "image", "\"trainer:1.2\"");
    has(&done, "instances", "2");
    has(&done, "restarts", "3");
    has(&done, "max_run", "\"10m\"");
    has(&done, "cpu_milli", "1500");
    has(&done, "memory", "\"1024MiB\"");
    has(&done, "command", "[\"python\",\"1\",\"train.py\"]");
    has(&done, "env", "{\"LR\":\"0.10\"}");
    has(&done, "volumes", "[\"c:/d:ro\"]");
    notes(&done, "with 2 cards an instance");
    notes(&done, "env T comes from elsewhere");
    notes(&done, "volume e at /e is no claim");
}

static void
what_a_job_has_beyond_that_is_noted(void **state)
{
    scoped_converted done = kubernetes(
        "{\"kind\":\"Pod\",\"metadata\":{\"name\":\"P.1\","
        "\"namespace\":\"team\"},\"spec\":{\"hostNetwork\":true,"
        "\"priorityClassName\":\"high\",\"containers\":[{\"image\":\"a\","
        "\"securityContext\":{},\"resources\":{\"limits\":"
        "{\"amd.com/gpu\":1,\"cpu\":2,\"x/y\":\"1\"}}},{\"image\":\"b\"}]}}");

    (void)state;
    has(&done, "name", "\"p-1\"");
    has(&done, "cpu_milli", "2000");
    has(&done, "command", "[\"CHANGE-ME\"]");
    notes(&done, "spec.hostNetwork");
    notes(&done, "container.securityContext");
    notes(&done, "2 containers");
    notes(&done, "priorityClassName high");
    notes(&done, "namespace team");
    notes(&done, "resources: x/y");
    notes(&done, "with 1 card an instance");
}

static void
other_kinds_and_quantities_are_refused(void **state)
{
    static const char *const list[] = {
        "{\"kind\":\"Deployment\",\"spec\":{}}",
        "{\"kind\":\"Pod\",\"spec\":{\"containers\":[]}}",
        "{\"kind\":\"Pod\"}",
        "[1]",
        "{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"resources\":"
        "{\"limits\":{\"cpu\":\"much\"}}}]}}",
        "{\"kind\":\"Pod\",\"spec\":{\"containers\":[{\"resources\":"
        "{\"limits\":{\"memory\":\"999999999Ti\"}}}]}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        scoped_json object = json_loads(list[i], 0, NULL);
        scoped_json said = json_array();
        json_t *manifest = NULL;
        struct error err = { 0 };

        assert_non_null(object);
        assert_int_equal(convert_kubernetes(object, &manifest, said, &err),
                         -1);
        assert_int_equal(err.code, ERROR_INVALID);
        assert_int_not_equal(err.text[0], '\0');
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_script_keeps_what_a_node_gets),
        cmocka_unit_test(times_are_those_of_the_manual),
        cmocka_unit_test(cards_are_counted_for_one_node),
        cmocka_unit_test(memory_for_each_cpu_or_card_is_added_up),
        cmocka_unit_test(nothing_of_a_script_is_dropped_without_a_note),
        cmocka_unit_test(what_no_script_has_is_refused_with_its_line),
        cmocka_unit_test(a_job_keeps_its_container),
        cmocka_unit_test(what_a_job_has_beyond_that_is_noted),
        cmocka_unit_test(other_kinds_and_quantities_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
