#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Runner: one actor that runs: a process at a terminal (core/host), or a headless session, which is nothing
 * but a state that its client keeps here.
 *
 *              runner_begin()          up: process there, state file written
 *   (none) ───────────────► STARTING ──────────────────────────► UP ──────┐
 *                              │ failed            runner_end() or         │
 *                              ▼                   the process ended       ▼
 *                           (none) ◄───────────────────────────────── ENDING
 *
 * Before there is a process a worker may have to make its sandbox (is_wrapping): STARTING lasts longer then,
 * and an ENDING that comes meanwhile waits for the worker.
 *
 * A terminal's process outlives the daemon: the next one finds it in the host's table and goes on with it.
 * Headless sessions do not; groups that are wanted to run get new ones at start (collab/actor/autostart.c).
 * Runners do not hang off the Group, so that they can be there before it is loaded. Owned by the Collab.
 */
#include "collab/collab.h"
#include "collab/group/group.h"
#include "core/host/host.h"

typedef struct Runner Runner;
typedef struct RunnerWait RunnerWait;

typedef enum RunnerKind { RUNNER_PTY, RUNNER_HEADLESS } RunnerKind;
typedef enum RunnerState { RUNNER_STARTING, RUNNER_UP, RUNNER_ENDING } RunnerState;

enum { RUNNER_GRACE_MS = 1000 };

/* Somebody who wants to know when it is up, or gone. error: 0 or a positive errno. */
struct RunnerWait {
        void (*done)(RunnerWait *wait, int error);
        RunnerWait *next;
        const char
                *why; /* in done(), of an error: what was in the way, in words; NULL: what the errno says */
};

/* What a headless session's client says of itself. */
typedef struct Headless {
        const char *status; /* "idle", "working", "waiting", "stopped" */
        char *task_id, *message_id;
        int64_t updated_us;
} Headless;

struct Runner {
        Collab *collab;
        LIST_ENTRY(Runner) link; /* in collab->runners */
        char *group_id, *actor_id;
        char *file_path; /* state/runners/<kind>/<actor>.json */
        RunnerKind kind;
        RunnerState state;
        int64_t started_us;

        Hosted *hosted; /* PTY: its process */
        StrVec notes;   /* what its sandbox has to tell people, a line each; not of an adopted one */
        Headless headless;

        bool has_file, wants_file, is_writing; /* runner.c */
        bool is_wrapping;                      /* a worker makes its sandbox; there is no process yet */
        bool is_over;                          /* the process is gone; only the file is left to remove */
        RunnerWait *waiting;                   /* for the state that comes next */
};

/* How an actor ended that nobody had asked to; one for each, until it is started again or the daemon ends.
 */
typedef struct RunnerEnd RunnerEnd;
struct RunnerEnd {
        RunnerEnd *next;
        int64_t ended_us;
        int code;      /* exit status, as hosted_exit_code() has it */
        char object[]; /* GROUP/ACTOR */
};
void runner_note_end(const Runner *runner, const Hosted *hosted);
void runner_drop_end(Collab *collab, Str group_id, Str actor_id);
const RunnerEnd *runner_find_end(const Collab *collab, Str group_id, Str actor_id); /* NULL: none */

Runner *runner_find(const Collab *collab, Str group_id, Str actor_id); /* in any state; NULL: none */
bool runner_is_running(const Runner *runner);                          /* NULL is fine */

/*
 * Begins to start an actor, which must have passed runner_check() and of which no runner is there, in
 * whatever state. The wait is told in a later turn, when it is up or has failed; NULL: nobody waits, a
 * failure is logged.
 */
int runner_begin(Group *group, const ActorView *actor, RunnerWait *wait);
/* Waits for the state that comes next. */
void runner_join(Runner *runner, RunnerWait *wait);
/* Begins to end it, process tree and all. wait may be NULL. */
void runner_end(Runner *runner, RunnerWait *wait);
/* Ends all of a home, and no other starts until it is served again; the daemon's own stop waits for it. */
void runners_end_all(Collab *collab);
/* The table of hosted processes goes, while workers may still come back: nothing here points into it any
 * more. */
void runners_let_go(Collab *collab);
/* Ends those whom the group's document does not know any more: a start that was under way while its actor
 * was removed. */
void runners_end_unlisted(const Group *group);
/* Whether actors may be started now: not before what an earlier daemon left behind is cleared away. */
bool runners_are_open(const Collab *collab);
/* Waits for that. */
void runners_join(Collab *collab, RunnerWait *wait);
void runners_open(Collab *collab);

/* 0 when the actor could be started, else call_fail() with the contract's code for what is in the way.
 * Looks at the folder with stat(2). */
int runner_check(Call *call, const GroupDoc *doc, const ActorView *actor);
/* Only whether the group has a folder at all. */
int runner_check_root(Call *call, const GroupDoc *doc);
/* runner_check() without a call to answer. */
bool runner_can_start(const GroupDoc *doc, const ActorView *actor);

/* Starts actors of the group (each with runner_check() first, before any is started), then runs fn. error:
 * what a failed start is answered with. Return what a handler returns; ids must lie in the call's arena. */
int runner_call_start(Call *call, Group *group, const Str *ids, size_t n, int error, GroupFn fn,
                      const Carry *carry);
/* Ends what runs of an actor, if anything does, then runs fn. */
int runner_call_stop(Call *call, Group *group, Str id, GroupFn fn, const Carry *carry);
/* The same for all actors of a group. */
int runner_call_stop_all(Call *call, Group *group, GroupFn fn, const Carry *carry);
/* Ends an actor (empty: every one of the group) that no document knows, or whose group has none that can be
 * read, then fails the call: with CALL_E_GROUP_NOT_FOUND, or with error because the actor was not found. */
int runner_call_lost(Call *call, Str group_id, Str actor_id, Str by, int error);
/* The same for one actor of a group that is gone; without a name nobody is ended. */
int runner_call_lost_actor(Call *call, Str group_id, Str actor_id, Str by);

/* For the parts of runner*.c. */
int runner_new(Runner **ret, Collab *collab, RunnerKind kind, Str group_id, Str actor_id);
void runner_free(Runner *runner);
int runner_spawn(Runner *runner, const GroupDoc *doc, const ActorView *actor);
extern const HostedHandler runner_hosted_handler;
/* runner-standing.c, for that handler. */
bool runner_standing(const Hosted *hosted, Standing *ret);
int runner_stand(const Hosted *hosted, Call *call, CallThenFn then, const Carry *carry);
/* Its start came to nothing: tells who waits, and is gone. */
void runner_failed(Runner *runner, int error, const char *why);
void runner_over(Runner *runner); /* there is no process any more, or there was none */
/* runner-check.c: the folder in which the actor works; empty: none. */
Str runner_folder(const GroupDoc *doc, const ActorView *actor);
/* Where the program of an actor is looked for; NULL: nowhere. */
const char *runner_search_path(const Group *group, Str actor_id);
void runner_claim(Runner *runner, Hosted *hosted); /* from now on its process tells us */

/*
 * CallerEnv: what the command line that started an actor, or a whole group, had in its environment. It is
 * given to the actor below its own `env`, at this start and at each one that follows without such a caller.
 * It is no part of the group's documents: keys do not belong there. An actor that runs on carries it over to
 * the next daemon in its meta. Owned by the Collab.
 */

typedef struct CallerEnv CallerEnv;
enum { CALLER_ENVS_MAX = 4096 }; /* beyond: the one that was noted first is forgotten */

/* Takes note for one actor, or with an empty actor for all of the group. NULL: there is nothing to note.
 * call_fail() when it does not fit. */
int caller_env_take(Call *call, Str group_id, Str actor_id, const Json *object);
int caller_env_note(Collab *collab, Str group_id, Str actor_id, const Json *object);
void caller_env_free_all(Collab *collab);
