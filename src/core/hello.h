#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Hello: what a program says of itself when it opens a connection: the folder that it runs in, its
 * environment, and whether its interest in a place counts as being there. `muster stdio` says it for the
 * client that started it, whose relative paths and variables would otherwise be the daemon's.
 *
 * It is data that came from outside: nothing here looks whether the folder is there. The environment is
 * never written to a file or to the log. Owned by its Client.
 */
#include "base/json/json.h"
#include "base/strvec.h"

enum { HELLO_BYTES_MAX = 1 << 20, HELLO_NAMES_MAX = 4096 };
enum { _HELLO_E_SUCCESS, HELLO_E_UNFIT };

typedef struct Hello {
        char *cwd;    /* absolute; NULL: it was not said */
        StrVec env;   /* NAME=VALUE, each name once */
        bool has_env; /* it was said; an empty one can be meant */
        bool observe; /* true unless it was said otherwise */
} Hello;

/* {"cwd", "env": {NAME: VALUE}, "observe"}, each of them optional, nothing else. HELLO_E_UNFIT: it is not
 * that; *why then says so. */
int hello_new(Hello **ret, const Json *object, const char **why);
Hello *hello_free(Hello *hello);
