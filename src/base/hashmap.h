/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_HASHMAP_H
#define BASE_HASHMAP_H

/*
 * uthash (Debian's uthash-dev) for keys that users do not choose, such as
 * ids; user-chosen keys go into a table with a keyed hash.  Its default hash
 * falls through switch labels, which clang warns of where the macro is used.
 */
#define HASH_FUNCTION(keyptr, keylen, hashv) HASH_SAX(keyptr, keylen, hashv)
#include <uthash.h>

#endif
