/* SPDX-License-Identifier: Apache-2.0 */
#include "accel/accel_place.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/digest.h"
#include "base/sign.h"

#define PATH_ROOM 512

int
accel_place_make(const char *directory, const char *name, struct error *err)
{
    uint8_t bytes[8];
    char opaque[2 * sizeof(bytes) + 1];
    char link[PATH_ROOM], place[PATH_ROOM];
    struct stat now;

    (void)snprintf(link, sizeof(link), "%s/%s", directory, name);
    if (stat(link, &now) == 0 && S_ISDIR(now.st_mode))
        return 0;
    random_bytes(bytes, sizeof(bytes));
    hex_encode(bytes, sizeof(bytes), opaque);
    (void)snprintf(place, sizeof(place), "%s/%s", directory, opaque);
    /* A link that leads nowhere is of a kill in between. */
    (void)unlink(link);
    if (mkdir(place, 0700) != 0 || symlink(opaque, link) != 0)
        return error_set(err, ERROR_INTERNAL, "make a card's place: %s",
                         strerror(errno));
    return 0;
}
