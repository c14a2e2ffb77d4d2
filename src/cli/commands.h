#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * All commands as one list, in the order of the help; the tables are in cmd/commands-*.c.
 */
#include "cli/cli.h"

size_t n_commands(void);
const Command *command_at(size_t i);
const Command *command_find(const char *name); /* NULL: there is none */
