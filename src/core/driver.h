#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Drivers: how an agent program is asked one question and left to answer it: which words its command line has, where the
 * prompt goes, and what can be learned of the program by asking it. One per family of programs, as data.
 *
 * It starts nothing but short questions to the program itself (driver_ask(), a worker's); the attempt is whoever's it is.
 * Which texts are the answer is for whoever reads the output. Constant data and pure functions, but for the cache, which
 * has one owner.
 */
#include <pthread.h>
#include <stdbool.h>

#include "base/arena.h"
#include "base/file.h"
#include "base/json/json.h"
#include "base/sha256.h"
#include "core/op.h" /* StrList */

typedef enum DriverFamily { DRIVER_CODEX, DRIVER_CLAUDE, DRIVER_GEMINI } DriverFamily;

typedef struct Driver Driver;
struct Driver {
        DriverFamily family;
        const char *name;          /* of the family, and of the program when no setting names another */
        const char *providers[4];  /* the names of providers that are driven so; NULL-terminated */
        const char *help[3];       /* words of the question whose answer names what it can do */
        const char *schema_word;   /* in that answer: it takes a schema for what it prints; NULL: never */
        const char *plain_format;  /* what it prints without a schema; NULL: its form has no name */
        const char *schema_format; /* and with one */
        bool reads_stdin; /* the prompt is its input, else an argument, unless it is too long for one */
};

/* Bytes of one argument: the kernel takes 32 pages (MAX_ARG_STRLEN) with the NUL. */
enum { DRIVER_WORD_MAX = 128 * 1024 - 1 };

const Driver *driver_of_provider(Str provider); /* without case; NULL: nothing is known of it */

/* What a program says of itself. */
typedef struct DriverFacts {
        bool takes_schema;
        bool asks_approval;             /* codex: it may know --approval-policy, which today's does not */
        char version[200];              /* "": it said none */
        char help_hash[SHA256_HEX_MAX]; /* "": it gave no help */
} DriverFacts;

/* Reads the answer to Driver.help into takes_schema and asks_approval. */
void driver_read_help(const Driver *driver, Str help, DriverFacts *facts);

typedef struct DriverQuestion {
        Str program;    /* as it is called: a name for PATH, or a path */
        Str model;      /* empty: its own choice */
        Str permission; /* read-only, patch, run-commands */
        Str prompt;
        Str schema;      /* JSON text */
        Str schema_path; /* the file that holds it */
        StrList tools;   /* that it may use unasked; none: its own choice */
} DriverQuestion;

/* Whether the prompt is the program's input: then driver_argv() leaves it out. */
bool driver_pipes(const Driver *driver, Str prompt);
/* The command line; strings end with NUL, in the arena. 0 or -ENOMEM. */
int driver_argv(Arena *arena, const Driver *driver, const DriverFacts *facts, const DriverQuestion *question,
                StrList *ret);
/*
 * The same of a list of words that a person wrote, in which {PROMPT}, {MODEL}, {PERMISSION_LEVEL} and {OUTPUT_FORMAT} are
 * replaced. DRIVER_E_TEMPLATE: it has no words, begins with a shell, or has a line break in a word. DRIVER_E_LONG: with the
 * prompt one is too long.
 */
enum { _DRIVER_E_SUCCESS, DRIVER_E_TEMPLATE, DRIVER_E_LONG };
int driver_argv_of(Arena *arena, const Driver *driver, const Json *words, const DriverQuestion *question,
                   StrList *ret);

/* ---- worker ---------------------------------------------------------------------------------- */

/* Whose programs: an environment that ends with NULL, and the folder that relative paths begin in. Once
 * is_off is set a question is ended at once; NULL: never. */
typedef struct DriverPlace {
        char *const *env;
        const char *folder;
        const _Atomic bool *is_off;
} DriverPlace;

const char *driver_env(const DriverPlace *place, const char *name); /* NULL: it is not set */
/* The file that a name or path means there, in the arena; NULL: there is none that can be run. */
const char *driver_find(const DriverPlace *place, Arena *arena, Str program);

/* What was learned, by the identity of the program's file. The oldest makes room. */
enum {
        DRIVER_CACHE_MAX = 64,
        DRIVER_HELP_MS = 4000,
        DRIVER_VERSION_MS = 3500,
        DRIVER_OUTPUT_MAX = 256 * 1024
};
typedef struct DriverCache {
        pthread_mutex_t lock;
        size_t n, next;
        struct {
                FileIdentity identity;
                DriverFamily family;
                DriverFacts facts;
        } items[DRIVER_CACHE_MAX];
} DriverCache;

int driver_cache_new(DriverCache **ret);
DriverCache *driver_cache_free(DriverCache *cache);
/* Asks the program, or knows it. What it does not say is left empty: a program that cannot be run says nothing, and nothing
 * is remembered of one that did not answer in time. */
void driver_ask(DriverCache *cache, const Driver *driver, const DriverPlace *place, const char *file,
                DriverFacts *ret);
