/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the first migration; see tools/make-schema. */
#include "base/buffer.h"
#include "store/ddl.h"

int
main(void)
{
    struct buffer out = { 0 };

    ddl_print(&out);
    (void)fputs(buffer_text(&out), stdout);
    buffer_release(&out);
    return 0;
}
