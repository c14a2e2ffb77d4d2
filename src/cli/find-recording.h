#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Finds what the daemon has recorded (`record = true` in a coopfile), also of sessions that are gone. Needs
 * no daemon.
 */
/* The recording of a session that was written to last; malloc'd, NULL: there is none. */
char *recording_find(const char *session);
