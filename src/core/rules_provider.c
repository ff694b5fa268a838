/* SPDX-License-Identifier: Apache-2.0 */
#include "core/rules.h"

#include <stdio.h>
#include <string.h>

#include "core/federation.h"
#include "core/role.h"

/* Identity providers and who is whom there. */

#define FRESH_MIN_MS (5 * 60 * INT64_C(1000))
#define ACR_MAX 16

/* --- the issuer --- */

/* What needs no network to be told; whether it may be asked at all is looked
 * at where it is asked (base/egress.h). */
static int
check_issuer(const char *issuer, struct error *err)
{
    const char *rest = strncmp(issuer, "https://", 8) == 0   ? issuer + 8
                       : strncmp(issuer, "http://", 7) == 0 ? issuer + 7
                                                            : NULL;

    if (rest == NULL || *rest == '\0' || *rest == '/')
        return error_field(err, "/issuer",
                           "\"%.200s\" is not an https URL with a host",
                           issuer);
    for (const char *at = issuer; *at != '\0'; at++)
        if (*at <= ' ' || *at > '~' || strchr("?#@\\", *at) != NULL)
            return error_field(err, "/issuer",
                               "an issuer is ASCII without blanks, user "
                               "name, query and fragment");
    return 0;
}

static int
check_alone(const struct edit *edit, const struct identityprovider *provider,
            struct error *err)
{
    world_each_child(edit->world, KIND_IDENTITYPROVIDER,
                     provider->object.parent, ref) {
        const struct identityprovider *other =
            world_identityprovider(edit->world, ref);

        if (strcmp(other->issuer, provider->issuer) == 0)
            return error_set(err, ERROR_CONFLICT,
                             "\"%s\" has that issuer here already",
                             other->object.name);
    }
    return 0;
}

/* --- lists --- */

static int
check_acr(const struct edit *edit, struct error *err)
{
    const json_t *list = json_object_get(edit->body, "acr"), *item;
    size_t i;

    if (!edit_has(edit, "acr"))
        return 0;
    if (!json_is_array(list) || json_array_size(list) > ACR_MAX)
        return error_field(err, "/acr", "acr is a list of at most %d texts",
                           ACR_MAX);
    json_array_foreach(list, i, item)
        if (!json_is_string(item) || json_string_length(item) == 0 ||
            json_string_length(item) > FEDERATION_CLAIM_MAX)
            return error_field(err, "/acr",
                               "an acr value is a text of 1 to %d bytes",
                               FEDERATION_CLAIM_MAX);
    return 0;
}

static int
entry_fault(struct error *err, size_t i, const char *what)
{
    char pointer[48];

    (void)snprintf(pointer, sizeof(pointer), "/mapping/%zu", i);
    return error_field(err, pointer, "%s", what);
}

/* By id, else the name of one that the provider's people can have. */
static struct ref
find_role(const struct edit *edit, struct ref home, const char *text)
{
    struct ref ref = object_find_text(edit->world, text);

    if (ref_is_none(ref))
        ref = world_find_name(edit->world, KIND_ROLE, home, text);
    if (ref_is_none(ref))
        ref = world_find_name(edit->world, KIND_ROLE,
                              world_platform_ref(edit->world), text);
    return ref.kind == KIND_ROLE && access_visible(edit->granted, ref)
               ? ref
               : (struct ref){ 0 };
}

static struct ref
find_node(const struct edit *edit, struct ref home, const char *text)
{
    struct ref ref = home;

    if (text != NULL) {
        ref = object_find_text(edit->world, text);
        if (ref_is_none(ref))
            ref = world_find_name(edit->world, KIND_PROJECT, home, text);
    }
    if (ref.kind != KIND_PLATFORM && ref.kind != KIND_TENANT &&
        ref.kind != KIND_UNIT && ref.kind != KIND_PROJECT)
        return (struct ref){ 0 };
    return access_visible(edit->granted, ref) &&
                   world_is_below(edit->world, ref, home)
               ? ref
               : (struct ref){ 0 };
}

/* Whoever writes an entry hands out its role for as long as it stands. */
static int
check_offer(const struct edit *edit, struct ref role, struct ref node,
            struct error *err)
{
    const struct role *image = world_role(edit->world, role);
    struct offer offer = {
        .verbs = verbs_and(verbs_or(image->verbs, image->give),
                           verbs_for((enum kind)node.kind)),
        .sources = "",
    };

    return access_delegate_check(edit->world, edit->actor, node, &offer,
                                 edit->now_ms, err);
}

static const char *
text_of(const json_t *item, const char *key)
{
    const char *text = json_string_value(json_object_get(item, key));

    return text != NULL && text[0] != '\0' &&
                   strlen(text) <= FEDERATION_CLAIM_MAX
               ? text
               : NULL;
}

/* A group of the provider's people. */
static int
settle_group(const struct edit *edit, struct ref home, const json_t *item,
             size_t i, json_t *list, struct error *err)
{
    static const char *const keys[] = { "claim", "value", "group", NULL };
    const char *text = text_of(item, "group");
    struct error ignored;
    struct ref group;

    if (text == NULL || json_only(item, keys, &ignored) != 0 ||
        text_of(item, "claim") == NULL || text_of(item, "value") == NULL)
        return entry_fault(err, i,
                           "an entry with a group is {claim, value, group}: "
                           "texts of 1 to 128 bytes");
    group = object_find_text(edit->world, text);
    if (ref_is_none(group))
        group = world_find_name(edit->world, KIND_GROUP, home, text);
    if (group.kind != KIND_GROUP || !access_visible(edit->granted, group) ||
        !ref_equal(world_parent(edit->world, group), home))
        return entry_fault(err, i,
                           "there is no such group of the provider's people");
    (void)json_array_append_new(
        list, json_pack("{s:s, s:s, s:o}", "claim", text_of(item, "claim"),
                        "value", text_of(item, "value"), "group",
                        object_id_json(edit->world, group)));
    return rules_check_joining(edit, group, (struct ref){ 0 }, 0, err);
}

static int
settle_entry(const struct edit *edit, struct ref home, const json_t *item,
             size_t i, json_t *list, struct error *err)
{
    static const char *const keys[] = { "claim", "value", "role", "node",
                                        NULL };
    const json_t *node_text = json_object_get(item, "node");
    struct ref role, node;
    struct error ignored;

    if (json_object_get(item, "group") != NULL)
        return settle_group(edit, home, item, i, list, err);
    if (!json_is_object(item) || json_only(item, keys, &ignored) != 0 ||
        text_of(item, "claim") == NULL || text_of(item, "value") == NULL ||
        text_of(item, "role") == NULL ||
        (node_text != NULL && !json_is_null(node_text) &&
         !json_is_string(node_text)))
        return entry_fault(err, i,
                           "an entry is {claim, value, role, node} or "
                           "{claim, value, group}: texts of 1 to 128 bytes; "
                           "no node: where the provider is");
    role = find_role(edit, home, text_of(item, "role"));
    if (ref_is_none(role) ||
        ref_equal(role, role_find(edit->world, ROLE_VENDOR)))
        return entry_fault(err, i, "there is no such role to be mapped");
    node = find_node(edit, home, json_string_value(node_text));
    if (ref_is_none(node))
        return entry_fault(err, i,
                           "there is no such tenant, unit or project below "
                           "the provider's place");
    if (!world_is_below(edit->world, node, world_parent(edit->world, role)))
        return entry_fault(err, i, "the role is not one of this tenant");
    (void)json_array_append_new(
        list, json_pack("{s:s, s:s, s:o, s:o}", "claim",
                        text_of(item, "claim"), "value",
                        text_of(item, "value"), "role",
                        object_id_json(edit->world, role), "node",
                        object_id_json(edit->world, node)));
    return check_offer(edit, role, node, err);
}

/* The whole mapping is its last author's word, so all of it has to be theirs
 * to hand out: an entry that was there before does not excuse itself. */
static int
settle_mapping(const struct edit *edit, struct identityprovider *provider,
               struct error *err)
{
    const json_t *body = json_object_get(edit->body, "mapping"), *item;
    scoped_json list = json_array();
    scoped_buffer text = { 0 };
    size_t i;

    if (!edit_has(edit, "mapping"))
        return 0;
    if (!json_is_array(body) ||
        json_array_size(body) > FEDERATION_ENTRIES_MAX)
        return error_field(err, "/mapping",
                           "a mapping is a list of at most %d entries",
                           FEDERATION_ENTRIES_MAX);
    json_array_foreach(body, i, item)
        if (settle_entry(edit, provider->object.parent, item, i, list, err) !=
            0)
            return -1;
    json_write(&text, list);
    change_doc(edit->changes, &provider->mapping, buffer_text(&text));
    provider->author = edit->actor->subject;
    return 0;
}

static int
settle(const struct edit *edit, struct identityprovider *provider,
       struct error *err)
{
    if (provider->client_id[0] == '\0')
        return error_field(err, "/client_id", "a client has an id");
    if (provider->fresh_ms == 0)
        provider->fresh_ms = FEDERATION_FRESH_MS;
    if (provider->fresh_ms < FRESH_MIN_MS)
        return error_field(err, "/fresh_ms",
                           "what a login gave lasts at least %lld ms",
                           (long long)FRESH_MIN_MS);
    for (const char *at = provider->scopes; *at != '\0'; at++)
        if (*at <= '!' ? *at != ' ' : *at > '~' || *at == '"' || *at == '\\')
            return error_field(err, "/scopes",
                               "scopes are words with blanks between");
    if (check_acr(edit, err) != 0)
        return -1;
    return settle_mapping(edit, provider, err);
}

/* --- providers --- */

int
rules_create_identityprovider(const struct edit *edit, void *image,
                              struct error *err)
{
    struct identityprovider *provider = image;

    if (provider->scopes[0] == '\0')
        memcpy(provider->scopes, "profile", sizeof("profile"));
    if (check_issuer(provider->issuer, err) != 0 ||
        check_alone(edit, provider, err) != 0)
        return -1;
    return settle(edit, provider, err);
}

int
rules_update_identityprovider(const struct edit *edit, const void *before,
                              void *image, struct error *err)
{
    struct identityprovider *provider = image;

    if (rules_update_state(edit, before, image, err) != 0 ||
        settle(edit, provider, err) != 0)
        return -1;
    if (provider->mapping == NULL)
        provider->author = (struct ref){ 0 };
    federation_settle(edit->changes, provider);
    return 0;
}

int
rules_delete_identityprovider(const struct edit *edit, struct ref ref,
                              struct error *err)
{
    (void)err;
    federation_forget(edit->changes, ref, (struct ref){ 0 });
    world_each(edit->world, KIND_IDENTITY, at)
        if (ref_equal(world_identity(edit->world, at)->provider, ref))
            rules_drop(edit->changes, at);
    return 0;
}

/* --- identities --- */

/* Who links a person to a user lets that person be the user: control. */
int
rules_create_identity(const struct edit *edit, void *image, struct error *err)
{
    struct identity *identity = image;
    struct ref user = identity->object.parent;
    const struct identityprovider *provider =
        world_identityprovider(edit->world, identity->provider);

    if (provider == NULL || !ref_equal(provider->object.parent,
                                       world_parent(edit->world, user)))
        return error_field(err, "/provider",
                           "a user is linked at a provider of its own tenant");
    if (identity->subject[0] == '\0')
        return error_field(err, "/subject", "a subject has 1 to 255 bytes");
    if (access_control_check(edit->world, edit->actor, user, edit->now_ms,
                             err) != 0)
        return -1;
    federation_digest(edit->world, identity->provider, identity->subject,
                      identity->digest);
    if (!ref_is_none(world_find_digest(edit->world, KIND_IDENTITY,
                                       identity->digest)))
        return error_set(err, ERROR_CONFLICT,
                         "this person is linked already");
    return 0;
}

/* What came by the link goes with it. */
int
rules_delete_identity(const struct edit *edit, struct ref ref,
                      struct error *err)
{
    const struct identity *identity = world_identity(edit->world, ref);
    struct ref user = identity->object.parent;

    if (access_control_check(edit->world, edit->actor, user, edit->now_ms,
                             err) != 0)
        return -1;
    federation_forget(edit->changes, identity->provider, user);
    return 0;
}
