#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What could come next on a command line, for the completion scripts of the shells (completions/), which
 * know nothing themselves: commands, options, verbs and operands are read from the tables and the help that
 * people read, names from a daemon that runs. Starts none, and says nothing on stderr.
 *
 * One candidate a line, with what it is behind a tab. A line that begins with a colon is for the script:
 * `:files`, `:folders`, `:programs` want the shell's own, `:nospace` wants no blank behind the word.
 */
#include "cli/cli.h"

/* words: what stands behind `muster`, the last one being written, maybe empty. Returns an exit status. */
int complete(int n, char **words);
/* The same behind `ac` (src/cli/ac). */
int complete_ac(int n, char **words);
