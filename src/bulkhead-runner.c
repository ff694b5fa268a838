/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkhead-runner: the part of a node that needs root.  It takes closed typed
 * requests from one uid and obeys the local policy.
 *
 *   bulkhead-runner --policy FILE             serve
 *   bulkhead-runner --policy FILE --clean     remove everything it owns
 *   bulkhead-runner --socket PATH --request JSON   ask a running one
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "engine/runner_message.h"
#include "runner/node.h"
#include "runner/policy.h"
#include "runner/serve.h"
#include "runner/stop.h"
#include "runner/unpack.h"

#define REQUEST_TIMEOUT_MS 1000000

struct options {
    const char *policy;
    const char *socket;
    const char *request;
    bool clean;
    bool volumes;
};

static const char usage[] =
    "usage: bulkhead-runner --policy FILE\n"
    "       bulkhead-runner --policy FILE --clean [--volumes]\n"
    "       bulkhead-runner --socket PATH --request JSON\n"
    "\n"
    "  --policy FILE    root's local policy (see runner/policy.h)\n"
    "  --clean          end and remove everything of this installation;\n"
    "                   volumes are kept\n"
    "  --volumes        with --clean: destroy the volumes too\n"
    "  --socket PATH    the socket of a running bulkhead-runner\n"
    "  --request JSON   one request; prints the answer's result\n";

/* Returns 0, or an exit status + 1 when the program is to end. */
static int
parse_options(int argc, char **argv, struct options *out)
{
    static const struct option longs[] = {
        { "policy", required_argument, NULL, 'p' },
        { "socket", required_argument, NULL, 's' },
        { "request", required_argument, NULL, 'r' },
        { "clean", no_argument, NULL, 'c' },
        { "volumes", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        if (option == 'p')
            out->policy = optarg;
        else if (option == 's')
            out->socket = optarg;
        else if (option == 'r')
            out->request = optarg;
        else if (option == 'c')
            out->clean = true;
        else if (option == 'v')
            out->volumes = true;
        else {
            (void)fputs(usage, option == 'h' ? stdout : stderr);
            return option == 'h' ? 1 : 3;
        }
    }
    if (optind == argc && ((out->policy != NULL && out->request == NULL) ||
                           (out->socket != NULL && out->request != NULL)))
        return 0;
    (void)fputs(usage, stderr);
    return 3;
}

static int
report(const struct error *err)
{
    (void)fprintf(stderr, "bulkhead-runner: %s%s%s\n", err->text,
                  err->field[0] != '\0' ? " at " : "", err->field);
    return error_exit_code(err->code);
}

static int
ask(const struct options *options)
{
    struct error err = { 0 };
    scoped_fd fd = runner_message_connect(options->socket, &err);
    scoped_buffer text = { 0 };
    scoped_json result = NULL;
    json_t *request;

    if (fd < 0)
        return report(&err);
    request = json_read(options->request, strlen(options->request), &err);
    if (request == NULL || runner_message_call(fd, request, REQUEST_TIMEOUT_MS,
                                               &result, &err) != 0)
        return report(&err);
    json_write(&text, result);
    (void)printf("%s\n", buffer_text(&text));
    return 0;
}

/* One runner for one state directory.  The lock is this process's alone: a
 * child that outlives it (unpacking an image, say) does not hold it on, and
 * the kernel knows who has it. */
static int
lock_state(const struct policy *policy, struct error *err)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    char path[128];
    int fd;

    (void)snprintf(path, sizeof(path), "%s.lock", policy->state_dir);
    if (file_make_directory(policy->state_dir, 0711, err) != 0)
        return -1;
    fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return error_set(err, ERROR_BUSY, "lock of the state: %s",
                         strerror(errno));
    if (fcntl(fd, F_SETLK, &lock) == 0)
        return fd;
    (void)fcntl(fd, F_GETLK, &lock);
    (void)close(fd);
    return error_set(err, ERROR_BUSY,
                     "another runner, process %d, works on this state",
                     (int)lock.l_pid);
}

/* Descriptors of many layers and connections. */
static void
raise_limits(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

static int
serve(const struct policy *policy)
{
    struct error err = { 0 };
    struct node node;
    scoped_fd lock_fd = lock_state(policy, &err);
    scoped_fd stop_fd = -1;
    sigset_t ends;

    if (lock_fd < 0)
        return report(&err);
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    stop_fd = signalfd(-1, &ends, SFD_CLOEXEC);
    if (node_open(&node, policy, &err) != 0)
        return report(&err);
    if (serve_run(&node, stop_fd, &err) != 0)
        return report(&err);
    node_close(&node);
    return 0;
}

static int
clean(const struct policy *policy, bool volumes)
{
    struct error err = { 0 };
    scoped_fd lock_fd = lock_state(policy, &err);
    char path[128];

    if (lock_fd < 0 || stop_clean(policy, volumes, &err) != 0)
        return report(&err);
    (void)snprintf(path, sizeof(path), "%s.lock", policy->state_dir);
    (void)unlink(path);
    return 0;
}

int
main(int argc, char **argv)
{
    scoped_arena arena = arena_new();
    struct options options = { 0 };
    struct policy policy;
    struct error err = { 0 };
    int status;

    if (argc == 2 && strcmp(argv[1], "--unpack") == 0)
        return unpack_main();
    /* Short threads would keep what each needed once. */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_TRIM_THRESHOLD, 64 * 1024);
    (void)mallopt(M_MMAP_THRESHOLD, 64 * 1024);
    /* hwloc would load drivers for screens and compute, into root's process;
     * it reads XML without a library too. */
    (void)setenv("HWLOC_PLUGINS_BLACKLIST",
                 "hwloc_gl,hwloc_opencl,hwloc_cuda,hwloc_nvml,hwloc_rsmi,"
                 "hwloc_levelzero,hwloc_xml_libxml",
                 1);
    status = parse_options(argc, argv, &options);
    if (status != 0)
        return status - 1;
    if (options.request != NULL)
        return ask(&options);
    log_open("bulkhead-runner", LOG_INFO);
    if (geteuid() != 0) {
        (void)error_set(&err, ERROR_DENIED, "must be run as root");
        return report(&err);
    }
    raise_limits();
    (void)umask(022);
    if (policy_open(arena, options.policy, &policy, &err) != 0)
        return report(&err);
    return options.clean ? clean(&policy, options.volumes) : serve(&policy);
}
