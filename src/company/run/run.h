#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The inside of a Run (launch.h): for the files of this room only.
 *
 *   ENTERING   what it is about is read, then it waits in the lane, then policy and budgets decide
 *   PREPARING  its session is recorded; worktree and files are made, the program is started
 *   RUNNING    the program lives; what it prints is kept
 *   OVER       the program has ended, or never began; its end is being kept
 *
 * Everything that is read or written for a run is a step (run_step()): a worker looks and decides, the store keeps it, then
 * the loop goes on. A run has one step at a time; meanwhile its arena and its meter are the worker's. What is to be done
 * next is found by looking (run_next()), never remembered, so that nothing depends on the order of callbacks.
 */
#include <pthread.h>

#include "company/edit.h"
#include "company/event.h"
#include "company/govern/budget.h"
#include "company/index/turn.h"
#include "company/run/dialog.h"
#include "company/run/launch.h"
#include "company/run/tree.h"
#include "core/host/host.h"
#include "core/usage/usage-meter.h"

typedef enum RunState { RUN_ENTERING, RUN_PREPARING, RUN_RUNNING, RUN_OVER } RunState;

enum {
        RUN_RING = 1 << 20,         /* bytes of a stream that the program may be ahead */
        RUN_CHUNK = 64 << 10,       /* bytes of a stream in one event */
        RUN_BATCH = 12 * RUN_CHUNK, /* bytes of a stream in one change */
        RUN_GATHER_MS = 20,         /* what is printed within it is one event, if it is less than a chunk */
        RUN_AGAIN_MS = 1000,        /* what could not be kept is tried again after it */
        RUN_COOL_MAX = 64,          /* providers of a workspace that cool down */
};

/* Output that is being kept: taken from the ring, and the same until it is kept, however often that is tried. */
typedef struct RunBatch {
        Buf bytes[2];    /* stdout, stderr */
        bool is_metered; /* the meter has it; what it found is in found */
        bool is_last;    /* nothing follows */
        bool is_open;
        bool is_stderr_first; /* of the two, it spoke first */
} RunBatch;

struct Run {
        Workspace *workspace; /* a reference */
        Run *next, **link;    /* in Runs.first */
        RunSpec spec;         /* in the arena */
        Arena arena;
        Str session_ref;
        Str agent_id, provider, team_id, pack_id, mode; /* once it is looked at */
        RunState state;
        bool holds_ref;    /* no other run of this session_ref lives */
        bool has_slot;     /* in the lane */
        bool is_waiting;   /* for one */
        bool is_recorded;  /* its session is known to others */
        bool is_estranged; /* its record was written by another program */
        bool needs_totals; /* project or task has a budget */
        bool has_turn;     /* of the index */
        bool is_told;      /* launched() was called */
        bool may_start;    /* there is a command, and the run has not ended */
        bool is_gathered;  /* output has waited for what follows */
        uint64_t number;   /* order of arrival */

        int64_t started_ms, ended_ms, claimed_ms; /* as the record has them; 0: not yet */
        pid_t pid;
        bool is_pid_kept;
        bool is_read;           /* of one that an earlier daemon left: what it has kept is known */
        Str thread_id, turn_id; /* app server: in the dialog */
        Dialog dialog;          /* the same */
        uint64_t n_message;     /* bytes of outputs/last_message.md that are kept */
        bool are_names_new;     /* of thread and turn: the batch has them */
        bool is_dismissed;      /* its dialog is over, and it was told to go */

        bool is_stop_wanted, is_stop_marked, is_late;
        bool has_marker; /* an earlier daemon was about to stop it */
        bool is_busy;    /* a step is under way */
        Call *call;      /* its call */
        Carry carry;
        void (*then)(Run *run, Edit *edit, int error);
        Edit *edit;
        IndexTurn turn;
        void (*in_turn)(Run *run);

        Hosted *hosted; /* NULL: not started, or forgotten */
        Viewer viewer;
        bool is_program_over;
        uint64_t kept[2]; /* bytes of each stream */
        RunBatch batch;
        UsageMeter meter;
        bool is_meter_ended;
        Buf found; /* events that the meter made of the batch: pairs of type and payload, each with a NUL */
        int64_t n_input_units;                 /* of stdin, for an estimate */
        const char *folder;                    /* working directory, once it is known */
        Str worktree_relpath, worktree_branch; /* empty: it has none of its own */
        RunTree *tree;                         /* NULL: no repository */

        RunEnd end;       /* texts in the arena */
        bool is_end_kept; /* it is only to be told */
        RunWatch *watches;
        Deferred soon; /* run_next() */
        Timer answer, limit, again, interrupt;
        Timer gather; /* output waits for what follows at once */
};

/* What a workspace knows of its runs. */
typedef struct RunCool {
        Str provider;
        int64_t until_ms;
} RunCool;
struct Runs {
        Workspace *workspace;
        pthread_mutex_t lock; /* of the list, for workers that ask runs_state() */
        uint64_t n_changes;   /* of it */
        Run *first;
        size_t n_live, n_waiting;
        uint64_t n_numbers;
        Arena arena; /* of cools */
        RunCool cools[RUN_COOL_MAX];
        size_t n_cools;
        Timer cooled;
        struct StopForeign *foreign; /* that were told to end (stop.c) */
};

/* runs.c */
int run_new(Workspace *workspace, Run **ret); /* known to nobody; the caller fills and adds it */
void run_free(Run *run);
void run_add(Run *run);
void run_hold_ref(Run *run); /* its session_ref is its own from now on */
Run *run_of(const Carry *carry);
EventOf run_event_of(const Run *run);
/* then() runs on the loop; error: a CALL_E_*, its words are in run->call->message. */
void run_step(Run *run, EditDecideFn decide, void (*then)(Run *run, Edit *edit, int error));
/* in_turn() runs when it may ask the index, at once if it need not; run_turn_end() follows. */
void run_turn_begin(Run *run, void (*in_turn)(Run *run));
void run_turn_end(Run *run);
void run_again(Run *run); /* run_next(), in a while */
void run_soon(Run *run);  /* the same, in this turn */
void run_next(Run *run);
void run_tell_launched(Run *run, int error, Str message, Str data);
void run_tell_marked(Run *run);
void run_tell_ended(Run *run); /* and it is gone */

/* lanes.c */
int lane_enter(Run *run); /* launch_granted() follows, perhaps at once; 0 or -ENOBUFS */
void lane_leave(Run *run);
void lanes_look(struct Runs *runs);

/* launch.c */
void launch_granted(Run *run);         /* it has a slot */
int launch_look(Edit *edit, Run *run); /* worker: agent, provider, team, mode of it; as decide() returns */
int launch_read_run(Edit *edit, const Run *run, Json **ret); /* run.yaml; the same */
bool launch_budgets(Edit *edit, const Run *run, const Json *own, Budget budgets[BUDGET_N_SCOPES]);
int launch_totals(Edit *edit, const Run *run, Str except_run, BudgetUsed used[BUDGET_N_SCOPES]);
void launch_write_budget(Edit *edit, const Run *run, const BudgetReport *report);

/* start.c */
void start_prepare(Run *run);
int start_write(Edit *edit, Run *run,
                Json *doc); /* its files and what is said of it, as a part of the edit */
void start_decided(Run *run, Edit *edit, int error); /* they are kept: the program begins */
void start_keep_pid(Run *run);
void start_attach(Run *run, Hosted *hosted);
void start_record(Edit *edit, const Run *run, Str status); /* its session record, as a part of the edit */

/* app-server.c: each only for a run that is one. */
bool run_is_app_server(const Run *run);
int app_server_prepare(Edit *edit, Run *run); /* worker: its command; what it lacks is noted as its end */
/* Worker: what it printed; what follows from it. */
int app_server_feed(Run *run, Str piece, bool is_last, const UsageTold *told);
void app_server_write_message(Edit *edit, const Run *run);
void app_server_write_names(Edit *edit, const Run *run);
void app_server_set_names(Edit *edit, const Run *run, Json *doc); /* into run.yaml */
void app_server_begin(Run *run);
void app_server_kept(Run *run);
bool app_server_is_held(const Run *run);
void app_server_on_silence(Run *run); /* all that it printed is kept */
void app_server_on_interrupted(Timer *timer);
void app_server_stop(Run *run);
int app_server_adopt(Run *run); /* worker: begins anew; then what was kept is fed */
int app_server_feed_kept(Run *run, Str piece);
void app_server_adopted(Run *run);
void app_server_judge(const Run *run, bool is_stopped, RunEnd *end);

/* adopt.c */
void adopt_read(Run *run);

/* stop.c */
void stop_mark(Run *run);
void stop_leave_foreign(struct Runs *runs);

/* output.c */
void output_on_gathered(Timer *timer);
bool output_keep(Run *run);              /* false: there is nothing that has to be kept before the end */
void output_write(Edit *edit, Run *run); /* worker: the batch as a part of the edit */
void output_kept(Run *run);

/* finish.c */
/* The program never ran: what its end will say. Worker or loop. */
void finish_note(Run *run, const char *format, ...) _printf_(2, 3);
void finish_run(Run *run);
