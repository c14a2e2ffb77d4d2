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

typedef struct OptionShape {
        const char *name; /* the long one */
        char letter;      /* 0: none */
        bool has_value;
} OptionShape;

/* The i-th option that the command knows; false: it has no more. */
bool option_shape(const Command *command, size_t i, OptionShape *ret);
/* Whether --sandbox and --network, where they are given, are words that are known; complains if not, as an
 * exit status. */
int options_check_sandbox(const char *command, const Options *options);
