/* SPDX-License-Identifier: Apache-2.0 */
#include "api/openapi_answers.h"

#include <assert.h>
#include <string.h>

#include "base/buffer.h"

#define JSON_TYPE "application/json"
#define TEXT_TYPE "text/plain"
#define OBJECT(properties) "{'type':'object','properties':{" properties "}}"
#define LIST_OF(schema) "{'type':'array','items':" schema "}"
#define TEXT "{'type':'string'}"
#define TEXT_OR_NULL "{'type':['string','null']}"
#define INT "{'type':'integer'}"
#define INT_OR_NULL "{'type':['integer','null']}"
#define BOOL "{'type':'boolean'}"
#define TIME "{'type':'string','format':'date-time'}"
#define TIME_OR_NULL "{'type':['string','null'],'format':'date-time'}"
#define NAMES "{'type':'object','additionalProperties':{'type':'string'}}"
#define INTS "{'type':'object','additionalProperties':{'type':'integer'}}"
#define ANY_OBJECT "{'type':'object'}"
#define REF(kind) "{'$ref':'#/components/schemas/" kind "'}"

#define VERDICT                                                                \
    "'reason':" TEXT ",'text':" TEXT ",'need':" INT ",'have':" INT             \
    ",'limit':" INT_OR_NULL ",'never':" BOOL ",'quota':" TEXT
#define EXPLAINED_QUOTA                                                        \
    OBJECT("'node':" TEXT ",'dimension':" TEXT ",'quota':" TEXT                \
           ",'pool':" TEXT ",'class':" TEXT ",'vendor':" TEXT                  \
           ",'model':" TEXT ",'user':" TEXT ",'need':" INT                     \
           ",'guaranteed':" INT ",'limit':" INT_OR_NULL ",'used':" INT         \
           ",'raised_until_ms':" TIME)
#define EXPLAINED_FILTER                                                       \
    OBJECT("'filter':" TEXT ",'nodes':" INT ",'cards':" INT)
#define EXPLAINED_POOL                                                         \
    OBJECT(VERDICT ",'pool':" TEXT ",'class':" TEXT ",'starts':" BOOL          \
           ",'nodes':" INT                                                     \
           ",'cards':" INT ",'free':" INT ",'largest':" INT ",'fit':" INT      \
           ",'filters':" LIST_OF(EXPLAINED_FILTER)                             \
           ",'quotas':" LIST_OF(EXPLAINED_QUOTA))
#define EXPLAINED_GROWTH                                                       \
    OBJECT(VERDICT ",'instances':" INT ",'least':" INT ",'most':" INT)
#define EXPLAINED_CLASS                                                        \
    OBJECT(VERDICT ",'class':" TEXT ",'allowed':" BOOL)
#define EXPLAINED_WANT                                                         \
    OBJECT("'class':" TEXT ",'fits':" BOOL ",'memory_mib':" INT                \
           ",'cost_nano':" INT ",'text':" TEXT)
#define EXPLAINED_CHANGE                                                       \
    OBJECT("'changes':" LIST_OF(TEXT) ",'verified':" BOOL)
#define EXPLAINED_SHARE                                                        \
    OBJECT("'of':" TEXT ",'name':" TEXT ",'used_permille':" INT                \
           ",'weight':" INT)
#define EXPLAINED                                                              \
    OBJECT(VERDICT ",'state':" TEXT ",'waits_ms':" INT ",'ahead':" INT         \
           ",'replacing_ms':" TIME                                             \
           ",'considered':" LIST_OF(EXPLAINED_WANT)                            \
           ",'growth':" EXPLAINED_GROWTH                                       \
           ",'shares':" LIST_OF(EXPLAINED_SHARE)                               \
           ",'alternatives':" LIST_OF(EXPLAINED_CLASS)                         \
           ",'pools':" LIST_OF(EXPLAINED_POOL)                                 \
           ",'estimate':"                                                      \
           OBJECT("'at':" TIME_OR_NULL ",'none':" TEXT_OR_NULL ",'text':" TEXT \
                  ",'as_of':" TIME_OR_NULL                                     \
                  ",'assumptions':" LIST_OF(TEXT))                             \
           ",'nearest':" EXPLAINED_CHANGE)
#define FORECAST_LINE                                                          \
    OBJECT("'workload':" TEXT ",'name':" TEXT ",'project':" TEXT               \
           ",'tried':" BOOL ",'at':" TIME ",'waits_ms':" INT                   \
           ",'state':" TEXT ",'reason':" TEXT ",'text':" TEXT)
#define FORECAST_REFUSED                                                       \
    OBJECT("'submit':" INT ",'count':" INT ",'code':" TEXT ",'text':" TEXT)
#define FORECAST                                                               \
    OBJECT("'now':" TIME ",'until':" TIME ",'end':" TEXT                       \
           ",'starts':" LIST_OF(FORECAST_LINE)                                 \
           ",'preempted':" LIST_OF(FORECAST_LINE)                              \
           ",'ended':" LIST_OF(FORECAST_LINE)                                  \
           ",'waiting':" LIST_OF(FORECAST_LINE)                                \
           ",'refused':" LIST_OF(FORECAST_REFUSED) ",'more':" BOOL             \
           ",'assumptions':" LIST_OF(TEXT))
#define GRANT_LINE                                                             \
    OBJECT("'node':" TEXT_OR_NULL ",'role':" TEXT_OR_NULL                      \
           ",'to':" TIME_OR_NULL ",'at':" TEXT ",'group':" TEXT_OR_NULL        \
           ",'group_name':" TEXT_OR_NULL ",'grant':" TEXT_OR_NULL)
#define RECORD                                                                 \
    OBJECT("'position':" INT ",'entry':" TEXT_OR_NULL                          \
           ",'personal':" TEXT_OR_NULL ",'leaf':" TEXT_OR_NULL                 \
           ",'damaged':" TEXT ",'version':" INT ",'log':" TEXT ",'seq':" INT   \
           ",'id':" TEXT ",'time':" TIME ",'mono_ms':" INT ",'boot':" TEXT     \
           ",'observer':" ANY_OBJECT ",'actor':" ANY_OBJECT                    \
           ",'source':" ANY_OBJECT ",'action':" ANY_OBJECT                     \
           ",'object':" ANY_OBJECT ",'params':" ANY_OBJECT                     \
           ",'decision':" ANY_OBJECT ",'approval':" ANY_OBJECT                 \
           ",'workorder':" TEXT ",'outcome':" ANY_OBJECT                       \
           ",'links':" ANY_OBJECT ",'count':" INT ",'facts':" TEXT)
#define RETENTION                                                              \
    OBJECT("'log':" TEXT ",'keep_days':" INT ",'hold':" BOOL                   \
           ",'own_keep_days':" INT_OR_NULL ",'own_hold':" BOOL                 \
           ",'records':" INT ",'ordered':" INT ",'pruned':" INT)
#define USE                                                                    \
    OBJECT("'usage':" TEXT ",'meter':" TEXT ",'quantity':" INT ",'unit':" TEXT \
           ",'cost_nano':" INT ",'tenant':" TEXT_OR_NULL                       \
           ",'project':" TEXT_OR_NULL ",'user':" TEXT_OR_NULL                  \
           ",'workload':" TEXT_OR_NULL ",'class':" TEXT_OR_NULL                \
           ",'pool':" TEXT_OR_NULL ",'model':" TEXT_OR_NULL                    \
           ",'node':" TEXT_OR_NULL ",'card':" TEXT_OR_NULL)
#define HELD                                                                   \
    OBJECT("'id':" TEXT ",'name':" TEXT ",'owner':" TEXT ",'owner_name':" TEXT \
           ",'created':" TIME ",'expires_ms':" TIME_OR_NULL ",'held_ms':" TIME)
#define ORPHAN                                                                 \
    OBJECT("'node':" TEXT ",'instance':" TEXT ",'incarnation':" INT            \
           ",'state':" TEXT ",'cards':" LIST_OF(TEXT) ",'stop':" BOOL)
#define HELD_LIST LIST_OF(HELD)
#define ORPHAN_LIST LIST_OF(ORPHAN)
#define RESTORED                                                               \
    OBJECT("'restored_ms':" TIME_OR_NULL ",'observing':" BOOL                  \
           ",'keys':" HELD_LIST ",'sessions':" HELD_LIST                       \
           ",'orphans':" ORPHAN_LIST)
#define ROOM OBJECT("'free':" INT ",'largest':" INT)
#define MOVE                                                                   \
    OBJECT("'workload':" TEXT ",'name':" TEXT ",'project':" TEXT               \
           ",'cards':" INT ",'lost_milli_card_ms':" INT ",'grace_ms':" INT)
#define LEFT_LINE                                                              \
    OBJECT("'instance':" TEXT ",'workload':" TEXT ",'name':" TEXT              \
           ",'project':" TEXT ",'tenant':" TEXT ",'state':" TEXT               \
           ",'text':" TEXT)
#define LEFT_ON_NODE(items)                                                    \
    OBJECT("'node':" TEXT ",'state':" TEXT ",'items':" items)
#define HEALTH_READINGS                                                        \
    "{'type':['object','null']}"
#define ILL_SLICE                                                              \
    OBJECT("'slice':" TEXT ",'health':" TEXT ",'xid':" INT ",'meaning':" TEXT)
#define CARD_EVENT                                                             \
    OBJECT("'xid':" INT ",'meaning':" TEXT ",'pid':" INT_OR_NULL               \
           ",'slice':" INT_OR_NULL ",'first':" TIME ",'last':" TIME            \
           ",'count':" INT)
#define CARD_PAST OBJECT("'at':" TIME ",'health':" TEXT ",'reason':" TEXT)
#define CARD_HEALTH(slices, events, past)                                      \
    OBJECT("'id':" TEXT ",'node':" TEXT ",'name':" TEXT ",'health':" TEXT      \
           ",'reason':" TEXT ",'since':" TIME_OR_NULL                          \
           ",'looked':" TIME_OR_NULL ",'takes_work':" BOOL                     \
           ",'tolerated':" BOOL ",'stale':" BOOL ",'links_bad':" BOOL          \
           ",'clean':" INT ",'probes':" INT                                    \
           ",'manual':" HEALTH_READINGS ",'readings':" HEALTH_READINGS         \
           ",'slices':" slices ",'events':" events ",'past':" past             \
           ",'policy':" ANY_OBJECT)
#define HURT                                                                   \
    OBJECT("'health':" TEXT ",'reason':" TEXT ",'since':" TIME_OR_NULL         \
           ",'slice':" TEXT ",'model':" TEXT ",'workload_name':" TEXT          \
           ",'from':" TIME ",'binding':" TEXT ",'instance':" TEXT              \
           ",'workload':" TEXT ",'project':" TEXT ",'tenant':" TEXT            \
           ",'card':" TEXT ",'node':" TEXT)
#define SSO_START                                                              \
    OBJECT("'url':" TEXT ",'attempt':" TEXT ",'expires_ms':" TIME)
#define READY OBJECT("'ready':" BOOL ",'reason':" TEXT_OR_NULL)

static const struct openapi_answer answers[] = {
    { "GET", "/healthz", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/readyz", 200, JSON_TYPE, READY, 503 },
    { "GET", "/version", 200, JSON_TYPE,
      OBJECT("'version':" TEXT ",'api':" TEXT), 0 },
    { "GET", "/openapi.json", 200, JSON_TYPE, ANY_OBJECT, 0 },
    { "POST", "/first-admin", 201, JSON_TYPE, REF("user"), 0 },
    { "POST", "/agent/v1/enrol", 200, JSON_TYPE, ANY_OBJECT, 0 },
    { "POST", "/agent/v1/sync", 200, JSON_TYPE, ANY_OBJECT, 0 },
    { "GET", "/whoami", 200, JSON_TYPE,
      OBJECT("'id':" TEXT ",'kind':" TEXT ",'name':" TEXT
             ",'tenant':" TEXT_OR_NULL ",'tenant_name':" TEXT_OR_NULL
             ",'credential':" TEXT_OR_NULL ",'proved':" TIME_OR_NULL
             ",'expires':" TIME_OR_NULL ",'limit':" TEXT
             ",'second_factor':" BOOL ",'grants':" LIST_OF(GRANT_LINE)),
      0 },
    { "GET", "/rights", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(GRANT_LINE)), 0 },
    { "GET", "/who-can", 200, JSON_TYPE,
      OBJECT("'verb':" TEXT ",'more':" BOOL
             ",'items':" LIST_OF(
                 OBJECT("'subject':" TEXT ",'kind':" TEXT ",'name':" TEXT
                        ",'outcome':" TEXT ",'grant':" TEXT_OR_NULL))), 0 },
    { "GET", "/what-can", 200, JSON_TYPE,
      OBJECT("'subject':" TEXT ",'object':" TEXT
             ",'items':" LIST_OF(OBJECT("'verb':" TEXT ",'outcome':" TEXT
                                        ",'grant':" TEXT_OR_NULL))), 0 },
    { "GET", "/can-i", 200, JSON_TYPE,
      OBJECT("'allowed':" BOOL ",'outcome':" TEXT ",'verb':" TEXT
             ",'steps':" LIST_OF(OBJECT("'check':" TEXT ",'passed':" BOOL
                                        ",'object':" TEXT_OR_NULL
                                        ",'why':" TEXT))),
      0 },
    { "POST", "/logout", 204, NULL, NULL, 0 },
    { "POST", "/stepup", 204, NULL, NULL, 0 },
    { "POST", "/factor", 200, JSON_TYPE, OBJECT("'uri':" TEXT_OR_NULL), 0 },
    { "POST", "/factor/confirm", 200, JSON_TYPE,
      OBJECT("'recovery':" LIST_OF(TEXT)), 0 },
    { "POST", "/factor/recovery", 200, JSON_TYPE,
      OBJECT("'recovery':" LIST_OF(TEXT)), 0 },
    { "DELETE", "/factor", 204, NULL, NULL, 0 },
    { "POST", "/factor-reset", 204, NULL, NULL, 0 },
    { "POST", "/invitations/accept", 200, JSON_TYPE, REF("user"), 0 },
    { "POST", "/nodes/{node}/drain", 200, JSON_TYPE,
      LEFT_ON_NODE(LIST_OF(LEFT_LINE)), 0 },
    { "POST", "/nodes/{node}/fence", 200, JSON_TYPE,
      LEFT_ON_NODE(LIST_OF(LEFT_LINE)), 0 },
    { "POST", "/drain", 200, JSON_TYPE,
      OBJECT("'stopped':" INT ",'left':" INT ",'leaving':" INT), 0 },
    { "POST", "/password", 204, NULL, NULL, 0 },
    { "POST", "/secret", 204, NULL, NULL, 0 },
    { "POST", "/login/sso", 200, JSON_TYPE, SSO_START, 0 },
    { "POST", "/stepup/sso", 200, JSON_TYPE, SSO_START, 0 },
    { "POST", "/stepup/sso/callback", 204, NULL, NULL, 0 },
    { "POST", "/logout/sso/{identityprovider}", 200, JSON_TYPE,
      OBJECT("'ended':" INT), 0 },
    { "POST", "/clock", 200, JSON_TYPE, OBJECT("'confirmed_ms':" INT), 0 },
    { "GET", "/check", 200, JSON_TYPE,
      OBJECT("'clean':" BOOL ",'broken':" INT
             ",'items':" LIST_OF(OBJECT("'rule':" TEXT ",'object':" TEXT_OR_NULL
                                        ",'text':" TEXT)) ",'looked':" INTS),
      0 },
    { "GET", "/backup", 200, "application/octet-stream", NULL, 0 },
    { "GET", "/restore", 200, JSON_TYPE,
      RESTORED,
      0 },
    { "POST", "/restore/confirm", 200, JSON_TYPE,
      OBJECT("'observing':" BOOL), 0 },
    { "POST", "/restore/review", 200, JSON_TYPE, OBJECT("'count':" INT), 0 },
    { "POST", "/alarms/clear", 200, JSON_TYPE, OBJECT("'cleared':" TEXT), 0 },
    { "GET", "/defragment", 200, JSON_TYPE,
      OBJECT("'pool':" TEXT ",'wanted':" INT ",'before':" ROOM
             ",'after':{'anyOf':[" ROOM ",{'type':'null'}]}"
             ",'node':" TEXT_OR_NULL ",'moves':" LIST_OF(MOVE)
             ",'lost_milli_card_ms':" INT ",'text':" TEXT),
      0 },
    { "GET", "/metrics", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/capacity", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(OBJECT("'pool':" TEXT ",'class':" TEXT
                                       ",'total_cards':" INT
                                       ",'free_cards':" INT))),
      0 },
    { "GET", "/audit", 200, JSON_TYPE,
      OBJECT("'log':" TEXT ",'items':" LIST_OF(RECORD) ",'next':" INT
             ",'more':" BOOL ",'pruned':" INT),
      0 },
    { "GET", "/audit/checkpoint", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/audit/cosigned", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/audit/keys", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/audit/retention", 200, JSON_TYPE, RETENTION, 0 },
    { "POST", "/audit/retention", 200, JSON_TYPE, RETENTION, 0 },
    { "POST", "/audit/erase", 200, JSON_TYPE,
      OBJECT("'subject':" TEXT ",'below':" INT), 0 },
    { "POST", "/audit/rotate", 200, JSON_TYPE,
      OBJECT("'key':" TEXT_OR_NULL ",'rotations':" INT_OR_NULL), 0 },
    { "GET", "/audit/witness", 200, TEXT_TYPE, NULL, 0 },
    { "GET", "/audit/strangers", 200, JSON_TYPE,
      OBJECT("'dropped':" INT ",'items':" LIST_OF(
          OBJECT("'first':" TIME ",'last':" TIME ",'count':" INT
                 ",'ip':" TEXT_OR_NULL ",'verb':" TEXT ",'reason':" TEXT))),
      0 },
    { "GET", "/audit/heads", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(OBJECT("'origin':" TEXT ",'size':" INT
                                       ",'root':" TEXT))),
      0 },
    { "POST", "/audit/cosignatures", 200, JSON_TYPE, OBJECT("'kept':" INT),
      0 },
    { "GET", "/usage", 200, JSON_TYPE,
      OBJECT("'from':" TIME ",'to':" TIME ",'currency':" TEXT ",'names':" NAMES
             ",'items':" LIST_OF(USE)),
      0 },
    { "GET", "/workloads/{workload}/instances/{instance}/bindings", 0, NULL,
      NULL, 0 },
    { "GET", "/bindings", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(REF("binding")) ",'names':" NAMES
                                                ",'complete':" BOOL),
      0 },
    { "GET", "/interference", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(OBJECT(
          "'instance':" TEXT ",'workload':" TEXT_OR_NULL ",'resource':" TEXT
          ",'state':" TEXT ",'base':" INT ",'pace':" INT
          ",'index_milli':" INT ",'windows':" INT ",'since':" TIME_OR_NULL
          ",'cap':{'anyOf':[" OBJECT("'cpu_milli':" INT ",'io_kib':" INT
                                     ",'network_kib':" INT ",'until':" TIME
                                     ",'times':" INT) ",{'type':'null'}]}"
          ",'cause':" TEXT_OR_NULL ",'node':" TEXT)) ",'complete':" BOOL),
      0 },
    { "GET", "/impact", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(HURT) ",'complete':" BOOL), 0 },
    { "GET", "/cards/{card}/health", 200, JSON_TYPE,
      CARD_HEALTH(LIST_OF(ILL_SLICE), LIST_OF(CARD_EVENT), LIST_OF(CARD_PAST)),
      0 },
    { "POST", "/cards/{card}/health", 200, JSON_TYPE, REF("card"), 0 },
    { "GET", "/history", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(REF("workload")) ",'next':" TEXT_OR_NULL),
      0 },
    { "POST", "/cancel", 200, JSON_TYPE, REF("workload"), 0 },
    { "POST", "/take-off", 200, JSON_TYPE, REF("workload"), 0 },
    { "POST", "/raise", 200, JSON_TYPE, REF("quota"), 0 },
    { "POST", "/grant", 200, JSON_TYPE, REF("request"), 0 },
    { "POST", "/deny", 200, JSON_TYPE, REF("request"), 0 },
    { "POST", "/withdraw", 200, JSON_TYPE, REF("request"), 0 },
    { "GET", "/what-if", 200, JSON_TYPE, FORECAST, 0 },
    { "POST", "/hold", 200, JSON_TYPE, REF("workload"), 0 },
    { "POST", "/release", 200, JSON_TYPE, REF("workload"), 0 },
    { "GET", "/explain", 200, JSON_TYPE, EXPLAINED, 0 },
    { "GET", "/advice", 200, JSON_TYPE,
      OBJECT("'items':" LIST_OF(OBJECT(
          "'id':" TEXT ",'kind':" TEXT ",'object':" TEXT ",'text':" TEXT
          ",'guaranteed':" INT ",'used':" INT ",'recommended':" INT
          ",'free':" INT ",'largest':" INT
          ",'apply':{'type':['object','null']}"))),
      0 },
    { "POST", "/what-if", 200, JSON_TYPE, FORECAST, 0 },
    { "GET", "/log", 200, "application/octet-stream", NULL, 0 },
};

static const struct openapi_more mores[] = {
    { "POST", "/login", KIND_SESSION,
      "{'token':" TEXT ",'tenant':" TEXT_OR_NULL ",'limit':" TEXT "}" },
    { "POST", "/login/sso/callback", KIND_SESSION,
      "{'token':" TEXT ",'tenant':" TEXT_OR_NULL ",'user_name':" TEXT "}" },
    { "POST", "/apikeys", KIND_APIKEY,
      "{'key':{'type':['string','null'],'description':'the secret, shown "
      "once'}}" },
    { "POST", "/rotate", KIND_APIKEY,
      "{'key':{'type':['string','null'],'description':'the secret, shown "
      "once'}}" },
    { "POST", "/invitations", KIND_INVITATION,
      "{'token':{'type':['string','null'],'description':'the secret, shown "
      "once'}}" },
    { "POST", "/jointokens", KIND_JOINTOKEN,
      "{'token':{'type':['string','null'],'description':'the secret, shown "
      "once'}}" },
    { "GET", ROUTE_ROOT "/cards", KIND_CARD,
      "{'used_milli':" INT ",'held_milli':" INT ",'free_milli':" INT
      ",'takes_work':" BOOL ",'node':" TEXT ",'pool':" TEXT
      ",'slices':" TEXT
      ",'holders':" LIST_OF(OBJECT("'milli':" INT ",'memory_mib':" INT
                                   ",'binding':" TEXT ",'instance':" TEXT
                                   ",'workload':" TEXT ",'project':" TEXT
                                   ",'tenant':" TEXT)) "}" },
};

static bool
ends_with(const char *text, const char *end)
{
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

const struct openapi_answer *
openapi_answer_of(const struct route *route)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].method, route->method) == 0 &&
            ends_with(route->path, answers[i].end))
            return answers[i].status == 0 ? NULL : &answers[i];
    return NULL;
}

json_t *
openapi_answer_schema(const char *schema)
{
    scoped_buffer text = { 0 };
    for (const char *at = schema; *at != '\0'; at++)
        buffer_add_byte(&text, *at == '\'' ? '"' : (unsigned char)*at);
    json_t *value = json_loads(buffer_text(&text), 0, NULL);
    assert(value != NULL);
    return value;
}

const struct openapi_more *
openapi_more_of(const struct route *route)
{
    for (size_t i = 0; i < sizeof mores / sizeof *mores; i++)
        if (strcmp(mores[i].method, route->method) == 0 &&
            ends_with(route->path, mores[i].end))
            return &mores[i];
    return NULL;
}
