/* SPDX-License-Identifier: Apache-2.0 */
#include "examples/bigram/model.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/bigram/stream.h"

#define GGUF_VERSION 3u
#define ALIGNMENT 32u
#define HEADS 8u
#define FEED_FORWARD 32u
#define CONTEXT 2048u
#define EPSILON 1e-6F
#define WORD_PREFIX "\xE2\x96\x81" /* U+2581 begins a word */
#define PREFIX_SIZE 3

enum value_type { U32 = 4, I32 = 5, F32 = 6, BOOL = 7, STRING = 8, ARRAY = 9 };
enum token_type { WORD = 1, UNKNOWN_WORD = 2, CONTROL = 3, UNUSED = 5 };

/* What a tensor is filled with. */
enum content { ZERO, ONE, UNIT_MATRIX, OUTPUT_NORM, LOG_P };

struct tensor {
    const char *name;
    uint32_t columns; /* contiguous; 0: the vocabulary */
    uint32_t rows;    /* 0: the vocabulary, 1: a vector */
    enum content content;
};

static const struct tensor tensors[] = {
    { "token_embd.weight", 0, 0, UNIT_MATRIX },
    { "blk.0.attn_norm.weight", 0, 1, ONE },
    { "blk.0.attn_q.weight", 0, 0, ZERO },
    { "blk.0.attn_k.weight", 0, 0, ZERO },
    { "blk.0.attn_v.weight", 0, 0, ZERO },
    { "blk.0.attn_output.weight", 0, 0, ZERO },
    { "blk.0.ffn_norm.weight", 0, 1, ONE },
    { "blk.0.ffn_gate.weight", 0, FEED_FORWARD, ZERO },
    { "blk.0.ffn_down.weight", FEED_FORWARD, 0, ZERO },
    { "blk.0.ffn_up.weight", 0, FEED_FORWARD, ZERO },
    { "output_norm.weight", 0, 1, OUTPUT_NORM },
    { "output.weight", 0, 0, LOG_P },
};
#define TENSOR_COUNT (sizeof(tensors) / sizeof(tensors[0]))

static const char *const specials[] = {
    [PADDING] = "[PAD]", [UNKNOWN] = "[UNK]", [BEGIN] = "[CLS]",
    [END] = "[SEP]",     [MASK] = "[MASK]",
};

/* ---- writing ---- */

static void
put_key(struct writer *writer, const char *key, enum value_type type)
{
    writer_text(writer, key, strlen(key));
    writer_u32(writer, type);
}

static void
put_text(struct writer *writer, const char *key, const char *text)
{
    put_key(writer, key, STRING);
    writer_text(writer, text, strlen(text));
}

static void
put_u32(struct writer *writer, const char *key, uint32_t value)
{
    put_key(writer, key, U32);
    writer_u32(writer, value);
}

static void
put_no(struct writer *writer, const char *key)
{
    put_key(writer, key, BOOL);
    writer_bytes(writer, "", 1);
}

static void
put_tokens(struct writer *writer, uint64_t vocab, const struct entry *words,
           size_t word_count)
{
    char text[PREFIX_SIZE + WORD_MAX + 1];

    put_key(writer, "tokenizer.ggml.tokens", ARRAY);
    writer_u32(writer, STRING);
    writer_u64(writer, vocab);
    for (uint64_t id = 0; id < vocab; id++) {
        if (id < FIRST_WORD)
            (void)snprintf(text, sizeof(text), "%s", specials[id]);
        else if (id < FIRST_WORD + word_count)
            (void)snprintf(text, sizeof(text), WORD_PREFIX "%s",
                           words[id - FIRST_WORD].word);
        else
            (void)snprintf(text, sizeof(text), "[unused%llu]",
                           (unsigned long long)id);
        writer_text(writer, text, strlen(text));
    }
}

static void
put_token_types(struct writer *writer, uint64_t vocab, size_t word_count)
{
    put_key(writer, "tokenizer.ggml.token_type", ARRAY);
    writer_u32(writer, I32);
    writer_u64(writer, vocab);
    for (uint64_t id = 0; id < vocab; id++)
        writer_u32(writer, id == UNKNOWN                   ? UNKNOWN_WORD
                           : id < FIRST_WORD               ? CONTROL
                           : id < FIRST_WORD + word_count ? WORD
                                                           : UNUSED);
}

static void
put_tokenizer(struct writer *writer, uint64_t vocab, const struct entry *words,
              size_t word_count)
{
    put_text(writer, "tokenizer.ggml.model", "bert");
    put_tokens(writer, vocab, words, word_count);
    put_token_types(writer, vocab, word_count);
    put_u32(writer, "tokenizer.ggml.padding_token_id", PADDING);
    put_u32(writer, "tokenizer.ggml.unknown_token_id", UNKNOWN);
    put_u32(writer, "tokenizer.ggml.bos_token_id", BEGIN);
    put_u32(writer, "tokenizer.ggml.cls_token_id", BEGIN);
    put_u32(writer, "tokenizer.ggml.eos_token_id", END);
    /* The format spells it so. */
    put_u32(writer, "tokenizer.ggml.seperator_token_id", END);
    put_u32(writer, "tokenizer.ggml.mask_token_id", MASK);
    put_no(writer, "tokenizer.ggml.add_bos_token");
    put_no(writer, "tokenizer.ggml.add_eos_token");
    put_no(writer, "tokenizer.ggml.add_sep_token");
}

#define KEY_COUNT 23u

static void
put_keys(struct writer *writer, uint64_t vocab, const struct entry *words,
         size_t word_count)
{
    uint32_t size = (uint32_t)vocab;

    put_text(writer, "general.architecture", "llama");
    put_text(writer, "general.name", "bigram");
    put_u32(writer, "llama.context_length", CONTEXT);
    put_u32(writer, "llama.embedding_length", size);
    put_u32(writer, "llama.block_count", 1);
    put_u32(writer, "llama.feed_forward_length", FEED_FORWARD);
    put_u32(writer, "llama.attention.head_count", HEADS);
    put_key(writer, "llama.attention.layer_norm_rms_epsilon", F32);
    writer_f32(writer, EPSILON);
    put_u32(writer, "llama.rope.dimension_count", size / HEADS);
    put_u32(writer, "llama.vocab_size", size);
    put_tokenizer(writer, vocab, words, word_count);
}

static uint64_t
columns_of(const struct tensor *tensor, uint64_t vocab)
{
    return tensor->columns != 0 ? tensor->columns : vocab;
}

static uint64_t
rows_of(const struct tensor *tensor, uint64_t vocab)
{
    return tensor->rows != 0 ? tensor->rows : vocab;
}

/* vocab is a multiple of 16, so every tensor ends on the alignment. */
static void
put_infos(struct writer *writer, uint64_t vocab)
{
    uint64_t offset = 0;

    for (size_t i = 0; i < TENSOR_COUNT; i++) {
        uint64_t columns = columns_of(&tensors[i], vocab);
        uint64_t rows = rows_of(&tensors[i], vocab);

        writer_text(writer, tensors[i].name, strlen(tensors[i].name));
        writer_u32(writer, tensors[i].rows == 1 ? 1 : 2);
        writer_u64(writer, columns);
        if (tensors[i].rows != 1)
            writer_u64(writer, rows);
        writer_u32(writer, 0); /* 32-bit floats */
        writer_u64(writer, offset);
        offset += columns * rows * sizeof(float);
    }
}

/* The quotient is rounded the same for any --repeat. */
static float
log_p(uint64_t count, uint64_t total)
{
    return count == 0 ? NEVER : (float)log((double)count / (double)total);
}

static float
cell(enum content content, uint64_t vocab, uint64_t row, uint64_t column,
     const uint64_t *counts, const uint64_t *totals)
{
    switch (content) {
    case ZERO:
        return 0.0F;
    case ONE:
        return 1.0F;
    case UNIT_MATRIX:
        return row == column ? 1.0F : 0.0F;
    case OUTPUT_NORM:
        /* A one-hot vector leaves the RMS norm multiplied by 1/this. */
        return (float)sqrt(1.0 / (double)vocab + (double)EPSILON);
    case LOG_P:
        /* Behind the end of a text another begins. */
        if (column == END)
            column = BEGIN;
        return log_p(counts[column * vocab + row], totals[column]);
    }
    return 0.0F;
}

static uint64_t *
sum_rows(uint64_t vocab, const uint64_t *counts)
{
    uint64_t *totals = grow(NULL, vocab, sizeof(*totals));

    for (uint64_t previous = 0; previous < vocab; previous++) {
        totals[previous] = 0;
        for (uint64_t next = 0; next < vocab; next++)
            totals[previous] += counts[previous * vocab + next];
    }
    return totals;
}

void
model_write(const char *path, uint64_t vocab, const struct entry *words,
            size_t word_count, const uint64_t *counts)
{
    uint64_t *totals = sum_rows(vocab, counts);
    struct writer writer;

    writer_open(&writer, path);
    writer_bytes(&writer, "GGUF", 4);
    writer_u32(&writer, GGUF_VERSION);
    writer_u64(&writer, TENSOR_COUNT);
    writer_u64(&writer, KEY_COUNT);
    put_keys(&writer, vocab, words, word_count);
    put_infos(&writer, vocab);
    while (writer.size % ALIGNMENT != 0)
        writer_bytes(&writer, "", 1);
    for (size_t i = 0; i < TENSOR_COUNT; i++)
        for (uint64_t row = 0; row < rows_of(&tensors[i], vocab); row++)
            for (uint64_t c = 0; c < columns_of(&tensors[i], vocab); c++)
                writer_f32(&writer, cell(tensors[i].content, vocab, row, c,
                                         counts, totals));
    writer_close(&writer);
    free(totals);
}

/* ---- reading ---- */

struct token {
    const char *text; /* in the mapped file, not terminated */
    size_t size;
};

struct model {
    struct cursor cursor;
    struct token *tokens;
    uint64_t vocab;
    const uint8_t *output; /* [next * vocab + previous], floats */
    uint64_t last;         /* id of the last word of the prompt */
};

static void
skip_values(struct cursor *cursor, uint32_t type, uint64_t count)
{
    static const uint8_t sizes[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };

    if (type == STRING) {
        for (uint64_t i = 0; i < count && !cursor->bad; i++)
            (void)cursor_skip(cursor, cursor_u64(cursor));
        return;
    }
    if (type >= sizeof(sizes) || type == ARRAY || count > SIZE_MAX / 8)
        cursor->bad = true;
    else
        (void)cursor_skip(cursor, count * sizes[type]);
}

static void
read_tokens(struct model *model, uint64_t count)
{
    struct cursor *cursor = &model->cursor;

    if (count <= FIRST_WORD || count > VOCAB_MAX || model->tokens != NULL) {
        cursor->bad = true;
        return;
    }
    model->tokens = grow(NULL, count, sizeof(*model->tokens));
    model->vocab = count;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = cursor_u64(cursor);

        model->tokens[i].text = (const char *)cursor_skip(cursor, size);
        model->tokens[i].size = cursor->bad ? 0 : size;
    }
}

static void
read_key(struct model *model)
{
    struct cursor *cursor = &model->cursor;
    char key[128];
    size_t size = cursor_text(cursor, key, sizeof(key) - 1);
    uint32_t type = cursor_u32(cursor);
    uint64_t count = 1;

    key[size] = '\0';
    if (type == ARRAY) {
        type = cursor_u32(cursor);
        count = cursor_u64(cursor);
        if (strcmp(key, "tokenizer.ggml.tokens") == 0 && type == STRING) {
            read_tokens(model, count);
            return;
        }
    }
    skip_values(cursor, type, count);
}

/* Sets *offset_out for the output matrix when it has the right shape. */
static void
read_info(struct model *model, uint64_t *offset_out)
{
    struct cursor *cursor = &model->cursor;
    char name[128];
    size_t size = cursor_text(cursor, name, sizeof(name) - 1);
    uint32_t dimensions = cursor_u32(cursor), type;
    uint64_t shape[4] = { 0 }, offset;

    name[size] = '\0';
    if (dimensions > 4)
        cursor->bad = true;
    for (uint32_t i = 0; i < dimensions && !cursor->bad; i++)
        shape[i] = cursor_u64(cursor);
    type = cursor_u32(cursor);
    offset = cursor_u64(cursor);
    if (strcmp(name, "output.weight") == 0 && dimensions == 2 &&
        shape[0] == model->vocab && shape[1] == model->vocab && type == 0)
        *offset_out = offset;
}

static void
model_open(struct model *model, const char *path)
{
    struct cursor *cursor = &model->cursor;
    uint64_t tensor_count, key_count, offset = UINT64_MAX;
    const uint8_t *magic;

    if (!cursor_open(cursor, path))
        die("%s: cannot be read", path);
    magic = cursor_skip(cursor, 4);
    if (magic == NULL || memcmp(magic, "GGUF", 4) != 0 ||
        cursor_u32(cursor) != GGUF_VERSION)
        die("%s: not a GGUF file of version %u", path, GGUF_VERSION);
    tensor_count = cursor_u64(cursor);
    key_count = cursor_u64(cursor);
    for (uint64_t i = 0; i < key_count && !cursor->bad; i++)
        read_key(model);
    for (uint64_t i = 0; i < tensor_count && !cursor->bad; i++)
        read_info(model, &offset);
    (void)cursor_skip(cursor, (ALIGNMENT - cursor->at % ALIGNMENT) % ALIGNMENT);
    (void)cursor_skip(cursor, offset);
    model->output = cursor_skip(cursor, model->vocab * model->vocab *
                                            sizeof(float));
    if (cursor->bad || model->vocab == 0)
        die("%s: not a bigram model", path);
}

static void
take_prompt(void *data, const struct word *word)
{
    struct model *model = data;

    model->last = UNKNOWN;
    for (uint64_t id = FIRST_WORD; id < model->vocab && !word->bad; id++) {
        const struct token *token = &model->tokens[id];

        if (token->size == word->size + PREFIX_SIZE &&
            memcmp(token->text + PREFIX_SIZE, word->bytes, word->size) == 0)
            model->last = id;
    }
}

/* The most likely successor; false when the word never had one. */
static bool
next_token(const struct model *model, uint64_t previous, uint64_t *next_out)
{
    float most = NEVER;

    for (uint64_t id = 0; id < model->vocab; id++) {
        float value;

        memcpy(&value,
               model->output + (id * model->vocab + previous) * sizeof(value),
               sizeof(value));
        if (value > most) {
            most = value;
            *next_out = id;
        }
    }
    return most > NEVER;
}

int
model_generate(const char *path, const char *prompt, uint64_t tokens)
{
    struct model model = { .last = BEGIN };
    struct word word = { 0 };

    model_open(&model, path);
    words_feed(&word, prompt, strlen(prompt), take_prompt, &model);
    words_end(&word, take_prompt, &model);
    for (uint64_t i = 0; i < tokens; i++) {
        const struct token *token;
        size_t skip;

        if (!next_token(&model, model.last, &model.last))
            break;
        token = &model.tokens[model.last];
        skip = token->size >= PREFIX_SIZE &&
                       memcmp(token->text, WORD_PREFIX, PREFIX_SIZE) == 0
                   ? PREFIX_SIZE
                   : 0;
        (void)printf("%s%.*s", i > 0 ? " " : "", (int)(token->size - skip),
                     token->text + skip);
    }
    (void)printf("\n");
    free(model.tokens);
    cursor_close(&model.cursor);
    return 0;
}
