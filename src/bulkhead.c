/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* The command line: see `bulkhead --help`. */
int
main(int argc, char **argv)
{
    return cli_main(argc, argv);
}
