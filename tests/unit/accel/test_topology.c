/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/topology.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "accel/feature.h"
#include "base/json.h"

/* --- sets --- */

static void
lists_are_written_as_the_kernel_does(void **state)
{
    static const struct {
        const char *in, *out;
        unsigned count;
    } list[] = { { "0-3,8", "0-3,8", 5 }, { "", "", 0 }, { "5", "5", 1 },
                 { "2,1,0", "0-2", 3 },   { "1022-1023", "1022-1023", 2 } };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct topology_set set;
        char text[TOPOLOGY_LIST_MAX];

        assert_true(topology_set_parse(list[i].in, &set));
        topology_set_format(&set, text);
        assert_string_equal(text, list[i].out);
        assert_int_equal(topology_set_count(&set), list[i].count);
    }
}

static void
what_is_no_list_is_refused(void **state)
{
    static const char *const list[] = { "a", "1-", "-1", "3-1", "1,,2",
                                        "1,", "1024", "0-1024", "1 2" };

    (void)state;
    for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++) {
        struct topology_set set;

        assert_false(topology_set_parse(list[i], &set));
    }
}

/* --- the machine, as hwloc's own texts describe it --- */

/* Two packages of two cores with two threads each. */
static void
packages_nodes_and_cores_are_read(void **state)
{
    struct topology *topology = NULL;
    struct error err = { 0 };
    char text[TOPOLOGY_LIST_MAX];
    scoped_json json = NULL;

    (void)state;
    assert_int_equal(setenv("HWLOC_SYNTHETIC",
                            "pack:2 [numa(memory=2147483648)] core:2 pu:2",
                            1),
                     0);
    assert_int_equal(topology_machine(NULL, &topology, &err), 0);
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_int_equal(topology->packages, 2);
    assert_int_equal(topology->node_count, 2);
    assert_int_equal(topology->nodes[1].memory_mib, 2048);
    topology_set_format(&topology->nodes[1].cpus, text);
    assert_string_equal(text, "4-7");
    assert_int_equal(topology->core_count, 4);
    assert_int_equal(topology->cores[3].node, 1);
    topology_set_format(&topology->cores[3].cpus, text);
    assert_string_equal(text, "6-7");
    json = topology_json(topology);
    assert_int_equal(json_integer_value(json_object_get(json, "cores")), 4);
    assert_string_equal(json_string_value(json_object_get(json, "cpus")),
                        "0-7");
    topology_free(topology);
}

/* One package per NUMA node.  Below the first a root port with a switch, behind
 * which a card and a network are; beside it a card on a root port alone. */
static const char machine_xml[] =
    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>"
    "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">"
    "<topology version=\"2.0\">"
    "<object type=\"Machine\" os_index=\"0\" cpuset=\"0x00000003\" "
    "complete_cpuset=\"0x00000003\" allowed_cpuset=\"0x00000003\" "
    "nodeset=\"0x00000003\" complete_nodeset=\"0x00000003\" "
    "allowed_nodeset=\"0x00000003\" gp_index=\"1\">"
    "<object type=\"Package\" os_index=\"0\" cpuset=\"0x00000001\" "
    "complete_cpuset=\"0x00000001\" nodeset=\"0x00000001\" "
    "complete_nodeset=\"0x00000001\" gp_index=\"2\">"
    "<object type=\"NUMANode\" os_index=\"0\" cpuset=\"0x00000001\" "
    "complete_cpuset=\"0x00000001\" nodeset=\"0x00000001\" "
    "complete_nodeset=\"0x00000001\" gp_index=\"3\" "
    "local_memory=\"1073741824\"/>"
    "<object type=\"Core\" os_index=\"0\" cpuset=\"0x00000001\" "
    "complete_cpuset=\"0x00000001\" nodeset=\"0x00000001\" "
    "complete_nodeset=\"0x00000001\" gp_index=\"4\">"
    "<object type=\"PU\" os_index=\"0\" cpuset=\"0x00000001\" "
    "complete_cpuset=\"0x00000001\" nodeset=\"0x00000001\" "
    "complete_nodeset=\"0x00000001\" gp_index=\"5\"/></object>"
    /* the host bridge */
    "<object type=\"Bridge\" gp_index=\"20\" bridge_type=\"0-1\" depth=\"0\" "
    "bridge_pci=\"0000:[00-0f]\">"
    /* a root port, and a card right behind it */
    "<object type=\"Bridge\" gp_index=\"21\" bridge_type=\"1-1\" depth=\"1\" "
    "bridge_pci=\"0000:[01-01]\" pci_busid=\"0000:00:01.0\" "
    "pci_type=\"0604 [8086:0001] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"PCIDev\" gp_index=\"22\" pci_busid=\"0000:01:00.0\" "
    "pci_type=\"0302 [10de:2330] [0000:0000] a1\" pci_link_speed=\"0.0\"/>"
    "</object>"
    /* a root port, a switch with two ports: a card and a network */
    "<object type=\"Bridge\" gp_index=\"23\" bridge_type=\"1-1\" depth=\"1\" "
    "bridge_pci=\"0000:[02-05]\" pci_busid=\"0000:00:02.0\" "
    "pci_type=\"0604 [8086:0001] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"Bridge\" gp_index=\"24\" bridge_type=\"1-1\" depth=\"2\" "
    "bridge_pci=\"0000:[03-05]\" pci_busid=\"0000:02:00.0\" "
    "pci_type=\"0604 [10b5:8796] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"Bridge\" gp_index=\"25\" bridge_type=\"1-1\" depth=\"3\" "
    "bridge_pci=\"0000:[04-04]\" pci_busid=\"0000:03:00.0\" "
    "pci_type=\"0604 [10b5:8796] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"PCIDev\" gp_index=\"26\" pci_busid=\"0000:04:00.0\" "
    "pci_type=\"0302 [10de:2330] [0000:0000] a1\" pci_link_speed=\"0.0\"/>"
    "</object>"
    "<object type=\"Bridge\" gp_index=\"27\" bridge_type=\"1-1\" depth=\"3\" "
    "bridge_pci=\"0000:[05-05]\" pci_busid=\"0000:03:01.0\" "
    "pci_type=\"0604 [10b5:8796] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"PCIDev\" gp_index=\"28\" pci_busid=\"0000:05:00.0\" "
    "pci_type=\"0207 [15b3:1021] [0000:0000] 00\" pci_link_speed=\"0.0\">"
    "<object type=\"OSDev\" gp_index=\"29\" name=\"ib0\" "
    "osdev_type=\"2\"/>"
    "<object type=\"OSDev\" gp_index=\"30\" name=\"mlx5_0\" "
    "osdev_type=\"3\"/>"
    "</object></object></object></object></object>"
    "</object>"
    "<object type=\"Package\" os_index=\"1\" cpuset=\"0x00000002\" "
    "complete_cpuset=\"0x00000002\" nodeset=\"0x00000002\" "
    "complete_nodeset=\"0x00000002\" gp_index=\"6\">"
    "<object type=\"NUMANode\" os_index=\"1\" cpuset=\"0x00000002\" "
    "complete_cpuset=\"0x00000002\" nodeset=\"0x00000002\" "
    "complete_nodeset=\"0x00000002\" gp_index=\"7\" "
    "local_memory=\"2147483648\"/>"
    "<object type=\"Core\" os_index=\"0\" cpuset=\"0x00000002\" "
    "complete_cpuset=\"0x00000002\" nodeset=\"0x00000002\" "
    "complete_nodeset=\"0x00000002\" gp_index=\"8\">"
    "<object type=\"PU\" os_index=\"1\" cpuset=\"0x00000002\" "
    "complete_cpuset=\"0x00000002\" nodeset=\"0x00000002\" "
    "complete_nodeset=\"0x00000002\" gp_index=\"9\"/></object>"
    "</object></object></topology>";

static void
cards_and_networks_are_placed_by_their_address(void **state)
{
    struct topology *topology = NULL;
    struct topology_place place;
    struct error err = { 0 };

    (void)state;
    if (topology_machine(machine_xml, &topology, &err) != 0)
        fail_msg("%s", err.text);
    assert_int_equal(topology->node_count, 2);
    topology_locate(topology, "0000:04:00.0", &place);
    assert_int_equal(place.node, 0);
    assert_string_equal(place.bus, "0000:02:00.0");
    /* Right behind the root there is no switch. */
    topology_locate(topology, "0000:01:00.0", &place);
    assert_int_equal(place.node, 0);
    assert_string_equal(place.bus, "");
    topology_locate(topology, "0000:77:00.0", &place);
    assert_int_equal(place.node, -1);
    assert_int_equal(topology->nic_count, 2);
    assert_string_equal(topology->nics[0].name, "ib0");
    assert_string_equal(topology->nics[0].pci, "0000:05:00.0");
    assert_string_equal(topology->nics[1].bus, "0000:02:00.0");
    assert_int_equal(topology->nics[1].node, 0);
    topology_free(topology);
}

/* --- descriptions --- */

static struct topology *
describe(const char *text, struct error *err)
{
    scoped_json json = json_read(text, strlen(text), err);
    struct topology *topology = NULL;

    assert_non_null(json);
    return topology_describe(json, &topology, err) == 0 ? topology : NULL;
}

static void
simulated_machines_are_described(void **state)
{
    struct error err = { 0 };
    struct topology *topology = describe(
        "{\"numa\":[{\"node\":0,\"cpus\":\"0-3\",\"memory_mib\":100,"
        "\"threads\":2},{\"node\":1,\"cpus\":\"4-5\",\"memory_mib\":50}],"
        "\"nics\":[{\"name\":\"eth0\",\"numa\":1,\"bus\":\"b\"}]}",
        &err);
    char text[TOPOLOGY_LIST_MAX];

    (void)state;
    assert_non_null(topology);
    assert_int_equal(topology->core_count, 4);
    topology_set_format(&topology->cores[1].cpus, text);
    assert_string_equal(text, "2-3");
    assert_int_equal(topology->cores[2].node, 1);
    assert_int_equal(topology->nics[0].node, 1);
    topology_free(topology);
    assert_null(describe("{\"numa\":[{\"node\":0,\"cpus\":\"0-\","
                         "\"memory_mib\":1}]}",
                         &err));
    assert_non_null(strstr(err.text, "no list of CPUs"));
    assert_null(describe("{\"numa\":[{\"node\":0,\"cpus\":\"0\","
                         "\"memory_mib\":1},{\"node\":1,\"cpus\":\"0\","
                         "\"memory_mib\":1}]}",
                         &err));
    assert_non_null(strstr(err.text, "two NUMA nodes"));
    assert_null(describe("{\"mood\":1}", &err));
}

/* --- features --- */

static void
can(const char *vendor, const char *model, const char *arch,
    int64_t memory_mib, const char *link, const char *expected)
{
    struct accel_card card = { .memory_mib = memory_mib };

    (void)snprintf(card.vendor, sizeof(card.vendor), "%s", vendor);
    (void)snprintf(card.model, sizeof(card.model), "%s", model);
    (void)snprintf(card.arch, sizeof(card.arch), "%s", arch);
    if (link != NULL) {
        card.link_count = 1;
        card.links[0].level = strcmp(link, "pcie") == 0 ? 50 : -1;
        (void)snprintf(card.links[0].kind, sizeof(card.links[0].kind), "%s",
                       link);
    }
    feature_list(&card);
    assert_string_equal(card.features, expected);
}

static void
features_are_read_from_what_a_card_is(void **state)
{
    (void)state;
    can("nvidia", "Tesla T4", "turing sm_75", 15360, NULL, "");
    can("nvidia", "NVIDIA L4", "ada sm_89", 23034, "pcie", "bf16 fp8");
    can("nvidia", "NVIDIA H100 80GB HBM3", "hopper sm_90", 81559, "switch",
        "bf16 fp8 mig nvlink p2p");
    can("nvidia", "B-card", "blackwell sm_100", 1000, "nvlink",
        "bf16 fp8 fp4 nvlink p2p");
    can("amd", "card", "gfx942", 1000, "xgmi", "bf16 fp8 xgmi p2p");
    can("amd", "card", "gfx90a", 1000, NULL, "bf16");
    can("amd", "card", "", 1000, NULL, "");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_written_as_the_kernel_does),
        cmocka_unit_test(what_is_no_list_is_refused),
        cmocka_unit_test(packages_nodes_and_cores_are_read),
        cmocka_unit_test(cards_and_networks_are_placed_by_their_address),
        cmocka_unit_test(simulated_machines_are_described),
        cmocka_unit_test(features_are_read_from_what_a_card_is),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
