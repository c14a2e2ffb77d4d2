#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Options: one table says for each setting its flag, environment variable, key in muster.toml, type and help
 * text; from it come parsing, --help and the messages about what does not fit. Later layers win: defaults,
 * file, environment, flags.
 */
#include "core/config.h"

enum {
        _OPTIONS_E_SUCCESS,
        OPTIONS_E_DONE,  /* --help or --version was printed */
        OPTIONS_E_USAGE, /* reterr says what is wrong */
};

enum { OPTIONS_FAULT_MAX = 512 };

int options_load(Config *config, int argc, char **argv, char reterr[OPTIONS_FAULT_MAX]);
/* The file's layer alone. */
int options_load_file(Config *config, char reterr[OPTIONS_FAULT_MAX]);
