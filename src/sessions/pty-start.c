/* SPDX-License-Identifier: MIT */
/*
 * Starting the process of a terminal: its command, its environment, its sandbox.
 */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/tools.h"
#include "sessions/pty-start.h"

/* ---- environment ----------------------------------------------------------------------------- */

static int pty_start_put_path(StrVec *env, const char *home) {
        _cleanup_(freep) char *path = NULL;

        if (asprintf(&path,
                     "%s/.claude/local/bin:%s/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/"
                     "sbin:/bin",
                     home, home) < 0)
                return error_origin(-ENOMEM);
        return error_trace(environment_put(env, "PATH", path));
}

/* By which it can be found again. */
static int put_identity(StrVec *env, const Session *session) {
        char created[32];
        int r;

        snprintf(created, sizeof(created), "%lld", (long long)session->created_s);
        r = environment_put(env, "COOP_SESSION", session->name);
        r = r ? r : environment_put(env, "COOP_WORKSPACE", session->workspace);
        return error_trace(r ? r : environment_put(env, "COOP_CREATED", created));
}

/* What the contract lists and what a terminal program needs to know about the place; over it what the daemon
 * gives to all, the caller's, the coopfile's, what was asked for by name; over all that who it is. */
static int pty_start_build_env(const Session *session, StrVec *env) {
        static const char *const passed[] = {"LANG", "LC_ALL", "LC_CTYPE", "TZ", "SHELL", "SSH_AUTH_SOCK"};
        const char *home = getenv("HOME"), *user = getenv("USER");
        int r;

        r = environment_put(env, "HOME", home ? home : "/");
        r = r ? r : environment_put(env, "USER", user ? user : "user");
        r = r ? r : environment_put(env, "TERM", PROGRAM_TERM);
        r = r ? r : pty_start_put_path(env, home ? home : "");
        for (size_t i = 0; !r && i < ARRAY_SIZE(passed); i++)
                r = environment_put(env, passed[i], getenv(passed[i]));
        r = r ? r : program_env_over(env, session->owner->daemon, &session->caller_env);
        r = r ? r : environment_put_all(env, &session->config.env);
        r = r ? r : environment_put_all(env, &session->named_env);
        return error_trace(r ? r : put_identity(env, session));
}

/* ---- command --------------------------------------------------------------------------------- */

/* Words, not the name of a program: the contract gives to the shell what cannot be executed itself. */
static bool is_command_line(const Pty *pty) {
        const char *command = pty->command;
        _cleanup_(freep) char *path = NULL;

        if (!strpbrk(command, " \t\n"))
                return false;
        if (!strchr(command, '/'))
                return true;
        path = command[0] == '/' ? strdup(command) : path_join(pty->session->resolved, command);
        return path && access(path, F_OK) != 0;
}

static int push_command_line(const Pty *pty, size_t n_args, StrVec *argv) {
        _cleanup_(freep) char *line = NULL;
        int r;

        if (asprintf(&line, "%s%s", pty->command, n_args ? " \"$@\"" : "") < 0) {
                line = NULL;
                return error_origin(-ENOMEM);
        }
        r = strvec_push(argv, "/bin/sh");
        r = r ? r : strvec_push(argv, "-c");
        r = r ? r : strvec_push(argv, line);
        return error_trace(r ? r : strvec_push(argv, "sh"));
}

static int pty_start_build_argv(const Pty *pty, StrVec *argv) {
        static const StrVec none = {0};
        const StrVec *args = pty->id == 0 ? &pty->session->config.args : &none;
        int r = is_command_line(pty) ? push_command_line(pty, args->n, argv)
                                     : strvec_push(argv, pty->command);

        return error_trace(r ? r : strvec_append(argv, args));
}

/* For a later daemon, which finds the files as the agent has left them. */
static void write_accepted(const CoopfileTexts *accepted, JsonWriter *w) {
        if (!accepted->is_kept)
                return;
        jw_key(w, "accepted");
        jw_begin_object(w);
        if (accepted->everybody)
                jw_field_cstr(w, "default", accepted->everybody);
        if (accepted->project)
                jw_field_cstr(w, "project", accepted->project);
        jw_end_object(w);
}

static int pty_start_build_meta(const Pty *pty, Buf *out) {
        const Session *session = pty->session;
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "session", session->name);
        jw_field_cstr(&w, "workspace", session->workspace);
        jw_field_int(&w, "created", session->created_s);
        jw_field_uint(&w, "pty", pty->id);
        jw_field_cstr(&w, "coopfile", session->override);
        write_accepted(&session->accepted, &w);
        environment_write(&w, "caller_env", &session->caller_env);
        environment_write(&w, "env", &session->named_env);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

const char *session_sandbox_mode(const Session *session) {
        const char *wide = session->owner->daemon->config.sandbox, *said = session->config.sandbox_mode;
        const char *mode = said ? said : wide ? wide : "bwrap";

        return strcmp(mode, "none") == 0 ? "none" : "bwrap";
}

void session_write_notes(const Session *session, JsonWriter *w) {
        if (!session->notes.n)
                return;
        jw_key(w, "notes");
        jw_begin_array(w);
        for (size_t i = 0; i < session->notes.n; i++)
                jw_cstr(w, session->notes.items[i]);
        jw_end_array(w);
}

/* ---- the start ------------------------------------------------------------------------------- */

void pty_start_free(PtyStart *start) {
        program_deinit(&start->program);
        free(start);
}

static int64_t tighter(int64_t a, int64_t b) {
        return a && b ? MIN(a, b) : MAX(a, b); /* 0: no limit */
}

/* A coopfile can make the daemon's own limits tighter, never wider: an agent may have written it. */
static void pty_start_set_limits(HostedSpec *spec, const Coopfile *said, const Config *config) {
        spec->limits.memory_max = tighter(said->memory_max, config->memory_max_mb << 20);
        spec->limits.n_pids = tighter(said->pids_max, config->pids_max);
        spec->n_files = (unsigned long)said->files_max;
}

/* The agent's has the session's name; a shell's says which terminal it was, as `muster replay --pty` asks
 * for it. */
static char *recording_title(const Pty *pty) {
        char *title = NULL;

        if (pty->id == 0)
                return strdup(pty->session->name);
        return asprintf(&title, "%s.pty%u", pty->session->name, pty->id) < 0 ? NULL : title;
}

static int host(PtyStart *start) {
        Daemon *daemon = start->pty->session->owner->daemon;
        _cleanup_(freep) char *title = recording_title(start->pty);
        HostedSpec spec = {.owner = "sessions",
                           .object = start->pty->session->name,
                           .program = &start->program,
                           .sandbox = start->sandbox,
                           .is_recorded = start->pty->session->config.record,
                           .title = title,
                           .kind = SHIM_PTY,
                           .cols = start->cols,
                           .rows = start->rows};

        if (!title)
                return error_origin(-ENOMEM);
        pty_start_set_limits(&spec, &start->pty->session->config, &daemon->config);
        start->pty->started_ms = loop_now_ms(daemon->loop);
        return host_start(daemon->host, &spec, &pty_hosted_handler, start->pty, &start->pty->hosted);
}

static const char *missing_limit(const Pty *pty) {
        const Daemon *daemon = pty->session->owner->daemon;
        HostedSpec spec = {0};

        pty_start_set_limits(&spec, &pty->session->config, &daemon->config);
        return host_missing_limit(daemon->host, &spec.limits);
}

void pty_start_run(PtyStart *start) {
        Pty *pty = start->pty;
        int r = pty->is_stopped ? -ECANCELED : host(start);

        pty_start_free(start);
        if (r == HOST_E_WORKSPACE)
                pty_failed(pty, CALL_E_INVALID_WORKSPACE, "the workspace is no folder");
        else if (r == HOST_E_NO_LIMIT)
                pty_failed(pty, CALL_E_LIMIT_UNAVAILABLE, missing_limit(pty));
        else if (r == HOST_E_META)
                pty_failed(pty, CALL_E_INVALID_COOPFILE, "the coopfile is too long to be kept");
        else if (r)
                pty_failed(pty, pty_error(-r), strerror(-r));
}

/* Where its program is looked for, should it not be there. */
static int pty_start_note_path(PtyStart *start) {
        const char *path = environment_get(&start->program.env, "PATH");

        free(start->pty->searched);
        start->pty->searched = strdup(path ? path : "");
        return start->pty->searched ? 0 : error_origin(-ENOMEM);
}

static int build(PtyStart *start) {
        const Pty *pty = start->pty;
        Program *program = &start->program;
        int r = pty_start_build_argv(pty, &program->argv);

        r = r ? r : pty_start_build_env(pty->session, &program->env);
        r = r ? r : pty_start_note_path(start);
        r = r ? r : pty_start_build_meta(pty, &program->meta);
        if (!r && strcmp(start->sandbox, "none") == 0)
                r = tools_register(pty->session->owner->daemon, program, false);
        return error_trace(r ? r : program_set_place(program, pty->session->resolved, pty->command));
}

static void on_soon(Timer *timer) {
        Pty *pty = container_of(timer, Pty, soon);

        pty_start_run(steal(&pty->starting));
}

/* Without a sandbox the host is asked in the next turn, so that success and failure always come later. */
static int start_soon(PtyStart *start) {
        start->pty->starting = start;
        timer_init(&start->pty->soon, start->pty->session->owner->daemon->loop, on_soon);
        return error_trace(timer_set(&start->pty->soon, 0));
}

int pty_start(Pty *pty, unsigned cols, unsigned rows) {
        PtyStart *start = calloc(1, sizeof(*start));
        int r;

        if (!start)
                return error_origin(-ENOMEM);
        *start = (PtyStart){
                .pty = pty, .cols = cols, .rows = rows, .sandbox = session_sandbox_mode(pty->session)};
        r = build(start);
        if (!r && pty->id == 0)
                r = coopfile_notes(&pty->session->config, pty->session->workspace, start->sandbox,
                                   &pty->session->notes);
        if (!r)
                r = strcmp(start->sandbox, "none") == 0 ? start_soon(start) : pty_sandbox(start);
        if (r)
                pty_start_free(start);
        return error_trace(r);
}

int pty_error(int error) {
        switch (error) {
        case ENOTDIR: return CALL_E_INVALID_WORKSPACE;
        case EMFILE:
        case ENFILE:
        case ENOMEM:
        case ENOSPC:
        case EAGAIN:
        case EDQUOT: return CALL_E_RESOURCE_LIMIT;
        default: return CALL_E_SPAWN_FAILED;
        }
}

int pty_fail(Call *call, int error, const char *command) {
        return call_fail(call, pty_error(error), "cannot start %s: %s", command, strerror(error));
}
