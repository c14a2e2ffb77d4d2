#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Coop: one command of muster that is about sessions, and its requests to the daemon in the coop dialect.
 *
 * Sessions outlive the daemon, so there may be some without one; who looks at them is told so. Each request
 * has a connection of its own; after one that streams, the link carries the stream. Owned by the command.
 * Everything it says goes to stderr.
 */
#include "cli/link/asking.h"

typedef struct Coop {
        const char *command; /* of muster */
        char *socket;
        char *session; /* name or absolute path, as it is sent; NULL: none chosen */
        bool is_here;  /* it is the one of the working directory, because none was named */
        bool is_actor; /* no session: GROUP/ACTOR */
        bool is_json;  /* what is refused is said as JSON */
        Link link;
        Arena arena;
        Arguments args; /* of the next request */
        Reply reply;    /* to the last one */
} Coop;

#define COOP_NULL                                                                                           \
        {                                                                                                   \
                .link = {.fd = -1 }                                                                         \
        }

/* These return an exit status; unless it is CLI_OK, stderr says why. */
int coop_open(Coop *coop, const char *command);
int coop_begin(Coop *coop, const char *command); /* the same; starts a daemon if none runs */
void coop_deinit(Coop *coop);
/* GROUP/ACTOR, as ps names the actors of groups, whose ids begin with g_. */
bool names_actor(const char *operand);
/* What was named on the command line: a name, an actor, or a path when it has a slash or is `.` or `..`;
 * NULL: here. */
int coop_choose(Coop *coop, const char *operand);

void coop_set_str(Coop *coop, const char *key, Str value);
void coop_set_int(Coop *coop, const char *key, int64_t value);
void coop_set_bool(Coop *coop, const char *key, bool value);
void coop_set_session(Coop *coop);          /* the chosen one */
void coop_set_pty(Coop *coop, int64_t pty); /* unless < 0 */

/* CLI_OK when an answer came, be it an error. */
int coop_ask(Coop *coop, const char *op);
/* CLI_OK when the answer is a good one. */
int coop_call(Coop *coop, const char *op);
/* The result of the last answer, as JSON on stdout. An exit status. */
int coop_print(const Coop *coop);
/* After attach to an actor: somebody else types there; until he leaves, what we type does not count. */
bool coop_is_out_of_turn(const Coop *coop);
/* What the answer has to tell beside its result, a line each on stderr. */
void coop_tell_notes(const Coop *coop);
/* With this error; one of CALL_E_*. */
bool coop_was_refused(const Coop *coop, int error);
/* Says what the error answer means for this command. Returns CLI_FAILED. */
int coop_complain(Coop *coop);
/* CLI_OK unless the chosen terminal (pty < 0: 0) is the one that standard output is. */
int coop_refuse_itself(Coop *coop, int64_t pty);
/* The name of the chosen session, from the daemon, which also tells whether there is one. Arena's. */
int coop_name(Coop *coop, const char **ret);
