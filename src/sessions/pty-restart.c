/* SPDX-License-Identifier: MIT */
/*
 * When an agent that ended is started again: after a delay, which doubles from the third quick end in a row
 * on, up to a bound; after restart_limit quick ends not at all. A run of SESSION_QUICK_MS forgets them.
 */
#include "sessions/pty-start.h"

bool pty_wants_restart(Pty *pty) {
        int64_t lived_ms = loop_now_ms(pty->restart.loop) - pty->started_ms;
        const Coopfile *config = &pty->session->config;

        if (pty->is_stopped || pty->id != 0 || !pty->session->is_listed || !config->auto_restart)
                return false;
        pty->n_quick = lived_ms < SESSION_QUICK_MS ? pty->n_quick + 1 : 0;
        pty->is_looping = config->restart_limit && pty->n_quick >= config->restart_limit;
        return !pty->is_looping;
}

int64_t pty_restart_delay_ms(const Pty *pty) {
        const Coopfile *config = &pty->session->config;
        int64_t delay_ms = config->restart_delay_ms;
        int64_t max_ms = MAX(config->restart_delay_max_ms, delay_ms);

        for (unsigned i = SESSION_PATIENT; i < pty->n_quick && delay_ms < max_ms; i++)
                delay_ms = delay_ms ? delay_ms * 2 : 1;
        return MIN(delay_ms, max_ms);
}

void pty_tell_crash_loop(Pty *pty) {
        const Str notice =
                STR("\r\n\x1b[31m[the agent keeps ending at once; not restarted again]\x1b[0m\r\n");

        if (!pty->is_looping || !pty->hosted)
                return;
        pty->is_looping = false;
        host_put_past(pty->hosted, notice);
        for (PtyClient *client = pty->clients; client; client = client->next) {
                HostOutput output = {.bytes = notice};
                client->ops->output(client, &output);
                chunk_unref(output.raw);
                chunk_unref(output.tagged);
        }
}

/* The next process goes on with the scrollback of this one. */
void pty_carry_over(Pty *pty) {
        Str scrollback = hosted_scrollback(pty->hosted, SESSION_SCROLLBACK);

        pty->carried.n = 0;
        pty->cols = pty->hosted->cols;
        pty->rows = pty->hosted->rows;
        (void)buf_append_str(&pty->carried, scrollback);
        for (PtyClient *client = pty->clients; client; client = client->next)
                viewer_detach(&client->viewer);
        host_forget(pty->hosted);
        pty->hosted = NULL;
}

void pty_restart_later(Pty *pty, int64_t delay_ms) {
        for (PtyClient *client = pty->clients, *next; client; client = next) {
                next = client->next;
                client->ops->restarting(client, delay_ms);
        }
        /* The ended process is kept until then: should the daemon end meanwhile, the next one goes on here.
         */
        (void)timer_set(&pty->restart, delay_ms);
}
