/* SPDX-License-Identifier: MIT */
#include "collab/parts.h"

#include "collab/compaction.h"

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        &compaction_part,
        NULL,
};
