/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libcuda.so.1 for tests: the cards of nvml_stub.h, whose memory is a file
 * each.  Like the real one it shows what CUDA_VISIBLE_DEVICES names and
 * nothing else, numbers the cards in another order than NVML does, and takes
 * no address that it has not given.
 */
#include <sys/stat.h>

#include "accel/cuda.h"
#include "accel/nvml.h"
#include "tests/stub/nvml_stub.h"

#define MIB ((size_t)1048576)
#define BASE 0x7F0000000000ULL
#define ALLOCATIONS 4096

#define CUDA(symbol, arguments) int symbol arguments;
#include "accel/cuda.def"
#undef CUDA

static struct stub_world *world;
static uint32_t visible[STUB_CARDS]; /* card of each number */
static int visible_count;
static struct stub_card *entered;
static unsigned char *memory;
static struct {
    size_t at, size;
} taken[ALLOCATIONS];
static size_t taken_count, taken_bytes;

int
cuInit(unsigned flags)
{
    const char *path = getenv(STUB_ENV);
    const char *only = getenv("CUDA_VISIBLE_DEVICES");

    if (flags != 0)
        return CUDA_INVALID_VALUE;
    world = path != NULL ? stub_map(path) : NULL;
    if (world == NULL)
        return CUDA_NO_DEVICE;
    for (uint32_t i = world->card_count; i-- > 0;)
        if (only == NULL || strcmp(only, world->cards[i].uuid) == 0)
            visible[visible_count++] = i;
    return CUDA_SUCCESS;
}

int
cuDeviceGetCount(int *out)
{
    if (world == NULL)
        return CUDA_NOT_INITIALIZED;
    *out = visible_count;
    return CUDA_SUCCESS;
}

int
cuDeviceGet(cuda_device *out, int number)
{
    if (number < 0 || number >= visible_count)
        return CUDA_INVALID_DEVICE;
    *out = number;
    return CUDA_SUCCESS;
}

static int
digit(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

int
cuDeviceGetUuid(struct cuda_uuid *out, cuda_device device)
{
    const struct stub_card *card;
    const char *at;

    if (device < 0 || device >= visible_count)
        return CUDA_INVALID_DEVICE;
    card = &world->cards[visible[device]];
    at = card->uuid + strlen("GPU-");
    for (size_t i = 0; i < sizeof(out->bytes); i++, at += 2) {
        at += *at == '-';
        out->bytes[i] = (unsigned char)(digit(at[0]) << 4 | digit(at[1]));
    }
    out->bytes[15] ^= (unsigned char)(card->cuda.other != 0);
    return CUDA_SUCCESS;
}

int
cuDeviceGetUuid_v2(struct cuda_uuid *out, cuda_device device)
{
    return cuDeviceGetUuid(out, device);
}

static int
map_memory(uint32_t number)
{
    size_t size = world->cards[number].cuda.memory_mib * MIB;
    char path[300];
    int fd;

    (void)snprintf(path, sizeof(path), "%s.%s", getenv(STUB_ENV),
                   world->cards[number].uuid);
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0)
        return CUDA_NO_DEVICE;
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    (void)close(fd);
    return memory == MAP_FAILED ? CUDA_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* As long as it is there, its process is on the card. */
static void
show(int on)
{
    uint32_t *count = &entered->process_count;

    for (uint32_t i = 0; !on && i < *count; i++)
        if (entered->processes[i].pid == (uint32_t)getpid()) {
            entered->processes[i] = entered->processes[--*count];
            return;
        }
    if (on && *count < 8)
        entered->processes[(*count)++] = (struct stub_process){
            .pid = (uint32_t)getpid(), .instance = NVML_WHOLE
        };
}

int
cuDevicePrimaryCtxRetain(cuda_context *out, cuda_device device)
{
    if (device < 0 || device >= visible_count)
        return CUDA_INVALID_DEVICE;
    entered = &world->cards[visible[device]];
    if (entered->compute_mode == 2)
        return CUDA_DEVICE_UNAVAILABLE;
    entered->cuda.contexts++;
    show(1);
    *out = (cuda_context)(void *)entered;
    return map_memory(visible[device]);
}

int
cuDevicePrimaryCtxRelease_v2(cuda_device device)
{
    if (entered == NULL || device < 0 || device >= visible_count)
        return CUDA_INVALID_DEVICE;
    entered->cuda.contexts--;
    show(0);
    (void)munmap(memory, entered->cuda.memory_mib * MIB);
    entered = NULL;
    return CUDA_SUCCESS;
}

int
cuCtxSetCurrent(cuda_context context)
{
    return (void *)context == (void *)entered ? CUDA_SUCCESS
                                              : CUDA_INVALID_VALUE;
}

int
cuCtxSynchronize(void)
{
    while (entered->cuda.hang != 0)
        (void)usleep(10000);
    return CUDA_SUCCESS;
}

static size_t
room(void)
{
    return (entered->cuda.memory_mib - entered->cuda.kept_mib -
            entered->cuda.taken_mib) *
           MIB;
}

int
cuMemGetInfo_v2(size_t *free_out, size_t *total_out)
{
    *total_out = entered->cuda.memory_mib * MIB;
    *free_out = room() - taken_bytes;
    return CUDA_SUCCESS;
}

int
cuMemAlloc_v2(cuda_address *out, size_t size)
{
    if (size == 0 || size > room() - taken_bytes ||
        taken_count == ALLOCATIONS)
        return CUDA_OUT_OF_MEMORY;
    taken[taken_count].at = taken_bytes;
    taken[taken_count].size = size;
    *out = BASE + taken_bytes;
    taken_count++;
    taken_bytes += size;
    return CUDA_SUCCESS;
}

int
cuMemFree_v2(cuda_address at)
{
    for (size_t i = 0; i < taken_count; i++)
        if (BASE + taken[i].at == at)
            return CUDA_SUCCESS;
    return CUDA_INVALID_VALUE;
}

/* The bytes lie in one piece that was given. */
static unsigned char *
place(cuda_address at, size_t size)
{
    for (size_t i = 0; i < taken_count; i++)
        if (at >= BASE + taken[i].at &&
            at + size <= BASE + taken[i].at + taken[i].size)
            return memory + (at - BASE);
    return NULL;
}

int
cuMemsetD32_v2(cuda_address at, unsigned word, size_t count)
{
    unsigned char *bytes = place(at, count * sizeof(word));

    if (bytes == NULL)
        return CUDA_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        unsigned char first = bytes[i * sizeof(word)];

        memcpy(bytes + i * sizeof(word), &word, sizeof(word));
        if (entered->cuda.stuck != 0 && bytes == memory && i == 0)
            bytes[0] = first;
    }
    return CUDA_SUCCESS;
}

int
cuMemcpyDtoH_v2(void *out, cuda_address at, size_t size)
{
    const unsigned char *bytes = place(at, size);

    if (bytes == NULL)
        return CUDA_INVALID_VALUE;
    memcpy(out, bytes, size);
    return CUDA_SUCCESS;
}

int
cuMemAllocHost_v2(void **out, size_t size)
{
    *out = calloc(1, size);
    return *out != NULL ? CUDA_SUCCESS : CUDA_OUT_OF_MEMORY;
}

int
cuMemFreeHost(void *at)
{
    free(at);
    return CUDA_SUCCESS;
}
