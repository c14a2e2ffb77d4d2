#pragma once
/* SPDX-License-Identifier: MIT */
/* Headless actors have no terminal: a message to one that runs brings a notice with it, in the same change.
 */
#include "collab/group-change.h"
#include "core/op.h"

void headless_notices(GroupChange *change, Str by, const StrList *to, bool is_attention);
