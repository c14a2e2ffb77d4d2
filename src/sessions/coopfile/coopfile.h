#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Coopfile: the configuration of one coop session, laid over each other from four layers (docs/coopfile.md):
 * what is built in, the user's default.toml, the workspace's coop.toml, the text that came with `create`.
 *
 * Plain values, all owned by the Coopfile. It says what was asked for, not whether it can be had: nothing is
 * mounted, started or looked up here but the three texts and the host variables that [env] names. Those
 * values may be secret: they stand in `env` and in no message.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "core/config.h"

enum { _COOPFILE_E_SUCCESS, COOPFILE_E_INVALID };

typedef enum CoopfileLayer {
        COOPFILE_BUILT_IN,
        COOPFILE_GLOBAL,   /* $XDG_CONFIG_HOME/coop/default.toml, else ~/.config/coop/default.toml */
        COOPFILE_PROJECT,  /* <workspace>/coop.toml; the agent itself can write it */
        COOPFILE_OVERRIDE, /* the text of `create` */
} CoopfileLayer;

typedef struct Mount {
        char *host, *inside; /* absolute; host as written: it may be missing, hold `..` or be a link */
        bool is_volume;      /* host is the folder of a named volume */
        bool is_project;     /* said by the workspace's own file */
} Mount;

typedef struct Packages {
        char *manager;
        StrVec names;
} Packages;

typedef struct BlockSequence {
        char *data; /* any bytes, at least one */
        size_t n;
} BlockSequence;

typedef struct Coopfile {
        char *command;
        StrVec args;
        char *shell; /* of the `shell` command, when it names none */

        StrVec setup; /* commands for the build of an image, in the order of the layers */
        Packages *packages;
        size_t n_packages;
        char *image; /* NULL: not said */
        char *user;  /* NULL: not said */
        Mount *mounts;
        size_t n_mounts;
        char *workspace_mount; /* on the host, absolute: the workspace unless said otherwise */
        char *workspace_path;  /* inside, absolute; NULL: not said */
        char *sandbox_mode;    /* none, bwrap; NULL: not said */
        bool none_is_ignored;  /* the project's file said none, which is not its affair */
        char *network;         /* none, host, veth */
        StrVec hide;           /* what is not to be seen inside, `~/...` or absolute */
        bool hide_is_said;     /* by a person: nothing is added to it */
        bool login;            /* the agent's runtime finds what it needs to be logged in */

        StrVec env;       /* "K=V", expanded */
        StrVec env_unset; /* names from env whose value is empty because the host variable is not set */

        StrVec persist;       /* folders below the home, without `..` */
        bool persist_is_said; /* by any layer; else it is what is built in */
        bool auto_restart;
        bool end_on_success; /* an agent that ends with 0 takes its session along */
        int64_t restart_delay_ms;
        int64_t restart_delay_max_ms; /* as far as the delay grows */
        int64_t restart_limit;        /* quick ends in a row, then it stays ended; 0: never */
        char *size;                   /* whose window counts: last, smallest */
        bool record;
        int64_t memory_max, pids_max, files_max; /* of each process; 0: not said */
        int64_t ctrl_c_debounce_ms;
        BlockSequence *block_sequences;
        size_t n_block_sequences;
} Coopfile;

/* The files of a coopfile as they were when somebody asked for the session: the agent may have changed them
 * since. NULL: it was not there. Owned by whoever holds it. */
typedef struct CoopfileTexts {
        bool is_kept; /* they count instead of the files */
        char *everybody, *project;
} CoopfileTexts;

void coopfile_texts_deinit(CoopfileTexts *texts);
bool coopfile_texts_eq(const CoopfileTexts *a, const CoopfileTexts *b);

/*
 * texts, if it is not NULL, is filled with the files unless it is kept; call deinit always then. workspace
 * is absolute. Files that are not there, and an empty override, are no layers. Reads files: call it from a
 * worker. COOPFILE_E_INVALID: a text cannot be read or makes no sense; reterr then names the file
 * (`coopfile` for override), the line where it is known, the key and what is wrong, in UTF-8 without control
 * characters. *ret is set on success only.
 */
int coopfile_load(Coopfile *ret, const char *workspace, Str override, CoopfileTexts *texts, char *reterr,
                  size_t n_reterr);
/* Takes from held everything that says what the sandbox lets in and out; the rest stays. */
void coopfile_hold(Coopfile *file, Coopfile *held);
/* coopfile-checks.c: what is asked for and not done, a line each. mode: none or bwrap, as it will be. */
int coopfile_notes(const Coopfile *file, const char *workspace, const char *mode, StrVec *ret);
void coopfile_deinit(Coopfile *file); /* leaves zeros; those are fine too */
