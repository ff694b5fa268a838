/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_ZES_H
#define ACCEL_ZES_H

#include <stddef.h>
#include <stdint.h>

/*
 * What is the binary interface of libze_loader.so.1 (1.8), as far as it is
 * used?  Written from its documentation; a test compares sizes, offsets and
 * codes with the library's own headers where those are installed.  Structs
 * say their own kind in the first member and are zeroed before a call.
 */

enum zes_result {
    ZES_SUCCESS = 0,
    ZES_DEVICE_LOST = 0x70000001,
    ZES_REQUIRES_RESET = 0x70000006,
    ZES_NO_PERMISSION = 0x70010000,
    ZES_NOT_AVAILABLE = 0x70010001,
    ZES_NO_DEPENDENCY = 0x70020000,
    ZES_UNINITIALIZED = 0x78000001,
    ZES_UNSUPPORTED = 0x78000003,
    ZES_INVALID_ARGUMENT = 0x78000004,
    ZES_IN_USE = 0x78000006,
    ZES_NULL_POINTER = 0x78000007,
    ZES_MISSING = 0x7FFFFFF0 /* ours: there is no such function */
};

typedef struct zes_driver_inside *zes_driver;
typedef struct zes_device_inside *zes_device;
typedef struct zes_part_inside *zes_part; /* memory, engine, sensor ... */

enum zes_kind {
    ZES_KIND_CORE = 0x3,
    ZES_KIND_DEVICE = 0x1,
    ZES_KIND_PCI = 0x2,
    ZES_KIND_ENGINE = 0x5,
    ZES_KIND_FREQUENCY = 0x9,
    ZES_KIND_MEMORY = 0xB,
    ZES_KIND_POWER = 0xD,
    ZES_KIND_RAS = 0xF,
    ZES_KIND_SENSOR = 0x14,
    ZES_KIND_STATE = 0x15,
    ZES_KIND_PROCESS = 0x16,
    ZES_KIND_PCI_STATE = 0x17,
    ZES_KIND_FREQUENCY_STATE = 0x1B,
    ZES_KIND_MEMORY_STATE = 0x1E,
    ZES_KIND_RAS_STATE = 0x22
};

#define ZES_TEXT 64
#define ZES_CATEGORIES 7

struct zes_core {
    unsigned kind;
    void *next;
    unsigned type;
    uint32_t vendor, id;
    unsigned flags;
    uint32_t subdevice, clock_mhz;
    uint64_t allocation;
    uint32_t contexts, priority, threads, width, units, subslices, slices;
    uint64_t timer;
    uint32_t bits, kernel_bits;
    uint8_t uuid[16];
    char name[256];
};
struct zes_properties {
    unsigned kind;
    void *next;
    struct zes_core core;
    uint32_t subdevices;
    char serial[ZES_TEXT], board[ZES_TEXT], brand[ZES_TEXT], model[ZES_TEXT],
        vendor[ZES_TEXT], driver[ZES_TEXT];
};
struct zes_state {
    unsigned kind;
    const void *next;
    unsigned reset; /* 1 wedged, 2 for a repair */
    unsigned repaired;
};
struct zes_speed {
    int32_t generation, width;
    int64_t bandwidth;
};
struct zes_pci {
    unsigned kind;
    void *next;
    uint32_t domain, bus, device, function;
    struct zes_speed most;
    uint8_t counters[3];
};
struct zes_pci_state {
    unsigned kind;
    const void *next;
    unsigned status, quality, stability;
    struct zes_speed now;
};
struct zes_process {
    unsigned kind;
    const void *next;
    uint32_t pid;
    uint64_t memory, shared;
    unsigned engines;
};
struct zes_memory {
    unsigned kind;
    void *next;
    unsigned type;
    uint8_t on_subdevice;
    uint32_t subdevice;
    unsigned location; /* 1 on the device */
    uint64_t size;     /* 0: not known */
    int32_t width, channels;
};
struct zes_memory_state {
    unsigned kind;
    const void *next;
    unsigned health; /* 0 not known, 1 ok, 2 worn, 3 critical, 4 replace */
    uint64_t free, size;
};
struct zes_engine {
    unsigned kind;
    void *next;
    unsigned type; /* 0 all, 1 all that compute */
    uint8_t on_subdevice;
    uint32_t subdevice;
};
struct zes_activity {
    uint64_t active_us, time_us;
};
struct zes_power {
    unsigned kind;
    void *next;
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, has_threshold;
    int32_t usual_mw, least_mw, most_mw; /* -1: not known */
};
struct zes_energy {
    uint64_t energy_uj, time_us;
};
struct zes_sensor {
    unsigned kind;
    void *next;
    unsigned type; /* 0 all, 1 chip, 2 memory */
    uint8_t on_subdevice;
    uint32_t subdevice;
    double most;
    uint8_t critical, first, second;
};
struct zes_ras {
    unsigned kind;
    void *next;
    unsigned type; /* 0 corrected, 1 not */
    uint8_t on_subdevice;
    uint32_t subdevice;
};
struct zes_ras_state {
    unsigned kind;
    const void *next;
    uint64_t category[ZES_CATEGORIES]; /* 0 resets ... 5 caches, 6 display */
};
struct zes_frequency {
    unsigned kind;
    void *next;
    unsigned type; /* 0 chip, 1 memory */
    uint8_t on_subdevice;
    uint32_t subdevice;
    uint8_t can_control, throttle_event;
    double least, most;
};
struct zes_frequency_state {
    unsigned kind;
    const void *next;
    double voltage, request, tdp, efficient, actual; /* MHz; < 0: not known */
    unsigned reasons;
};

enum {
    ZES_EVENT_DETACH = 1 << 0,
    ZES_EVENT_THROTTLED = 1 << 4,
    ZES_EVENT_HOT = 1 << 6,
    ZES_EVENT_MEMORY = 1 << 9,
    ZES_EVENT_CORRECTED = 1 << 12,
    ZES_EVENT_UNCORRECTED = 1 << 13,
    ZES_EVENT_RESET = 1 << 14
};

_Static_assert(sizeof(struct zes_core) == 368, "core properties");
_Static_assert(sizeof(struct zes_properties) == 776, "properties");
_Static_assert(sizeof(struct zes_state) == 24, "state");
_Static_assert(sizeof(struct zes_pci) == 56, "address");
_Static_assert(sizeof(struct zes_pci_state) == 48, "bus");
_Static_assert(sizeof(struct zes_process) == 48, "process");
_Static_assert(sizeof(struct zes_memory) == 48, "memory");
_Static_assert(sizeof(struct zes_memory_state) == 40, "memory's state");
_Static_assert(sizeof(struct zes_sensor) == 48, "sensor");
_Static_assert(sizeof(struct zes_ras_state) == 72, "errors");
_Static_assert(sizeof(struct zes_frequency_state) == 64, "clock");

#endif
