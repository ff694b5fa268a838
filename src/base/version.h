/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* Which version of the platform is this?  One for all its programs. */
#define VERSION "0.1.0"

#endif
