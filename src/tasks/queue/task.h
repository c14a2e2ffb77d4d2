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
#include <sys/queue.h>

#include "base/sha256.h"
#include "core/approval/approval.h"
#include "core/host/host.h"
#include "core/lane.h"
#include "core/ledger/ledger.h"
#include "tasks/queue/task-rows.h"

typedef struct Project Project;
typedef struct Task Task;
typedef TAILQ_HEAD(TaskList, Task) TaskList;
typedef struct AgentStart AgentStart;
typedef struct TaskDraft TaskDraft;

/* Somebody who waits until tasks.json says what they have just changed. Embedded. */
typedef struct TaskStoreWait TaskStoreWait;
struct TaskStoreWait {
        LaneItem item;
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
        TASK_DRAFT_MIN = 128 << 10, /* a record with more text is put into words by a worker */
        TASK_WAITING_MAX = 256 << 20, /* prompts of all that wait; then no more are taken */
};

const char *task_state_name(TaskState state);
bool task_state_from_name(Str name, TaskState *ret);
static inline bool task_state_is_final(TaskState state) {
        return state >= TASK_COMPLETED;
}
bool task_may_become(TaskState from, TaskState to); /* the table of transitions */
bool task_become(Task *task, TaskState to);         /* false: the table does not have it */

/* What a client or a rule asks for. */
typedef struct TaskSpec {
        Str prompt;
        Str agent;       /* empty: none */
        Str priority;    /* a JSON number; empty: 0 */
        Str metadata;    /* a JSON object; empty: {} */
        Str approval;    /* id of the one that allowed it; empty: none was needed */
        const Json *env; /* an object that environment_put_json() takes; NULL: none */
        struct Request *
                request; /* whose memory a long prompt is in: a worker copies it; NULL: it is copied at once */
        char **own;      /* the prompt itself, malloc'd: the task takes it; NULL: see above */
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
        TaskList *list; /* in which it is: the queue, those that are held, those under way; NULL: none */
        TAILQ_ENTRY(Task) link;
        Task *next_in_bucket; /* by number */
        char *id;
        uint64_t row;
        Str prompt;               /* malloc'd, as the following; or … */
        struct Request *borrowed; /* … still in this frame, until a worker has copied it; NULL: it is ours */
        char *agent, *priority_text, *metadata;
        StrVec env; /* of who submitted it; kept with its ticket, see tasks/queue/task-ticket.h */
        char ticket[SHA256_HEX_MAX];           /* digest of the record as it was queued; "": none was made */
        char approval[APPROVAL_ID_DIGITS + 1]; /* that allowed it, for its first line; "": none */
        bool has_ticket;
        LIST_ENTRY(Task) ticket_link;        /* has_ticket: among those that have one */
        Task *next_waiting;                  /* for its ticket to be written … */
        void (*ticketed)(Task *task, int r); /* … then */
        Buf ticket_text;                     /* of one that is kept together with the first line … */
        bool is_ticketed;                    /* … that was tried, and this came of it */
        int ticket_r;
        size_t n_ticket_env; /* bytes of the ticket, if there is an environment in it */
        double priority;
        size_t n_counted; /* of its prompt, among those of the project */
        TaskState state;  /* as clients see it */
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
        bool is_held;      /* it waits for a person's word: nobody can tell who queued it */
        bool is_cancelled; /* asked for before there was an agent to signal */
        bool is_ending;    /* its end is decided and on its way to the disk */
        Buf line; /* of the history: with the first record until that is kept, is_ending: with the final one
                   */
        Buf written;  /* the same once more with its newline, for the ledger to take; empty: it is short */
        Buf farewell; /* is_ending: what the clients are told then */
        TaskDraft *draft; /* a worker writes its line; NULL: no */
        Task *next_draft; /* submitted after it … */
        bool is_drafted;  /* … and not kept yet, though its line is there, or could not be made: */
        int draft_r;
        TaskState final_state;
        const char *farewell_name;
        Call *submit, *cancel; /* calls that wait for it */
        bool says_state;       /* in the answer to submit */
        TaskStoreWait wait;    /* for tasks.json, before its end is told */
        TaskNews *news;        /* it was taken or started, and that is not told yet; NULL: nothing to tell */
};

/* The record as clients get it. */
void task_write(const Task *task, JsonWriter *w);
/* What that needs, copied, so that a worker can write it: the task may end meanwhile. */
typedef struct TaskView TaskView;
TaskView *task_view_new(Arena *arena, const Task *task); /* NULL without memory */
void task_view_write(const TaskView *view, JsonWriter *w);
/* The same with its end; output is what was printed, result the same when it is completed. */
void task_write_end(const Task *task, JsonWriter *w, const TaskEnd *end, int64_t completed_us, Str metadata,
                    Str output);
/* A line of the history around a record; the record is the last member. */
void task_line_begin(JsonWriter *w, const char *kind, int64_t now_us);
/* The same of a task that an approval allowed ("": none did), which can be found by it then. */
void task_line_begin_as(JsonWriter *w, const char *kind, int64_t now_us, const char *approval);
void task_line_end(JsonWriter *w);
Str task_line_record(Str line); /* the record in such a line; empty when it is none */
/* A short line of which the ledger would say the same; empty when it is none of ours. */
enum { TASK_OUTLINE_MAX = 192 };
Str task_line_outline(Str line, char (*text)[TASK_OUTLINE_MAX]);
/* task-end.c: the line and the farewell of an end, from what was printed: that is the last of n_all bytes. */
int task_make_end(Task *task, const TaskEnd *end);
int task_put_end(Task *task, const TaskEnd *end, Str output, uint64_t n_all, int64_t now_us);
int task_put_first(Task *task); /* the line of a new one */
/* task-draft.c: the same on a worker; done() in a later turn, unless the task is gone by then. end NULL: the first line,
 * and the digest for its ticket. */
int task_draft_begin(Task *task, const TaskEnd *end, void (*done)(Task *task, int r));
void task_draft_leave(Task *task); /* it is freed: its texts stay with the worker */
Str task_output(const Task *task); /* of the agent so far, as far as it is kept */

void task_drop_prompt(Task *task);
int task_new(Task **ret, Project *project, Str id, const TaskSpec *spec);
Task *task_free(Task *task);
