#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Observability: the global settings of section "observability" in settings.yaml.
 *
 * A value that does not fit its rule leaves the old one in place; unknown keys in the file are kept. The file
 * is a Document (core/document.h) and only touched from workers.
 */
#include "base/json/json.h"
#include "core/lane.h"

typedef struct ObservabilityJob ObservabilityJob;
extern const LaneType observability_lane; /* of Collab.settings */

/* Reads the file at path and gives its settings with patch laid over them; with a patch they are stored
 * first. */
int observability_load(Arena *arena, const char *path, const Json *patch, Json **ret);
