#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The daemon seen through its native methods, for the commands that are about the daemon itself.
 */
#include <stdio.h>

#include "cli/link/exchange.h"

/*
 * Calls a native method without parameters. Returns an exit status; unless it is CLI_OK, stderr says why. An
 * error answered by the daemon is CLI_FAILED. *ret is NULL when it closed the connection instead: it is
 * about to end.
 */
int native_call(Link *link, const char *path, const char *method, Arena *arena, const Json **ret);
int native_call_with(Link *link, const char *path, const char *method, const Json *args, Arena *arena,
                     const Json **ret); /* args: an object */
/* Says what an outcome of exchange() means; r is not 0. Returns the exit status. */
int exchange_complain(int r, const char *path);
/* The daemon's error on stderr, with what to do about it where that is known, or as one JSON object. Codes
 * that are numbers are in the latter only. */
void reply_complain(const char *what, const Reply *reply, bool json);

int64_t info_pid(const Json *info); /* 0: none there */
/* Says on stderr, if that is so, that the daemon is of another version than this program. */
void info_tell_version(const Json *info);
void info_print_endpoints(FILE *out, const Json *info);
