/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/json.h"
#include "core/record.h"

/* One record as an event of the Open Cybersecurity Schema Framework, class API
 * Activity.  What has no place there is below "unmapped". */

#define OCSF_VERSION "1.3.0"
#define OCSF_CLASS 6003
#define OCSF_CATEGORY 6
#define OCSF_OTHER 99

static void
open_group(struct buffer *out, const char *name)
{
    json_member(out, name);
    buffer_add_byte(out, '{');
}

static void
close_group(struct buffer *out)
{
    buffer_add_byte(out, '}');
}

/* 1 create, 2 read, 3 update, 4 delete, 99 other: by the verb, which also the
 * platform's own deeds have. */
static int
activity_of(const struct record *record)
{
    static const struct {
        const char *end;
        int activity;
    } table[] = { { ".create", 1 }, { ".get", 2 },    { ".list", 2 },
                  { ".read", 2 },   { ".update", 3 }, { ".delete", 4 } };
    const char *verb = record->action.verb;
    const char *dot = verb != NULL ? strrchr(verb, '.') : NULL;

    for (size_t i = 0; dot != NULL && i < sizeof(table) / sizeof(table[0]);
         i++)
        if (strcmp(dot, table[i].end) == 0)
            return table[i].activity;
    return record->action.method != NULL &&
                   strcmp(record->action.method, "GET") == 0
               ? 2
               : OCSF_OTHER;
}

static void
add_status(struct buffer *out, const struct record *record)
{
    static const struct {
        int id;
        const char *text;
    } table[RECORD_OUTCOME_COUNT] = {
        [RECORD_PENDING] = { 0, "Unknown" },
        [RECORD_SUCCESS] = { 1, "Success" },
        [RECORD_FAILURE] = { 2, "Failure" },
        [RECORD_PARTIAL] = { OCSF_OTHER, "Partial" },
        [RECORD_UNKNOWN] = { 0, "Unknown" },
    };

    json_member_int(out, "status_id", table[record->outcome.status].id);
    json_member_text(out, "status", table[record->outcome.status].text);
    json_member_text(out, "status_code", record->outcome.code);
    json_member_text(out, "status_detail", record->decision.reason);
}

static void
add_metadata(struct buffer *out, const struct record *record)
{
    open_group(out, "metadata");
    json_member_text(out, "version", OCSF_VERSION);
    json_member_text(out, "uid", record->id);
    json_member_int(out, "sequence", (int64_t)record->seq);
    json_member_text(out, "log_name", record->log);
    json_member_text(out, "event_code", record->action.verb);
    json_member_text(out, "correlation_uid", record->links.request);
    json_member_text(out, "tenant_uid", record->object.tenant);
    open_group(out, "product");
    json_member_text(out, "name", "Bulkhead");
    json_member_text(out, "vendor_name", "Bulkhead");
    json_member_text(out, "version", record->observer.version);
    open_group(out, "feature");
    json_member_text(out, "name", record->observer.component);
    close_group(out);
    close_group(out);
    close_group(out);
}

/* The platform's own deeds have no user: then the program is the actor. */
static void
add_actor(struct buffer *out, const struct record *record)
{
    open_group(out, "actor");
    if (record->actor.id == NULL) {
        json_member_text(out, "app_name", record->observer.component != NULL
                                      ? record->observer.component
                                      : "bulkheadd");
    } else {
        open_group(out, "user");
        json_member_text(out, "uid", record->actor.id);
        json_member_text(out, "name", record->actor.name);
        json_member_text(out, "type", record->actor.kind);
        json_member_text(out, "domain", record->actor.tenant);
        json_member_text(out, "credential_uid", record->actor.credential);
        close_group(out);
    }
    if (record->actor.session != NULL) {
        open_group(out, "session");
        json_member_text(out, "uid", record->actor.session);
        close_group(out);
    }
    close_group(out);
}

static void
add_api(struct buffer *out, const struct record *record)
{
    open_group(out, "api");
    json_member_text(out, "operation",
             record->action.verb != NULL ? record->action.verb : "unknown");
    open_group(out, "request");
    json_member_text(out, "uid",
                     record->links.request != NULL ? record->links.request
                                                       : record->id);
    close_group(out);
    if (record->outcome.code != NULL) {
        open_group(out, "response");
        json_member_text(out, "error", record->outcome.code);
        close_group(out);
    }
    close_group(out);
    if (record->action.method != NULL) {
        open_group(out, "http_request");
        json_member_text(out, "http_method", record->action.method);
        if (record->action.route != NULL) {
            open_group(out, "url");
            json_member_text(out, "path", record->action.route);
            close_group(out);
        }
        close_group(out);
    }
}

/* Where it came from: the address, for those who may read it, else the part
 * of the platform that saw it. */
static void
add_source(struct buffer *out, const struct record *record)
{
    open_group(out, "src_endpoint");
    json_member_text(out, "ip", record->source.ip);
    json_member_text(out, "svc_name",
             record->observer.component != NULL ? record->observer.component
                                                : "bulkheadd");
    close_group(out);
}

static void
add_resources(struct buffer *out, const struct record *record)
{
    if (record->object.id == NULL)
        return;
    json_member(out, "resources");
    buffer_add_text(out, "[{");
    json_member_text(out, "uid", record->object.id);
    json_member_text(out, "type", record->object.kind);
    json_member_text(out, "namespace", record->object.project != NULL
                                   ? record->object.project
                                   : record->object.tenant);
    buffer_add_text(out, "}]");
}

static void
add_unmapped(struct buffer *out, const struct record *record)
{
    open_group(out, "unmapped");
    json_member_text(out, "decision",
                     record->decision.allow ? "allow" : "deny");
    json_member_text(out, "grant", record->decision.grant);
    json_member_text(out, "ceiling", record->decision.ceiling);
    json_member_text(out, "deny", record->decision.deny);
    json_member_text(out, "approval", record->approval.request);
    json_member_text(out, "approvers", record->approval.approvers);
    json_member_text(out, "workorder", record->workorder);
    json_member_text(out, "auth_level", record->actor.auth_level);
    json_member_text(out, "on_behalf_of", record->actor.on_behalf_of);
    json_member_text(out, "params_digest", record->params.digest);
    json_member_text(out, "parent", record->links.parent);
    json_member_text(out, "boot", record->boot);
    close_group(out);
}

void
record_add_ocsf(struct buffer *out, const struct record *record)
{
    int activity = activity_of(record);

    buffer_add_byte(out, '{');
    json_member_int(out, "class_uid", OCSF_CLASS);
    json_member_text(out, "class_name", "API Activity");
    json_member_int(out, "category_uid", OCSF_CATEGORY);
    json_member_int(out, "activity_id", activity);
    if (activity == OCSF_OTHER)
        json_member_text(out, "activity_name", record->action.verb != NULL
                                           ? record->action.verb
                                           : "unknown");
    json_member_int(out, "type_uid", OCSF_CLASS * 100 + activity);
    json_member_int(out, "severity_id", 1);
    json_member_int(out, "time", record->wall_ms);
    json_member_int(out, "count", record->count == 0 ? 1 : record->count);
    add_status(out, record);
    add_metadata(out, record);
    add_actor(out, record);
    add_api(out, record);
    add_source(out, record);
    add_resources(out, record);
    add_unmapped(out, record);
    buffer_add_text(out, "}\n");
}
