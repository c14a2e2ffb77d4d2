#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Observability: the global settings of section "observability" in settings.yaml.
 *
 * A value that does not fit its rule leaves the old one in place; unknown keys in the file are kept. Pure
 * functions over trees plus one file access; the file is only touched from workers. Knows no op and no loop.
 */
#include "base/json.h"

/* Reads the file at path and gives its settings with patch laid over them; with a patch they are stored
 * first. */
int observability_load(Arena *arena, const char *path, const Json *patch, Json **ret);
