/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_CUDA_H
#define ACCEL_CUDA_H

#include <stddef.h>
#include <stdint.h>

/* The part of CUDA's driver interface that cleans a card: the types as the
 * library has them, and the answers that mean something here. */

typedef int cuda_device;
typedef struct cuda_context *cuda_context;
typedef unsigned long long cuda_address;

struct cuda_uuid {
    unsigned char bytes[16];
};

_Static_assert(sizeof(struct cuda_uuid) == 16, "as the library has it");
_Static_assert(sizeof(cuda_address) == 8, "as the library has it");

enum cuda_answer {
    CUDA_SUCCESS = 0,
    CUDA_INVALID_VALUE = 1,
    CUDA_OUT_OF_MEMORY = 2,
    CUDA_NOT_INITIALIZED = 3,
    CUDA_DEVICE_UNAVAILABLE = 46,
    CUDA_NO_DEVICE = 100,
    CUDA_INVALID_DEVICE = 101,
    CUDA_ECC_UNCORRECTABLE = 214,
    CUDA_DRIVER_MISMATCH = 803,
    CUDA_MISSING = 500, /* of the library: no such symbol */
};

#endif
