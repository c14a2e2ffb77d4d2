/* SPDX-License-Identifier: MIT */
/* Stopping a run: the marker is kept first, so that whoever sees its end knows that it was asked for. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "company/place.h"
#include "company/run/run.h"
#include "company/run/runs.h"

static int stop_decide(Edit *edit, const Carry *carry) {
        const Run *run = run_of(carry);
        Str line = arena_printf(edit->arena, STR_FMT "\n", STR_ARG(edit_now(edit)));
        const char *path = place_run(edit->arena, run->spec.project_id, run->spec.run_id,
                                     "outputs/stop_requested.flag");

        if (edit_try(edit, path && line.data ? 0 : -ENOMEM))
                (void)edit_replace(edit, path, line);
        return 0;
}

static void stop_marked(Run *run, Edit *edit _unused_, int error _unused_) {
        run->is_stop_marked = true; /* if it could not be kept the program is ended all the same */
        if (run->hosted && !run->is_program_over && run_is_app_server(run))
                app_server_stop(run);
        else if (run->hosted && !run->is_program_over)
                host_kill(run->hosted, RUN_STOP_MS);
        run_tell_marked(run);
        run_soon(run);
}

void stop_mark(Run *run) {
        run_step(run, stop_decide, stop_marked);
}

void run_stop(Run *run) {
        run->is_stop_wanted = true;
        run_soon(run);
}

/* ---- programs that are not ours -------------------------------------------------------------- */

/* Held by a descriptor, so that another process which gets its number is never meant. */
typedef struct StopForeign StopForeign;
struct StopForeign {
        StopForeign *next;
        struct Runs *runs;
        Timer timer;
        int pidfd;
};

static void stop_signal(const StopForeign *foreign, int signum) {
        (void)syscall(SYS_pidfd_send_signal, foreign->pidfd, signum, NULL, 0);
}

static void stop_foreign_free(StopForeign *foreign) {
        StopForeign **at = &foreign->runs->foreign;

        while (*at != foreign)
                at = &(*at)->next;
        *at = foreign->next;
        timer_clear(&foreign->timer);
        close(foreign->pidfd);
        free(foreign);
}

static void stop_on_late(Timer *timer) {
        StopForeign *foreign = container_of(timer, StopForeign, timer);

        stop_signal(foreign, SIGKILL);
        stop_foreign_free(foreign);
}

void runs_end_foreign(Workspace *workspace, pid_t pid) {
        StopForeign *foreign = calloc(1, sizeof(*foreign));

        if (!foreign)
                return;
        foreign->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        if (foreign->pidfd < 0) {
                free(foreign);
                return; /* it is gone */
        }
        foreign->runs = workspace->runs;
        foreign->next = workspace->runs->foreign;
        workspace->runs->foreign = foreign;
        timer_init(&foreign->timer, workspace->company->daemon->loop, stop_on_late);
        stop_signal(foreign, SIGTERM);
        if (timer_set(&foreign->timer, RUN_STOP_MS))
                stop_foreign_free(foreign);
}

void stop_leave_foreign(struct Runs *runs) {
        while (runs->foreign)
                stop_foreign_free(runs->foreign);
}
