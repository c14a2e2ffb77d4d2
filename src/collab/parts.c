/* SPDX-License-Identifier: MIT */
#include "collab/parts.h"

<<<<<<< HEAD
#include "collab/context-lane.h"

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        &context_part,
=======
#include "collab/compaction.h"

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        &compaction_part,
>>>>>>> collab
        NULL,
};
