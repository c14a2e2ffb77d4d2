#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What `muster schema mcp` tells of the tools for agents, which are no operations (schema/mcp/).
 */
#include <stdbool.h>

bool schema_tools_is_meant(const char *name); /* "mcp", or "mcp.TOOL" */
/* An exit status. */
int schema_tools_print(const char *name, bool json);
