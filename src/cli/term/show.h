#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Show: this terminal becomes the one of a hosted process until the person leaves or the process ends. What
 * attach, new and shell have in common once the daemon has said yes.
 */
#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/term/detach.h"

typedef struct Show {
        Coop *coop;       /* its link is in stream mode */
        const char *name; /* of the session, for messages */
        int64_t pty;      /* 0: the agent */
        DetachKeys keys;  /* that leave */
        bool is_read_only;
        bool is_waiting; /* somebody else types there */
        bool is_alone;   /* is not shown again when the daemon has gone and come back */
        bool is_raw;     /* see RelaySpec */
        bool has_past;   /* what the program asked the terminal before has been answered before */
        int64_t n_past;  /* bytes that the stream begins with were printed before; -1: not known */
} Show;

/* Which keys leave, by --detach-keys, else by muster.toml. CLI_OK, or CLI_USAGE after telling what is wrong.
 */
int show_choose_keys(Show *show, const Options *options);
/* Sets cols and rows of the next request to those of this terminal, if it has some. */
void show_set_size(Coop *coop);
/* Asks for the terminal of the chosen session. An exit status; unless it is CLI_OK, stderr says why. */
int show_ask(Show *show);
/* An exit status: the process's own when it ended, CLI_OK after a detach. */
int show_terminal(Show *show);
