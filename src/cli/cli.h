#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the commands of `muster` share: exit statuses, options, the record of a command.
 *
 * A command gets its options and operands, writes its result to stdout and everything else to stderr, and
 * returns an exit status. It may block, but each wait has a deadline (streams and `stdio` end with their
 * connection).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

/* Exit statuses of muster; documented in --help and muster(1). */
enum {
        CLI_OK = 0,
        CLI_FAILED = 1,    /* the daemon answered with an error, or the command itself failed */
        CLI_USAGE = 2,     /* wrong command line */
        CLI_NO_DAEMON = 3, /* none is running, or it could not be started */
        CLI_TIMEOUT = 4,
};

/* Which options a command knows. */
enum {
        CLI_OPTION_JSON = 1 << 0,
        CLI_OPTION_WAIT = 1 << 1,
        CLI_OPTION_TIMEOUT = 1 << 2,
        CLI_OPTION_PROJECT = 1 << 3,
        CLI_OPTION_REST = 1 << 4, /* not an option: what stands behind -- is for somebody else */
};

typedef struct Options {
        bool json, help;
        int64_t wait_ms, timeout_ms; /* -1: not given */
        const char *project;         /* NULL: not given */
        char **operands;
        int n_operands;
} Options;

typedef struct Command {
        const char *name;
        const char *summary;
        const char *usage; /* what stands behind `muster NAME` */
        const char *details;
        const char *examples;
        unsigned options;
        int n_min, n_max; /* operands; n_max -1: any number */
        int (*run)(const Options *options);
} Command;

int cmd_up(const Options *options);
int cmd_down(const Options *options);
int cmd_status(const Options *options);
int cmd_call(const Options *options);
int cmd_schema(const Options *options);
int cmd_stdio(const Options *options);
