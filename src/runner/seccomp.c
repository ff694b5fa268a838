/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/seccomp.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "base/json.h"

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
rule(json_t *names, const char *action, int code, json_t *args)
{
    json_t *out = json_pack("{s:o, s:s}", "names", names, "action", action);

    if (code != 0)
        (void)json_object_set_new(out, "errnoRet", json_integer(code));
    if (args != NULL)
        (void)json_object_set_new(out, "args", args);
    return out;
}

static json_t *
argument(unsigned index, const char *op, uint64_t value, uint64_t second)
{
    return json_pack("[{s:i, s:I, s:I, s:s}]", "index", (int)index, "value",
                     (json_int_t)value, "valueTwo", (json_int_t)second, "op",
                     op);
}

/* clone without new namespaces; clone3 hides its flags in memory, so it looks
 * absent and C libraries use clone. */
static void
add_clone(json_t *rules)
{
    static const uint64_t namespaces =
        CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |
        CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP;

    (void)json_array_append_new(
        rules, rule(names_of("clone"), "SCMP_ACT_ALLOW", 0,
                    argument(0, "SCMP_CMP_MASKED_EQ", namespaces, 0)));
    (void)json_array_append_new(
        rules, rule(names_of("clone3"), "SCMP_ACT_ERRNO", ENOSYS, NULL));
}

/* Families that end at the instance's own namespace; not the machine's
 * (vsock), nor raw or rarely used kernel code. */
static void
add_socket(json_t *rules)
{
    static const int families[] = { AF_UNIX, AF_INET, AF_INET6 };
    json_t *route = argument(0, "SCMP_CMP_EQ", AF_NETLINK, 0);
    scoped_json protocol = argument(2, "SCMP_CMP_EQ", NETLINK_ROUTE, 0);

    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        (void)json_array_append_new(
            rules, rule(names_of("socket"), "SCMP_ACT_ALLOW", 0,
                        argument(0, "SCMP_CMP_EQ", (uint64_t)families[i], 0)));
    /* Libraries list addresses by this one; the others are for the machine's
     * administration. */
    (void)json_array_extend(route, protocol);
    (void)json_array_append_new(
        rules, rule(names_of("socket"), "SCMP_ACT_ALLOW", 0, route));
}

/* The personalities that programs ask for: Linux, 32 bit, and the query. */
static void
add_personality(json_t *rules)
{
    static const uint64_t kinds[] = { 0x0, 0x8, 0x20000, 0x20008, 0xffffffff };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        (void)json_array_append_new(
            rules, rule(names_of("personality"), "SCMP_ACT_ALLOW", 0,
                        argument(0, "SCMP_CMP_EQ", kinds[i], 0)));
}

json_t *
seccomp_filter_new(void)
{
    json_t *rules = json_array();

    (void)json_array_append_new(
        rules, rule(names_of(allowed), "SCMP_ACT_ALLOW", 0, NULL));
    (void)json_array_append_new(
        rules, rule(names_of(refused), "SCMP_ACT_ERRNO", EPERM, NULL));
    add_clone(rules);
    add_socket(rules);
    add_personality(rules);
    /* No architectures: the machine's own only.  Each more would be another
     * way in, and as long again to compile at every start. */
    return json_pack("{s:s, s:i, s:o}", "defaultAction", "SCMP_ACT_ERRNO",
                     "defaultErrnoRet", ENOSYS, "syscalls", rules);
}
