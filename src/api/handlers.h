/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_HANDLERS_H
#define API_HANDLERS_H

#include "api/exchange.h"

/*
 * What does each route do?  The handlers of route.def, by file.  A handler of
 * a decided route gets the decision and through it the world; it fills the
 * exchange's answer or the change set, or fails with an error.
 */

#define HANDLER_READ(name)                                                    \
    int name(const struct granted *granted, struct exchange *exchange,        \
             struct error *err);
#define HANDLER_HISTORY(name)                                                 \
    int name(struct exchange *exchange, struct store_reader *reader,          \
             struct error *err);
#define HANDLER_WRITE(name)                                                   \
    int name(const struct granted *granted, struct changes *changes,          \
             struct exchange *exchange, struct error *err);
#define HANDLER_WORK(name)                                                    \
    int name(struct exchange *exchange, struct error *err);
#define HANDLER_ANSWER(name)                                                  \
    void name(const struct granted *granted, const struct changes *changes,   \
              struct exchange *exchange);
#define HANDLER_OPEN(name)                                                    \
    int name(struct exchange *exchange, struct error *err);
#define HANDLER_START(name) void name(struct exchange *exchange);

/* objects.c: any kind, by its schema */
HANDLER_READ(objects_list)
HANDLER_READ(objects_list_all)
HANDLER_READ(objects_get)
HANDLER_WRITE(objects_create)
HANDLER_WRITE(objects_update)
HANDLER_WRITE(objects_delete)
HANDLER_ANSWER(objects_answer)
HANDLER_ANSWER(objects_gone)

/* login.c: passwords become sessions */
HANDLER_START(login_start)
HANDLER_START(login_first_admin)

/* self.c: about the asker */
HANDLER_READ(self_whoami)
HANDLER_READ(self_can_i)
HANDLER_WRITE(self_log_out)
HANDLER_WRITE(self_step_up)
HANDLER_WORK(self_check_password)
HANDLER_ANSWER(self_done)

/* rights.c: what a subject may do, and by what */
HANDLER_READ(rights_read)

/* secrets.c: keys, join tokens, passwords */
HANDLER_WRITE(secrets_make_key)
HANDLER_WRITE(secrets_make_join)
HANDLER_WRITE(secrets_make_invitation)
HANDLER_WRITE(secrets_rotate_key)
HANDLER_WRITE(secrets_set_password)
HANDLER_WORK(secrets_hash_password)
HANDLER_ANSWER(secrets_answer)
HANDLER_ANSWER(secrets_done)

/* providers.c: identity providers */
HANDLER_WRITE(providers_create)
HANDLER_WRITE(providers_set_secret)
/* factors.c: second factors, and when they are asked for */
HANDLER_WRITE(factors_enrol)
HANDLER_WRITE(factors_confirm)
HANDLER_WRITE(factors_renew)
HANDLER_WRITE(factors_drop)
HANDLER_WRITE(factors_reset)
HANDLER_WRITE(factors_policy)
HANDLER_ANSWER(factors_answer)

/* accounts.c: locks, invitations, the end of what somebody had */
HANDLER_START(accounts_accept)
HANDLER_READ(accounts_locked)
HANDLER_WRITE(accounts_unlock)
HANDLER_WRITE(accounts_drain)
HANDLER_ANSWER(accounts_drained)

/* sso.c: logins by identity providers */
HANDLER_START(sso_start)
HANDLER_START(sso_callback)
HANDLER_START(sso_stepup)
HANDLER_START(sso_stepup_callback)
HANDLER_START(sso_logout)

/* work.c: workloads */
HANDLER_WRITE(work_submit)
HANDLER_WRITE(work_delete)
HANDLER_WRITE(work_cancel)
HANDLER_WRITE(work_hold)
HANDLER_WRITE(work_release)
HANDLER_WRITE(work_take_off)
HANDLER_READ(work_explain)
HANDLER_READ(work_whatif_read)
HANDLER_HISTORY(work_whatif)
HANDLER_READ(advice_read)
HANDLER_HISTORY(advice_history)
HANDLER_READ(advice_defrag_read)
HANDLER_HISTORY(advice_defrag)
HANDLER_WRITE(advice_defrag_apply)
HANDLER_READ(work_queue)
HANDLER_READ(work_queue_all)
HANDLER_READ(work_history_read)
HANDLER_HISTORY(work_history)

/* requests.c: wishes for more, and limits raised for a time */
HANDLER_READ(requests_whatif)
HANDLER_WRITE(requests_grant)
HANDLER_WRITE(requests_deny)
HANDLER_WRITE(requests_withdraw)
HANDLER_WRITE(requests_raise)

/* who_can.c: who can do what */
HANDLER_READ(who_can_read)
HANDLER_READ(who_can_what)

/* approvals.c: second persons, emergencies, vendors */
HANDLER_WRITE(approvals_approve)
HANDLER_WRITE(approvals_deny)
HANDLER_WRITE(approvals_drop)
HANDLER_WRITE(approvals_end_glass)
HANDLER_WRITE(approvals_review_glass)
HANDLER_WRITE(approvals_close_order)
HANDLER_WRITE(approvals_report)

/* logs.c */
HANDLER_READ(logs_read)

/* estate.c: cards and capacity */
HANDLER_READ(estate_cards)
HANDLER_READ(estate_capacity)

/* health.c */
HANDLER_READ(health_read)
HANDLER_WRITE(health_set)
HANDLER_READ(health_impact)

/* bindings.c, usage.c, audit.c: what happened */
HANDLER_READ(interference_list)
HANDLER_READ(bindings_read)
HANDLER_HISTORY(bindings_history)
HANDLER_READ(usage_read)
HANDLER_HISTORY(usage_history)
HANDLER_READ(audit_read)
HANDLER_HISTORY(audit_history)

/* audit_files.c, audit_witness.c: what others need to check the log */
HANDLER_READ(audit_checkpoint_read)
HANDLER_READ(audit_cosigned_read)
HANDLER_HISTORY(audit_checkpoint)
HANDLER_HISTORY(audit_cosigned)
HANDLER_WRITE(audit_erase)
HANDLER_ANSWER(audit_erase_answer)
HANDLER_READ(audit_retention_read)
HANDLER_WRITE(audit_retention_set)
HANDLER_ANSWER(audit_retention_answer)
HANDLER_READ(audit_keys_read)
HANDLER_HISTORY(audit_keys)
HANDLER_WRITE(audit_rotate)
HANDLER_WORK(audit_rotate_work)
HANDLER_ANSWER(audit_rotate_answer)
HANDLER_READ(audit_strangers)
HANDLER_READ(audit_heads_read)
HANDLER_HISTORY(audit_heads)
HANDLER_READ(audit_witness_read)
HANDLER_HISTORY(audit_witness)
HANDLER_WRITE(audit_cosign)
HANDLER_WORK(audit_cosign_work)
HANDLER_ANSWER(audit_cosign_answer)

/* system.c, openapi.c: the platform about itself */
HANDLER_OPEN(system_health)
HANDLER_OPEN(system_ready)
HANDLER_OPEN(system_version)
HANDLER_READ(system_metrics)
HANDLER_READ(system_check)
HANDLER_HISTORY(system_check_history)
HANDLER_WRITE(system_clock)
HANDLER_ANSWER(system_clock_confirm)
HANDLER_OPEN(openapi_serve)

/* restore.c: backups, and what follows when one was put back */
HANDLER_READ(backup_read)
HANDLER_HISTORY(backup_make)
HANDLER_READ(restore_read)
HANDLER_WRITE(restore_end)
HANDLER_ANSWER(restore_ended)
HANDLER_WRITE(restore_decide)
HANDLER_ANSWER(restore_decided)
HANDLER_WRITE(restore_stop)

/* nodes.c: machines with work on them */
HANDLER_WRITE(nodes_drain)
HANDLER_WRITE(nodes_fence)
HANDLER_ANSWER(nodes_answer)

/* alarms.c */
HANDLER_READ(alarms_list)
HANDLER_WRITE(alarms_clear)
HANDLER_ANSWER(alarms_cleared)

/* relay.c: agents' messages, to control/agents.h */
HANDLER_START(relay_enrol)
HANDLER_START(relay_sync)

extern const struct body_field login_body[];
extern const struct body_field first_admin_body[];
extern const struct body_field stepup_body[];
extern const struct body_field password_body[];
extern const struct body_field client_secret_body[];
extern const struct body_field sso_body[];
extern const struct body_field sso_stepup_body[];
extern const struct body_field sso_callback_body[];
extern const struct body_field rotate_body[];
extern const struct body_field code_body[];
extern const struct body_field accept_body[];
extern const struct body_field factor_policy_body[];
extern const struct body_field drain_body[];
extern const struct body_field node_drain_body[];
extern const struct body_field fence_body[];
extern const struct body_field take_off_body[];
extern const struct body_field note_body[];
extern const struct body_field raise_body[];
extern const struct body_field whatif_body[];
extern const struct body_field review_body[];
extern const struct body_field report_body[];
extern const struct body_field orphan_body[];
extern const struct body_field alarm_body[];
extern const struct body_field health_body[];
extern const struct body_field defragment_body[];
extern const struct body_field cosign_body[];
extern const struct body_field erase_body[];
extern const struct body_field retention_body[];

#endif
