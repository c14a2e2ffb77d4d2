#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The help of a command as a grammar: which verbs it lists, which operands a usage names, what an option is
 * for. Reads the form that all help has: a row begins with two blanks, and two blanks end what is to be
 * typed.
 */
#include "base/str.h"

typedef struct HelpRow {
        Str typed;   /* `attach [FOLDER]`, `-d, --detach`, `start, stop` */
        Str summary; /* of its first line; may be empty */
} HelpRow;

/* The next row of the details; *at is moved. false: there is none. */
bool help_next_row(const char **at, HelpRow *ret);
/* One of the verbs of a row (`start, stop, remove ACTOR` has three), by number; empty: no more, or none. */
Str help_verb(const HelpRow *row, size_t i);
/* What is typed behind the verbs. */
Str help_operands(const HelpRow *row);
/* Whether the row is about this option (its long name). */
bool help_has_option(const HelpRow *row, const char *name);
/* The i-th operand of a usage: `SESSION`, `GROUP|FILE`; the last one again when it may be repeated. Options
 * with their values are passed over. Empty: there is none. */
Str help_operand(Str usage, size_t i);
