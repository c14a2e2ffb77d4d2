#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What of this command's own environment goes to what it starts: PATH and a list of names (caller-env.c,
 * muster(1)), and what --env asks for. Trees live in the arena.
 */
#include "base/json/json.h"
#include "cli/cli.h"

Json *caller_env(Arena *arena); /* NULL: no memory */
/* NAME=VALUE, or NAME: its value here; into object. An exit status. */
int caller_env_named(Arena *arena, const char *command, const OptionList *words, Json *object);
