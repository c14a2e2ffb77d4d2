#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TaskLink: the command line's connection to the daemon of one AIWG project, at the project's own socket.
 * Notifications that come between a request and its answer are handed to note(). Owned by the command.
 */
#include "cli/cli.h"
#include "cli/link/exchange.h"

typedef struct TaskLink {
        Link link;
        char *socket, *dir; /* dir: the project's folder */
        Arena arena;        /* of the last answer or notification */
        int64_t last_id;
        bool is_json;                               /* what is refused is said as JSON */
        void (*note)(void *user, const Json *note); /* may be NULL */
        void *user;
} TaskLink;

#define TASK_LINK_NULL                                                                                      \
        {                                                                                                   \
                .link = {.fd = -1 }                                                                         \
        }

/* The folder with a .aiwg at or above here; malloc'd, NULL: there is none. */
char *task_project_find(void);
/* project: NULL is the one that this folder is in. An exit status; unless it is CLI_OK, stderr says why. */
int task_link_open(TaskLink *link, const char *project, int64_t timeout_ms);
/* For who brings work: a project that nobody serves is served from now on, and stderr says so. */
int task_link_open_serving(TaskLink *link, const char *project, int64_t timeout_ms);
void task_link_deinit(TaskLink *link);
/* Sends without waiting for the answer. Conditions of the Link. */
int task_link_send(TaskLink *link, const char *method, Str params);
/* The answer; complains about errors when what is not NULL. Returns an exit status. */
int task_link_call(TaskLink *link, const char *what, const char *method, Str params, Reply *ret);
/* The next message; conditions of the Link, EXCHANGE_E_GARBLED. */
int task_link_next(TaskLink *link, const Json **ret);
/* What people may write for an id: itself, a number, a beginning (docs/names.md); the daemon is asked which task that is.
 * One that nobody has stays as it is, and where no daemon can tell, 7 and task-7 are task-0007. what: for the complaint
 * that several are meant. Malloc'd, in *ret. An exit status. */
int task_id_find(const TaskLink *link, const char *what, const char *word, char **ret);
/* The short form of an id, as task_id_find() takes it; into the id. */
Str task_id_short(Str id);
/* {"taskId":ID}, into out. */
int task_params(Buf *out, const char *id);
/* Whether a notification says that this task has ended. */
bool task_note_is_end(const Json *note, Str id);
bool task_note_is_output(const Json *note, Str id, Str *ret_chunk, bool *ret_is_stderr);
