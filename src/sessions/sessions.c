/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "sessions"

#include "sessions/sessions.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/*
 * A daemon that serves coop alone goes when it is not needed: no session, no connection, for a while. It
 * looks a few times in that while, so the end comes a little later than the last of them.
 */

enum { LOOKS = 6 };

static bool idle_is_idle(const Sessions *sessions) {
        for (const Endpoint *e = sessions->daemon->endpoints; e; e = e->next)
                if (e->n_clients || (e->type->is_beside && e->state == ENDPOINT_LISTENING))
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

int sessions_new(Sessions **ret, Daemon *daemon) {
        Sessions *sessions = calloc(1, sizeof(*sessions));

        if (!sessions)
                return error_origin(-ENOMEM);
        sessions->daemon = daemon;
        *ret = sessions;
        return 0;
}

static void session_free(Session *session) {
        Session **at = &session->owner->first;

        while (*at != session) {
                assert(*at);
                at = &(*at)->next;
        }
        *at = session->next;
        while (session->ptys)
                pty_remove(session->ptys);
        coopfile_deinit(&session->config);
        coopfile_texts_deinit(&session->accepted);
        strvec_deinit(&session->notes);
        strvec_deinit(&session->caller_env);
        strvec_deinit(&session->named_env);
        free(session->name);
        free(session->workspace);
        free(session->resolved);
        free(session->override);
        free(session);
}

/* The processes run on; their terminals are let go. */
Sessions *sessions_free(Sessions *sessions) {
        if (!sessions)
                return NULL;
        while (sessions->first)
                session_free(sessions->first);
        if (sessions->idle.limit_ms)
                timer_clear(&sessions->idle.timer);
        free(sessions);
        return NULL;
}

int session_new(Session **ret, Sessions *sessions, const char *name, const char *workspace) {
        Session *session = calloc(1, sizeof(*session)), **end = &sessions->first;

        if (!session)
                return error_origin(-ENOMEM);
        while (*end)
                end = &(*end)->next;
        *end = session;
        session->owner = sessions;
        session->name = strdup(name);
        session->workspace = strdup(workspace);
        session->resolved = realpath(workspace, NULL);
        if (!session->resolved)
                session->resolved = strdup(workspace);
        session->override = strdup("");
        session->created_s = loop_wall_us(sessions->daemon->loop) / 1000000;
        if (!session->name || !session->workspace || !session->resolved || !session->override) {
                session_free(session);
                return error_origin(-ENOMEM);
        }
        *ret = session;
        return 0;
}

static bool session_is_succeeded(const Session *session) {
        for (const Session *other = session->owner->first; other; other = other->next)
                if (other != session && !strcmp(other->name, session->name))
                        return true;
        return false;
}

/* Folders that were made for what the session keeps, and in which it has left nothing. On the loop: the next
 * session of that name may be made as soon as this one is gone, and wants them then. */
static void session_prune(const Session *session) {
        _cleanup_(freep) char *root = path_expand("~/.coop/sessions");

        if (!root || session_is_succeeded(session))
                return;
        for (size_t i = 0; i < session->config.persist.n; i++) {
                _cleanup_(freep) char *path = NULL;

                if (asprintf(&path, "%s/%s/persist/%s", root, session->name,
                             session->config.persist.items[i]) < 0)
                        return;
                while (strlen(path) > strlen(root) && (!rmdir(path) || errno == ENOENT))
                        *strrchr(path, '/') = 0;
        }
}

void session_check_gone(Session *session) {
        if (session->is_listed)
                return;
        for (Pty *pty = session->ptys; pty; pty = pty->next)
                if (pty->hosted || pty->waiting || pty->is_configuring || pty->starting)
                        return;
        session_prune(session);
        session_free(session);
}

/* ---- finding --------------------------------------------------------------------------------- */

Session *session_named(Sessions *sessions, const char *name) {
        for (Session *s = sessions->first; s; s = s->next)
                if (!s->is_killed && !strcmp(s->name, name))
                        return s;
        return NULL;
}

Session *session_of_workspace(Sessions *sessions, const char *workspace, const char *resolved) {
        for (Session *s = sessions->first; s; s = s->next)
                if (!s->is_killed &&
                    (!strcmp(s->workspace, workspace) || (resolved && !strcmp(s->resolved, resolved))))
                        return s;
        return NULL;
}

Session *session_find(Sessions *sessions, Str name_or_path) {
        Session *session;

        if (!name_or_path.n || strlen(name_or_path.data) != name_or_path.n)
                return NULL;
        session = session_named(sessions, name_or_path.data);
        if (!session && memchr(name_or_path.data, '/', name_or_path.n)) {
                char *resolved = realpath(name_or_path.data, NULL);
                session = session_of_workspace(sessions, name_or_path.data, resolved);
                free(resolved);
        }
        return session && session->is_listed ? session : NULL;
}

size_t session_n_clients(const Session *session, bool is_web) {
        size_t n = 0;

        for (const Pty *pty = session->ptys; pty; pty = pty->next)
                for (const PtyClient *client = LIST_FIRST(&pty->clients); client;
                     client = LIST_NEXT(client, link))
                        n += client->is_web == is_web;
        return n;
}

/* ---- ending ---------------------------------------------------------------------------------- */

void session_kill(Session *session, bool is_forced) {
        session->is_listed = false;
        session->is_killed = true;
        for (Pty *pty = session->ptys, *next; pty; pty = next) {
                next = pty->next;
                pty_kill(pty, is_forced);
        }
        session_check_gone(session);
}

void sessions_kill_all(Sessions *sessions, bool is_forced) {
        for (Session *session = sessions->first, *next; session; session = next) {
                next = session->next;
                if (session->is_listed)
                        session_kill(session, is_forced);
        }
}

/* ---- finding them again ---------------------------------------------------------------------- */

static char *sessions_text_of(Arena *arena, const Json *json, const char *key) {
        Str s = json_str(json_get(json, key));

        return (char *)arena_str(arena, s).data;
}

static char *copy_text(const Json *text) {
        Str s = json_str(text);

        return s.data ? str_dup(s) : NULL;
}

/* One that was started before there was such a member goes on with the files as they are. */
static void accept_from_meta(Session *session, const Json *meta) {
        const Json *accepted = json_get(meta, "accepted");

        if (!json_is(accepted, JSON_OBJECT))
                return;
        session->accepted = (CoopfileTexts){.is_kept = true,
                                            .everybody = copy_text(json_get(accepted, "default")),
                                            .project = copy_text(json_get(accepted, "project"))};
}

/* The session of an adopted process, made anew from what its meta says. */
static Session *session_from_meta(Sessions *sessions, Arena *arena, const Json *meta, Hosted *hosted) {
        const char *name = sessions_text_of(arena, meta, "session"),
                   *override = sessions_text_of(arena, meta, "coopfile");
        const char *workspace = sessions_text_of(arena, meta, "workspace");
        Session *session = name && *name ? session_named(sessions, name) : NULL;
        char wrong[256];

        if (session || !name || !*name)
                return session;
        if (session_new(&session, sessions, name, workspace && *workspace ? workspace : hosted->workspace))
                return NULL;
        json_int64(json_get(meta, "created"), &session->created_s);
        free(session->override);
        session->override = strdup(override ? override : "");
        session->is_listed = true;
        accept_from_meta(session, meta);
        if (environment_put_json(&session->caller_env, json_get(meta, "caller_env")) ||
            environment_put_json(&session->named_env, json_get(meta, "env")))
                log_warning(&sessions->daemon->log, name, "a part of its environment was lost");
        if (session_configure(session, strcmp(hosted->sandbox, "none") != 0, wrong, sizeof(wrong))) {
                log_warning(&sessions->daemon->log, name,
                            "coopfile cannot be read any more, the agent is not restarted");
                session->config.auto_restart = false;
        }
        return session;
}

void sessions_adopt(Sessions *sessions, Hosted *hosted) {
        Arena arena = ARENA_NULL;
        Session *session = NULL;
        Json *meta = NULL;
        int64_t id = 0;
        Pty *pty;

        if (!json_parse(&arena, hosted->meta, strlen(hosted->meta), NULL, &meta, NULL))
                session = session_from_meta(sessions, &arena, meta, hosted);
        if (session && json_int64(json_get(meta, "pty"), &id) && id >= 0 &&
            !pty_find(session, (uint64_t)id) && !pty_new(&pty, session, (uint32_t)id, hosted->command)) {
                pty->hosted = hosted;
                pty->started_ms = loop_now_ms(sessions->daemon->loop) - hosted_age_ms(hosted);
                pty->is_stopped = hosted->is_stopped;
                hosted->handler = &pty_hosted_handler;
                hosted->user = pty;
                if (hosted->state == HOSTED_ENDED || hosted->state == HOSTED_LOST)
                        pty_hosted_handler.ended(hosted); /* while nobody was there */
        } else
                log_warning(&sessions->daemon->log, hosted->id,
                            "belongs to no session that can be made out");
        arena_deinit(&arena);
}
