/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_RSMI_H
#define ACCEL_RSMI_H

#include <stddef.h>
#include <stdint.h>

/*
 * What is the binary interface of librocm_smi64.so.1 (5.2), as far as it is
 * used?  Written from its documentation; a test compares sizes, offsets and
 * codes with the library's own header where that is installed.
 */

enum rsmi_status {
    RSMI_SUCCESS = 0,
    RSMI_INVALID_ARGS = 1,
    RSMI_NOT_SUPPORTED = 2,
    RSMI_FILE_ERROR = 3,
    RSMI_PERMISSION = 4,
    RSMI_INIT_ERROR = 8,
    RSMI_NOT_YET_IMPLEMENTED = 9,
    RSMI_NOT_FOUND = 10,
    RSMI_INSUFFICIENT_SIZE = 11,
    RSMI_NO_DATA = 14,
    RSMI_BUSY = 16,
    RSMI_MISSING = 0x7FFFFFFF /* ours: there is no such function */
};

enum { RSMI_MEMORY_VRAM = 0, RSMI_COMPONENT_DRIVER = 0 };
enum {
    RSMI_TEMPERATURE_EDGE = 0,
    RSMI_TEMPERATURE_JUNCTION = 1,
    RSMI_TEMPERATURE_MEMORY = 2,
    RSMI_TEMPERATURE_CURRENT = 0,
    RSMI_TEMPERATURE_CRITICAL = 5
};
enum { RSMI_CLOCK_SYSTEM = 0, RSMI_CLOCK_MEMORY = 4 };
/* Blocks whose errors are counted: one bit each. */
enum { RSMI_BLOCK_MEMORY = 1, RSMI_BLOCK_LAST = 0x2000 };
enum { RSMI_RAS_DISABLED = 1, RSMI_RAS_UNCORRECTED = 4, RSMI_RAS_POISON = 5 };
enum {
    RSMI_PAGE_RESERVED = 0,
    RSMI_PAGE_PENDING = 1,
    RSMI_PAGE_UNRESERVABLE = 2
};
enum { RSMI_LINK_PCIE = 1, RSMI_LINK_XGMI = 2 };
enum { RSMI_LEVEL_AUTO = 0 };
enum {
    RSMI_EVENT_FAULT = 1,
    RSMI_EVENT_THERMAL = 2,
    RSMI_EVENT_PRE_RESET = 3,
    RSMI_EVENT_POST_RESET = 4
};

#define RSMI_FREQUENCIES 32

struct rsmi_clocks {
    uint32_t supported, current;
    uint64_t hertz[RSMI_FREQUENCIES];
};
struct rsmi_errors {
    uint64_t corrected, uncorrected;
};
struct rsmi_page {
    uint64_t address, size;
    unsigned status;
};
struct rsmi_process {
    uint32_t pid, pasid;
    uint64_t vram, sdma_us;
    uint32_t busy; /* percent */
};
struct rsmi_event {
    uint32_t card;
    unsigned kind;
    char message[64];
};

_Static_assert(sizeof(struct rsmi_clocks) == 264, "clocks");
_Static_assert(sizeof(struct rsmi_errors) == 16, "errors");
_Static_assert(sizeof(struct rsmi_page) == 24, "page");
_Static_assert(sizeof(struct rsmi_process) == 32, "process");
_Static_assert(sizeof(struct rsmi_event) == 72, "event");

#endif
