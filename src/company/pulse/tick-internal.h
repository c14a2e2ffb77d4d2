#pragma once
/* SPDX-License-Identifier: MIT */
/* Tick: what its parts share. For tick*.c only. */
#include "company/index/turn.h"
#include "company/job/job.h"
#include "company/pulse/arbiter.h"
#include "company/pulse/report.h"
#include "company/pulse/survey.h"
#include "company/pulse/tick.h"

enum {
        TICK_ID_MAX = 64,
        TICK_SUMMARY_MAX = 1 << 20,  /* bytes of an answer that is remembered */
        TICK_AGAIN_MINUTES = 20,     /* after one that failed */
        TICK_REPORT_MS = 120 * 1000, /* a worker's job is waited for so long */
};

/* A worker that is woken, and the job that asks it. */
typedef struct TickJob {
        JobWatch watch;
        struct Tick *tick;
        const TriageWorker *worker;
        Str job_id;
        bool is_over;
        Json *report;                /* what it has said; NULL: nothing */
        Str run_id, context_pack_id; /* of the attempt that said it */
} TickJob;

typedef struct Tick {
        Carry carry; /* of its steps and edits */
        Call *call;
        Workspace *workspace;
        TickSpec spec;
        IndexTurn turn;
        Survey survey;
        int r;
        char id[TICK_ID_MAX];
        int64_t started_us, finished_us, next_us;
        bool is_skipped; /* another one runs */
        bool holds_beat; /* it is the one that runs */
        TriageWorker **woken;
        size_t n_woken;

        TickJob *jobs;     /* none in a dry run, or without a project */
        size_t n_jobs, at; /* at: which one is being submitted, then waited for */
        bool is_waiting;
        Timer late;
        ReportCounts counts;
        int64_t n_reports, n_ok, n_actions; /* reports */
} Tick;

static const int64_t tick_minute_us = INT64_C(60) * 1000 * 1000;

void tick_write(JsonWriter *w, const Tick *tick);     /* the answer */
int tick_decide(Edit *edit, const Carry *carry);      /* triage, as a change */
bool tick_is_quiet(const Tick *tick, int64_t now_us); /* in local time */
int tick_set(Edit *edit, Json *object, const char *key, Str text);
Str tick_text(Edit *edit, int64_t us);
/* What is remembered of a worker; made when there is nothing yet. NULL without memory. */
Json *tick_memory(Edit *edit, Json *state, Str agent_id);
/* Wakes them, waits for what they report and does it; then tick_finish(). As a handler returns. */
int tick_wake(Tick *tick);
void tick_leave(Tick *tick); /* however it ends: nothing calls it any more */
int tick_finish(Tick *tick);
