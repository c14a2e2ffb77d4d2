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
        bool is_other; /* no session: GROUP/ACTOR, or whatever else is hosted */
        struct {
                Str name, kind; /* whole name; empty: nothing is called so, or the daemon cannot tell */
                Str id;         /* of its process; empty: none */
                Str place, object;
                int64_t number; /* of a session: which terminal */
                bool has_terminal;
        } thing;      /* what the word means, arena's (docs/names.md) */
        bool is_json; /* what is refused is said as JSON */
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
/* What was named on the command line: anything that docs/names.md has, or a path when it has a slash or is `.` or
 * `..`; NULL: here. From a folder below that of a session, that session is here. */
int coop_choose(Coop *coop, const char *operand);
/* A native method about the chosen thing, by its whole name; the other arguments are set before. CLI_OK when the answer is
 * a good one. */
int coop_call_fleet(Coop *coop, const char *method);

void coop_set_str(Coop *coop, const char *key, Str value);
void coop_set_int(Coop *coop, const char *key, int64_t value);
void coop_set_bool(Coop *coop, const char *key, bool value);
void coop_set_session(Coop *coop);          /* the chosen one */
void coop_set_pty(Coop *coop, int64_t pty); /* < 0: the one that was named, if any */

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
