/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "core/call.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

static int no_session(Call *call, Str name_or_path) {
        return call_fail(call, CALL_E_SESSION_NOT_FOUND, "Session '" STR_FMT "' not found",
                         STR_ARG(name_or_path));
}

int session_require(Call *call, Str name_or_path, Session **ret) {
        *ret = session_find(call->daemon->sessions, name_or_path);
        return *ret ? 0 : no_session(call, name_or_path);
}

int pty_require(Call *call, Str name_or_path, int64_t id, Pty **ret) {
        Session *session = session_find(call->daemon->sessions, name_or_path);

        if (!session)
                return no_session(call, name_or_path);
        *ret = pty_find(session, (uint64_t)id);
        if (!*ret)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld in session '%s'", (long long)id,
                                 session->name);
        return 0;
}

/* Names of sessions have no slash, those of what other domains have hosted have one. */
static Hosted *elsewhere(const Call *call, Str name) {
        Hosted *hosted = name.n && memchr(name.data, '/', name.n)
                                 ? fleet_find_hosted(call->daemon, "sessions", name)
                                 : NULL;

        return hosted && hosted->state == HOSTED_RUNNING ? hosted : NULL;
}

/* A session's terminal, or that of another domain by the name that ps shows. */
static int terminal_require(Call *call, Str name_or_path, int64_t id, PtyTarget **ret) {
        PtyTarget *target = pty_target(call, NULL, 0, 0);
        bool is_session = session_find(call->daemon->sessions, name_or_path);

        if (!target)
                return -ENOMEM;
        *ret = target;
        target->stream.hosted = is_session ? NULL : elsewhere(call, name_or_path);
        if (!target->stream.hosted)
                return pty_require(call, name_or_path, id, &target->pty);
        if (id)
                return call_fail(call, CALL_E_PTY_NOT_FOUND, "No PTY %lld at '" STR_FMT "'", (long long)id,
                                 STR_ARG(name_or_path));
        return 0;
}

static void terminal_stream(Call *call) {
        const PtyTarget *target = container_of(call->target, PtyTarget, carry);

        call->client->dialect->stream(call->client, &target->stream);
}

/* At a terminal with seats: whether this one is the first. The stream begins in the same turn, so with the
 * past that is counted here. */
static void attach_answer(Call *call, const PtyTarget *target, bool has_past) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (target->stream.hosted)
                jw_field_bool(w, "writer",
                              !target->stream.is_read_only && TAILQ_EMPTY(&target->stream.hosted->seats));
        if (has_past)
                jw_field_uint(w, "past", pty_target_scrollback(target).n);
        jw_end_object(w);
}

int op_coop_attach(Call *call, const CoopAttachArgs *args) {
        PtyTarget *target = NULL;
        int r = terminal_require(call, args->session, args->pty, &target);

        if (r)
                return r;
        target->stream.cols = (unsigned)args->cols;
        target->stream.rows = (unsigned)args->rows;
        if (target->stream.hosted)
                target->stream.is_read_only = target->stream.hosted->kind != SHIM_PTY;
        call->target = &target->carry;
        call_after(call, terminal_stream);
        if (target->stream.hosted || args->position)
                attach_answer(call, target, args->position);
        return 0;
}

static Pty *live_shell(Session *session, const char *command) {
        for (Pty *pty = session->ptys; pty; pty = pty->next)
                if (pty->id != 0 && pty_is_live(pty) && !strcmp(pty->command, command))
                        return pty;
        return NULL;
}

static uint32_t next_id(const Session *session) {
        uint32_t highest = 0;

        for (const Pty *pty = session->ptys; pty; pty = pty->next)
                highest = pty->id > highest ? pty->id : highest;
        return highest + 1;
}

static void shell_write_answer(const Pty *pty, JsonWriter *w) {
        jw_field_uint(w, "pty", pty->id);
}

/* What the connection will show. NULL: what is about to be started (pty_answer()). */
static int shell_aim(Call *call, Pty *pty, const CoopShellArgs *args) {
        PtyTarget *target = pty_target(call, pty, args->cols, args->rows);

        if (!target)
                return error_origin(-ENOMEM);
        call->target = &target->carry;
        return 0;
}

static int shell_reuse(Call *call, Pty *pty, const CoopShellArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        shell_write_answer(pty, w);
        jw_end_object(w);
        return shell_aim(call, pty, args);
}

static int shell_start(Call *call, Session *session, const char *command, const CoopShellArgs *args) {
        Pty *pty;
        int r;

        r = shell_aim(call, NULL, args);
        if (!r)
                r = pty_new(&pty, session, next_id(session), command);
        if (r)
                return r;
        pty->waiting = call;
        pty->write_answer = shell_write_answer;
        r = pty_start(pty, (unsigned)args->cols, (unsigned)args->rows);
        if (!r)
                return CALL_LATER;
        pty->waiting = NULL;
        pty_remove(pty);
        return pty_fail(call, -r, command);
}

int op_coop_shell(Call *call, const CoopShellArgs *args) {
        Session *session = NULL;
        int r = session_require(call, args->session, &session);
        const char *command;
        Pty *pty;

        if (r)
                return r;
        if (args->command.n && memchr(args->command.data, 0, args->command.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "command holds a NUL");
        if (args->fallback.n && memchr(args->fallback.data, 0, args->fallback.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "fallback holds a NUL");
        command = args->command.n         ? args->command.data
                  : session->config.shell ? session->config.shell
                  : args->fallback.n      ? args->fallback.data
                                          : "/bin/sh";
        call_after(call, terminal_stream);
        pty = args->has_force_new && !args->force_new ? live_shell(session, command) : NULL;
        return pty ? shell_reuse(call, pty, args) : shell_start(call, session, command, args);
}

/* For who comes back and has the front of it. */
static void write_position(const PtyTarget *target, JsonWriter *w) {
        const Hosted *hosted = target->pty ? target->pty->hosted : target->stream.hosted;

        if (!hosted)
                return;
        jw_field_cstr(w, "process", hosted->id);
        jw_field_uint(w, "end", hosted->shown_out);
}

int op_coop_logs(Call *call, const CoopLogsArgs *args) {
        PtyTarget *target = NULL;
        int r = terminal_require(call, args->session, args->pty, &target);
        Buf text = BUF_NULL;
        JsonWriter *w;

        if (r)
                return r;
        if (base64_encode(&text, str_last_lines(pty_target_scrollback(target), args->tail_lines)))
                return -ENOMEM;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "log_data", buf_str(&text));
        if (args->position)
                write_position(target, w);
        jw_end_object(w);
        buf_deinit(&text);
        target->stream.is_read_only = true;
        call->target = &target->carry;
        if (args->follow)
                call_after(call, terminal_stream);
        return 0;
}

static void detach_leave(Call *call) {
        client_hang_up(call->client, "detached");
}

/* Outside a stream there is nothing to detach from: it is a polite way to hang up. */
int op_coop_detach(Call *call, _unused_ const CoopDetachArgs *args) {
        call_after(call, detach_leave);
        return 0;
}

int op_coop_sessionkill(Call *call, const CoopSessionkillArgs *args) {
        Pty *pty = NULL;
        int r = pty_require(call, args->session, args->pty, &pty);

        if (r)
                return r;
        pty_kill(pty, false);
        return 0;
}
