/* SPDX-License-Identifier: Apache-2.0 */
#include "core/federation.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "core/access.h"
#include "core/object.h"
#include "core/proof.h"
#include "core/reach.h"
#include "core/role.h"
#include "core/rules.h"

#define NAME_TRIES 100

/* One entry of a mapping; the texts are the mapping's. */
struct entry {
    const char *claim, *value;
    struct ref role, node;
    struct ref group; /* instead of both */
};
struct entries {
    json_t *mapping;
    size_t count;
    struct entry list[FEDERATION_ENTRIES_MAX];
};

/* --- the provider --- */

void
federation_digest(const struct world *world, struct ref provider,
                  const char *subject, uint8_t digest[32])
{
    char id[ID_TEXT_MAX];
    struct digest out;

    /* With the NUL between them. */
    object_id_text(world, provider, id);
    digest_of_two(id, strlen(id) + 1, subject, strlen(subject), &out);
    memcpy(digest, out.bytes, 32);
}

bool
federation_is_open(const struct world *world, struct ref provider)
{
    const struct identityprovider *image =
        world_identityprovider(world, provider);

    return image != NULL && image->state == STATE_ACTIVE &&
           access_is_alive(world, image->object.parent);
}

static json_t *
read_doc(const struct blob *blob)
{
    return blob == NULL ? NULL : json_loadb(blob->bytes, blob->size, 0, NULL);
}

/* A proof counts when the provider says by which means it was made, and those
 * are among the ones that count. */
static bool
acr_counts(const struct identityprovider *provider, const char *acr)
{
    scoped_json list = read_doc(provider->acr);
    json_t *item;
    size_t i;

    if (acr == NULL)
        return false;
    json_array_foreach(list, i, item)
        if (json_is_string(item) && strcmp(json_string_value(item), acr) == 0)
            return true;
    return false;
}

static int64_t
proof_of(const struct identityprovider *provider,
         const struct federation_person *person, int64_t now_ms)
{
    if (person->auth_ms <= 0 || !acr_counts(provider, person->acr))
        return 0;
    return person->auth_ms < now_ms ? person->auth_ms : now_ms;
}

/* --- the mapping --- */

static struct ref
find(const struct world *world, const json_t *item, const char *key,
     enum kind kind)
{
    const char *text = json_string_value(json_object_get(item, key));
    struct ref ref =
        text == NULL ? (struct ref){ 0 } : object_find_text(world, text);

    if (kind != KIND_NONE && ref.kind != kind)
        return (struct ref){ 0 };
    return ref;
}

/* False when role and node, or the group, are gone. */
static bool
read_entry(const struct world *world, const json_t *item, struct entry *out)
{
    *out = (struct entry){
        .claim = json_string_value(json_object_get(item, "claim")),
        .value = json_string_value(json_object_get(item, "value")),
        .role = find(world, item, "role", KIND_ROLE),
        .node = find(world, item, "node", KIND_NONE),
        .group = find(world, item, "group", KIND_GROUP),
    };
    if (out->claim == NULL || out->value == NULL)
        return false;
    return !ref_is_none(out->group) ||
           (!ref_is_none(out->role) && !ref_is_none(out->node));
}

static bool
claim_has(const json_t *claims, const struct entry *entry)
{
    const json_t *claim = json_object_get(claims, entry->claim);
    json_t *item;
    size_t i;

    if (json_is_string(claim))
        return strcmp(json_string_value(claim), entry->value) == 0;
    json_array_foreach(claim, i, item)
        if (json_is_string(item) &&
            strcmp(json_string_value(item), entry->value) == 0)
            return true;
    return false;
}

static void
entries_release(struct entries *entries)
{
    json_decref(entries->mapping);
}

/* What the mapping gives to whom the claims are of; NULL: to anybody. */
static void
entries_read(const struct world *world,
             const struct identityprovider *provider, const json_t *claims,
             struct entries *out)
{
    json_t *item;
    size_t i;

    out->count = 0;
    out->mapping = read_doc(provider->mapping);
    json_array_foreach(out->mapping, i, item) {
        struct entry *entry = &out->list[out->count];

        if (out->count < FEDERATION_ENTRIES_MAX &&
            read_entry(world, item, entry) &&
            (claims == NULL || claim_has(claims, entry)))
            out->count++;
    }
}

static bool
entries_let_in(const struct entries *entries, struct ref group)
{
    for (size_t i = 0; i < entries->count; i++)
        if (ref_equal(entries->list[i].group, group))
            return true;
    return false;
}

static bool
entries_give(const struct entries *entries, const struct grant *grant)
{
    for (size_t i = 0; i < entries->count; i++)
        if (ref_is_none(entries->list[i].group) &&
            ref_equal(entries->list[i].role, grant->role) &&
            ref_equal(entries->list[i].node, grant->object.parent))
            return true;
    return false;
}

static void
take_back_one(struct changes *changes, struct ref provider, struct ref ref,
              const struct entries *still)
{
    const struct world *world = changes->world;
    const struct grant *grant = world_grant(world, ref);
    const struct membership *member = world_membership(world, ref);

    if (grant != NULL && ref_equal(grant->provider, provider) &&
        !entries_give(still, grant))
        rules_drop(changes, ref);
    if (member != NULL && ref_equal(member->provider, provider) &&
        !entries_let_in(still, member->object.parent))
        rules_drop(changes, ref);
}

/* From the subject, none: from everybody. */
static void
take_back(struct changes *changes, struct ref provider, struct ref subject,
          const struct entries *still)
{
    static const enum kind kinds[] = { KIND_GRANT, KIND_MEMBER };
    const struct world *world = changes->world;

    for (size_t i = 0; i < 2; i++) {
        if (ref_is_none(subject)) {
            world_each(world, kinds[i], ref)
                take_back_one(changes, provider, ref, still);
        } else {
            world_each_index(world, kinds[i], 0, subject, ref)
                take_back_one(changes, provider, ref, still);
        }
    }
}

/* The end of a grant by the provider's word and every ceiling above. */
static int64_t
grant_end(const struct changes *changes,
          const struct identityprovider *provider, struct ref node)
{
    int64_t life_ms = rules_grant_life(changes->world, node);

    if (life_ms == 0 || life_ms > provider->fresh_ms)
        life_ms = provider->fresh_ms;
    return changes->context.now_ms + life_ms;
}

static struct ref
find_grant(const struct changes *changes, struct ref provider,
           struct ref subject, const struct entry *entry)
{
    for (size_t i = 0; i < changes->count; i++) {
        const struct grant *made = changes->list[i].image;

        if (changes->list[i].ref.kind == KIND_GRANT && made != NULL &&
            changes->list[i].created && ref_equal(made->role, entry->role) &&
            ref_equal(made->object.parent, entry->node))
            return made->object.self;
    }
    world_each_index(changes->world, KIND_GRANT, 0, subject, ref) {
        const struct grant *grant = world_grant(changes->world, ref);

        if (ref_equal(grant->provider, provider) &&
            ref_equal(grant->role, entry->role) &&
            ref_equal(grant->object.parent, entry->node))
            return ref;
    }
    return (struct ref){ 0 };
}

/* --- groups --- */

/* The user's membership, or the number of their groups. */
static struct ref
find_member(const struct world *world, struct ref user, struct ref group,
            size_t *groups)
{
    *groups = 0;
    if (world_get(world, user) == NULL)
        return (struct ref){ 0 };
    world_each_index(world, KIND_MEMBER, 0, user, ref) {
        if (ref_equal(world_parent(world, ref), group))
            return ref;
        ++*groups;
    }
    return (struct ref){ 0 };
}

static bool
is_full(const struct world *world, struct ref group)
{
    size_t members = 0;

    world_each_child(world, KIND_MEMBER, group, ref)
        members++;
    return members >= REACH_MEMBERS_MAX;
}

/* Memberships that this change set makes. */
static size_t
count_made(const struct changes *changes, struct ref group, bool *there)
{
    size_t count = 0;

    for (size_t i = 0; i < changes->count; i++) {
        const struct membership *made = changes->list[i].image;

        if (changes->list[i].ref.kind != KIND_MEMBER || made == NULL ||
            !changes->list[i].created)
            continue;
        count++;
        *there = *there || ref_equal(made->object.parent, group);
    }
    return count;
}

static void
add_member(struct changes *changes, const struct identityprovider *provider,
           struct ref user, struct ref group, int64_t to_ms)
{
    const struct object *person = change_get(changes, user);
    const char *name = person->name;
    struct membership *member;

    if (!ref_is_none(world_find_name(changes->world, KIND_MEMBER, group,
                                     name)))
        name = "";
    member = change_create(changes, KIND_MEMBER, group, name);
    member->subject = user;
    member->adder = provider->author;
    member->provider = provider->object.self;
    member->to_ms = to_ms;
}

static void
let_in(struct changes *changes, const struct identityprovider *provider,
       struct ref user, struct ref group)
{
    int64_t to_ms = changes->context.now_ms + provider->fresh_ms;
    bool there = false;
    size_t groups, made = count_made(changes, group, &there);
    struct ref have = find_member(changes->world, user, group, &groups);
    const struct membership *member = world_membership(changes->world, have);

    if (there)
        return;
    if (member != NULL) {
        if (ref_equal(member->provider, provider->object.self))
            ((struct membership *)change_update(changes, have))->to_ms = to_ms;
    } else if (!ref_equal(provider->author, user) && /* nobody lets in
                                                        themselves */
               groups + made < REACH_GROUPS_MAX &&
               !is_full(changes->world, group)) {
        add_member(changes, provider, user, group, to_ms);
    }
}

/* --- all of it --- */

static void
give(struct changes *changes, const struct identityprovider *provider,
     struct ref user, const struct entry *entry)
{
    struct ref self = provider->object.self;
    struct ref have = find_grant(changes, self, user, entry);
    struct grant *grant;

    if (!ref_is_none(have)) {
        grant = change_update(changes, have);
    } else if (ref_equal(provider->author, user)) {
        return; /* nobody gives themselves */
    } else {
        grant = change_create(changes, KIND_GRANT, entry->node, "");
        grant->subject = user;
        grant->role = entry->role;
        grant->use = verbs_for((enum kind)entry->node.kind);
        grant->give = grant->use;
        grant->granter = provider->author;
        grant->provider = self;
    }
    grant->to_ms = grant_end(changes, provider, entry->node);
}

static void
give_all(struct changes *changes, const struct identityprovider *provider,
         struct ref user, const json_t *claims)
{
    struct entries entries;

    entries_read(changes->world, provider, claims, &entries);
    if (world_get(changes->world, user) != NULL)
        take_back(changes, provider->object.self, user, &entries);
    for (size_t i = 0; i < entries.count; i++) {
        const struct entry *entry = &entries.list[i];

        if (ref_is_none(entry->group))
            give(changes, provider, user, entry);
        else
            let_in(changes, provider, user, entry->group);
    }
    entries_release(&entries);
}

/* --- users --- */

static bool
is_taken(const struct world *world, struct ref parent, const char *name)
{
    const struct user *user =
        world_user(world, world_find_name(world, KIND_USER, parent, name));

    return user != NULL && user->state != STATE_DELETED;
}

/* A name as the platform writes them; what does not fit becomes "-". */
static void
write_name(const char *wish, char out[NAME_MAX_SIZE])
{
    size_t used = 0;

    for (; *wish != '\0' && used < NAME_MAX_SIZE - 8; wish++) {
        char c = *wish;

        if (c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        else if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' &&
                 c != '_')
            c = '-';
        if (used > 0 || (c != '-' && c != '.' && c != '_'))
            out[used++] = c;
    }
    while (used > 0 && (out[used - 1] == '-' || out[used - 1] == '.' ||
                        out[used - 1] == '_'))
        used--;
    out[used] = '\0';
}

/* Another name when somebody has it: names say nothing about who it is. */
static bool
choose_name(const struct world *world, struct ref parent, const char *wish,
            char out[NAME_MAX_SIZE])
{
    char base[NAME_MAX_SIZE];

    write_name(wish == NULL ? "" : wish, base);
    if (base[0] == '\0')
        memcpy(base, "user", 5);
    memcpy(out, base, sizeof(base));
    for (unsigned i = 2; is_taken(world, parent, out); i++) {
        if (i > NAME_TRIES)
            return false;
        (void)snprintf(out, NAME_MAX_SIZE, "%.55s-%u", base, i);
    }
    return true;
}

static int
make_user(struct changes *changes, const struct identityprovider *provider,
          const struct federation_person *person, struct ref *out,
          struct error *err)
{
    struct ref parent = provider->object.parent;
    struct identity *identity;
    struct error ignored;
    char name[NAME_MAX_SIZE];
    struct user *user;

    if (provider->people == PROVIDER_LINKED)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "nobody is linked to this person");
    if (!choose_name(changes->world, parent, person->name, name))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "no name is left for this person");
    user = change_create(changes, KIND_USER, parent, name);
    if (person->display != NULL &&
        schema_check_text("/display", person->display, sizeof(user->display),
                          &ignored) == 0)
        memcpy(user->display, person->display, strlen(person->display) + 1);
    *out = user->object.self;
    identity = change_create(changes, KIND_IDENTITY, *out, "");
    identity->provider = provider->object.self;
    memcpy(identity->subject, person->subject, strlen(person->subject) + 1);
    federation_digest(changes->world, identity->provider, person->subject,
                      identity->digest);
    return 0;
}

static struct ref
find_user(const struct world *world, struct ref provider, const char *subject)
{
    uint8_t digest[32];

    federation_digest(world, provider, subject, digest);
    return world_parent(world,
                        world_find_digest(world, KIND_IDENTITY, digest));
}

/* --- logging in --- */

int
federation_log_in(struct changes *changes, struct ref provider,
                  const struct federation_person *person,
                  const uint8_t digest[32], struct federation_login *out,
                  struct error *err)
{
    const struct world *world = changes->world;
    const struct identityprovider *image =
        world_identityprovider(world, provider);
    int64_t now_ms = changes->context.now_ms;
    struct ref user = find_user(world, provider, person->subject);
    bool made = ref_is_none(user);
    struct session *session;

    if (!federation_is_open(world, provider))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the identity provider is closed");
    if (!made && !access_is_alive(world, user))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the user is suspended or deleted");
    if (made && make_user(changes, image, person, &user, err) != 0)
        return -1;
    give_all(changes, image, user, person->claims);
    session = change_create(changes, KIND_SESSION, user, "");
    memcpy(session->digest, digest, sizeof(session->digest));
    session->expires_ms = now_ms + proof_session_life(world);
    /* An acr that counts stands for a second factor. */
    session->proved_ms = proof_of(image, person, now_ms);
    session->factor_ms = session->proved_ms;
    session->provider = provider;
    if (person->sid != NULL) {
        struct digest sid;

        digest_of(person->sid, strlen(person->sid), &sid);
        memcpy(session->sid, sid.bytes, sizeof(session->sid));
    }
    *out = (struct federation_login){ user, session->object.self, made };
    return 0;
}

int
federation_prove(struct changes *changes, struct ref session,
                 struct ref provider, const struct federation_person *person,
                 struct error *err)
{
    const struct world *world = changes->world;
    const struct session *image = world_session(world, session);
    int64_t now_ms = changes->context.now_ms, proof_ms;
    struct session *proved;

    if (image == NULL || !federation_is_open(world, provider) ||
        !ref_equal(find_user(world, provider, person->subject),
                   image->object.parent))
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "another person than the session's proved itself");
    proof_ms = proof_of(world_identityprovider(world, provider), person,
                        now_ms);
    if (proof_ms == 0 || now_ms - proof_ms > ACCESS_STEP_UP_MS)
        return error_set(err, ERROR_UNAUTHENTICATED,
                         "the identity provider made no proof that counts "
                         "now (acr, auth_time)");
    proved = change_update(changes, session);
    if (proved->proved_ms < proof_ms)
        proved->proved_ms = proof_ms;
    if (proved->factor_ms < proof_ms)
        proved->factor_ms = proof_ms;
    return 0;
}

/* --- logging out --- */

static bool
drop_session(struct changes *changes, struct ref provider, struct ref ref,
             const struct digest *sid, int64_t iat_ms)
{
    const struct session *session = world_session(changes->world, ref);

    if (!ref_equal(session->provider, provider) ||
        session->object.created_ms > iat_ms ||
        (sid != NULL && memcmp(session->sid, sid->bytes, 32) != 0))
        return false;
    rules_drop(changes, ref);
    return true;
}

static size_t
drop_sessions(struct changes *changes, struct ref provider, struct ref user,
              const struct digest *sid, int64_t iat_ms)
{
    const struct world *world = changes->world;
    size_t count = 0;

    if (ref_is_none(user)) {
        world_each(world, KIND_SESSION, ref)
            count += drop_session(changes, provider, ref, sid, iat_ms);
    } else {
        world_each_child(world, KIND_SESSION, user, ref)
            count += drop_session(changes, provider, ref, sid, iat_ms);
    }
    return count;
}

size_t
federation_log_out(struct changes *changes, struct ref provider,
                   const char *subject, const char *sid, int64_t iat_ms)
{
    struct ref user = { 0 };
    struct digest digest;

    if (subject != NULL) {
        user = find_user(changes->world, provider, subject);
        if (ref_is_none(user))
            return 0;
    }
    if (sid != NULL)
        digest_of(sid, strlen(sid), &digest);
    return drop_sessions(changes, provider, user, sid == NULL ? NULL : &digest,
                         iat_ms);
}

void
federation_forget(struct changes *changes, struct ref provider,
                  struct ref subject)
{
    struct entries none = { .count = 0 };

    (void)drop_sessions(changes, provider, subject, NULL, INT64_MAX);
    take_back(changes, provider, subject, &none);
}

void
federation_settle(struct changes *changes,
                  const struct identityprovider *provider)
{
    struct ref self = provider->object.self;
    struct entries entries;

    if (provider->state != STATE_ACTIVE) {
        federation_forget(changes, self, (struct ref){ 0 });
        return;
    }
    entries_read(changes->world, provider, NULL, &entries);
    take_back(changes, self, (struct ref){ 0 }, &entries);
    entries_release(&entries);
}
