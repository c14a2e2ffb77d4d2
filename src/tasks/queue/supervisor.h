#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Supervisor: the queue of a project's tasks and the agents that run them.
 *
 * A task is acknowledged after its line is in the history; no crash of the daemon runs an agent twice: the
 * folder of a hosted process is made before it, and is found again. An end is visible after it is kept.
 * Agents are hosted processes on pipes: they outlive this daemon and are found again by supervisor_load().
 * Embedded in its Project.
 *
 *   submit ──► kept ──► waits in the queue ──► kept as running ──► agent ──► end kept ──► told ──► gone
 *                 └── a slot is free: kept as running at once ──┘
 */
#include "tasks/queue/task.h"

enum {
        TASK_BUCKETS = 1024,
        SUPERVISOR_DRAIN_MS = 5000, /* what runs has so long at a stop that ends it */
        SUPERVISOR_LEAVE_MS =
                2000,        /* agents that are just being started have so long at one that does not */
        TASK_AHEAD_MAX = 64, /* of the queue that are looked at for one that nothing holds */
        TASK_KEEP_AGAIN_MS = 1000,
};

/* What a stop means for the tasks. */
typedef enum TaskStop {
        TASK_STOP_LEAVE, /* agents run on, what waits waits: the next daemon goes on with both */
        TASK_STOP_DRAIN, /* what waits is cancelled, what runs has SUPERVISOR_DRAIN_MS */
        TASK_STOP_KILL,  /* … or no time */
} TaskStop;

typedef struct TaskFollower TaskFollower;
typedef struct TaskCall TaskCall;

typedef struct Supervisor {
        TaskList queue;  /* waiting, in the order in which they will run */
        TaskList active; /* they hold a slot, or their end is on its way to the disk; the newest first */
        TaskList held;   /* they wait for a person's word (supervisor_hold()); the newest first */
        size_t n_queue, n_held;
        size_t n_slots;              /* taken */
        size_t n_submitting;         /* submitted, not kept yet … */
        size_t n_entering;           /* … and of these without a slot */
        Task *drafts;                /* of these, in order: from the first whose line is being made */
        size_t n_prompt_bytes;       /* of all tasks in memory */
        Task *buckets[TASK_BUCKETS]; /* every task that clients can find, by row */
        bool is_stopping;
        TaskStop stop;     /* is_stopping: how */
        bool is_loading;   /* the tasks of the last daemon are being read */
        int fault;         /* why there is no store; 0: there is, or will be */
        TaskCall *waiting; /* calls that came before the store was open, newest first */
        Timer drain;
        void (*drained)(Project *project);
        TaskFollower *followers;
        struct TaskLoad *load;
} Supervisor;

enum {
        _SUPERVISOR_E_SUCCESS,
        SUPERVISOR_E_FULL,
        SUPERVISOR_E_ENV_FULL,  /* environments of those that wait */
        SUPERVISOR_E_TEXT_FULL, /* … their prompts */
        SUPERVISOR_E_UNAVAILABLE,
        SUPERVISOR_E_UNKNOWN,
        SUPERVISOR_E_ENDED
};

void supervisor_init_lists(Supervisor *s); /* of a project that is not open yet: it has no tasks */
void supervisor_init(Project *project);
void supervisor_deinit(Project *project);
/* The store is open (or not: r): tasks of an earlier daemon go on, calls that waited are run. */
void supervisor_load(Project *project, int r);
/* Runs fn, in a later turn if the tasks of an earlier daemon are still being read. Returns what a handler
 * returns. */
typedef int (*ProjectFn)(Call *call, Project *project, const Carry *carry);
int supervisor_call(Call *call, Project *project, ProjectFn fn, const Carry *carry);
/* The same with the project whose socket the call came through, for the generated rows. */
int project_target(Call *call, ProjectFn fn, const Carry *carry);

/* The id is the task's own and good in this turn; call (may be NULL) is finished later. Conditions: FULL,
 * ENV_FULL, UNAVAILABLE. */
int supervisor_submit(Project *project, const TaskSpec *spec, Call *call, bool says_state,
                      const char **ret_id);
/* call is finished later when *ret_is_later. Conditions: UNKNOWN, ENDED, UNAVAILABLE. */
int supervisor_cancel(Project *project, Str id, Call *call, bool *ret_is_later);
Task *supervisor_find_row(const Project *project, uint64_t row); /* NULL: not there, or it has ended */
/* supervisor-held.c: those that wait for a person's word. */
int supervisor_held_digest(const Project *project, char ret[SHA256_HEX_MAX]); /* of all of them */
void supervisor_write_held(const Project *project, JsonWriter *w);            /* for that person */
void supervisor_release_held(Project *project);                               /* they may run */
TaskState supervisor_state_of(const Project *project, uint64_t row);
void supervisor_count(const Project *project, uint64_t counts[TASK_N_STATES]);
/* Nothing more is taken or started. drained() once: when no task is left, or when those that are left are on
 * the disk as they are. */
void supervisor_drain(Project *project, TaskStop how, void (*drained)(Project *project));
void supervisor_write(const Project *project, JsonWriter *w,
                      const char *limit_key);                       /* as daemon.status has it */
void supervisor_write_stats(const Project *project, JsonWriter *w); /* as task.stats has it */
Str task_short_prompt(Str prompt);                                  /* its first 80 UTF-16 units */

/* ---- between supervisor*.c ---- */
void supervisor_cancel_queue(Project *project);  /* at a stop that ends tasks */
void supervisor_check_drained(Project *project); /* something that a stop waits for has come */
void supervisor_pump(Project *project);          /* starts what may start */
/* A budget, or a limit of the account that it would use, keeps it from beginning. */
bool supervisor_is_held(const Project *project, const char *id, const StrVec *caller);
void supervisor_end(Task *task, const TaskEnd *end); /* decides an end; all the rest follows */
void supervisor_add(Task *task);                     /* clients can find it from now on */
void supervisor_link(Task *task);                    /* into the list of those under way */
void supervisor_unlink(Task *task);                  /* from the list in which it is, if any */
void supervisor_remove(Task *task);                  /* clients cannot find it any more */
void supervisor_enqueue(Task *task);
void supervisor_dequeue(Task *task);
/* Out of the queue: it stands in the project's folder, where an agent in a sandbox can write, and has no
 * ticket. */
void supervisor_hold(Task *task);
void supervisor_release(Task *task); /* its slot */
int supervisor_keep(Task *task, Str line,
                    void (*done)(LedgerChange *change, int r)); /* one line of history */
void supervisor_activate(Task *task); /* into the list of those under way; takes a slot */
void supervisor_run(Task *task);      /* from waiting to running, and that is kept */
void supervisor_keep_end(Task *task); /* also after what is being kept now */
void supervisor_keep_end_again(
        Task *task);               /* after a failure; at a stop without a folder no more. May free it */
void supervisor_watch(Task *task); /* supervisor-agent.c: makes a new one ready */
void supervisor_start(Task *task); /* supervisor-agent.c: the agent */
/* why: in words; NULL: what the errno says. */
void supervisor_start_failed(Task *task, int error, const char *why);
extern const HostedHandler supervisor_agent_handler;
/* supervisor-spawn.c: whether what is said of the project's sandbox is understood; else nothing is started.
 */
bool supervisor_knows_sandbox(const Project *project);
bool supervisor_has_sandbox(const Project *project); /* its agents run in one */
/* The environment of an agent of this project, for whom the caller brought this. */
int supervisor_env(const Project *project, const StrVec *caller, StrVec *env);
/* Asks the host for it, in that sandbox: its start, or supervisor_start_failed(), follows. Conditions as
 * host_start(). */
int supervisor_spawn(Task *task);
void supervisor_drop_spawn(Task *task);               /* what comes of a start under way is nobody's */
void supervisor_adopt(Task *task, Hosted *hosted);    /* the same of one that runs already, or has ended */
void supervisor_stop_agent(Task *task, int grace_ms); /* ends it and lets go of it */
void supervisor_leave_agent(Task *task); /* hears no more of it; it runs on for the next daemon */

/* task-events.c: what clients are told. */
void task_tell(Project *project, const char *name, Str params);
void task_announce(const Task *task, const char *kind); /* into the daemon's feed */
/* Answers and tells that it is queued, or started: once tasks.json says so, see task_store_changed(). */
void task_tell_later(Task *task, void (*tell)(const Task *task));
void task_tell_now(Task *task); /* what is still to be told, and the answer */
void task_tell_output(Task *task, HostOutput *output);
void task_tell_rest(Task *task);                           /* characters that never became whole */
int task_follow(Project *project, Client *client, Str id); /* id: empty for all */
void task_unfollow(Project *project, Client *client);
void task_followers_free(Project *project);
