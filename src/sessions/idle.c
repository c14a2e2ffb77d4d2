/* SPDX-License-Identifier: MIT */
/*
 * A daemon that serves coop alone goes when it is not needed: no session, no connection, for a while. It
 * looks a few times in that while, so the end comes a little later than the last of them.
 */
#include "sessions/sessions.h"

enum { LOOKS = 6 };

static bool idle_is_idle(const Sessions *sessions) {
        for (const Endpoint *e = sessions->daemon->endpoints; e; e = e->next)
                if (e->n_clients)
                        return false;
        return !sessions->first;
}

static void idle_look(Timer *timer) {
        Sessions *sessions = container_of(timer, Sessions, idle.timer);
        Daemon *daemon = sessions->daemon;
        int64_t now_ms = loop_now_ms(daemon->loop);

        if (!idle_is_idle(sessions) || sessions->idle.n_clients != daemon->n_clients)
                sessions->idle.since_ms = now_ms;
        sessions->idle.n_clients = daemon->n_clients; /* ever: one that came and went counts too */
        if (now_ms - sessions->idle.since_ms >= sessions->idle.limit_ms) {
                daemon_stop(daemon, "nobody needs it");
                return;
        }
        (void)timer_set(timer, MAX(sessions->idle.limit_ms / LOOKS, (int64_t)1));
}

void sessions_watch_idle(Sessions *sessions, int64_t limit_ms) {
        sessions->idle.limit_ms = limit_ms;
        sessions->idle.since_ms = loop_now_ms(sessions->daemon->loop);
        timer_init(&sessions->idle.timer, sessions->daemon->loop, idle_look);
        (void)timer_set(&sessions->idle.timer, MAX(limit_ms / LOOKS, (int64_t)1));
}
