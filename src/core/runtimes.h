#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Runtimes: the agent programs that are known by name: how each is started at a terminal and without one,
 * and how to read what it prints in its structured form.
 *
 * A constant table and pure functions; who starts what is the domains' affair. A program that is not in the
 * table is "custom": nothing is known of it but the form that most of them share, `-p PROMPT`.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

enum { RUNTIME_ARGS_MAX = 8 };

/* Below the home, `~/...`. */
typedef struct RuntimePath {
        const char *path;
        bool is_writable;
} RuntimePath;

typedef struct Runtime {
        const char *name;                          /* as contracts spell it */
        const char *program;                       /* found on PATH; NULL: custom */
        const char *interactive[RUNTIME_ARGS_MAX]; /* arguments at a terminal, where nobody is asked */
        const char *headless[RUNTIME_ARGS_MAX];    /* arguments before the prompt, without a terminal */
        const char *agent_flag;                    /* before the name of a persona; NULL: it has none */
        const char *structured[RUNTIME_ARGS_MAX];  /* more headless arguments for output that can be read */
        /* What a sandbox has to show it for it to be logged in, and to remember what it did. What names
         * programs that it runs (hooks, servers) is read-only: the same runtime obeys it outside. */
        RuntimePath login[RUNTIME_ARGS_MAX];
        const char *secrets[RUNTIME_ARGS_MAX]; /* of those: what others are not to see */
} Runtime;

const Runtime *runtime_first(void); /* in order of names; then runtime + 1 until name is NULL */
const Runtime *runtime_find(Str name);
/* By the base name of a command, e.g. /usr/bin/cursor-agent; "custom" when it is none of them. */
const Runtime *runtime_of_command(Str command);

/* What a structured output says. Text that is none is taken as it is. */
typedef struct RuntimeReading {
        bool is_structured;
        bool has_usage;
        Str text;                            /* the answer */
        int64_t n_input, n_cached, n_output; /* tokens of the whole run, as the program counts them */
        double cost_usd;
        bool has_cost;
} RuntimeReading;

/* text points into output or the arena. Understands the JSON and JSON-lines forms of all known runtimes, by
 * their members. */
void runtime_read(Arena *arena, Str output, RuntimeReading *ret);
