#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Our hooks in the settings of another program, which are JSON, perhaps with comments and commas too many: texts in, texts out.
 * Everything else in them stays byte for byte, and what was added is taken out again as if it had never been there. Pure functions;
 * which files those are is cmd-hooks.c. Conditions are those of setup-edit.h.
 */
#include "cli/setup/setup-edit.h"
#include "core/agents/hook-config.h"

/* text NULL data: there is no file yet. What is there of ours is replaced. Negative: out of memory. */
int hooks_add(const HookConfig *config, Str text, Buf *out, char what[SETUP_WHAT_MAX]);
int hooks_remove(const char *runtime, Str text, Buf *out, char what[SETUP_WHAT_MAX]);
