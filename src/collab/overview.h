#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The groups that are loaded, for the daemon's overview: their actors, who of them runs, and how much mail
 * waits for each, since when and why. Nothing is read from a disk.
 */
#include "base/json-writer.h"
#include "collab/collab.h"

void collab_write_overview(const Collab *collab, JsonWriter *w); /* "groups": […]; NULL: an empty one */
