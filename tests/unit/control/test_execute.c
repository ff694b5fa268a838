/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/control/harness.h"

#include "control/describe.h"
#include "control/fold.h"
#include "control/intent.h"
#include "control/journal.h"
#include "control/tick.h"
#include "core/merkle.h"
#include "core/record.h"
#include "core/role.h"
#include "store/row.h"

/* Two tenants, each with a project and an administrator that is logged in. */
struct side {
    struct ref tenant, project, user, session;
    char tenant_id[ID_TEXT_MAX];
    char project_id[ID_TEXT_MAX];
};

struct estate {
    struct harness harness;
    struct side red, blue;
};

static void
grant_admin(struct changes *changes, struct side *side)
{
    struct grant *grant =
        change_create(changes, KIND_GRANT, side->tenant, "");

    grant->subject = side->user;
    grant->role = role_find(changes->world, ROLE_TENANT_ADMIN);
    grant->use = role_use(ROLE_TENANT_ADMIN);
    grant->give = role_give(ROLE_TENANT_ADMIN);
}

static void
put_side(struct loop *loop, struct arena *arena, struct side *side,
         const char *name)
{
    struct changes *changes = loop_changes(loop, arena);
    struct tenant *tenant = change_create(
        changes, KIND_TENANT, world_platform_ref(loop_world(loop)), name);
    struct project *project;
    struct user *user;
    struct session *session;

    side->tenant = tenant->object.self;
    project = change_create(changes, KIND_PROJECT, side->tenant, "work");
    side->project = project->object.self;
    user = change_create(changes, KIND_USER, side->tenant, "admin");
    side->user = user->object.self;
    session = change_create(changes, KIND_SESSION, side->user, "");
    session->digest[0] = (uint8_t)name[0];
    session->proved_ms = changes->context.now_ms;
    session->expires_ms = changes->context.now_ms + INT64_C(36000000);
    side->session = session->object.self;
    grant_admin(changes, side);
    loop_apply(loop, changes);
    object_id_text(loop_world(loop), side->tenant, side->tenant_id);
    object_id_text(loop_world(loop), side->project, side->project_id);
}

static void
put_estate(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;

    put_side(loop, arena, &estate->red, "red");
    put_side(loop, arena, &estate->blue, "blue");
}

static void
open_estate(struct estate *estate)
{
    memset(estate, 0, sizeof(*estate));
    harness_open(&estate->harness);
    harness_run(&estate->harness, put_estate, estate);
}

static struct actor
actor_of(const struct side *side)
{
    struct actor actor = { .kind = ACTOR_USER,
                           .subject = side->user,
                           .credential = side->session,
                           .proved_ms = harness_wall_ms() };

    return actor;
}

/* --- reading a log --- */

struct line {
    char verb[64], object[ID_TEXT_MAX], actor[ID_TEXT_MAX], reason[128];
    char parent[ID_TEXT_MAX];
    bool allow;
    enum record_outcome outcome;
    uint32_t count;
    char facts[4096];
};

#define LINES 64
struct log_view {
    const char *log;
    struct line lines[LINES];
    size_t count;
    struct merkle tree;
    char raw[65536]; /* all bytes, for what must not be in there */
    size_t raw_size;
};

static void
copy_text(char *to, size_t room, const char *from)
{
    (void)snprintf(to, room, "%s", from != NULL ? from : "");
}

static void
view_record(struct log_view *view, const struct record *record)
{
    struct line *line = &view->lines[view->count++];

    assert_true(view->count <= LINES);
    copy_text(line->verb, sizeof(line->verb), record->action.verb);
    copy_text(line->object, sizeof(line->object), record->object.id);
    copy_text(line->actor, sizeof(line->actor), record->actor.id);
    copy_text(line->reason, sizeof(line->reason), record->decision.reason);
    copy_text(line->facts, sizeof(line->facts), record->facts);
    copy_text(line->parent, sizeof(line->parent), record->links.parent);
    line->allow = record->decision.allow;
    line->outcome = record->outcome.status;
    line->count = record->count;
}

static int
take_event(void *context, const struct value *values, struct error *err)
{
    struct log_view *view = context;
    const char *body = row_text(KIND_EVENT, values, "body");
    const char *personal = row_text(KIND_EVENT, values, "personal");
    uint8_t entry[8192], part[8192];
    struct record record;
    struct digest leaf;
    int size = base64_decode(body, strlen(body), entry, sizeof(entry));
    int part_size =
        base64_decode(personal, strlen(personal), part, sizeof(part));

    assert_true(size > 0 && part_size > 0);
    assert_int_equal(row_int(KIND_EVENT, values, "position"),
                     view->tree.size);
    record_leaf(entry, (size_t)size, &leaf);
    merkle_append(&view->tree, &leaf);
    if (record_decode(entry, (size_t)size, part, (size_t)part_size, &record,
                      err) != 0)
        fail_msg("%s", err->text);
    if (view->raw_size + (size_t)(size + part_size) < sizeof(view->raw)) {
        memcpy(view->raw + view->raw_size, entry, (size_t)size);
        view->raw_size += (size_t)size;
        memcpy(view->raw + view->raw_size, part, (size_t)part_size);
        view->raw_size += (size_t)part_size;
    }
    view_record(view, &record);
    return 0;
}

static void
read_log(struct job *job, struct store_reader *reader)
{
    struct log_view *view = job->data;
    struct error err;

    if (store_events(reader, view->log, 0, 1000, take_event, view, &err) != 0)
        fail_msg("%s", err.text);
}

static struct log_view *
view_log(struct estate *estate, const char *log)
{
    struct log_view *view = memory_new(1, sizeof(*view));

    view->log = log;
    harness_read(&estate->harness, read_log, view);
    return view;
}

static size_t
log_count(struct estate *estate, const char *log)
{
    struct log_view *view = view_log(estate, log);
    size_t count = view->count;

    free(view);
    return count;
}

/* --- commands --- */

struct asked {
    struct actor actor;
    enum verb verb;
    struct ref object;
    bool dry_run, refuse;
    int rc;
    struct error err;
    struct request request;
    struct ref created;
    bool answered;
    size_t seen; /* projects of the object when it was answered */
};

static int
decide_project(const struct granted *granted, struct changes *changes,
               void *data, struct error *err)
{
    struct asked *asked = data;
    struct project *project;

    if (asked->refuse)
        return error_set(err, ERROR_QUOTA, "no");
    project = change_create(changes, KIND_PROJECT, granted_object(granted),
                            "made");
    asked->created = project->object.self;
    return 0;
}

static void
answer_project(const struct granted *granted, const struct changes *changes,
               void *data)
{
    struct asked *asked = data;

    (void)granted;
    asked->answered = change_get(changes, asked->created) != NULL;
}

static void
ask(struct loop *loop, struct arena *arena, void *data)
{
    struct asked *asked = data;
    struct command command = { .actor = &asked->actor,
                               .request = &asked->request,
                               .verb = asked->verb,
                               .object = asked->object,
                               .dry_run = asked->dry_run,
                               .decide = decide_project,
                               .answer = answer_project,
                               .data = asked };

    asked->rc = execute(loop, arena, &command, &asked->err);
    asked->seen = world_count(loop_world(loop), KIND_PROJECT);
}

static struct asked
ask_for_project(struct estate *estate, const struct side *who,
                const struct side *where, bool dry_run)
{
    struct asked asked = { .actor = actor_of(who),
                           .verb = VERB_PROJECT_CREATE,
                           .object = where->tenant,
                           .dry_run = dry_run,
                           .request = { .id = "rq-1",
                                        .ip = "192.0.2.7",
                                        .params = "{\"name\":\"made\"}" } };

    harness_run(&estate->harness, ask, &asked);
    return asked;
}

static void
test_command_and_its_record_are_one_transaction(void **state)
{
    struct estate estate;
    struct asked asked;
    struct log_view *view;
    const char *facts;
    char id[ID_TEXT_MAX];
    int64_t version;
    struct digest digest;

    (void)state;
    open_estate(&estate);
    asked = ask_for_project(&estate, &estate.red, &estate.red, false);
    if (asked.rc != 0)
        fail_msg("%s", asked.err.text);
    assert_true(asked.answered);
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 1);
    assert_string_equal(view->lines[0].verb, "project.create");
    assert_true(view->lines[0].allow);
    assert_int_equal(view->lines[0].outcome, RECORD_SUCCESS);
    /* the object is the one that came of it, as it is stored */
    facts = view->lines[0].facts;
    assert_int_equal(describe_next_touch(&facts, id, &version, &digest), 1);
    assert_string_equal(id, view->lines[0].object);
    assert_int_equal(version, 1);
    assert_int_equal(describe_next_touch(&facts, id, &version, &digest), 0);
    free(view);
    assert_int_equal(log_count(&estate, estate.blue.tenant_id), 0);
    harness_close(&estate.harness);
}

static int
decide_deletion(const struct granted *granted, struct changes *changes,
                void *data, struct error *err)
{
    (void)data;
    (void)err;
    change_delete(changes, granted_object(granted));
    return 0;
}

static void
delete_project(struct loop *loop, struct arena *arena, void *data)
{
    struct asked *asked = data;
    struct command command = { .actor = &asked->actor,
                               .request = &asked->request,
                               .verb = VERB_PROJECT_DELETE,
                               .object = asked->created,
                               .decide = decide_deletion };

    asked->rc = execute(loop, arena, &command, &asked->err);
}

/* Whose log an object's end is in is known before it is gone. */
static void
test_deletion_is_in_its_tenants_log_with_who_did_it(void **state)
{
    struct estate estate;
    struct asked asked;
    struct log_view *view;

    (void)state;
    open_estate(&estate);
    asked = ask_for_project(&estate, &estate.red, &estate.red, false);
    assert_int_equal(asked.rc, 0);
    harness_run(&estate.harness, delete_project, &asked);
    if (asked.rc != 0)
        fail_msg("%s", asked.err.text);
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 2);
    assert_string_equal(view->lines[1].verb, "project.delete");
    assert_string_equal(view->lines[1].object, view->lines[0].object);
    assert_true(view->lines[1].actor[0] != '\0');
    assert_string_equal(view->lines[1].actor, view->lines[0].actor);
    free(view);
    harness_close(&estate.harness);
}

static void
test_dry_run_changes_and_records_nothing(void **state)
{
    struct estate estate;
    struct asked asked;

    (void)state;
    open_estate(&estate);
    asked = ask_for_project(&estate, &estate.red, &estate.red, true);
    assert_int_equal(asked.rc, 0);
    assert_true(asked.answered);
    assert_int_equal(asked.seen, 2);
    assert_int_equal(log_count(&estate, estate.red.tenant_id), 0);
    harness_close(&estate.harness);
}

/* A refused write is recorded: see A41. */
static void
test_refusal_by_a_rule_is_recorded(void **state)
{
    struct estate estate;
    struct asked asked = { .verb = VERB_PROJECT_CREATE, .refuse = true };
    struct log_view *view;

    (void)state;
    open_estate(&estate);
    asked.actor = actor_of(&estate.red);
    asked.object = estate.red.tenant;
    harness_run(&estate.harness, ask, &asked);
    assert_int_equal(asked.rc, -1);
    assert_false(asked.answered);
    assert_int_equal(asked.seen, 2);
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 1);
    assert_int_equal(view->lines[0].outcome, RECORD_FAILURE);
    assert_string_equal(view->lines[0].reason, "quota");
    assert_string_equal(view->lines[0].object, estate.red.tenant_id);
    free(view);
    harness_close(&estate.harness);
}

/* [A36] B's attempt on A's object is in B's log, says nothing of A, and A's
 * log says nothing of B. */
static void
test_attempt_across_tenants_stays_in_the_askers_log(void **state)
{
    struct estate estate;
    struct asked asked;
    struct log_view *view;

    (void)state;
    open_estate(&estate);
    asked = ask_for_project(&estate, &estate.blue, &estate.red, false);
    assert_int_equal(asked.rc, -1);
    assert_int_equal(asked.err.code, ERROR_NOT_FOUND);
    view = view_log(&estate, estate.blue.tenant_id);
    assert_int_equal(view->count, 1);
    assert_string_equal(view->lines[0].reason, "not_found");
    assert_string_equal(view->lines[0].object, "");
    assert_null(memmem(view->raw, view->raw_size, estate.red.tenant_id,
                       strlen(estate.red.tenant_id)));
    free(view);
    assert_int_equal(log_count(&estate, estate.red.tenant_id), 0);
    harness_close(&estate.harness);
}

static void
flush_refusals(struct loop *loop, struct arena *arena, void *data)
{
    (void)data;
    journal_flush(loop, arena, false);
}

static void
test_flood_of_refusals_is_folded_into_a_count(void **state)
{
    struct estate estate;
    struct log_view *view;
    uint32_t total = 0;

    (void)state;
    open_estate(&estate);
    for (int i = 0; i < 60; i++)
        (void)ask_for_project(&estate, &estate.blue, &estate.red, false);
    harness_pass(FOLD_WINDOW_MS + 1);
    harness_run(&estate.harness, flush_refusals, NULL);
    view = view_log(&estate, estate.blue.tenant_id);
    assert_int_equal(view->count, FOLD_SINGLE + 1);
    for (size_t i = 0; i < view->count; i++)
        total += view->lines[i].count > 0 ? view->lines[i].count : 1;
    assert_int_equal(total, 60);
    free(view);
    /* the next second starts afresh */
    (void)ask_for_project(&estate, &estate.blue, &estate.red, false);
    assert_int_equal(log_count(&estate, estate.blue.tenant_id),
                     FOLD_SINGLE + 2);
    harness_close(&estate.harness);
}

/* --- deeds --- */

static int
touch_both(struct changes *changes, void *data, struct error *err)
{
    struct estate *estate = data;
    struct project *red = change_update(changes, estate->red.project);
    struct project *blue = change_update(changes, estate->blue.project);

    (void)err;
    red->state = STATE_SUSPENDED;
    blue->state = STATE_SUSPENDED;
    return 0;
}

static void
do_both(struct loop *loop, struct arena *arena, void *data)
{
    struct estate *estate = data;
    struct deed deed = { .verb = "test.both",
                         .object = estate->red.project,
                         .component = "test",
                         .reason = "for red",
                         .decide = touch_both,
                         .data = estate };
    struct error err;

    assert_int_equal(execute_deed(loop, arena, &deed, &err), 1);
}

static void
test_deed_on_two_tenants_tells_each_its_own(void **state)
{
    struct estate estate;
    struct log_view *red, *blue;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, do_both, &estate);
    red = view_log(&estate, estate.red.tenant_id);
    blue = view_log(&estate, estate.blue.tenant_id);
    assert_int_equal(red->count, 1);
    assert_int_equal(blue->count, 1);
    assert_string_equal(red->lines[0].object, estate.red.project_id);
    assert_string_equal(red->lines[0].reason, "for red");
    assert_string_equal(blue->lines[0].object, estate.blue.project_id);
    assert_string_equal(blue->lines[0].reason, "");
    assert_null(memmem(blue->raw, blue->raw_size, estate.red.project_id,
                       strlen(estate.red.project_id)));
    assert_null(memmem(red->raw, red->raw_size, estate.blue.project_id,
                       strlen(estate.blue.project_id)));
    free(red);
    free(blue);
    harness_close(&estate.harness);
}

static int
touch_nothing(struct changes *changes, void *data, struct error *err)
{
    (void)changes;
    (void)data;
    (void)err;
    return 0;
}

static void
do_nothing(struct loop *loop, struct arena *arena, void *data)
{
    struct deed deed = { .verb = "test.nothing",
                         .component = "test",
                         .decide = touch_nothing };
    struct error err;

    (void)data;
    assert_int_equal(execute_deed(loop, arena, &deed, &err), 0);
}

/* --- the logs themselves --- */

static void
commit_heads(struct loop *loop, struct arena *arena, void *data)
{
    (void)data;
    (void)journal_commit_heads(loop, arena, false);
}

static void
platform_id(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    object_id_text(loop_world(loop), world_platform_ref(loop_world(loop)),
                   data);
}

static void
test_platform_log_commits_heads_that_grew_and_only_those(void **state)
{
    struct estate estate;
    struct log_view *view, *red;
    char platform[ID_TEXT_MAX], origin[RECORD_ORIGIN_MAX];
    char wanted[RECORD_ORIGIN_MAX];
    struct digest root, computed;
    const struct line *last;
    const char *facts;
    uint64_t size;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, platform_id, platform);
    harness_run(&estate.harness, do_nothing, NULL);
    (void)ask_for_project(&estate, &estate.red, &estate.red, false);
    harness_run(&estate.harness, commit_heads, NULL);
    view = view_log(&estate, platform);
    last = &view->lines[view->count - 1];
    assert_string_equal(last->verb, RECORD_VERB_HEADS);
    facts = last->facts;
    assert_int_equal(record_next_head(&facts, origin, &size, &root), 1);
    assert_true(journal_origin(platform, 0, estate.red.tenant_id, wanted));
    assert_string_equal(origin, wanted);
    red = view_log(&estate, estate.red.tenant_id);
    merkle_root(&red->tree, &computed);
    assert_int_equal(size, red->tree.size);
    assert_memory_equal(&root, &computed, sizeof(root));
    assert_int_equal(record_next_head(&facts, origin, &size, &root), 0);
    free(red);
    size = view->count;
    free(view);
    harness_run(&estate.harness, commit_heads, NULL);
    assert_int_equal(log_count(&estate, platform), size);
    harness_close(&estate.harness);
}

static void
test_log_goes_on_over_a_restart(void **state)
{
    struct estate estate;
    struct log_view *view;
    struct asked asked;

    (void)state;
    open_estate(&estate);
    for (int i = 0; i < 5; i++)
        (void)ask_for_project(&estate, &estate.red, &estate.red, false);
    harness_restart(&estate.harness);
    asked = ask_for_project(&estate, &estate.blue, &estate.red, false);
    assert_int_equal(asked.err.code, ERROR_NOT_FOUND);
    (void)ask_for_project(&estate, &estate.red, &estate.red, false);
    view = view_log(&estate, estate.red.tenant_id);
    /* dense positions are asserted while reading */
    assert_int_equal(view->count, 6);
    free(view);
    harness_close(&estate.harness);
}

/* --- who works for whom --- */

static void
describe_vendor(struct loop *loop, struct arena *arena, void *data)
{
    const struct estate *estate = data;
    struct changes *changes = loop_changes(loop, arena);
    struct workorder *order = change_create(
        changes, KIND_WORKORDER, world_platform_ref(loop_world(loop)), "fan");
    struct user *kim =
        change_create(changes, KIND_USER, order->object.self, "kim");
    struct actor actor = { .kind = ACTOR_USER, .subject = kim->object.self };
    struct actor red = actor_of(&estate->red);
    struct record record = { 0 };
    char sponsor[ID_TEXT_MAX];

    order->sponsor = estate->blue.user;
    loop_apply(loop, changes);
    object_id_text(loop_world(loop), estate->blue.user, sponsor);
    describe_actor(&record, arena, loop_world(loop), &actor);
    assert_string_equal(record.actor.name, "kim");
    assert_string_equal(record.actor.on_behalf_of, sponsor);
    record = (struct record){ 0 };
    describe_actor(&record, arena, loop_world(loop), &red);
    assert_null(record.actor.on_behalf_of);
}

static void
test_record_of_a_vendor_names_the_sponsor(void **state)
{
    struct estate estate;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, describe_vendor, &estate);
    harness_close(&estate.harness);
}

/* --- effects outside of the store --- */

struct effect {
    struct asked asked;
    char intent[ID_TEXT_MAX];
    bool fails;
};

static struct command
effect_command(struct effect *effect)
{
    return (struct command){ .actor = &effect->asked.actor,
                             .request = &effect->asked.request,
                             .verb = VERB_PROJECT_CREATE,
                             .object = effect->asked.object,
                             .decide = decide_project,
                             .data = &effect->asked,
                             .intent = effect->intent };
}

static void
begin_effect(struct loop *loop, struct arena *arena, void *data)
{
    struct effect *effect = data;
    struct command command = effect_command(effect);

    execute_intent(loop, arena, &command, effect->intent);
}

static void
end_effect(struct loop *loop, struct arena *arena, void *data)
{
    struct effect *effect = data;
    struct command command = effect_command(effect);
    struct error err;

    if (effect->fails)
        execute_outcome(loop, arena, &command, RECORD_FAILURE, "busy");
    else
        assert_int_equal(execute(loop, arena, &command, &err), 0);
}

static struct effect
effect_of(const struct estate *estate)
{
    return (struct effect){ .asked = { .actor = actor_of(&estate->red),
                                       .object = estate->red.tenant,
                                       .request = { .id = "rq-1" } } };
}

static void
test_effect_has_an_intent_and_then_an_outcome(void **state)
{
    for (int fails = 0; fails < 2; fails++) {
        struct estate estate;
        struct effect effect;
        struct log_view *view;
        struct error err;

        (void)state;
        open_estate(&estate);
        effect = effect_of(&estate);
        effect.fails = fails == 1;
        harness_run(&estate.harness, begin_effect, &effect);
        view = view_log(&estate, estate.red.tenant_id);
        assert_int_equal(view->count, 1);
        assert_string_equal(view->lines[0].verb, "project.create");
        assert_int_equal(view->lines[0].outcome, RECORD_PENDING);
        assert_string_equal(view->lines[0].parent, "");
        free(view);
        harness_run(&estate.harness, end_effect, &effect);
        /* A restart finds nothing left open. */
        harness_restart(&estate.harness);
        harness_must(tick_record_start(estate.harness.loop, &err), &err);
        view = view_log(&estate, estate.red.tenant_id);
        assert_int_equal(view->count, 2);
        assert_int_equal(view->lines[1].outcome,
                         fails == 1 ? RECORD_FAILURE : RECORD_SUCCESS);
        assert_string_equal(view->lines[1].parent, effect.intent);
        free(view);
        harness_close(&estate.harness);
    }
}

static void
test_intent_left_open_is_unknown_after_a_restart(void **state)
{
    struct estate estate;
    struct effect effect;
    struct log_view *view;
    struct error err;

    (void)state;
    open_estate(&estate);
    effect = effect_of(&estate);
    harness_run(&estate.harness, begin_effect, &effect);
    for (int i = 0; i < 2; i++) { /* once, however often it starts */
        harness_restart(&estate.harness);
        harness_must(tick_record_start(estate.harness.loop, &err), &err);
    }
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 2);
    assert_string_equal(view->lines[1].verb, "project.create");
    assert_int_equal(view->lines[1].outcome, RECORD_UNKNOWN);
    assert_string_equal(view->lines[1].parent, effect.intent);
    free(view);
    harness_close(&estate.harness);
}

static void
note_question(struct loop *loop, struct arena *arena, void *data)
{
    const struct estate *estate = data;

    (void)arena;
    intent_note(loop, estate->red.tenant, "session.create", "rq-1",
                "redeeming a code at identityprovider corp");
    intent_note(loop, estate->red.tenant, "session.create", "rq-2",
                "redeeming a code at identityprovider corp");
}

static void
end_question(struct loop *loop, struct arena *arena, void *data)
{
    (void)arena;
    (void)data;
    intent_end(loop, "rq-1");
    intent_end(loop, "rq-1"); /* once more is nothing */
}

/* What strangers can make begin has no record while it goes on. */
static void
test_question_left_open_is_told_after_a_restart(void **state)
{
    struct estate estate;
    struct log_view *view;
    struct error err;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, note_question, &estate);
    harness_run(&estate.harness, end_question, NULL);
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 0);
    free(view);
    for (int i = 0; i < 2; i++) {
        harness_restart(&estate.harness);
        harness_must(tick_record_start(estate.harness.loop, &err), &err);
    }
    view = view_log(&estate, estate.red.tenant_id);
    assert_int_equal(view->count, 1);
    assert_string_equal(view->lines[0].verb, "session.create");
    assert_int_equal(view->lines[0].outcome, RECORD_UNKNOWN);
    assert_string_equal(view->lines[0].parent, "");
    free(view);
    harness_close(&estate.harness);
}

struct site {
    const struct estate *estate;
    struct ref node;
    bool lost;
};

/* One to start, one to stop, one to give back, one that just runs, and a card
 * that waits for its scrub. */
static void
put_site(struct loop *loop, struct arena *arena, void *data)
{
    static const struct {
        int state, want;
    } instances[] = {
        { INSTANCE_ASSIGNED, WANT_RUN }, { INSTANCE_RUNNING, WANT_STOP },
        { INSTANCE_EXITED, WANT_STOP },  { INSTANCE_RUNNING, WANT_RUN },
        { INSTANCE_RELEASED, WANT_RUN },
    };
    struct site *site = data;
    struct changes *changes = loop_changes(loop, arena);
    struct pool *pool = change_create(
        changes, KIND_POOL, world_platform_ref(loop_world(loop)), "site");
    struct node *node =
        change_create(changes, KIND_NODE, pool->object.self, "n1");
    struct card *card =
        change_create(changes, KIND_CARD, node->object.self, "card0");
    struct project *project = change_create(
        changes, KIND_PROJECT, site->estate->red.tenant, "site");
    struct workload *workload = change_create(
        changes, KIND_WORKLOAD, project->object.self, "w");

    card->cut_ms = changes->context.now_ms;
    card->handover = HANDOVER_PENDING;
    workload->state = WORKLOAD_RUNNING;
    for (size_t i = 0; i < sizeof(instances) / sizeof(*instances); i++) {
        struct instance *instance = change_create(
            changes, KIND_INSTANCE, workload->object.self, "");

        instance->number = (int64_t)i;
        instance->node = node->object.self;
        instance->project = project->object.self;
        instance->pool = pool->object.self;
        instance->state = instances[i].state;
        instance->want = instances[i].want;
    }
    loop_apply(loop, changes);
    site->node = node->object.self;
}

static void
hear_or_lose(struct loop *loop, struct arena *arena, void *data)
{
    const struct site *site = data;
    struct changes *changes = loop_changes(loop, arena);

    intents_drop_lost(loop, arena); /* it is not lost */
    if (!site->lost) {
        intents_heard(loop, arena, site->node);
        intents_heard(loop, arena, site->node); /* once is enough */
        return;
    }
    ((struct node *)change_update(changes, site->node))->state = NODE_LOST;
    loop_apply(loop, changes);
    intents_drop_lost(loop, arena);
    intents_drop_lost(loop, arena);
}

/* A stop, at whatever moment, leaves nothing open that nobody hears of. */
static void
test_what_nodes_were_at_is_told_from_the_start_to_their_word(void **state)
{
    (void)state;
    for (int lost = 0; lost < 2; lost++) {
        struct estate estate;
        struct site site = { .estate = &estate, .lost = lost == 1 };
        char platform[ID_TEXT_MAX];
        struct log_view *view;
        struct error err;
        size_t end;

        open_estate(&estate);
        harness_run(&estate.harness, platform_id, platform);
        harness_run(&estate.harness, put_site, &site);
        for (int i = 0; i < 2; i++) {
            harness_restart(&estate.harness);
            harness_must(tick_record_start(estate.harness.loop, &err), &err);
        }
        view = view_log(&estate, platform);
        end = view->count;
        /* start, its intent; start, the intent's end, another one */
        assert_int_equal(view->lines[end - 4].outcome, RECORD_PENDING);
        assert_string_equal(view->lines[end - 2].verb, "node.resume");
        assert_int_equal(view->lines[end - 2].outcome, RECORD_UNKNOWN);
        assert_string_equal(view->lines[end - 1].verb, "node.resume");
        assert_int_equal(view->lines[end - 1].outcome, RECORD_PENDING);
        assert_string_equal(view->lines[end - 1].reason,
                            "under way when the platform started: to start "
                            "1, to stop 1, to give back 1, cards to scrub 1");
        free(view);
        harness_run(&estate.harness, hear_or_lose, &site);
        view = view_log(&estate, platform);
        assert_int_equal(view->count, end + 1);
        assert_string_equal(view->lines[end].verb, "node.resume");
        assert_int_equal(view->lines[end].outcome,
                         lost == 1 ? RECORD_UNKNOWN : RECORD_SUCCESS);
        free(view);
        harness_close(&estate.harness);
    }
}

static void
test_unknown_callers_are_counted_in_one_record(void **state)
{
    struct estate estate;
    struct asked asked = { .verb = VERB_PROJECT_CREATE };
    char platform[ID_TEXT_MAX];
    struct log_view *view;
    size_t before;

    (void)state;
    open_estate(&estate);
    harness_run(&estate.harness, platform_id, platform);
    before = log_count(&estate, platform);
    asked.object = estate.red.tenant;
    for (int i = 0; i < 30; i++)
        harness_run(&estate.harness, ask, &asked);
    assert_int_equal(asked.err.code, ERROR_UNAUTHENTICATED);
    assert_int_equal(log_count(&estate, platform), before);
    harness_pass(FOLD_NOBODY_MS + 1);
    harness_run(&estate.harness, flush_refusals, NULL);
    view = view_log(&estate, platform);
    assert_int_equal(view->count, before + 1);
    assert_int_equal(view->lines[before].count, 30);
    free(view);
    harness_close(&estate.harness);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_command_and_its_record_are_one_transaction),
        cmocka_unit_test(test_deletion_is_in_its_tenants_log_with_who_did_it),
        cmocka_unit_test(test_record_of_a_vendor_names_the_sponsor),
        cmocka_unit_test(test_effect_has_an_intent_and_then_an_outcome),
        cmocka_unit_test(test_intent_left_open_is_unknown_after_a_restart),
        cmocka_unit_test(test_question_left_open_is_told_after_a_restart),
        cmocka_unit_test(
            test_what_nodes_were_at_is_told_from_the_start_to_their_word),
        cmocka_unit_test(test_dry_run_changes_and_records_nothing),
        cmocka_unit_test(test_refusal_by_a_rule_is_recorded),
        cmocka_unit_test(test_attempt_across_tenants_stays_in_the_askers_log),
        cmocka_unit_test(test_flood_of_refusals_is_folded_into_a_count),
        cmocka_unit_test(test_deed_on_two_tenants_tells_each_its_own),
        cmocka_unit_test(
            test_platform_log_commits_heads_that_grew_and_only_those),
        cmocka_unit_test(test_log_goes_on_over_a_restart),
        cmocka_unit_test(test_unknown_callers_are_counted_in_one_record),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
