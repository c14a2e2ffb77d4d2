#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The record of one setting. Shared by the parts of options*.c.
 */
#include <stdbool.h>

#include "base/macro.h"
#include "daemon/options.h"

typedef enum OptionType { OPTION_STRING, OPTION_LIST, OPTION_INT, OPTION_BOOL } OptionType;

typedef struct Option {
        const char *flag; /* without the dashes */
        const char *env;
        const char *key; /* in muster.toml, "table.name"; NULL: not there */
        OptionType type;
        char separator;  /* OPTION_LIST: between items of one text */
        size_t offset;   /* in Config */
        const char *arg; /* name of the value in --help; NULL: the flag takes none */
        const char *help;
        const char *const *words; /* the values allowed, NULL-terminated; NULL: any */
} Option;

extern const Option option_table[];
extern const size_t n_option_table;

/* Sets one value from text; source names the place in messages. is_first: the first value of this layer. */
int option_set(Config *config, const Option *option, const char *text, bool *is_first, const char *source,
               char reterr[OPTIONS_FAULT_MAX]);
