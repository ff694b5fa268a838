/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/seccomp.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/json.h"

/* The program is asked by the kernel itself, in a child that has it. */

struct call {
    long number;
    long args[3];
    int wanted; /* errno; 0: it may be made */
};

static const struct call calls[] = {
    { SYS_getpid, { 0 }, 0 },
    { SYS_socket, { AF_UNIX, SOCK_STREAM, 0 }, 0 },
    { SYS_socket, { AF_INET, SOCK_STREAM, 0 }, 0 },
    { SYS_socket, { AF_NETLINK, SOCK_RAW, 0 }, 0 },
    { SYS_socket, { AF_NETLINK, SOCK_RAW, 9 }, ENOSYS },
    { SYS_socket, { AF_VSOCK, SOCK_STREAM, 0 }, ENOSYS },
    { SYS_socket, { AF_PACKET, SOCK_RAW, 0 }, ENOSYS },
    { SYS_unshare, { CLONE_NEWUSER }, EPERM },
    { SYS_mount, { 0 }, EPERM },
    { SYS_bpf, { 0 }, EPERM },
    { SYS_io_uring_setup, { 1, 0 }, EPERM },
    { SYS_clone3, { 0, 0 }, ENOSYS },
    { SYS_clone, { CLONE_NEWUSER | SIGCHLD, 0 }, ENOSYS },
    { SYS_personality, { 0xffffffff }, 0 },
    { SYS_personality, { ADDR_NO_RANDOMIZE }, ENOSYS },
    { 100000, { 0 }, ENOSYS },
};

/* 0, or the number of the first call that went another way. */
static int
try_calls(const struct buffer *program)
{
    struct sock_fprog filter = {
        .len = (unsigned short)(program->size / sizeof(struct sock_filter)),
        .filter = (struct sock_filter *)(void *)program->bytes,
    };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
        return 100;
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        const struct call *call = &calls[i];
        long got;

        errno = 0;
        got = syscall(call->number, call->args[0], call->args[1],
                      call->args[2]);
        if (call->wanted == 0 ? got < 0 : got != -1 || errno != call->wanted)
            return (int)i + 1;
    }
    return 0;
}

static void
the_program_lets_through_and_refuses_what_the_rules_say(void **state)
{
    scoped_buffer program = { 0 };
    struct error err;
    int status = 0;
    pid_t pid;

    (void)state;
    assert_int_equal(seccomp_program(&program, &err), 0);
    assert_int_equal(program.size % sizeof(struct sock_filter), 0);
    assert_in_range(program.size / sizeof(struct sock_filter), 100, 4096);
    pid = fork();
    if (pid == 0)
        _exit(try_calls(&program));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void
the_configuration_holds_the_same_rules(void **state)
{
    scoped_json filter = seccomp_filter_new();
    const json_t *rules = json_object_get(filter, "syscalls");
    const json_t *clone = json_array_get(rules, 2);

    (void)state;
    /* allowed, refused, clone, clone3, 4 sockets, 5 personalities */
    assert_int_equal(json_array_size(rules), 13);
    assert_string_equal(
        json_string_value(json_object_get(json_array_get(rules, 1), "action")),
        "SCMP_ACT_ERRNO");
    assert_string_equal(
        json_string_value(json_array_get(json_object_get(clone, "names"), 0)),
        "clone");
    assert_string_equal(
        json_string_value(json_object_get(
            json_array_get(json_object_get(clone, "args"), 0), "op")),
        "SCMP_CMP_MASKED_EQ");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(
            the_program_lets_through_and_refuses_what_the_rules_say),
        cmocka_unit_test(the_configuration_holds_the_same_rules),
    };

    return cmocka_run_group_tests_name("seccomp", tests, NULL, NULL);
}
