#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The help for agents: Markdown in which a heading `## @role: NAME` or `## @actor: ID` begins a part that is for them alone, up
 * to the next heading of the second level. Pure functions over texts.
 */
#include "base/buf.h"

#define HELP_BUILT_IN "cccc.resources/cccc-help.md" /* as the source of the built-in one is called */

Str help_built_in(void);
/* Appends what this reader is to see. role empty: the parts of all roles; actor empty: no part of an actor. */
int help_select(Buf *out, Str markdown, Str role, Str actor);
