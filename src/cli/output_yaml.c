/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/output.h"

#include <string.h>
#include <yaml.h>

static void
yaml_put(yaml_emitter_t *emitter, yaml_event_t *event, int ok)
{
    if (ok)
        (void)yaml_emitter_emit(emitter, event);
}

static void
yaml_scalar(yaml_emitter_t *emitter, const char *text,
            yaml_scalar_style_t style)
{
    yaml_event_t event;

    yaml_put(emitter, &event,
             yaml_scalar_event_initialize(
                 &event, NULL, NULL, (const yaml_char_t *)text,
                 (int)strlen(text), 1, 1, style));
}

/* Lines stay lines where no character of them drives a terminal: those are
 * escaped, which only quotes allow. */
static yaml_scalar_style_t
style_of(const char *text)
{
    if (strchr(text, '\n') == NULL)
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    for (const char *at = text; *at != '\0'; at++)
        if ((*at < ' ' || *at > '~') && *at != '\n' && *at != '\t')
            return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_LITERAL_SCALAR_STYLE;
}

static void
yaml_value(yaml_emitter_t *emitter, const json_t *value)
{
    yaml_event_t event;
    scoped_buffer text = { 0 };
    const char *key;
    json_t *item;
    size_t i;

    if (json_is_object(value)) {
        yaml_put(emitter, &event,
                 yaml_mapping_start_event_initialize(
                     &event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE));
        json_object_foreach((json_t *)(uintptr_t)value, key, item) {
            yaml_scalar(emitter, key, YAML_PLAIN_SCALAR_STYLE);
            yaml_value(emitter, item);
        }
        yaml_put(emitter, &event, yaml_mapping_end_event_initialize(&event));
    } else if (json_is_array(value)) {
        yaml_put(emitter, &event,
                 yaml_sequence_start_event_initialize(
                     &event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE));
        json_array_foreach(value, i, item)
            yaml_value(emitter, item);
        yaml_put(emitter, &event, yaml_sequence_end_event_initialize(&event));
    } else if (json_is_string(value)) {
        yaml_scalar(emitter, json_string_value(value),
                    style_of(json_string_value(value)));
    } else {
        json_write(&text, value);
        yaml_scalar(emitter, buffer_text(&text), YAML_PLAIN_SCALAR_STYLE);
    }
}

static int
keep_yaml(void *data, unsigned char *bytes, size_t size)
{
    buffer_add(data, bytes, size);
    return 1;
}

void
output_yaml(struct buffer *text, const json_t *value)
{
    yaml_emitter_t emitter;
    yaml_event_t event;

    if (!yaml_emitter_initialize(&emitter))
        return;
    yaml_emitter_set_output(&emitter, keep_yaml, text);
    yaml_emitter_set_unicode(&emitter, 1);
    yaml_put(&emitter, &event,
             yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING));
    yaml_put(&emitter, &event,
             yaml_document_start_event_initialize(&event, NULL, NULL, NULL,
                                                  1));
    yaml_value(&emitter, value);
    yaml_put(&emitter, &event,
             yaml_document_end_event_initialize(&event, 1));
    yaml_put(&emitter, &event, yaml_stream_end_event_initialize(&event));
    yaml_emitter_delete(&emitter);
}
