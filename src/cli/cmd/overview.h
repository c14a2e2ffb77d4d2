#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The answer of native.overview for people: the daemon in two lines, every hosted process, then what waits
 * and what failed, each with its age.
 */
#include <stdio.h>

#include "base/json/json.h"

/* cols 0: nothing is cut. */
void overview_print(FILE *out, const Json *overview, unsigned cols);
