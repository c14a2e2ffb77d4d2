#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TaskTickets: which tasks that wait are our own, and whose environment they will get.
 *
 * Tasks lie in the project's folder, where an agent in a sandbox may write: a line of the history that says
 * "queued" proves nothing. So a ticket is kept where no sandbox can write (the folder of core/trust.h): the
 * task's id, the digest of its record as it was queued, and the environment of who submitted it, which has
 * keys in it and has no business in the project's folder at all. It is written before the line of the
 * history and dropped when the agent has started or the task has ended.
 *
 * A file for each project, a line for each change; with an environment it is synced. When one with an
 * environment is dropped, the file is written anew without it, and without tickets there is no file. One
 * writing at a time, on a worker. While there is nothing else to write, a ticket takes no turn of its own: the
 * worker that keeps the line of the history appends it first, with those of all lines that it keeps together.
 * Embedded in its Project. Loop thread only.
 */
#include "tasks/queue/task.h"

enum {
        TICKET_ENV_MAX = 16 << 20, /* environments of all that wait; then no more are taken */
        TICKET_DEAD_MAX = 4096,    /* dropped ones in the file before it is written anew */
};

typedef struct TaskTickets {
        Project *project;
        char *real; /* of the history, without links */
        char *path;
        LIST_HEAD(, Task) live; /* those that have one */
        size_t n_env_bytes;     /* of their lines with an environment */
        Buf pending;            /* lines that the file does not have yet … */
        Task *waiting;          /* … and who waits for them */
        size_t n_dead;
        bool has_file; /* and it can be appended to */
        bool is_stale; /* it has to be written anew */
        bool wants_sync, is_writing;
        size_t n_beside;                /* on their way together with a line of the history */
        struct TicketBook *book;        /* what the last daemon left, while tasks are loaded */
        void (*idle)(Project *project); /* told once nothing is being written; NULL: nobody asks */
} TaskTickets;

/* Reads what the last daemon left; then loaded(). */
int task_tickets_load(Project *project, void (*loaded)(Project *project));
/* While tasks are loaded: whether this one, with this digest of its record (empty: it could not be made), has a
 * ticket; it is live then, and the environment is in the task. */
bool task_ticket_claim(Task *task, const char digest[SHA256_HEX_MAX]);
void task_tickets_settle(Project *project); /* those that nobody has claimed are gone */
/* Whether an agent in a sandbox could have written the history: then a task without a ticket is nobody's. */
bool task_tickets_are_needed(const Project *project);

/* A ticket for the task with this record. done (may be NULL) in a later turn. TASK_TICKET_E_BESIDE: it does
 * not follow; the ticket goes with the line that is committed next, if task_ticket_prepare() is its prepare,
 * and task_ticket_kept() has to be called then. */
enum { _TASK_TICKET_E_SUCCESS, TASK_TICKET_E_BESIDE };
int task_ticket_put(Task *task, Str record, void (*done)(Task *task, int r));
int task_ticket_prepare(LedgerChange *change); /* of a Task */
void task_ticket_kept(Task *task);             /* or not kept; if it went with a line */
void task_ticket_drop(Task *task);             /* if it has one */
void task_ticket_forget(Task *task);           /* the task is freed; the ticket stays */
/* idle() when all of it is on the disk, perhaps at once. */
void task_tickets_finish(Project *project, void (*idle)(Project *project));
void task_tickets_deinit(TaskTickets *tickets);
