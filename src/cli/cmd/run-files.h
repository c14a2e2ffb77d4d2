#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * RunFiles: what a run of AgentCompany has printed, as its workspace keeps it (docs/company-runs.md): read from
 * the disk, so that a run which has ended is shown as one that runs. Its stdout goes to stdout and its stderr
 * to stderr, each through a Printer. It does not know whether more will come. Owned by the command.
 */
#include "cli/cli.h"
#include "cli/term/printer.h"

enum { RUN_FILES_STREAMS = 2 };

typedef struct RunFile {
        const char *name; /* in the folder */
        int fd;           /* -1: not there yet */
        uint64_t at;      /* what stands before it was printed, or is not wanted */
        Printer printer;
} RunFile;

typedef struct RunFiles {
        char *folder; /* of the outputs; NULL: not found */
        int root;     /* the folder of the run */
        RunFile files[RUN_FILES_STREAMS];
} RunFiles;

#define RUN_FILES_NULL                                                                                      \
        {                                                                                                   \
                .root = -1, .files = { {.fd = -1}, {.fd = -1} }                                             \
        }

/* PROJECT/RUN, by its form; a path may have the same. */
bool run_files_is_name(const char *operand);
/* In the workspace that the working directory is in, else in those that the daemon has open. Not found, the
 * folder stays NULL. An exit status; unless it is CLI_OK, stderr says why. */
int run_files_find(RunFiles *files, const char *name);
void run_files_init(RunFiles *files, const Options *options);
void run_files_deinit(RunFiles *files);
/* What is there when it is called, of tail (< 0: all) lines of each. false: no more can be written. */
bool run_files_print_past(RunFiles *files, int64_t tail);
/* A piece of what is new. *ret_more: there may be more. false: as above. */
bool run_files_print_new(RunFiles *files, bool *ret_more);
bool run_files_end(RunFiles *files); /* no more comes; false: as above */
