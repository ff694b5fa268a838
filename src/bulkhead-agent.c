/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/log.h"
#include "engine/engine_local.h"

/* The node's agent: see agent/agent.h. */

static volatile sig_atomic_t stop_signal;

static const char usage_text[] =
    "bulkhead-agent: does on this node what the control plane orders\n"
    "\n"
    "  --control SOCKET|URL     Unix socket or https://HOST:PORT of bulkheadd\n"
    "  --ca FILE                certificates that HOST's may be signed by\n"
    "                           (those of the system)\n"
    "  --state DIR              keys, enrolment and kept logs (mode 0700)\n"
    "  --runner SOCKET          socket of bulkhead-runner\n"
    "  --node NAME              name to enrol under\n"
    "  --join-token-file FILE   join token, needed once\n"
    "  --inventory-ms N         between looks at the cards (3000)\n"
    "  --sample-ms N            between looks at what is used (1000)\n"
    "  --help\n";

static void
on_signal(int number)
{
    stop_signal = number;
}

static void
catch_signals(void)
{
    struct sigaction action = { .sa_handler = on_signal };

    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

struct arguments {
    struct agent_options options;
    const char *runner;
    bool help;
};

static int
parse_milliseconds(const char *text, int *out, struct error *err)
{
    char *end;
    long number = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number < 10 || number > 3600000)
        return error_set(err, ERROR_INVALID,
                         "\"%s\" is not a number of ms from 10 to 3600000",
                         text);
    *out = (int)number;
    return 0;
}

static int
take_option(int option, struct arguments *out, struct error *err)
{
    switch (option) {
    case 'c':
        out->options.link.control = optarg;
        return 0;
    case 'a':
        out->options.link.ca_file = optarg;
        return 0;
    case 's':
        out->options.link.state = optarg;
        return 0;
    case 'r':
        out->runner = optarg;
        return 0;
    case 'n':
        out->options.link.node = optarg;
        return 0;
    case 'j':
        out->options.link.token_file = optarg;
        return 0;
    case 'i':
        return parse_milliseconds(optarg, &out->options.inventory_ms, err);
    case 'm':
        return parse_milliseconds(optarg, &out->options.sample_ms, err);
    case 'h':
        out->help = true;
        return 0;
    default:
        return error_set(err, ERROR_INVALID, "unknown option, see --help");
    }
}

static int
parse_arguments(int argc, char **argv, struct arguments *out,
                struct error *err)
{
    static const struct option options[] = {
        { "control", required_argument, NULL, 'c' },
        { "ca", required_argument, NULL, 'a' },
        { "state", required_argument, NULL, 's' },
        { "runner", required_argument, NULL, 'r' },
        { "node", required_argument, NULL, 'n' },
        { "join-token-file", required_argument, NULL, 'j' },
        { "inventory-ms", required_argument, NULL, 'i' },
        { "sample-ms", required_argument, NULL, 'm' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (take_option(option, out, err) != 0)
            return -1;
    if (!out->help &&
        (optind < argc || out->options.link.control == NULL ||
         out->options.link.state == NULL || out->runner == NULL ||
         out->options.link.node == NULL))
        return error_set(err, ERROR_INVALID,
                         "--control, --state, --runner and --node are "
                         "needed, see --help");
    return 0;
}

int
main(int argc, char **argv)
{
    struct arguments arguments = { 0 };
    struct error err;

    log_open("bulkhead-agent", LOG_INFO);
    if (parse_arguments(argc, argv, &arguments, &err) != 0) {
        log_error("%s", err.text);
        return error_exit_code(err.code);
    }
    if (arguments.help) {
        (void)fputs(usage_text, stdout);
        return 0;
    }
    catch_signals();
    arguments.options.engine = engine_local_new(arguments.runner);
    if (agent_run(&arguments.options, &stop_signal, &err) != 0) {
        log_error("%s", err.text);
        return error_exit_code(err.code);
    }
    /* Threads still wait at sockets; nothing of theirs needs an end. */
    _exit(0);
}
