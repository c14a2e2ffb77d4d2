#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Limits: which limits of accounts are reached, whom they stop, and who goes on when they are over (docs/account-limits.md).
 *
 *   hooks, output   agents.c tells of every fact: limits_on_fact()          ┐
 *   transcripts     usage-follow.c: limits_on_transcript()                  ├─► rows: account, window, reset ──► held: limits_hold_…()
 *   stream-json     limits-source.c reads what headless agents print        │   agents: who was stopped      ──► resumed, one after the other
 *   screens         limits-source.c, where nothing better tells when it ends┘
 *
 * One window stops exactly those who share its account. Behind the reset each agent that was stopped has its turn: those without a
 * terminal have their queue, at a terminal a person is asked, or `continue` is sent (settings limits.*). What was begun is kept before it is
 * done, so that no daemon does it twice. Kept in <home>/usage/limits.json. Who asks whether something may begin asks core/usage/hold.h.
 * Owned by the Daemon; loop thread only.
 */
#include "core/agents/agents.h"
#include "core/approval/approval.h"
#include "core/limits/limit.h"
#include "core/usage/transcript.h"

enum {
        LIMITS_MAX = 200, /* windows of all accounts; of another one that holds nothing is given up */
        LIMIT_RESUMES_MAX = 1000, /* of a day that are remembered; the oldest is forgotten */
        LIMIT_APART_MS = 5000,    /* between two agents of one account */
        LIMIT_SELF_MS = 60000,    /* behind the margin: an agent that goes on by itself is waited for */
        LIMIT_EVERY_MS =
                30000, /* it is looked at least so often while something is held: clocks are turned */
        LIMIT_EVENT_MAX = 64 << 10, /* bytes of a line of structured output that is read */
        LIMIT_TAIL_MAX = 8 << 10,   /* of what a headless agent printed last */
        LIMITS_FILE_MAX = 4 << 20,
        LIMIT_PER_DAY = 4,     /* resumes of one agent, where no setting says another number */
        LIMIT_CALLS_MAX = 256, /* that wait until a change is kept; another is refused */
};

typedef struct Limits Limits;

typedef struct LimitRow LimitRow;
struct LimitRow {
        LimitRow *next;
        char *account;
        Limit limit;
        bool was_held; /* when it was last looked at */
};

/* What becomes of an agent that was stopped. */
typedef enum LimitStep {
        LIMIT_NONE,     /* it was not, or has gone on */
        LIMIT_WAITS,    /* for the reset, and its turn */
        LIMIT_SELF,     /* its program goes on by itself, and is waited for */
        LIMIT_ASKED,    /* a person */
        LIMIT_RESUMING, /* that it is resumed is being kept */
        LIMIT_RESUMED,
        LIMIT_LEFT, /* to a person; why says why */
        _LIMIT_STEPS,
} LimitStep;

typedef struct LimitAgent LimitAgent;
struct LimitAgent {
        LimitAgent *next;
        Limits *limits;
        char process[17];
        const char *runtime;         /* static */
        char *name, *account, *zone; /* NULL: not known (yet) */
        LimitStep step;
        const char *why;             /* LIMIT_LEFT; static */
        int64_t since_us;            /* it was stopped */
        int64_t tried_us;            /* its turn came */
        int64_t due_us;              /* not before */
        uint64_t hash;               /* of the sentence that was counted … */
        int64_t hash_us;             /* … for this since_us */
        int64_t look_us;             /* its screen is looked at again; 0: not */
        unsigned n_looks;            /* since since_us */
        uint64_t number;             /* LIMIT_RESUMING: of the change that keeps it */
        bool is_typed;               /* somebody typed since */
        bool is_seeking, is_looking; /* a worker looks for its account; its screen is drawn */
        bool is_to_look;             /* once more behind that */
        bool is_stopped;             /* … and it was stopped meanwhile */
        ApprovalWait ask;
        Viewer viewer; /* of one without a terminal */
        Buf line;
        bool is_long; /* the line is */
};

typedef struct LimitTotals { /* since the daemon began */
        uint64_t n_seen[_LIMIT_SOURCES], n_resumed, n_asked, n_left;
} LimitTotals;

int limits_new(Limits **ret, Daemon *daemon); /* blocks: reads what is kept */
Limits *limits_free(Limits *self);
void limits_adopted_all(Limits *self); /* what is kept of processes that are gone is dropped */
/* Told when something that was held may begin; one function. */
void limits_on_release(Limits *self, void (*released)(Daemon *daemon));

void limits_on_fact(Agent *of, const AgentFact *fact);
void limits_on_still(
        Agent *of); /* it is said to work, and its terminal stands still: perhaps before the question what to do at a limit */
void limits_on_transcript(Daemon *daemon, const char *process, Str account, const TranscriptItem *item);
void limits_seated(Limits *self, const Hosted *hosted); /* somebody sits at its terminal, or types */
void limits_gone(Limits *self, const Hosted *hosted);   /* it is forgotten */

/* ---- what is asked --------------------------------------------------------------------------- */

bool limits_is_holding(const Limits *self); /* anything at all; cheap */
/* The row that holds this account longest; NULL: none. */
const LimitRow *limits_hold_account(const Limits *self, Str account);
/* The same of a process; *ret_is_waiting: none does, but its turn has not come. */
const LimitRow *limits_hold_hosted(const Limits *self, const Hosted *hosted, bool *ret_is_waiting);
/* In words for people and models. */
void limit_row_say(const LimitRow *row, int64_t now_us, char *out, size_t n);
const LimitAgent *limits_agent(const Limits *self, const char *process); /* NULL: nothing is known */
const char *limit_step_name(LimitStep step);
void limits_write(const Limits *self, JsonWriter *w); /* members of limit.ls */
void limit_agent_write(const LimitAgent *agent, JsonWriter *w);
LimitTotals limits_totals(const Limits *self);
size_t limits_n_held(const Limits *self); /* accounts */

/* ---- what a person says ---------------------------------------------------------------------- */

bool limits_knows(const Limits *self, Str account);
/* Each runs fn when it is kept, as a handler returns. The account is taken to be free now, or for as long as its limits last. */
int limits_call_resume(Call *call, Str account, CallThenFn fn, const Carry *carry);
int limits_call_ignore(Call *call, Str account, CallThenFn fn, const Carry *carry);
/* One agent that was stopped and has not gone on; CALL_E_DOES_NOT_FIT: it is none. */
int limits_call_resume_agent(Call *call, const Hosted *hosted, CallThenFn fn, const Carry *carry);
