/* SPDX-License-Identifier: Apache-2.0 */
#include "core/record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"

/* The canonical order.  A new field goes to the end of its list together with
 * a new RECORD_VERSION. */
#define CHAIN_FIELDS(TEXT, INT)                                               \
    TEXT(log)                                                                 \
    INT(seq, 0, INT64_MAX)                                                    \
    TEXT(id)                                                                  \
    INT(wall_ms, INT64_MIN, INT64_MAX)                                        \
    INT(mono_ms, INT64_MIN, INT64_MAX)                                        \
    TEXT(boot)                                                                \
    TEXT(observer.component)                                                  \
    TEXT(observer.version)                                                    \
    TEXT(observer.node)                                                       \
    TEXT(actor.id)                                                            \
    TEXT(actor.kind)                                                          \
    TEXT(actor.tenant)                                                        \
    TEXT(actor.session)                                                       \
    TEXT(actor.credential)                                                    \
    TEXT(actor.credential_kind)                                               \
    TEXT(actor.auth_level)                                                    \
    INT(actor.auth_ms, INT64_MIN, INT64_MAX)                                  \
    TEXT(actor.on_behalf_of)                                                  \
    TEXT(action.verb)                                                         \
    TEXT(action.route)                                                        \
    TEXT(action.method)                                                       \
    TEXT(object.id)                                                           \
    TEXT(object.kind)                                                         \
    TEXT(object.tenant)                                                       \
    TEXT(object.project)                                                      \
    INT(object.version_before, INT64_MIN, INT64_MAX)                          \
    INT(object.version_after, INT64_MIN, INT64_MAX)                           \
    TEXT(params.digest)                                                       \
    INT(decision.allow, 0, 1)                                                 \
    TEXT(decision.reason)                                                     \
    TEXT(decision.grant)                                                      \
    TEXT(decision.ceiling)                                                    \
    TEXT(decision.deny)                                                       \
    TEXT(approval.request)                                                    \
    TEXT(approval.approvers)                                                  \
    TEXT(workorder)                                                           \
    INT(outcome.status, 0, RECORD_OUTCOME_COUNT - 1)                          \
    TEXT(outcome.code)                                                        \
    TEXT(links.request)                                                       \
    TEXT(links.parent)                                                        \
    INT(count, 1, UINT32_MAX)                                                 \
    TEXT(facts)

#define PERSONAL_FIELDS(TEXT)                                                 \
    TEXT(actor.name)                                                          \
    TEXT(source.ip)                                                           \
    TEXT(source.proxy)                                                        \
    TEXT(source.agent_digest)                                                 \
    TEXT(params.redacted)

static void
put_text(struct buffer *out, const char *text)
{
    if (text == NULL)
        buffer_add_u32(out, 0);
    else
        buffer_add_sized(out, text, strlen(text) + 1);
}

#define PUT_TEXT(field) put_text(out, record->field);
#define PUT_INT(field, min, max) buffer_add_u64(out, (uint64_t)record->field);

static void
put_personal(struct buffer *out, const struct record *record,
             const uint8_t salt[RECORD_SALT_SIZE])
{
    buffer_add(out, salt, RECORD_SALT_SIZE);
    PERSONAL_FIELDS(PUT_TEXT)
}

static void
put_chain(struct buffer *out, const struct record *record,
          const uint8_t salt[RECORD_SALT_SIZE])
{
    buffer_add(out, salt, RECORD_SALT_SIZE);
    buffer_add_u32(out, RECORD_VERSION);
    CHAIN_FIELDS(PUT_TEXT, PUT_INT)
}

static void
buffer_cut(struct buffer *buffer, size_t size)
{
    buffer->size = size;
    if (buffer->bytes != NULL)
        buffer->bytes[size] = '\0';
}

int
record_encode(const struct record *record, const struct record_salts *salts,
              struct buffer *entry_out, struct buffer *personal_out,
              struct error *err)
{
    const size_t entry_at = entry_out->size, personal_at = personal_out->size;
    struct record counted = *record;
    struct digest digest;

    if (counted.count == 0)
        counted.count = 1;
    put_personal(personal_out, &counted, salts->personal);
    digest_of(personal_out->bytes + personal_at,
              personal_out->size - personal_at, &digest);
    put_chain(entry_out, &counted, salts->entry);
    buffer_add(entry_out, digest.bytes, DIGEST_SIZE);
    if (entry_out->size - entry_at <= RECORD_SIZE_MAX &&
        personal_out->size - personal_at <= RECORD_SIZE_MAX)
        return 0;
    buffer_cut(entry_out, entry_at);
    buffer_cut(personal_out, personal_at);
    return error_set(err, ERROR_TOO_LARGE,
                     "audit record: more than %u bytes", RECORD_SIZE_MAX);
}

void
record_leaf(const void *entry, size_t size, struct digest *leaf_out)
{
    digest_of_two("\x00", 1, entry, size, leaf_out);
}

/* A cursor that once it has failed stays failed. */
struct reader {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

/* Little-endian; the compiler makes one load of it. */
static inline uint64_t
get_u64(const uint8_t *at)
{
    return (uint64_t)at[0] | (uint64_t)at[1] << 8 | (uint64_t)at[2] << 16 |
           (uint64_t)at[3] << 24 | (uint64_t)at[4] << 32 |
           (uint64_t)at[5] << 40 | (uint64_t)at[6] << 48 |
           (uint64_t)at[7] << 56;
}

static inline uint32_t
get_u32(struct reader *in)
{
    const uint8_t *at = in->at;

    if (in->bad || in->end - at < 4) {
        in->bad = true;
        return 0;
    }
    in->at += 4;
    return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
           (uint32_t)at[3] << 24;
}

static inline int64_t
get_int(struct reader *in, int64_t min, int64_t max)
{
    int64_t value;

    if (in->bad || in->end - in->at < 8) {
        in->bad = true;
        return min;
    }
    value = (int64_t)get_u64(in->at);
    in->at += 8;
    if (value >= min && value <= max)
        return value;
    in->bad = true;
    return min;
}

/* Is one of the bytes 0?  Texts are short: eight at a time, the last eight
 * overlapping, beat a call. */
static inline bool
has_nul(const uint8_t *text, size_t size)
{
    uint64_t found = 0;

    if (size < 8) {
        for (size_t i = 0; i < size; i++)
            if (text[i] == 0)
                return true;
        return false;
    }
    for (size_t i = 0;; i = i + 16 <= size ? i + 8 : size - 8) {
        const uint64_t word = get_u64(text + i);

        found |= (word - UINT64_C(0x0101010101010101)) & ~word &
                 UINT64_C(0x8080808080808080);
        if (i + 8 == size)
            return found != 0;
    }
}

static inline const char *
get_text(struct reader *in)
{
    const size_t size = get_u32(in);
    const uint8_t *text = in->at;

    if (in->bad || size == 0)
        return NULL;
    /* The only NUL is the last byte, so that one text has one encoding. */
    if ((size_t)(in->end - text) < size || text[size - 1] != 0 ||
        has_nul(text, size - 1)) {
        in->bad = true;
        return NULL;
    }
    in->at += size;
    return (const char *)text;
}

#define GET_TEXT(field) record_out->field = get_text(&in);
#define GET_INT(field, min, max)                                              \
    record_out->field =                                                       \
        (__typeof__(record_out->field))get_int(&in, min, max);

static int
get_chain(const uint8_t *entry, size_t size, struct record *record_out)
{
    struct reader in = { entry, entry + size, false };

    if (size < RECORD_SALT_SIZE)
        return -1;
    in.at += RECORD_SALT_SIZE;
    if (get_u32(&in) != RECORD_VERSION)
        return -1;
    CHAIN_FIELDS(GET_TEXT, GET_INT)
    return in.bad || in.end - in.at != DIGEST_SIZE ? -1 : 0;
}

static int
get_personal(const uint8_t *personal, size_t size, struct record *record_out)
{
    struct reader in = { personal, personal + size, false };

    if (size < RECORD_SALT_SIZE)
        return -1;
    in.at += RECORD_SALT_SIZE;
    PERSONAL_FIELDS(GET_TEXT)
    return in.bad || in.at != in.end ? -1 : 0;
}

int
record_decode(const void *entry, size_t size, const void *personal,
              size_t personal_size, struct record *record_out,
              struct error *err)
{
    const uint8_t *bytes = entry;
    struct record record = { 0 };
    struct digest digest;

    if (get_chain(bytes, size, &record) != 0)
        return error_set(err, ERROR_INVALID,
                         "audit record: the entry is not canonical");
    if (personal != NULL && personal_size > 0) {
        digest_of(personal, personal_size, &digest);
        if (memcmp(digest.bytes, bytes + size - DIGEST_SIZE, DIGEST_SIZE) !=
                0 ||
            get_personal(personal, personal_size, &record) != 0)
            return error_set(err, ERROR_VERIFY,
                             "audit record: the personal part is not the one "
                             "that was logged");
    }
    *record_out = record;
    return 0;
}

void
record_add_item(struct buffer *bundle, const void *item, size_t size)
{
    assert(size <= RECORD_SIZE_MAX);
    buffer_add_byte(bundle, (unsigned char)(size >> 8));
    buffer_add_byte(bundle, (unsigned char)size);
    buffer_add(bundle, item, size);
}

int
record_next_item(const uint8_t **at, const uint8_t *end,
                 const uint8_t **item_out, size_t *size_out)
{
    const uint8_t *in = *at;
    size_t size;

    if (in == end)
        return 0;
    if (end - in < 2)
        return -1;
    size = (size_t)in[0] << 8 | in[1];
    if ((size_t)(end - in) - 2 < size)
        return -1;
    *item_out = in + 2;
    *size_out = size;
    *at = in + 2 + size;
    return 1;
}

const char *
record_outcome_text(enum record_outcome outcome)
{
    static const char *const texts[RECORD_OUTCOME_COUNT] = {
        [RECORD_PENDING] = "pending",
        [RECORD_SUCCESS] = "success",
        [RECORD_FAILURE] = "failure",
        [RECORD_PARTIAL] = "partial",
        [RECORD_UNKNOWN] = "unknown",
    };

    assert(outcome < RECORD_OUTCOME_COUNT);
    return texts[outcome];
}

/* Times and versions are absent when they are 0. */
static void
add_some(struct buffer *out, const char *name, int64_t value)
{
    if (value != 0)
        json_member_int(out, name, value);
}

static void
add_time(struct buffer *out, const char *name, int64_t wall_ms)
{
    char text[CLOCK_TEXT_MAX];

    if (wall_ms == 0)
        return;
    clock_format(wall_ms, text);
    json_member_text(out, name, text);
}

/* Returns what group_close takes back when nothing was put in. */
static size_t
group_open(struct buffer *out, const char *name)
{
    size_t start = out->size;

    json_member(out, name);
    buffer_add_byte(out, '{');
    return start;
}

static void
group_close(struct buffer *out, size_t start)
{
    if (out->bytes[out->size - 1] == '{')
        buffer_cut(out, start);
    else
        buffer_add_byte(out, '}');
}

static void
add_actor(struct buffer *out, const struct record *record)
{
    size_t start = group_open(out, "actor");

    json_member_text(out, "id", record->actor.id);
    json_member_text(out, "kind", record->actor.kind);
    json_member_text(out, "name", record->actor.name);
    json_member_text(out, "tenant", record->actor.tenant);
    json_member_text(out, "session", record->actor.session);
    json_member_text(out, "credential", record->actor.credential);
    json_member_text(out, "credential_kind", record->actor.credential_kind);
    json_member_text(out, "auth_level", record->actor.auth_level);
    add_time(out, "auth_time", record->actor.auth_ms);
    json_member_text(out, "on_behalf_of", record->actor.on_behalf_of);
    group_close(out, start);
}

static void
add_observer_and_source(struct buffer *out, const struct record *record)
{
    size_t start = group_open(out, "observer");

    json_member_text(out, "component", record->observer.component);
    json_member_text(out, "version", record->observer.version);
    json_member_text(out, "node", record->observer.node);
    group_close(out, start);
    add_actor(out, record);
    start = group_open(out, "source");
    json_member_text(out, "ip", record->source.ip);
    json_member_text(out, "proxy", record->source.proxy);
    json_member_text(out, "agent_digest", record->source.agent_digest);
    group_close(out, start);
}

static void
add_action_and_object(struct buffer *out, const struct record *record)
{
    size_t start = group_open(out, "action");

    json_member_text(out, "verb", record->action.verb);
    json_member_text(out, "route", record->action.route);
    json_member_text(out, "method", record->action.method);
    group_close(out, start);
    start = group_open(out, "object");
    json_member_text(out, "id", record->object.id);
    json_member_text(out, "kind", record->object.kind);
    json_member_text(out, "tenant", record->object.tenant);
    json_member_text(out, "project", record->object.project);
    add_some(out, "version_before", record->object.version_before);
    add_some(out, "version_after", record->object.version_after);
    group_close(out, start);
    start = group_open(out, "params");
    json_member_text(out, "digest", record->params.digest);
    json_member_text(out, "redacted", record->params.redacted);
    group_close(out, start);
}

static void
add_decision_and_outcome(struct buffer *out, const struct record *record)
{
    size_t start = group_open(out, "decision");

    json_member_text(out, "effect", record->decision.allow ? "allow" : "deny");
    json_member_text(out, "reason", record->decision.reason);
    json_member_text(out, "grant", record->decision.grant);
    json_member_text(out, "ceiling", record->decision.ceiling);
    json_member_text(out, "deny", record->decision.deny);
    group_close(out, start);
    start = group_open(out, "approval");
    json_member_text(out, "request", record->approval.request);
    json_member_text(out, "approvers", record->approval.approvers);
    group_close(out, start);
    json_member_text(out, "workorder", record->workorder);
    start = group_open(out, "outcome");
    json_member_text(out, "status",
                     record_outcome_text(record->outcome.status));
    json_member_text(out, "code", record->outcome.code);
    group_close(out, start);
    start = group_open(out, "links");
    json_member_text(out, "request", record->links.request);
    json_member_text(out, "parent", record->links.parent);
    group_close(out, start);
}

void
record_add_json(struct buffer *out, const struct record *record)
{
    buffer_add_byte(out, '{');
    json_member_int(out, "version", RECORD_VERSION);
    json_member_text(out, "log", record->log);
    json_member_int(out, "seq", (int64_t)record->seq);
    json_member_text(out, "id", record->id);
    add_time(out, "time", record->wall_ms);
    json_member_int(out, "mono_ms", record->mono_ms);
    json_member_text(out, "boot", record->boot);
    add_observer_and_source(out, record);
    add_action_and_object(out, record);
    add_decision_and_outcome(out, record);
    json_member_int(out, "count", record->count == 0 ? 1 : record->count);
    json_member_text(out, "facts", record->facts);
    buffer_add_text(out, "}\n");
}

void
record_add_head(struct buffer *facts, const char *origin, uint64_t size,
                const struct digest *root)
{
    buffer_printf(facts, "%s %" PRIu64 " ", origin, size);
    base64_encode(facts, root->bytes, DIGEST_SIZE);
    buffer_add_byte(facts, '\n');
}

/* Digits without a leading zero, up to 2^63 - 1; NULL when there are none. */
static const char *
parse_size(const char *text, uint64_t *size_out)
{
    uint64_t size = 0;
    const char *at = text;

    for (; *at >= '0' && *at <= '9'; at++) {
        if (size > (INT64_MAX - 9) / 10)
            return NULL;
        size = 10 * size + (uint64_t)(*at - '0');
    }
    if (at == text || (*text == '0' && at > text + 1))
        return NULL;
    *size_out = size;
    return at;
}

int
record_next_head(const char **facts, char origin[RECORD_ORIGIN_MAX],
                 uint64_t *size_out, struct digest *root_out)
{
    const char *line = *facts;
    size_t name = strcspn(line, " \n"), root;
    const char *at;

    if (*line == '\0')
        return 0;
    if (name == 0 || name >= RECORD_ORIGIN_MAX || line[name] != ' ')
        return -1;
    at = parse_size(line + name + 1, size_out);
    if (at == NULL || *at != ' ')
        return -1;
    at++;
    root = strcspn(at, "\n");
    if (at[root] != '\n' ||
        base64_decode(at, root, root_out->bytes, DIGEST_SIZE) != DIGEST_SIZE)
        return -1;
    memcpy(origin, line, name);
    origin[name] = '\0';
    *facts = at + root + 1;
    return 1;
}
