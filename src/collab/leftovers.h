#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Leftovers: state files of runners that no daemon holds any more. A process is ended only when it is
 * certain that it is the one that the file means: it is old enough, and its environment names this group and
 * actor. Never by its number alone. Worker.
 */
#include "core/config.h"

/* group_dir: of the group; kept: paths of files that belong to runners we have. */
void leftovers_clear(const char *group_dir, const char *group_id, const StrVec *kept);
