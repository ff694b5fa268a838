/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CORE_GEOMETRY_H
#define CORE_GEOMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which hard slices fit on a card beside those that are there?
 *
 * A card that can be cut is a row of memory units and a number of compute
 * units.  A slice is a profile at a start: it takes an interval of the row and
 * a share of the compute units.  A layout is legal when no two intervals
 * overlap, the compute units are enough, at most one slice has the extra media
 * engines, and, where a card is cut into equal parts only, all have the same
 * profile.  Profiles and starts are the vendor's (data/partitions.def).
 *
 * Milli-cards of a profile are its share of what is billed, rounded down, so
 * no layout is charged more than the card.
 */

#define GEOMETRY_NAME_MAX 40   /* "3g.40gb@4" */
#define GEOMETRY_SLICES_MAX 16 /* on one card */

enum geometry_media {
    MEDIA_OWN,  /* those that come with its size */
    MEDIA,      /* the extra ones */
    MEDIA_ALL,  /* all of the card */
    MEDIA_NONE, /* none */
};

struct geometry_profile {
    const char *name;
    uint8_t compute; /* units */
    uint8_t size;    /* memory units */
    uint8_t media;   /* enum geometry_media */
    uint16_t parts;  /* that are billed */
    uint32_t starts; /* mask of memory units */
    int64_t memory_mib; /* 0: its share of the card */
};

struct geometry_card {
    const char *vendor;
    const char *words; /* one of them is in the model: "A100|A800" */
    int64_t memory_mib;
    uint8_t units, compute;
    uint16_t parts;
    bool mixed;   /* slices of different profiles side by side */
    bool tenants; /* slices of one card may belong to different tenants */
    size_t first, count; /* profiles */
};

/* What stands on a card; all zeros: nothing. */
struct layout {
    uint32_t taken; /* memory units */
    int8_t compute;
    int8_t media;   /* slices with extra media engines */
    int8_t all;     /* slices with all media engines */
    int8_t engines; /* slices with any */
    int8_t count;
    int8_t size;    /* sum of memory units */
    int8_t none[2]; /* so that layouts can be compared as bytes */
};

/* The card's table, NULL when such a card cannot be cut.  The memory tells
 * cards of one name apart; it may differ from the table's by an eighth. */
const struct geometry_card *geometry_card(const char *vendor,
                                          const char *model,
                                          int64_t memory_mib);
/* All tables, for tests and lists. */
const struct geometry_card *geometry_cards(size_t *count_out);
const struct geometry_profile *
geometry_profile_at(const struct geometry_card *card, size_t index);
/* NULL when the card has no such profile. */
const struct geometry_profile *
geometry_profile(const struct geometry_card *card, const char *name);

/* Would the layout stay legal with one more slice there? */
bool geometry_fits(const struct geometry_card *card,
                   const struct layout *layout,
                   const struct geometry_profile *profile, int start);
void geometry_add(struct layout *layout,
                  const struct geometry_profile *profile, int start);
void geometry_remove(struct layout *layout,
                     const struct geometry_profile *profile, int start);
/* Sum and difference of layouts that do not overlap. */
void geometry_join(struct layout *layout, const struct layout *other);
void geometry_part(struct layout *layout, const struct layout *other);

/* The start that keeps the largest profiles possible, and of equal ones the
 * highest; -1 when it fits nowhere. */
int geometry_start(const struct geometry_card *card,
                   const struct layout *layout,
                   const struct geometry_profile *profile);
/* How many more slices of the profile fit. */
int64_t geometry_room(const struct geometry_card *card,
                      const struct layout *layout,
                      const struct geometry_profile *profile);
/* The largest profile that still fits, NULL when none does. */
const struct geometry_profile *
geometry_largest(const struct geometry_card *card,
                 const struct layout *layout);

int64_t geometry_milli(const struct geometry_card *card,
                       const struct geometry_profile *profile);
/* Of a card with that memory. */
int64_t geometry_memory(const struct geometry_card *card,
                        const struct geometry_profile *profile,
                        int64_t card_memory_mib);

/* The most that a slice of the profile is charged on any card of that vendor
 * and model ("": any); false when none has it. */
bool geometry_most(const char *vendor, const char *model,
                   const char *profile, int64_t *milli_out,
                   int64_t *memory_mib_out);

/* "3g.40gb@4" */
const char *geometry_format(char text[GEOMETRY_NAME_MAX], const char *profile,
                            int64_t start);
/* False when the text is not a slice of the card. */
bool geometry_parse(const struct geometry_card *card, const char *text,
                    const struct geometry_profile **profile_out,
                    int *start_out);

#endif
