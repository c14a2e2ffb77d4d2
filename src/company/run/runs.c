/* SPDX-License-Identifier: MIT */
/* The runs of a workspace that live: their table, their steps, and who is told of them. */
#define LOG_MODULE "company/run"

#include "company/run/runs.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/run/run.h"

/* ---- the table ------------------------------------------------------------------------------- */

static void runs_on_cooled(Timer *timer) {
        lanes_look(container_of(timer, struct Runs, cooled));
}

int runs_new(Workspace *workspace) {
        struct Runs *runs = calloc(1, sizeof(*runs));

        if (!runs)
                return error_origin(-ENOMEM);
        runs->workspace = workspace;
        (void)pthread_mutex_init(&runs->lock, NULL);
        timer_init(&runs->cooled, workspace->company->daemon->loop, runs_on_cooled);
        workspace->runs = runs;
        return 0;
}

/* Of a workspace that is closed: it has no runs then, unless the daemon ends. Their programs go on. */
void runs_free(Workspace *workspace) {
        struct Runs *runs = workspace->runs;

        if (!runs)
                return;
        while (runs->first)
                run_free(runs->first);
        stop_leave_foreign(runs);
        timer_clear(&runs->cooled);
        arena_deinit(&runs->arena);
        (void)pthread_mutex_destroy(&runs->lock);
        free(runs);
        workspace->runs = NULL;
}

void run_add(Run *run) {
        struct Runs *runs = run->workspace->runs;

        pthread_mutex_lock(&runs->lock);
        run->number = ++runs->n_numbers;
        run->next = runs->first;
        run->link = &runs->first;
        if (run->next)
                run->next->link = &run->next;
        runs->first = run;
        runs->n_changes++;
        pthread_mutex_unlock(&runs->lock);
}

static void runs_unlink(Run *run) {
        struct Runs *runs = run->workspace->runs;

        if (!run->link)
                return;
        pthread_mutex_lock(&runs->lock);
        *run->link = run->next;
        if (run->next)
                run->next->link = run->link;
        run->link = NULL;
        runs->n_live -= run->holds_ref;
        runs->n_changes++;
        pthread_mutex_unlock(&runs->lock);
}

void run_hold_ref(Run *run) {
        struct Runs *runs = run->workspace->runs;

        pthread_mutex_lock(&runs->lock);
        runs->n_live += !run->holds_ref;
        run->holds_ref = true;
        runs->n_changes++;
        pthread_mutex_unlock(&runs->lock);
}

bool runs_state(struct Runs *runs, Str session_ref, uint64_t *ret_visit, uint64_t *ret_n) {
        const Run *run;

        pthread_mutex_lock(&runs->lock);
        run = runs->first;
        while (run && !(run->holds_ref && str_eq(run->session_ref, session_ref)))
                run = run->next;
        *ret_visit = run ? run->spec.visit : 0;
        *ret_n = runs->n_changes;
        pthread_mutex_unlock(&runs->lock);
        return run;
}

Run *run_find(const Workspace *workspace, Str session_ref) {
        Run *run = workspace->runs->first;

        while (run && !(run->holds_ref && str_eq(run->session_ref, session_ref)))
                run = run->next;
        return run;
}

Run *run_find_attempt(const Workspace *workspace, Str job_id, unsigned attempt) {
        Run *run = workspace->runs->first;

        while (run && !(run->spec.attempt == attempt && str_eq(run->spec.job_id, job_id)))
                run = run->next;
        return run;
}

Str run_session_ref(const Run *run) {
        return run->session_ref;
}
Str run_project_id(const Run *run) {
        return run->spec.project_id;
}
Str run_run_id(const Run *run) {
        return run->spec.run_id;
}
Str run_job_id(const Run *run) {
        return run->spec.job_id;
}
unsigned run_attempt(const Run *run) {
        return run->spec.attempt;
}
uint64_t run_visit(const Run *run) {
        return run->spec.visit;
}
Workspace *run_workspace(const Run *run) {
        return run->workspace;
}

/* ---- one run --------------------------------------------------------------------------------- */

static void run_on_soon(Deferred *deferred) {
        run_next(container_of(deferred, Run, soon));
}

static void run_on_again(Timer *timer) {
        run_next(container_of(timer, Run, again));
}

static void run_on_answer(Timer *timer) {
        run_tell_launched(container_of(timer, Run, answer), 0, STR_NULL, STR_NULL);
}

static void run_on_limit(Timer *timer) {
        Run *run = container_of(timer, Run, limit);

        run->is_late = true;
        run_stop(run);
}

int run_new(Workspace *workspace, Run **ret) {
        Run *run = calloc(1, sizeof(*run));
        Loop *loop = workspace->company->daemon->loop;

        if (!run)
                return error_origin(-ENOMEM);
        run->workspace = workspace_ref(workspace);
        deferred_init(&run->soon, loop, run_on_soon);
        timer_init(&run->again, loop, run_on_again);
        timer_init(&run->answer, loop, run_on_answer);
        timer_init(&run->limit, loop, run_on_limit);
        timer_init(&run->interrupt, loop, app_server_on_interrupted);
        timer_init(&run->gather, loop, output_on_gathered);
        *ret = run;
        return 0;
}

void run_free(Run *run) {
        if (!run)
                return;
        lane_leave(run);
        runs_unlink(run);
        deferred_cancel(&run->soon);
        timer_clear(&run->again);
        timer_clear(&run->answer);
        timer_clear(&run->limit);
        timer_clear(&run->interrupt);
        timer_clear(&run->gather);
        viewer_detach(&run->viewer);
        if (run->hosted) {
                run->hosted->handler = NULL;
                run->hosted->user = NULL;
        }
        while (run->watches) {
                RunWatch *watch = run->watches;

                run_unwatch(watch);
                if (watch->gone)
                        watch->gone(watch);
        }
        tree_free(run);
        dialog_deinit(&run->dialog);
        usage_meter_deinit(&run->meter);
        buf_deinit(&run->batch.bytes[0]);
        buf_deinit(&run->batch.bytes[1]);
        buf_deinit(&run->found);
        workspace_unref(run->workspace);
        arena_deinit(&run->arena);
        free(run);
}

void run_soon(Run *run) {
        deferred_schedule(&run->soon);
}

EventOf run_event_of(const Run *run) {
        return (EventOf){.project_id = run->spec.project_id,
                         .run_id = run->spec.run_id,
                         .session_ref = run->session_ref};
}

/* What is to be done is found by looking: a stop first, then the pid, then output, then the end. */
void run_next(Run *run) {
        Daemon *daemon = run->workspace->company->daemon;

        if (run->is_busy || timer_is_set(&run->again) || daemon->is_stopping)
                return;
        if (run->state != RUN_RUNNING && run->state != RUN_OVER)
                return;
        if (!run->is_read)
                adopt_read(run);
        else if (run->is_stop_wanted && !run->is_stop_marked && run->state == RUN_RUNNING)
                stop_mark(run);
        else if (run->state == RUN_RUNNING && !run->is_pid_kept && !run->is_program_over)
                start_keep_pid(run);
        else if (run->hosted && output_keep(run))
                return;
        else if (run->state == RUN_OVER || run->is_program_over)
                finish_run(run);
}

/* ---- steps ----------------------------------------------------------------------------------- */

Run *run_of(const Carry *carry) {
        return container_of(carry, Run, carry);
}

static int run_step_kept(Call *call _unused_, Edit *edit, const Carry *carry) {
        run_of(carry)->edit = edit;
        return 0;
}

static void run_step_over(Call *call) {
        Run *run = container_of(call->target, Run, carry);
        Daemon *daemon = call->daemon;

        run->is_busy = false;
        run->then(run, run->edit, call->error); /* it may be gone after this */
        daemon_release_stop(daemon);
}

void run_step(Run *run, EditDecideFn decide, void (*then)(Run *run, Edit *edit, int error)) {
        Daemon *daemon = run->workspace->company->daemon;
        Call *call = call_of_ours(daemon, run_step_over);
        int r;

        run->call = call;
        if (!call) {
                then(run, NULL, CALL_E_INTERNAL);
                return;
        }
        call->target = &run->carry;
        run->is_busy = true;
        run->edit = NULL;
        run->then = then;
        daemon_hold_stop(daemon);
        r = company_edit_then(call, run->workspace, decide, run_step_kept, &run->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

void run_again(Run *run) {
        (void)timer_set(&run->again, RUN_AGAIN_MS);
}

/* What is summed up comes from the index, in a turn of it. */
static void run_on_turn(IndexTurn *turn) {
        Run *run = container_of(turn, Run, turn);

        run->is_busy = false;
        run->has_turn = true;
        run->in_turn(run);
}

void run_turn_begin(Run *run, void (*in_turn)(Run *run)) {
        run->turn = (IndexTurn){.workspace = run->workspace, .start = run_on_turn};
        run->in_turn = in_turn;
        run->is_busy = run->needs_totals && !index_turn(&run->turn);
        if (!run->is_busy)
                in_turn(run); /* it needs none, or there is none: launch_totals() */
}

void run_turn_end(Run *run) {
        if (run->has_turn)
                index_turn_over(run->workspace);
        run->has_turn = false;
}

/* ---- who is told ----------------------------------------------------------------------------- */

void run_watch(Run *run, RunWatch *watch) {
        watch->run = run;
        watch->next = run->watches;
        run->watches = watch;
}

void run_unwatch(RunWatch *watch) {
        RunWatch **at = watch->run ? &watch->run->watches : NULL;

        while (at && *at != watch)
                at = &(*at)->next;
        if (at)
                *at = watch->next;
        watch->run = NULL;
        watch->next = NULL;
}

/* A watch may leave, or take others along, while it is told: the list is looked at anew each time. */
static RunWatch *run_untold(Run *run, bool (*take)(RunWatch *watch)) {
        for (RunWatch *watch = run->watches; watch; watch = watch->next)
                if (take(watch))
                        return watch;
        return NULL;
}

static bool run_wants_launched(RunWatch *watch) {
        return watch->launched;
}

void run_tell_launched(Run *run, int error, Str message, Str data) {
        RunWatch *watch;

        if (run->is_told)
                return;
        run->is_told = true;
        timer_clear(&run->answer);
        lane_leave(run);
        while ((watch = run_untold(run, run_wants_launched))) {
                void (*launched)(RunWatch *, int, Str, Str) = watch->launched;

                watch->launched = NULL;
                launched(watch, error, message, data);
        }
}

static bool run_wants_marked(RunWatch *watch) {
        return watch->marked;
}

void run_tell_marked(Run *run) {
        RunWatch *watch;

        while ((watch = run_untold(run, run_wants_marked))) {
                void (*marked)(RunWatch *) = watch->marked;

                watch->marked = NULL;
                marked(watch);
        }
}

void run_tell_ended(Run *run) {
        Hosted *hosted = steal(&run->hosted);

        run_tell_launched(run, 0, STR_NULL, STR_NULL);
        run_tell_marked(run);
        runs_unlink(run);
        viewer_detach(&run->viewer);
        if (hosted) {
                hosted->handler = NULL;
                hosted->user = NULL;
                host_forget(hosted);
        }
        while (run->watches) {
                RunWatch *watch = run->watches;

                run_unwatch(watch);
                if (watch->ended)
                        watch->ended(watch, &run->end);
        }
        run_free(run);
}
