/* SPDX-License-Identifier: Apache-2.0 */
#include "runner/tar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512
#define SIZE_MAX_ENTRY (INT64_C(1) << 42)
#define RECORDS_MAX ((int64_t)1048576)

/* The ustar header; numbers are octal text. */
struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type, link[100], magic[6], version[2], owner[32], group[32];
    char major[8], minor[8], prefix[155], pad[12];
};

static int
bad(struct error *err, const char *what)
{
    return error_set(err, ERROR_INVALID, "the archive is malformed: %s", what);
}

/* 1 when all came, 0 at a clean end, -1. */
static int
read_all(struct tar *tar, void *bytes, size_t size, struct error *err)
{
    char *at = bytes;
    size_t done = 0;

    while (done < size) {
        ssize_t got = tar->read(tar->source, at + done, size - done, err);

        if (got < 0)
            return -1;
        if (got == 0)
            return done == 0 ? 0 : bad(err, "it ends early");
        done += (size_t)got;
    }
    tar->position += (int64_t)size;
    return 1;
}

ssize_t
tar_data(struct tar *tar, void *bytes, size_t size, struct error *err)
{
    int got;

    if ((int64_t)size > tar->left)
        size = (size_t)tar->left;
    if (size == 0)
        return 0;
    got = read_all(tar, bytes, size, err);
    if (got <= 0)
        return got == 0 ? bad(err, "it ends early") : -1;
    tar->left -= (int64_t)size;
    return (ssize_t)size;
}

static int
skip_rest(struct tar *tar, struct error *err)
{
    char scrap[8192];
    ssize_t got;

    tar->left += tar->padding;
    tar->padding = 0;
    while ((got = tar_data(tar, scrap, sizeof(scrap), err)) > 0)
        ;
    return got < 0 ? -1 : 0;
}

/* Octal text, or GNU's binary form for big numbers; -1 when it is neither. */
static int64_t
number(const char *field, size_t size)
{
    int64_t value = 0;
    size_t i = 0;

    if ((unsigned char)field[0] == 0x80) {
        for (i = 1; i < size; i++) {
            if (value > SIZE_MAX_ENTRY)
                return -1;
            value = value * 256 + (unsigned char)field[i];
        }
        return value;
    }
    while (i < size && field[i] == ' ')
        i++;
    for (; i < size && field[i] != '\0' && field[i] != ' '; i++) {
        if (field[i] < '0' || field[i] > '7')
            return -1;
        value = value * 8 + (field[i] - '0');
    }
    return value;
}

static int
check_sum(const struct header *header, struct error *err)
{
    const unsigned char *bytes = (const unsigned char *)header;
    int64_t sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? ' ' : bytes[i];
    if (number(header->sum, sizeof(header->sum)) != sum)
        return bad(err, "a checksum does not match");
    return 0;
}

static void
join_name(const struct header *header, char out[TAR_PATH_MAX])
{
    bool prefixed =
        memcmp(header->magic, "ustar\0", 6) == 0 && header->prefix[0] != '\0';

    (void)snprintf(out, TAR_PATH_MAX, "%.*s%s%.*s",
                   prefixed ? (int)sizeof(header->prefix) : 0, header->prefix,
                   prefixed ? "/" : "", (int)sizeof(header->name),
                   header->name);
}

/* The payload of a special entry as text. */
static int
read_text(struct tar *tar, char *text, size_t room, struct error *err)
{
    int64_t size = tar->left;

    if (size >= (int64_t)room)
        return bad(err, "a name is too long");
    if (size > 0 && tar_data(tar, text, (size_t)size, err) != (ssize_t)size)
        return -1;
    text[size] = '\0';
    return skip_rest(tar, err);
}

/* What records in front of an entry replace. */
struct override {
    bool path, link;
    int64_t size, uid, gid; /* -1: not */
};

static int
take_record(const char *key, size_t key_size, const char *value,
            size_t value_size, struct tar_entry *entry, struct override *over,
            struct error *err)
{
    bool is_path = key_size == 4 && memcmp(key, "path", 4) == 0;
    bool is_link = key_size == 8 && memcmp(key, "linkpath", 8) == 0;

    if (key_size >= 10 && memcmp(key, "GNU.sparse", 10) == 0)
        return error_set(err, ERROR_UNSUPPORTED,
                         "the archive holds a sparse file");
    if (is_path || is_link) {
        if (value_size >= TAR_PATH_MAX ||
            memchr(value, '\0', value_size) != NULL)
            return bad(err, "a name is too long");
        (void)snprintf(is_path ? entry->path : entry->link, TAR_PATH_MAX,
                       "%.*s", (int)value_size, value);
        over->path |= is_path;
        over->link |= is_link;
    } else if (key_size == 4 && memcmp(key, "size", 4) == 0) {
        over->size = strtoll(value, NULL, 10);
    } else if (key_size == 3 && memcmp(key, "uid", 3) == 0) {
        over->uid = strtoll(value, NULL, 10);
    } else if (key_size == 3 && memcmp(key, "gid", 3) == 0) {
        over->gid = strtoll(value, NULL, 10);
    }
    return 0;
}

/* "LENGTH key=value\n" one after the other. */
static int
take_records(const char *text, int64_t size, struct tar_entry *entry,
             struct override *over, struct error *err)
{
    while (size > 0) {
        char *rest;
        long long length = strtoll(text, &rest, 10);
        const char *equals;

        if (length < 5 || length > size || *rest != ' ' ||
            text[length - 1] != '\n')
            return bad(err, "a pax record");
        equals = memchr(rest, '=', (size_t)(text + length - rest));
        if (equals == NULL)
            return bad(err, "a pax record");
        if (take_record(rest + 1, (size_t)(equals - rest - 1), equals + 1,
                        (size_t)(text + length - 1 - (equals + 1)), entry, over,
                        err) != 0)
            return -1;
        text += length;
        size -= length;
    }
    return 0;
}

static int
read_records(struct tar *tar, struct tar_entry *entry, struct override *over,
             bool global, struct error *err)
{
    int64_t size = tar->left;
    char *text;
    int result;

    if (size > RECORDS_MAX)
        return bad(err, "pax records are too large");
    text = calloc(1, (size_t)size + 1);
    if (text == NULL)
        return error_set(err, ERROR_INTERNAL, "out of memory");
    result = read_text(tar, text, (size_t)size + 1, err);
    if (result == 0 && !global)
        result = take_records(text, size, entry, over, err);
    free(text);
    return result;
}

static int
take_header(struct tar *tar, const struct header *header, struct error *err)
{
    int64_t size = number(header->size, sizeof(header->size));

    if (check_sum(header, err) != 0)
        return -1;
    if (size < 0 || size > SIZE_MAX_ENTRY)
        return bad(err, "a size");
    tar->left = size;
    tar->padding = (BLOCK - size % BLOCK) % BLOCK;
    return 0;
}

static int
finish(struct tar *tar, const struct header *header,
       const struct override *over, struct tar_entry *entry, struct error *err)
{
    entry->type = header->type;
    if (header->type == '\0' || header->type == '7')
        entry->type = '0';
    entry->mode = number(header->mode, sizeof(header->mode));
    entry->uid =
        over->uid >= 0 ? over->uid : number(header->uid, sizeof(header->uid));
    entry->gid =
        over->gid >= 0 ? over->gid : number(header->gid, sizeof(header->gid));
    if (!over->path)
        join_name(header, entry->path);
    if (!over->link)
        (void)snprintf(entry->link, TAR_PATH_MAX, "%.*s",
                       (int)sizeof(header->link), header->link);
    if (over->size >= 0) {
        if (over->size > SIZE_MAX_ENTRY)
            return bad(err, "a size");
        tar->left = over->size;
        tar->padding = (BLOCK - over->size % BLOCK) % BLOCK;
    }
    if (entry->type == 'S')
        return error_set(err, ERROR_UNSUPPORTED,
                         "the archive holds a sparse file");
    if (entry->type < '0' || entry->type > '6')
        return bad(err, "an entry of unknown type");
    /* Only files have bytes; other types with a size hide them. */
    if (entry->type != '0' && tar->left != 0)
        return bad(err, "a size on what is not a file");
    entry->size = tar->left;
    return 1;
}

int
tar_next(struct tar *tar, struct tar_entry *entry_out, struct error *err)
{
    struct override over = { .size = -1, .uid = -1, .gid = -1 };
    struct header header;

    if (skip_rest(tar, err) != 0)
        return -1;
    for (;;) {
        int got = read_all(tar, &header, sizeof(header), err);
        int result = 0;

        if (got <= 0)
            return got;
        if (header.name[0] == '\0' && header.sum[0] == '\0')
            return 0;
        if (take_header(tar, &header, err) != 0)
            return -1;
        if (header.type == 'L') {
            result = read_text(tar, entry_out->path, TAR_PATH_MAX, err);
            over.path = true;
        } else if (header.type == 'K') {
            result = read_text(tar, entry_out->link, TAR_PATH_MAX, err);
            over.link = true;
        } else if (header.type == 'x' || header.type == 'g') {
            result =
                read_records(tar, entry_out, &over, header.type == 'g', err);
        } else {
            return finish(tar, &header, &over, entry_out, err);
        }
        if (result != 0)
            return -1;
    }
}
