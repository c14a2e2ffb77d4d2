#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * `muster rules check`: a daemon.json read by the daemon's own code, without a daemon.
 */
#include "cli/cli.h"

/* Prints what is wrong with the file and what would be in use; an exit status: CLI_FAILED when a daemon
 * would not take it. */
int rules_check(const char *path, bool json);

typedef enum RulesVerdict {
        RULES_FINE,    /* also when there is no such file: the daemon writes one */
        RULES_WRONG,   /* a rule, a job or a folder in it is wrong */
        RULES_REFUSED, /* it is not used at all */
} RulesVerdict;

/* The same in one word; reterr says what the first thing is that is wrong. */
RulesVerdict rules_verdict(const char *path, char *reterr, size_t n_reterr);
