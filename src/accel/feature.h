/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACCEL_FEATURE_H
#define ACCEL_FEATURE_H

#include "accel/accel.h"

/*
 * What can a card, in words that work may ask for?
 *
 *   bf16 fp8 fp4         formats that its matrix units compute in
 *   mig, partition       it can be cut by the vendor's means
 *   nvlink xgmi xelink   it has such a link up
 *   p2p                  it reaches another card without the host's memory
 *
 * Read from its architecture, its links and the tables of slices; what is not
 * known is left out.
 */
void feature_list(struct accel_card *card);

#endif
