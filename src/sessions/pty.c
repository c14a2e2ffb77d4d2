/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "sessions/pty"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sessions/pty-start.h"

/*
 * When an agent that ended is started again: after a delay, which doubles from the third quick end in a row
 * on, up to a bound; after restart_limit quick ends not at all. A run of SESSION_QUICK_MS forgets them.
 */

static bool pty_wants_restart(Pty *pty) {
        int64_t lived_ms = loop_now_ms(pty->restart.loop) - pty->started_ms;
        const Coopfile *config = &pty->session->config;

        if (pty->is_stopped || pty->id != 0 || !pty->session->is_listed || !config->auto_restart)
                return false;
        pty->n_quick = lived_ms < SESSION_QUICK_MS ? pty->n_quick + 1 : 0;
        pty->is_looping = config->restart_limit && pty->n_quick >= config->restart_limit;
        return !pty->is_looping;
}

static int64_t pty_restart_delay_ms(const Pty *pty) {
        const Coopfile *config = &pty->session->config;
        int64_t delay_ms = config->restart_delay_ms;
        int64_t max_ms = MAX(config->restart_delay_max_ms, delay_ms);

        for (unsigned i = SESSION_PATIENT; i < pty->n_quick && delay_ms < max_ms; i++)
                delay_ms = delay_ms ? delay_ms * 2 : 1;
        return MIN(delay_ms, max_ms);
}

static void pty_tell_crash_loop(Pty *pty) {
        const Str notice =
                STR("\r\n\x1b[31m[the agent keeps ending at once; not restarted again]\x1b[0m\r\n");

        if (!pty->is_looping || !pty->hosted)
                return;
        pty->is_looping = false;
        host_put_past(pty->hosted, notice);
        for (PtyClient *client = LIST_FIRST(&pty->clients); client; client = LIST_NEXT(client, link)) {
                HostOutput output = {.bytes = notice};
                client->ops->output(client, &output);
                output_deinit(&output);
        }
}

/* The next process goes on with the scrollback of this one. */
static void pty_carry_over(Pty *pty) {
        Str scrollback = hosted_scrollback(pty->hosted, SESSION_SCROLLBACK);

        pty->carried.n = 0;
        pty->cols = pty->hosted->cols;
        pty->rows = pty->hosted->rows;
        (void)buf_append_str(&pty->carried, scrollback);
        for (PtyClient *client = LIST_FIRST(&pty->clients); client; client = LIST_NEXT(client, link))
                viewer_detach(&client->viewer);
        host_forget(pty->hosted);
        pty->hosted = NULL;
}

static void pty_restart_later(Pty *pty, int64_t delay_ms) {
        for (PtyClient *client = LIST_FIRST(&pty->clients), *next; client; client = next) {
                next = LIST_NEXT(client, link);
                client->ops->restarting(client, delay_ms);
        }
        /* The ended process is kept until then: should the daemon end meanwhile, the next one goes on here.
         */
        (void)timer_set(&pty->restart, delay_ms);
}

static void on_restart(Timer *timer) {
        Pty *pty = container_of(timer, Pty, restart);
        int r;

        if (pty->hosted)
                pty_carry_over(pty);
        if (!pty->waiting && pty->id == 0)
                strvec_deinit(&pty->session->notes); /* nobody asked this time */
        r = pty_start(pty, pty->cols, pty->rows);
        if (r)
                pty_failed(pty, pty_error(-r), strerror(-r));
}

/* Answers the call that started it. */
static void pty_answer(Pty *pty) {
        Call *call = pty->waiting;
        JsonWriter *w;

        timer_clear(&pty->look);
        if (!call)
                return;
        pty->waiting = NULL;
        w = call_result(call);
        jw_begin_object(w);
        pty->write_answer(pty, w);
        jw_end_object(w);
        if (call->target)
                container_of(call->target, PtyTarget, carry)->pty = pty;
        call_finish(call, 0);
}

/* The answer has the number of the program itself; in a sandbox that is there a few milliseconds later, and
 * nothing tells when. */
static void answer_soon(Pty *pty) {
        if (!pty->waiting || hosted_has_agent(pty->hosted) || pty->n_looks++ >= SESSION_LOOKS ||
            timer_set(&pty->look, SESSION_LOOK_MS))
                pty_answer(pty);
}

static void pty_on_look(Timer *timer) {
        answer_soon(container_of(timer, Pty, look));
}

int pty_new(Pty **ret, Session *session, uint32_t id, const char *command) {
        Pty *pty = calloc(1, sizeof(*pty)), **at = &session->ptys;

        if (!pty)
                return error_origin(-ENOMEM);
        pty->session = session;
        pty->id = id;
        pty->command = strdup(command);
        if (!pty->command) {
                free(pty);
                return error_origin(-ENOMEM);
        }
        timer_init(&pty->restart, session->owner->daemon->loop, on_restart);
        timer_init(&pty->look, session->owner->daemon->loop, pty_on_look);
        while (*at && (*at)->id < id)
                at = &(*at)->next;
        pty->next = *at;
        *at = pty;
        *ret = pty;
        return 0;
}

Pty *pty_find(Session *session, uint64_t id) {
        for (Pty *pty = session->ptys; pty; pty = pty->next)
                if (pty->id == id)
                        return pty;
        return NULL;
}

bool pty_is_live(const Pty *pty) {
        return pty->hosted && pty->hosted->state <= HOSTED_RUNNING;
}

pid_t pty_pid(const Pty *pty) {
        return pty_is_live(pty) ? hosted_agent_pid(pty->hosted) : 0;
}

bool pty_is_over(const Pty *pty) {
        return pty->hosted && !pty_is_live(pty) && !timer_is_set(&pty->restart);
}

static void release_clients(Pty *pty) {
        while (!LIST_EMPTY(&pty->clients)) {
                PtyClient *client = LIST_FIRST(&pty->clients);
                pty_detach(client);
                client->ops->ended(client);
        }
}

/* Out of its session. A process that still runs is let go, not ended. */
void pty_remove(Pty *pty) {
        Pty **at = &pty->session->ptys;

        while (*at != pty)
                at = &(*at)->next;
        *at = pty->next;
        release_clients(pty);
        timer_clear(&pty->restart);
        timer_clear(&pty->look);
        if (pty->starting) {
                timer_clear(&pty->soon);
                pty_start_free(pty->starting);
        }
        if (pty->hosted)
                pty->hosted->handler = NULL;
        buf_deinit(&pty->carried);
        free(pty->command);
        free(pty->searched);
        free(pty);
}

/* An agent whose session stays is ended and kept, as one that ended by itself; all else is thrown away. */
static void end_process(Pty *pty, int grace_ms) {
        if (pty->id == 0 && pty->session->is_listed)
                host_stop(pty->hosted, grace_ms);
        else
                host_discard(pty->hosted, grace_ms);
}

/* It had ended and was to be started again: whoever asked for that is told that nothing comes of it. */
static void refuse_restart(Pty *pty) {
        Call *call = pty->waiting;

        timer_clear(&pty->restart);
        if (pty->is_configuring)
                return; /* a worker has it: it is told when that is done */
        pty->is_restarting = false;
        pty->waiting = NULL;
        if (call)
                call_finish(call, call_fail(call, CALL_E_SESSION_NOT_FOUND,
                                            "it was ended while it was being restarted"));
}

void pty_kill(Pty *pty, bool is_forced) {
        bool is_kept = pty->id == 0 && pty->session->is_listed;

        pty->is_stopped = true;
        if (timer_is_set(&pty->restart))
                refuse_restart(pty);
        if (pty_is_live(pty)) {
                end_process(pty, is_forced ? 0 : SESSION_KILL_MS);
                return;
        }
        if (pty->hosted && is_kept)
                host_stop(pty->hosted, 0); /* for the next daemon to know */
        else if (pty->hosted) {
                host_forget(pty->hosted);
                pty->hosted = NULL;
        }
        release_clients(pty);
}

/* ---- the end of a process -------------------------------------------------------------------- */

int pty_exit_code(const Hosted *hosted) {
        return hosted->state == HOSTED_ENDED ? hosted_exit_code(hosted) : 255; /* lost: nobody knows */
}

static void pty_finish(Pty *pty) {
        Session *session = pty->session;
        bool is_kept = pty->id == 0 && session->is_listed; /* an agent that ended stays to be looked at */

        pty_tell_crash_loop(pty);
        release_clients(pty);
        if (is_kept)
                return;
        host_forget(pty->hosted);
        pty->hosted = NULL;
        if (pty->is_configuring)
                return; /* a worker has it: whoever asked for that goes on with it or removes it */
        pty_remove(pty);
        session_check_gone(session);
}

/* It has done what it was started for. */
static bool ends_session(const Pty *pty, int code) {
        return !code && pty->hosted->state == HOSTED_ENDED && pty->id == 0 && !pty->is_stopped &&
               pty->session->is_listed && pty->session->config.end_on_success;
}

static void pty_on_ended(Hosted *hosted) {
        Pty *pty = hosted->user;
        int code = pty_exit_code(hosted);

        if (timer_is_set(&pty->look))
                pty_answer(pty); /* it was quicker than we */
        if (!pty->is_stopped && !pty->session->is_killed)
                sandbox_note_end(pty->session->owner->daemon, hosted);
        for (PtyClient *client = LIST_FIRST(&pty->clients), *next; client; client = next) {
                next = LIST_NEXT(client, link);
                client->ops->exited(client, code);
        }
        if (pty->is_restarting)
                pty_restart_later(pty, 0);
        else if (ends_session(pty, code))
                session_kill(pty->session, false);
        else if (pty_wants_restart(pty))
                pty_restart_later(pty, pty_restart_delay_ms(pty));
        else
                pty_finish(pty);
}

/* ---- the start of a process ------------------------------------------------------------------ */

void pty_failed(Pty *pty, int call_error, const char *text) {
        Session *session = pty->session;
        Call *call = pty->waiting;
        bool is_first = !session->is_listed;

        pty->hosted = NULL; /* it frees itself */
        pty->waiting = NULL;
        pty->is_restarting = false;
        log_warning(&session->owner->daemon->log, session->name, "%s could not be started: %s", pty->command,
                    text);
        if (call)
                call_finish(call, call_fail(call, call_error, "cannot start %s: %s", pty->command, text));
        if (pty->id != 0 || is_first) {
                pty_remove(pty);
                session_check_gone(session);
        } else
                release_clients(pty); /* a restart that failed: the session stays, without an agent */
}

/* A program that was looked for: where, too. */
void pty_failed_errno(Pty *pty, int error) {
        _cleanup_(freep) char *text = NULL;
        bool was_searched = error == ENOENT && pty->searched && !strchr(pty->command, '/');

        if (!was_searched || asprintf(&text, "%s (PATH is %s)", strerror(error), pty->searched) < 0)
                text = NULL;
        pty_failed(pty, pty_error(error), text ? text : strerror(error));
}

static void pty_on_started(Hosted *hosted, int error) {
        Pty *pty = hosted->user;

        if (error) {
                pty_failed_errno(pty, error);
                return;
        }
        if (pty->carried.n) {
                host_put_past(hosted, buf_str(&pty->carried));
                buf_deinit(&pty->carried);
        }
        pty->is_restarting = false;
        for (PtyClient *client = LIST_FIRST(&pty->clients); client; client = LIST_NEXT(client, link))
                if (!client->viewer.hosted)
                        viewer_attach(&client->viewer, hosted);
        if (!hosted->is_adopted && pty->id == 0 && !pty->is_stopped)
                pty->session->is_listed = true;
        pty->n_looks = 0;
        answer_soon(pty);
}

const HostedHandler pty_hosted_handler = {.started = pty_on_started, .ended = pty_on_ended};

void pty_restart(Pty *pty) {
        pty->is_restarting = true;
        timer_clear(&pty->restart);
        if (pty_is_live(pty)) {
                host_kill(pty->hosted, SESSION_KILL_MS); /* pty_on_ended() goes on */
                return;
        }
        (void)timer_set(&pty->restart, 0);
}
