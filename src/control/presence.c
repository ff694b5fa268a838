/* SPDX-License-Identifier: Apache-2.0 */
#include "control/presence.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"

static int
refuse(struct order_refusal *out, enum error_code code, const char *text,
       int64_t floor, const char *challenge)
{
    *out = (struct order_refusal){ .code = code,
                                   .text = text,
                                   .floor = floor,
                                   .challenge = challenge };
    return -1;
}

static int
ask(struct presence *presence, struct order_refusal *out)
{
    uint8_t bytes[MESSAGE_CHALLENGE_MAX / 2];

    if (presence->challenge[0] == '\0') {
        random_bytes(bytes, sizeof(bytes));
        hex_encode(bytes, sizeof(bytes), presence->challenge);
    }
    return refuse(out, ERROR_UNAUTHENTICATED,
                  "this boot is not known: repeat the challenge", -1,
                  presence->challenge);
}

static bool
is_answer(const struct presence *presence, const char *challenge)
{
    size_t size = strlen(presence->challenge);

    return size > 0 && strlen(challenge) == size &&
           secret_compare(presence->challenge, challenge, size) == 0;
}

int
presence_admit(struct presence *presence, const struct node *node,
              const struct message_envelope *envelope, const char *challenge,
              struct order_refusal *refusal_out)
{
    bool fresh = strcmp(envelope->boot, node->boot) != 0;
    int64_t floor = presence->heard ? presence->sequence : node->sequence;

    if (envelope->epoch != node->epoch)
        return refuse(refusal_out, ERROR_UNAUTHENTICATED,
                      "the node was enrolled anew", -1, "");
    if (fresh && !is_answer(presence, challenge))
        return ask(presence, refusal_out);
    if (!fresh && envelope->sequence <= floor)
        return refuse(refusal_out, ERROR_CONFLICT,
                      "the sequence was used before", floor, "");
    presence->ready = presence->ready && !fresh;
    presence->heard = true;
    presence->sequence = envelope->sequence;
    presence->challenge[0] = '\0';
    return 0;
}

bool
presence_is_due(const struct node *node,
               const struct message_envelope *envelope)
{
    return strcmp(envelope->boot, node->boot) != 0 ||
           envelope->sequence > node->sequence;
}

void
presence_store(struct node *node, const struct message_envelope *envelope)
{
    (void)snprintf(node->boot, sizeof(node->boot), "%s", envelope->boot);
    node->sequence = envelope->sequence + PRESENCE_RESERVE;
}
