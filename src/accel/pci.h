/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_PCI_H
#define ACCEL_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What does the machine itself say about a card, whatever the vendor's
 * library says?  root is put before /sys, "" for this machine.
 */

/* Is the slot of that address (0000:41:00.0) still taken? */
bool pci_is_there(const char *root, const char *address);
/* -1: not known. */
int32_t pci_numa(const char *root, const char *address);
/* Cards of that vendor's id: display controllers and accelerators. */
size_t pci_count(const char *root, unsigned vendor);
/* Minor of its render node (/dev/dri/renderDN); -1: it has none. */
int32_t pci_render(const char *root, const char *address);
/* A file of the card with one short line; false when there is none. */
bool pci_text(const char *root, const char *address, const char *file,
              char *out, size_t room);

#endif
