/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/digest.h"
#include "base/file.h"
#include "cli/audit_log.h"
#include "cli/client.h"
#include "cli/command.h"
#include "cli/output.h"
#include "core/checkpoint.h"
#include "identity/audit_dir.h"

/* --- lines --- */

static int
decode(struct arena *arena, const json_t *item, const char *name,
       const void **bytes_out, size_t *size_out, struct error *err);

enum line_form { LINE_JSON, LINE_OCSF };

static int
line_form(const struct cli *cli, enum line_form *out, struct error *err)
{
    const char *text = cli_option(cli, "format");

    *out = text != NULL && strcmp(text, "ocsf") == 0 ? LINE_OCSF : LINE_JSON;
    return text == NULL || strcmp(text, "ocsf") == 0 ||
                   strcmp(text, "jsonl") == 0
               ? 0
               : error_field(err, "--format",
                             "\"%.40s\" is not jsonl or ocsf", text);
}

/* From the bytes that the log's hashes are of. */
static int
print_ocsf(const json_t *item, struct error *err)
{
    scoped_arena arena = arena_new();
    scoped_buffer line = { 0 };
    const void *entry, *person;
    size_t size, person_size;
    struct record record;

    if (json_is_null(json_object_get(item, "entry")))
        return 0; /* pruned: there is nothing to say but a hash */
    if (decode(arena, item, "entry", &entry, &size, err) != 0 ||
        decode(arena, item, "personal", &person, &person_size, err) != 0 ||
        record_decode(entry, size, person, person_size, &record, err) != 0)
        return -1;
    record_add_ocsf(&line, &record);
    (void)fwrite(line.bytes, 1, line.size, stdout);
    return 0;
}

static int
print_item(const json_t *item, enum line_form form, struct error *err)
{
    scoped_buffer line = { 0 };

    if (form == LINE_OCSF)
        return print_ocsf(item, err);
    json_write(&line, item);
    (void)printf("%s\n", line.bytes);
    return 0;
}

static int
get_page(const struct cli *cli, int64_t from, enum line_form form,
         json_t **out, struct error *err)
{
    scoped_buffer path = { 0 };

    buffer_printf(&path, "%s?from=%lld&limit=%d%s", audit_log_path(cli),
                  (long long)from, AUDIT_LOG_PAGE,
                  form == LINE_OCSF ? "&raw=1" : "");
    audit_log_add_search(cli, &path);
    return client_get(cli, path.bytes, out, err);
}

/* All records, or those that are searched for, one JSON object a line. */
static int
print_lines(struct cli *cli, struct error *err)
{
    enum line_form form;
    int64_t from;
    bool more = true;

    if (cli_option_int(cli, "from", 0, INT64_MAX / 4, 0, &from, err) != 0 ||
        line_form(cli, &form, err) != 0)
        return -1;
    while (more) {
        scoped_json answer = NULL;
        json_t *item;
        size_t i;

        if (get_page(cli, from, form, &answer, err) != 0)
            return -1;
        json_array_foreach(json_object_get(answer, "items"), i, item)
            if (print_item(item, form, err) != 0)
                return -1;
        from = json_integer_value(json_object_get(answer, "next"));
        more = json_is_true(json_object_get(answer, "more"));
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED, "interrupted");
    }
    return 0;
}

/* --- files that can be verified --- */

struct copy {
    struct audit_dir files;
    struct buffer note;     /* the signed head */
    struct checkpoint head; /* what it says */
    uint64_t added, without_person;
    uint64_t pruned; /* below this the server has hashes alone */
};

/* The signed head says how the log is called and how far to go: what came
 * behind it is not vouched for yet, and comes with the next export. */
static int
read_head(const struct cli *cli, struct copy *copy, struct error *err)
{
    const char *path =
        arena_printf(cli->arena, "%s/checkpoint", audit_log_path(cli));
    scoped_answer answer = { 0 };
    size_t used;

    if (client_get_text(cli, path, &answer, err) != 0)
        return -1;
    if (checkpoint_parse(buffer_text(&answer.body), answer.body.size,
                         &copy->head, &used, err) != 0)
        return error_prefix(err, "the signed head");
    buffer_clear(&copy->note);
    buffer_add(&copy->note, answer.body.bytes, used);
    return 0;
}

/* Bytes of a member, NULL when it is not there. */
static int
decode(struct arena *arena, const json_t *item, const char *name,
       const void **bytes_out, size_t *size_out, struct error *err)
{
    const char *text = json_string_value(json_object_get(item, name));
    size_t size = text != NULL ? strlen(text) : 0;
    unsigned char *bytes = arena_alloc(arena, size + 1);
    int decoded = base64_decode(text != NULL ? text : "", size, bytes, size);

    if (decoded < 0)
        return error_set(err, ERROR_VERIFY, "%s of a record is not base64",
                         name);
    *bytes_out = bytes;
    *size_out = (size_t)decoded;
    return 0;
}

/* Of a record that was pruned, the hash of its leaf. */
static int
take_leaf(struct arena *arena, const json_t *item, struct audit_entry *entry,
          struct error *err)
{
    const char *text = json_string_value(json_object_get(item, "leaf"));
    struct digest *leaf = arena_alloc(arena, sizeof(*leaf));

    if (text == NULL || digest_parse(text, leaf) != 0)
        return error_set(err, ERROR_VERIFY, "the hash of a pruned record is "
                                            "not one");
    *entry = (struct audit_entry){ .leaf = leaf };
    return 0;
}

static int
take_item(struct copy *copy, struct arena *arena, const json_t *item,
          uint64_t index, struct audit_entry *entry, struct error *err)
{
    if (index < copy->pruned &&
        json_is_null(json_object_get(item, "entry")))
        return take_leaf(arena, item, entry, err);
    if (decode(arena, item, "entry", &entry->entry, &entry->size, err) != 0 ||
        decode(arena, item, "personal", &entry->personal,
               &entry->personal_size, err) != 0)
        return -1;
    copy->without_person += entry->personal_size == 0;
    return 0;
}

/* What is pruned is laid down in whole bundles. */
static size_t
whole_bundles(const struct copy *copy, uint64_t from, size_t count)
{
    size_t over = (size_t)((from + count) % MERKLE_TILE_WIDTH);

    return from + count < copy->pruned && over < count ? count - over : count;
}

/* One page, up to the signed head. */
static int
lay_down(struct copy *copy, const json_t *items, struct error *err)
{
    scoped_arena arena = arena_new();
    struct audit_entry entries[AUDIT_LOG_PAGE];
    uint64_t from = copy->files.tree.size;
    size_t count = 0;
    json_t *item;
    size_t i;

    json_array_foreach(items, i, item) {
        struct audit_entry *entry = &entries[count];
        int64_t position =
            json_integer_value(json_object_get(item, "position"));

        if (from + count >= copy->head.size || count == AUDIT_LOG_PAGE)
            break;
        if (position != (int64_t)(from + count))
            return error_set(err, ERROR_VERIFY, "record %" PRIu64
                             " is missing", from + count);
        if (take_item(copy, arena, item, from + count, entry, err) != 0)
            return -1;
        count++;
    }
    count = whole_bundles(copy, from, count);
    copy->added += count;
    return audit_dir_append(&copy->files, from, entries, count, err);
}

/* What witnesses cosigned of this log, and whom the signer's key handed over
 * to. */
static int
fetch_vouchers(const struct cli *cli, const struct copy *copy,
               struct error *err)
{
    const char *base = audit_log_path(cli);
    scoped_answer cosigned = { 0 }, keys = { 0 };
    scoped_buffer path = { 0 };

    if (client_get_text(cli, arena_printf(cli->arena, "%s/cosigned", base),
                        &cosigned, err) != 0 ||
        client_get_text(cli, arena_printf(cli->arena, "%s/keys", base), &keys,
                        err) != 0 ||
        (keys.body.size > 0 &&
         audit_dir_put_rotations(cli->words[0], &keys.body, err) != 0))
        return -1;
    if (cosigned.body.size == 0)
        return 0;
    buffer_printf(&path, "%s/cosigned", copy->files.path);
    return file_write(path.bytes, cosigned.body.bytes, cosigned.body.size,
                      0640, err);
}

/* All records up to the signed head. */
static int
fetch_records(const struct cli *cli, struct copy *copy, struct error *err)
{
    if (copy->files.tree.size > copy->head.size)
        return error_set(err, ERROR_VERIFY,
                         "%" PRIu64 " records are in the directory, the "
                         "server's signed head has %" PRIu64,
                         copy->files.tree.size, copy->head.size);
    while (copy->files.tree.size < copy->head.size) {
        uint64_t before = copy->files.tree.size;
        scoped_json page = NULL;

        if (audit_log_page(cli, (int64_t)before, AUDIT_LOG_PAGE, true, &page,
                           err) != 0)
            return -1;
        copy->pruned = (uint64_t)json_integer_value(
            json_object_get(page, "pruned"));
        if (lay_down(copy, json_object_get(page, "items"), err) != 0)
            return -1;
        if (copy->files.tree.size == before)
            return error_set(err, ERROR_VERIFY,
                             "the server has %" PRIu64 " records, its signed "
                             "head %" PRIu64,
                             before, copy->head.size);
        if (cli_interrupted())
            return error_set(err, ERROR_INTERRUPTED,
                             "interrupted; another export goes on from here");
    }
    return 0;
}

static int
fetch(const struct cli *cli, struct copy *copy, struct error *err)
{
    if (fetch_records(cli, copy, err) != 0)
        return -1;
    /* What was pruned meanwhile is explained by a record that was signed
     * before: up to the head of now that is there. */
    if (copy->pruned > 0 && (read_head(cli, copy, err) != 0 ||
                             fetch_records(cli, copy, err) != 0))
        return -1;
    /* Here it shows whether these are the records that were signed. */
    if (audit_dir_add_checkpoint(&copy->files, copy->note.bytes,
                                 copy->note.size, err) != 0)
        return -1;
    return fetch_vouchers(cli, copy, err);
}

static void
tell(const struct cli *cli, const struct copy *copy)
{
    if (cli->quiet)
        return;
    output_line("%s: %" PRIu64 " records, %" PRIu64 " of them new",
                copy->head.origin, copy->head.size, copy->added);
    if (copy->pruned > 0)
        output_line("those below %" PRIu64 " are pruned: of what is new there "
                    "only hashes came",
                    copy->pruned);
    if (copy->without_person > 0)
        output_line("%" PRIu64 " came without their personal part: it was "
                    "erased, or the right audit.personal is missing",
                    copy->without_person);
    output_line("check it anywhere: bulkhead audit verify %s --key KEY",
                cli->words[0]);
}

/* Files have all records, or nobody could tell what is missing. */
static int
check_whole(const struct cli *cli, struct error *err)
{
    static const char *const lines[] = { "from",     "format", "actor",
                                         "object",   "verb",   "decision",
                                         "since",    "until",  NULL };

    for (size_t i = 0; lines[i] != NULL; i++)
        if (cli_has(cli, lines[i]))
            return error_field(err, lines[i],
                               "--%s is for lines: files have every record, "
                               "or nobody could tell what is missing",
                               lines[i]);
    return 0;
}

static int
write_files(struct cli *cli, struct error *err)
{
    struct copy copy = { .added = 0 };
    int result;

    if (check_whole(cli, err) != 0)
        return -1;
    if (read_head(cli, &copy, err) != 0)
        return -1;
    result = audit_dir_open(&copy.files, cli->words[0], copy.head.origin, err);
    if (result == 0) {
        result = fetch(cli, &copy, err);
        audit_dir_close(&copy.files);
    }
    if (result == 0)
        tell(cli, &copy);
    buffer_release(&copy.note);
    return result;
}

static int
export_log(struct cli *cli, struct error *err)
{
    return cli->word_count > 0 ? write_files(cli, err)
                               : print_lines(cli, err);
}

static const struct command_option options[] = {
    { "format", 0, "FORM", "of lines: jsonl, or ocsf (API Activity)" },
    { "from", 0, "N", "position to begin at (lines alone)" },
    AUDIT_LOG_SEARCH,
    { 0 },
};

const struct command command_audit_export = {
    .verb = "audit",
    .noun = "export",
    .words = "[DIR]",
    .help = "Copy a whole log: as files that can be verified, or as lines.",
    .more = "The tenant's log, or the platform's where no tenant is given. "
            "With DIR up to its\nnewest signed head, as files for `audit "
            "verify` and `audit prove`, which need no\nserver; the same DIR "
            "takes several logs, and an export again adds what is new.\n"
            "Without DIR records are printed, one JSON object a line: all, or those that "
            "are\nsearched for; --format ocsf makes events of the Open "
            "Cybersecurity Schema Framework.",
    .options = options,
    .words_max = 1,
    .run = export_log,
};
