/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tarball ENTRY...: an archive on standard output whose headers say what they
 * are told to, true or not.  ENTRY is TYPE:NAME[:LINK[:MODE[:UID[:SIZE[:DATA]]]]]:
 * the type's letter, SIZE as the header has it ("-": negative, "bad": no sum),
 * DATA what follows.  "pax:KEY=VALUE" is an extended header for the next
 * entry, "many:N" are N empty files, "cut:" ends the archive at once.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 512

struct header {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type, link[100], magic[8], owner[32], group[32], major[8], minor[8];
    char prefix[155], rest[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

static void
seal(struct header *header, int wrong)
{
    const unsigned char *at = (const unsigned char *)header;
    char text[9];
    unsigned sum = (unsigned)wrong;

    memset(header->sum, ' ', sizeof(header->sum));
    for (size_t i = 0; i < BLOCK; i++)
        sum += at[i];
    (void)snprintf(text, sizeof(text), "%06o", sum & 0777777);
    memcpy(header->sum, text, 7);
}

static void
write_data(const char *data, size_t size)
{
    static const char zeros[BLOCK];

    (void)fwrite(data, 1, size, stdout);
    if (size % BLOCK != 0)
        (void)fwrite(zeros, 1, BLOCK - size % BLOCK, stdout);
}

static void
put(char type, const char *name, const char *link, const char *mode,
    const char *uid, const char *size, const char *data)
{
    struct header header = { .type = type, .magic = "ustar" };
    char text[32];

    memcpy(header.magic + 6, "00", 2);
    memcpy(header.name, name, strnlen(name, sizeof(header.name)));
    memcpy(header.link, link, strnlen(link, sizeof(header.link)));
    (void)snprintf(text, sizeof(text), "%07lo", strtol(mode, NULL, 8));
    memcpy(header.mode, text, 8);
    (void)snprintf(text, sizeof(text), "%07lo", strtol(uid, NULL, 10));
    memcpy(header.uid, text, 8);
    memcpy(header.gid, text, 8);
    (void)snprintf(text, sizeof(text), "%011llo",
                   *size != '\0' && strcmp(size, "bad") != 0
                       ? strtoull(size, NULL, 10)
                       : (unsigned long long)strlen(data));
    memcpy(header.size, text, 12);
    if (strcmp(size, "-") == 0)
        memset(header.size, 0xFF, sizeof(header.size));
    memcpy(header.mtime, "00000000000", 12);
    memcpy(header.major, "0000001", 8);
    memcpy(header.minor, "0000003", 8);
    seal(&header, strcmp(size, "bad") == 0);
    (void)fwrite(&header, BLOCK, 1, stdout);
    write_data(data, strlen(data));
}

static void
put_pax(const char *record)
{
    char line[2 * BLOCK];
    size_t size = strlen(record) + 2; /* with the space and the line end */
    size_t digits = 1;

    /* The length counts itself. */
    for (size_t bound = 10; size + digits >= bound; bound *= 10)
        digits++;
    (void)snprintf(line, sizeof(line), "%zu %s\n", size + digits, record);
    put('x', "pax", "", "644", "0", "", line);
}

static void
put_entry(char *text)
{
    const char *parts[7] = { "", "", "", "644", "0", "", "" };

    for (size_t i = 0; i < 7 && text != NULL; i++) {
        const char *part = strsep(&text, ":");

        if (*part != '\0')
            parts[i] = part;
    }
    put(parts[0][0], parts[1], parts[2], parts[3], parts[4], parts[5],
        parts[6]);
}

int
main(int argc, char **argv)
{
    static const char zeros[BLOCK];

    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "pax:", 4) == 0) {
            put_pax(argv[i] + 4);
        } else if (strncmp(argv[i], "many:", 5) == 0) {
            for (int k = atoi(argv[i] + 5); k > 0; k--) {
                char name[32];

                (void)snprintf(name, sizeof(name), "many-%d", k);
                put('0', name, "", "644", "0", "", "");
            }
        } else if (strcmp(argv[i], "cut:") == 0) {
            return 0;
        } else {
            put_entry(argv[i]);
        }
    }
    write_data(zeros, BLOCK);
    write_data(zeros, BLOCK);
    return 0;
}
