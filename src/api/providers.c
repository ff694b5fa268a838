/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "api/handlers.h"
#include "api/state.h"
#include "base/egress.h"
#include "base/seal.h"
#include "core/object.h"
#include "core/resource.h"

/* Identity providers: beside what core/rules_provider.c holds, the issuer has
 * to be one that may be asked, and the client's secret is sealed. */

#define CLIENT_SECRET_MAX 256

const struct body_field client_secret_body[] = {
    {"client_secret", BODY_TEXT, true,
     "as the provider gave it; \"\": none, a public client"},
    {NULL, BODY_TEXT, false, NULL},
};

int
providers_create(const struct granted *granted, struct changes *changes,
                 struct exchange *exchange, struct error *err)
{
    const struct egress_policy *policy = exchange->api->options.egress;
    struct error why;
    if (resource_create(granted, changes, KIND_IDENTITYPROVIDER,
                        granted_object(granted), exchange->body,
                        &exchange->created, err) != 0)
        return -1;
    const char *issuer =
        json_string_value(json_object_get(exchange->body, "issuer"));
    if (policy == NULL || egress_check(policy, issuer, &why) == 0)
        return 0;
    error_field(err, "/issuer", "%s", why.text);
    return error_help(err, "which hosts and networks may be asked is set in "
                           "the configuration of bulkheadd (egress)");
}

int
providers_set_secret(const struct granted *granted, struct changes *changes,
                     struct exchange *exchange, struct error *err)
{
    const struct seal_key *key = exchange->api->options.seal;
    const char *secret = json_string_value(
        json_object_get(exchange->body, "client_secret"));
    struct ref ref = granted_object(granted);
    char id[ID_TEXT_MAX];
    scoped_buffer sealed = {0};
    if (key == NULL)
        return error_set(err, ERROR_UNSUPPORTED,
                         "this server has no key to keep secrets with");
    if (strlen(secret) > CLIENT_SECRET_MAX)
        return error_field(err, "/client_secret",
                           "a client secret has at most %d bytes",
                           CLIENT_SECRET_MAX);
    object_id_text(granted_world(granted), ref, id);
    if (secret[0] != '\0')
        seal_text(key, id, secret, strlen(secret), &sealed);
    struct identityprovider *provider = change_update(changes, ref);
    _Static_assert(sizeof provider->secret >=
                       SEAL_TEXT_MAX(CLIENT_SECRET_MAX),
                   "the sealed secret fits");
    memcpy(provider->secret, buffer_text(&sealed), sealed.size + 1);
    return 0;
}
