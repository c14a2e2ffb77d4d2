/* SPDX-License-Identifier: MIT */
/* One job: its steps and its states. */
#define LOG_MODULE "company/job"

#include "company/job/job.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/job/job-internal.h"

Job *job_of(const Carry *carry) {
        return container_of(carry, Job, carry);
}

static Daemon *job_daemon(const Job *job) {
        return job->workspace->company->daemon;
}

/* ---- steps ----------------------------------------------------------------------------------- */

void job_go(Job *job, JobState state) {
        job->state = state;
        deferred_schedule(&job->soon);
}

/* Those who watch it are told, and somebody who waits gets its place. */
static void job_leave(Job *job) {
        Jobs *jobs = job->workspace->jobs;
        Workspace *workspace = workspace_ref(job->workspace);
        JobWatch *watch;

        while ((watch = job->watches)) {
                job_unwatch(watch);
                watch->over(watch);
        }
        job_free(job);
        jobs_fill(jobs);
        workspace_unref(workspace);
}

static const char *job_state_name(JobState state);

/* What could not be kept is tried again for a while. Then, and when there is nothing to go on with, it is left as it stands:
 * whoever looks at it next has it resumed. */
static void job_fail_step(Job *job, Str why) {
        if (!job->is_dropped && job->n_again++ < JOB_AGAIN_MAX && !timer_set(&job->again, JOB_AGAIN_MS))
                return;
        if (job->is_dropped)
                log_debug(&job_daemon(job)->log, job_name(job).text, "left alone: " STR_FMT, STR_ARG(why));
        else
                log_warning(&job_daemon(job)->log, job_name(job).text,
                            "left as it stands: " STR_FMT " state=%s", STR_ARG(why),
                            job_state_name(job->state));
        job_go(job, JOB_OVER);
}

static int job_step_kept(Call *call _unused_, Edit *edit _unused_, const Carry *carry _unused_) {
        return 0;
}

static void job_step_over(Call *call) {
        Job *job = job_of(call->target);
        Daemon *daemon = call->daemon;

        job->is_busy = false;
        if (call->error)
                job_fail_step(job, call->message);
        else {
                job->n_again = 0;
                if (job->state == JOB_READING)
                        jobs_cool(job);
                job->attempt += job->state == JOB_READING && job->after == JOB_CHOOSING;
                job_go(job, job->after);
        }
        daemon_release_stop(daemon);
}

static void job_step(Job *job, EditDecideFn decide) {
        Daemon *daemon = job_daemon(job);
        Call *call = call_of_ours(daemon, job_step_over);
        int r;

        if (!call) {
                job_fail_step(job, STR("there is no memory"));
                return;
        }
        call->target = &job->carry;
        job->is_busy = true;
        daemon_hold_stop(daemon);
        r = company_edit_then(call, job->workspace, decide, job_step_kept, &job->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* ---- states ---------------------------------------------------------------------------------- */

static void job_do_resume(Job *job) {
        job_step(job, resume_read);
}

static void job_do_choose(Job *job) {
        if (!job->place.env)
                log_notice(&job_daemon(job)->log, job_name(job).text,
                           "its programs get the daemon's environment, that of its client is not known any "
                           "more");
        job_step(job, attempt_choose);
}

static void job_on_checked(void *user) {
        Job *job = user;
        Daemon *daemon = job_daemon(job);

        job->is_busy = false;
        job_go(job, JOB_LAUNCHING);
        daemon_release_stop(daemon);
}

static void job_do_check(Job *job) {
        Daemon *daemon = job_daemon(job);
        Str folder = arena_str(&job->arena, str_from(job->workspace->path));

        job->place.folder = folder.data;
        if (!folder.data || loop_work_slow(daemon->loop, attempt_check, job_on_checked, job)) {
                job_fail_step(job, STR("there is no memory"));
                return;
        }
        job->is_busy = true;
        daemon_hold_stop(daemon);
}

static void job_do_launch(Job *job) {
        job_step(job, attempt_launch);
}

static void job_note_end(Job *job, JobEnd end, Str status, Str error) {
        job->end = end;
        job->is_unseen = false;
        job->end_status = arena_str(&job->arena, status);
        job->end_error = arena_str(&job->arena, error);
        job_go(job, JOB_READING);
}

static void job_on_launched(RunWatch *watch, int error, Str message, Str data _unused_) {
        Job *job = container_of(watch, Job, run);

        if (error)
                job_note_end(job, JOB_END_REFUSED, STR("failed"), message);
}

static void job_on_ended(RunWatch *watch, const RunEnd *end) {
        Job *job = container_of(watch, Job, run);
        bool is_well = str_is(end->status, "ended") && end->has_exit && !end->exit_code;
        Str why = end->error;

        if (end->is_late)
                why = STR("The attempt took longer than it may");
        else if (!is_well && !why.n && end->has_exit)
                why = arena_printf(&job->arena, "The worker ended with exit status %d", end->exit_code);
        else if (!is_well && !why.n)
                why = arena_printf(&job->arena, "The worker was ended by %s" STR_FMT,
                                   end->signal.n ? "" : "a signal", STR_ARG(end->signal));
        job_note_end(job, is_well ? JOB_END_WELL : JOB_END_BADLY, end->status, is_well ? STR_NULL : why);
}

/* An attempt of an earlier daemon: watched if it lives, else what it has left is read. */
static void job_do_find(Job *job) {
        Run *run = run_find_attempt(job->workspace, job->job_id, job->attempt);

        job->is_found = false;
        if (run && str_eq(run_run_id(run), job->run_id)) {
                run_watch(run, &job->run);
                if (job->is_stopped || job->is_unwanted)
                        run_stop(run);
                return;
        }
        job->end = JOB_END_UNKNOWN;
        job_go(job, JOB_READING);
}

static void job_do_run(Job *job) {
        StrVec environment;
        RunSpec spec;
        int r;

        job->run.launched = job_on_launched;
        job->run.ended = job_on_ended;
        if (job->is_found) {
                job_do_find(job);
                return;
        }
        attempt_spec(job, &environment, &spec);
        r = run_launch(job->workspace, &spec, &job->run);
        if (r)
                job_note_end(job, JOB_END_REFUSED, STR("failed"), str_from(strerror(-r)));
        else if (job->is_stopped && job->run.run)
                run_stop(job->run.run);
}

static void job_do_read(Job *job) {
        job_step(job, harvest_read);
}

static const struct {
        const char *name;
        void (*begin)(Job *job);
} job_states[] = {
        [JOB_WAITING] = {"waiting", NULL},
        [JOB_RESUMING] = {"resuming", job_do_resume},
        [JOB_CHOOSING] = {"choosing", job_do_choose},
        [JOB_CHECKING] = {"checking", job_do_check},
        [JOB_LAUNCHING] = {"launching", job_do_launch},
        [JOB_RUNNING] = {"running", job_do_run},
        [JOB_READING] = {"reading", job_do_read},
        [JOB_OVER] = {"over", job_leave},
};

static const char *job_state_name(JobState state) {
        return job_states[state].name;
}

static void job_next(Job *job) {
        if (job->is_busy || job_daemon(job)->is_stopping || !job_states[job->state].begin)
                return;
        job_states[job->state].begin(job);
}

void job_on_soon(Deferred *deferred) {
        job_next(container_of(deferred, Job, soon));
}

void job_on_again(Timer *timer) {
        job_next(container_of(timer, Job, again));
}
