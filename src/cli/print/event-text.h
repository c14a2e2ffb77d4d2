#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Events of a group as a person reads them: one line that says what, when, who and to whom, then the text,
 * also one that is so long that it was stored beside the ledger. At a terminal lines are broken between
 * words; nothing is left out.
 */
#include <stdio.h>

#include "base/json/json.h"

void event_put_time(FILE *out, Str ts); /* local, without the year; nothing when it is none */
/* folder: of the group, where such texts lie; empty: they are not looked for. */
void event_print(FILE *out, const Json *event, Str folder);
