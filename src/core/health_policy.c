/* SPDX-License-Identifier: Apache-2.0 */
#include "core/health_policy.h"

#include <string.h>

#include "base/json.h"
#include "core/card_health.h"

static const struct health_policy shipped = {
    .probes = CARD_HEALTH_CLEAN,
    .rules = {
        [HEALTH_HEALTHY] = { .takes_work = true },
        [HEALTH_SUSPECT] = { .reset = true },
        [HEALTH_DEGRADED] = { .notify = true },
        [HEALTH_FAILED] = { .notify = true, .workorder = true },
    },
};

static const char *const keys[] = { "probes",   "unknown", "suspect",
                                    "degraded", "failed",  NULL };
static const char *const rule_keys[] = { "takes_work", "running", "notify",
                                         "reset", "workorder", NULL };

static int
read_running(const json_t *object, struct health_rule *rule, struct error *err)
{
    const char *text = NULL;

    if (json_text(object, "running", false, 16, &text, err) != 0)
        return -1;
    if (text == NULL)
        return 0;
    if (strcmp(text, "keep") != 0 && strcmp(text, "drain") != 0)
        return error_field(err, "/running",
                           "running is keep or drain, not \"%.16s\"", text);
    rule->running = text[0] == 'd' ? HEALTH_DRAIN : HEALTH_KEEP;
    return 0;
}

static int
read_rule(const json_t *object, struct health_rule *rule, struct error *err)
{
    if (object == NULL)
        return 0;
    if (!json_is_object(object))
        return error_set(err, ERROR_INVALID, "it is an object");
    return json_only(object, rule_keys, err) != 0 ||
                   json_bool(object, "takes_work", false, &rule->takes_work,
                             err) != 0 ||
                   read_running(object, rule, err) != 0 ||
                   json_bool(object, "notify", false, &rule->notify, err) !=
                       0 ||
                   json_bool(object, "reset", false, &rule->reset, err) != 0 ||
                   json_bool(object, "workorder", false, &rule->workorder,
                             err) != 0
               ? -1
               : 0;
}

static int
read_policy(const json_t *object, struct health_policy *out, struct error *err)
{
    if (!json_is_object(object))
        return error_field(err, "/health", "health is an object or null");
    if (json_only(object, keys, err) != 0 ||
        json_int(object, "probes", false, 1, CARD_HEALTH_CLEAN_MAX,
                 &out->probes, err) != 0)
        return -1;
    for (size_t i = 1; keys[i] != NULL; i++) {
        struct health_rule *rule = &out->rules[card_health_parse(keys[i])];

        if (read_rule(json_object_get(object, keys[i]), rule, err) != 0)
            return error_prefix(err, "health, %s", keys[i]);
    }
    if (out->rules[HEALTH_FAILED].takes_work ||
        out->rules[HEALTH_UNKNOWN].takes_work)
        return error_field(err, "/health",
                           "a card that is failed or unknown takes no work: "
                           "leave out takes_work there");
    return 0;
}

static void
add(struct health_policy *out, const struct blob *document)
{
    struct health_policy copy = *out;
    struct error ignored;
    json_t *object;

    if (document == NULL)
        return;
    object = json_read(document->bytes, document->size, &ignored);
    if (object != NULL && read_policy(object, &copy, &ignored) == 0)
        *out = copy;
    json_decref(object);
}

void
health_policy_of(struct health_policy *out, const struct changes *changes,
                 struct ref pool)
{
    const struct platform *platform =
        change_get(changes, world_platform_ref(changes->world));
    const struct pool *own =
        pool.kind == KIND_POOL ? change_get(changes, pool) : NULL;

    *out = shipped;
    if (platform != NULL)
        add(out, platform->health);
    if (own != NULL)
        add(out, own->health);
}

int
health_policy_check(const struct blob *document, struct error *err)
{
    struct health_policy policy = shipped;
    json_t *object;
    int result;

    if (document == NULL)
        return 0;
    object = json_read(document->bytes, document->size, err);
    result = object == NULL ? -1 : read_policy(object, &policy, err);
    json_decref(object);
    return result;
}

json_t *
health_policy_json(const struct health_policy *policy)
{
    json_t *out =
        json_pack("{s:I}", "probes", (json_int_t)policy->probes);

    for (size_t i = 1; keys[i] != NULL; i++) {
        const struct health_rule *rule =
            &policy->rules[card_health_parse(keys[i])];

        (void)json_object_set_new(
            out, keys[i],
            json_pack("{s:b, s:s, s:b, s:b, s:b}", "takes_work",
                      rule->takes_work, "running",
                      rule->running == HEALTH_DRAIN ? "drain" : "keep",
                      "notify", rule->notify, "reset", rule->reset,
                      "workorder", rule->workorder));
    }
    return out;
}
