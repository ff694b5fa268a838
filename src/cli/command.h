/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include "cli/cli.h"

/* All commands; each is defined in the file of its name. */
#define COMMANDS(X)                                                           \
    X(login) X(logout) X(whoami) X(stepup) X(first_admin) X(passwd) X(use)    \
    X(invite) X(accept) X(enrol_factor) X(confirm_factor) X(drop_factor)      \
    X(renew_recovery) X(reset_factor) X(require_factor)                       \
    X(lockouts) X(unlock)                                                     \
    X(get) X(nouns) X(create) X(set) X(delete)                                \
    X(set_quota) X(set_clientsecret) X(raise_quota) X(request_quota) X(request_class)               \
    X(request_priority) X(request_reservation) X(approve_request)             \
    X(deny_request) X(withdraw_request) X(list_of)                             \
    X(approve_approval) X(deny_approval) X(drop_approval)                     \
    X(execute_approval) X(break_glass) X(end_breakglass)                      \
    X(review_breakglass) X(close_workorder) X(report_firmware)                \
    X(create_key) X(rotate_key) X(create_jointoken) X(create_reservation) X(create_maintenance)                            \
    X(init) X(convert) X(submit) X(cancel) X(hold) X(release) X(release_workload) X(drain) X(drain_node) X(fence_node) X(wait)        \
    X(logs) X(explain) X(what_if) X(advise) X(advise_defragment) X(queue)                                    \
    X(cards) X(cards_health) X(cards_set) X(cards_clear) X(impact)            \
    X(bindings) X(interference) X(usage) X(cost)                                     \
    X(can_i) X(who_can) X(what_can) X(rights) X(check) X(doctor) X(backup) X(restore) X(restore_confirm)                 \
    X(restore_stop) X(review_keys) X(review_sessions)                         \
    X(metrics) X(clock_confirm) X(clear_alarm) X(clear_card) X(handover) X(history)                                    \
    X(audit_tail) X(audit_search) X(audit_export) X(audit_verify)             \
    X(audit_prove) X(audit_check_proof) X(audit_witness) X(audit_rotate_key)  \
    X(audit_erase) X(audit_strangers) X(audit_retention)                                         \
    X(simulate_openb)                                                         \
    X(simulate_work) X(completion) X(version)

#define COMMAND_DECLARE(name) extern const struct command command_##name;
COMMANDS(COMMAND_DECLARE)
#undef COMMAND_DECLARE

/* NULL-terminated, in the order of help. */
extern const struct command *const command_list[];
/* Options that every command takes. */
extern const struct command_option command_globals[];

#endif
