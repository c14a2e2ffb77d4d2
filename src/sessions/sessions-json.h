#pragma once
/* SPDX-License-Identifier: MIT */
/* How sessions look in answers. */
#include "sessions/sessions.h"

void session_write_ptys(const Session *session, JsonWriter *w);
