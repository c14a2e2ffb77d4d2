#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Task: one piece of work for an agent, from its submission to the kept record of its end.
 *
 * Only tasks that wait or run are objects; one that has ended is a row of the store and a line of the
 * history.
 *
 *     queued ──► running ──► completed | failed | cancelled
 *        └─────────────────► cancelled | failed (not started)
 *
 * Owned by its project's Supervisor.
 */
#include "core/host/host.h"
#include "core/ledger/ledger.h"
#include "tasks/task-rows.h"

typedef struct Project Project;
typedef struct Task Task;
typedef struct AgentStart AgentStart;

/* Somebody who waits until tasks.json says what they have just changed. Embedded. */
typedef struct TaskStoreWait TaskStoreWait;
struct TaskStoreWait {
        TaskStoreWait *next;
        void (*done)(TaskStoreWait *wait);
        bool is_end; /* of a task */
};

/* What is told once tasks.json says it. The task does not wait for that: by then it may have gone on, and
 * told it itself. */
typedef struct TaskNews {
        TaskStoreWait wait;
        Task *task; /* NULL: told already, or gone */
        void (*tell)(const Task *task);
} TaskNews;

enum {
        TASK_PROMPT_MAX = 12 << 20, /* bytes; more is refused */
        TASK_OUTPUT_MAX = 2 << 20,  /* of its standard output the last so many bytes are kept, less the place
                                       of one read */
        TASK_STDERR_MAX = 64 << 10, /* the same of its standard error */
        TASK_KILL_MS = 5000,        /* between TERM and KILL */
};

const char *task_state_name(TaskState state);
bool task_state_from_name(Str name, TaskState *ret);
static inline bool task_state_is_final(TaskState state) {
        return state >= TASK_COMPLETED;
}
bool task_may_become(TaskState from, TaskState to); /* the table of transitions */

/* What a client or a rule asks for. */
typedef struct TaskSpec {
        Str prompt;
        Str agent;       /* empty: none */
        Str priority;    /* a JSON number; empty: 0 */
        Str metadata;    /* a JSON object; empty: {} */
        const Json *env; /* an object that environment_put_json() takes; NULL: none */
} TaskSpec;

/* How it ended. */
typedef struct TaskEnd {
        TaskState state;
        const char *error;  /* NULL: none */
        int exit_code;      /* of the agent; -1: none */
        int signal;         /* that ended it; 0: none */
        const char *reason; /* of a cancellation that was no signal; NULL: none */
} TaskEnd;

/* The first bytes of a character whose rest has not come yet. */
typedef struct TaskTail {
        char bytes[4];
        size_t n;
} TaskTail;

struct Task {
        Project *project;
        Task *next, **link;   /* in the queue, or in the list of those under way */
        Task *next_in_bucket; /* by number */
        char *id;
        uint64_t row;
        Str prompt; /* malloc'd, as the following */
        char *agent, *priority_text, *metadata;
        StrVec env; /* of who submitted it; not kept on the disk: a later daemon runs it without */
        double priority;
        TaskState state; /* as clients see it */
        int64_t created_us, started_us;

        Hosted *hosted;       /* the agent; NULL: not yet, or no more */
        AgentStart *starting; /* its sandbox is being made; NULL: no */
        Viewer viewer;
        Timer limit;       /* of its run time; after its end: to try again to keep it */
        TaskTail tails[2]; /* of what was told of stdout and stderr */

        LedgerChange change; /* under way while is_keeping */
        bool is_keeping;
        bool has_row;      /* it is in the store: clients can find it */
        bool is_reserved;  /* it holds a slot */
        bool is_cancelled; /* asked for before there was an agent to signal */
        bool is_ending;    /* its end is decided and on its way to the disk */
        Buf line;          /* is_ending: the line of the history with the final record */
        Buf farewell;      /* is_ending: what the clients are told then */
        TaskState final_state;
        const char *farewell_name;
        Call *submit, *cancel; /* calls that wait for it */
        bool says_state;       /* in the answer to submit */
        TaskStoreWait wait;    /* for tasks.json, before its end is told */
        TaskNews *news;        /* it was taken or started, and that is not told yet; NULL: nothing to tell */
};

/* The record as clients get it. */
void task_write(const Task *task, JsonWriter *w);
/* The same with its end; output is what was printed, result the same when it is completed. */
void task_write_end(const Task *task, JsonWriter *w, const TaskEnd *end, int64_t completed_us, Str metadata,
                    Str output);
/* A line of the history around a record; the record is the last member. */
void task_line_begin(JsonWriter *w, const char *kind, int64_t now_us);
void task_line_end(JsonWriter *w);
Str task_line_record(Str line); /* the record in such a line; empty when it is none */
/* task-end.c: the line and the farewell of an end. */
int task_make_end(Task *task, const TaskEnd *end);
Str task_output(const Task *task); /* of the agent so far, as far as it is kept */

int task_new(Task **ret, Project *project, Str id, const TaskSpec *spec);
Task *task_free(Task *task);
