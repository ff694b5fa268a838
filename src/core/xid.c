/* SPDX-License-Identifier: Apache-2.0 */
#include "core/xid.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    int number;
    enum xid_class class;
    const char *meaning;
} numbers[] = {
#define XID(number, class, meaning) { number, XID_CLASS_##class, meaning },
#define LINK(number, unit, older, newer, status, consequence)
#include "data/xid.def"
#undef XID
#undef LINK
};

static const struct {
    int number;
    const char *older, *newer;
    uint32_t status;
    enum xid_link consequence;
} links[] = {
#define XID(number, class, meaning)
#define LINK(number, unit, older, newer, status, consequence)                  \
    { number, older, newer, status, XID_##consequence },
#include "data/xid.def"
#undef XID
#undef LINK
};

#define NUMBERS (sizeof(numbers) / sizeof(numbers[0]))

enum xid_class
xid_class(int64_t number)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i].number == number)
            return numbers[i].class;
    return XID_CLASS_UNKNOWN;
}

const char *
xid_meaning(int64_t number)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (numbers[i].number == number)
            return numbers[i].meaning;
    return "The number is in no list.";
}

/* Leftmost is the highest bit. */
static bool
matches(const char *pattern, uint32_t word)
{
    for (int i = 0; i < 32; i++)
        if (pattern[i] != '-' &&
            (pattern[i] == '1') != ((word >> (31 - i) & 1) != 0))
            return false;
    return true;
}

/* One bit of the status stands for itself; other values are whole. */
static bool
has_status(uint32_t wanted, uint32_t status)
{
    bool one = wanted != 0 && (wanted & (wanted - 1)) == 0;

    return one ? (status & wanted) != 0 : status == wanted;
}

enum xid_link
xid_link(int64_t number, uint32_t word, uint32_t status)
{
    enum xid_link worst = XID_IGNORED;
    bool found = false;

    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        if (links[i].number != number ||
            (!matches(links[i].older, word) &&
             !matches(links[i].newer, word)) ||
            !has_status(links[i].status, status))
            continue;
        found = true;
        if (links[i].consequence > worst)
            worst = links[i].consequence;
    }
    return found ? worst : XID_NOTED;
}

bool
xid_ends(int64_t number, int64_t earlier)
{
    /* Power smoothing is off; it works again. */
    return number == 162 && earlier == 163;
}

/* --- lines of the log --- */

/* 0000:41:00 or 0000:41:00.0, as the rest of the platform writes it. */
static void
read_card(const char *text, size_t size, struct xid *out)
{
    if (size >= sizeof(out->card) - 2)
        return;
    (void)snprintf(out->card, sizeof(out->card), "%.*s%s", (int)size, text,
                   memchr(text, '.', size) != NULL ? "" : ".0");
    for (char *at = out->card; *at != '\0'; at++)
        *at = (char)tolower((unsigned char)*at);
}

/* "GPU 0000:41:00.0: GPU has fallen off the bus." */
static bool
parse_lost(const char *line, struct xid *out)
{
    const char *at = strstr(line, "GPU ");

    if (strstr(line, "fallen off the bus") == NULL)
        return false;
    out->number = XID_LOST;
    if (at != NULL && isxdigit((unsigned char)at[4])) {
        size_t size = strspn(at + 4, "0123456789abcdefABCDEF:.");

        while (size > 0 && at[3 + size] == ':')
            size--;
        read_card(at + 4, size, out);
    }
    return true;
}

static void
parse_words(const char *text, struct xid *out)
{
    const char *at = strstr(text, "(0x");
    char *end;

    if (at == NULL || xid_class(out->number) != XID_CLASS_DECODE)
        return;
    out->word = (uint32_t)strtoul(at + 1, &end, 16);
    out->status = (uint32_t)strtoul(end, NULL, 16);
    out->has_words = true;
}

/* "0000:41:00" or "0000:41:00 GPU-I:05 GPU-CI:00": a hard slice. */
static void
read_place(const char *text, size_t size, struct xid *out)
{
    const char *slice = strstr(text, " GPU-I:");
    size_t card = strcspn(text, " )");

    read_card(text, card < size ? card : size, out);
    if (slice != NULL && slice < text + size &&
        isdigit((unsigned char)slice[7]))
        out->instance = strtoll(slice + 7, NULL, 10);
}

/* "NVRM: Xid (PCI:0000:41:00): 31, pid=4242, name=python, ..." */
bool
xid_parse(const char *line, struct xid *out)
{
    const char *at = strstr(line, "NVRM: ");
    const char *pid;
    size_t size;
    char *end;

    *out = (struct xid){ .pid = -1, .instance = -1 };
    if (at == NULL)
        return false;
    if (strncmp(at + 6, "Xid (PCI:", 9) != 0)
        return parse_lost(at, out);
    at += 15;
    size = strcspn(at, ")");
    read_place(at, size, out);
    if (strncmp(at + size, "): ", 3) != 0)
        return false;
    at += size + 3;
    out->number = strtoll(at, &end, 10);
    if (end == at || out->number < 0)
        return false;
    pid = strstr(end, "pid=");
    if (pid != NULL && isdigit((unsigned char)pid[4]))
        out->pid = strtoll(pid + 4, NULL, 10);
    parse_words(end, out);
    return true;
}
