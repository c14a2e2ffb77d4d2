#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Events of a group as a person reads them: one line that says what, when, who and to whom, then the text.
 */
#include <stdio.h>

#include "base/json.h"

void event_print(FILE *out, const Json *event);
