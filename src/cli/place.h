/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "cli/cli.h"
#include "core/schema.h"

/*
 * Which path has the objects of a kind?  The deepest node that the user named
 * (--project, --unit, --tenant, or the context) and that can hold the kind;
 * --level platform|tenant|unit|project picks another.
 */

/* The options that place a node of the tree, for command tables. */
#define PLACE_NODE_OPTIONS                                                    \
    { "level", 0, "LEVEL",                                                    \
      "platform, tenant, unit or project instead of the deepest known" },     \
        { "unit", 0, "NAME", "organizational unit" }
/* And those that place an object of any kind. */
#define PLACE_OPTIONS                                                         \
    PLACE_NODE_OPTIONS,                                                       \
        { "pool", 0, "NAME", "pool (for nodes and join tokens)" },            \
        { "node", 0, "NAME", "node (for cards)" },                            \
        { "user", 0, "NAME", "user (for keys and sessions)" },                \
        { "serviceaccount", 0, "NAME", "service account (for keys)" },        \
        { "group", 0, "NAME", "group (for members)" },                        \
        { "workload", 'w', "NAME", "workload (for instances)" },              \
        { "workorder", 0, "NAME", "work order (for its documents)" }

/* The kind that a noun names, singular or plural. */
int place_kind(const char *noun, enum kind *kind_out, struct error *err);
/* Path of the collection, percent-encoded. */
int place_collection(const struct cli *cli, enum kind kind,
                     const char **path_out, struct error *err);
/* Path of one object by name or id. */
int place_object(const struct cli *cli, enum kind kind, const char *name,
                 const char **path_out, struct error *err);
/* The id of a user, service account or group that is named as NAME, KIND/NAME or by
 * its id, looked for from the deepest node that was named outwards. */
int place_subject(const struct cli *cli, const char *text,
                  const char **id_out, struct error *err);
/* The path of the node that was named (for reports), "" for the platform. */
int place_node(const struct cli *cli, const char **path_out,
               struct error *err);

#endif
