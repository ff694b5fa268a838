/* SPDX-License-Identifier: Apache-2.0 */
#ifndef API_OBJECTS_H
#define API_OBJECTS_H

#include "api/cursor.h"
#include "api/exchange.h"
#include "api/names.h"

/*
 * How do objects of any kind look to a client, and how are they listed?
 * Every list is what the decision function lets through: pages, cursors and
 * filters come after it, and no total is told.
 */

/* The object as the asker may see it; content fields only with the right to
 * content.  image: NULL for the world's own.  A new reference. */
json_t *objects_json(const struct granted *granted, struct ref ref,
                     const void *image);

/* Appends the same as text. */
void objects_write(const struct granted *granted, const struct api *api,
                   struct ref ref, const void *image, struct buffer *out);

/* One page of a list: items are offered in the order of seq.  The answer is
 * written as they come. */
struct page {
    const struct granted *granted;
    struct exchange *exchange;
    struct buffer *out;
    struct names *names; /* of what the items refer to */
    struct access_view view;
    const char *name; /* filters, NULL: none */
    const char *state;
    enum kind state_kind; /* whose field that is, once it was looked for */
    const struct field *state_field;
    struct cursor_place after;
    struct ref last;
    int64_t limit;
    int64_t count;
    bool more;
};

#define PAGE_LIMIT_DEFAULT 100
#define PAGE_LIMIT_MAX 500

int page_begin(struct page *page, const struct granted *granted,
               struct exchange *exchange, struct error *err);
/* Where to begin offering: the first object of the kind below parent (none:
 * anywhere) that the page has not passed, as far as it is easily found. */
struct ref page_first(const struct page *page, enum kind kind,
                      struct ref parent);
/* Is it on this page?  Then the caller adds it with page_add or page_put,
 * unless it leaves it out for reasons of its own.  After `more` is set the
 * caller may stop. */
bool page_takes(struct page *page, struct ref ref);
void page_add(struct page *page, struct ref ref);
/* With what the caller made of it; takes over item. */
void page_put(struct page *page, struct ref ref, json_t *item);
/* Ends the answer; with the revision of the list below parent. */
void page_end(struct page *page, struct ref parent);

/* From which revision a watch of the kind below parent (none: anywhere) goes
 * on: that of the scope.  The platform's moves with the work of every tenant,
 * so people of a tenant are told the newest one of what they see. */
uint64_t objects_revision(const struct granted *granted,
                          const struct loop *loop, enum kind kind,
                          struct ref parent);

/* Path of an object below /api/v1, for Location; "" when it has none. */
void objects_location(const struct exchange *exchange, const char *id,
                      char out[512]);

#endif
