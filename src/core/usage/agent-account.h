#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Account: who pays for what an agent uses: its program and the folder of its settings, as in "claude:/home/me/.claude". As the process was
 * started with it: what a child of it sets for itself does not count. A text, malloc'd; NULL: the program has no accounts that are known here.
 */
#include <sys/types.h>

#include "base/str.h"
#include "base/strvec.h"

bool account_is_known(Str runtime); /* whether such a program has any */
char *account_of_list(Str runtime, const StrVec *env);
/* Blocks: reads the environment of a process. ret_zone (may be NULL): its TZ, malloc'd, NULL: it has none. */
char *account_of_process(Str runtime, pid_t pid, char **ret_zone);
