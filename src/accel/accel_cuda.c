/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What makes one of NVIDIA's cards clean: all of its memory is taken,
 * overwritten and read back through libcuda.so.1; or the vendor's own program
 * resets it.  NVML can do neither.
 *
 * Meant for a process that does this once and ends (accel_vendor.c): the
 * library is told by its environment to see that one card alone, and what it
 * holds of the card goes with the process.  Which card it is, its UUID says
 * and never its number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "accel/cuda.h"
#include "accel/library.h"
#include "base/arena.h"

#define LIBRARY "libcuda.so.1"
#define PROGRAM "nvidia-smi"
#define MIB ((size_t)1048576)
/* Memory is taken in pieces, the large ones first. */
#define PIECE_MAX (1024 * MIB)
#define PIECE_MIN ((size_t)65536)
#define PIECES 4096
/* What one word is written to, and read back at a time. */
#define STRIDE (32 * MIB) /* a power of two */
/* What the driver itself keeps of a card's memory is less than this part. */
#define KEPT_PART 16

struct functions {
#define CUDA(symbol, arguments) int(*symbol) arguments;
#include "accel/cuda.def"
#undef CUDA
};

struct piece {
    cuda_address at;
    size_t size;
};

struct cuda {
    struct accel *accel;
    char *source; /* NULL: the system's places */
    void *library;
    struct functions fn;
    cuda_device device;
    bool retained, pinned; /* the context; seen is the library's */
    unsigned char *seen, *wanted; /* STRIDE bytes each */
    uint32_t word;                /* that wanted is full of */
    size_t count;
    struct piece pieces[PIECES];
};

static int
enter(const struct cuda *cuda, const char *call)
{
    struct accel_trail *trail = cuda->accel->watch.trail;

    if (trail != NULL)
        (void)snprintf(trail->call, sizeof(trail->call), "%s", call);
    return 0;
}

#define CUDA_CALL(cuda, symbol, ...)                                           \
    ((cuda)->fn.symbol == NULL                                                 \
         ? CUDA_MISSING                                                        \
         : enter((cuda), #symbol) + (cuda)->fn.symbol(__VA_ARGS__))
#define CUDA_CALL0(cuda, symbol)                                               \
    ((cuda)->fn.symbol == NULL                                                 \
         ? CUDA_MISSING                                                        \
         : enter((cuda), #symbol) + (cuda)->fn.symbol())

static int
fail(struct error *err, int answer, const char *call)
{
    static const struct {
        int answer;
        enum error_code code;
        const char *text;
    } meanings[] = {
        { CUDA_OUT_OF_MEMORY, ERROR_CONFLICT, "the card's memory is taken" },
        { CUDA_DEVICE_UNAVAILABLE, ERROR_CONFLICT, "somebody has the card" },
        { CUDA_NO_DEVICE, ERROR_NOT_FOUND, "the library does not see the card" },
        { CUDA_INVALID_DEVICE, ERROR_NOT_FOUND,
          "the library does not see the card" },
        { CUDA_ECC_UNCORRECTABLE, ERROR_VERIFY, "the card's memory is broken" },
        { CUDA_DRIVER_MISMATCH, ERROR_BUSY,
          "library and driver are of two versions" },
        { CUDA_MISSING, ERROR_UNSUPPORTED, "the library has no such function" },
    };

    for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
        if (meanings[i].answer == answer)
            return error_set(err, meanings[i].code, "%s (%s answers %d)",
                             meanings[i].text, call, answer);
    return error_set(err, ERROR_INTERNAL, "the library fails (%s answers %d)",
                     call, answer);
}

/* --- opening --- */

static void
close_backend(struct accel *accel)
{
    struct cuda *cuda = accel->state;

    if (cuda == NULL)
        return;
    cuda->accel = accel;
    free(cuda->wanted);
    free(cuda->source);
    free(cuda);
    accel->state = NULL;
}

/* The library comes later: a reset needs a process that has nothing of the
 * card. */
static int
open_backend(struct accel *accel, const char *source, const char *state_dir,
             struct error *err)
{
    struct cuda *cuda = memory_new(1, sizeof(*cuda));

    (void)state_dir;
    (void)err;
    cuda->source = source != NULL ? memory_strdup(source) : NULL;
    accel->state = cuda;
    return 0;
}

/* Of "UUID" without what may follow it. */
static void
uuid_text(const struct cuda_uuid *uuid, const char *kind, char out[48])
{
    size_t at = (size_t)snprintf(out, 48, "%s", kind);

    for (size_t i = 0; i < sizeof(uuid->bytes); i++)
        at += (size_t)snprintf(
            out + at, 48 - at, "%s%02x",
            i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid->bytes[i]);
}

static int
load(struct cuda *cuda, const char *uuid, struct error *err)
{
    int answer;

    if (setenv("CUDA_VISIBLE_DEVICES", uuid, 1) != 0)
        return error_set(err, ERROR_INTERNAL, "name the card to the library");
    cuda->library = library_open(cuda->source, LIBRARY, "NVIDIA's driver", err);
    if (cuda->library == NULL)
        return -1;
#define CUDA(symbol, arguments)                                                \
    *(void **)&cuda->fn.symbol = dlsym(cuda->library, #symbol);
#include "accel/cuda.def"
#undef CUDA
    answer = CUDA_CALL(cuda, cuInit, 0U);
    return answer == CUDA_SUCCESS ? 0 : fail(err, answer, "cuInit");
}

/* Is the one card that the library sees the one that is meant? */
static int
check_card(struct cuda *cuda, const char *uuid, struct error *err)
{
    struct cuda_uuid found = { 0 };
    char text[48];
    int count = 0;
    int answer = CUDA_CALL(cuda, cuDeviceGetCount, &count);

    if (answer == CUDA_SUCCESS && count != 1)
        return error_set(err, count == 0 ? ERROR_NOT_FOUND : ERROR_INTERNAL,
                         "the library sees %d cards where it may see %.45s "
                         "alone",
                         count, uuid);
    if (answer == CUDA_SUCCESS)
        answer = CUDA_CALL(cuda, cuDeviceGet, &cuda->device, 0);
    if (answer == CUDA_SUCCESS)
        answer = CUDA_CALL(cuda, cuDeviceGetUuid_v2, &found, cuda->device);
    if (answer == CUDA_MISSING)
        answer = CUDA_CALL(cuda, cuDeviceGetUuid, &found, cuda->device);
    if (answer != CUDA_SUCCESS)
        return fail(err, answer, "cuDeviceGetUuid");
    uuid_text(&found, strncmp(uuid, "MIG-", 4) == 0 ? "MIG-" : "GPU-", text);
    return strcasecmp(text, uuid) == 0
               ? 0
               : error_set(err, ERROR_INTERNAL,
                           "the library shows %s where %.45s is meant", text,
                           uuid);
}

static int
enter_card(struct cuda *cuda, size_t *total_out, struct error *err)
{
    cuda_context context = NULL;
    size_t free_bytes = 0;
    void *buffer = NULL;
    const char *call = "cuDevicePrimaryCtxRetain";
    int answer =
        CUDA_CALL(cuda, cuDevicePrimaryCtxRetain, &context, cuda->device);

    cuda->retained = answer == CUDA_SUCCESS;
    if (answer == CUDA_SUCCESS) {
        call = "cuCtxSetCurrent";
        answer = CUDA_CALL(cuda, cuCtxSetCurrent, context);
    }
    if (answer == CUDA_SUCCESS) {
        call = "cuMemGetInfo_v2";
        answer = CUDA_CALL(cuda, cuMemGetInfo_v2, &free_bytes, total_out);
    }
    if (answer != CUDA_SUCCESS)
        return fail(err, answer, call);
    /* Reading back is several times faster into memory that stays in place;
     * without it, it is only slower. */
    cuda->pinned =
        CUDA_CALL(cuda, cuMemAllocHost_v2, &buffer, STRIDE) == CUDA_SUCCESS;
    cuda->seen = cuda->pinned ? buffer : memory_new(1, STRIDE);
    return 0;
}

/* --- overwriting --- */

static int
take(struct cuda *cuda, size_t *bytes_out, struct error *err)
{
    size_t size = PIECE_MAX;

    *bytes_out = 0;
    while (size >= PIECE_MIN && cuda->count < PIECES) {
        struct piece *piece = &cuda->pieces[cuda->count];
        int answer = CUDA_CALL(cuda, cuMemAlloc_v2, &piece->at, size);

        if (answer == CUDA_OUT_OF_MEMORY) {
            size /= 2;
            continue;
        }
        if (answer != CUDA_SUCCESS)
            return fail(err, answer, "cuMemAlloc_v2");
        piece->size = size;
        *bytes_out += size;
        cuda->count++;
    }
    return 0;
}

/* Another word in each place: two addresses of one place show.  0: the last
 * pass, which leaves nothing. */
static uint32_t
word_of(uint32_t seed, size_t place)
{
    return seed == 0 ? 0 : seed ^ (uint32_t)(place * 0x9E3779B9U);
}

static int
write_all(struct cuda *cuda, uint32_t seed, struct error *err)
{
    size_t place = 0;
    int answer;

    for (size_t i = 0; i < cuda->count; i++)
        for (size_t at = 0; at < cuda->pieces[i].size; at += STRIDE) {
            size_t left = cuda->pieces[i].size - at;

            answer = CUDA_CALL(cuda, cuMemsetD32_v2, cuda->pieces[i].at + at,
                               word_of(seed, place++),
                               (left < STRIDE ? left : STRIDE) / 4);
            if (answer != CUDA_SUCCESS)
                return fail(err, answer, "cuMemsetD32_v2");
        }
    answer = CUDA_CALL0(cuda, cuCtxSynchronize);
    return answer == CUDA_SUCCESS ? 0 : fail(err, answer, "cuCtxSynchronize");
}

static void
want(struct cuda *cuda, uint32_t word)
{
    size_t size = sizeof(word);

    if (cuda->word == word)
        return;
    cuda->word = word;
    memcpy(cuda->wanted, &word, size);
    for (; size < STRIDE; size *= 2)
        memcpy(cuda->wanted + size, cuda->wanted, size);
}

static int
check_piece(struct cuda *cuda, const struct piece *piece, size_t at,
            uint32_t word, struct error *err)
{
    size_t size = piece->size - at < STRIDE ? piece->size - at : STRIDE;
    int answer;

    answer = CUDA_CALL(cuda, cuMemcpyDtoH_v2, cuda->seen, piece->at + at, size);
    if (answer != CUDA_SUCCESS)
        return fail(err, answer, "cuMemcpyDtoH_v2");
    want(cuda, word);
    return memcmp(cuda->seen, cuda->wanted, size) == 0
               ? 0
               : error_set(err, ERROR_VERIFY,
                           "the card's memory does not hold what is written "
                           "to it");
}

static int
check_all(struct cuda *cuda, uint32_t seed, struct error *err)
{
    size_t place = 0;

    for (size_t i = 0; i < cuda->count; i++)
        for (size_t at = 0; at < cuda->pieces[i].size; at += STRIDE)
            if (check_piece(cuda, &cuda->pieces[i], at, word_of(seed, place++),
                            err) != 0)
                return -1;
    return 0;
}

static int
overwrite(struct cuda *cuda, struct accel_scrub *done, struct error *err)
{
    size_t total = 0;
    size_t bytes = 0;

    if (enter_card(cuda, &total, err) != 0 || take(cuda, &bytes, err) != 0)
        return -1;
    if (bytes < total - total / KEPT_PART)
        return error_set(err, ERROR_CONFLICT,
                         "only %zu of %zu MiB of the card's memory are to be "
                         "had",
                         bytes / MIB, total / MIB);
    cuda->wanted = memory_new(1, STRIDE);
    if (write_all(cuda, 0xA5A5A5A5U, err) != 0 ||
        check_all(cuda, 0xA5A5A5A5U, err) != 0 ||
        write_all(cuda, 0, err) != 0 || check_all(cuda, 0, err) != 0)
        return -1;
    done->bytes = (int64_t)bytes;
    (void)snprintf(done->method, sizeof(done->method),
                   "overwritten through CUDA and read back: A5, 00");
    return 0;
}

static void
leave_card(struct cuda *cuda)
{
    for (size_t i = 0; i < cuda->count; i++)
        (void)CUDA_CALL(cuda, cuMemFree_v2, cuda->pieces[i].at);
    cuda->count = 0;
    if (cuda->pinned)
        (void)CUDA_CALL(cuda, cuMemFreeHost, cuda->seen);
    else
        free(cuda->seen);
    cuda->seen = NULL;
    if (cuda->retained)
        (void)CUDA_CALL(cuda, cuDevicePrimaryCtxRelease_v2, cuda->device);
    cuda->retained = false;
}

static int
scrub(struct accel *accel, const char *uuid, struct accel_scrub *done_out,
      struct error *err)
{
    struct cuda *cuda = accel->state;
    int result;

    cuda->accel = accel;
    if (cuda->library != NULL)
        return error_set(err, ERROR_INTERNAL,
                         "one process cleans one card, once");
    library_say(accel, uuid);
    if (load(cuda, uuid, err) != 0 || check_card(cuda, uuid, err) != 0)
        return -1;
    result = overwrite(cuda, done_out, err);
    leave_card(cuda);
    return result;
}

/* --- reset --- */

/* It ends with us: a reset that hangs is not left alone. */
static void
run(const char *path, const char *uuid)
{
    char *words[] = { (char *)(uintptr_t)path, (char *)(uintptr_t) "--gpu-reset",
                      (char *)(uintptr_t) "-i", (char *)(uintptr_t)uuid, NULL };
    int fd = open("/dev/null", O_RDWR);

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (int i = 0; i <= 2; i++)
        (void)dup2(fd, i);
    (void)close_range(3, ~0U, 0);
    (void)execve(path, words, environ);
    _exit(127);
}

static int
reset(struct accel *accel, const char *uuid, struct error *err)
{
    struct cuda *cuda = accel->state;
    char path[300];
    int status = 0;
    pid_t pid;

    cuda->accel = accel;
    (void)snprintf(path, sizeof(path), "%s/%s",
                   cuda->source != NULL ? cuda->source : "/usr/bin", PROGRAM);
    if (access(path, X_OK) != 0) {
        (void)error_set(err, ERROR_UNSUPPORTED, "%s is not there", PROGRAM);
        return error_help(err, "It comes with NVIDIA's driver.");
    }
    library_say(accel, uuid);
    (void)enter(cuda, PROGRAM " --gpu-reset");
    pid = fork();
    if (pid == 0)
        run(path, uuid);
    if (pid < 0)
        return error_set(err, ERROR_INTERNAL, "start %s: %s", PROGRAM,
                         strerror(errno));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0
               ? 0
               : error_set(err, ERROR_CONFLICT,
                           "%s could not reset the card (it ended with %d)",
                           PROGRAM,
                           WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

const struct accel_ops accel_cuda_ops = {
    .name = "cuda",
    .open = open_backend,
    .close = close_backend,
    .node_name = library_node_name,
    .reset = reset,
    .scrub = scrub,
};
