#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What an actor may be called: 1 to 32 characters, letters and digits of any script and '_', '-' not first,
 * and none of the names that mean somebody else (user, all, system, …).
 */
#include <stdbool.h>

#include "base/str.h"

enum { ACTOR_ID_MAX = 32 }; /* characters, not bytes */

bool actor_id_is_valid(Str id);     /* by its characters */
const char *actor_id_fault(Str id); /* what is wrong with them, for people; NULL: nothing is */
bool actor_id_is_reserved(Str id);  /* in any case */
