/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/time.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static void session_write_ptys(const Session *session, JsonWriter *w) {
        jw_begin_array(w);
        for (const Pty *pty = session->ptys; pty; pty = pty->next) {
                if (pty->id != 0 && !pty_is_live(pty))
                        continue;
                jw_begin_object(w);
                jw_field_uint(w, "id", pty->id);
                jw_field_cstr(w, "role", pty->id == 0 ? "agent" : "shell");
                jw_field_cstr(w, "command", pty->command);
                jw_field_int(w, "pid", pty_pid(pty));
                if (pty->hosted && pty->hosted->recording_path)
                        jw_field_cstr(w, "recording", pty->hosted->recording_path);
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* What coop's page calls some of it. */
static void session_write_rest(const Session *session, pid_t pid, size_t n_clients, JsonWriter *w) {
        char at[TIME_TEXT_MAX];

        jw_field_cstr(w, "id", session->name);
        jw_field_cstr(w, "status", pid ? "running" : "exited");
        jw_field_uint(w, "clients", n_clients);
        jw_field_str(w, "created_at", (Str){at, time_format_s(session->created_s * 1000000, at)});
}

static void write_session(const Session *session, bool is_rest, JsonWriter *w) {
        const Pty *agent = session->ptys;
        pid_t pid = agent ? pty_pid(agent) : 0;
        size_t n_web = session_n_clients(session, true), n_local = session_n_clients(session, false);

        jw_begin_object(w);
        jw_field_cstr(w, "name", session->name);
        jw_field_cstr(w, "workspace", session->workspace);
        jw_field_int(w, "pid", pid);
        jw_field_int(w, "created", session->created_s);
        jw_key(w, "ptys");
        session_write_ptys(session, w);
        jw_field_uint(w, "web_clients", n_web);
        jw_field_uint(w, "local_clients", n_local);
        if (is_rest)
                session_write_rest(session, pid, n_web + n_local, w);
        jw_end_object(w);
}

int op_coop_ls(Call *call, _unused_ const CoopLsArgs *args) {
        bool is_rest = call->client && call->client->dialect->is_rest;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "sessions");
        jw_begin_array(w);
        for (const Session *session = call->daemon->sessions->first; session; session = session->next)
                if (session->is_listed)
                        write_session(session, is_rest, w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_coop_sessionls(Call *call, const CoopSessionlsArgs *args) {
        Session *session = NULL;
        int r = session_require(call, args->session, &session);
        JsonWriter *w;

        if (r)
                return r;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "session", session->name);
        jw_key(w, "ptys");
        session_write_ptys(session, w);
        jw_end_object(w);
        return 0;
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool has_nul(Str s) {
        return s.n && memchr(s.data, 0, s.n);
}

/* The last component of a path, trailing slashes ignored; empty for "/". */
static Str last_component(Str path) {
        size_t n = path.n, begin;

        while (n && path.data[n - 1] == '/')
                n--;
        for (begin = n; begin && path.data[begin - 1] != '/';)
                begin--;
        return (Str){path.data + begin, n - begin};
}

static bool is_name(Str name) {
        return name.n && name.n <= SESSION_NAME_MAX && !has_nul(name) && !memchr(name.data, '/', name.n) &&
               !str_is(name, ".") && !str_is(name, "..");
}

/* Nothing runs in it, and nothing will. */
static bool create_is_over(const Session *session) {
        for (const Pty *pty = session->ptys; pty; pty = pty->next)
                if (!pty_is_over(pty))
                        return false;
        return session->is_listed;
}

/* The one that has the workspace, or the name. */
static Session *find_in_the_way(Sessions *sessions, const CoopCreateArgs *args, const char *name) {
        char *resolved = realpath(args->workspace.data, NULL);
        Session *session =
                args->beside ? NULL : session_of_workspace(sessions, args->workspace.data, resolved);

        free(resolved);
        return session ? session : session_named(sessions, name);
}

static int refuse_existing(Call *call, const Session *session) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_cstr(w, "session", session->name);
        jw_end_object(w);
        return call_fail(call, CALL_E_SESSION_EXISTS, "Session '%s' already exists", session->name);
}

static bool create_is_folder(const char *path) {
        struct stat st;

        return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* ---- the start ------------------------------------------------------------------------------- */

static void create_fail(Pty *pty, int r, const char *wrong) {
        Session *session = pty->session;
        Call *call = pty->waiting;

        pty->waiting = NULL;
        if (r > 0)
                r = call_fail(call, CALL_E_INVALID_COOPFILE, "%s", wrong);
        else
                r = pty_fail(call, -r, pty->command);
        pty_remove(pty);
        session_check_gone(session);
        call_finish(call, r);
}

static void create_configured(Pty *pty, int r, const char *wrong) {
        if (!r)
                r = pty_start(pty, 0, 0);
        if (r)
                create_fail(pty, r, wrong);
}

static void create_write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_cstr(w, "session", pty->session->name);
        jw_field_int(w, "pid", hosted_agent_pid(pty->hosted)); /* also of one that was quicker than we */
        session_write_notes(pty->session, w);
}

static int create_begin(Call *call, Session *session) {
        Pty *pty;
        int r = pty_new(&pty, session, 0, "");

        if (!r) {
                pty->waiting = call;
                pty->write_answer = create_write_answer;
                r = pty_configure(pty, create_configured);
        }
        if (!r)
                return CALL_LATER;
        if (session->ptys)
                session->ptys->waiting = NULL;
        session_check_gone(session);
        return r;
}

static int take_env(Call *call, Session *session, const CoopCreateArgs *args) {
        int r = environment_put_json(&session->caller_env, args->caller_env);

        if (!r)
                r = environment_put_json(&session->named_env, args->env);
        return r == ENVIRONMENT_E_UNFIT
                       ? call_fail(call, CALL_E_INVALID_PARAMS, "env and caller_env map names to texts")
                       : r;
}

/* ---- the operation --------------------------------------------------------------------------- */

int op_coop_create(Call *call, const CoopCreateArgs *args) {
        Sessions *sessions = call->daemon->sessions;
        Str name = args->name.data ? args->name : last_component(args->workspace);
        char *name_text = (char *)arena_str(&call->arena, name).data;
        Session *session;
        int r;

        if (has_nul(args->workspace))
                return call_fail(call, CALL_E_INVALID_WORKSPACE, "the workspace holds a NUL");
        if (has_nul(args->coopfile))
                return call_fail(call, CALL_E_INVALID_COOPFILE, "coopfile: holds a NUL");
        if (!is_name(name) || !name_text)
                return call_fail(call, CALL_E_INVALID_PARAMS,
                                 "name must have 1 to %d bytes, no '/', and be neither '.' nor '..'",
                                 SESSION_NAME_MAX);
        if (!create_is_folder(args->workspace.data))
                return call_fail(call, CALL_E_INVALID_WORKSPACE, "'" STR_FMT "' is no folder",
                                 STR_ARG(args->workspace));
        if (!call->daemon->host)
                return call_fail(call, CALL_E_SPAWN_FAILED, "this daemon hosts nothing");
        while ((session = find_in_the_way(sessions, args, name_text))) {
                if (!args->replace || !create_is_over(session))
                        return refuse_existing(call, session);
                session_kill(session, false);
        }
        r = session_new(&session, sessions, name_text, args->workspace.data);
        if (r)
                return r;
        r = take_env(call, session, args);
        if (r) {
                session_check_gone(session);
                return r;
        }
        free(session->override);
        session->override = args->coopfile.n ? str_dup(args->coopfile) : strdup("");
        return session->override ? create_begin(call, session) : -ENOMEM;
}

/* Somebody ended the terminal while its coopfile was read. If its process is gone too, nobody else removes
 * it. */
static void restart_in_vain(Pty *pty) {
        Session *session = pty->session;

        if (!pty->hosted && (pty->id != 0 || !session->is_listed))
                pty_remove(pty);
        session_check_gone(session);
}

/* The coopfile is read again first; a bad one leaves everything as it is. */
static void restart_configured(Pty *pty, int r, const char *wrong) {
        Call *call = pty->waiting;

        if (!r && !pty->is_stopped) {
                pty_restart(pty);
                return;
        }
        pty->waiting = NULL;
        if (!call) { /* a start by itself was quicker, and has answered it */
                restart_in_vain(pty);
                return;
        }
        if (!r)
                r = call_fail(call, CALL_E_SESSION_NOT_FOUND, "it was ended while it was being restarted");
        else if (r > 0)
                r = call_fail(call, CALL_E_INVALID_COOPFILE, "%s", wrong);
        call_finish(call, r);
        restart_in_vain(pty);
}

static void restart_write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_int(w, "pid", hosted_agent_pid(pty->hosted)); /* also of one that was quicker than we */
        jw_field_uint(w, "pty", pty->id);
        if (pty->id == 0)
                session_write_notes(pty->session, w);
}

int op_coop_restart(Call *call, const CoopRestartArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
        if (pty->waiting || pty->is_configuring)
                return call_fail(call, CALL_E_RESOURCE_LIMIT, "a start of this PTY is under way");
        r = pty_configure(pty, restart_configured);
        if (r)
                return r;
        pty->is_stopped = false;
        pty->n_quick = 0;
        pty->waiting = call;
        pty->write_answer = restart_write_answer;
        return CALL_LATER;
}

int op_coop_kill(Call *call, const CoopKillArgs *args) {
        Session *session = NULL;
        int r;

        if (args->all) {
                sessions_kill_all(call->daemon->sessions, args->force);
                return 0;
        }
        if (!args->session.data)
                return call_fail(call, CALL_E_INVALID_PARAMS, "session is required");
        r = session_require(call, args->session, &session);
        if (r)
                return r;
        session_kill(session, args->force);
        return 0;
}

static void shutdown_stop(Call *call) {
        daemon_stop_endpoint(call->daemon, call->client->endpoint, client_pid(call->client), NULL);
}

int op_coop_shutdown(Call *call, _unused_ const CoopShutdownArgs *args) {
        call_after(call, shutdown_stop);
        return 0;
}
