/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/seccomp.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <seccomp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"

#define NAME_ROOM 32

/* Names parted by blanks; libseccomp leaves out those of other machines. */
static const char allowed[] =
    "accept accept4 access alarm arch_prctl bind brk cachestat capget capset "
    "chdir chmod chown clock_getres clock_gettime clock_nanosleep close "
    "close_range connect copy_file_range creat dup dup2 dup3 epoll_create "
    "epoll_create1 epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 "
    "epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit "
    "exit_group faccessat faccessat2 fadvise64 fallocate fchdir fchmod "
    "fchmodat fchmodat2 fchown fchownat fcntl fdatasync fgetxattr flistxattr "
    "flock fork fremovexattr fsetxattr fstat fstatfs fsync ftruncate futex "
    "futex_requeue futex_wait futex_waitv futex_wake futimesat get_mempolicy "
    "get_robust_list get_thread_area getcpu getcwd getdents getdents64 "
    "getegid geteuid getgid getgroups getitimer getpeername getpgid getpgrp "
    "getpid getppid getpriority getrandom getresgid getresuid getrlimit "
    "getrusage getsid getsockname getsockopt gettid gettimeofday getuid "
    "getxattr inotify_add_watch inotify_init inotify_init1 inotify_rm_watch "
    "ioctl ioprio_get ioprio_set kill lchown lgetxattr link "
    "linkat listen listxattr llistxattr lremovexattr lseek lsetxattr lstat "
    "madvise map_shadow_stack mbind membarrier memfd_create memfd_secret "
    "mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mprotect "
    "mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedsend mq_unlink "
    "mremap msgctl msgget msgrcv msgsnd msync munlock munlockall munmap "
    "nanosleep newfstatat open openat openat2 pause pidfd_open "
    "pidfd_send_signal pipe pipe2 pkey_alloc pkey_free pkey_mprotect poll "
    "ppoll prctl pread64 preadv preadv2 prlimit64 process_mrelease pselect6 "
    "pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv "
    "recvfrom recvmmsg recvmsg remap_file_pages removexattr rename renameat "
    "renameat2 restart_syscall rmdir rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend "
    "rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
    "sched_get_priority_min sched_getaffinity sched_getattr sched_getparam "
    "sched_getscheduler sched_rr_get_interval sched_setaffinity "
    "sched_setattr sched_setparam sched_setscheduler sched_yield seccomp "
    "select semctl semget semop semtimedop sendfile sendmmsg sendmsg sendto "
    "set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area "
    "set_tid_address setfsgid setfsuid setgid setgroups setitimer setpgid "
    "setpriority setregid setresgid setresuid setreuid setrlimit setsid "
    "setsockopt setuid setxattr shmat shmctl shmdt shmget shutdown "
    "sigaltstack signalfd signalfd4 socketpair splice stat statfs statx "
    "symlink symlinkat sync sync_file_range syncfs sysinfo tee tgkill time "
    "timer_create timer_delete timer_getoverrun timer_gettime timer_settime "
    "timerfd_create timerfd_gettime timerfd_settime times tkill truncate "
    "umask uname unlink unlinkat utime utimensat utimes vfork wait4 waitid "
    "write writev";

/* Known to reach out of an instance or to widen the kernel's surface. */
static const char refused[] =
    "acct add_key adjtimex bpf chroot clock_adjtime clock_settime "
    "delete_module fanotify_init finit_module fsconfig fsmount fsopen fspick "
    "init_module io_uring_enter io_uring_register io_uring_setup ioperm iopl "
    "kcmp kexec_file_load kexec_load keyctl lookup_dcookie mount "
    "mount_setattr move_mount move_pages migrate_pages name_to_handle_at "
    "nfsservctl open_by_handle_at open_tree perf_event_open pidfd_getfd "
    "pivot_root process_madvise process_vm_readv process_vm_writev ptrace "
    "quotactl quotactl_fd reboot request_key setdomainname sethostname setns "
    "settimeofday swapoff swapon syslog umount2 unshare userfaultfd vhangup";

/* One rule: code 0 allows, else the call fails with it. */
struct rule {
    const char *names;
    int code;
    size_t count;
    struct scmp_arg_cmp args[2];
};

typedef int take_rule(void *data, const struct rule *rule);

static int
give(take_rule *take, void *data, const char *names, int code,
     const struct scmp_arg_cmp *args, size_t count)
{
    struct rule rule = { names, code, count, { { 0 } } };

    for (size_t i = 0; i < count; i++)
        rule.args[i] = args[i];
    return take(data, &rule);
}

/* clone without new namespaces; clone3 hides its flags in memory, so it looks
 * absent and C libraries use clone. */
static int
give_clone(take_rule *take, void *data)
{
    const struct scmp_arg_cmp none =
        SCMP_A0_64(SCMP_CMP_MASKED_EQ,
                   CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
                       CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP,
                   0);

    if (give(take, data, "clone", 0, &none, 1) != 0)
        return -1;
    return give(take, data, "clone3", ENOSYS, NULL, 0);
}

/* Families that end at the instance's own namespace; not the machine's
 * (vsock), nor raw or rarely used kernel code.  Libraries list addresses by
 * the one netlink protocol; the others are for the machine's administration. */
static int
give_socket(take_rule *take, void *data)
{
    static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
    const struct scmp_arg_cmp route[] = {
        SCMP_A0_64(SCMP_CMP_EQ, AF_NETLINK, 0),
        SCMP_A2_64(SCMP_CMP_EQ, NETLINK_ROUTE, 0),
    };

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        const struct scmp_arg_cmp family =
            SCMP_A0_64(SCMP_CMP_EQ, (uint64_t)families[i], 0);

        if (give(take, data, "socket", 0, &family, 1) != 0)
            return -1;
    }
    return give(take, data, "socket", 0, route, 2);
}

/* The personalities that programs ask for: Linux, 32 bit, and the query. */
static int
give_personality(take_rule *take, void *data)
{
    static const uint64_t kinds[] = { 0x0, 0x8, 0x20000, 0x20008, 0xffffffff };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const struct scmp_arg_cmp kind = SCMP_A0_64(SCMP_CMP_EQ, kinds[i], 0);

        if (give(take, data, "personality", 0, &kind, 1) != 0)
            return -1;
    }
    return 0;
}

static int
give_rules(take_rule *take, void *data)
{
    if (give(take, data, allowed, 0, NULL, 0) != 0 ||
        give(take, data, refused, EPERM, NULL, 0) != 0 ||
        give_clone(take, data) != 0 || give_socket(take, data) != 0)
        return -1;
    return give_personality(take, data);
}

/* --- as JSON, for the runtime --- */

static json_t *
names_of(const char *text)
{
    json_t *names = json_array();

    while (*text != '\0') {
        size_t size = strcspn(text, " ");

        (void)json_array_append_new(names, json_stringn(text, size));
        text += size + (text[size] == ' ');
    }
    return names;
}

static json_t *
args_of(const struct rule *rule)
{
    json_t *args = json_array();

    for (size_t i = 0; i < rule->count; i++)
        (void)json_array_append_new(
            args,
            json_pack("{s:i, s:I, s:I, s:s}", "index", (int)rule->args[i].arg,
                      "value", (json_int_t)rule->args[i].datum_a, "valueTwo",
                      (json_int_t)rule->args[i].datum_b, "op",
                      rule->args[i].op == SCMP_CMP_EQ ? "SCMP_CMP_EQ"
                                                      : "SCMP_CMP_MASKED_EQ"));
    return args;
}

static int
take_as_json(void *data, const struct rule *rule)
{
    json_t *out = json_pack("{s:o, s:s}", "names", names_of(rule->names),
                            "action",
                            rule->code == 0 ? "SCMP_ACT_ALLOW"
                                            : "SCMP_ACT_ERRNO");

    if (rule->code != 0)
        (void)json_object_set_new(out, "errnoRet", json_integer(rule->code));
    if (rule->count > 0)
        (void)json_object_set_new(out, "args", args_of(rule));
    (void)json_array_append_new(data, out);
    return 0;
}

json_t *
seccomp_filter_new(void)
{
    json_t *rules = json_array();

    (void)give_rules(take_as_json, rules);
    /* No architectures: the machine's own only.  Each more would be another
     * way in. */
    return json_pack("{s:s, s:i, s:o}", "defaultAction", "SCMP_ACT_ERRNO",
                     "defaultErrnoRet", ENOSYS, "syscalls", rules);
}

/* --- as a program, for the kernel --- */

static int
take_as_program(void *data, const struct rule *rule)
{
    uint32_t action =
        rule->code == 0 ? SCMP_ACT_ALLOW : SCMP_ACT_ERRNO((unsigned)rule->code);

    /* libseccomp takes no rule that says what happens anyhow. */
    if (rule->code == ENOSYS)
        return 0;
    for (const char *at = rule->names; *at != '\0';) {
        size_t size = strcspn(at, " ");
        char name[NAME_ROOM];
        int number;

        (void)snprintf(name, sizeof(name), "%.*s", (int)size, at);
        number = seccomp_syscall_resolve_name(name);
        at += size + (at[size] == ' ');
        if (number != __NR_SCMP_ERROR &&
            seccomp_rule_add_array(data, action, number, (unsigned)rule->count,
                                   rule->args) != 0)
            return -1;
    }
    return 0;
}

static int
write_program(scmp_filter_ctx filter, struct buffer *out, struct error *err)
{
    scoped_fd fd = memfd_create("filter", MFD_CLOEXEC);
    struct stat file;
    char *room;

    if (fd < 0 || seccomp_export_bpf(filter, fd) != 0 ||
        fstat(fd, &file) != 0 || lseek(fd, 0, SEEK_SET) != 0)
        return error_set(err, ERROR_INTERNAL, "compile the filter of system "
                                              "calls");
    room = buffer_room(out, (size_t)file.st_size);
    if (file_read_all(fd, room, (size_t)file.st_size, err) != 0)
        return -1;
    buffer_grew(out, (size_t)file.st_size);
    return 0;
}

int
seccomp_program(struct buffer *out, struct error *err)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(ENOSYS));
    int result = -1;

    if (filter == NULL || give_rules(take_as_program, filter) != 0)
        (void)error_set(err, ERROR_INTERNAL, "a rule for a system call is not "
                                             "taken");
    else
        result = write_program(filter, out, err);
    if (filter != NULL)
        seccomp_release(filter);
    return result;
}
