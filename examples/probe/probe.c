/* SPDX-License-Identifier: Apache-2.0 */

/*
 * probe: what of other people's can a workload reach from inside?
 *
 * A hostile workload to run: it looks at devices, processes, mounts and the
 * network as far as the kernel lets it, tries what it was told to try, and
 * prints one line a try: {"try": "...", "result": "..."}.  A result begins
 * with "reached" when something that is not its own was got at; anything else
 * is the refusal, or its own.  Exit: 0 nothing was reached, 1 something was,
 * 2 wrong usage.
 *
 * A process is its own when it lives in the same mount and pid namespaces.  A
 * device is its own when every container has it or --device names it.  A text
 * is not its own when it holds a mark (--mark): a name, id or secret of the
 * other tenant.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define LIST_MAX 64
#define CONTENT_MAX 65536
#define WAIT_MS 2000

struct list {
    const char *items[LIST_MAX];
    size_t count;
};

struct probe {
    struct list marks, devices, connects, datagrams, paths;
    unsigned long tries, reached;
    char content[CONTENT_MAX + 1];
};

/* ---- the report ---- */

static void
print_quoted(const char *text)
{
    (void)putchar('"');
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;

        if (c == '"' || c == '\\')
            (void)printf("\\%c", c);
        else if (c < 0x20 || c >= 0x7F)
            (void)printf("\\u%04x", c);
        else
            (void)putchar(c);
    }
    (void)putchar('"');
}

__attribute__((format(printf, 4, 5))) static void
report(struct probe *probe, const char *verb, const char *object,
       const char *fmt, ...)
{
    char attempt[PATH_MAX + 64], result[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(result, sizeof(result), fmt, args);
    va_end(args);
    (void)snprintf(attempt, sizeof(attempt), "%s %s", verb, object);
    (void)printf("{\"try\": ");
    print_quoted(attempt);
    (void)printf(", \"result\": ");
    print_quoted(result);
    (void)printf("}\n");
    probe->tries++;
    if (strncmp(result, "reached", 7) == 0)
        probe->reached++;
}

static void
report_refusal(struct probe *probe, const char *verb, const char *object)
{
    report(probe, verb, object, "refused: %s", strerror(errno));
}

/* ---- reading ---- */

/* Fills content, NULs made spaces (command lines and environments have
 * them); -1 with errno when the file cannot be read. */
static ssize_t
read_content(struct probe *probe, int fd)
{
    ssize_t used = 0, size = 0;

    while (used < CONTENT_MAX) {
        size = read(fd, probe->content + used, (size_t)(CONTENT_MAX - used));
        if (size <= 0)
            break;
        used += size;
    }
    for (ssize_t i = 0; i < used; i++)
        if (probe->content[i] == '\0')
            probe->content[i] = ' ';
    probe->content[used] = '\0';
    return size < 0 && used == 0 ? -1 : used;
}

static ssize_t
read_path(struct probe *probe, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), code;
    ssize_t size;

    if (fd < 0)
        return -1;
    size = read_content(probe, fd);
    code = errno;
    (void)close(fd);
    errno = code;
    return size;
}

/* The mark that the content holds, NULL when none. */
static const char *
find_mark(const struct probe *probe)
{
    for (size_t i = 0; i < probe->marks.count; i++)
        if (strstr(probe->content, probe->marks.items[i]) != NULL)
            return probe->marks.items[i];
    return NULL;
}

/* Runtimes put /dev/null over files that nobody inside should read. */
static bool
is_masked(int fd)
{
    struct stat status;

    return fstat(fd, &status) == 0 && S_ISCHR(status.st_mode) &&
           status.st_rdev == makedev(1, 3);
}

static void
try_path(struct probe *probe, const char *path)
{
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0) {
        report_refusal(probe, "open", path);
        return;
    }
    report(probe, "open", path,
           is_masked(fd) ? "refused: masked" : "reached: it opens");
    (void)close(fd);
}

/* A file that everybody has: only a mark in it counts. */
static void
try_content(struct probe *probe, const char *path)
{
    const char *mark;

    if (read_path(probe, path) < 0) {
        report_refusal(probe, "read", path);
        return;
    }
    mark = find_mark(probe);
    if (mark != NULL)
        report(probe, "read", path, "reached: it holds %s", mark);
    else
        report(probe, "read", path, "own: no mark in it");
}

/* ---- devices ---- */

static bool
is_own_device(const struct probe *probe, const char *path)
{
    static const char *const usual[] = {
        "/dev/null",   "/dev/zero", "/dev/full", "/dev/random",
        "/dev/urandom", "/dev/tty",  "/dev/ptmx", "/dev/console",
    };

    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (strcmp(path, usual[i]) == 0)
            return true;
    for (size_t i = 0; i < probe->devices.count; i++)
        if (strcmp(path, probe->devices.items[i]) == 0)
            return true;
    return strncmp(path, "/dev/pts/", 9) == 0;
}

static void
try_device(struct probe *probe, const char *path)
{
    int fd;

    if (is_own_device(probe, path)) {
        report(probe, "device", path, "own");
        return;
    }
    fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        report_refusal(probe, "device", path);
        return;
    }
    report(probe, "device", path, "reached: it opens");
    (void)close(fd);
}

static void
try_devices(struct probe *probe, const char *folder, int depth)
{
    DIR *directory = opendir(folder);
    const struct dirent *item;
    struct stat status;
    char path[PATH_MAX];

    if (directory == NULL) {
        report_refusal(probe, "list", folder);
        return;
    }
    while ((item = readdir(directory)) != NULL) {
        if (item->d_name[0] == '.' ||
            snprintf(path, sizeof(path), "%s/%s", folder, item->d_name) >=
                (int)sizeof(path) ||
            lstat(path, &status) != 0)
            continue;
        if (S_ISDIR(status.st_mode) && depth < 4)
            try_devices(probe, path, depth + 1);
        else if (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode))
            try_device(probe, path);
    }
    (void)closedir(directory);
}

/* A node of one's own making reaches every device of the host. */
static void
try_new_device(struct probe *probe, const char *name, mode_t type,
               unsigned major, unsigned minor)
{
    static const char *const folders[] = { "/tmp", "/dev", "/dev/shm", "/" };
    char path[64];

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        int fd;

        (void)snprintf(path, sizeof(path), "%s/probe.%ld", folders[i],
                       (long)getpid());
        if (mknod(path, type | 0600, makedev(major, minor)) != 0)
            continue;
        fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0)
            report(probe, "make device", name, "reached: it opens");
        else
            report_refusal(probe, "make device", name);
        if (fd >= 0)
            (void)close(fd);
        (void)unlink(path);
        return;
    }
    report_refusal(probe, "make device", name);
}

/* ---- processes ---- */

static bool
same_namespace(const char *pid, const char *kind)
{
    char path[64], mine[64], other[64];
    ssize_t size;

    (void)snprintf(path, sizeof(path), "/proc/self/ns/%s", kind);
    size = readlink(path, mine, sizeof(mine) - 1);
    mine[size > 0 ? size : 0] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%.20s/ns/%s", pid, kind);
    size = readlink(path, other, sizeof(other) - 1);
    other[size > 0 ? size : 0] = '\0';
    return size > 0 && strcmp(mine, other) == 0;
}

/* Of its own processes the command line is left out: it names the marks. */
static void
try_process(struct probe *probe, const char *pid)
{
    static const char *const files[] = { "cmdline", "maps", "environ",
                                         "mountinfo", "cgroup" };
    bool own = same_namespace(pid, "mnt") && same_namespace(pid, "pid");
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%.20s", pid);
    if (own)
        report(probe, "process", path, "own");
    else
        report(probe, "process", path, "reached: it can be seen");
    for (size_t i = own ? 2 : 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)snprintf(path, sizeof(path), "/proc/%.20s/%s", pid, files[i]);
        if (own)
            try_content(probe, path);
        else
            try_path(probe, path);
    }
}

static void
try_processes(struct probe *probe)
{
    DIR *directory = opendir("/proc");
    const struct dirent *item;

    if (directory == NULL) {
        report_refusal(probe, "list", "/proc");
        return;
    }
    while ((item = readdir(directory)) != NULL)
        if (item->d_name[0] >= '1' && item->d_name[0] <= '9')
            try_process(probe, item->d_name);
    (void)closedir(directory);
}

/* ---- network ---- */

/* "10.0.0.1:80" or "[fd00::1]:80"; the size of the address, 0 when it is
 * none. */
static socklen_t
parse_address(const char *text, struct sockaddr_storage *out)
{
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    const char *colon = strrchr(text, ':');
    char host[64], *end;
    unsigned long port;

    memset(out, 0, sizeof(*out));
    if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
        return 0;
    port = strtoul(colon + 1, &end, 10);
    if (*end != '\0' || port == 0 || port > 65535)
        return 0;
    memcpy(host, text, (size_t)(colon - text));
    host[colon - text] = '\0';
    four->sin_family = AF_INET;
    four->sin_port = htons((uint16_t)port);
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1)
        return sizeof(*four);
    if (host[0] != '[' || colon[-1] != ']')
        return 0;
    host[colon - text - 1] = '\0';
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1 ? sizeof(*six)
                                                                : 0;
}

static int
wait_for(int fd, short events)
{
    struct pollfd item = { .fd = fd, .events = events };
    int code = 0;
    socklen_t size = sizeof(code);

    if (poll(&item, 1, WAIT_MS) <= 0) {
        errno = ETIMEDOUT;
        return -1;
    }
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &size) != 0 || code != 0) {
        errno = code;
        return -1;
    }
    return 0;
}

static void
try_connect(struct probe *probe, const char *text)
{
    struct sockaddr_storage address;
    socklen_t size = parse_address(text, &address);
    int fd = socket(address.ss_family,
                    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0) {
        report_refusal(probe, "connect", text);
        return;
    }
    if ((connect(fd, (struct sockaddr *)&address, size) != 0 &&
         errno != EINPROGRESS) ||
        wait_for(fd, POLLOUT) != 0)
        report_refusal(probe, "connect", text);
    else
        report(probe, "connect", text, "reached: connected");
    (void)close(fd);
}

/* Asks for the root's name servers; any answer shows that it got there. */
static void
try_datagram(struct probe *probe, const char *text)
{
    static const uint8_t question[] = { 0, 1, 1, 0, 0, 1, 0, 0, 0,
                                        0, 0, 0, 0, 0, 2, 0, 1 };
    struct sockaddr_storage address;
    socklen_t size = parse_address(text, &address);
    int fd = socket(address.ss_family,
                    SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    char answer[512];

    if (fd < 0) {
        report_refusal(probe, "datagram", text);
        return;
    }
    if (connect(fd, (struct sockaddr *)&address, size) != 0 ||
        send(fd, question, sizeof(question), 0) < 0 ||
        wait_for(fd, POLLIN) != 0 || recv(fd, answer, sizeof(answer), 0) < 0)
        report_refusal(probe, "datagram", text);
    else
        report(probe, "datagram", text, "reached: answered");
    (void)close(fd);
}

/* Needs no neighbour: with such a socket every frame on the link is read. */
static void
try_packets(struct probe *probe)
{
    int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, htons(3));

    if (fd < 0) {
        report_refusal(probe, "socket", "packet");
        return;
    }
    report(probe, "socket", "packet", "reached: frames can be read");
    (void)close(fd);
}

static void
try_mount(struct probe *probe)
{
    if (mount("proc", "/tmp", "proc", 0, NULL) != 0) {
        report_refusal(probe, "mount", "proc");
        return;
    }
    report(probe, "mount", "proc", "reached: mounted");
    (void)umount2("/tmp", MNT_DETACH);
}

/* ---- the program ---- */

static void
list_add(struct list *list, const char *item)
{
    if (list->count == LIST_MAX || item[0] == '\0') {
        (void)fprintf(stderr, "probe: 1 to %d values of an option, none empty\n",
                      LIST_MAX);
        exit(2);
    }
    list->items[list->count++] = item;
}

static void
add_address(struct list *list, const char *text)
{
    struct sockaddr_storage address;

    if (parse_address(text, &address) == 0) {
        (void)fprintf(stderr, "probe: %s is not ADDRESS:PORT\n", text);
        exit(2);
    }
    list_add(list, text);
}

static void
read_options(int argc, char **argv, struct probe *probe)
{
    static const struct option names[] = {
        { "mark", 1, NULL, 'm' },    { "device", 1, NULL, 'd' },
        { "connect", 1, NULL, 'c' }, { "udp", 1, NULL, 'u' },
        { "open", 1, NULL, 'o' },    { NULL, 0, NULL, 0 },
    };
    int letter;
    bool wrong = false;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (letter == 'm')
            list_add(&probe->marks, optarg);
        else if (letter == 'd')
            list_add(&probe->devices, optarg);
        else if (letter == 'c')
            add_address(&probe->connects, optarg);
        else if (letter == 'u')
            add_address(&probe->datagrams, optarg);
        else if (letter == 'o')
            list_add(&probe->paths, optarg);
        else
            wrong = true;
    }
    if (optind == argc && !wrong)
        return;
    (void)fputs("probe [--mark TEXT] [--device PATH] [--connect ADDRESS:PORT]\n"
                "      [--udp ADDRESS:PORT] [--open PATH]   each any times\n",
                stderr);
    exit(2);
}

int
main(int argc, char **argv)
{
    static struct probe probe;

    read_options(argc, argv, &probe);
    try_devices(&probe, "/dev", 0);
    try_new_device(&probe, "memory", S_IFCHR, 1, 1);
    try_new_device(&probe, "disk 8:0", S_IFBLK, 8, 0);
    try_new_device(&probe, "card 195:0", S_IFCHR, 195, 0);
    try_processes(&probe);
    try_content(&probe, "/proc/self/mountinfo");
    try_content(&probe, "/proc/mounts");
    try_content(&probe, "/proc/net/tcp");
    try_content(&probe, "/proc/net/arp");
    try_path(&probe, "/proc/kcore");
    try_path(&probe, "/proc/kmsg");
    try_mount(&probe);
    try_packets(&probe);
    for (size_t i = 0; i < probe.paths.count; i++)
        try_path(&probe, probe.paths.items[i]);
    for (size_t i = 0; i < probe.connects.count; i++)
        try_connect(&probe, probe.connects.items[i]);
    for (size_t i = 0; i < probe.datagrams.count; i++)
        try_datagram(&probe, probe.datagrams.items[i]);
    (void)printf("{\"try\": \"all\", \"result\": \"%lu of %lu tries reached "
                 "something foreign\"}\n",
                 probe.reached, probe.tries);
    return probe.reached > 0 ? 1 : 0;
}
