/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_JOB_H
#define CLI_JOB_H

#include "cli/cli.h"

/*
 * What does somebody want to run?  From the words and files that people write
 * to the body that the API takes for a workload (core/manifest.h says what a
 * spec may hold).
 */

/* Each sets its field of the body or spec from what people write. */
int job_class(const char *text, json_t *body);     /* NAME[,NAME...] */
int job_instances(const char *text, json_t *body,  /* N or N..MOST */
                  struct error *err);
int job_topology(const char *text, json_t *spec);  /* LEVEL[:MODE] */
int job_spread(const char *text, json_t *spec);    /* LEVEL[:MOST][:MODE] */
int job_requires(const char *text, json_t *spec, /* FACT=TEXT, or bounds */
                 struct error *err);              /* FACT=LEAST..BELOW */
int job_volume(const char *text, json_t *volumes,  /* NAME:PATH[:ro] */
               struct error *err);

/*
 * The manifests in a file, JSON or YAML (document.h), as a new array of
 * bodies.  A manifest has the fields of a workload and, beside them, those of
 * its spec ("command", "env", ...), amounts as people write them ("cpu": 1.5,
 * "memory": 4g, "accel_memory": 40g, "max_run": 2h, "grace": 30s),
 * "instances": 2..4, "volumes": [data:/data:ro], "topology": node,
 * "spread": node:1, "class": one or a list.  What it does not know is left to
 * the server to refuse.  ERROR_INVALID names file, document, field.
 */
int job_read(const char *path, json_t **bodies_out, struct error *err);

#endif
