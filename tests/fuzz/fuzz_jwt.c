/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "identity/jwt.h"
#include "identity/oidc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Keys that nobody here has the other half of. */
static const char known[] =
    "{\"keys\":[{\"kty\":\"EC\",\"kid\":\"a3\",\"crv\":\"P-256\","
    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"},"
    "{\"kty\":\"OKP\",\"kid\":\"a4\",\"crv\":\"Ed25519\","
    "\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}]}";

/* No token is taken that nobody could have signed, and documents of any form
 * are read or refused. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct jwt_expectation expected = { "https://sso.example",
                                              "bulkhead", "n", 1 };
    scoped_arena arena = arena_new();
    char *text = arena_strndup(arena, (const char *)data, size);
    scoped_json keys = json_loads(known, 0, NULL);
    scoped_json document = json_loads(text, 0, NULL);
    struct oidc_metadata metadata;
    struct jwk_set *set = NULL, *theirs = NULL;
    json_t *claims = NULL;
    struct error err;

    if (jwk_set_parse(keys, &set, &err) != 0 || jwk_set_count(set) != 2)
        __builtin_trap();
    if (jwt_check_id(set, text, &expected, &claims, &err) == JWT_GOOD ||
        jwt_check_logout(set, text, &expected, &claims, &err) == JWT_GOOD)
        __builtin_trap();
    if (jwk_set_parse(document, &theirs, &err) == 0)
        jwk_set_free(theirs);
    (void)oidc_metadata_parse(document, "https://sso.example", &metadata,
                              &err);
    jwk_set_free(set);
    return 0;
}
