#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The coopfile that `muster new` sends along: TOML text made of what stands on the command line.
 */
#include "base/buf.h"

typedef struct CoopfileText {
        char *const *command; /* program and arguments; n_command 0: not said */
        int n_command;
        const char *sandbox; /* NULL: not said */
        bool is_once;        /* not to be started again when it ends */
} CoopfileText;

enum { _COOPFILE_TEXT_E_SUCCESS, COOPFILE_TEXT_E_NOT_UTF8 };

/* Nothing at all when nothing is said. Condition: COOPFILE_TEXT_E_NOT_UTF8, which TOML cannot hold. */
int coopfile_text(const CoopfileText *text, Buf *out);
