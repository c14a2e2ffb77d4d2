#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Our other programs stand beside this one, in the build folder as well as when installed. Not for programs of others,
 * which are looked for on the PATH.
 */

/* Where it is, or should be; malloc'd. NULL: no memory, or no /proc. */
char *beside_find(const char *name);
