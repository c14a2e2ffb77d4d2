#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Finds what the daemon has recorded (`record = true` in a coopfile), also of sessions that are gone. Needs
 * no daemon.
 */
#include <stdint.h>

/* The recording that was begun last of a session's agent (pty 0 or less), or of another of its terminals;
 * one that is older may still be written to when the next one has begun. malloc'd, NULL: there is none. */
char *recording_find(const char *session, int64_t pty);
