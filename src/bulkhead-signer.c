/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulkhead-signer: holds the key of the audit log's checkpoints and signs only
 * heads that extend the last one it signed (identity/signer.h).
 *
 * It listens on a Unix socket that one user may use, runs as a user of its
 * own, and after start has no way to reach a network or another program.
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <pwd.h>
#include <grp.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "core/checkpoint.h"
#include "identity/signer.h"

#define RECEIVE_MS 2000

struct options {
    const char *directory;
    const char *socket;
    const char *user;       /* to become; NULL: stay */
    const char *peer;       /* who may ask; NULL: the same user */
    const char *public_key; /* print it under this name and end */
};

static const char usage[] =
    "usage: bulkhead-signer --directory DIR --socket PATH\n"
    "                       [--user NAME] [--peer NAME]\n"
    "       bulkhead-signer --directory DIR --public-key NAME\n"
    "\n"
    "Signs checkpoints of the audit log that extend the last one it signed.\n"
    "  --directory DIR    its key and the heads it signed, of its user only\n"
    "  --socket PATH      where it is asked\n"
    "  --user NAME        become this user (when started as root)\n"
    "  --peer NAME        the user that may ask, besides root and itself\n"
    "  --public-key NAME  print the verifier's key under that name\n";

static int
parse_options(int argc, char **argv, struct options *out)
{
    static const struct option known[] = {
        { "directory", required_argument, NULL, 'd' },
        { "socket", required_argument, NULL, 's' },
        { "user", required_argument, NULL, 'u' },
        { "peer", required_argument, NULL, 'p' },
        { "public-key", required_argument, NULL, 'k' },
        { "help", no_argument, NULL, 'h' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
        if (option == 'd')
            out->directory = optarg;
        else if (option == 's')
            out->socket = optarg;
        else if (option == 'u')
            out->user = optarg;
        else if (option == 'p')
            out->peer = optarg;
        else if (option == 'k')
            out->public_key = optarg;
        else
            return option == 'h' ? 1 : -1;
    }
    return optind == argc && out->directory != NULL &&
                   (out->socket != NULL) != (out->public_key != NULL)
               ? 0
               : -1;
}

static int
fail(struct error *err, const char *step)
{
    return error_set(err, ERROR_INTERNAL, "%s: %s", step, strerror(errno));
}

static int
find_user(const char *name, struct passwd *out, struct error *err)
{
    const struct passwd *found;

    errno = 0;
    found = getpwnam(name);
    if (found == NULL)
        return error_set(err, ERROR_INVALID, "there is no user %s", name);
    *out = *found;
    return 0;
}

static int
listen_at(const char *path, uid_t owner, struct error *err)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    mode_t mask;
    int bound;

    if (fd < 0)
        return fail(err, "socket");
    if (strlen(path) >= sizeof(address.sun_path)) {
        (void)close(fd);
        return error_set(err, ERROR_INVALID, "the socket's path is too long");
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    (void)unlink(path);
    mask = umask(0177);
    bound = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    (void)umask(mask);
    if (bound != 0 || listen(fd, 64) != 0 ||
        (owner != geteuid() && chown(path, owner, (gid_t)-1) != 0)) {
        (void)fail(err, "listen");
        (void)close(fd);
        return -1;
    }
    return fd;
}

/* The directory is made for the user when it is not there; after this the
 * process is that user for good. */
static int
become(const struct passwd *user, const char *directory, struct error *err)
{
    if (geteuid() != 0)
        return error_set(err, ERROR_INVALID, "--user needs a start as root");
    if (mkdir(directory, 0700) == 0 &&
        chown(directory, user->pw_uid, user->pw_gid) != 0)
        return fail(err, "directory");
    if (setgroups(0, NULL) != 0 ||
        setresgid(user->pw_gid, user->pw_gid, user->pw_gid) != 0 ||
        setresuid(user->pw_uid, user->pw_uid, user->pw_uid) != 0)
        return fail(err, "become user");
    if (setuid(0) == 0)
        return error_set(err, ERROR_INTERNAL, "root came back");
    return 0;
}

/* What serving needs; sockets cannot be made, programs cannot be run. */
static int
confine(struct error *err)
{
    static const int allowed[] = {
        SCMP_SYS(accept4), SCMP_SYS(brk),
        SCMP_SYS(clock_gettime), SCMP_SYS(close),
        SCMP_SYS(exit), SCMP_SYS(exit_group),
        SCMP_SYS(fchmod), SCMP_SYS(fcntl),
        SCMP_SYS(fstat), SCMP_SYS(fsync),
        SCMP_SYS(futex), SCMP_SYS(geteuid),
        SCMP_SYS(getpid), SCMP_SYS(getrandom),
        SCMP_SYS(getsockopt), SCMP_SYS(lseek),
        SCMP_SYS(madvise), SCMP_SYS(mmap),
        SCMP_SYS(mprotect), SCMP_SYS(mremap),
        SCMP_SYS(munmap), SCMP_SYS(newfstatat),
        SCMP_SYS(openat), SCMP_SYS(poll),
        SCMP_SYS(ppoll), SCMP_SYS(read),
        SCMP_SYS(recvfrom), SCMP_SYS(rename),
        SCMP_SYS(restart_syscall), SCMP_SYS(rt_sigaction),
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn),
        SCMP_SYS(sendto), SCMP_SYS(sigaltstack),
        SCMP_SYS(unlink), SCMP_SYS(write),
        SCMP_SYS(writev),
    };
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
    int result = filter == NULL ? -ENOMEM : 0;

    for (size_t i = 0; result == 0 && i < sizeof(allowed) / sizeof(int); i++)
        result = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
    if (result == 0)
        result = seccomp_load(filter);
    seccomp_release(filter);
    errno = -result;
    return result == 0 ? 0 : fail(err, "seccomp");
}

/* Neither a core file nor a debugger of the same user gets the key. */
static int
harden(struct error *err)
{
    const struct rlimit none = { 0, 0 };

    if (setrlimit(RLIMIT_CORE, &none) != 0 ||
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fail(err, "harden");
    return 0;
}

static bool
peer_allowed(int fd, uid_t peer)
{
    struct ucred who;
    socklen_t size = sizeof(who);

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 &&
           (who.uid == peer || who.uid == 0 || who.uid == geteuid());
}

/* The whole request, up to the end that the client sends; -1 when it takes too
 * long or too many bytes. */
static int
receive(int fd, struct buffer *request)
{
    const int64_t deadline_ms = clock_mono_ms() + RECEIVE_MS;
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    char chunk[4096];

    for (;;) {
        int64_t left = deadline_ms - clock_mono_ms();
        ssize_t got;

        if (left <= 0 || poll(&wait, 1, (int)left) <= 0)
            return -1;
        got = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
        if (got <= 0)
            return got == 0 ? 0 : -1;
        buffer_add(request, chunk, (size_t)got);
        if (request->size > SIGNER_REQUEST_MAX)
            return -1;
    }
}

static void
serve_one(struct signer *signer, int fd, uid_t peer)
{
    scoped_buffer request = { 0 }, answer = { 0 };

    if (!peer_allowed(fd, peer)) {
        log_warn("a user who may not ask was refused");
        return;
    }
    if (receive(fd, &request) != 0) {
        log_warn("a request did not end in time");
        return;
    }
    signer_answer(signer, buffer_text(&request), request.size, &answer);
    if (strncmp(answer.bytes, "refused ", 8) == 0)
        log_warn("%.*s", (int)strcspn(answer.bytes, "\n"), answer.bytes);
    (void)send(fd, answer.bytes, answer.size, MSG_NOSIGNAL);
}

static void
serve(struct signer *signer, int listener, uid_t peer)
{
    for (;;) {
        scoped_fd fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        if (fd >= 0)
            serve_one(signer, fd, peer);
        else if (errno != EINTR && errno != ECONNABORTED)
            return;
    }
}

static int
print_key(const struct options *options, struct error *err)
{
    struct checkpoint_key key = { 0 };
    scoped_buffer text = { 0 };
    struct signer signer;

    if (!checkpoint_origin_valid(options->public_key))
        return error_set(err, ERROR_INVALID,
                         "a key's name has no spaces and no '+'");
    if (signer_open(&signer, options->directory, err) != 0)
        return -1;
    (void)snprintf(key.name, sizeof(key.name), "%s", options->public_key);
    memcpy(key.public_key, signer.key.public_key, SIGN_PUBLIC_SIZE);
    checkpoint_add_key(&text, &key);
    signer_close(&signer);
    return puts(text.bytes) < 0 ? fail(err, "print") : 0;
}

static int
run(const struct options *options, struct error *err)
{
    struct passwd user = { .pw_uid = geteuid() }, peer = user;
    struct signer signer;
    scoped_fd listener = -1;

    if (options->user != NULL && find_user(options->user, &user, err) != 0)
        return -1;
    peer.pw_uid = user.pw_uid;
    if (options->peer != NULL && find_user(options->peer, &peer, err) != 0)
        return -1;
    listener = listen_at(options->socket, peer.pw_uid, err);
    if (listener < 0)
        return -1;
    /* In a container that may not unshare, the system call filter alone keeps
     * it off the network: it cannot make a socket. */
    if (geteuid() == 0 && unshare(CLONE_NEWNET) != 0 && errno != EPERM)
        return fail(err, "leave the network");
    if ((options->user != NULL &&
         become(&user, options->directory, err) != 0) ||
        signer_open(&signer, options->directory, err) != 0)
        return -1;
    if (harden(err) == 0 && confine(err) == 0) {
        log_info("ready");
        serve(&signer, listener, peer.pw_uid);
        (void)fail(err, "accept");
    }
    signer_close(&signer);
    return -1;
}

int
main(int argc, char **argv)
{
    struct options options = { 0 };
    struct error err;
    int parsed = parse_options(argc, argv, &options);

    if (parsed != 0) {
        (void)fputs(usage, parsed > 0 ? stdout : stderr);
        return parsed > 0 ? 0 : 2;
    }
    log_open("bulkhead-signer", LOG_INFO);
    (void)signal(SIGPIPE, SIG_IGN);
    if (options.public_key != NULL ? print_key(&options, &err) == 0
                                   : run(&options, &err) == 0)
        return 0;
    log_error("%s", err.text);
    return error_exit_code(err.code);
}
