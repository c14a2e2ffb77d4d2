/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "sessions/pty"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sessions/pty-start.h"

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
                ((PtyTarget *)call->target)->pty = pty;
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
        while (pty->clients) {
                PtyClient *client = pty->clients;
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
        for (PtyClient *client = pty->clients, *next; client; client = next) {
                next = client->next;
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
        for (PtyClient *client = pty->clients; client; client = client->next)
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
                host_kill(pty->hosted, SESSION_KILL_MS); /* on_ended() goes on */
                return;
        }
        (void)timer_set(&pty->restart, 0);
}
