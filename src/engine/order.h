/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ENGINE_ORDER_H
#define ENGINE_ORDER_H

#include <jansson.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "core/report.h"

/*
 * What should a node be doing?  The control plane's answer to a sync: the
 * whole desired state of the node, never a difference, so that an agent that
 * missed any number of orders is right after the next one.
 *
 * {"protocol", "node", "now_ms", "serial", "revision", "same",
 *  "instances": [{"instance", "incarnation", "tenant", "want":
 *     "run"|"notice"|"stop", "reason", "deadline_ms", "cards": ["UUID"...],
 *     "cap": {"cpu_milli", "io_kib", "network_kib"}, absent: none;
 *     "gang": null | engine/gang.h, "start": null | {...}}],
 *  "volumes": [{"volume", "tenant", "size_mib", "remove": bool}],
 *  "scrubs": ["UUID"...],        cards and scrubs: engine/part.h
 *  "logs": [{"request", "instance", "incarnation", "offset", "max",
 *            "wait_ms"}]}
 *
 * revision  a digest of instances, volumes and scrubs.  same: they are as in
 *           the revision that the agent knows, and left out.
 * serial    rises with every order of one run of the control plane: of two
 *           answers on the way at the same time, the higher is the newer.
 * now_ms    the control plane's time: the agent counts deadlines by the
 *           distance to it.
 * gang      of an elastic gang, what its instances are told when it changes.
 * start     the fields of the runner's start (engine/runner_request.h) but
 *           instance, incarnation and tenant; image.digest may be absent, then
 *           the image's first manifest is meant.  null: it runs already, or
 *           it comes with a later order, since one order holds no more than
 *           ORDER_STARTS_MAX bytes of starts.
 *
 * A refusal has a status other than 200 and {"protocol", "code", "text",
 * "floor", "challenge"}: floor when the sequence must be above it (else -1),
 * challenge when a new boot must repeat it (else "").
 */

#define ORDER_INSTANCES_MAX 1024
#define ORDER_VOLUMES_MAX 1024
#define ORDER_SCRUBS_MAX 256
#define ORDER_LOGS_MAX 4
#define ORDER_SIZE_MAX ((size_t)1024 * 1024)
#define ORDER_STARTS_MAX ((size_t)512 * 1024)
#define ORDER_CARDS_MAX 64
#define ORDER_REVISION_MAX 65

enum order_want { ORDER_RUN, ORDER_NOTICE, ORDER_STOP };

struct order_instance {
    const char *instance;
    int64_t incarnation;
    int64_t tenant; /* number; 0: nobody's, to be stopped */
    enum order_want want;
    const char *reason;  /* of notice and stop */
    int64_t deadline_ms; /* notice: stop after it, control plane's time */
    const char *const *cards; /* that it is bound to */
    size_t card_count;
    const json_t *gang;  /* an object, borrowed; NULL: it stays as it is */
    const json_t *start; /* an object, borrowed; NULL: not in this order */
    struct report_cap cap; /* all 0: none */
};

struct order_volume {
    const char *volume;
    int64_t tenant;
    int64_t size_mib;
    bool remove;
};

struct order_log {
    int64_t request;
    const char *instance;
    int64_t incarnation;
    int64_t offset;
    int64_t max;
    int64_t wait_ms; /* follow: wait so long for a first byte */
};

struct order {
    const char *node;
    int64_t now_ms;
    int64_t serial;
    const char *revision;
    bool same;
    const struct order_instance *instances;
    size_t instance_count;
    const struct order_volume *volumes;
    size_t volume_count;
    const char *const *scrubs;
    size_t scrub_count;
    const struct order_log *logs;
    size_t log_count;
};

struct order_refusal {
    enum error_code code;
    const char *text;
    int64_t floor;
    const char *challenge;
};

/* The digest of instances, volumes and scrubs. */
void order_revision(const struct order *order,
                    char revision[ORDER_REVISION_MAX]);
/* Appends canonical JSON; with order->same the lists are left out. */
void order_write(struct buffer *out, const struct order *order);
/* Strict.  The start objects belong to *document_out, which the caller
 * releases; all texts live in the arena. */
int order_parse(struct arena *arena, const char *bytes, size_t size,
                json_t **document_out, struct order *order_out,
                struct error *err);

void order_refusal_write(struct buffer *out,
                         const struct order_refusal *refusal);
int order_refusal_parse(struct arena *arena, const char *bytes, size_t size,
                        struct order_refusal *refusal_out,
                        struct error *err);

#endif
