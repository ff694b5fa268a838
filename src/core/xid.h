/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_XID_H
#define CORE_XID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What does an error of NVIDIA's driver mean, and what does a line of the
 * kernel's log say?  The table is data/xid.def.
 */

enum xid_class {
    XID_CLASS_UNUSED,
    XID_CLASS_APPLICATION,
    XID_CLASS_INFORMATION,
    XID_CLASS_FATAL,
    XID_CLASS_DEGRADED,
    XID_CLASS_LINKS,
    XID_CLASS_SETUP,
    XID_CLASS_NODE,
    XID_CLASS_DECODE,
    XID_CLASS_META,
    XID_CLASS_DETAIL,
    XID_CLASS_UNKNOWN
};

/* Of a link's error, mildest first. */
enum xid_link { XID_IGNORED, XID_NOTED, XID_LINK_DOWN, XID_RESET };

#define XID_LOST 79 /* the card has fallen off the bus */

struct xid {
    int64_t number;
    int64_t pid;    /* -1: none told */
    int64_t instance; /* of the hard slice it is about; -1: the whole card */
    char card[24];  /* 0000:41:00.0; "": none told */
    bool has_words; /* of a link's error: interrupt word and status */
    uint32_t word, status;
};

/* A number that is in no table is XID_CLASS_UNKNOWN. */
enum xid_class xid_class(int64_t number);
/* One sentence, never NULL. */
const char *xid_meaning(int64_t number);
/* The worst of what the words may mean; XID_NOTED when they are not known. */
enum xid_link xid_link(int64_t number, uint32_t word, uint32_t status);
/* Is this the news that ends that one? */
bool xid_ends(int64_t number, int64_t earlier);

/* Reads one line of the kernel's log, also one that says without a number
 * that a card has fallen off the bus.  False: it is about something else. */
bool xid_parse(const char *line, struct xid *out);

#endif
