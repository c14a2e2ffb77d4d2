/* SPDX-License-Identifier: MIT */
#include "collab/parts.h"

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        NULL,
};
