#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The inside of a Job (job.h): for the files of this room only.
 *
 * Whatever is read or written for it is a step: a worker looks and decides, the store keeps it, then the loop goes on.
 * A job has one step at a time; meanwhile everything but the first members is the worker's. A step that was decided again,
 * because another had been faster, has filled the same members again.
 */
#include "company/edit.h"
#include "company/event.h"
#include "company/job/answer.h"
#include "company/job/job.h"
#include "company/job/preflight.h"
#include "company/job/verdict.h"
#include "company/job/worker.h"
#include "company/run/launch.h"

typedef enum JobState {
        JOB_WAITING,   /* for one of JOB_ACTIVE_MAX places */
        JOB_RESUMING,  /* an earlier daemon has begun it: its record is read */
        JOB_CHOOSING,  /* who does the attempt; its run is made */
        JOB_CHECKING,  /* whether the program may be started, and what it can do */
        JOB_LAUNCHING, /* what came of that is kept */
        JOB_RUNNING,   /* the program runs, or waits in the lane */
        JOB_READING,   /* what it has printed */
        JOB_OVER,
} JobState;

/* How a program of an attempt has ended. */
typedef enum JobEnd {
        JOB_END_WELL,    /* exit status 0 */
        JOB_END_BADLY,   /* anything else */
        JOB_END_REFUSED, /* it was not launched */
        JOB_END_UNKNOWN, /* nobody has seen it: its run tells */
} JobEnd;

struct Job {
        Workspace *workspace; /* a reference */
        Job *next, **link;    /* in Jobs.first, in order of arrival */
        JobState state;
        JobState after; /* the step that is under way; worker */
        bool is_busy;
        bool is_stopped; /* job_stop() */
        unsigned n_again;
        JobWatch *watches;
        RunWatch run;
        Timer again;
        Deferred soon;

        Carry carry; /* of a step; from here on the worker's while there is one */
        Arena arena;
        Str project_id, job_id;
        DriverPlace place; /* env is NULL: not known any more, the daemon's own counts */
        const Json *spec;
        bool is_dropped;  /* there is nothing here to go on with */
        unsigned attempt; /* the one that is under way, or comes next; from 1 */
        /* of the attempt */
        Json *machine; /* the settings; NULL: none */
        Worker worker;
        Str run_id, pack_id, session_ref;
        PreflightPolicy policy;
        PreflightVerdict preflight;
        DriverFacts facts;
        StrList argv;
        Str prompt, schema, model;
        int check_r;       /* what went wrong in CHECKING */
        const char *wrong; /* why its template makes no command; NULL: nothing */
        bool is_piped;     /* the prompt is the program's input */
        bool is_found;     /* its program was started by an earlier daemon, if at all */
        bool is_unwanted;  /* its record said so when it was found */
        bool is_unseen;    /* its end was JOB_END_UNKNOWN */
        JobEnd end;
        Str end_status, end_error;
        /* of the attempt before */
        Str code, message, output;
        Str text; /* of a program that failed: what it printed; empty: it did not */
};

/* What a workspace knows of its jobs. */
typedef struct JobCool {
        char provider[64];
        unsigned level;
} JobCool;
typedef struct Jobs {
        Job *first, **last;
        size_t n, n_active;
        JobCool cools[16];
        size_t n_cools;
} Jobs;

/* job.c */
Job *job_of(const Carry *carry);
void job_go(Job *job, JobState state); /* in this turn */
void job_on_soon(Deferred *deferred);
void job_on_again(Timer *timer);

/* jobs.c */
/* One that waits for its place, and then begins with `first`. NULL without memory. */
Job *job_new(Workspace *workspace, Str project_id, Str job_id, JobState first);
void job_free(Job *job);    /* nothing of it may be under way */
void jobs_fill(Jobs *jobs); /* those that wait get the places that are free, in order */
void jobs_cool(Job *job);   /* an attempt is over: its provider may need a rest */
typedef struct JobName {
        char text[200]; /* PROJECT/JOB */
} JobName;
JobName job_name(const Job *job); /* for the log */
int64_t job_setting(const Job *job, const char *name,
                    int64_t otherwise); /* a positive number of its environment */

/* job-record.c: the record, as a part of an edit. */
const char *job_record_path(Edit *edit, const Job *job);
/* NULL: there is none, or it is broken: the edit has failed then. */
Json *job_record_read(Edit *edit, Job *job);
void job_record_write(Edit *edit, const Job *job, Json *record, const char *status);
void job_record_add_attempt(Edit *edit, const Job *job, Json *record);
Json *job_record_attempt(const Json *record, unsigned attempt);            /* NULL: there is none */
void job_record_put(Edit *edit, Json *object, const char *key, Str value); /* empty: it stays as it is */
bool job_record_is_over(const Json *record);
bool job_record_is_canceled(const Json *record);

/* conclude.c: the end of a job, as a part of an edit; record is written, and the job is over. */
void conclude_with(Edit *edit, Job *job, Json *record, const Json *result, const VerdictSignals *signals);
void conclude_canceled(Edit *edit, Job *job, Json *record);
void conclude_unavailable(Edit *edit, Job *job, Json *record);
void conclude_blocked(Edit *edit, Job *job, Json *record);
void conclude_broken(Edit *edit, Job *job, Json *record, Str why);
void conclude_unread(Edit *edit, Job *job, Json *record);
void conclude_answered(Edit *edit, Job *job, Json *record, const Json *answer);

/* attempt.c: the steps of an attempt, on workers. They set job->after. */
int attempt_choose(Edit *edit, const Carry *carry);
void attempt_check(void *user); /* a job: one that waits for others */
/* Below the folder of its run. NULL without memory. */
const char *attempt_schema_name(Arena *arena, const Job *job);
/* attempt-launch.c */
int attempt_launch(Edit *edit, const Carry *carry);
/* Fills a RunSpec; what it points to is the job's. */
void attempt_spec(const Job *job, StrVec *environment, RunSpec *ret);

/* harvest.c */
int harvest_read(Edit *edit, const Carry *carry);
/* The errors and the output of an attempt that was read before, for the next prompt. */
int harvest_recall(Edit *edit, Job *job, const Json *record);

/* resume.c */
int resume_read(Edit *edit, const Carry *carry);
