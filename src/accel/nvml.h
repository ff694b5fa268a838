/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_NVML_H
#define ACCEL_NVML_H

#include <stddef.h>

/*
 * What is the binary interface of libnvidia-ml.so.1, as far as it is used?
 *
 * Written from the documented sizes, offsets and version words (x86_64,
 * LP64); the assertions below hold them.  A struct with a version word is
 * zeroed and its word set before each call: the library refuses one that it
 * does not know (NVML_VERSION_MISMATCH).  Structs whose inside is not
 * documented that far (the second form of remapped rows, link information)
 * are not declared: what they tell is read from fields instead.
 */

enum nvml_return {
    NVML_SUCCESS = 0,
    NVML_UNINITIALIZED = 1,
    NVML_INVALID_ARGUMENT = 2,
    NVML_NOT_SUPPORTED = 3,
    NVML_NO_PERMISSION = 4,
    NVML_NOT_FOUND = 6,
    NVML_INSUFFICIENT_SIZE = 7,
    NVML_DRIVER_NOT_LOADED = 9,
    NVML_TIMEOUT = 10,
    NVML_IRQ_ISSUE = 11,
    NVML_FUNCTION_NOT_FOUND = 13,
    NVML_CORRUPTED_INFOROM = 14,
    NVML_GPU_IS_LOST = 15,
    NVML_RESET_REQUIRED = 16,
    NVML_OPERATING_SYSTEM = 17,
    NVML_LIBRARY_MISMATCH = 18,
    NVML_IN_USE = 19,
    NVML_INSUFFICIENT_RESOURCES = 23,
    NVML_VERSION_MISMATCH = 25,
    NVML_NOT_READY = 27,
    NVML_GPU_NOT_FOUND = 28,
    NVML_UNKNOWN = 999
};

typedef struct nvml_device_inside *nvml_device;
typedef struct nvml_instance_inside *nvml_instance;
typedef struct nvml_compute_inside *nvml_compute;
typedef struct nvml_event_set_inside *nvml_event_set;
typedef struct nvml_gpm_sample_inside *nvml_gpm_sample;

/* The word of a struct with a version: its size and, on top, the number. */
#define NVML_WORD(type, number)                                                \
    ((unsigned)sizeof(type) | ((unsigned)(number) << 24))

#define NVML_NOT_AVAILABLE (~0ULL) /* a number that is not known */
#define NVML_WHOLE 0xFFFFFFFFU     /* no instance: the whole card */
#define NVML_MAJOR 195U            /* of the device nodes */

struct nvml_branch {
    unsigned version;
    char branch[80];
};
struct nvml_confidential {
    unsigned environment, feature, developer;
};
struct nvml_pci {
    char legacy[16];
    unsigned domain, bus, device, id, subsystem;
    char address[32]; /* 00000000:41:00.0 */
};
struct nvml_excluded {
    struct nvml_pci pci;
    char uuid[80];
};
struct nvml_platform {
    unsigned version;
    unsigned char guid[16], chassis[16];
    unsigned char slot, tray, host, peer, module;
};
struct nvml_attributes {
    unsigned units, copy, decoders, encoders, jpeg, ofa, slices, compute;
    unsigned long long memory_mib;
};
struct nvml_memory {
    unsigned long long total, free, used;
};
struct nvml_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nvml_bar {
    unsigned long long total, free, used;
};
struct nvml_utilization {
    unsigned gpu, memory; /* percent */
};
struct nvml_process_sample {
    unsigned pid;
    unsigned long long time_us;
    unsigned units, memory, encoder, decoder; /* percent */
};
struct nvml_gpm_support {
    unsigned version, supported;
};
struct nvml_gpm_metric {
    unsigned id;
    int result;
    double value;
    const char *short_name, *long_name, *unit;
};
#define NVML_GPM_METRICS_MAX 333
struct nvml_gpm_metrics {
    unsigned version, count;
    nvml_gpm_sample first, second;
    struct nvml_gpm_metric list[NVML_GPM_METRICS_MAX];
};
struct nvml_temperature {
    unsigned version, sensor;
    int celsius;
};
struct nvml_margin {
    unsigned version;
    int celsius;
};
struct nvml_sram {
    unsigned version;
    unsigned long long parity, secded, corrected; /* in its life */
    unsigned long long now_parity, now_secded, now_corrected;
    unsigned long long l2, sm, pcie, mcu, other;
    unsigned exceeded;
};
struct nvml_rows {
    unsigned max, high, partial, low, none; /* banks by spare rows left */
};
struct nvml_unrepairable {
    unsigned flag;
};
struct nvml_repair {
    unsigned version, channel, tpc;
};
union nvml_value {
    double number;
    int sint;
    unsigned uint;
    unsigned long ulong;
    unsigned long long ullong;
    signed long long sllong;
    unsigned short ushort;
};
/* How the value of a field is to be read. */
enum nvml_value_type {
    NVML_DOUBLE,
    NVML_UINT,
    NVML_ULONG,
    NVML_ULLONG,
    NVML_SLLONG,
    NVML_SINT,
    NVML_USHORT
};
struct nvml_field {
    unsigned id, scope;
    long long time_us, latency_us;
    unsigned type;
    int result;
    union nvml_value value;
};
struct nvml_event {
    nvml_device device;
    unsigned long long type, data;
    unsigned instance, compute;
};
struct nvml_fabric {
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
};
struct nvml_fabric_v2 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned mask;
};
struct nvml_fabric_v3 {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned mask;
    unsigned char summary;
};
struct nvml_placement {
    unsigned start, size;
};
struct nvml_profile {
    unsigned id, p2p, slices, count, units, copy, decoders, encoders, jpeg, ofa;
    unsigned long long memory_mib;
};
struct nvml_profile_v2 {
    unsigned version, id, p2p, slices, count, units, copy, decoders, encoders,
        jpeg, ofa;
    unsigned long long memory_mib;
    char name[96];
};
struct nvml_instance_info {
    nvml_device device;
    unsigned id, profile;
    struct nvml_placement placement; /* in memory slices */
};
struct nvml_compute_profile_v2 {
    unsigned version, id, slices, count, units, copy, decoders, encoders, jpeg,
        ofa;
    char name[96];
};
/* One process, as calls v2 and v3 fill it ... */
struct nvml_process {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
};
/* ... and as v3 of some drivers of branch 535 does, under the same name. */
struct nvml_process_wide {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
    unsigned long long hidden;
};
struct nvml_detail {
    unsigned pid;
    unsigned long long used;
    unsigned instance, compute;
    unsigned long long hidden;
};
struct nvml_detail_list {
    unsigned version, mode, count;
    struct nvml_detail *list;
};
struct nvml_accounting {
    unsigned gpu, memory; /* percent */
    unsigned long long memory_peak, time_ms, start_us;
    unsigned running, reserved[5];
};

#define NVML_SIZE(type, size)                                                  \
    _Static_assert(sizeof(struct type) == (size), #type " has " #size " byte"  \
                                                                      "s")
NVML_SIZE(nvml_branch, 84);
NVML_SIZE(nvml_confidential, 12);
NVML_SIZE(nvml_pci, 68);
_Static_assert(offsetof(struct nvml_pci, domain) == 16 &&
                   offsetof(struct nvml_pci, address) == 36,
               "the second half of the address");
NVML_SIZE(nvml_excluded, 148);
NVML_SIZE(nvml_platform, 44);
NVML_SIZE(nvml_attributes, 40);
NVML_SIZE(nvml_memory, 24);
NVML_SIZE(nvml_memory_v2, 40);
_Static_assert(offsetof(struct nvml_memory_v2, total) == 8, "after padding");
NVML_SIZE(nvml_bar, 24);
NVML_SIZE(nvml_utilization, 8);
NVML_SIZE(nvml_process_sample, 32);
NVML_SIZE(nvml_gpm_support, 8);
NVML_SIZE(nvml_gpm_metrics, 13344);
NVML_SIZE(nvml_temperature, 12);
NVML_SIZE(nvml_margin, 8);
NVML_SIZE(nvml_sram, 104);
NVML_SIZE(nvml_rows, 20);
NVML_SIZE(nvml_unrepairable, 4);
NVML_SIZE(nvml_repair, 12);
NVML_SIZE(nvml_field, 40);
_Static_assert(offsetof(struct nvml_field, type) == 24 &&
                   offsetof(struct nvml_field, result) == 28 &&
                   offsetof(struct nvml_field, value) == 32,
               "a field's answer");
NVML_SIZE(nvml_event, 32);
_Static_assert(offsetof(struct nvml_event, data) == 16 &&
                   offsetof(struct nvml_event, instance) == 24,
               "an event's number and place");
NVML_SIZE(nvml_fabric, 28);
NVML_SIZE(nvml_fabric_v2, 36);
NVML_SIZE(nvml_fabric_v3, 40);
NVML_SIZE(nvml_placement, 8);
NVML_SIZE(nvml_profile, 48);
NVML_SIZE(nvml_profile_v2, 152);
NVML_SIZE(nvml_instance_info, 24);
NVML_SIZE(nvml_compute_profile_v2, 136);
NVML_SIZE(nvml_process, 24);
NVML_SIZE(nvml_process_wide, 32);
NVML_SIZE(nvml_detail, 32);
NVML_SIZE(nvml_detail_list, 24);
NVML_SIZE(nvml_accounting, 56);
#undef NVML_SIZE

/* Words that are documented as numbers. */
_Static_assert(NVML_WORD(struct nvml_memory_v2, 2) == 0x02000028U &&
                   NVML_WORD(struct nvml_profile_v2, 2) == 0x02000098U &&
                   NVML_WORD(struct nvml_compute_profile_v2, 2) ==
                       0x02000088U &&
                   NVML_WORD(struct nvml_sram, 1) == 0x01000068U &&
                   NVML_WORD(struct nvml_temperature, 1) == 0x0100000CU &&
                   NVML_WORD(struct nvml_fabric_v2, 2) == 0x02000024U &&
                   NVML_WORD(struct nvml_fabric_v3, 3) == 0x03000028U &&
                   NVML_WORD(struct nvml_detail_list, 1) == 0x01000018U,
               "version words");
/* These two count versions alone. */
#define NVML_GPM_VERSION 1U

#define NVML_EVENT_ECC_CORRECTED 0x1ULL
#define NVML_EVENT_ECC 0x2ULL
#define NVML_EVENT_XID 0x8ULL
#define NVML_EVENT_SLICES 0x100ULL
#define NVML_EVENT_ECC_STORM 0x200ULL
#define NVML_EVENT_RETIRED 0x400ULL
#define NVML_EVENT_RETIRE_FAILED 0x800ULL
#define NVML_EVENT_POISON 0x1000ULL
#define NVML_EVENT_POISON_FATAL 0x2000ULL
#define NVML_EVENT_UNAVAILABLE 0x4000ULL
#define NVML_EVENT_RECOVERY 0x8000ULL

enum nvml_field_id {
    NVML_FIELD_MEMORY_TEMPERATURE = 82,
    NVML_FIELD_LINK_COUNT = 91,
    NVML_FIELD_POWER_NOW = 186,
    NVML_FIELD_POWER_DEFAULT = 189,
    NVML_FIELD_SLOWDOWN_MARGIN = 194,
    NVML_FIELD_LINK_RECOVERY_FAILED = 214,
    NVML_FIELD_LINK_SYMBOL_ERRORS = 221,
    NVML_FIELD_RECOVERY = 230
};

#endif
