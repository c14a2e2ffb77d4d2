#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Automation: the engine of one project. Events come in (files, times, ends of tasks), rules that fit fire
 * their actions, and what happened is remembered.
 *
 *   watcher  ─┐
 *   schedule ─┼─► Router ─► rules, in order: enabled, trigger, conditions,  ─► task, notice, webhook
 *   tasks    ─┘      ▲                       cooldown, approval, guards        │ failed
 *                    └───────────── again after 1, 2, 4 s, then a dead letter ◄┘
 *
 * What an action does is not known here: whoever owns the engine gives it RuleActions. Guards against rules
 * that feed themselves: a rule fires at most automation.max_per_minute times a minute, and follows its own
 * tasks (an event that comes while the task of its last firing is under way, or right after it) at most
 * automation.max_chain times in a row.
 *
 * Owned by its Project. Loop thread only.
 */
#include "base/log/log.h"
#include "core/schedule/debounce.h"
#include "core/watch/watch.h"
#include "tasks/rules/router.h"
#include "tasks/rules/rule.h"

typedef struct Automation Automation;

enum {
        AUTOMATION_EXECUTIONS = 500, /* remembered; the oldest is forgotten */
        AUTOMATION_SHOWN = 10,       /* of them in automation.status */
        AUTOMATION_WEBHOOKS = 16,    /* under way at once; one more has failed and is tried again */
        AUTOMATION_SETTLE_MS =
                5000, /* besides watch.debounce_ms: so long after a task its traces may come */
        AUTOMATION_MISSED_MS =
                300000, /* a job whose time is further back than this (a machine asleep) is left out */
        AUTOMATION_ASKED_MAX =
                16, /* questions of a rule that wait for an answer; it is held back meanwhile */
        AUTOMATION_ID_MAX = 64,
        AUTOMATION_ERROR_MAX = 160,
};

/* What a rule wants to be done by an agent. */
typedef struct TaskRequest {
        Str prompt;
        Str agent;       /* empty: none */
        Str priority;    /* a JSON number; empty: 0 */
        Str metadata;    /* a JSON object */
        uint64_t number; /* of the execution */
        char *ret_id;    /* AUTOMATION_ID_MAX bytes: the id of the task */
} TaskRequest;

/* Conditions of submit(). */
enum { _RULE_SUBMIT_E_SUCCESS, RULE_SUBMIT_E_FULL, RULE_SUBMIT_E_STOPPING, RULE_SUBMIT_E_INVALID };

typedef struct RuleNotice {
        Str rule, channel, message; /* channel may be empty */
        Str event;                  /* JSON */
} RuleNotice;

/* What a person is asked before a rule acts that requires approval. */
typedef struct RuleQuestion {
        Str rule;
        const Json *action; /* as configured … */
        Str does;           /* … and what it is for this event: the prompt, the message, the address */
        Event *event;
        uint64_t number; /* of the execution */
} RuleQuestion;

typedef struct RuleActions {
        int (*submit)(void *user,
                      const TaskRequest *request); /* then: automation_task_kept(), in a later turn */
        void (*notify)(void *user, const RuleNotice *notice);
        void (*log)(void *user, const char *line); /* a line for daemon.log */
        /* 0: automation_asked() follows, in any turn; then automation_fire() or a note. NULL: nobody is asked. */
        int (*ask)(void *user, const RuleQuestion *question);
        size_t (*n_asked)(void *user, Str rule); /* its questions that wait for an answer */
        void (*ended)(void *user, uint64_t number, const char *error); /* an execution; error NULL: well */
        void *user;
} RuleActions;

/* One execution. */
typedef struct RuleNote {
        Str rule, type; /* type: of the event */
        const char *status;
        const char *key, *value; /* NULL: none */
        unsigned n_attempts;     /* that failed */
        bool is_pending;         /* its outcome is not known yet */
} RuleNote;

/* What is remembered of a rule while the file changes under it. */
typedef struct RuleState {
        Automation *automation;
        Rule *rule;       /* of the current set */
        bool is_enabled;  /* as switched */
        bool was_enabled; /* as the file said last */
        Cooldown cooldown;
        Throttle per_minute;
        bool is_guarded; /* told that a guard holds it back */
        unsigned n_chain;
        char task[AUTOMATION_ID_MAX]; /* of the last firing; empty: none */
        bool is_task_live;
        int64_t task_ended_ms;
        uint64_t n_fired;
        int64_t fired_us, fired_ms;
        char error[AUTOMATION_ERROR_MAX]; /* the last; empty: none since it last worked */
        Timer quiet;                      /* of the guide's debounce */
        Event *pending;                   /* the newest one meanwhile */
        uint16_t *jobs;                   /* those that it would fire for */
        size_t n_jobs;
} RuleState;

typedef struct JobState {
        int64_t next_us;  /* -1: never */
        int64_t fired_us; /* 0: not yet */
} JobState;

typedef struct WatchSource WatchSource;
typedef struct PendingAct PendingAct;

struct Automation {
        Loop *loop;
        Log *log;
        WatchHub **hub; /* of all watches */
        char *dir;      /* the project folder: what paths are relative to; id in the log */
        RuleActions actions;
        bool is_enabled;
        bool is_running; /* sources are open */
        RuleSet *set;
        RuleState **states; /* one for each rule of the set */
        JobState *jobs;     /* one for each job of the set */
        Router router;
        Arena arena;                             /* of the event being handled */
        char *executions[AUTOMATION_EXECUTIONS]; /* JSON; ring; NULL: its outcome is not known yet */
        uint64_t n_noted;                        /* all that ever were */
        char *config_error;                      /* why the file on the disk is not in use; NULL: it is */

        WatchSource *watches;
        Debounce debounce;
        uint64_t n_file_events;
        Timer tick;
        int64_t checked_us;
        PendingAct *pending; /* actions whose outcome is not known yet */
        size_t n_webhooks;   /* of them */
};

/* hub: of its watches; outlives it. */
int automation_new(Automation **ret, Loop *loop, Log *log, WatchHub **hub, const char *dir,
                   const RuleActions *actions);
Automation *automation_free(Automation *automation);
/* Takes a new set in place of the old one; what was remembered of rules with the same id stays. Takes set,
 * also when it fails (then the old one stays in use). */
int automation_configure(Automation *automation, RuleSet *set);
void automation_set_config_error(Automation *automation, const char *error); /* NULL: none */
/* Sources are opened and closed; configure() does the same while it runs. */
void automation_start(Automation *automation);
void automation_stop(Automation *automation);

void automation_push(Automation *automation, Str source, Str type, Str payload);
/* A task that a rule asked for is on the disk (0), or will not be (negative). Others are ignored. */
void automation_task_kept(Automation *automation, Str id, int r);
/* A task has ended: state is completed, failed or cancelled. metadata: JSON object, or empty. */
void automation_task_ended(Automation *automation, Str id, const char *state, Str metadata);
/* A person is asked about it (error is NULL; approval is its id), or could not be. */
void automation_asked(Automation *automation, const RuleQuestion *question, const char *approval,
                      const char *error);
/* The rule of this id, if it may act now: it is switched on, and its action is still this one (as JSON.stringify()
 * writes it). NULL: it may not. */
RuleState *automation_ready(const Automation *automation, Str id, const Json *action);
void automation_fire(Automation *automation, RuleState *state, Event *event, uint64_t number);
/* The place of an execution of an earlier daemon, whose outcome comes later. */
uint64_t automation_reserve(Automation *automation);
void automation_note(Automation *automation, uint64_t number, const RuleNote *note); /* 0: a new place */
/* One rule, or all when id is empty. False: no such rule. */
bool automation_switch(Automation *automation, Str id, bool is_enabled);

/* The answer of automation.status, and the parts of daemon.status and state.json. */
void automation_write(const Automation *automation, JsonWriter *w);
void automation_write_watcher(const Automation *automation, JsonWriter *w);
void automation_write_scheduler(const Automation *automation, JsonWriter *w);

/* ---- between automation*.c ---- */
void automation_say(Automation *automation, const char *format, ...) _printf_(2, 3); /* into daemon.log */
RuleState *automation_find(const Automation *automation, Str id);
/* automation-ask.c: asks before it fires. */
void automation_ask(Automation *automation, const RuleState *state, Event *event);
bool automation_is_asked_much(const Automation *automation, const RuleState *state);
/* automation-act.c: what the action is for this event, in words. */
int automation_describe(const RuleState *state, const Event *event, Buf *out);
void automation_on_quiet(Timer *timer);              /* of RuleState.quiet */
void automation_free_states(Automation *automation); /* automation-set.c */
/* automation-act.c: runs the action; n_before: so often it was tried before; number: its place, the same for
 * every attempt. */
void automation_act(Automation *automation, RuleState *state, Event *event, unsigned n_before,
                    uint64_t number);
void automation_failed(Automation *automation, Str rule, Event *event, unsigned n_attempts, uint64_t number,
                       const char *error);
void automation_forget_pending(Automation *automation);
/* automation-watch.c */
void automation_watch_open(Automation *automation);
void automation_watch_close(Automation *automation);
bool automation_watch_is_ready(const Automation *automation); /* every change is told from now on */
/* automation-cron.c */
int automation_cron_configure(Automation *automation, const RuleSet *old);
void automation_cron_start(Automation *automation);
void automation_cron_tick(Timer *timer);
int automation_job_event(Buf *out, const RuleJob *job); /* the payload */
