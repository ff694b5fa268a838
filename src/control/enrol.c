/* SPDX-License-Identifier: Apache-2.0 */
#include "control/enrol.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"
#include "base/sign.h"
#include "control/presence.h"
#include "identity/token.h"

static int
refuse(struct error *err)
{
    return error_set(err, ERROR_UNAUTHENTICATED,
                     "the join token is not valid for this node");
}

/* The repetition of an enrolment whose answer was lost. */
static bool
is_repeated(const struct node *node, const struct message_enrol *message)
{
    return node != NULL && memcmp(node->public_key, message->public_key,
                                  SIGN_PUBLIC_SIZE) == 0;
}

static struct node *
make_node(struct changes *changes, struct ref present, struct ref pool,
          const char *name)
{
    struct node *node;

    if (!ref_is_none(present))
        return change_update(changes, present);
    node = change_create(changes, KIND_NODE, pool, name);
    node->state = NODE_SCHEDULABLE;
    return node;
}

static struct ref
enrol(struct changes *changes, struct ref token_ref, struct ref present,
      const struct message_enrol *message,
      const struct message_envelope *envelope)
{
    struct jointoken *token = change_update(changes, token_ref);
    struct node *node = make_node(changes, present, token->object.parent,
                                  token->node);

    token->used_ms = changes->context.now_ms;
    memcpy(node->public_key, message->public_key, SIGN_PUBLIC_SIZE);
    node->epoch++;
    presence_store(node, envelope);
    /* The first message after this one is above the enrolment's. */
    node->sequence = envelope->sequence;
    return node->object.self;
}

int
enrol_node(struct changes *changes, const struct message_enrol *message,
           const struct message_envelope *envelope, struct ref *node_out,
           struct error *err)
{
    const struct world *world = changes->world;
    const struct jointoken *token;
    struct ref token_ref, present;
    struct digest digest;
    enum token_type type;

    if (token_parse(message->token, &type, err) != 0 || type != TOKEN_ENROL)
        return refuse(err);
    token_digest(message->token, &digest);
    token_ref = world_find_digest(world, KIND_JOINTOKEN, digest.bytes);
    token = world_jointoken(world, token_ref);
    if (token == NULL || strcmp(token->node, message->node) != 0)
        return refuse(err);
    present = world_find_name(world, KIND_NODE, token->object.parent,
                              token->node);
    if (token->used_ms != 0) {
        if (!is_repeated(world_node(world, present), message))
            return refuse(err);
        *node_out = present;
        return 0;
    }
    if (token->expires_ms != 0 &&
        changes->context.now_ms >= token->expires_ms)
        return refuse(err);
    *node_out = enrol(changes, token_ref, present, message, envelope);
    return 0;
}
