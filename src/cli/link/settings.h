#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Settings: what muster.toml says to the command line, in its table [cli]. All else in the file is for
 * musterd, which also checks the whole of it. The file is the daemon's: $MUSTER_CONFIG, else by place.h.
 */

/* A text; malloc'd. NULL: not set. A file that cannot be read is told on stderr, and sets nothing. */
char *settings_text(const char *table, const char *key);
