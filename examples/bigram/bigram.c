/* SPDX-License-Identifier: Apache-2.0 */

/*
 * bigram: which word follows which, learned exactly from a folder of texts.
 *
 * A workload to run: it takes real input, works for as long as --pace-ms
 * makes it, checkpoints when the platform says that its cards are wanted, and
 * resumes.  It needs nothing but a kernel (static, libc and libm only).
 *
 * Pass 0 counts words, the most frequent become the vocabulary; passes 1 to
 * --repeat count which word follows which.  A step is one block of one file.
 * The counts and the step are the whole state, so a checkpoint at any step
 * leads to the same model, byte for byte, as a run that never stopped.
 *
 * Environment: BULKHEAD_CHECKPOINT_DIR (none: no checkpoints),
 * BULKHEAD_NOTICE_FILE (/run/bulkhead/notice.json).  A notice, SIGUSR1 or
 * SIGTERM makes it write a checkpoint and exit with 75, "try again".
 * Exit: 0 done, 1 failed, 2 wrong usage, 75 stopped with a checkpoint.
 *
 * In the checkpoint directory: state.bin (counts), checkpoint.json {"step": N}
 * (renamed into place when state.bin is durable) and work (one byte for each
 * step ever done, so that work done twice shows).  They go when the model is
 * durable.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/bigram/model.h"
#include "examples/bigram/stream.h"
#include "examples/bigram/words.h"

#define EXIT_STOPPED 75
#define WORDS_MAX ((size_t)262144) /* distinct words that are counted */
#define SLOTS (2 * WORDS_MAX)
#define FILES_MAX 65536u
#define DEPTH_MAX 8
#define STATE_MAGIC 0x31544154534d4742u /* "BGMSTAT1" */

struct options {
    const char *texts, *out, *generate, *prompt;
    uint64_t vocab, repeat, step_bytes, pace_ms, every, tokens;
};

struct text {
    char *path; /* below the folder */
    uint64_t size;
    uint64_t first; /* step of a pass at which it begins */
};

struct run {
    const struct options *options;
    const char *checkpoint_directory, *notice_path;
    struct text *texts;
    size_t text_count;
    int directory_fd;     /* the folder of texts */
    int text_fd;          /* the text at text_index, -1: none open */
    size_t text_index;
    uint64_t fingerprint; /* of names and sizes */
    uint64_t pass_steps, steps, step, resumed_at, work;
    struct word word;  /* the part seen of a word that a block cuts */
    uint64_t previous; /* id of the word before it */
    uint64_t dropped;  /* words met when the table was full */
    struct entry *entries;
    size_t entry_count, entry_room;
    uint32_t *slots;  /* index into entries plus 1, 0: free */
    uint64_t *counts; /* [previous * vocab + next] */
};

static volatile sig_atomic_t told_to_stop;

static void
on_signal(int number)
{
    (void)number;
    told_to_stop = 1;
}

/* ---- words ---- */

static struct entry *
table_find(struct run *run, const struct word *word, uint32_t *slot_out)
{
    uint64_t sum = sum_bytes(SUM_START, word->bytes, word->size);
    uint32_t slot = (uint32_t)((sum ^ sum >> 32) % SLOTS);

    for (; run->slots[slot] != 0; slot = (slot + 1) % (uint32_t)SLOTS) {
        struct entry *entry = &run->entries[run->slots[slot] - 1];

        if (entry->size == word->size &&
            memcmp(entry->word, word->bytes, word->size) == 0)
            return entry;
    }
    *slot_out = slot;
    return NULL;
}

static void
table_add(struct run *run, const struct word *word, uint64_t count)
{
    uint32_t slot = 0;
    struct entry *entry = table_find(run, word, &slot);

    if (entry != NULL) {
        entry->count += count;
        return;
    }
    if (run->entry_count == WORDS_MAX) {
        run->dropped++;
        return;
    }
    if (run->entry_count == run->entry_room) {
        run->entry_room = run->entry_room > 0 ? 2 * run->entry_room : 1024;
        run->entries = grow(run->entries, run->entry_room, sizeof(*entry));
    }
    entry = &run->entries[run->entry_count++];
    *entry = (struct entry){ .count = count, .size = (uint8_t)word->size };
    memcpy(entry->word, word->bytes, word->size);
    run->slots[slot] = (uint32_t)run->entry_count;
}

static int
by_count(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return strcmp(x->word, y->word);
}

/* From here on an entry's index gives the word's id. */
static void
choose_vocabulary(struct run *run)
{
    struct entry *all = run->entries;
    size_t count = run->entry_count, most = run->options->vocab - FIRST_WORD;

    qsort(all, count, sizeof(*all), by_count);
    memset(run->slots, 0, SLOTS * sizeof(*run->slots));
    run->entries = NULL;
    run->entry_count = run->entry_room = 0;
    for (size_t i = 0; i < count && i < most; i++) {
        struct word word = { .size = all[i].size };

        memcpy(word.bytes, all[i].word, word.size);
        table_add(run, &word, all[i].count);
    }
    free(all);
    run->counts = grow(NULL, run->options->vocab * run->options->vocab,
                       sizeof(*run->counts));
    memset(run->counts, 0, run->options->vocab * run->options->vocab *
                               sizeof(*run->counts));
}

/* An unknown word is never foretold: it is only something that came before. */
static void
take_word(void *data, const struct word *word)
{
    struct run *run = data;
    struct entry *entry = NULL;
    uint32_t slot;
    uint64_t id = UNKNOWN;

    if (run->step < run->pass_steps) {
        if (!word->bad)
            table_add(run, word, 1);
        return;
    }
    if (!word->bad)
        entry = table_find(run, word, &slot);
    if (entry != NULL) {
        id = FIRST_WORD + (uint64_t)(entry - run->entries);
        run->counts[run->previous * run->options->vocab + id]++;
    }
    run->previous = id;
}

/* ---- texts ---- */

static int
by_path(const void *a, const void *b)
{
    const struct text *x = a, *y = b;

    return strcmp(x->path, y->path);
}

static void find_texts(struct run *run, const char *below, int depth);

static void
find_text(struct run *run, const char *path, int depth)
{
    struct stat status;

    if (fstatat(run->directory_fd, path, &status, AT_SYMLINK_NOFOLLOW) != 0)
        die("%s: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        find_texts(run, path, depth + 1);
    if (!S_ISREG(status.st_mode) || status.st_size == 0)
        return;
    if (run->text_count == FILES_MAX)
        die("more than %u files under the folder of texts", FILES_MAX);
    if ((run->text_count & (run->text_count - 1)) == 0)
        run->texts = grow(run->texts, 2 * run->text_count + 1,
                          sizeof(*run->texts));
    run->texts[run->text_count++] = (struct text){
        .path = strdup(path), .size = (uint64_t)status.st_size
    };
}

/* Links are not followed: no text counts twice and none lies elsewhere. */
static void
find_texts(struct run *run, const char *below, int depth)
{
    int fd = openat(run->directory_fd, below,
                    O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *directory = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *item;
    char path[PATH_MAX];

    if (directory == NULL)
        die("%s: %s", below, strerror(errno));
    if (depth > DEPTH_MAX)
        die("%s: folders are nested deeper than %d", below, DEPTH_MAX);
    while ((item = readdir(directory)) != NULL) {
        int size;

        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
            continue;
        size = snprintf(path, sizeof(path), "%s%s%s", depth > 0 ? below : "",
                        depth > 0 ? "/" : "", item->d_name);
        if (size < 0 || (size_t)size >= sizeof(path))
            die("%s: the path is too long", item->d_name);
        find_text(run, path, depth);
    }
    (void)closedir(directory);
}

static void
open_texts(struct run *run)
{
    uint64_t bytes = run->options->step_bytes;

    run->directory_fd = open(run->options->texts,
                             O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->directory_fd < 0)
        die("%s: %s", run->options->texts, strerror(errno));
    find_texts(run, ".", 0);
    if (run->text_count == 0)
        die("%s: no text there", run->options->texts);
    qsort(run->texts, run->text_count, sizeof(*run->texts), by_path);
    run->fingerprint = SUM_START;
    for (size_t i = 0; i < run->text_count; i++) {
        struct text *text = &run->texts[i];

        text->first = run->pass_steps;
        run->pass_steps += (text->size + bytes - 1) / bytes;
        run->fingerprint = sum_bytes(run->fingerprint, text->path,
                                     strlen(text->path) + 1);
        run->fingerprint = sum_bytes(run->fingerprint, &text->size,
                                     sizeof(text->size));
    }
    run->steps = run->pass_steps * (1 + run->options->repeat);
}

/* ---- steps ---- */

static void
seek_text(struct run *run, uint64_t at)
{
    size_t low = 0, high = run->text_count;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (run->texts[middle].first <= at)
            low = middle;
        else
            high = middle;
    }
    if (run->text_fd >= 0 && run->text_index == low)
        return;
    if (run->text_fd >= 0)
        (void)close(run->text_fd);
    run->text_index = low;
    run->text_fd = openat(run->directory_fd, run->texts[low].path,
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (run->text_fd < 0)
        die("%s: %s", run->texts[low].path, strerror(errno));
}

static void
do_step(struct run *run, char *block)
{
    uint64_t at = run->step % run->pass_steps, offset, size, got = 0;
    const struct text *text;

    seek_text(run, at);
    text = &run->texts[run->text_index];
    offset = (at - text->first) * run->options->step_bytes;
    size = text->size - offset;
    if (size > run->options->step_bytes)
        size = run->options->step_bytes;
    while (got < size) {
        ssize_t more = pread(run->text_fd, block + got, size - got,
                             (off_t)(offset + got));

        if (more == 0)
            die("%s: became shorter while it was read", text->path);
        if (more < 0 && errno != EINTR)
            die("%s: %s", text->path, strerror(errno));
        got += more > 0 ? (uint64_t)more : 0;
    }
    if (offset == 0)
        run->previous = BEGIN;
    words_feed(&run->word, block, size, take_word, run);
    if (offset + size == text->size)
        words_end(&run->word, take_word, run);
    if (++run->step == run->pass_steps)
        choose_vocabulary(run);
}

/* ---- checkpoints ---- */

static const char *
checkpoint_path(const struct run *run, const char *name, char path[PATH_MAX])
{
    int size = snprintf(path, PATH_MAX, "%s/%s", run->checkpoint_directory,
                        name);

    if (size < 0 || size >= PATH_MAX)
        die("%s: the path is too long", run->checkpoint_directory);
    return path;
}

/* What a state must agree with to continue this run. */
static void
run_identity(const struct run *run, uint64_t identity[5])
{
    identity[0] = STATE_MAGIC;
    identity[1] = run->options->vocab;
    identity[2] = run->options->repeat;
    identity[3] = run->options->step_bytes;
    identity[4] = run->fingerprint;
}

static void
write_state(const struct run *run)
{
    char path[PATH_MAX];
    struct writer writer;
    uint64_t identity[5];

    writer_open(&writer, checkpoint_path(run, "state.bin", path));
    run_identity(run, identity);
    for (size_t i = 0; i < 5; i++)
        writer_u64(&writer, identity[i]);
    writer_u64(&writer, run->step);
    writer_u64(&writer, run->previous);
    writer_u64(&writer, run->dropped);
    writer_u64(&writer, run->word.bad);
    writer_text(&writer, run->word.bytes, run->word.size);
    writer_u64(&writer, run->entry_count);
    for (size_t i = 0; i < run->entry_count; i++) {
        writer_text(&writer, run->entries[i].word, run->entries[i].size);
        writer_u64(&writer, run->entries[i].count);
    }
    for (uint64_t i = 0; run->counts != NULL &&
                         i < run->options->vocab * run->options->vocab; i++)
        writer_u64(&writer, run->counts[i]);
    writer_u64(&writer, writer.sum);
    writer_close(&writer);
}

static void
write_checkpoint(const struct run *run)
{
    char path[PATH_MAX], text[48];
    struct writer writer;
    int size;

    if (run->checkpoint_directory == NULL)
        return;
    write_state(run);
    writer_open(&writer, checkpoint_path(run, "checkpoint.json", path));
    size = snprintf(text, sizeof(text), "{\"step\": %llu}\n",
                    (unsigned long long)run->step);
    writer_bytes(&writer, text, (size_t)size);
    writer_close(&writer);
}

static void
read_state(struct run *run, struct cursor *cursor)
{
    uint64_t cells = run->options->vocab * run->options->vocab, count;

    run->step = cursor_u64(cursor);
    run->previous = cursor_u64(cursor);
    run->dropped = cursor_u64(cursor);
    run->word.bad = cursor_u64(cursor) != 0;
    run->word.size = cursor_text(cursor, run->word.bytes, WORD_MAX);
    count = cursor_u64(cursor);
    for (uint64_t i = 0; i < count && !cursor->bad; i++) {
        struct word word = { 0 };

        word.size = cursor_text(cursor, word.bytes, WORD_MAX);
        table_add(run, &word, cursor_u64(cursor));
    }
    if (run->step > run->steps || run->previous >= run->options->vocab)
        cursor->bad = true;
    if (run->step < run->pass_steps || cursor->bad)
        return;
    cursor->bad = run->entry_count + FIRST_WORD > run->options->vocab;
    run->counts = grow(NULL, cells, sizeof(*run->counts));
    for (uint64_t i = 0; i < cells; i++)
        run->counts[i] = cursor_u64(cursor);
}

/* Returns what is wrong with the checkpoint, NULL when it was taken over or
 * there is none. */
static const char *
resume(struct run *run)
{
    struct cursor cursor;
    uint64_t identity[5], found;
    char path[PATH_MAX];

    if (!cursor_open(&cursor, checkpoint_path(run, "state.bin", path)))
        return access(checkpoint_path(run, "checkpoint.json", path), F_OK) == 0
                   ? "its state.bin cannot be read"
                   : NULL;
    if (cursor.size < 8)
        return "its state.bin ends early";
    cursor.at = cursor.size - 8;
    found = cursor_u64(&cursor);
    cursor.at = 0;
    cursor.size -= 8;
    if (sum_bytes(SUM_START, cursor.bytes, cursor.size) != found)
        return "the checksum of its state.bin is wrong";
    run_identity(run, identity);
    for (size_t i = 0; i < 5; i++)
        if (cursor_u64(&cursor) != identity[i])
            return "it belongs to other texts or options";
    read_state(run, &cursor);
    if (cursor.bad || cursor.at != cursor.size)
        return "its state.bin does not fit this run";
    run->resumed_at = run->step;
    cursor_close(&cursor);
    return NULL;
}

static void
start(struct run *run)
{
    const char *wrong;

    run->slots = grow(NULL, SLOTS, sizeof(*run->slots));
    memset(run->slots, 0, SLOTS * sizeof(*run->slots));
    if (run->checkpoint_directory == NULL)
        return;
    wrong = resume(run);
    if (wrong == NULL) {
        if (run->step > 0)
            (void)printf("resumed at step %llu of %llu\n",
                         (unsigned long long)run->step,
                         (unsigned long long)run->steps);
        return;
    }
    (void)fprintf(stderr,
                  "bigram: the checkpoint is not used: %s; starting again\n",
                  wrong);
    run->step = run->dropped = run->entry_count = 0;
    run->word = (struct word){ 0 };
    free(run->counts);
    run->counts = NULL;
    memset(run->slots, 0, SLOTS * sizeof(*run->slots));
}

/* The tally of steps lives outside the state: a step that is done again
 * because the process was killed counts twice. */
static int
open_work(struct run *run)
{
    char path[PATH_MAX];
    struct stat status;
    int fd;

    if (run->checkpoint_directory == NULL)
        return -1;
    fd = open(checkpoint_path(run, "work", path),
              O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || fstat(fd, &status) != 0)
        die("%s: %s", path, strerror(errno));
    run->work = (uint64_t)status.st_size;
    return fd;
}

static void
remove_checkpoint(const struct run *run)
{
    static const char *const names[] = { "checkpoint.json", "state.bin",
                                         "work" };
    char path[PATH_MAX];

    for (size_t i = 0; run->checkpoint_directory != NULL && i < 3; i++)
        if (unlink(checkpoint_path(run, names[i], path)) != 0 &&
            errno != ENOENT)
            die("%s: %s", path, strerror(errno));
}

/* ---- the run ---- */

static bool
stop_wanted(const struct run *run)
{
    return told_to_stop != 0 || access(run->notice_path, F_OK) == 0;
}

/* Sleeps, but not through a notice. */
static void
pace(const struct run *run)
{
    uint64_t left = run->options->pace_ms;

    while (left > 0 && !stop_wanted(run)) {
        uint64_t slice = left < 50 ? left : 50;
        struct timespec time = { .tv_nsec = (long)slice * 1000000 };

        (void)nanosleep(&time, NULL);
        left -= slice;
    }
}

static int
train(struct run *run)
{
    char *block = grow(NULL, run->options->step_bytes, 1);
    int work_fd = open_work(run);

    while (run->step < run->steps) {
        if (stop_wanted(run)) {
            write_checkpoint(run);
            (void)printf("stopped at step %llu of %llu\n",
                         (unsigned long long)run->step,
                         (unsigned long long)run->steps);
            return EXIT_STOPPED;
        }
        do_step(run, block);
        run->work++;
        if (work_fd >= 0 && write(work_fd, ".", 1) != 1)
            die("work: %s", strerror(errno));
        (void)printf("step %llu of %llu\n", (unsigned long long)run->step,
                     (unsigned long long)run->steps);
        if (run->step % run->options->every == 0)
            write_checkpoint(run);
        pace(run);
    }
    model_write(run->options->out, run->options->vocab, run->entries,
                run->entry_count, run->counts);
    remove_checkpoint(run);
    if (run->dropped > 0)
        (void)printf("words beyond %zu distinct ones, not counted: %llu\n",
                     WORDS_MAX, (unsigned long long)run->dropped);
    (void)printf("done: vocab %llu, steps %llu, resumed_at %llu, work %llu\n",
                 (unsigned long long)run->options->vocab,
                 (unsigned long long)run->steps,
                 (unsigned long long)run->resumed_at,
                 (unsigned long long)run->work);
    return 0;
}

static const char usage[] =
    "bigram --out FILE [--texts DIR] [--vocab N] [--repeat N] [--pace-ms N]\n"
    "       [--step-bytes N] [--checkpoint-steps N]\n"
    "    trains a bigram language model and writes it as GGUF\n"
    "bigram --generate MODEL [--prompt TEXT] [--tokens N]\n"
    "    prints the most likely continuation\n";

static uint64_t
read_number(const char *name, const char *text, uint64_t min, uint64_t max)
{
    char *end;
    unsigned long long value;

    errno = 0;
    value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 ||
        value < min || value > max) {
        (void)fprintf(stderr, "bigram: --%s must be %llu to %llu\n", name,
                      (unsigned long long)min, (unsigned long long)max);
        exit(2);
    }
    return value;
}

/* A number when the letter is that of one; false otherwise. */
static bool
read_limit(int letter, struct options *options)
{
    const struct {
        char letter;
        const char *name;
        uint64_t *value, min, max;
    } limits[] = {
        { 'v', "vocab", &options->vocab, 16, VOCAB_MAX },
        { 'r', "repeat", &options->repeat, 1, 1000000 },
        { 'm', "pace-ms", &options->pace_ms, 0, 3600000 },
        { 'n', "tokens", &options->tokens, 1, 1000000 },
        { 'b', "step-bytes", &options->step_bytes, 1, 1 << 24 },
        { 'c', "checkpoint-steps", &options->every, 1, UINT32_MAX },
    };

    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
        if (limits[i].letter == letter) {
            *limits[i].value = read_number(limits[i].name, optarg,
                                           limits[i].min, limits[i].max);
            return true;
        }
    return false;
}

static void
read_options(int argc, char **argv, struct options *options)
{
    static const struct option names[] = {
        { "texts", 1, NULL, 't' },      { "out", 1, NULL, 'o' },
        { "generate", 1, NULL, 'g' },   { "prompt", 1, NULL, 'p' },
        { "vocab", 1, NULL, 'v' },      { "repeat", 1, NULL, 'r' },
        { "pace-ms", 1, NULL, 'm' },    { "tokens", 1, NULL, 'n' },
        { "step-bytes", 1, NULL, 'b' }, { "checkpoint-steps", 1, NULL, 'c' },
        { "help", 0, NULL, 'h' },       { NULL, 0, NULL, 0 },
    };
    int letter;

    while ((letter = getopt_long(argc, argv, "", names, NULL)) != -1) {
        if (letter == 't')
            options->texts = optarg;
        else if (letter == 'o')
            options->out = optarg;
        else if (letter == 'g')
            options->generate = optarg;
        else if (letter == 'p')
            options->prompt = optarg;
        else if (!read_limit(letter, options)) {
            (void)fputs(usage, letter == 'h' ? stdout : stderr);
            exit(letter == 'h' ? 0 : 2);
        }
    }
}

static void
check_options(int argc, const struct options *options)
{
    if (optind == argc &&
        (options->out != NULL) != (options->generate != NULL) &&
        options->vocab % 16 == 0)
        return;
    if (options->vocab % 16 != 0)
        (void)fputs("bigram: --vocab must be a multiple of 16\n", stderr);
    (void)fputs(usage, stderr);
    exit(2);
}

int
main(int argc, char **argv)
{
    struct options options = { .texts = "/usr/share/common-licenses",
                               .prompt = "the", .vocab = 512, .repeat = 1,
                               .step_bytes = 4096, .every = 16, .tokens = 20 };
    struct run run = { .options = &options, .text_fd = -1 };
    struct sigaction action = { .sa_handler = on_signal };

    read_options(argc, argv, &options);
    check_options(argc, &options);
    if (options.generate != NULL)
        return model_generate(options.generate, options.prompt,
                              options.tokens);
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    if (sigaction(SIGUSR1, &action, NULL) != 0 ||
        sigaction(SIGTERM, &action, NULL) != 0)
        die("signals: %s", strerror(errno));
    run.checkpoint_directory = getenv("BULKHEAD_CHECKPOINT_DIR");
    run.notice_path = getenv("BULKHEAD_NOTICE_FILE");
    if (run.notice_path == NULL)
        run.notice_path = "/run/bulkhead/notice.json";
    open_texts(&run);
    start(&run);
    return train(&run);
}
