#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Our entry in the settings of another program: texts in, texts out. Everything else in them stays byte for byte, and what was
 * added is taken out again as if it had never been there. Not here: which files those are, and whether they may be touched
 * (cmd-setup.c). Pure functions.
 */
#include <stdbool.h>

#include "base/buf.h"

enum {
        _SETUP_E_SUCCESS,
        SETUP_E_SAME,   /* there is nothing to do: out is empty */
        SETUP_E_GONE,   /* nothing is left but what we had made: the file goes, too */
        SETUP_E_BROKEN, /* it cannot be read, or not be changed without harm; what says why */
        SETUP_E_OTHER,  /* there is an entry of this name that is not ours */
};

enum { SETUP_WHAT_MAX = 200 };

typedef struct SetupEdit {
        const char *key; /* JSON: the member that the servers are in */
        Str entry;       /* JSON: ours; TOML: the lines of our table */
        bool is_removal; /* … which is to go; entry is not looked at */
} SetupEdit;

/* text NULL data: there is no file yet. Negative: out of memory. */
int setup_json(const SetupEdit *edit, Str text, Buf *out, char what[SETUP_WHAT_MAX]);
int setup_toml(const SetupEdit *edit, Str text, Buf *out, char what[SETUP_WHAT_MAX]);
