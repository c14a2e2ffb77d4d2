#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Reads the options of one command. argv[0] is the command's name; options may stand between operands,
 * except for commands with passes_rest, whose operands all stand behind `--`. Reorders argv; *ret points
 * into it.
 */
#include "cli/cli.h"

/* CLI_OK, or CLI_USAGE after telling what is wrong. */
int options_parse(const Command *command, int argc, char **argv, Options *ret);
