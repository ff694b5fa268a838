/* SPDX-License-Identifier: Apache-2.0 */
/* What hwloc says about the machine. */
#include <hwloc.h>
#include <stdio.h>
#include <string.h>

#include "accel/topology.h"
#include "base/arena.h"

static void
copy_set(hwloc_const_bitmap_t from, struct topology_set *to)
{
    for (int i = hwloc_bitmap_first(from); i >= 0 && i < TOPOLOGY_CPUS_MAX;
         i = hwloc_bitmap_next(from, i))
        topology_set_add(to, (unsigned)i);
}

/* The NUMA node of an object, when it is beside one alone. */
static int32_t
node_of(hwloc_obj_t object)
{
    if (object == NULL || object->nodeset == NULL ||
        hwloc_bitmap_weight(object->nodeset) != 1)
        return -1;
    return hwloc_bitmap_first(object->nodeset);
}

static void
read_nodes(hwloc_topology_t machine, struct topology *topology)
{
    hwloc_obj_t at = NULL;

    while ((at = hwloc_get_next_obj_by_type(machine, HWLOC_OBJ_NUMANODE,
                                            at)) != NULL &&
           topology->node_count < TOPOLOGY_NODES_MAX) {
        struct topology_node *node =
            &topology->nodes[topology->node_count++];

        node->number = (int32_t)at->os_index;
        node->memory_mib =
            (int64_t)(at->attr->numanode.local_memory / 1048576);
        copy_set(at->cpuset, &node->cpus);
    }
}

/* Where hwloc sees no cores, each CPU is one. */
static void
read_cores(hwloc_topology_t machine, struct topology *topology)
{
    bool cores = hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_CORE) > 0;
    hwloc_obj_type_t type = cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    hwloc_obj_t at = NULL;

    while ((at = hwloc_get_next_obj_by_type(machine, type, at)) != NULL &&
           topology->core_count < TOPOLOGY_CPUS_MAX) {
        struct topology_core *core =
            &topology->cores[topology->core_count++];

        core->node = node_of(at);
        copy_set(at->cpuset, &core->cpus);
    }
    copy_set(hwloc_topology_get_allowed_cpuset(machine), &topology->cpus);
}

static void
address_of(const struct hwloc_pcidev_attr_s *pci, char text[24])
{
    (void)snprintf(text, 24, "%04x:%02x:%02x.%01x", (unsigned)pci->domain,
                   (unsigned)pci->bus, (unsigned)pci->dev,
                   (unsigned)pci->func);
}

static bool
is_pci_bridge(hwloc_obj_t object)
{
    return object != NULL && object->type == HWLOC_OBJ_BRIDGE &&
           object->attr->bridge.upstream_type == HWLOC_OBJ_BRIDGE_PCI;
}

/* A switch is its port upstream with its ports downstream, below a root port: a
 * device behind fewer bridges hangs on the root itself. */
static void
switch_of(hwloc_obj_t device, char bus[24])
{
    hwloc_obj_t down = device->parent;
    hwloc_obj_t up = is_pci_bridge(down) ? down->parent : NULL;
    hwloc_obj_t root = is_pci_bridge(up) ? up->parent : NULL;

    bus[0] = '\0';
    if (is_pci_bridge(root))
        address_of(&up->attr->bridge.upstream.pci, bus);
}

static void
place_of(hwloc_topology_t machine, const struct topology *topology,
         hwloc_obj_t device, struct topology_place *place)
{
    place->node = node_of(hwloc_get_non_io_ancestor_obj(machine, device));
    if (place->node < 0 && topology->node_count == 1)
        place->node = topology->nodes[0].number;
    switch_of(device, place->bus);
}

static bool
is_network(hwloc_obj_t object)
{
    return object->attr->osdev.type == HWLOC_OBJ_OSDEV_NETWORK ||
           object->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS;
}

/* Those of the machine alone: what is on no bus is not beside anything. */
static void
read_nics(hwloc_topology_t machine, struct topology *topology)
{
    hwloc_obj_t at = NULL;

    while ((at = hwloc_get_next_osdev(machine, at)) != NULL &&
           topology->nic_count < TOPOLOGY_NICS_MAX) {
        struct topology_nic *nic = &topology->nics[topology->nic_count];
        struct topology_place place;

        if (!is_network(at) || at->parent == NULL ||
            at->parent->type != HWLOC_OBJ_PCI_DEVICE)
            continue;
        place_of(machine, topology, at->parent, &place);
        (void)snprintf(nic->name, sizeof(nic->name), "%.31s", at->name);
        address_of(&at->parent->attr->pcidev, nic->pci);
        memcpy(nic->bus, place.bus, sizeof(nic->bus));
        nic->node = place.node;
        topology->nic_count++;
    }
}

static int
load(const char *xml, hwloc_topology_t *machine_out, struct error *err)
{
    hwloc_topology_t machine;

    if (hwloc_topology_init(&machine) != 0)
        return error_set(err, ERROR_INTERNAL, "hwloc does not begin");
    (void)hwloc_topology_set_io_types_filter(machine,
                                             HWLOC_TYPE_FILTER_KEEP_ALL);
    if ((xml != NULL && hwloc_topology_set_xmlbuffer(
                            machine, xml, (int)strlen(xml) + 1) != 0) ||
        hwloc_topology_load(machine) != 0) {
        hwloc_topology_destroy(machine);
        return error_set(err, ERROR_INTERNAL,
                         "hwloc cannot read the machine's topology");
    }
    *machine_out = machine;
    return 0;
}

static void
release(void *machine)
{
    hwloc_topology_destroy(machine);
}

int
topology_machine(const char *xml, struct topology **topology_out,
                 struct error *err)
{
    struct topology *topology;
    hwloc_topology_t machine = NULL;

    if (load(xml, &machine, err) != 0)
        return -1;
    topology = memory_new(1, sizeof(*topology));
    topology->machine = machine;
    topology->release = release;
    topology->packages =
        (int32_t)hwloc_get_nbobjs_by_type(machine, HWLOC_OBJ_PACKAGE);
    if (topology->packages < 1)
        topology->packages = 1;
    read_nodes(machine, topology);
    read_cores(machine, topology);
    read_nics(machine, topology);
    *topology_out = topology;
    return 0;
}

void
topology_locate(const struct topology *topology, const char *address,
                struct topology_place *place_out)
{
    hwloc_obj_t device;

    *place_out = (struct topology_place){ .node = -1 };
    if (topology->machine == NULL)
        return;
    device = hwloc_get_pcidev_by_busidstring(topology->machine, address);
    if (device != NULL)
        place_of(topology->machine, topology, device, place_out);
}
