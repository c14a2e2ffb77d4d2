/* SPDX-License-Identifier: MIT */
#include "collab/parts.h"

#include "collab/announce.h"
#include "collab/automation.h"
#include "collab/compaction.h"
#include "collab/context-lane.h"
#include "collab/crossing.h"
#include "collab/delivery.h"
#include "collab/group-idle.h"
#include "collab/inbox.h"
#include "collab/stream.h"

/* In the order in which they are told. */
const CollabPart *const collab_parts[] = {
        &runner_part,   &compaction_part, &context_part,  &inbox_part,      &announce_part, &streams_part,
        &delivery_part, &automation_part, &crossing_part, &group_idle_part, NULL,
};
