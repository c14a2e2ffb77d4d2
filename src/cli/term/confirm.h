#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Confirm: a question before something that cannot be taken back. Asked at a terminal only; elsewhere
 * nothing is done unless the person has said so beforehand (--force).
 */
#include <stdbool.h>

/* CLI_OK: go on. Otherwise stderr says why, and it is the exit status: CLI_USAGE without a terminal,
 * CLI_FAILED when the answer was not yes. The caller has said before what is about to happen. */
int confirm(const char *command, bool is_forced);
