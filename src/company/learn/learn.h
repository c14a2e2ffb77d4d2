#pragma once
/* SPDX-License-Identifier: MIT */
/* What the operations of this room share: an agent's guide as a part of an Edit. */
#include "company/edit.h"

/* The guide as it is, or as it begins. As decide() returns. */
int learn_read_guide(Edit *edit, const char *path, Str agent_id, Str *ret, bool *is_new);
