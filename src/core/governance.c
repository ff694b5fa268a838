/* SPDX-License-Identifier: Apache-2.0 */
#include "core/governance.h"

#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "core/gate.h"
#include "core/reach.h"

/* --- lists of words --- */

/* Is the word in a canonical JSON list of names?  NULL holds every word. */
static bool
lists(const struct blob *list, const char *word)
{
    char quoted[NAME_MAX_SIZE + 2];

    if (list == NULL)
        return true;
    (void)snprintf(quoted, sizeof(quoted), "\"%s\"", word);
    return strstr(list->bytes, quoted) != NULL;
}

/* ["a","b"] as "a, b". */
static const char *
words(const struct blob *list, char text[TEXT_MAX_SIZE])
{
    size_t used = 0;

    for (size_t i = 0; list != NULL && i < list->size; i++) {
        char c = list->bytes[i];

        if (used + 3 > TEXT_MAX_SIZE)
            break;
        if (c == ',')
            text[used++] = ',';
        if (c == ',')
            text[used++] = ' ';
        else if (c != '[' && c != ']' && c != '"')
            text[used++] = c;
    }
    text[used] = '\0';
    return text;
}

static bool
is_known(const struct world *world, const char *const *names,
         const char *word)
{
    if (names != NULL)
        return schema_enum_parse(names, word) >= 0;
    return !ref_is_none(world_find_name(world, KIND_ROLE,
                                        world_platform_ref(world), word));
}

int
governance_check_list(const struct world *world, const struct blob *list,
                      const char *pointer, const char *const *names,
                      struct error *err)
{
    scoped_json json = NULL;
    json_t *item;
    size_t i;

    if (list == NULL)
        return 0;
    json = json_read(list->bytes, list->size, err);
    if (!json_is_array(json) || json_array_size(json) == 0)
        return error_field(err, pointer,
                           "must be a list of names, or null for all");
    json_array_foreach(json, i, item)
        if (!json_is_string(item) ||
            !is_known(world, names, json_string_value(item)))
            return error_field(err, pointer, "item %zu is not known", i);
    return 0;
}

/* --- who --- */

static const char *
enum_name(enum kind kind, const char *field, int value)
{
    return schema_field(kind, field)->names[value];
}

/* The first role of the list that the actor holds above the project. */
static const char *
role_held(const struct world *world, const struct priority *priority,
          const struct actor *actor, struct ref project, int64_t now_ms)
{
    reach_each(world, actor->subject, now_ms, reach) {
        const struct grant *grant = world_grant(world, reach.grant);
        const struct role *role = world_role(world, grant->role);

        if (role != NULL && role->builtin &&
            lists(priority->roles, role->object.name) &&
            access_has_role(world, actor, grant, project, now_ms))
            return role->object.name;
    }
    return NULL;
}

static int
refuse(const struct priority *priority, const char *what, const char *allowed,
       const char *have, struct error *err)
{
    (void)error_set(err, ERROR_DENIED,
                    "priority %s is for %s %s; this is %s",
                    priority->object.name, what, allowed, have);
    return error_help(err, "ask for it with `bulkhead request priority %s`, "
                           "or name another with --priority",
                      priority->object.name);
}

int
governance_check(const struct world *world, const struct actor *actor,
                 const struct workload *workload, int64_t now_ms,
                 char rule_out[TEXT_MAX_SIZE], struct error *err)
{
    const struct priority *priority =
        world_priority(world, workload->priority);
    struct ref at = workload->object.parent;
    const struct project *project = world_project(world, at);
    const char *class, *kind, *role = "any";
    char text[TEXT_MAX_SIZE];

    rule_out[0] = '\0';
    if (priority == NULL || project == NULL)
        return 0;
    class = enum_name(KIND_PROJECT, "class", project->class);
    kind = enum_name(KIND_WORKLOAD, "kind", workload->kind);
    if (!lists(priority->project_classes, class))
        return refuse(priority, "projects of class",
                      words(priority->project_classes, text), class, err);
    if (!lists(priority->kinds, kind))
        return refuse(priority, "work of kind", words(priority->kinds, text),
                      kind, err);
    if (priority->roles != NULL) {
        role = role_held(world, priority, actor, at, now_ms);
        if (role == NULL)
            return refuse(priority, "the roles",
                          words(priority->roles, text),
                          "somebody without them", err);
    }
    (void)snprintf(rule_out, TEXT_MAX_SIZE,
                   "%s: role %s, project class %s, kind %s%s",
                   priority->object.name, role, class, kind,
                   priority->approval ? ", approval needed" : "");
    return 0;
}

struct ref
governance_default(const struct world *world, const struct actor *actor,
                   const struct workload *workload, int64_t now_ms)
{
    static const char *const names[] = { "production", "development",
                                         "research", "research" };
    const struct project *project =
        world_project(world, workload->object.parent);
    const struct tenant *tenant =
        world_tenant(world, world_scope(world, workload->object.parent));
    struct ref named = world_find_name(world, KIND_PRIORITY,
                                       world_platform_ref(world),
                                       names[project->class]);
    int64_t most = ref_is_none(named) ? INT64_MAX
                                      : world_priority(world, named)->value;
    struct ref best = { 0 };

    world_each(world, KIND_PRIORITY, ref) {
        const struct priority *priority = world_priority(world, ref);
        struct workload trial = *workload;
        char rule[TEXT_MAX_SIZE];
        struct error ignored;
        bool better = ref_is_none(best) ||
                      (ref_is_none(named)
                           ? priority->value <
                                 world_priority(world, best)->value
                           : priority->value >
                                 world_priority(world, best)->value);

        trial.priority = ref;
        if (priority->value <= most && better && !priority->approval &&
            gate_allows_priority(world, tenant, ref) &&
            governance_check(world, actor, &trial, now_ms, rule, &ignored) ==
                0)
            best = ref;
    }
    return best;
}

bool
governance_needs_approval(const struct world *world, struct ref ref)
{
    const struct priority *priority = world_priority(world, ref);

    return priority != NULL && priority->approval;
}

/* --- how much --- */

static bool
share_fits(const struct world *world, const struct priority *priority,
           const struct demand *demand, struct verdict *verdict)
{
    const struct pool *pool = world_pool(world, demand->pool);
    int64_t need = demand->of[DIMENSION_CARDS], most, used;
    char asked[REASON_AMOUNT_MAX], all[REASON_AMOUNT_MAX];

    if (priority->share_permille == 0 || pool == NULL || need == 0)
        return true;
    most = pool->cards * priority->share_permille;
    used = world_share(world, priority->object.self, demand->pool);
    if (need <= most && used <= most - need)
        return true;
    verdict_set(verdict, need > most ? WORKLOAD_REJECTED : WORKLOAD_GATED,
                need > most ? REASON_LIMIT_NEVER : REASON_GOVERNANCE,
                "%s needed, work of priority %s may hold %s of pool %s at a "
                "time (%" PRId64 " permille)%s",
                reason_amount(asked, DIMENSION_CARDS, need),
                priority->object.name,
                reason_amount(all, DIMENSION_CARDS, most), pool->object.name,
                priority->share_permille,
                need > most ? ": it can never fit"
                            : " and does; it starts when some of it ends, or "
                              "with another priority");
    verdict_numbers(verdict, need, 0, most);
    return false;
}

static bool
month_fits(const struct world *world, const struct priority *priority,
           const struct demand *demand, int64_t now_ms,
           struct verdict *verdict)
{
    int64_t need = demand->of[DIMENSION_CARD_TIME];
    int64_t used =
        world_priority_committed(world, priority->object.self, now_ms);
    char asked[REASON_AMOUNT_MAX], most[REASON_AMOUNT_MAX];

    if (priority->card_time == 0 || need == 0 ||
        (need <= priority->card_time && used <= priority->card_time - need))
        return true;
    verdict_set(verdict, WORKLOAD_GATED, REASON_GOVERNANCE,
                "%s needed, work of priority %s may use %s a month and that "
                "is used up; it starts next month, or with another priority",
                reason_amount(asked, DIMENSION_CARD_TIME, need),
                priority->object.name,
                reason_amount(most, DIMENSION_CARD_TIME,
                              priority->card_time));
    verdict_numbers(verdict, need, 0, priority->card_time);
    return false;
}

bool
governance_fits(const struct world *world, const struct workload *workload,
                const struct demand *demand, int64_t now_ms,
                struct verdict *verdict_out)
{
    const struct priority *priority =
        world_priority(world, workload->priority);

    return priority == NULL ||
           (share_fits(world, priority, demand, verdict_out) &&
            month_fits(world, priority, demand, now_ms, verdict_out));
}
