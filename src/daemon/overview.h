#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Parts of answers that daemon.info, ps and overview share. Each writes members of the object that is open.
 */
#include "core/call.h"

void info_write(const Daemon *daemon, JsonWriter *w);
/* "processes": every hosted process, by owner and object. */
int processes_write(Call *call, JsonWriter *w);
