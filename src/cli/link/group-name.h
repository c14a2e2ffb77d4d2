#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Which group of a CCCC home a word means, by its files: for commands that do without the daemon. By the
 * same rule as group.find: an id, then a title, then the beginning of an id.
 */

enum { _GROUP_NAME_E_SUCCESS, GROUP_NAME_E_AMBIGUOUS };

/* *ret: malloc'd id; NULL: none is called so. Condition: GROUP_NAME_E_AMBIGUOUS, which was complained of. */
int group_name_find(const char *home, const char *word, char **ret);
