#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Asking: what the commands about groups (cccc.h) and those about sessions (coop.h) have in common: the
 * daemon that is found or started, the arguments of the next request, and one request on a connection of
 * its own. Everything it says goes to stderr. Owns nothing: trees live in the arena of the command.
 */
#include "cli/link/exchange.h"

typedef struct Arguments {
        Json *object; /* NULL: none yet */
        bool is_out_of_memory;
} Arguments;

void arguments_set(Arguments *arguments, Arena *arena, const char *key, Json *value); /* NULL: no memory */
void arguments_set_str(Arguments *arguments, Arena *arena, const char *key, Str value);
void arguments_set_int(Arguments *arguments, Arena *arena, const char *key, int64_t value);

/* These return an exit status; unless it is CLI_OK, stderr says why. What begins something may start a
 * daemon, what looks or ends something may not: a daemon starts every actor that is wanted to run. */
int asking_start(char **ret_socket);
int asking_find(char **ret_socket);
typedef struct Asking {
        const char *socket, *dialect, *op;
        Link *link; /* opened anew */
        Arena *arena;
} Asking;
/* CLI_OK when an answer came, be it an error. Uses the arguments up. */
int asking(const Asking *asking, Arguments *arguments, Reply *ret);

/* A command that is one request to a daemon that runs, and an answer that is printed: by this function, or as JSON. */
typedef struct AskingShow {
        const char *command, *op;
        bool is_json;
        int (*print)(const Json *answer); /* returns an exit status */
} AskingShow;
int asking_show(const AskingShow *show, Arena *arena, Arguments *arguments);
