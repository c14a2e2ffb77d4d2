#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Cccc: one command of muster that is about a group, and its requests to the daemon in the CCCC dialect.
 *
 * Which group and who is asking: the options --group and --as, else CCCC_GROUP_ID and CCCC_ACTOR_ID (an
 * agent finds both in its environment), else the group that the working directory belongs to, and `user`.
 * Each request has a connection of its own. Owned by the command.
 * Everything it says goes to stderr.
 */
#include "cli/link/asking.h"
#include "cli/cli.h"

typedef struct Cccc {
        const char *command; /* of muster */
        bool is_json;        /* complaints as JSON, too */
        bool is_ending;      /* the request ends something: also of a group that is gone */
        char *socket;
        Str group;        /* id; arena's */
        Str folder;       /* of the chosen group; arena's */
        int64_t n_events; /* of the chosen group when it was found; -1: not known */
        Str by;           /* who asks */
        Link link;
        Arena arena;
        Arguments args; /* of the next request */
        Reply reply;    /* to the last one */
} Cccc;

#define CCCC_NULL                                                                                           \
        {                                                                                                   \
                .link = {.fd = -1 }                                                                         \
        }

/* These return an exit status; unless it is CLI_OK, stderr says why. */
int cccc_open(Cccc *cccc, const char *command, const Options *options);
/* The same; starts a daemon if none runs. */
int cccc_begin(Cccc *cccc, const char *command, const Options *options);
void cccc_deinit(Cccc *cccc);
int cccc_choose_group(Cccc *cccc, const Options *options);
/* A name that nobody in the group bears is a mistake: the daemon would keep a message of it. */
int cccc_check_name(Cccc *cccc, Str name);
/* What group.find says of an id, a title or the beginning of an id; NULL: of the working directory. */
int cccc_find_group(Cccc *cccc, const char *named);
/* Whether this is the whole id of a group that is not found, while the command ends something. */
bool cccc_group_is_gone(Cccc *cccc, const char *named);

void cccc_set(Cccc *cccc, const char *key, Json *value); /* NULL: no memory, which cccc_call() says */
void cccc_set_str(Cccc *cccc, const char *key, Str value);
void cccc_set_int(Cccc *cccc, const char *key, int64_t value);
void cccc_set_strings(Cccc *cccc, const char *key, const char *const *items, int n); /* unless n is 0 */
void cccc_set_target(Cccc *cccc);                                                    /* group_id and by */

/* CLI_OK when the answer is a good one; it is in cccc->reply. */
int cccc_call(Cccc *cccc, const char *op);
int cccc_call_native(Cccc *cccc, const char *op);
/* The result as it came. */
int cccc_print(Cccc *cccc);
/* The id that text is, or is the only one of the last events to begin with; `last`: of the last message that
 * somebody else has sent. *ret is the arena's. */
int cccc_event_id(Cccc *cccc, const char *text, Str *ret);
/* The rest of the command line as one text; a lone `-`: all of stdin. *ret is the arena's. */
int cccc_text(Cccc *cccc, char **words, int n, Str *ret);
